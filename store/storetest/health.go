package storetest

import (
	"slices"
	"testing"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

func testHealth(t *testing.T, s store.Store) {
	t.Run("gives the conflicts whose both sides are believed", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a"), f.memory("b"), f.memory("c"))
		link := func(from, to string) oxbow.Link {
			return oxbow.Link{From: f.id(from), To: f.id(to), Type: oxbow.ConflictsWith}
		}
		for _, to := range []string{"a", "c"} {
			f.apply(f.change(oxbow.Linked, "b", func(c *oxbow.Change) { c.Links = []oxbow.Link{link("b", to)} }))
		}
		f.apply(f.change(oxbow.ArchivedEvent, "c"))
		got := must(f.s.Conflicts(f.ctx, f.scope.Tenant, 10))(f)
		if !slices.Equal(got, []oxbow.Link{link("b", "a")}) {
			t.Fatalf("got %+v", got)
		}
		if none := must(f.s.Conflicts(f.ctx, f.scope.Tenant+"x", 10))(f); len(none) != 0 {
			t.Fatalf("another tenant sees %+v", none)
		}
	})

	t.Run("counts strengths as the rules of time have them", func(t *testing.T) {
		f := setup(t, s)
		var ms []oxbow.Memory
		for i := range 12 {
			ms = append(ms, f.memory(string(rune('a'+i)), func(m *oxbow.Memory) { m.SaidAt = start.AddDate(0, 0, -9*i) }))
		}
		f.create(ms...)
		f.apply(f.change(oxbow.PinnedEvent, "a", func(c *oxbow.Change) { c.Set.Pinned = ptr(true) }))
		f.apply(f.change(oxbow.ArchivedEvent, "b"))
		got := must(f.s.Strengths(f.ctx, f.scope.Tenant, start, 10))(f)
		want, p := make([]int, 10), oxbow.DefaultPolicy()
		for _, name := range "cdefghijkl" {
			m := f.get(string(name))
			want[min(9, int(10*p.StrengthOf(m, start)))]++
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})

	t.Run("counts events by day and type", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a"), f.memory("b"))
		f.apply(f.change(oxbow.ArchivedEvent, "a"))
		n := map[oxbow.EventType]int{}
		for _, c := range must(f.s.Churn(f.ctx, f.scope.Tenant, 100_000))(f) {
			if c.Day != "2024-03-01" {
				t.Errorf("on %s", c.Day)
			}
			n[c.Type] += c.N
		}
		if n[oxbow.Created] != 2 || n[oxbow.ArchivedEvent] != 1 {
			t.Fatalf("got %v", n)
		}
	})
}
