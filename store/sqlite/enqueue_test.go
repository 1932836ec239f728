package sqlite

import (
	"database/sql"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riversqlite"
)

type chore struct {
	Name string `json:"name" river:"unique"`
}

// Kind satisfies River.
func (chore) Kind() string { return "chore" }

func TestEnqueue(t *testing.T) {
	t.Parallel()

	t.Run("stores the rows that River's own driver stores, and passes over the same ones", func(t *testing.T) {
		t.Parallel()
		s := openMigrated(t, Config{})
		at := time.Date(2030, 1, 2, 3, 4, 5, 678_900_000, time.UTC)
		once := &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true}}
		jobs := []river.InsertManyParams{
			{Args: chore{"plain"}},
			{Args: chore{"later"}, InsertOpts: &river.InsertOpts{ScheduledAt: at, Tags: []string{"first", "second"}, Metadata: []byte(`{"k": "v"}`), Priority: 3}},
			{Args: chore{"once"}, InsertOpts: once}, {Args: chore{"once"}, InsertOpts: once},
		}
		plain, err := river.NewClient(riversqlite.New(s.write), &river.Config{Logger: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		var rows [2]string
		for i, client := range []*river.Client[*sql.Tx]{plain, s.river} {
			for range 2 {
				tx, err := s.write.BeginTx(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := client.InsertManyFastTx(t.Context(), tx, jobs); err != nil {
					t.Fatal(err)
				}
				if err := tx.Commit(); err != nil {
					t.Fatal(err)
				}
			}
			err := s.write.QueryRowContext(t.Context(), `
				SELECT group_concat(json(args) || kind || max_attempts || json(metadata) || priority || queue || state || json(tags) ||
					coalesce(hex(unique_key), '-') || coalesce(unique_states, '-') || attempt || length(created_at) || typeof(args) || typeof(tags) ||
					iif(state = 'scheduled', scheduled_at, length(scheduled_at)), x'0a') FROM river_job`).Scan(&rows[i])
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.write.ExecContext(t.Context(), `DELETE FROM river_job`); err != nil {
				t.Fatal(err)
			}
		}
		if rows[0] != rows[1] || rows[0] == "" {
			t.Errorf("River stores\n%s\nand this\n%s", rows[0], rows[1])
		}
	})
}
