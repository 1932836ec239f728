package storetest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

func testShown(t *testing.T, s store.Store) {
	t.Run("remembers where a memory was shown, and when first", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a"), f.memory("b"))
		put := func(scope oxbow.Scope, conversation string, at time.Time, ids ...string) {
			f.tx(func(ctx context.Context, tx store.Tx) error { return tx.PutShown(ctx, scope, conversation, ids, at) })
		}
		put(f.scope, "c1", start, f.id("a"), "nothing")
		put(f.scope, "c1", start.Add(time.Hour), f.id("a"))
		put(f.scope, "c2", start, f.id("b"))
		put(f.other(), "c3", start, f.id("b"))
		got := must(f.s.Shown(f.ctx, f.scope.Tenant, f.ids("a", "b")))(f)
		want := []oxbow.Shown{{Memory: f.id("a"), Conversation: "c1", At: start}, {Memory: f.id("b"), Conversation: "c2", At: start}}
		slices.SortFunc(want, func(x, y oxbow.Shown) int {
			if x.Memory < y.Memory {
				return -1
			}
			return 1
		})
		f.wantSame(got, want)
		if none := must(f.s.Shown(f.ctx, f.scope.Tenant+"x", f.ids("a", "b")))(f); len(none) != 0 {
			t.Fatalf("another tenant sees %+v", none)
		}
	})
}
