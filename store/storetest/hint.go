package storetest

import (
	"context"
	"testing"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/store"
)

// holding gives a memory the detail that somebody's home is a place.
func holding(attribute, value string) func(*oxbow.Memory) {
	return func(m *oxbow.Memory) {
		m.Content.Details = []oxbow.Detail{{Subject: "user", Attribute: attribute, Value: value, Type: oxbow.PlaceValue}}
	}
}

// hinted gives the names of the memories that a word finds as a hint.
func (f *fixture) hinted(word string) []string {
	f.Helper()
	m := must(f.s.Match(f.ctx, store.MatchQuery{Scope: f.scope, Terms: []store.Weighted{{Hash: text.HintHash(text.Stem(word)), Weight: 1}},
		Statuses: oxbow.Statuses, K1: 1, B: 0.3, Limit: 100}))(f)
	var ids []string
	for _, h := range m.Hits {
		ids = append(ids, h.ID)
	}
	return ids
}

func (f *fixture) putHints(ms ...oxbow.Memory) (n int) {
	f.Helper()
	f.tx(func(ctx context.Context, tx store.Tx) (err error) {
		n, err = tx.PutHints(ctx, f.scope, ms)
		return err
	})
	return n
}

func (f *fixture) wantHintless(names ...string) {
	f.Helper()
	n, err := f.s.CountWithoutHints(f.ctx, f.scope)
	if err != nil || n != len(names) {
		f.Fatalf("%d are without hints (%v), want %d", n, err, len(names))
	}
	f.wantOrder(store.IDsOf(must(f.s.WithoutHints(f.ctx, f.scope, "", 100))(f)), names...)
}

func testHints(t *testing.T, s store.Store) {
	t.Run("finds a memory by what it is about, apart from the words that were said", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a", says("I moved to Bergen"), holding("home", "bergen")), f.memory("b", says("I live in Oslo")))
		f.wantOrder(f.hinted("live"), "a")
		f.wantOrder(hitIDs(f.search("live", oxbow.Active)), "b")
		f.wantOrder(f.hinted("database"))
		f.wantHintless()
	})

	t.Run("counts no hint in the length of a text, and none that stands in it", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("plain", says("walrus in Bergen")), f.memory("hinted", says("walrus in Bergen"), holding("home", "bergen")), f.memory("said", says("my home: Bergen"), holding("home", "bergen")))
		got := must(f.s.Match(f.ctx, store.MatchQuery{Scope: f.scope, Terms: []store.Weighted{{Hash: text.Hash(text.Stem("walrus")), Weight: 1}},
			Statuses: []oxbow.Status{oxbow.Active}, K1: 1, B: 0.9, Limit: 9}))(f)
		if len(got.Hits) != 2 || got.Hits[0].Score != got.Hits[1].Score || got.Hits[0].Length != got.Hits[1].Length {
			t.Fatalf("a hint changes what a word scores: %+v", got.Hits)
		}
		f.wantOrder(f.hinted("home"), "hinted")
	})

	t.Run("gives a reworded memory the hints of its new words, and an erased one none", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a", says("I moved to Bergen"), holding("home", "bergen")), f.memory("b", says("I settled in Porto"), holding("home", "porto")))
		f.apply(f.change(oxbow.Edited, "a", func(c *oxbow.Change) {
			c.Content = &oxbow.Content{Text: "I joined Nordlys", Details: []oxbow.Detail{{Subject: "user", Attribute: "employer", Value: "nordlys", Type: oxbow.EmployerValue}}}
		}))
		f.wantOrder(f.hinted("live"), "b")
		f.wantOrder(f.hinted("company"), "a")
		f.erase("b")
		f.wantOrder(f.hinted("live"))
		f.wantHintless()
	})

	t.Run("indexes what was stored before, once, and not what changed meanwhile", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a", says("I moved to Bergen")), f.memory("edited", says("I moved to Oslo")), f.memory("gone", says("I moved to Rome")))
		old := must(f.s.Memories(f.ctx, f.scope.Tenant, f.ids("a", "edited", "gone")))(f)
		for i := range old {
			holding("home", "somewhere")(&old[i])
		}
		f.apply(f.change(oxbow.Edited, "edited", func(c *oxbow.Change) { c.Content = &oxbow.Content{Text: "something else"} }))
		f.erase("gone")
		for range 2 {
			if n := f.putHints(old...); n != 1 {
				t.Fatalf("%d were indexed, want 1", n)
			}
			f.wantOrder(f.hinted("live"), "a")
		}
		for i := range old {
			old[i].Content.Details = nil
		}
		f.putHints(old...)
		f.wantOrder(f.hinted("live"))
		stranger := oxbow.Scope{Tenant: f.scope.Tenant, Name: "nowhere"}
		err := s.InTx(f.ctx, func(ctx context.Context, tx store.Tx) error {
			_, err := tx.PutHints(ctx, stranger, old)
			return err
		})
		f.wantCode(err, oxbow.CodeNotFound)
	})
}

// testOldHints takes the hints of a database away, as one has it that was made
// before there were any.
func testOldHints(t *testing.T, d Dialect) {
	s := d.Open(t)
	f := setup(t, s)
	f.create(f.memory("a", says("I moved to Bergen")), f.memory("b", says("I moved to Oslo")))
	f.wantHintless()
	d.Exec(t, s, "UPDATE memories SET hint_rules = 0")
	if got := must(s.CountWithoutHints(f.ctx, f.scope))(f); got != 2 {
		t.Fatalf("%d are without hints, want 2", got)
	}
	if got := must(s.WithoutHints(f.ctx, f.scope, "", 1))(f); len(got) != 1 || got[0].Content.Text == "" {
		t.Fatalf("a page holds %v, want one memory with its words", got)
	}
	m := must(s.Memory(f.ctx, f.scope.Tenant, f.id("a")))(f)
	holding("home", "bergen")(&m)
	f.putHints(m)
	f.wantHintless("b")
	f.wantOrder(f.hinted("live"), "a")
}
