package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// part gives what a memory names: "Alice -introduced-> Nightshade" relates two
// things, and "Nightshade" only names one.
func (f *fixture) part(name string, lines ...string) store.GraphPart {
	g := store.GraphPart{Memory: f.id(name), ContentVersion: 1}
	for _, l := range lines {
		from, rest, related := strings.Cut(l, " -")
		if related {
			kind, to, _ := strings.Cut(rest, "-> ")
			g.Relations = append(g.Relations, store.GraphRelation{From: from, Type: kind, To: to})
			g.Entities = append(g.Entities, store.GraphEntity{Name: to})
		}
		g.Entities = append(g.Entities, store.GraphEntity{Name: from})
	}
	return g
}

// putGraph stores parts that must be stored.
func (f *fixture) putGraph(parts ...store.GraphPart) {
	f.Helper()
	f.tx(func(ctx context.Context, tx store.Tx) error {
		for _, g := range parts {
			if ok, err := tx.PutGraph(ctx, f.scope, g); err != nil || !ok {
				return fmt.Errorf("stored %v: %w", ok, err)
			}
		}
		return nil
	})
}

// draw creates memories and what they name: each line is one memory's, and its name.
func (f *fixture) draw(lines ...string) {
	f.Helper()
	for _, l := range lines {
		f.create(f.memory(l))
		f.putGraph(f.part(l, l))
	}
}

// named asks for nodes of a scope that active memories name.
func (f *fixture) named(s oxbow.Scope, words string, limit int) store.NodeQuery {
	return store.NodeQuery{Scope: s, Words: words, Statuses: []oxbow.Status{oxbow.Active}, Now: start, Limit: limit}
}

// nodes gives the names of the nodes that match words.
func (f *fixture) nodes(words string) []string {
	f.Helper()
	var out []string
	for _, n := range must(f.s.MatchNodes(f.ctx, f.named(f.scope, words, 5)))(f) {
		out = append(out, n.Name)
	}
	return out
}

// walk goes from the nodes that match words.
func (f *fixture) walk(words string, set ...func(*store.WalkQuery)) store.Walked {
	f.Helper()
	q := store.WalkQuery{Scope: f.scope, Hops: 2, Statuses: []oxbow.Status{oxbow.Active}, Now: start, Limit: 100}
	for _, s := range set {
		s(&q)
	}
	from := f.named(f.scope, words, 5)
	from.Statuses, from.Now = q.Statuses, q.Now
	for _, n := range must(f.s.MatchNodes(f.ctx, from))(f) {
		q.From = append(q.From, n.ID)
	}
	return must(f.s.Walk(f.ctx, q))(f)
}

// way writes a path.
func way(steps []store.GraphStep) string {
	out := ""
	for _, s := range steps {
		switch {
		case s.Relation == "":
		case s.Back == 1:
			out += " <-" + s.Relation + "- "
		default:
			out += " -" + s.Relation + "-> "
		}
		out += s.Node
	}
	return out
}

// wantWalk compares what a walk reached: name of the memory, hops and path.
func (f *fixture) wantWalk(w store.Walked, cut bool, want ...string) {
	f.Helper()
	var got []string
	for _, h := range w.Hits {
		m := must(f.s.Memory(f.ctx, f.scope.Tenant, h.ID))(f)
		got = append(got, fmt.Sprintf("%s | %d | %s", strings.TrimPrefix(m.Content.Text, "the memory called "), h.Hops, way(h.Path)))
	}
	if !slices.Equal(got, want) || w.Cut != cut {
		f.Errorf("reached, cut %t:\n%s\nwant, cut %t:\n%s", w.Cut, strings.Join(got, "\n"), cut, strings.Join(want, "\n"))
	}
}

func (f *fixture) wantGraph(nodes, edges int) {
	f.Helper()
	n, e, err := f.s.CountGraph(f.ctx, f.scope)
	if err != nil || n != nodes || e != edges {
		f.Errorf("the graph has %d nodes and %d edges (%v), want %d and %d", n, e, err, nodes, edges)
	}
}

