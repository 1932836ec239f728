package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// errOnPurpose is what transactions of the suite fail with.
var errOnPurpose = errors.New("on purpose")

func testTransactions(t *testing.T, s store.Store) {
	// fill writes one of many things and a job.
	fill := func(f *fixture, ctx context.Context, tx store.Tx, name string) error {
		if _, err := tx.Apply(ctx, f.batch(), []oxbow.Change{created(f.memory(name))}); err != nil {
			return err
		}
		if err := tx.PutRun(ctx, oxbow.Run{ID: f.id("run" + name), Scope: f.scope, About: start, StartedAt: start}); err != nil {
			return err
		}
		return tx.Enqueue(ctx, []river.InsertManyParams{f.task("nothing")})
	}
	count := func(f *fixture) (memories, jobs int) {
		f.Helper()
		return len(must(f.s.AllMemories(f.ctx, f.scope, "", 1000))(f)), must(f.s.PendingJobs(f.ctx, "", f.id("run")))(f)
	}

	t.Run("rolls everything back with an error, which comes back as it is", func(t *testing.T) {
		f := setup(t, s)
		err := f.s.InTx(f.ctx, func(ctx context.Context, tx store.Tx) error {
			if err := fill(f, ctx, tx, "a"); err != nil {
				return err
			}
			return fmt.Errorf("wrapped: %w", errOnPurpose)
		})
		if !errors.Is(err, errOnPurpose) || !strings.Contains(err.Error(), "wrapped") {
			t.Fatalf("the error is %v", err)
		}
		if m, j := count(f); m != 0 || j != 0 {
			t.Fatalf("%d memories and %d jobs were left behind", m, j)
		}
		_, err = f.s.Scope(f.ctx, f.scope)
		f.wantCode(err, oxbow.CodeNotFound)
	})

	t.Run("keeps everything of a transaction that succeeds", func(t *testing.T) {
		f := setup(t, s)
		f.tx(func(ctx context.Context, tx store.Tx) error { return fill(f, ctx, tx, "a") })
		if m, j := count(f); m != 1 || j != 1 {
			t.Fatalf("%d memories and %d jobs are there", m, j)
		}
	})

	t.Run("turns a panic into an error and stays usable", func(t *testing.T) {
		f := setup(t, s)
		err := f.s.InTx(f.ctx, func(ctx context.Context, tx store.Tx) error {
			if err := fill(f, ctx, tx, "a"); err != nil {
				return err
			}
			panic("on purpose")
		})
		if err == nil || !strings.Contains(err.Error(), "on purpose") {
			t.Fatalf("the error is %v", err)
		}
		f.tx(func(ctx context.Context, tx store.Tx) error { return fill(f, ctx, tx, "b") })
		if m, j := count(f); m != 1 || j != 1 {
			t.Fatalf("%d memories and %d jobs are there, want those of the second transaction", m, j)
		}
	})

	t.Run("does not begin when the context has ended", func(t *testing.T) {
		f := setup(t, s)
		ctx, cancel := context.WithCancel(f.ctx)
		cancel()
		err := f.s.InTx(ctx, func(context.Context, store.Tx) error {
			t.Error("the function was called")
			return nil
		})
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("the error is %v", err)
		}
	})

	t.Run("lets ten of fifty fail at once and the others succeed", func(t *testing.T) {
		f := setup(t, s)
		f.settings()
		errs := make([]error, 50)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() {
				errs[i] = f.s.InTx(f.ctx, func(ctx context.Context, tx store.Tx) error {
					if err := fill(f, ctx, tx, fmt.Sprint(i)); err != nil {
						return err
					}
					switch i % 10 {
					case 3:
						return errOnPurpose
					case 7:
						panic("on purpose")
					}
					return nil
				})
			})
		}
		wg.Wait()
		for i, err := range errs {
			if wanted := i%10 == 3 || i%10 == 7; (err != nil) != wanted {
				t.Errorf("transaction %d ended with %v", i, err)
			}
		}
		if m, j := count(f); m != 40 || j != 40 {
			t.Fatalf("%d memories and %d jobs are there, want 40", m, j)
		}
	})

	t.Run("lets one transaction at a time work in a locked scope", func(t *testing.T) {
		f := setup(t, s)
		f.settings()
		const workers, rounds = 8, 50
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() {
				for range rounds {
					err := f.s.InTx(f.ctx, func(ctx context.Context, tx store.Tx) error {
						v, err := tx.LockScope(ctx, f.scope, start)
						if err != nil {
							return err
						}
						v.Version++
						if err := tx.PutScope(ctx, v); err != nil {
							return err
						}
						return tx.PutRun(ctx, oxbow.Run{ID: f.id("counter"), Scope: f.scope, About: start, StartedAt: start, Counts: map[string]int{"n": 1}})
					})
					if err != nil {
						t.Errorf("a transaction failed: %v", err)
						return
					}
				}
			})
		}
		wg.Wait()
		if v := must(f.s.Scope(f.ctx, f.scope))(f); v.Version != 1+workers*rounds {
			t.Errorf("the scope is at version %d, want %d", v.Version, 1+workers*rounds)
		}
		if r := must(f.s.Run(f.ctx, f.scope.Tenant, f.id("counter")))(f); r.Counts["n"] != workers*rounds {
			t.Errorf("the run counts %d, want %d", r.Counts["n"], workers*rounds)
		}
	})

	t.Run("makes a new scope once when many want it at once", func(t *testing.T) {
		f := setup(t, s)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				err := f.s.InTx(f.ctx, func(ctx context.Context, tx store.Tx) error {
					v, err := tx.LockScope(ctx, f.scope, start)
					if err == nil && v.Version != 1 {
						t.Errorf("got version %d", v.Version)
					}
					return err
				})
				if err != nil {
					t.Errorf("a transaction failed: %v", err)
				}
			})
		}
		wg.Wait()
	})

	t.Run("changes two memories from both ends at once without a deadlock", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a"), f.memory("b"))
		var wg sync.WaitGroup
		for i := range 8 {
			first, second := "a", "b"
			if i%2 == 0 {
				first, second = second, first
			}
			wg.Go(func() {
				for range 5 {
					_, err := f.tryApply(f.change(oxbow.Rated, first, func(c *oxbow.Change) { c.Set.Rating = ptr(0.4) }), f.change(oxbow.Rated, second))
					if err != nil {
						t.Errorf("a transaction failed: %v", err)
					}
				}
			})
		}
		wg.Wait()
		if m := f.get("a"); m.Version != 41 {
			t.Fatalf("the memory is at version %d, want 41", m.Version)
		}
		Replay(t, f.s, f.scope.Tenant, f.ids("a", "b")...)
	})

	t.Run("shows readers the last commit while a transaction is open", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a", says("before")))
		f.tx(func(ctx context.Context, tx store.Tx) error {
			if _, err := tx.Apply(ctx, f.batch(), []oxbow.Change{f.change(oxbow.Edited, "a", edits("after"))}); err != nil {
				return err
			}
			if m := f.get("a"); m.Content.Text != "before" || m.Version != 1 {
				t.Errorf("a reader saw what is not committed: %s", show(m))
			}
			return nil
		})
		if m := f.get("a"); m.Content.Text != "after" {
			t.Fatalf("got %s", show(m))
		}
	})
}
