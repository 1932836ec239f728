package oxbow_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/oxbow-memory/oxbow"
)

func TestPruneOrder(t *testing.T) {
	t.Parallel()

	t.Run("keeps every promise for any slot", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, checkPrune)
	})

	t.Run("takes the least trusted, least used and longest idle first", func(t *testing.T) {
		t.Parallel()
		p := oxbow.DefaultPolicy()
		p.SlotCap, p.PruneMinAgeDays = 1, 1
		memory := func(id string, s oxbow.Source, uses, idle int) oxbow.Memory {
			return oxbow.Memory{ID: id, Source: s, AccessCount: uses, SaidAt: epoch.AddDate(0, 0, -idle)}
		}
		slot := []oxbow.Memory{
			memory("used", oxbow.FromUser, 2, 90), memory("fresh", oxbow.FromUser, 0, 10), memory("twin b", oxbow.FromUser, 0, 50),
			memory("twin a", oxbow.FromUser, 0, 50), memory("tool", oxbow.FromTool, 2, 20), memory("web", oxbow.FromWeb, 2, 5),
		}
		if got, want := ids(oxbow.PruneOrder(slot, p, epoch)), []string{"web", "tool", "twin a", "twin b", "fresh"}; !slices.Equal(got, want) {
			t.Fatalf("order %v, want %v", got, want)
		}
	})

	t.Run("does not let one source push out another's share", func(t *testing.T) {
		t.Parallel()
		p := oxbow.DefaultPolicy()
		p.SlotCap = 10
		var slot []oxbow.Memory
		for i := range 40 {
			source := oxbow.FromUser // brings 35
			if i < 5 {
				source = oxbow.FromWeb // holds exactly its share and is trusted least
			}
			slot = append(slot, oxbow.Memory{ID: fmt.Sprintf("%02d", i), Source: source, SaidAt: epoch.AddDate(0, 0, -60)})
		}
		out := oxbow.PruneOrder(slot, p, epoch)
		if len(out) != 30 || slices.ContainsFunc(out, func(m oxbow.Memory) bool { return m.Source == oxbow.FromWeb }) {
			t.Fatalf("archives %v", ids(out))
		}
	})
}

func checkPrune(t *rapid.T) {
	p := oxbow.DefaultPolicy()
	p.SlotCap = rapid.IntRange(1, 20).Draw(t, "cap")
	now := epoch.Add(400 * day)
	var slot []oxbow.Memory
	held := map[oxbow.Source]int{}
	for i := range rapid.IntRange(0, 40).Draw(t, "memories") {
		m := drawMemory(t, fmt.Sprintf("%02d", i))
		m.AccessCount = rapid.IntRange(0, 5).Draw(t, "uses")
		slot = append(slot, m)
		held[m.Source]++
	}
	before := slices.Clone(slot)
	out := oxbow.PruneOrder(slot, p, now)
	excess := max(0, len(slot)-p.SlotCap)
	if len(out) > excess || !slices.EqualFunc(slot, before, func(a, b oxbow.Memory) bool { return a.ID == b.ID }) {
		t.Fatalf("archives %d of %d over the cap, or touched its input", len(out), excess)
	}
	share := p.SlotCap / max(1, len(held))
	gone := map[string]bool{}
	left := held
	for i, m := range out {
		if m.Pinned || m.AccessCount >= p.PruneMinAccess || now.Sub(m.SaidAt) <= time.Duration(p.PruneMinAgeDays)*day {
			t.Fatalf("archives %s, which is safe", m.ID)
		}
		if i > 0 && m.Source.Trust() < out[i-1].Source.Trust() {
			t.Fatal("a less trusted one comes after a more trusted one")
		}
		if left[m.Source]--; left[m.Source] < share {
			t.Fatalf("%s is cut below its share", m.Source)
		}
		gone[m.ID] = true
	}
	if len(out) == excess {
		return
	}
	for _, m := range slot {
		safe := m.Pinned || m.AccessCount >= p.PruneMinAccess || now.Sub(m.SaidAt) <= time.Duration(p.PruneMinAgeDays)*day
		if !gone[m.ID] && !safe && left[m.Source] > share {
			t.Fatalf("spares %s although the slot is over its cap", m.ID)
		}
	}
}

func ids(ms []oxbow.Memory) []string {
	var out []string
	for _, m := range ms {
		out = append(out, m.ID)
	}
	return out
}

func TestBrake(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		total, changed int
		share          float64
		want           int
	}{
		{0, 0, 0.05, 20}, {100, 0, 0.05, 20}, {100, 15, 0.05, 5}, {100, 20, 0.05, 0}, {100, 99, 0.05, 0},
		{10_000, 0, 0.05, 500}, {10_000, 499, 0.05, 1}, {10_000, 500, 0.05, 0}, {100, 0, 1, 100},
	} {
		if got := oxbow.Brake(c.total, c.changed, c.share); got != c.want {
			t.Errorf("%d of %d changed, share %v: %d more may, want %d", c.changed, c.total, c.share, got, c.want)
		}
	}
}
