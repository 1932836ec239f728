package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/internal/lab"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/store"
)

// canary is a word that nothing else says.
const canary = "Quetzalcoatlus"

func groupShort(items []llm.Statement) ([][]string, error) {
	var g []string
	for _, s := range items {
		if strings.HasPrefix(s.Text, "short") {
			g = append(g, s.Label)
		}
	}
	return [][]string{g}, nil
}

func TestErase(t *testing.T) {
	tell(t,
		story{"takes a memory's words from everywhere and leaves a tombstone", erasesMemory},
		story{"takes what was made of a memory's words: its vectors and its part of the graph", erasesDerived},
		story{"takes a turn's words and what was made of them", erasesTurn},
		story{"takes a turn that was never read, which then is not read", erasesWaitingTurn},
		story{"takes a merge of it too and brings the other sources back", erasesMerge},
		story{"takes equal restatements too", erasesRestatements},
		story{"takes an equal value at the same address too", erasesEqualFacts},
		story{"is harmless when it is asked for twice", erasesTwice},
		story{"wins over a job that is at the judge", eraseDuringJob},
	)
}

func gone(b *bench) {
	b.Helper()
	dump := strings.ToLower(b.DB.Dump(b))
	if i := strings.Index(dump, strings.ToLower(canary)); i >= 0 {
		b.Errorf("the word is still there: %q", dump[max(0, i-80):min(len(dump), i+80)])
	}
	if hits, err := b.DB.Search(b.Ctx, store.SearchQuery{Scope: b.Bench.Scope, Text: canary, Statuses: oxbow.Statuses, K1: 1.2, B: 0.1, Limit: 5}); err != nil || len(hits) > 0 {
		b.Errorf("it is found: %v %v", hits, err)
	}
	b.Clean()
}

func erasesMemory(b *bench) {
	m := b.Remember(lab.Statement{Text: "pet: " + canary, Summary: "a " + canary, Tags: []string{canary}})
	keeper := b.Remember(lab.Statement{Text: "pet: a cat", SaidAt: at(0)})
	b.drain()
	text := "pet: the great " + canary
	_, err := b.Engine.Edit(b.Ctx, b.tenant(), m.ID, engine.Change{Text: &text})
	b.Must(err)
	b.drain()
	if !strings.Contains(b.DB.Dump(b), canary) {
		b.Fatal("the word is not there before it is erased")
	}
	done, err := b.Engine.EraseMemory(b.Ctx, b.tenant(), m.ID[:10])
	b.Must(err)
	equal(b, "the tombstones", strings.Join(done.Memories, ","), m.ID)
	got := b.Get(m.ID)
	equal(b, "the status", got.Status, oxbow.Erased)
	equal(b, "its text", got.Content.Text, "")
	if types := b.Types(m.ID); types[0] != oxbow.Created || types[len(types)-1] != oxbow.ErasedEvent {
		b.Errorf("the events are %v", types)
	}
	equal(b, "the link", linked(b, m.ID, keeper.ID, oxbow.Supersedes), true)
	gone(b)
	story, err := b.Engine.Why(b.Ctx, b.tenant(), m.ID)
	b.Must(err)
	equal(b, "the end of the story", story.Now[len(story.Now)-1], "Now it is erased and is not recalled.")
	b.drain()
	gone(b)
}

func erasesDerived(b *bench) {
	e := &lab.Embedder{}
	b.Embed(e)
	m := b.Remember(lab.Statement{Text: "pet: " + canary})
	keeper := b.Remember(lab.Statement{Text: "sister: Ada"})
	b.drain()
	part := func(id string, more ...store.GraphEntity) store.GraphPart {
		g := store.GraphPart{Memory: id, ContentVersion: 1, Entities: append(more, store.GraphEntity{Name: "Ada"})}
		for _, x := range more {
			g.Relations = append(g.Relations, store.GraphRelation{From: "Ada", Type: "keeps a " + canary, To: x.Name})
		}
		return g
	}
	b.Must(b.DB.InTx(b.Ctx, func(ctx context.Context, tx store.Tx) error {
		if _, err := tx.PutGraph(ctx, b.Bench.Scope, part(m.ID, store.GraphEntity{Name: "Kit", Type: canary, Description: "a " + canary, Aliases: []string{canary}})); err != nil {
			return err
		}
		_, err := tx.PutGraph(ctx, b.Bench.Scope, part(keeper.ID))
		return err
	}))
	_, err := b.Engine.EraseMemory(b.Ctx, b.tenant(), m.ID)
	b.Must(err)
	gone(b)
	with, without, err := b.DB.CountVectors(b.Ctx, b.Bench.Scope, e.ID())
	b.Must(err)
	equal(b, "the vectors", fmt.Sprint(with, without), "1 0")
	nodes, edges, err := b.DB.CountGraph(b.Ctx, b.Bench.Scope)
	b.Must(err)
	equal(b, "the graph", fmt.Sprint(nodes, edges), "1 0")
}

