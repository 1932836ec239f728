package storetest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// claim writes a ledger key in a transaction of its own.
func (f *fixture) claim(key string) (won bool) {
	f.Helper()
	f.tx(func(ctx context.Context, tx store.Tx) (err error) {
		won, err = tx.Claim(ctx, key, f.id("run"), start)
		return err
	})
	return won
}

func testRuns(t *testing.T, s store.Store) {
	run := func(f *fixture, name string) oxbow.Run {
		return oxbow.Run{ID: f.id(name), Scope: f.scope, Name: "decay", Trigger: "schedule", Status: oxbow.RunRunning,
			About: start, StartedAt: start.Add(time.Second), Counts: map[string]int{}}
	}
	put := func(f *fixture, r oxbow.Run) {
		f.Helper()
		f.lock(r.Scope)
		f.tx(func(ctx context.Context, tx store.Tx) error { return tx.PutRun(ctx, r) })
	}

	t.Run("keeps a run and adds up its counts", func(t *testing.T) {
		f := setup(t, s)
		r := run(f, "a")
		r.Counts = map[string]int{"archived": 2, "refused": 1}
		put(f, r)
		f.wantSame(must(f.s.Run(f.ctx, f.scope.Tenant, r.ID))(f), r)
		r.Counts = map[string]int{"archived": 3, "expired": 4}
		r.Status, r.FinishedAt, r.Cursor, r.Note = oxbow.RunStopped, start.Add(time.Hour), "c7", "the brake"
		put(f, r)
		r.Counts = map[string]int{"archived": 5, "refused": 1, "expired": 4}
		f.wantSame(must(f.s.Run(f.ctx, f.scope.Tenant, r.ID))(f), r)
		r.Counts = nil
		r.Status, r.FinishedAt, r.Cursor, r.Note = oxbow.RunRunning, time.Time{}, "", ""
		put(f, r)
		if got := must(f.s.Run(f.ctx, f.scope.Tenant, r.ID))(f); got.Counts["archived"] != 5 || !got.FinishedAt.IsZero() || got.Note != "" {
			t.Fatalf("got %s", show(got))
		}
	})

	t.Run("says not_found for a run that nobody made, and for one in a scope that is not there", func(t *testing.T) {
		f := setup(t, s)
		_, err := f.s.Run(f.ctx, f.scope.Tenant, f.id("nobody"))
		f.wantCode(err, oxbow.CodeNotFound)
		err = f.s.InTx(f.ctx, func(ctx context.Context, tx store.Tx) error { return tx.PutRun(ctx, run(f, "a")) })
		f.wantCode(err, oxbow.CodeNotFound)
	})

	t.Run("lists the newest first, filtered and in pages", func(t *testing.T) {
		f := setup(t, s)
		a, b, c := run(f, "a"), run(f, "b"), run(f, "c")
		b.About, b.Name = start.Add(2*time.Hour), "prune"
		c.About, c.Status, c.Scope = start.Add(time.Hour), oxbow.RunDone, f.other()
		for _, r := range []oxbow.Run{a, b, c} {
			put(f, r)
		}
		list := func(filter store.RunFilter, want ...string) {
			t.Helper()
			filter.Tenant = f.scope.Tenant
			if filter.Limit == 0 {
				filter.Limit = 9
			}
			var ids []string
			for _, r := range must(f.s.ListRuns(f.ctx, filter))(f) {
				ids = append(ids, r.ID)
			}
			f.wantOrder(ids, want...)
		}
		list(store.RunFilter{}, "b", "c", "a")
		list(store.RunFilter{Scope: f.scope.Name}, "b", "a")
		list(store.RunFilter{Name: "decay"}, "c", "a")
		list(store.RunFilter{Status: oxbow.RunDone}, "c")
		list(store.RunFilter{Limit: 1}, "b")
		list(store.RunFilter{Limit: 1, AfterID: f.id("b")}, "c")
		list(store.RunFilter{Scope: f.scope.Name, AfterID: f.id("b")}, "a")
		list(store.RunFilter{Name: "decay", AfterID: f.id("c")}, "a")
		list(store.RunFilter{AfterID: f.id("a")})
		d, e := run(f, "d"), run(f, "e") // about the same instant
		d.About, e.About, e.StartedAt = b.About, b.About, b.StartedAt.Add(time.Minute)
		put(f, d)
		put(f, e)
		tied := f.later("b", "d")
		list(store.RunFilter{Limit: 2}, "e", tied[0])
		list(store.RunFilter{Limit: 2, AfterID: f.id(tied[0])}, tied[1], "c")
	})

	t.Run("lets a ledger key be claimed once", func(t *testing.T) {
		f := setup(t, s)
		if !f.claim(f.id("k")) || f.claim(f.id("k")) || !f.claim(f.id("k2")) {
			t.Fatal("the first claim must win and the second lose")
		}
		f.tx(func(ctx context.Context, tx store.Tx) error {
			if won, err := tx.Claim(ctx, f.id("k3"), "r", start); !won || err != nil {
				t.Errorf("a free key was refused: %v", err)
			}
			won, err := tx.Claim(ctx, f.id("k3"), "r", start)
			if won {
				t.Error("one transaction claimed a key twice")
			}
			return err
		})
	})

	t.Run("lets exactly one of many racing claims win", func(t *testing.T) {
		f := setup(t, s)
		for round := range 5 {
			key := f.id("race") + string(rune('a'+round))
			won := make([]bool, 6)
			var wg sync.WaitGroup
			for i := range won {
				wg.Go(func() {
					_ = f.s.InTx(f.ctx, func(ctx context.Context, tx store.Tx) (err error) {
						won[i], err = tx.Claim(ctx, key, "r", start)
						return err
					})
				})
			}
			wg.Wait()
			n := 0
			for _, w := range won {
				if w {
					n++
				}
			}
			if n != 1 {
				t.Fatalf("%d claims won", n)
			}
		}
	})

	t.Run("gives a claim back when its transaction fails", func(t *testing.T) {
		f := setup(t, s)
		_ = f.s.InTx(f.ctx, func(ctx context.Context, tx store.Tx) error {
			if _, err := tx.Claim(ctx, f.id("k"), "r", start); err != nil {
				return err
			}
			return errOnPurpose
		})
		if !f.claim(f.id("k")) {
			t.Fatal("the claim of a failed transaction stands")
		}
	})

	t.Run("takes claims away by their prefix and no others", func(t *testing.T) {
		f := setup(t, s)
		p := f.id("p")
		for _, key := range []string{p + "/a", p + "/b/c", p + "/", p, p + "0", p + "/😀", p + "/%", p[:8]} {
			f.claim(key)
		}
		f.tx(func(ctx context.Context, tx store.Tx) error { return tx.Unclaim(ctx, p+"/") })
		for key, free := range map[string]bool{p + "/a": true, p + "/b/c": true, p + "/": true, p + "/😀": true, p + "/%": true, p: false, p + "0": false, p[:8]: false} {
			if f.claim(key) != free {
				t.Errorf("%q: free is %v, want %v", key, !free, free)
			}
		}
		f.tx(func(ctx context.Context, tx store.Tx) error { return tx.Unclaim(ctx, p+"/%") })
		if f.claim(p + "/a") {
			t.Error("a prefix was taken for a pattern")
		}
	})

	t.Run("keeps the jobs that were given up, newest first", func(t *testing.T) {
		f := setup(t, s)
		d := store.Discarded{ID: f.id("a"), Tenant: f.scope.Tenant, Scope: f.scope.Name, Kind: "extract", Args: []byte(`{"turn":"t1","n":1}`), Error: "it broke", At: start}
		e := d
		e.ID, e.At = f.id("b"), start.Add(time.Hour)
		f.tx(func(ctx context.Context, tx store.Tx) error {
			if err := tx.PutDiscarded(ctx, d); err != nil {
				return err
			}
			return tx.PutDiscarded(ctx, e)
		})
		f.wantSame(must(f.s.ListDiscarded(f.ctx, f.scope.Tenant, 9))(f), []store.Discarded{e, d})
		f.wantSame(must(f.s.ListDiscarded(f.ctx, f.scope.Tenant, 1))(f), []store.Discarded{e})
		d.Error, d.At = "it broke again", start.Add(2*time.Hour)
		f.tx(func(ctx context.Context, tx store.Tx) error {
			if err := tx.PutDiscarded(ctx, d); err != nil {
				return err
			}
			return tx.DropDiscarded(ctx, f.scope.Tenant, e.ID)
		})
		f.wantSame(must(f.s.ListDiscarded(f.ctx, f.scope.Tenant, 9))(f), []store.Discarded{d})
	})
}
