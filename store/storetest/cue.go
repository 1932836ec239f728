package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

func testCues(t *testing.T, s store.Store) {
	put := func(f *fixture, scope oxbow.Scope, conversation, words string, at time.Time) store.Cue {
		c := store.NewCue(words, "turn of "+words, at)
		f.tx(func(ctx context.Context, tx store.Tx) error { return tx.PutCue(ctx, scope, conversation, c) })
		return c
	}
	t.Run("gives a conversation's cues, the newest first, and knows the words again", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a"))
		one, two := put(f, f.scope, "c", "one", start), put(f, f.scope, "c", "two", start.Add(time.Minute))
		put(f, f.scope, "d", "one", start)
		got := must(f.s.Cues(f.ctx, f.scope, "c"))(f)
		f.wantSame(got, []store.Cue{two, one})
		if !got[1].Is("one") || got[1].Is("two") || got[0].Salt == got[1].Salt {
			t.Errorf("the cue of other words is taken for the same, or a salt is shared: %+v", got)
		}
		for name, scope := range map[string]oxbow.Scope{"another scope": f.other(), "another tenant": {Tenant: f.scope.Tenant + "x", Name: f.scope.Name}} {
			if none := must(f.s.Cues(f.ctx, scope, "c"))(f); len(none) != 0 {
				t.Errorf("%s sees %+v", name, none)
			}
		}
	})
	t.Run("keeps the newest only", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a"))
		for i := range store.MaxCues + 3 {
			put(f, f.scope, "c", fmt.Sprint(i), start.Add(time.Duration(i)*time.Second))
		}
		got := must(f.s.Cues(f.ctx, f.scope, "c"))(f)
		if len(got) != store.MaxCues || !got[len(got)-1].Is("3") {
			t.Errorf("%d cues stay, the oldest of %s", len(got), got[len(got)-1].At)
		}
	})
	t.Run("bounds the cues of a scope", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a"))
		f.tx(func(ctx context.Context, tx store.Tx) error {
			for i := range store.MaxScopeCues + 2 {
				c := store.Cue{Salt: "s", Digest: fmt.Sprint(i), At: start.Add(time.Duration(i) * time.Second)}
				if err := tx.PutCue(ctx, f.scope, fmt.Sprint("c", i), c); err != nil {
					return err
				}
			}
			return nil
		})
		for i, want := range map[int]int{1: 0, 2: 1, store.MaxScopeCues + 1: 1} {
			if got := must(f.s.Cues(f.ctx, f.scope, fmt.Sprint("c", i)))(f); len(got) != want {
				t.Errorf("conversation %d has %d cues, want %d", i, len(got), want)
			}
		}
	})
	t.Run("keeps nothing of a scope that there is none of", func(t *testing.T) {
		f := setup(t, s)
		put(f, f.scope, "c", "one", start)
		if got := must(f.s.Cues(f.ctx, f.scope, "c"))(f); len(got) != 0 {
			t.Errorf("there are %+v", got)
		}
	})
	t.Run("lets a conversation's cues go with a turn that is erased", func(t *testing.T) {
		f := setup(t, s)
		turn := f.turn("t", 0)
		f.addTurns(turn)
		put(f, f.scope, turn.Conversation, "one", start)
		put(f, f.scope, "elsewhere", "one", start)
		f.tx(func(ctx context.Context, tx store.Tx) error { return tx.EraseTurn(ctx, f.scope, turn.ID) })
		gone, kept := must(f.s.Cues(f.ctx, f.scope, turn.Conversation))(f), must(f.s.Cues(f.ctx, f.scope, "elsewhere"))(f)
		if len(gone) != 0 || len(kept) != 1 {
			t.Errorf("%d cues of the conversation stay, and %d of another", len(gone), len(kept))
		}
	})
}
