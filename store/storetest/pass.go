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

func testPasses(t *testing.T, s store.Store) {
	t.Run("gives what has faded at this very instant, and not a millisecond before", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a"), f.memory("pinned", func(m *oxbow.Memory) { m.Pinned = true }),
			f.memory("q", func(m *oxbow.Memory) { m.Status = oxbow.Quarantined }),
			f.memory("later", func(m *oxbow.Memory) { m.SaidAt = start.Add(day) }))
		fades := f.get("a").FadesAt
		f.wantIDs(must(f.s.Faded(f.ctx, f.scope, fades.Add(-time.Millisecond), "", 9))(f))
		f.wantIDs(must(f.s.Faded(f.ctx, f.scope, fades, "", 9))(f), "a")
		f.wantIDs(must(f.s.Faded(f.ctx, f.other(), fades, "", 9))(f))
		if n := len(must(f.s.Faded(f.ctx, f.scope, start.Add(9999*day), "", 9))(f)); n != 2 {
			t.Fatalf("in the end %d have faded, want 2: pinned memories never do", n)
		}
	})

	t.Run("gives what has expired at this very instant, the pinned too, and not a millisecond before", func(t *testing.T) {
		f := setup(t, s)
		ends := func(m *oxbow.Memory) { m.ExpiresAt = start.Add(day) }
		f.create(f.memory("a", ends), f.memory("b"), f.memory("q", ends, func(m *oxbow.Memory) { m.Status = oxbow.Quarantined }))
		f.wantIDs(must(f.s.PastExpiry(f.ctx, f.scope, start.Add(day-time.Millisecond), "", 9))(f))
		f.wantIDs(must(f.s.PastExpiry(f.ctx, f.scope, start.Add(day), "", 9))(f), "a")
		f.create(f.memory("pinned", ends, func(m *oxbow.Memory) { m.Pinned = true }))
		f.wantSame(len(must(f.s.PastExpiry(f.ctx, f.scope, start.Add(day), "", 9))(f)), 2)
		f.apply(f.change(oxbow.ExpiredEvent, "a"))
		f.wantIDs(must(f.s.PastExpiry(f.ctx, f.scope, start.Add(day), "", 9))(f), "pinned")
	})

	t.Run("pages on, each once", func(t *testing.T) {
		f := setup(t, s)
		var ms []oxbow.Memory
		for i := range 25 {
			ms = append(ms, f.memory(fmt.Sprint(i), func(m *oxbow.Memory) { m.ExpiresAt = start.Add(day) }))
		}
		f.create(ms...)
		now := start.Add(9999 * day)
		for name, p := range map[string]struct {
			page  func(after string) ([]oxbow.Memory, error)
			place func(m oxbow.Memory) string
		}{
			"Faded": {func(after string) ([]oxbow.Memory, error) { return f.s.Faded(f.ctx, f.scope, now, after, 4) },
				func(m oxbow.Memory) string { return store.Place(m.FadesAt, m.ID) }},
			"PastExpiry": {func(after string) ([]oxbow.Memory, error) { return f.s.PastExpiry(f.ctx, f.scope, now, after, 4) },
				func(m oxbow.Memory) string { return store.Place(m.ExpiresAt, m.ID) }},
			"AllMemories": {func(after string) ([]oxbow.Memory, error) { return f.s.AllMemories(f.ctx, f.scope, after, 4) },
				func(m oxbow.Memory) string { return m.ID }},
		} {
			var ids []string
			for after := ""; ; {
				got := must(p.page(after))(f)
				if len(got) == 0 {
					break
				}
				for _, m := range got {
					ids = append(ids, m.ID)
				}
				after = p.place(got[len(got)-1])
			}
			// All are said at one instant, so the ids decide.
			if name == "AllMemories" {
				slices.Reverse(ids)
			}
			if len(ids) != 25 || !slices.IsSorted(ids) || len(slices.Compact(ids)) != 25 {
				t.Errorf("%s pages through %d of 25 memories", name, len(ids))
			}
		}
	})

	t.Run("gives all memories of a scope, whatever their status", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a", says("words")), f.memory("b"), f.memory("c", func(m *oxbow.Memory) { m.Status = oxbow.Compressed }))
		f.erase("b")
		f.scope = f.other()
		f.create(f.memory("d"))
		home := oxbow.Scope{Tenant: f.scope.Tenant, Name: "user:ada"}
		all := must(f.s.AllMemories(f.ctx, home, "", 9))(f)
		if len(all) != 3 || !slices.ContainsFunc(all, func(m oxbow.Memory) bool { return m.Content.Text == "words" }) {
			t.Fatalf("got %s", show(all))
		}
	})

	t.Run("counts the active memories by slot and gives a slot's", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a", fact("user", "city")), f.memory("b", fact("user", "name")), f.memory("c", fact("agent", "name")),
			f.memory("free"), f.memory("old", fact("user", "x"), func(m *oxbow.Memory) { m.Status = oxbow.Superseded }))
		f.wantSame(must(f.s.Slots(f.ctx, f.scope))(f), map[string]int{"": 1, "agent": 1, "user": 2})
		got := must(f.s.SlotMemories(f.ctx, f.scope, "user"))(f)
		want := f.ids("a", "b")
		slices.Sort(want)
		if len(got) != 2 || got[0].ID != want[0] || got[1].ID != want[1] || got[0].Content.Text != "" || got[0].Importance != 5 {
			t.Fatalf("got %s", show(got))
		}
		f.wantIDs(must(f.s.SlotMemories(f.ctx, f.scope, ""))(f), "free")
		f.wantSame(len(must(f.s.Slots(f.ctx, f.other()))(f)), 0)
	})

	t.Run("clusters what is active, free, unpinned and live, the most recent first", func(t *testing.T) {
		f := setup(t, s)
		at := func(n int) func(*oxbow.Memory) {
			return func(m *oxbow.Memory) { m.SaidAt = start.Add(time.Duration(n) * time.Hour) }
		}
		f.create(f.memory("a", at(0)), f.memory("b", at(2)), f.memory("c", at(1)), f.memory("fact", fact("user", "city")),
			f.memory("pinned", func(m *oxbow.Memory) { m.Pinned = true }),
			f.memory("q", func(m *oxbow.Memory) { m.Status = oxbow.Quarantined }),
			f.memory("ends", func(m *oxbow.Memory) { m.ExpiresAt, m.SaidAt = start.Add(day), start.Add(-time.Hour) }))
		f.wantIDs(must(f.s.ClusterCandidates(f.ctx, f.scope, start.Add(day), 9))(f), "b", "c", "a")
		f.wantIDs(must(f.s.ClusterCandidates(f.ctx, f.scope, start.Add(day-time.Millisecond), 9))(f), "b", "c", "a", "ends")
		f.wantIDs(must(f.s.ClusterCandidates(f.ctx, f.scope, start.Add(day), 2))(f), "b", "c")
		f.wantIDs(must(f.s.ClusterCandidates(f.ctx, f.scope, f.get("c").FadesAt, 9))(f), "b")
	})

	t.Run("adds up what passes changed about instants after another", func(t *testing.T) {
		f := setup(t, s)
		f.settings()
		run := func(name string, about time.Time, counts map[string]int) {
			f.tx(func(ctx context.Context, tx store.Tx) error {
				return tx.PutRun(ctx, oxbow.Run{ID: f.id(name + about.String()), Scope: f.scope, Name: name, Status: oxbow.RunRunning,
					About: about, StartedAt: start, Counts: counts})
			})
		}
		run("decay", start, map[string]int{"archived": 3, "refused": 5})
		run("decay", start, map[string]int{"archived": 4}) // the next batch of the same run
		run("decay", start.Add(-day), map[string]int{"archived": 100})
		run("prune", start, map[string]int{"archived": 10})
		run("synthesize", start, map[string]int{"compressed": 20, "created": 7})
		run("expire", start, map[string]int{"expired": 1000})
		run("write", start, map[string]int{"superseded": 1000})
		run("decay", start.Add(time.Millisecond), map[string]int{"archived": 5000}) // by a clock that ran ahead
		for since, want := range map[time.Time]int{start.Add(-day): 37, start.Add(-day - time.Millisecond): 137, start: 0} {
			if got := must(f.s.PassChanges(f.ctx, f.scope, since, start))(f); got != want {
				t.Errorf("passes changed %d since %v, want %d", got, since, want)
			}
		}
		f.wantSame(must(f.s.PassChanges(f.ctx, f.other(), start.Add(-9*day), start))(f), 0)
	})
}
