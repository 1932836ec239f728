package engine_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/internal/lab"
)

// TestDoctor changes the database by hand in one way after the other, each in a
// store of its own, and expects the one finding that names it.
func TestDoctor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, change, want string }{
		{"finds nothing where nothing was touched", "", ""},
		{"names a status changed by hand", "UPDATE memories SET status = 'archived', replaced_by = '' WHERE id = '%[1]s'", "the row was changed without an event: "},
		{"names a rating changed by hand", "UPDATE memories SET rating = 0.123 WHERE id = '%[1]s'", "the row was changed without an event: rating"},
		{"names words changed by hand", "UPDATE contents SET body = replace(CAST(body AS TEXT), 'green', 'white') WHERE owner = '%[1]s'", "its content was changed without an event"},
		{"names a half-life changed by hand", "UPDATE memories SET half_life = 1 WHERE id = '%[1]s'", "half_life, fades_at or rank_key do not follow"},
		{"names a link made by hand", "INSERT INTO links (scope, from_id, to_id, type) SELECT scope, '%[2]s', '%[1]s', 'confirms' FROM memories WHERE id = '%[1]s'", "has no event"},
		{"names a link taken away by hand", "DELETE FROM links WHERE to_id = '%[1]s'", "is in the log and not in the table"},
		{"names an event deleted by hand", "DELETE FROM memory_events WHERE memory = '%[1]s' AND version = 1", "event 1 is missing"},
		{"names the last event deleted by hand", "DELETE FROM memory_events WHERE memory = '%[1]s' AND version = 2", "event 2 is missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			lab.Each(t, func(t *testing.T, db *lab.DB) {
				b := setup(t, db)
				older, newer := contradicted(b)
				b.Clean()
				if c.change == "" {
					return
				}
				sql := c.change
				if strings.Contains(sql, "%[2]s") {
					sql = fmt.Sprintf(sql, older.ID, newer.ID)
				} else {
					sql = fmt.Sprintf(sql, older.ID)
				}
				b.DB.Exec(t, sql)
				found, err := b.Engine.Doctor(b.Ctx, true, nil)
				b.Must(err)
				for _, f := range found {
					if strings.Contains(f.Text, c.want) && f.Memory != newer.ID {
						return
					}
				}
				t.Errorf("found %v, want %q", found, c.want)
			})
		})
	}
}

func TestScopeSettings(t *testing.T) {
	tell(t,
		story{"apply a new policy to every memory in a run that can be watched", policyRun},
		story{"refuse what no rule can work with", settingsInvalid},
		story{"keep what several set at once", patchesMeet},
		story{"move the schedules with the zone", zoneMoves},
	)
}

func policyRun(b *bench) {
	m := b.Remember(lab.Statement{Text: "tea: green", SaidAt: at(0)})
	b.drain()
	p := oxbow.DefaultPolicy()
	p.HalfLifeDays[oxbow.Semantic] = 3
	s, run, err := b.Engine.SetScope(b.Ctx, b.Bench.Scope, "", &p, nil)
	b.Must(err)
	equal(b, "the version", s.Version, 2)
	b.drain()
	equal(b, "the half-life", b.Get(m.ID).HalfLife, 3)
	r, err := b.DB.Run(b.Ctx, b.tenant(), run)
	b.Must(err)
	equal(b, "the run", r.Status, oxbow.RunDone)
	equal(b, "its count", r.Counts["rederived"], 1)
	equal(b, "the events", len(b.EventsOf(m.ID)), 1)
	b.Clean()
	newer := b.Remember(lab.Statement{Text: "coffee: black"})
	equal(b, "the half-life of a later one", newer.HalfLife, 3)
	_, run, err = b.Engine.SetScope(b.Ctx, b.Bench.Scope, "Asia/Tokyo", nil, nil)
	b.Must(err)
	equal(b, "the run of a change of zone", run, "")
	s, run, err = b.Engine.SetScope(b.Ctx, b.Bench.Scope, "Asia/Tokyo", &p, nil)
	b.Must(err)
	equal(b, "the version when the same is set again", s.Version, 3)
	equal(b, "the run of that", run, "")
}

