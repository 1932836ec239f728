package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// drawn writes a scope's graph out: every node with all that is known of it, and
// every edge with the memories that say it, whatever the database's numbers are.
func (f *fixture) drawn(sc oxbow.Scope, nameOf map[string]string) []string {
	f.Helper()
	var out []string
	q := f.named(sc, "", 1000)
	q.Statuses = oxbow.Statuses
	var ids []string
	for _, n := range must(f.s.ListNodes(f.ctx, q))(f) {
		q := q
		q.Words = n.Name
		n = must(f.s.NodeCalled(f.ctx, q))(f)
		ids = append(ids, n.ID)
		w := must(f.s.Walk(f.ctx, store.WalkQuery{Scope: sc, From: []string{n.ID}, Statuses: oxbow.Statuses, Now: start, Limit: 100}))(f)
		var ms []string
		for _, h := range w.Hits {
			ms = append(ms, nameOf[h.ID])
		}
		slices.Sort(ms)
		out = append(out, fmt.Sprintf("%s (%s) %q %d %v %v", n.Name, n.Type, n.Description, n.Mentions, n.Aliases, ms))
	}
	edges, _, err := f.s.EdgesOf(f.ctx, store.EdgeQuery{Scope: sc, Nodes: ids, Statuses: oxbow.Statuses, Now: start, Limit: 1000})
	f.wantCode(err, "")
	said := map[string][]string{}
	for _, e := range edges {
		k := e.From.Name + " -" + e.Type + "-> " + e.To.Name
		for _, m := range e.Memories {
			said[k] = append(said[k], nameOf[m])
		}
	}
	for k, ms := range said {
		slices.Sort(ms)
		out = append(out, fmt.Sprint(k, " ", slices.Compact(ms)))
	}
	slices.Sort(out)
	nodes, n, err := f.s.CountGraph(f.ctx, sc)
	f.wantCode(err, "")
	return append(out, fmt.Sprint(nodes, " nodes ", n, " edges"))
}

// anyPart gives what a memory may say of a handful of names.
func anyPart(t *rapid.T, i int) store.GraphPart {
	names := rapid.SampledFrom([]string{"Ana", "ana", "Ben", "Caro", "Dr. Diaz", "Eve", "the firm", "user"})
	g := store.GraphPart{ContentVersion: 1, Grapher: "rules@1"}
	for range rapid.IntRange(1, 3).Draw(t, "entities") {
		e := store.GraphEntity{Name: names.Draw(t, "name"), Type: rapid.SampledFrom([]string{"", "person", "place"}).Draw(t, "type")}
		if rapid.Bool().Draw(t, "described") {
			e.Description = fmt.Sprintf("what memory %d says of %s", i, e.Name)
		}
		if rapid.IntRange(0, 2).Draw(t, "joins") == 0 {
			e.Aliases = []string{names.Draw(t, "alias")}
		}
		g.Entities = append(g.Entities, e)
	}
	for range rapid.IntRange(0, 2).Draw(t, "relations") {
		g.Relations = append(g.Relations, store.GraphRelation{From: rapid.SampledFrom(g.Entities).Draw(t, "from").Name,
			Type: rapid.SampledFrom([]string{"knows", "likes"}).Draw(t, "how"), To: rapid.SampledFrom(g.Entities).Draw(t, "to").Name})
	}
	return g
}

