package oxbow_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/oxbow-memory/oxbow"
)

const day = 24 * time.Hour

func TestStrength(t *testing.T) {
	t.Parallel()

	t.Run("stays between 0 and 1 and never rises with time", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			p, m := drawPolicy(t), drawMemory(t, "a")
			early := drawTime(t, "early", 3000)
			late := early.Add(time.Duration(rapid.Int64Range(0, int64(2000*day)).Draw(t, "later")))
			before, after := p.StrengthOf(m, early), p.StrengthOf(m, late)
			if before < 0 || before > 1 || after < 0 || after > before {
				t.Fatalf("strength goes from %v to %v", before, after)
			}
		})
	})

	t.Run("crosses the archive threshold at fades_at", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			p, m := drawPolicy(t), drawMemory(t, "a")
			at := p.FadesAt(m)
			if at.IsZero() {
				if far := m.RefTime().Add(200 * 365 * day); p.StrengthOf(m, far) < p.ArchiveBelow {
					t.Fatalf("never fades, but ends at %v", p.StrengthOf(m, far))
				}
				return
			}
			if s := p.StrengthOf(m, at.Add(-2*time.Millisecond)); s < p.ArchiveBelow {
				t.Fatalf("is already %v before it fades", s)
			}
			if s := p.StrengthOf(m, at.Add(2*time.Millisecond)); s > p.ArchiveBelow {
				t.Fatalf("is still %v after it faded", s)
			}
		})
	})

	t.Run("gives the published numbers", func(t *testing.T) {
		t.Parallel()
		classic, stable := oxbow.DefaultPolicy(), oxbow.DefaultPolicy()
		classic.Strength = oxbow.Classic
		for _, c := range []struct {
			p    oxbow.Policy
			idle int
			uses int
			want float64
		}{
			{classic, 0, 0, 1}, {classic, 30, 0, 0.5}, {classic, 30, 2, 0.56}, {classic, 60, 20, 0.55}, {classic, 1, 50, 1},
			{stable, 0, 0, 1}, {stable, 30, 0, 0.5}, {stable, 60, 1, 0.5}, {stable, 90, 3, 0.5}, {stable, 180, 1000, 0.5},
		} {
			m := oxbow.Memory{Kind: oxbow.Semantic, SaidAt: epoch, AccessCount: c.uses}
			got := c.p.StrengthOf(m, epoch.AddDate(0, 0, c.idle))
			if math.Abs(got-c.want) > 1e-9 {
				t.Errorf("%s, %d days idle, %d uses: %v, want %v", c.p.Strength, c.idle, c.uses, got, c.want)
			}
		}
	})
}

func TestFadingAway(t *testing.T) {
	t.Parallel()

	t.Run("never happens to a memory of four uses under classic", func(t *testing.T) {
		t.Parallel()
		p := oxbow.DefaultPolicy()
		p.Strength = oxbow.Classic
		m := oxbow.Memory{Kind: oxbow.Semantic, SaidAt: epoch, AccessCount: 4}
		if got := p.StrengthOf(m, epoch.AddDate(10, 0, 0)); !p.FadesAt(m).IsZero() || got < 0.12 {
			t.Fatalf("after ten idle years strength is %v, fades at %v", got, p.FadesAt(m))
		}
		if m.AccessCount = 3; p.FadesAt(m).IsZero() {
			t.Fatal("three uses already make it immortal")
		}
	})

	t.Run("happens in the end to everything unpinned under stable", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			p, m := drawPolicy(t), drawMemory(t, "a")
			p.Strength, m.Pinned = oxbow.Stable, false
			m.AccessCount = rapid.IntRange(0, math.MaxInt32).Draw(t, "uses")
			at := p.FadesAt(m)
			if !at.After(m.RefTime()) {
				t.Fatalf("fades at %v, last touched %v", at, m.RefTime())
			}
			m = p.Derive(m)
			if !m.Live(at.Add(-time.Millisecond)) || m.Live(at) {
				t.Fatal("is not live until the instant at which it fades, or is after it")
			}
		})
	})

	t.Run("never happens to a pinned memory", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			p, m := drawPolicy(t), drawMemory(t, "a")
			m.Pinned = true
			m = p.Derive(m)
			if far := m.RefTime().AddDate(150, 0, 0); !m.FadesAt.IsZero() || m.HalfLife != 0 || p.StrengthOf(m, far) != 1 || !m.Live(far) {
				t.Fatalf("fades: %+v", m)
			}
		})
	})

	t.Run("lies ahead however long the half-life is", func(t *testing.T) {
		t.Parallel()
		p := oxbow.DefaultPolicy()
		p.HalfLifeDays[oxbow.Fact], p.ArchiveBelow = 36500, 1e-9
		if err := p.Validate(); err != nil {
			t.Fatal(err)
		}
		m := oxbow.Memory{Kind: oxbow.Fact, SaidAt: epoch, AccessCount: 100}
		if at := p.FadesAt(m); at.Before(epoch.AddDate(100, 0, 0)) {
			t.Fatalf("fades at %v", at)
		}
		if since := p.ListableSince(36500*6, epoch); since.After(epoch.AddDate(-100, 0, 0)) {
			t.Fatalf("listable since %v", since)
		}
	})
}