func testGraph(t *testing.T, s store.Store) {
	t.Run("merges names that are the same or other names of one thing", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a"))
		f.create(f.memory("b", func(m *oxbow.Memory) { m.SaidAt = start.Add(time.Hour) }), f.memory("c", func(m *oxbow.Memory) { m.SaidAt = start.Add(2 * time.Hour) }))
		f.putGraph(
			store.GraphPart{Memory: f.id("a"), ContentVersion: 1, Entities: []store.GraphEntity{{Name: "Dr.  Martinez", Type: "person", Aliases: []string{"Ana"}}}},
			store.GraphPart{Memory: f.id("b"), ContentVersion: 1, Entities: []store.GraphEntity{{Name: "dr. martinez", Type: "dentist", Description: "the user's dentist"}}},
			store.GraphPart{Memory: f.id("c"), ContentVersion: 1, Entities: []store.GraphEntity{{Name: "ANA"}}})
		f.wantGraph(1, 0)
		found := must(s.MatchNodes(f.ctx, f.named(f.scope, "is Martinez free on Friday?", 5)))(f)
		if len(found) != 1 || found[0].Name != "Dr. Martinez" || found[0].Type != "person" || found[0].Description != "the user's dentist" || found[0].Mentions != 3 || found[0].Share != 0.5 {
			t.Errorf("found %s", show(found))
		}
		if got := f.nodes("what does Ana say"); !slices.Equal(got, []string{"Dr. Martinez"}) {
			t.Errorf("by the other name: %v", got)
		}
	})

	t.Run("puts the same part twice as it puts it once, and another in its place", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a"), f.memory("b"))
		g := f.part("a", "Alice -knows-> Bob", "Alice -knows-> Bob", "Alice -knows-> Alice")
		f.putGraph(g, f.part("b", "Alice"), g, g)
		f.wantGraph(2, 1)
		for _, n := range must(s.MatchNodes(f.ctx, f.named(f.scope, "Alice, Bob", 5)))(f) {
			if want := map[string]int{"Alice": 2, "Bob": 1}[n.Name]; n.Mentions != want {
				t.Errorf("%s is mentioned %d times, want %d", n.Name, n.Mentions, want)
			}
		}
		f.putGraph(f.part("a", "Carol"))
		f.wantGraph(2, 0)
		if got := f.nodes("Bob"); got != nil {
			t.Errorf("Bob is still there: %v", got)
		}
	})

	t.Run("stores nothing of words that are not there any more, and nothing that is no part", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("old"), f.memory("gone"))
		f.apply(f.change(oxbow.Edited, "old", func(c *oxbow.Change) { c.Content = &oxbow.Content{Text: "something else"} }))
		f.erase("gone")
		f.tx(func(ctx context.Context, tx store.Tx) error {
			for _, name := range []string{"old", "gone", "nobody"} {
				if ok, err := tx.PutGraph(ctx, f.scope, f.part(name, "Alice")); ok || err != nil {
					t.Errorf("%s: %v %v", name, ok, err)
				}
			}
			return nil
		})
		f.wantGraph(0, 0)
		bad := f.part("a", "Alice")
		bad.Relations = []store.GraphRelation{{From: "Alice", Type: "knows", To: "Bob"}}
		for _, g := range []store.GraphPart{bad, f.part("a", " "), f.part("a", strings.Repeat("x", 201))} {
			err := s.InTx(f.ctx, func(ctx context.Context, tx store.Tx) error {
				_, err := tx.PutGraph(ctx, f.scope, g)
				return err
			})
			f.wantCode(err, oxbow.CodeInvalid)
		}
	})

	t.Run("takes any name as a name", func(t *testing.T) {
		f := setup(t, s)
		names := []string{`Robert'); DROP TABLE graph_nodes;--`, `100% "sure" _`, "The Who", "東京タワー", `{"node":1}`, "a\tb\nc"}
		for i, n := range names {
			f.create(f.memory(fmt.Sprint(i)))
			f.putGraph(store.GraphPart{Memory: f.id(fmt.Sprint(i)), ContentVersion: 1, Entities: []store.GraphEntity{{Name: n}, {Name: "hub"}},
				Relations: []store.GraphRelation{{From: n, Type: "'is' \"in\"", To: "hub"}}})
			if got := must(s.MatchNodes(f.ctx, f.named(f.scope, n, 1)))(f); len(got) != 1 || got[0].Name != strings.Join(strings.Fields(n), " ") {
				t.Errorf("%q is found as %s", n, show(got))
			}
		}
		if w := f.walk("hub"); len(w.Hits) != len(names) || len(w.Hits[0].Path) == 0 {
			t.Errorf("reached %d of %d: %s", len(w.Hits), len(names), show(w))
		}
		for _, words := range []string{"", "%", "the", "' OR x=x", strings.Repeat("word ", 10_000)} {
			if got := f.nodes(words); got != nil {
				t.Errorf("%.20q finds %v", words, got)
			}
		}
	})

	t.Run("gives the longer names and the greater share of a name first", func(t *testing.T) {
		f := setup(t, s)
		f.draw("Apollo", "Apollo release train", "Apollo mission", "Mercury")
		if got := f.nodes("when does the Apollo mission start"); !slices.Equal(got, []string{"Apollo mission", "Apollo"}) {
			t.Errorf("found %v", got)
		}
	})
}

