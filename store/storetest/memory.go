package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/store"
)

func testMemories(t *testing.T, s store.Store) {
	t.Run("gives a memory back with every field it was stored with", func(t *testing.T) {
		f := setup(t, s)
		m := f.memory("full", fact("user", "timezone"), func(m *oxbow.Memory) {
			m.Content = oxbow.Content{Text: "lives in Lisbon", Summary: "Lisbon", Tags: []string{"home", "place"}}
			m.Importance, m.Rating, m.Source = 7.25, 0.35, oxbow.FromTool
			m.ExpiresAt, m.ReviewAt = start.Add(9*day), start.Add(8*day)
			m.ConfirmedAt, m.TouchedAt, m.Confirmations = start.Add(time.Minute), start.Add(2*time.Minute), 2
			m.Turn, m.Conversation, m.Derived = f.id("turn"), "c1", true
			m.Quote = oxbow.Quote{Part: "parts/3", Start: 4, End: 19}
		})
		f.create(m)
		got := f.get("full")
		if got.ContentID == "" || got.Digest == "" || got.Version != 1 || got.ContentVersion != 1 {
			t.Fatalf("the store did not fill in content id, digest and versions: %s", show(got))
		}
		want := oxbow.DefaultPolicy().Derive(m)
		want.ContentID, want.Digest, want.Version, want.ContentVersion = got.ContentID, got.Digest, 1, 1
		f.wantSame(got, want)
	})

	t.Run("keeps the sixteen digits of a number", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("n", func(m *oxbow.Memory) { m.Importance, m.Rating = 10.0/3, 1.0/7 }))
		if got := f.get("n"); got.Importance != 10.0/3 || got.Rating != 1.0/7 {
			t.Fatalf("got %v and %v", got.Importance, got.Rating)
		}
	})

	t.Run("says not_found for an id that nothing has", func(t *testing.T) {
		f := setup(t, s)
		_, err := f.s.Memory(f.ctx, f.scope.Tenant, f.id("nobody"))
		f.wantCode(err, oxbow.CodeNotFound)
	})

	t.Run("keeps the order of the ids and leaves out the unknown", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a"), f.memory("b"), f.memory("c"), f.memory("d"))
		got := must(f.s.Memories(f.ctx, f.scope.Tenant, f.ids("c", "nobody", "a", "d")))(f)
		f.wantIDs(got, "c", "a", "d")
		if none := must(f.s.Memories(f.ctx, f.scope.Tenant, nil))(f); len(none) != 0 {
			t.Fatalf("no ids gave %d memories", len(none))
		}
	})

	t.Run("gives the history of a fact, oldest said first", func(t *testing.T) {
		f := setup(t, s)
		at := func(n int, status oxbow.Status) func(*oxbow.Memory) {
			return func(m *oxbow.Memory) { m.SaidAt, m.Status = start.Add(time.Duration(n)*day), status }
		}
		f.create(f.memory("now", fact("user", "city"), at(3, oxbow.Active)),
			f.memory("first", fact("user", "city"), at(1, oxbow.Superseded)),
			f.memory("late", fact("user", "city"), at(2, oxbow.Superseded)),
			f.memory("hidden", fact("user", "city"), at(2, oxbow.Quarantined)),
			f.memory("gone", fact("user", "city"), at(0, oxbow.Superseded)),
			f.memory("other slot", fact("agent", "city"), at(1, oxbow.Active)),
			f.memory("other key", fact("user", "town"), at(1, oxbow.Active)))
		f.apply(f.change(oxbow.ErasedEvent, "gone"))
		f.wantIDs(must(f.s.FactHistory(f.ctx, f.scope, "user", "city"))(f), "first", "late", "now")
		if got := must(f.s.FactHistory(f.ctx, f.scope, "", ""))(f); len(got) != 0 {
			t.Fatalf("no address has a history of %d", len(got))
		}
	})

	t.Run("counts by status, in one scope and in all", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a"), f.memory("b"), f.memory("q", func(m *oxbow.Memory) { m.Status = oxbow.Quarantined }))
		f.scope = f.other()
		f.create(f.memory("c"))
		f.wantSame(must(f.s.CountMemories(f.ctx, f.scope))(f), map[oxbow.Status]int{oxbow.Active: 1})
		all := must(f.s.CountMemories(f.ctx, oxbow.Scope{Tenant: f.scope.Tenant}))(f)
		f.wantSame(all, map[oxbow.Status]int{oxbow.Active: 3, oxbow.Quarantined: 1})
	})
}

