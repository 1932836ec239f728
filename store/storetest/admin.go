package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// newerVersion makes a database newer than any program.
const newerVersion = `INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, true)`

// RunAdmin holds a database to store.Admin: migrations, also two at once, and
// the check that names damage.
func RunAdmin(t *testing.T, d Dialect) {
	t.Run("migrates an empty database, and once more without effect", func(t *testing.T) {
		f := setup(t, nil)
		f.s = d.Empty(t)()
		have, want, err := f.s.SchemaVersion(f.ctx)
		if err != nil || have != 0 || want == 0 {
			t.Fatalf("an empty database is of version %d of %d: %v", have, want, err)
		}
		f.wantCode(f.s.Migrate(f.ctx), "")
		f.create(f.memory("a"))
		f.wantCode(f.s.Migrate(f.ctx), "")
		if have, want, err = f.s.SchemaVersion(f.ctx); err != nil || have != want {
			t.Fatalf("the database is of version %d of %d: %v", have, want, err)
		}
		f.get("a")
	})

	t.Run("tells its version while somebody writes for long", func(t *testing.T) {
		f := setup(t, nil)
		f.s = d.Open(t)
		f.wantCode(f.s.InTx(f.ctx, func(context.Context, store.Tx) error {
			impatient, cancel := context.WithTimeout(f.ctx, 5*time.Second)
			defer cancel()
			_, _, err := f.s.SchemaVersion(impatient)
			return err
		}), "")
	})

	t.Run("finds what has no hints yet, and gives it some", func(t *testing.T) { testOldHints(t, d) })

	t.Run("migrates when several processes do it at once", func(t *testing.T) {
		f := setup(t, nil)
		open := d.Empty(t)
		stores := []store.Store{open(), open(), open()}
		var wg sync.WaitGroup
		for i, s := range stores {
			wg.Go(func() {
				if err := s.Migrate(f.ctx); err != nil {
					t.Errorf("process %d: %v", i, err)
				}
			})
		}
		wg.Wait()
		for i, s := range stores {
			if have, want, err := s.SchemaVersion(f.ctx); err != nil || have != want {
				t.Errorf("process %d sees version %d of %d: %v", i, have, want, err)
			}
			f.s = s
			f.create(f.memory(string(rune('a' + i))))
			f.enqueue(f.task("nothing"))
		}
		f.get("a")
	})

	t.Run("shares a database between two processes", func(t *testing.T) {
		f := setup(t, nil)
		open := d.Empty(t)
		one, two := open(), open()
		f.s = one
		f.wantCode(one.Migrate(f.ctx), "")
		f.settings()
		var wg sync.WaitGroup
		for i, s := range []store.Store{one, two, one, two} {
			wg.Go(func() {
				for n := range 10 {
					err := s.InTx(f.ctx, func(ctx context.Context, tx store.Tx) error {
						v, err := tx.LockScope(ctx, f.scope, start)
						if err != nil {
							return err
						}
						v.Version++
						if err := tx.PutScope(ctx, v); err != nil {
							return err
						}
						_, err = tx.Apply(ctx, f.batch(), []oxbow.Change{created(f.memory(string(rune('a'+i)) + string(rune('a'+n))))})
						return err
					})
					if err != nil {
						t.Errorf("process %d: %v", i%2, err)
					}
				}
			})
		}
		wg.Wait()
		for _, s := range []store.Store{one, two} {
			all := must(s.AllMemories(f.ctx, f.scope, "", 100))(f)
			if v := must(s.Scope(f.ctx, f.scope))(f); len(all) != 40 || v.Version != 41 {
				t.Errorf("there are %d memories, and the scope is of version %d", len(all), v.Version)
			}
		}
	})

	t.Run("refuses a database that is newer than the program and changes nothing in it", func(t *testing.T) {
		f := setup(t, nil)
		f.s = d.Open(t)
		d.Exec(t, f.s, newerVersion)
		err := f.s.Migrate(f.ctx)
		f.wantCode(err, oxbow.CodeConflict)
		if !strings.Contains(err.Error(), "99999") || !strings.Contains(err.Error(), "newer oxbow") {
			t.Errorf("the error does not say what to do: %v", err)
		}
		if have, want, err := f.s.SchemaVersion(f.ctx); err != nil || have != 99999 || want >= have {
			t.Errorf("the database is of version %d of %d: %v", have, want, err)
		}
	})

	t.Run("knows itself and its data", func(t *testing.T) {
		t.Parallel()
		runDamage(t, d, d.Open(t))
	})

	t.Run("finds nothing wrong with erased memories and turns, and works on after Vacuum", func(t *testing.T) {
		f := setup(t, nil)
		f.s = d.Empty(t)() // as its owner opens it
		f.wantCode(f.s.Migrate(f.ctx), "")
		furnish(f)
		f.enqueue(f.task("nothing"))
		f.erase("a")
		f.tx(func(ctx context.Context, tx store.Tx) error { return tx.EraseTurn(ctx, f.scope, f.id("turn")) })
		f.wantCode(f.s.Vacuum(f.ctx), "")
		if found := must(f.s.Check(f.ctx))(f); len(found) != 0 {
			t.Fatalf("the check found %q", found)
		}
		f.create(f.memory("after the vacuum"))
	})
}

