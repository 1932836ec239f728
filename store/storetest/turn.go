package storetest

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// turn gives a turn that was said some hours after start.
func (f *fixture) turn(name string, hours int) oxbow.Turn {
	return oxbow.Turn{ID: f.id(name), Scope: f.scope, Conversation: "c1", User: "user says " + name, Assistant: "assistant says " + name,
		At: start.Add(time.Duration(hours) * time.Hour), CreatedAt: start.Add(day), Run: f.id("ingest")}
}

// addTurns stores turns and gives how many were new.
func (f *fixture) addTurns(ts ...oxbow.Turn) (n int) {
	f.Helper()
	for _, t := range ts {
		f.lock(t.Scope)
	}
	f.tx(func(ctx context.Context, tx store.Tx) (err error) {
		n, err = tx.AddTurns(ctx, ts)
		return err
	})
	return n
}

// finish sets a turn's state.
func (f *fixture) finish(name string, state oxbow.TurnState) {
	f.Helper()
	f.tx(func(ctx context.Context, tx store.Tx) error {
		return tx.FinishTurn(ctx, oxbow.Turn{ID: f.id(name), Scope: f.scope, State: state, Reason: "because", Memories: 2, Judge: "rules@1", Run: f.id("run")})
	})
}

func (f *fixture) getTurn(name string) oxbow.Turn {
	f.Helper()
	return must(f.s.Turn(f.ctx, f.scope.Tenant, f.id(name)))(f)
}

func turnIDs(ts []oxbow.Turn) []string {
	out := make([]string, len(ts))
	for i, t := range ts {
		out[i] = t.ID
	}
	return out
}

