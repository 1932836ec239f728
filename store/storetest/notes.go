package storetest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// turnOf stores a turn of a conversation that was read, said so many minutes after start.
func (f *fixture) turnOf(name, conversation string, minutes int, state oxbow.TurnState) oxbow.Turn {
	f.Helper()
	t := oxbow.Turn{ID: f.id(name), Scope: f.scope, Conversation: conversation, User: "words of " + name, At: start.Add(time.Duration(minutes) * time.Minute), CreatedAt: start}
	f.tx(func(ctx context.Context, tx store.Tx) error {
		if _, err := tx.AddTurns(ctx, []oxbow.Turn{t}); err != nil {
			return err
		}
		if t.State = state; state == oxbow.TurnWaiting {
			return nil
		}
		return tx.FinishTurn(ctx, t)
	})
	return t
}

func (f *fixture) observe(run string, names ...string) {
	f.Helper()
	f.tx(func(ctx context.Context, tx store.Tx) error {
		return tx.ObserveTurns(ctx, f.scope, f.ids(names...), run)
	})
}

func (f *fixture) wantTurns(got []oxbow.Turn, names ...string) {
	f.Helper()
	ids := make([]string, len(got))
	for i, t := range got {
		ids[i] = t.ID
	}
	if !slices.Equal(ids, f.ids(names...)) {
		f.Fatalf("got %d turns: %s; want %v", len(got), show(got), names)
	}
}

// noteOf gives a setter that makes a memory an observation of a conversation.
func noteOf(conversation string) func(*oxbow.Memory) {
	return func(m *oxbow.Memory) { m.Kind, m.Conversation = oxbow.Observation, conversation }
}