func erasesTurn(b *bench) {
	b.Ingest(oxbow.Turn{Conversation: "c", User: "pet: " + canary + "\nuser/pet = " + canary, Assistant: "reply: nice, a " + canary, At: at(1),
		Parts: []oxbow.Part{{Source: oxbow.FromWeb, Text: "page: about " + canary}}})
	b.Say("c", "tea: green", at(2))
	b.drain()
	ts, err := b.DB.ListTurns(b.Ctx, store.TurnFilter{Tenant: b.tenant(), Limit: 10})
	b.Must(err)
	done, err := b.Engine.EraseTurn(b.Ctx, b.tenant(), ts[1].ID)
	b.Must(err)
	equal(b, "the tombstones", len(done.Memories), 4)
	equal(b, "the turns", len(done.Turns), 1)
	turn, err := b.DB.Turn(b.Ctx, b.tenant(), ts[1].ID)
	b.Must(err)
	equal(b, "the turn", turn.State, oxbow.TurnErased)
	equal(b, "the other memory", b.Find("tea: green").Status, oxbow.Active)
	gone(b)
	_, err = b.Engine.RunJob(b.Ctx, engine.Order{Name: "extract", Tenant: b.tenant()})
	b.Must(err)
	b.drain()
	equal(b, "what is known after another reading", len(b.All()), 5)
	gone(b)
}

func erasesWaitingTurn(b *bench) {
	b.Ingest(oxbow.Turn{ID: "one", User: "pet: " + canary, At: at(1)})
	ts, err := b.DB.ListTurns(b.Ctx, store.TurnFilter{Tenant: b.tenant(), Limit: 10})
	b.Must(err)
	_, err = b.Engine.EraseTurn(b.Ctx, b.tenant(), ts[0].ID)
	b.Must(err)
	b.drain()
	equal(b, "the questions", b.Judge.Calls("extract"), 0)
	equal(b, "the memories", len(b.All()), 0)
	gone(b)
	done, err := b.Engine.Ingest(b.Ctx, []oxbow.Turn{{ID: "one", Scope: b.Bench.Scope, User: "pet: " + canary, At: at(1)}})
	b.Must(err)
	equal(b, "the same turn again", done.Known, 1)
	gone(b)
}

func erasesMerge(b *bench) {
	texts := []string{"short names please", "short names, says " + canary, "short names are nicer", "lunch is at noon", "my cat sleeps"}
	var ms []oxbow.Memory
	for i, text := range texts {
		ms = append(ms, b.Remember(lab.Statement{Text: text, SaidAt: at(i)}))
	}
	b.Judge.OnCluster = groupShort
	b.drain()
	_, err := b.Engine.RunJob(b.Ctx, engine.Order{Name: "cluster", Tenant: b.tenant()})
	b.Must(err)
	b.drain()
	merge := b.Get(ms[0].ID).ReplacedBy
	equal(b, "merged at first", b.Get(merge).Derived, true)
	done, err := b.Engine.EraseMemory(b.Ctx, b.tenant(), ms[1].ID)
	b.Must(err)
	equal(b, "the tombstones", len(done.Memories), 2)
	equal(b, "the merge", b.Get(merge).Status, oxbow.Erased)
	equal(b, "what came back", len(done.Restored), 2)
	for _, i := range []int{0, 2} {
		equal(b, texts[i], b.Get(ms[i].ID).Status, oxbow.Active)
	}
	gone(b)
}

func erasesRestatements(b *bench) {
	b.Remember(lab.Statement{Text: "I keep a " + canary, SaidAt: at(1)})
	two := b.Remember(lab.Statement{Text: "i keep a  " + canary + ".", SaidAt: at(30)})
	b.drain()
	equal(b, "at first", b.Get(two.ID).Status, oxbow.Compressed)
	done, err := b.Engine.EraseMemory(b.Ctx, b.tenant(), two.ID)
	b.Must(err)
	equal(b, "the tombstones", len(done.Memories), 2)
	gone(b)
}

func erasesEqualFacts(b *bench) {
	one := b.Remember(lab.Statement{Text: canary, Slot: "user", Key: "pet", SaidAt: at(1)})
	b.Remember(lab.Statement{Text: "a cat", Slot: "user", Key: "pet", SaidAt: at(2)})
	b.Remember(lab.Statement{Text: strings.ToLower(canary), Slot: "user", Key: "pet", SaidAt: at(30)})
	b.Remember(lab.Statement{Text: canary + ".", Slot: "user", Key: "pet", SaidAt: at(60)})
	b.drain()
	done, err := b.Engine.EraseMemory(b.Ctx, b.tenant(), one.ID)
	b.Must(err)
	equal(b, "the tombstones", len(done.Memories), 3)
	equal(b, "the other value", b.Find("a cat").Status, oxbow.Superseded)
	gone(b)
}

func erasesTwice(b *bench) {
	m := b.Remember(lab.Statement{Text: "pet: " + canary})
	b.drain()
	for want := range 2 {
		done, err := b.Engine.EraseMemory(b.Ctx, b.tenant(), m.ID)
		b.Must(err)
		equal(b, "the tombstones", len(done.Memories), 1-want)
	}
	equal(b, "the events", len(slices.DeleteFunc(b.Types(m.ID), func(t oxbow.EventType) bool { return t != oxbow.ErasedEvent })), 1)
	_, err := b.Engine.EraseMemory(b.Ctx, b.tenant(), "zzzz")
	code(b, "an unknown id", err, oxbow.CodeNotFound)
	gone(b)
}

func eraseDuringJob(b *bench) {
	b.Judge.OnExtract = func(t llm.TurnText) (llm.Extraction, error) {
		ts, err := b.DB.ListTurns(b.Ctx, store.TurnFilter{Tenant: b.tenant(), Limit: 10})
		if err != nil {
			return llm.Extraction{}, err
		}
		_, err = b.Engine.EraseTurn(b.Ctx, b.tenant(), ts[0].ID)
		return llm.Extraction{Drafts: []llm.Draft{lab.DraftOf(t.User)}}, err
	}
	b.Say("c", "pet: "+canary, at(1))
	b.drain()
	equal(b, "the memories", len(b.All()), 0)
	gone(b)
}
