package storetest

import (
	"context"
	"testing"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

func testVerdicts(t *testing.T, s store.Store) {
	put := func(f *fixture, vs ...oxbow.Verdict) {
		f.Helper()
		f.tx(func(ctx context.Context, tx store.Tx) error { return tx.PutVerdicts(ctx, f.scope, vs) })
	}
	verdict := func(f *fixture, older, newer string, r oxbow.Relation) oxbow.Verdict {
		return oxbow.Verdict{Older: f.id(older), Newer: f.id(newer), Relation: r, Judge: "rules@1", Run: f.id("run"), At: start}
	}

	t.Run("gives back what touches a memory, from either end", func(t *testing.T) {
		f := setup(t, s)
		f.settings()
		ab, bc := verdict(f, "a", "b", oxbow.Contradicts), verdict(f, "b", "c", oxbow.Unsure)
		put(f, ab, bc)
		f.wantSame(must(f.s.Verdicts(f.ctx, f.scope.Tenant, f.ids("a")))(f), []oxbow.Verdict{ab})
		f.wantSame(must(f.s.Verdicts(f.ctx, f.scope.Tenant, f.ids("c")))(f), []oxbow.Verdict{bc})
		if n := len(must(f.s.Verdicts(f.ctx, f.scope.Tenant, f.ids("b", "c")))(f)); n != 2 {
			t.Fatalf("got %d verdicts, want 2", n)
		}
	})

	t.Run("lets the newer verdict on a pair win", func(t *testing.T) {
		f := setup(t, s)
		f.settings()
		put(f, verdict(f, "a", "b", oxbow.Unsure))
		second := verdict(f, "a", "b", oxbow.Replaces)
		second.Judge, second.Run, second.At = "operator", "other", start.Add(day)
		put(f, second)
		f.wantSame(must(f.s.Verdicts(f.ctx, f.scope.Tenant, f.ids("a")))(f), []oxbow.Verdict{second})
	})

	t.Run("takes away what touches a memory and leaves the rest", func(t *testing.T) {
		f := setup(t, s)
		f.settings()
		cd := verdict(f, "c", "d", oxbow.Equal)
		put(f, verdict(f, "a", "b", oxbow.Unsure), verdict(f, "b", "c", oxbow.Unsure), cd)
		f.tx(func(ctx context.Context, tx store.Tx) error { return tx.DropVerdicts(ctx, f.scope, f.id("b")) })
		f.wantSame(must(f.s.Verdicts(f.ctx, f.scope.Tenant, f.ids("a", "b", "c", "d")))(f), []oxbow.Verdict{cd})
	})

	t.Run("says not_found for verdicts in a scope that is not there", func(t *testing.T) {
		f := setup(t, s)
		err := f.s.InTx(f.ctx, func(ctx context.Context, tx store.Tx) error {
			return tx.PutVerdicts(ctx, f.scope, []oxbow.Verdict{verdict(f, "a", "b", oxbow.Unsure)})
		})
		f.wantCode(err, oxbow.CodeNotFound)
	})
}