func settingsInvalid(b *bench) {
	p := oxbow.DefaultPolicy()
	p.MaxShare = 2
	_, _, err := b.Engine.SetScope(b.Ctx, b.Bench.Scope, "", &p, nil)
	code(b, "a policy", err, oxbow.CodeInvalid)
	for _, zone := range []string{"Europe/Nowhere", "Local"} {
		_, _, err = b.Engine.SetScope(b.Ctx, b.Bench.Scope, zone, nil, nil)
		code(b, "the zone "+zone, err, oxbow.CodeInvalid)
	}
	_, _, err = b.Engine.SetScope(b.Ctx, b.Bench.Scope, "", nil, nil)
	code(b, "nothing", err, oxbow.CodeInvalid)
	_, _, err = b.Engine.PatchScope(b.Ctx, b.Bench.Scope, "", [][]byte{[]byte(`{"slot_cap": 7}`), []byte(`{"colour": "red"}`)}, nil)
	code(b, "a field of a patch", err, oxbow.CodeInvalid)
	_, _, err = b.Engine.SetScope(b.Ctx, b.Bench.Scope, "", nil, map[string]string{"decay": "often"})
	code(b, "a cron line", err, oxbow.CodeInvalid)
	_, _, err = b.Engine.SetScope(b.Ctx, b.Bench.Scope, "", nil, map[string]string{"dance": "0 3 * * *"})
	code(b, "a schedule", err, oxbow.CodeNotFound)
	_, err = b.DB.Scope(b.Ctx, b.Bench.Scope)
	code(b, "the scope", err, oxbow.CodeNotFound)
	_, err = engine.PatchPolicy(oxbow.DefaultPolicy(), []byte(`{"half_life_days": {"gossip": 3}}`))
	code(b, "a kind", err, oxbow.CodeInvalid)
	_, err = engine.PatchPolicy(oxbow.DefaultPolicy(), []byte(`{"colour": "red"}`))
	code(b, "a field", err, oxbow.CodeInvalid)
	for patch, says := range map[string]string{
		`{"colour": "red"}`:                      `no field "colour"`,
		`{"slot_cap": "many"}`:                   "slot_cap cannot have the type string",
		`{"half_life_days": {"fact": [1]}}`:      "half_life_days cannot have the type array",
		`{"recall": {"recency": {"a": "much"}}}`: "recall.recency cannot have the type object",
	} {
		if _, err := engine.PatchPolicy(oxbow.DefaultPolicy(), []byte(patch)); err == nil || !strings.Contains(err.Error(), says) {
			b.Errorf("of %s it is said: %v", patch, err)
		}
	}
	_, err = engine.PatchPolicy(oxbow.DefaultPolicy(), []byte(`{"slot_cap": 3} {"slot_cap": 4}`))
	code(b, "more than one object", err, oxbow.CodeInvalid)
	got, err := engine.PatchPolicy(oxbow.DefaultPolicy(), []byte(`{"strength": "classic", "half_life_days": {"fact": 90}}`))
	b.Must(err)
	equal(b, "the patched half-life", got.HalfLifeDays[oxbow.Fact], 90)
	equal(b, "the others", got.HalfLifeDays[oxbow.Episodic], 15)
	equal(b, "the default", oxbow.DefaultPolicy().HalfLifeDays[oxbow.Fact], 60)
}

// patchesMeet sets two fields of a policy at once, by two callers of whom neither
// has seen what the other does.
func patchesMeet(b *bench) {
	b.Remember(lab.Statement{Text: "tea: green"})
	var all sync.WaitGroup
	for _, patch := range []string{`{"slot_cap": 7}`, `{"max_share": 0.5}`, `{"half_life_days": {"fact": 90}}`, `{"strength": "classic"}`} {
		all.Go(func() {
			if _, _, err := b.Engine.PatchScope(b.Ctx, b.Bench.Scope, "", [][]byte{[]byte(patch)}, nil); err != nil {
				b.Errorf("%s: %v", patch, err)
			}
		})
	}
	all.Wait()
	s, err := b.DB.Scope(b.Ctx, b.Bench.Scope)
	b.Must(err)
	p := s.Policy
	equal(b, "what was set", fmt.Sprintf("%v %v %v %v", p.SlotCap, p.MaxShare, p.HalfLifeDays[oxbow.Fact], p.Strength), "7 0.5 90 classic")
	equal(b, "the version", s.Version, 5)
}

func zoneMoves(b *bench) {
	next := func(name string) string {
		b.Helper()
		all, err := b.DB.ListSchedules(b.Ctx, b.Bench.Scope)
		b.Must(err)
		for _, d := range all {
			if d.Name == name {
				return d.NextAt.UTC().Format("01-02T15:04")
			}
		}
		return "none"
	}
	b.Remember(lab.Statement{Text: "tea: green"})
	equal(b, "decay in UTC", next("decay"), "05-02T03:00")
	_, _, err := b.Engine.SetScope(b.Ctx, b.Bench.Scope, "America/New_York", nil, nil)
	b.Must(err)
	equal(b, "decay in New York", next("decay"), "05-02T07:00")
	_, _, err = b.Engine.SetScope(b.Ctx, b.Bench.Scope, "", nil, map[string]string{"decay": "30 5 * * *"})
	b.Must(err)
	equal(b, "decay at another hour", next("decay"), "05-02T09:30")
	equal(b, "prune, which was not named", next("prune"), "05-02T07:00")
}
