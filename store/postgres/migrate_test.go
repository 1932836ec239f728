package postgres

import (
	"strings"
	"testing"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/migrations"
)

// asBeforeRows puts the log as it was when it was found by ids.
var asBeforeRows = []string{`DROP INDEX memory_events_version`, `ALTER TABLE memory_events DROP COLUMN memory_seq`,
	`CREATE UNIQUE INDEX memory_events_version ON memory_events (memory, version)`}

func TestMigrateEvents(t *testing.T) {
	t.Parallel()
	t.Run("finds every event by its row, and names one whose memory is gone", func(t *testing.T) {
		t.Parallel()
		ctx, s := t.Context(), setup(t)
		hand := byHand(t, s)
		apply(t, s, created("a"), created("b"), created("gone"), created("lost"))
		up, err := migrations.Postgres.ReadFile("postgres/00007_events.sql")
		if err != nil {
			t.Fatal(err)
		}
		gone := "DELETE FROM memories WHERE id IN ('" + oxbow.NewID("gone") + "', '" + oxbow.NewID("lost") + "')"
		for _, q := range append(append([]string{gone}, asBeforeRows...), strings.Split(string(up), ";\n")...) {
			if _, err := hand.Exec(ctx, q); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"a", "b"} {
			es, err := s.EventsOf(ctx, ada.Tenant, []string{oxbow.NewID(name)})
			if err != nil || len(es) != 1 || es[0].Memory != oxbow.NewID(name) {
				t.Errorf("%s has the events %v, error %v", name, es, err)
			}
		}
		found, err := s.Check(ctx)
		if err != nil || strings.Count(strings.Join(found, "\n"), "its memory ") != 2 {
			t.Errorf("the check finds %q, error %v", found, err)
		}
		apply(t, s, created("c"))
	})
}