func testWalk(t *testing.T, s store.Store) {
	t.Run("finds a memory by two relations, in either direction, and says how", func(t *testing.T) {
		f := setup(t, s)
		f.draw("Nightshade -is a-> restaurant", "Alice -introduced-> Nightshade", "Alice -lives in-> Oslo", "Oslo -is in-> Norway")
		f.wantWalk(f.walk("do I know any good restaurants?"), false,
			"Nightshade -is a-> restaurant | 0 | restaurant",
			"Alice -introduced-> Nightshade | 1 | restaurant <-is a- Nightshade",
			"Alice -lives in-> Oslo | 2 | restaurant <-is a- Nightshade <-introduced- Alice")
		f.wantWalk(f.walk("restaurants", func(q *store.WalkQuery) { q.Hops = 0 }), false, "Nightshade -is a-> restaurant | 0 | restaurant")
		f.wantWalk(f.walk("nothing of it"), false)
		f.wantWalk(f.walk("restaurant", func(q *store.WalkQuery) { q.Limit = 1 }), true, "Nightshade -is a-> restaurant | 0 | restaurant")
	})

	t.Run("goes round a cycle once, and follows what more memories say first", func(t *testing.T) {
		f := setup(t, s)
		f.draw("A1 -to-> B1", "B1 -to-> C1", "C1 -to-> A1")
		f.create(f.memory("again"))
		f.putGraph(f.part("again", "C1 -to-> A1"))
		w := f.walk("A1")
		f.wantWalk(w, false, "again | 0 | A1", "C1 -to-> A1 | 0 | A1", "A1 -to-> B1 | 0 | A1", "B1 -to-> C1 | 1 | A1 <-to- C1")
		if w.Hits[3].Weight != 2.0/3 {
			t.Errorf("the weight is %v", w.Hits[3].Weight)
		}
	})

	t.Run("does not reach what only memories say that may not be shown", func(t *testing.T) {
		f := setup(t, s)
		f.draw("Alice -works at-> Initech", "Initech -is in-> Austin", "Bob -works at-> Initech")
		f.create(f.memory("new"))
		f.apply(f.change(oxbow.SupersededBy, "Alice -works at-> Initech", func(c *oxbow.Change) { c.Set.ReplacedBy = ptr(f.id("new")) }))
		f.wantWalk(f.walk("Alice"), false)
		f.wantWalk(f.walk("Austin"), false, "Initech -is in-> Austin | 0 | Austin", "Bob -works at-> Initech | 1 | Austin <-is in- Initech")
		if w := f.walk("Alice", func(q *store.WalkQuery) { q.Statuses = oxbow.Statuses }); len(w.Hits) != 3 {
			t.Errorf("with everything: %s", show(w))
		}
		f.create(f.memory("ends", func(m *oxbow.Memory) { m.ExpiresAt = start.Add(day) }))
		f.putGraph(f.part("ends", "Carol -visits-> Austin"))
		for at, want := range map[time.Time]int{start: 3, start.Add(day): 0} {
			if w := f.walk("Carol", func(q *store.WalkQuery) { q.Now = at }); len(w.Hits) != want {
				t.Errorf("at %v: %s", at, show(w))
			}
		}
	})

	t.Run("keeps scopes and tenants apart", func(t *testing.T) {
		f := setup(t, s)
		f.draw("Alice -knows-> Bob")
		ids := must(s.MatchNodes(f.ctx, f.named(f.scope, "Alice", 5)))(f)
		for _, sc := range []oxbow.Scope{f.other(), {Tenant: f.scope.Tenant + "x", Name: f.scope.Name}} {
			f.lock(sc)
			if got := must(s.MatchNodes(f.ctx, f.named(sc, "Alice", 5)))(f); len(got) != 0 {
				t.Errorf("%v sees %s", sc, show(got))
			}
			q := store.WalkQuery{Scope: sc, From: []string{ids[0].ID}, Hops: 2, Statuses: oxbow.Statuses, Now: start, Limit: 9}
			if w := must(s.Walk(f.ctx, q))(f); len(w.Hits) != 0 {
				t.Errorf("%v walks to %s", sc, show(w))
			}
			f.tx(func(ctx context.Context, tx store.Tx) error { return tx.Erase(ctx, sc, f.ids("Alice -knows-> Bob")) })
		}
		f.wantGraph(2, 1)
	})
}