func testTurns(t *testing.T, s store.Store) {
	t.Run("gives a turn back with its text and its parts", func(t *testing.T) {
		f := setup(t, s)
		turn := f.turn("a", 0)
		turn.Parts = []oxbow.Part{{Source: oxbow.FromTool, Text: "first {\"json\": true}"}, {Source: oxbow.FromWeb, Text: "<b>second</b>\n"}}
		turn.Redacted = 3
		f.addTurns(turn)
		turn.State = oxbow.TurnWaiting
		f.wantSame(f.getTurn("a"), turn)
		_, err := f.s.Turn(f.ctx, f.scope.Tenant, f.id("nobody"))
		f.wantCode(err, oxbow.CodeNotFound)
	})

	t.Run("stores a turn once, however often it comes", func(t *testing.T) {
		f := setup(t, s)
		if n := f.addTurns(f.turn("a", 0), f.turn("b", 1), f.turn("a", 0)); n != 2 {
			t.Fatalf("%d turns were new, want 2", n)
		}
		f.finish("a", oxbow.TurnExtracted)
		again := f.turn("a", 5)
		again.User = "other words"
		if n := f.addTurns(again, f.turn("c", 2)); n != 1 {
			t.Fatalf("%d turns were new, want 1", n)
		}
		if got := f.getTurn("a"); got.State != oxbow.TurnExtracted || got.User != "user says a" || !got.At.Equal(start) {
			t.Fatalf("the second coming changed it: %s", show(got))
		}
	})

	t.Run("says not_found for a turn in a scope that is not there", func(t *testing.T) {
		f := setup(t, s)
		err := f.s.InTx(f.ctx, func(ctx context.Context, tx store.Tx) error {
			_, err := tx.AddTurns(ctx, []oxbow.Turn{f.turn("a", 0)})
			return err
		})
		f.wantCode(err, oxbow.CodeNotFound)
	})

	t.Run("gives the waiting turns in the order in which they were said, then by id", func(t *testing.T) {
		f := setup(t, s)
		foreign := f.turn("foreign", -9)
		foreign.Scope = f.other()
		f.addTurns(f.turn("late", 3), f.turn("done", 0), f.turn("x", 1), f.turn("y", 1), f.turn("first", -1), foreign)
		f.finish("done", oxbow.TurnExtracted)
		same := []string{"x", "y"}
		if f.id("x") > f.id("y") {
			same = []string{"y", "x"}
		}
		f.wantOrder(turnIDs(must(f.s.NextTurns(f.ctx, f.scope, 10))(f)), "first", same[0], same[1], "late")
		next := must(f.s.NextTurns(f.ctx, f.scope, 1))(f)
		f.wantOrder(turnIDs(next), "first")
		if next[0].User != "user says first" {
			t.Fatalf("the turn came without its text: %s", show(next[0]))
		}
	})

	t.Run("finishes a turn with all that is known of it", func(t *testing.T) {
		f := setup(t, s)
		f.addTurns(f.turn("a", 0))
		f.finish("a", oxbow.TurnFailed)
		got := f.getTurn("a")
		if got.State != oxbow.TurnFailed || got.Reason != "because" || got.Memories != 2 || got.Judge != "rules@1" || got.Run != f.id("run") {
			t.Fatalf("got %s", show(got))
		}
		err := f.s.InTx(f.ctx, func(ctx context.Context, tx store.Tx) error {
			stranger := oxbow.Scope{Tenant: f.scope.Tenant + "x", Name: f.scope.Name}
			if _, err := tx.LockScope(ctx, stranger, start); err != nil {
				return err
			}
			return tx.FinishTurn(ctx, oxbow.Turn{ID: f.id("a"), Scope: stranger, State: oxbow.TurnExtracted})
		})
		if got := f.getTurn("a"); got.State != oxbow.TurnFailed {
			t.Fatalf("a stranger finished it (%v): %s", err, show(got))
		}
	})

	t.Run("reopens those that failed, or all that are done, from an instant on", func(t *testing.T) {
		f := setup(t, s)
		f.addTurns(f.turn("old", 0), f.turn("failed", 2), f.turn("done", 3), f.turn("waiting", 4), f.turn("gone", 5))
		f.finish("old", oxbow.TurnFailed)
		f.finish("failed", oxbow.TurnFailed)
		f.finish("done", oxbow.TurnExtracted)
		f.tx(func(ctx context.Context, tx store.Tx) error { return tx.EraseTurn(ctx, f.scope, f.id("gone")) })
		reopen := func(since time.Time, failedOnly bool, want int) {
			t.Helper()
			f.tx(func(ctx context.Context, tx store.Tx) error {
				n, err := tx.ReopenTurns(ctx, f.scope, since, failedOnly)
				if n != want {
					t.Errorf("%d turns were reopened, want %d", n, want)
				}
				return err
			})
		}
		reopen(start.Add(2*time.Hour+time.Millisecond), true, 0)
		reopen(start.Add(2*time.Hour), true, 1)
		f.wantOrder(turnIDs(must(f.s.NextTurns(f.ctx, f.scope, 9))(f)), "failed", "waiting")
		reopen(start.Add(time.Hour), false, 1)
		reopen(time.Time{}, false, 1)
		f.wantOrder(turnIDs(must(f.s.NextTurns(f.ctx, f.scope, 9))(f)), "old", "failed", "done", "waiting")
		reopen(time.Time{}, false, 0)
	})

	t.Run("erases a turn's text for good", func(t *testing.T) {
		f := setup(t, s)
		turn := f.turn("a", 0)
		turn.Parts = []oxbow.Part{{Source: oxbow.FromTool, Text: "words"}}
		f.addTurns(turn)
		f.tx(func(ctx context.Context, tx store.Tx) error { return tx.EraseTurn(ctx, f.scope, f.id("a")) })
		for range 2 {
			got := f.getTurn("a")
			if got.State != oxbow.TurnErased || got.User != "" || got.Assistant != "" || len(got.Parts) != 0 {
				t.Fatalf("got %s", show(got))
			}
			f.finish("a", oxbow.TurnExtracted) // a job that comes late
			if n := f.addTurns(turn); n != 0 {
				t.Fatal("an erased turn came back")
			}
		}
	})

	t.Run("counts by state, in one scope and in all", func(t *testing.T) {
		f := setup(t, s)
		foreign := f.turn("foreign", 0)
		foreign.Scope = f.other()
		f.addTurns(f.turn("a", 0), f.turn("b", 0), f.turn("c", 0), foreign)
		f.finish("a", oxbow.TurnExtracted)
		f.wantSame(must(f.s.CountTurns(f.ctx, f.scope))(f), map[oxbow.TurnState]int{oxbow.TurnWaiting: 2, oxbow.TurnExtracted: 1})
		f.wantSame(must(f.s.CountTurns(f.ctx, oxbow.Scope{Tenant: f.scope.Tenant}))(f), map[oxbow.TurnState]int{oxbow.TurnWaiting: 3, oxbow.TurnExtracted: 1})
	})

	t.Run("lists newest first, filtered and in pages", func(t *testing.T) {
		f := setup(t, s)
		second := f.turn("b", 1)
		second.Conversation = "c2"
		foreign := f.turn("d", 3)
		foreign.Scope = f.other()
		f.addTurns(f.turn("a", 0), second, f.turn("c", 2), foreign)
		f.finish("c", oxbow.TurnExtracted)
		list := func(filter store.TurnFilter, want ...string) {
			t.Helper()
			filter.Tenant = f.scope.Tenant
			if filter.Limit == 0 {
				filter.Limit = 9
			}
			f.wantOrder(turnIDs(must(f.s.ListTurns(f.ctx, filter))(f)), want...)
		}
		list(store.TurnFilter{}, "d", "c", "b", "a")
		list(store.TurnFilter{Scope: f.scope.Name}, "c", "b", "a")
		list(store.TurnFilter{Conversation: "c2"}, "b")
		list(store.TurnFilter{State: oxbow.TurnExtracted}, "c")
		list(store.TurnFilter{Since: start.Add(2 * time.Hour)}, "d", "c")
		list(store.TurnFilter{Limit: 2}, "d", "c")
		list(store.TurnFilter{Limit: 2, AfterID: f.id("c")}, "b", "a")
		for i, name := range []string{"e", "f", "g"} { // in scopes of their own, at the same instant as d
			same := f.turn(name, 3)
			same.Scope = oxbow.Scope{Tenant: f.scope.Tenant, Name: "more" + strconv.Itoa(i)}
			f.lock(same.Scope)
			f.addTurns(same)
		}
		tied := f.later("d", "e", "f", "g")
		list(store.TurnFilter{Limit: 2}, tied[:2]...)
		list(store.TurnFilter{Limit: 2, AfterID: f.id(tied[1])}, tied[2:]...)
		list(store.TurnFilter{Limit: 3, AfterID: f.id(tied[2])}, tied[3], "c", "b")
	})
}
