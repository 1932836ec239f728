package storetest

import (
	"slices"
	"testing"
	"time"

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
		list := func(tenant, scope string, after oxbow.Link, limit int) []oxbow.Link {
			t.Helper()
			return must(f.s.Conflicts(f.ctx, store.ConflictFilter{Tenant: tenant, Scope: scope, After: after, Limit: limit}))(f)
		}
		same := func(got []oxbow.Link, want ...oxbow.Link) {
			t.Helper()
			if !slices.Equal(got, want) {
				t.Fatalf("got %+v, want %+v", got, want)
			}
		}
		same(list(f.scope.Tenant, "", oxbow.Link{}, 10), link("b", "a"))
		same(list(f.scope.Tenant+"x", "", oxbow.Link{}, 10))
		same(list(f.scope.Tenant, f.scope.Name+"x", oxbow.Link{}, 10))

		// Pages, the newest first, of which some are of one memory.
		f.create(f.memory("d"), f.memory("e"))
		for _, l := range []oxbow.Link{link("d", "a"), link("d", "b"), link("e", "a")} {
			f.apply(f.change(oxbow.Linked, "d", func(c *oxbow.Change) { c.Links = []oxbow.Link{l} }))
		}
		all := list(f.scope.Tenant, f.scope.Name, oxbow.Link{}, 10)
		if len(all) != 4 {
			t.Fatalf("got %+v", all)
		}
		var paged []oxbow.Link
		for after := (oxbow.Link{}); ; after = paged[len(paged)-1] {
			page := list(f.scope.Tenant, "", after, 1)
			if len(page) == 0 || len(paged) > len(all) {
				break
			}
			paged = append(paged, page...)
		}
		same(paged, all...)
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

	t.Run("counts what moved memories, by day, type and status", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a"), f.memory("b"), f.memory("q", func(m *oxbow.Memory) { m.Status = oxbow.Quarantined }))
		f.apply(f.change(oxbow.ArchivedEvent, "a"), f.change(oxbow.PinnedEvent, "b", func(c *oxbow.Change) { c.Set.Pinned = ptr(true) }))
		f.apply(f.change(oxbow.Restored, "a"))
		today := start.Format(time.DateOnly)
		from, got, err := f.s.Moves(f.ctx, f.scope.Tenant, start.Add(-day), 100_000)
		if err != nil || from == "" || from > today {
			t.Fatalf("from %q: %v", from, err)
		}
		f.wantSame(got, []store.DayMoves{{Day: today, Type: oxbow.ArchivedEvent, N: 1},
			{Day: today, Type: oxbow.Created, Status: oxbow.Active, N: 2}, {Day: today, Type: oxbow.Created, Status: oxbow.Quarantined, N: 1},
			{Day: today, Type: oxbow.Restored, Status: oxbow.Archived, N: 1}})
		for tenant, since := range map[string]time.Time{f.scope.Tenant: start.Add(day), f.scope.Tenant + "x": start.Add(-day)} {
			if _, none, err := f.s.Moves(f.ctx, tenant, since, 100_000); err != nil || len(none) != 0 {
				t.Errorf("%s since %s: %+v, %v", tenant, since, none, err)
			}
		}
	})

	t.Run("counts the events of some runs by type", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a"), f.memory("b"), f.memory("c"))
		f.apply(f.change(oxbow.ArchivedEvent, "a"))
		run := must(f.s.Events(f.ctx, store.EventFilter{Tenant: f.scope.Tenant, Limit: 1}))(f)[0].Run
		last := must(f.s.Events(f.ctx, store.EventFilter{Tenant: f.scope.Tenant, Newest: true, Limit: 1}))(f)[0].Run
		want := map[string]map[string]int{}
		for _, e := range must(f.s.Events(f.ctx, store.EventFilter{Tenant: f.scope.Tenant, Limit: 9}))(f) {
			if want[e.Run] == nil {
				want[e.Run] = map[string]int{}
			}
			want[e.Run][string(e.Type)]++
		}
		f.wantSame(must(f.s.CountRunEvents(f.ctx, f.scope.Tenant, []string{run, last, "none"}))(f), want)
		f.wantSame(must(f.s.CountRunEvents(f.ctx, f.scope.Tenant+"x", []string{run, last}))(f), map[string]map[string]int{})
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