func testGraphErase(t *testing.T, s store.Store) {
	t.Run("takes what rested on an erased memory alone, and its words", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a"), f.memory("b"))
		f.putGraph(
			store.GraphPart{Memory: f.id("a"), ContentVersion: 1, Entities: []store.GraphEntity{
				{Name: "Quetzal Ltd", Type: "employer", Description: "where she works", Aliases: []string{"QL"}}, {Name: "Alice"}},
				Relations: []store.GraphRelation{{From: "Alice", Type: "works at", To: "QL"}}},
			store.GraphPart{Memory: f.id("b"), ContentVersion: 1, Entities: []store.GraphEntity{
				{Name: "QL", Type: "company", Description: "makes lamps"}, {Name: "Oslo"}}, Relations: []store.GraphRelation{{From: "QL", Type: "is in", To: "Oslo"}}})
		f.wantGraph(3, 2)
		f.erase("a")
		f.wantGraph(2, 1)
		found := must(s.MatchNodes(f.ctx, f.named(f.scope, "QL", 5)))(f)
		if len(found) != 1 || found[0].Name != "QL" || found[0].Type != "company" || found[0].Description != "makes lamps" || found[0].Mentions != 1 {
			t.Errorf("what is left is %s", show(found))
		}
		if got := f.nodes("Quetzal Ltd, Alice"); got != nil {
			t.Errorf("the erased names are found: %v", got)
		}
		f.erase("b")
		f.wantGraph(0, 0)
	})

	t.Run("takes what edited words said, and keeps what others say too", func(t *testing.T) {
		f := setup(t, s)
		f.draw("Alice -knows-> Bob")
		f.create(f.memory("again"))
		f.putGraph(f.part("again", "Alice -knows-> Bob", "Alice -knows-> Carol"))
		f.wantGraph(3, 2)
		f.apply(f.change(oxbow.Edited, "again", func(c *oxbow.Change) { c.Content = &oxbow.Content{Text: "something else"} }))
		f.wantGraph(2, 1)
		f.wantWalk(f.walk("Alice"), false, "Alice -knows-> Bob | 0 | Alice")
		g := f.part("again", "Carol -knows-> Alice")
		g.ContentVersion = 2
		f.putGraph(g)
		f.wantGraph(3, 2)
	})
}

// hubEdges is how many edges the hub has.
const hubEdges = 10_000

func testHub(t *testing.T, s store.Store) {
	t.Run("looks at a bounded part of a hub, and says so", func(t *testing.T) {
		f := setup(t, s)
		var ms []oxbow.Memory
		for i := range hubEdges / 100 {
			ms = append(ms, f.memory(fmt.Sprint(i)))
		}
		f.create(ms...)
		f.create(f.memory("far"))
		f.tx(func(ctx context.Context, tx store.Tx) error {
			for i := range hubEdges / 100 {
				g := f.part(fmt.Sprint(i), "Hub")
				for n := range 100 {
					spoke := fmt.Sprintf("spoke%d", 100*i+n)
					g.Entities = append(g.Entities, store.GraphEntity{Name: spoke})
					g.Relations = append(g.Relations, store.GraphRelation{From: "Hub", Type: "has", To: spoke})
				}
				if _, err := tx.PutGraph(ctx, f.scope, g); err != nil {
					return err
				}
			}
			_, err := tx.PutGraph(ctx, f.scope, f.part("far", "spoke9999 -leads to-> Rim"))
			return err
		})
		f.wantGraph(hubEdges+2, hubEdges+1)
		for _, c := range []struct{ words, first string }{{"Hub", "Hub"}, {"spoke17", "spoke17"}, {"Rim", "Rim"}} {
			began := time.Now()
			w := f.walk(c.words)
			took := time.Since(began)
			if !w.Cut || len(w.Hits) == 0 || w.Hits[0].Path[0].Node != c.first {
				t.Errorf("from %s: cut %t, %d memories", c.words, w.Cut, len(w.Hits))
			}
			if took > 5*time.Second {
				t.Errorf("from %s it took %s", c.words, took)
			}
		}
		if w := f.walk("Rim", func(q *store.WalkQuery) { q.Hops = 1 }); w.Cut || len(w.Hits) != 2 {
			t.Errorf("one hop does not meet the hub: cut %t, %s", w.Cut, show(w.Hits))
		}
	})
}