func testNotes(t *testing.T, s store.Store) {
	t.Run("gives the turns of a conversation that were read and not observed, the first said first", func(t *testing.T) {
		f := setup(t, s)
		f.settings()
		f.turnOf("late", "talk", 9, oxbow.TurnExtracted)
		f.turnOf("failed", "talk", 2, oxbow.TurnFailed)
		f.turnOf("early", "talk", 1, oxbow.TurnExtracted)
		f.turnOf("waiting", "talk", 3, oxbow.TurnWaiting)
		f.turnOf("other", "else", 4, oxbow.TurnExtracted)
		f.turnOf("none", "", 5, oxbow.TurnExtracted)
		f.wantTurns(must(f.s.Unobserved(f.ctx, f.scope, "talk", 9))(f), "early", "failed", "late")
		f.wantTurns(must(f.s.Unobserved(f.ctx, f.scope, "talk", 2))(f), "early", "failed")
		f.wantTurns(must(f.s.Unobserved(f.ctx, f.scope, "", 9))(f))
		f.wantTurns(must(f.s.Unobserved(f.ctx, f.other(), "talk", 9))(f))
		turns, tokens, err := f.s.CountUnobserved(f.ctx, f.scope, "talk")
		f.wantCode(err, "")
		if turns != 3 || tokens != 3*4 {
			t.Fatalf("%d turns with %d tokens wait", turns, tokens)
		}
		f.wantSame(must(f.s.Conversations(f.ctx, f.scope, store.ConversationFilter{Limit: 9}))(f), []string{"else", "talk"})
		f.wantSame(must(f.s.Conversations(f.ctx, f.scope, store.ConversationFilter{After: "else", Limit: 9}))(f), []string{"talk"})

		f.observe("run1", "early", "late", "nobody's")
		f.wantTurns(must(f.s.Unobserved(f.ctx, f.scope, "talk", 9))(f), "failed")
		if got := must(f.s.Turn(f.ctx, f.scope.Tenant, f.id("late")))(f).Observed; got != "run1" {
			t.Fatalf("the turn was observed in %q", got)
		}
		f.tx(func(ctx context.Context, tx store.Tx) error {
			return tx.ObserveTurns(ctx, oxbow.Scope{Tenant: f.scope.Tenant + "x", Name: f.scope.Name}, f.ids("failed"), "run2")
		})
		f.wantTurns(must(f.s.Unobserved(f.ctx, f.scope, "talk", 9))(f), "failed")
		f.observe("", "late")
		f.wantTurns(must(f.s.Unobserved(f.ctx, f.scope, "talk", 9))(f), "failed", "late")
	})

	t.Run("keeps which turns an observation rests on, and lists it with each of them", func(t *testing.T) {
		f := setup(t, s)
		f.settings()
		f.turnOf("b", "talk", 2, oxbow.TurnExtracted)
		f.turnOf("a", "talk", 1, oxbow.TurnExtracted)
		if must(f.s.HasNotes(f.ctx, f.scope))(f) {
			t.Fatal("a new scope has observations")
		}
		f.create(f.memory("note", noteOf("talk"), func(m *oxbow.Memory) { m.Turn = f.id("b") }), f.memory("kept", func(m *oxbow.Memory) { m.Turn = f.id("a") }))
		rests := []store.Evidence{{Memory: f.id("note"), Turn: f.id("b")}, {Memory: f.id("note"), Turn: f.id("a")}}
		for range 2 {
			f.tx(func(ctx context.Context, tx store.Tx) error { return tx.PutEvidence(ctx, f.scope, rests) })
		}
		slices.Reverse(rests)
		f.wantSame(must(f.s.EvidenceOf(f.ctx, f.scope.Tenant, f.ids("note", "kept")))(f), rests)
		of := func(turn string) []oxbow.Memory {
			return must(f.s.ListMemories(f.ctx, store.MemoryFilter{Tenant: f.scope.Tenant, Turn: f.id(turn), Limit: 9}))(f)
		}
		if a, b := of("a"), of("b"); len(a) != 2 || len(b) != 1 || b[0].ID != f.id("note") {
			t.Fatalf("the first turn has %d memories, the second %d", len(a), len(b))
		}
		if !must(f.s.HasNotes(f.ctx, f.scope))(f) || must(f.s.HasNotes(f.ctx, f.other()))(f) {
			t.Fatal("which scope has observations is told wrong")
		}
	})

	t.Run("tells what was shown in a conversation, and which conversations have active notes", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a", noteOf("talk")), f.memory("b", noteOf("old"), func(m *oxbow.Memory) { m.Status = oxbow.Superseded }),
			f.memory("c", func(m *oxbow.Memory) { m.Conversation = "plain" }))
		f.tx(func(ctx context.Context, tx store.Tx) error {
			return tx.PutShown(ctx, f.scope, "talk", f.ids("c"), start)
		})
		f.wantSame(must(f.s.ShownIn(f.ctx, f.scope, "talk"))(f), []oxbow.Shown{{Memory: f.id("c"), Conversation: "talk", At: start}})
		if got := must(f.s.ShownIn(f.ctx, f.scope, "plain"))(f); len(got) != 0 {
			t.Fatalf("nothing was shown there, and %d are told", len(got))
		}
		f.wantSame(must(f.s.Conversations(f.ctx, f.scope, store.ConversationFilter{Noted: true, Limit: 9}))(f), []string{"talk"})
	})

	t.Run("keeps notes apart where it is asked to, and out of what is for memories alone", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("note", noteOf("talk"), says("the lighthouse keeper")), f.memory("free", says("the lighthouse lamp")),
			f.memory("loose", says("the lighthouse stairs"), func(m *oxbow.Memory) { m.Kind = oxbow.Observation }))
		search := func(rule store.NoteRule) []string {
			var out []string
			for _, h := range must(f.s.Search(f.ctx, store.SearchQuery{Scope: f.scope, Text: "lighthouse", Statuses: oxbow.Statuses, Notes: rule, K1: 1.2, B: 0.1, Limit: 9}))(f) {
				out = append(out, h.ID)
			}
			return store.Sorted(out)
		}
		f.wantSame(search(store.WithNotes), store.Sorted(f.ids("note", "free", "loose")))
		f.wantSame(search(store.WithoutNotes), store.Sorted(f.ids("free", "loose")))
		f.wantSame(search(store.OnlyNotes), f.ids("note"))
		if got := must(f.s.ClusterCandidates(f.ctx, f.scope, start, 9))(f); len(got) != 2 {
			t.Fatalf("cluster gets %s", show(got))
		}
		settings := must(f.s.Scope(f.ctx, f.scope))(f)
		if got := must(f.s.StrongestMemories(f.ctx, settings, start, 9))(f); len(got) != 2 {
			t.Fatalf("the live listing is %s", show(got))
		}
		if _, without, err := f.s.CountVectors(f.ctx, f.scope, small); err != nil || without != 2 {
			t.Fatalf("%d memories want a vector, error %v", without, err)
		}
	})

	t.Run("leaves out the notes between what was said in a conversation", func(t *testing.T) {
		f := setup(t, s)
		for i, name := range []string{"first", "note", "second"} {
			at := func(m *oxbow.Memory) { m.Conversation, m.SaidAt = "talk", start.Add(time.Duration(i)*time.Minute) }
			m := f.memory(name, at)
			if name == "note" {
				m.Kind = oxbow.Observation
			}
			f.create(m)
		}
		beside := must(f.s.Beside(f.ctx, store.BesideQuery{Scope: f.scope, IDs: f.ids("second"), Statuses: oxbow.Statuses, Reach: 1}))(f)
		if len(beside) != 1 || beside[0].ID != f.id("first") {
			t.Fatalf("beside the second stands %s", fmt.Sprint(beside))
		}
	})
}
