package engine_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/internal/lab"
	"github.com/oxbow-memory/oxbow/store"
)

// counted fails when an engine's counts are not those of the table.
func (c *carrier) counted(when string, e *engine.Engine, scopes ...oxbow.Scope) {
	c.Helper()
	for _, s := range append(scopes, oxbow.Scope{Tenant: c.tenant}) {
		got, err := e.CountMemories(c.Context(), s)
		c.must(err)
		want, err := c.db.CountMemories(c.Context(), s)
		c.must(err)
		if !maps.Equal(got, want) {
			c.Fatalf("%s, scope %q: counted %v, there are %v", when, s.Name, got, want)
		}
	}
}

func TestCountMemories(t *testing.T) {
	t.Parallel()
	lab.Each(t, func(t *testing.T, db *lab.DB) {
		t.Run("is what the table holds after each step of any history, and of its import", func(t *testing.T) {
			c := carrying(t, db)
			w := &wanderer{carrier: c, r: rand.New(rand.NewPCG(7, 3)), scopes: []oxbow.Scope{
				{Tenant: c.tenant, Name: "user:ada"}, {Tenant: c.tenant, Name: "project:apollo"}}}
			for i := range 50 {
				w.step()
				c.counted(fmt.Sprintf("after step %d", i), c.engine, w.scopes...)
			}
			to := carrying(t, lab.OpenSQLite(t))
			to.counted("before the import", to.engine)
			to.imports(c.export(false))
			to.counted("after the import", to.engine, w.scopes...)
			if n, err := to.engine.CountMemories(t.Context(), w.scopes[0]); err != nil || n[oxbow.Active] == 0 {
				t.Fatalf("nothing came: %v, %v", n, err)
			}
		})
		t.Run("misses nothing of writers that it looks at while they write", func(t *testing.T) {
			c := carrying(t, db)
			c.tenant = "busy"
			var writers, lookers sync.WaitGroup
			done := make(chan struct{})
			lookers.Go(func() {
				for looking := true; looking; {
					select {
					case <-done:
						looking = false
					default:
					}
					if _, err := c.engine.CountMemories(t.Context(), oxbow.Scope{Tenant: c.tenant}); err != nil {
						t.Error(err)
						return
					}
				}
			})
			for k := range 4 {
				writers.Go(func() { c.scribble(k, 25) })
			}
			writers.Wait()
			close(done)
			lookers.Wait()
			c.counted("after the writers", c.engine)
			c.counted("at the next look", c.engine)
			if n, err := c.engine.CountMemories(t.Context(), oxbow.Scope{Tenant: c.tenant}); err != nil || n[oxbow.Erased] == 0 || n[oxbow.Archived] == 0 {
				t.Fatalf("nothing was erased or archived: %v, %v", n, err)
			}
		})
	})
}

// scribble writes into a scope of its own, archives and erases.
func (c *carrier) scribble(k, n int) {
	s := oxbow.Scope{Tenant: c.tenant, Name: fmt.Sprintf("user:%d", k)}
	for i := range n {
		m, err := c.engine.Remember(c.Context(), engine.Statement{Scope: s, Text: fmt.Sprintf("we keep lamp %d of %d", i, k)})
		switch {
		case err != nil:
		case i%3 == 0:
			_, err = c.engine.Archive(c.Context(), c.tenant, m.Memory.ID)
		case i%5 == 0:
			_, err = c.engine.EraseMemory(c.Context(), c.tenant, m.Memory.ID)
		}
		if err != nil {
			c.Error(err)
			return
		}
	}
}

func TestCountMemoriesOutOfOrder(t *testing.T) {
	t.Parallel()
	t.Run("counts an event that comes to light below others that were counted", func(t *testing.T) {
		t.Parallel()
		c := carrying(t, lab.OpenPostgres(t)) // SQLite has one writer, which cannot be passed
		slow, quick := oxbow.Scope{Tenant: c.tenant, Name: "slow"}, oxbow.Scope{Tenant: c.tenant, Name: "quick"}
		late, err := c.engine.Remember(t.Context(), engine.Statement{Scope: slow, Text: "we keep a lamp"})
		c.must(err)
		for _, fresh := range []bool{false, true} {
			e := c.engine
			if fresh {
				e = engine.New(engine.Config{Store: c.db})
			}
			c.counted("before", c.engine, slow, quick)
			to := oxbow.ArchivedEvent
			if fresh {
				to = oxbow.Restored
			}
			err = c.db.InTx(t.Context(), func(ctx context.Context, tx store.Tx) error {
				if _, err := tx.LockScope(ctx, slow, c.now); err != nil {
					return err
				}
				if _, err := tx.Apply(ctx, store.Batch{Scope: slow, Run: "r", Now: c.now, RecordedAt: c.now}, []oxbow.Change{{Type: to, Memory: late.Memory.ID, Actor: "test"}}); err != nil {
					return err
				}
				if _, err := tx.Memory(ctx, c.tenant, late.Memory.ID); err != nil { // so that the event has its number
					return err
				}
				for i := range 3 { // others pass it, and are looked at
					if _, err := c.engine.Remember(t.Context(), engine.Statement{Scope: quick, Text: fmt.Sprintf("we keep %v lamp %d", fresh, i)}); err != nil {
						return err
					}
					c.counted("while one is written", e, slow, quick)
				}
				return nil
			})
			c.must(err)
			c.counted("when it is there", e, slow, quick)
			c.counted("at the next look", e, slow, quick)
		}
	})
}