func TestUseStep(t *testing.T) {
	t.Parallel()
	for uses, want := range map[int]int{-1: 0, 0: 0, 1: 1, 2: 1, 3: 2, 6: 2, 7: 3, 14: 3, 15: 4, 30: 4, 31: 5, 62: 5, 63: 5, 1 << 40: 5} {
		if got := oxbow.UseStep(uses); got != want {
			t.Errorf("%d uses give step %d, want %d", uses, got, want)
		}
	}
}

// TestListing compares what the index orders by with what the listing means.
func TestListing(t *testing.T) {
	t.Parallel()

	t.Run("by rank_key is by standing at any instant inside a half-life class", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			p := drawPolicy(t)
			p.Strength = oxbow.Stable
			class := p.HalfLifeDays[oxbow.Semantic]
			var ms []oxbow.Memory
			for i := range rapid.IntRange(2, 12).Draw(t, "memories") {
				m := drawMemory(t, fmt.Sprint(i))
				m.Kind, m.AccessCount, m.Pinned = oxbow.Semantic, 0, false
				ms = append(ms, p.Derive(m))
			}
			slices.SortFunc(ms, func(a, b oxbow.Memory) int { return cmp.Compare(b.RankKey, a.RankKey) })
			// Far enough to differ, near enough for 2^(-idle/H) not to underflow.
			now := epoch.Add(400*day + time.Duration(rapid.Float64Range(0, min(2000, 20*class)).Draw(t, "later")*float64(day)))
			for i := 1; i < len(ms); i++ {
				above, below := p.Standing(ms[i-1], now), p.Standing(ms[i], now)
				if above < below*(1-1e-6) {
					t.Fatalf("%v is listed over %v", above, below)
				}
			}
		})
	})

	t.Run("ends at the instant that ListableSince names", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			p, m := drawPolicy(t), drawMemory(t, "a")
			p.Strength, m.Pinned = oxbow.Stable, false
			now := epoch.Add(400 * day).Add(time.Duration(rapid.Int64Range(0, int64(900*day)).Draw(t, "later")))
			since := p.ListableSince(p.EffectiveHalfLife(m), now)
			strong := p.StrengthOf(m, now) > p.ListAbove
			if near := m.RefTime().Sub(since).Abs() < 2*time.Millisecond; !near && strong != m.RefTime().After(since) {
				t.Fatalf("strength %v, last touched %v, listable since %v", p.StrengthOf(m, now), m.RefTime(), since)
			}
		})
	})
}

func TestUse(t *testing.T) {
	t.Parallel()

	t.Run("counts once a day, whenever and however often it happens", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			m := oxbow.Memory{SaidAt: epoch}
			now, days := epoch, map[string]bool{}
			for range rapid.IntRange(1, 30).Draw(t, "uses") {
				now = now.Add(time.Duration(rapid.Int64Range(0, int64(30*time.Hour)).Draw(t, "pause")))
				next, ok := m.Use(now)
				if date := now.UTC().Format(time.DateOnly); ok == days[date] {
					t.Fatalf("a use on %s counted: %v", date, ok)
				} else {
					days[date] = true
				}
				if !ok && next.AccessCount != m.AccessCount {
					t.Fatal("a use that did not count changed the memory")
				}
				m = next
			}
			if m.AccessCount != len(days) {
				t.Fatalf("%d uses on %d days", m.AccessCount, len(days))
			}
		})
	})

	t.Run("does not count on a day before the last one", func(t *testing.T) {
		t.Parallel()
		m, _ := oxbow.Memory{SaidAt: epoch}.Use(epoch.Add(3 * day))
		if _, ok := m.Use(epoch); ok {
			t.Fatal("a use in the past counted")
		}
	})
}

func TestConfidence(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rating        float64
		confirmations int
		want          float64
	}{{0.5, 0, 0.5}, {0.5, 2, 0.7}, {0.7, 9, 1}, {1, 1, 1}} {
		got := oxbow.Memory{Rating: c.rating, Confirmations: c.confirmations}.Confidence()
		if math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%v confirmed %d times is %v, want %v", c.rating, c.confirmations, got, c.want)
		}
	}
}

func TestRefTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := drawMemory(t, "a")
		m.TouchedAt = drawTime(t, "touched_at", 400)
		ref := m.RefTime()
		all := []time.Time{m.SaidAt, m.ConfirmedAt, m.TouchedAt, m.LastUsedAt}
		if !slices.Contains(all, ref) || slices.ContainsFunc(all, ref.Before) {
			t.Fatalf("%v is not the latest of %v", ref, all)
		}
	})
}

func TestLive(t *testing.T) {
	t.Parallel()
	m := oxbow.Memory{Status: oxbow.Active, SaidAt: epoch, ExpiresAt: epoch.Add(day)}
	if !m.Live(epoch) || m.Live(epoch.Add(day)) {
		t.Error("does not end at the instant at which it expires")
	}
	for _, s := range oxbow.Statuses[1:] {
		if m.Status = s; m.Live(epoch) {
			t.Errorf("%s is live", s)
		}
	}
}