// runDamage hurts each sub-test's data in one place and looks whether Check
// says where.
func runDamage(t *testing.T, d Dialect, s store.Store) {
	t.Run("names itself without a secret", func(t *testing.T) {
		f := setup(t, s)
		if name := f.s.Describe(); name == "" || strings.Contains(name, "password") || strings.Contains(name, ":@") {
			t.Fatalf("it calls itself %q", name)
		}
	})

	t.Run("refuses a client that makes no sense", func(t *testing.T) {
		f := setup(t, s)
		if _, err := f.s.NewClient(&river.Config{Queues: map[string]river.QueueConfig{"not a name!": {MaxWorkers: 1}}}); err == nil {
			t.Fatal("a queue without workers and with a bad name was accepted")
		}
	})

	for _, c := range []struct {
		name   string
		sql    string // with %s for the id
		victim string
		saying string
	}{
		{"an event that is missing", "DELETE FROM memory_events WHERE memory = '%s'", "b", "no events"},
		{"a content that is missing", "DELETE FROM contents WHERE owner = '%s'", "b", "content is missing"},
		{"a turn's text that is missing", "DELETE FROM contents WHERE owner = '%s'", "turn", "text is missing"},
		{"a memory that is missing", "DELETE FROM memories WHERE id = '%s'", "a", "is missing"},
		{"a vector that outlived its memory", "UPDATE memories SET status = 'erased' WHERE id = '%s'", "b", "a vector of it is still there"},
		{"a vector that was cut", "UPDATE vectors SET dimensions = 1 WHERE memory = (SELECT seq FROM memories WHERE id = '%s')", "b", "bytes for 1 dimensions"},
		{"a graph that outlived its memory", "UPDATE memories SET status = 'erased' WHERE id = '%s'", "b", "still in the graph"},
		{"an erasure that was left half done", "UPDATE memories SET status = 'erased' WHERE id = '%s'", "a", "erased"},
	} {
		t.Run("names "+c.name, func(t *testing.T) {
			f := setup(t, s)
			furnish(f)
			about := func() []string { return f.findings(c.victim) }
			if found := about(); len(found) != 0 {
				t.Fatalf("good data is called damaged: %q", found)
			}
			d.Exec(t, f.s, fmt.Sprintf(c.sql, f.id(c.victim)))
			if found := about(); !slices.ContainsFunc(found, func(line string) bool { return strings.Contains(line, c.saying) }) {
				t.Fatalf("the check found %q, want a line that says %q", found, c.saying)
			}
		})
	}
}

// findings gives what Check says about a named thing.
func (f *fixture) findings(name string) []string {
	f.Helper()
	return slices.DeleteFunc(must(f.s.Check(f.ctx))(f), func(line string) bool { return !strings.Contains(line, f.id(name)) })
}