func testGraphJoins(t *testing.T, s store.Store) {
	t.Run("joins two nodes that an alias shows to be one, with all that they have", func(t *testing.T) {
		f := setup(t, s)
		f.draw("Dr. Martinez -works in-> Leeds", "Ana -likes-> tea")
		f.wantGraph(4, 2)
		f.create(f.memory("joins", func(m *oxbow.Memory) { m.SaidAt = start.Add(time.Hour) }))
		f.putGraph(store.GraphPart{Memory: f.id("joins"), ContentVersion: 1, Entities: []store.GraphEntity{{Name: "Ana", Aliases: []string{"Dr. Martinez"}}}})
		f.wantGraph(3, 2)
		n := must(s.NodeCalled(f.ctx, f.named(f.scope, "dr. martinez", 1)))(f)
		if n.Name != "Ana" || n.Mentions != 3 || !slices.Equal(n.Aliases, []string{"dr. martinez"}) {
			t.Errorf("the joined node is %s", show(n))
		}
		if w := f.walk("Leeds"); len(w.Hits) != 3 || way(w.Hits[1].Path) != "Leeds <-works in- Ana" {
			t.Errorf("from Leeds: %s", show(w))
		}
		f.erase("joins")
		f.wantGraph(4, 2)
		f.wantWalk(f.walk("Leeds"), false, "Dr. Martinez -works in-> Leeds | 0 | Leeds")
	})

	t.Run("draws the same graph in any order, and without a memory the one that never had it", func(t *testing.T) {
		f := setup(t, s)
		round := 0
		rapid.Check(t, func(rt *rapid.T) {
			round++
			nameOf := map[string]string{}
			n := rapid.IntRange(1, 6).Draw(rt, "memories")
			parts := make([]store.GraphPart, n)
			for i := range parts {
				parts[i] = anyPart(rt, i)
			}
			build := func(copy string, order []int) (oxbow.Scope, []string) {
				sc := oxbow.Scope{Tenant: f.scope.Tenant, Name: fmt.Sprintf("%s%d", copy, round)}
				ids := make([]string, n)
				one := &fixture{T: f.T, ctx: f.ctx, s: s, scope: sc}
				for _, i := range order {
					name := fmt.Sprintf("%s%d-%d", copy, round, i)
					one.create(one.memory(name, func(m *oxbow.Memory) { m.SaidAt = start.Add(time.Duration(i/2) * time.Hour) }))
					ids[i] = one.id(name)
					nameOf[ids[i]] = fmt.Sprint("m", i)
					g := parts[i]
					g.Memory = ids[i]
					one.putGraph(g)
				}
				return sc, ids
			}
			all := make([]int, n)
			for i := range all {
				all[i] = i
			}
			first, ids := build("a", all)
			second, _ := build("b", rapid.Permutation(all).Draw(rt, "order"))
			if x, y := f.drawn(first, nameOf), f.drawn(second, nameOf); !slices.Equal(x, y) {
				rt.Fatalf("in order:\n%s\nin another:\n%s", strings.Join(x, "\n"), strings.Join(y, "\n"))
			}
			gone := rapid.SampledFrom(all).Draw(rt, "gone")
			f.tx(func(ctx context.Context, tx store.Tx) error { return tx.Erase(ctx, first, []string{ids[gone]}) })
			without, _ := build("c", slices.DeleteFunc(slices.Clone(all), func(i int) bool { return i == gone }))
			if x, y := f.drawn(first, nameOf), f.drawn(without, nameOf); !slices.Equal(x, y) {
				rt.Fatalf("after it went:\n%s\nwithout it:\n%s", strings.Join(x, "\n"), strings.Join(y, "\n"))
			}
		})
	})
}