// shelf stores memories that differ in everything a filter looks at.
func shelf(f *fixture) {
	tagged := func(tags ...string) func(*oxbow.Memory) {
		return func(m *oxbow.Memory) { m.Content.Tags = tags }
	}
	f.create(
		f.memory("a", fact("user", "city"), tagged("home", "place")),
		f.memory("b", func(m *oxbow.Memory) { m.Status, m.Conversation = oxbow.Superseded, "talk" }, tagged("home")),
		f.memory("c", func(m *oxbow.Memory) { m.Status, m.Turn = oxbow.Quarantined, f.id("turn") }),
		f.memory("d", func(m *oxbow.Memory) { m.Kind, m.SaidAt, m.Conversation = oxbow.Episodic, start.Add(day), "talk" }, tagged("homely")),
	)
	f.scope = f.other()
	f.create(f.memory("e", func(m *oxbow.Memory) { m.SaidAt, m.Conversation = start.Add(2*day), "talk" }))
}

func testFilters(t *testing.T, s store.Store) {
	cases := []struct {
		name   string
		filter func(f *fixture) store.MemoryFilter
		want   []string // in the order of their names, which is not that of their ids
	}{
		{"without a filter gives the tenant", func(*fixture) store.MemoryFilter { return store.MemoryFilter{} }, []string{"a", "b", "c", "d", "e"}},
		{"of a scope", func(f *fixture) store.MemoryFilter { return store.MemoryFilter{Scope: "user:ada"} }, []string{"a", "b", "c", "d"}},
		{"of a scope that nobody has", func(f *fixture) store.MemoryFilter { return store.MemoryFilter{Scope: "nobody"} }, nil},
		{"of a status", func(*fixture) store.MemoryFilter { return store.MemoryFilter{Status: []oxbow.Status{oxbow.Superseded}} }, []string{"b"}},
		{"of two statuses", func(*fixture) store.MemoryFilter {
			return store.MemoryFilter{Status: []oxbow.Status{oxbow.Superseded, oxbow.Quarantined}}
		}, []string{"b", "c"}},
		{"of a kind", func(*fixture) store.MemoryFilter { return store.MemoryFilter{Kind: oxbow.Episodic} }, []string{"d"}},
		{"of any of two kinds", func(*fixture) store.MemoryFilter {
			return store.MemoryFilter{Kinds: []oxbow.Kind{oxbow.Episodic, oxbow.Fact, oxbow.Reflection}}
		}, []string{"a", "d"}},
		{"of a conversation", func(*fixture) store.MemoryFilter { return store.MemoryFilter{Conversation: "talk"} }, []string{"b", "d", "e"}},
		{"of a conversation in one scope", func(*fixture) store.MemoryFilter {
			return store.MemoryFilter{Scope: "user:ada", Conversation: "talk"}
		}, []string{"b", "d"}},
		{"of a conversation that nobody had", func(*fixture) store.MemoryFilter {
			return store.MemoryFilter{Scope: "user:ada", Conversation: "' OR ''='"}
		}, nil},
		{"of the active ones of a conversation and kind", func(*fixture) store.MemoryFilter {
			return store.MemoryFilter{Scope: "user:ada", Conversation: "talk", Status: []oxbow.Status{oxbow.Active}, Kinds: []oxbow.Kind{oxbow.Episodic}}
		}, []string{"d"}},
		{"of a slot", func(*fixture) store.MemoryFilter { return store.MemoryFilter{Slot: "user"} }, []string{"a"}},
		{"of a whole tag", func(*fixture) store.MemoryFilter { return store.MemoryFilter{Tag: "home"} }, []string{"a", "b"}},
		{"of a tag that is SQL", func(*fixture) store.MemoryFilter { return store.MemoryFilter{Tag: "' OR '1'='1"} }, nil},
		{"of a turn", func(f *fixture) store.MemoryFilter { return store.MemoryFilter{Turn: f.id("turn")} }, []string{"c"}},
		{"that are live at an instant", func(f *fixture) store.MemoryFilter {
			return store.MemoryFilter{Status: []oxbow.Status{oxbow.Active, oxbow.Superseded}, LiveAt: f.get("d").FadesAt}
		}, []string{"a", "b", "e"}},
		{"said at an instant or later", func(*fixture) store.MemoryFilter { return store.MemoryFilter{Since: start.Add(day)} }, []string{"d", "e"}},
		{"said after it by a millisecond", func(*fixture) store.MemoryFilter {
			return store.MemoryFilter{Since: start.Add(day + time.Millisecond)}
		}, []string{"e"}},
		{"of everything at once", func(*fixture) store.MemoryFilter {
			return store.MemoryFilter{Scope: "user:ada", Status: []oxbow.Status{oxbow.Active}, Kind: oxbow.Fact, Slot: "user", Tag: "place", Since: start}
		}, []string{"a"}},
	}
	for _, c := range cases {
		t.Run("lists the memories "+c.name, func(t *testing.T) {
			f := setup(t, s)
			shelf(f)
			filter := c.filter(f)
			filter.Tenant, filter.Limit = f.scope.Tenant, 100
			got := must(f.s.ListMemories(f.ctx, filter))(f)
			names := []string{}
			for _, n := range []string{"a", "b", "c", "d", "e"} {
				if slices.ContainsFunc(got, func(m oxbow.Memory) bool { return m.ID == f.id(n) }) {
					names = append(names, n)
				}
			}
			if !slices.Equal(names, c.want) && len(names)+len(c.want) > 0 || len(got) != len(c.want) {
				t.Fatalf("got %v, want %v", names, c.want)
			}
		})
	}

	t.Run("lists the memories of a tag whatever stands beside it", func(t *testing.T) {
		f := setup(t, s)
		tagged := func(tags ...string) func(*oxbow.Memory) {
			return func(m *oxbow.Memory) { m.Content.Tags = tags }
		}
		list := func(tag string, names ...string) {
			f.Helper()
			for _, scope := range []string{"", f.scope.Name} {
				filter := store.MemoryFilter{Tenant: f.scope.Tenant, Scope: scope, Tag: tag, Limit: 100}
				f.wantIDs(must(f.s.ListMemories(f.ctx, filter))(f), names...)
			}
		}
		var many strings.Builder // words, more than a text is indexed by
		for i := range text.MaxTerms + 50 {
			fmt.Fprintf(&many, "w%d ", i)
		}
		f.create(f.memory("long", says(many.String()), tagged("zulu time")), f.memory("odd", tagged("!!!", "the", "東京")), f.memory("plain", tagged("Zulu")))
		list("zulu time", "long")
		list("!!!", "odd")
		list("the", "odd")
		list("東京", "odd")
		list("zulu")
		f.apply(f.change(oxbow.Edited, "long", func(c *oxbow.Change) { c.Content = &oxbow.Content{Text: many.String(), Tags: []string{"tango"}} }))
		list("tango", "long")
		list("zulu time")
		f.wantOrder(hitIDs(f.search("zulu", oxbow.Active)), "plain")
		common := make([]oxbow.Memory, store.FewTagged)
		for i := range common {
			common[i] = f.memory(fmt.Sprint("c", i), says("tango"))
		}
		f.create(common...) // beyond what is looked at one by one
		list("tango", "long")
	})

	t.Run("pages through memories that were said at one instant", func(t *testing.T) {
		f := setup(t, s)
		var want []oxbow.Memory
		for i := range 23 {
			want = append(want, f.memory(string(rune('a'+i)), func(m *oxbow.Memory) { m.SaidAt = start.Add(time.Duration(i/9) * day) }))
		}
		f.create(want...)
		slices.SortFunc(want, func(a, b oxbow.Memory) int {
			if a.Before(b) {
				return 1
			}
			return -1
		})
		var got []oxbow.Memory
		filter := store.MemoryFilter{Tenant: f.scope.Tenant, Scope: f.scope.Name, Limit: 4}
		for {
			page := must(f.s.ListMemories(f.ctx, filter))(f)
			if len(page) == 0 {
				break
			}
			got = append(got, page...)
			filter.AfterID = page[len(page)-1].ID
		}
		if len(got) != len(want) {
			t.Fatalf("the pages hold %d memories, want %d", len(got), len(want))
		}
		for i := range want {
			if got[i].ID != want[i].ID {
				t.Fatalf("place %d holds %s, want %s", i, got[i].ID, want[i].ID)
			}
		}
	})
}
