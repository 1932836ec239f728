package storetest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// crowd stores n random memories of every kind, with uses, pins and expiries.
func crowd(f *fixture, r *rand.Rand, n int) {
	f.settings()
	var ms []oxbow.Memory
	for i := range n {
		ms = append(ms, f.memory(fmt.Sprint(i), func(m *oxbow.Memory) {
			m.Kind = oxbow.Kinds[r.IntN(len(oxbow.Kinds))]
			m.Importance = float64(r.IntN(11))
			m.Rating = []float64{0, 0.1, 0.3, 0.5, 0.7, 1}[r.IntN(6)]
			m.SaidAt = start.Add(-time.Duration(r.IntN(200*24)) * time.Hour)
			m.Pinned = r.IntN(12) == 0
			if r.IntN(6) == 0 {
				m.ExpiresAt = start.Add(time.Duration(r.IntN(3)-1) * day)
			}
			if r.IntN(10) == 0 {
				m.Status = []oxbow.Status{oxbow.Quarantined, oxbow.Superseded, oxbow.Compressed}[r.IntN(3)]
			}
			m.AccessCount = max(0, r.IntN(80)-40)
			if m.AccessCount > 0 {
				m.LastUsedAt = m.SaidAt.Add(time.Duration(r.IntN(5)) * day)
			}
			if m.LastUsedAt.After(start) {
				m.LastUsedAt = start
			}
		}))
	}
	f.create(ms...)
}

// strongest is the promise of StrongestMemories written down plainly.
func strongest(all []oxbow.Memory, p oxbow.Policy, now time.Time) []oxbow.Memory {
	var out []oxbow.Memory
	for _, m := range all {
		expired := !m.ExpiresAt.IsZero() && !m.ExpiresAt.After(now)
		if m.Status == oxbow.Active && !expired && p.StrengthOf(m, now) > p.ListAbove {
			out = append(out, m)
		}
	}
	slices.SortFunc(out, func(a, b oxbow.Memory) int {
		if x, y := standing(a, p, now), standing(b, p, now); x != y {
			return int(math.Copysign(1, y-x))
		}
		return strings.Compare(a.ID, b.ID)
	})
	return out
}

func standing(m oxbow.Memory, p oxbow.Policy, now time.Time) float64 {
	return max(0.001, m.Importance*m.Confidence()) * p.StrengthOf(m, now)
}

func testStrongest(t *testing.T, s store.Store) {
	for i, rule := range []oxbow.StrengthRule{oxbow.Stable, oxbow.Classic} {
		t.Run(fmt.Sprintf("lists what a plain sort of everything lists under %s", rule), func(t *testing.T) {
			f := setup(t, s)
			settings := f.settings()
			settings.Version, settings.Policy.Strength = 2, rule
			f.tx(func(ctx context.Context, tx store.Tx) error { return tx.PutScope(ctx, settings) })
			crowd(f, rand.New(rand.NewPCG(7, uint64(i))), 400)
			all := must(f.s.AllMemories(f.ctx, f.scope, "", 1000))(f)
			for _, now := range []time.Time{start, start.Add(day), start.Add(20 * day), start.Add(90 * day), start.Add(5000 * day)} {
				want := strongest(all, settings.Policy, now)
				for _, limit := range []int{1, 5, 24, 25, 60, 390, 1000} {
					got := must(f.s.StrongestMemories(f.ctx, settings, now, limit))(f)
					compareStrongest(f, got, want[:min(limit, len(want))], settings.Policy, now)
				}
			}
		})
	}

	t.Run("lists nothing at or under the threshold, and the pinned for ever", func(t *testing.T) {
		f := setup(t, s)
		settings := f.settings()
		f.create(f.memory("mortal"), f.memory("pinned", func(m *oxbow.Memory) { m.Pinned = true }))
		life := time.Duration(-math.Log2(settings.Policy.ListAbove)*30*24*3600) * time.Second
		f.wantIDs(must(f.s.StrongestMemories(f.ctx, settings, start.Add(life-time.Minute), 9))(f), "pinned", "mortal")
		f.wantIDs(must(f.s.StrongestMemories(f.ctx, settings, start.Add(life+time.Minute), 9))(f), "pinned")
		f.wantIDs(must(f.s.StrongestMemories(f.ctx, settings, start.Add(99999*day), 9))(f), "pinned")
	})

	t.Run("breaks ties by id", func(t *testing.T) {
		f := setup(t, s)
		settings := f.settings()
		var ms []oxbow.Memory
		for i := range 40 {
			ms = append(ms, f.memory(fmt.Sprint(i)))
		}
		f.create(ms...)
		slices.SortFunc(ms, func(a, b oxbow.Memory) int { return strings.Compare(a.ID, b.ID) })
		got := must(f.s.StrongestMemories(f.ctx, settings, start.Add(day), 30))(f)
		for i := range 30 {
			if got[i].ID != ms[i].ID {
				t.Fatalf("place %d holds %s, want %s", i, got[i].ID, ms[i].ID)
			}
		}
	})

	t.Run("gives nothing of a scope that is not there", func(t *testing.T) {
		f := setup(t, s)
		settings := oxbow.ScopeSettings{Scope: f.scope, Policy: oxbow.DefaultPolicy()}
		if got := must(f.s.StrongestMemories(f.ctx, settings, start, 9))(f); len(got) != 0 {
			t.Fatalf("got %d memories", len(got))
		}
	})
}

// compareStrongest compares two lists; memories of one standing, to the last
// digits of a logarithm, may change places.
func compareStrongest(f *fixture, got, want []oxbow.Memory, p oxbow.Policy, now time.Time) {
	f.Helper()
	if len(got) != len(want) {
		f.Fatalf("%d memories are listed, want %d", len(got), len(want))
	}
	for i := range want {
		a, b := standing(got[i], p, now), standing(want[i], p, now)
		if got[i].ID != want[i].ID && math.Abs(a-b) > 1e-9*b {
			f.Fatalf("place %d of %d holds %s with %v, want %s with %v", i, len(want), got[i].ID, a, want[i].ID, b)
		}
	}
}