func testNodes(t *testing.T, s store.Store) {
	t.Run("enters by no node that only memories name which may not be shown", func(t *testing.T) {
		f := setup(t, s)
		f.draw("Alice -works at-> Initech", "Bob -works at-> Initech")
		f.create(f.memory("new"))
		f.apply(f.change(oxbow.SupersededBy, "Alice -works at-> Initech", func(c *oxbow.Change) { c.Set.ReplacedBy = ptr(f.id("new")) }))
		if got := f.nodes("Alice and Initech"); !slices.Equal(got, []string{"Initech"}) {
			t.Errorf("entered by %v", got)
		}
		_, err := s.NodeCalled(f.ctx, f.named(f.scope, "Alice", 1))
		f.wantCode(err, oxbow.CodeNotFound)
		all := must(s.ListNodes(f.ctx, f.named(f.scope, "", 9)))(f)
		if len(all) != 2 || all[0].Name != "Initech" || all[0].Mentions != 2 {
			t.Errorf("listed %s", show(all))
		}
		if got := must(s.ListNodes(f.ctx, f.named(f.scope, "ITE", 9)))(f); len(got) != 1 {
			t.Errorf("by a part of the name: %s", show(got))
		}
		edges, cut, err := s.EdgesOf(f.ctx, store.EdgeQuery{Scope: f.scope, Nodes: []string{all[0].ID}, Statuses: []oxbow.Status{oxbow.Active}, Now: start, Limit: 9})
		f.wantCode(err, "")
		if len(edges) != 1 || cut || edges[0].From.Name != "Bob" || !slices.Equal(edges[0].Memories, f.ids("Bob -works at-> Initech")) {
			t.Errorf("edges %s, cut %t", show(edges), cut)
		}
	})

	t.Run("describes a node by what a memory says that may be shown", func(t *testing.T) {
		f := setup(t, s)
		describe := func(memory, description string, at time.Duration) {
			f.create(f.memory(memory, func(m *oxbow.Memory) { m.SaidAt = start.Add(at) }))
			f.putGraph(store.GraphPart{Memory: f.id(memory), ContentVersion: 1, Entities: []store.GraphEntity{{Name: "Dr. Martinez", Description: description}}})
		}
		describe("at first", "a doctor in Leeds", 0)
		describe("then", "the user's dentist", time.Hour)
		describe("now", "", 2*time.Hour)
		for _, want := range []string{"the user's dentist", "a doctor in Leeds"} {
			n := must(s.NodeCalled(f.ctx, f.named(f.scope, "dr. martinez", 1)))(f)
			listed := must(s.ListNodes(f.ctx, f.named(f.scope, "martinez", 9)))(f)
			if n.Description != want || len(listed) != 1 || listed[0].Description != want {
				t.Errorf("described as %q and %s, want %q", n.Description, show(listed), want)
			}
			if want == "the user's dentist" {
				f.apply(f.change(oxbow.SupersededBy, "then", func(c *oxbow.Change) { c.Set.ReplacedBy = ptr(f.id("now")) }))
			}
		}
	})

	t.Run("keeps the vectors of nodes by embedder, and drops those whose words change", func(t *testing.T) {
		f := setup(t, s)
		f.draw("Dr. Martinez -works in-> Leeds")
		bare := must(s.WithoutNodeVector(f.ctx, f.scope, small, f.ids("Dr. Martinez -works in-> Leeds"), "", 9))(f)
		if len(bare) != 2 {
			t.Fatalf("without a vector: %s", show(bare))
		}
		put := func(vs ...store.NodeVector) (n int) {
			f.tx(func(ctx context.Context, tx store.Tx) (err error) {
				n, err = tx.PutNodeVectors(ctx, f.scope, small, vs)
				return err
			})
			return n
		}
		stale := bare[0]
		stale.Description = "of other words"
		if n := put(store.NodeVector{Node: stale, Values: []float32{1, 0}}); n != 0 {
			t.Errorf("a vector of other words was stored")
		}
		if n := put(store.NodeVector{Node: bare[0], Values: []float32{1, 0}}, store.NodeVector{Node: bare[1], Values: []float32{0, 1}}); n != 2 {
			t.Errorf("stored %d", n)
		}
		page := must(s.NodeVectorsSince(f.ctx, f.scope, small, store.VectorPlace{}, 9))(f)
		if len(page) != 2 || len(must(s.NodeVectorsSince(f.ctx, f.scope, "other/2/1", store.VectorPlace{}, 9))(f)) != 0 {
			t.Fatalf("read %s", show(page))
		}
		numbers := []int64{page[1].Number, page[0].Number}
		standing := must(s.StandingNodes(f.ctx, store.StandingQuery{Scope: f.scope, Numbers: numbers, Statuses: []oxbow.Status{oxbow.Active}, Now: start}))(f)
		if len(standing) != 2 || standing[0].Number != numbers[0] {
			t.Errorf("standing %s", show(standing))
		}
		f.create(f.memory("says more", func(m *oxbow.Memory) { m.SaidAt = start.Add(time.Hour) }))
		f.putGraph(store.GraphPart{Memory: f.id("says more"), ContentVersion: 1, Entities: []store.GraphEntity{{Name: "Dr. Martinez", Description: "the user's dentist"}}})
		with, without, err := s.CountNodeVectors(f.ctx, f.scope, small)
		f.wantCode(err, "")
		if with != 1 || without != 1 {
			t.Errorf("%d have a vector and %d have none", with, without)
		}
		if changed := must(s.NodeVectorsSince(f.ctx, f.scope, small, page[1].VectorPlace, 9))(f); len(changed) != 1 || changed[0].Values != nil {
			t.Errorf("what changed since: %s", show(changed))
		}
	})

	t.Run("knows which memories a grapher has read, until their words change", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a"), f.memory("b"))
		unread := func(grapher string) int {
			return len(must(s.WithoutGraph(f.ctx, f.scope, grapher, "", 9))(f))
		}
		f.putGraph(store.GraphPart{Memory: f.id("a"), ContentVersion: 1, Grapher: "rules@1"})
		if unread("rules@1") != 1 || unread("rules@2") != 2 {
			t.Errorf("unread %d and %d", unread("rules@1"), unread("rules@2"))
		}
		f.apply(f.change(oxbow.Edited, "a", func(c *oxbow.Change) { c.Content = &oxbow.Content{Text: "something else"} }))
		if unread("rules@1") != 2 {
			t.Errorf("unread after the edit: %d", unread("rules@1"))
		}
	})
}
