package metrics

import (
	"context"
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// growing is a log with rows that come late: a row can be read from an instant
// on, which may lie after that of rows with higher numbers.
type growing struct {
	seen  []time.Time // of row i+1
	reads int64       // rows that were read
}

func (g *growing) until(now time.Time) (rows map[string]int64, end int64) {
	rows = map[string]int64{}
	for i, t := range g.seen {
		if !t.After(now) {
			rows["row"]++
			end = int64(i + 1)
		}
	}
	return rows, end
}

func (g *growing) tally(now *time.Time) *tally[string, int64] {
	return &tally[string, int64]{
		read: func(_ context.Context, after, upto int64) (map[string]int64, error) {
			g.reads += upto - after
			out := map[string]int64{}
			for i := after; i < min(upto, int64(len(g.seen))); i++ {
				if !g.seen[i].After(*now) {
					out["row"]++
				}
			}
			return out, nil
		},
		add: func(a, b int64) int64 { return a + b },
	}
}

func TestTally(t *testing.T) {
	t.Parallel()

	t.Run("gives what a count of the whole log gives, though rows come late", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
			g := &growing{}
			c := g.tally(&now)
			for range rapid.IntRange(1, 20).Draw(t, "looks") {
				for range rapid.IntRange(0, 50).Draw(t, "new") {
					late := time.Duration(rapid.IntRange(0, 100).Draw(t, "late")) * time.Second
					g.seen = append(g.seen, now.Add(late))
				}
				now = now.Add(time.Duration(rapid.IntRange(0, 200).Draw(t, "later")) * time.Second)
				whole, end := g.until(now)
				got, err := c.count(context.Background(), end, false, now)
				if err != nil || got["row"] != whole["row"] {
					t.Fatalf("counted %v of %v: %v", got, whole, err)
				}
			}
		})
	})

	t.Run("reads what is old once and what is new a few times", func(t *testing.T) {
		t.Parallel()
		now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
		g := &growing{seen: make([]time.Time, 1_000_000)}
		c := g.tally(&now)
		for range 20 {
			if got, err := c.count(t.Context(), 1_000_000, false, now); err != nil || got["row"] != 1_000_000 {
				t.Fatalf("counted %v: %v", got, err)
			}
			now = now.Add(15 * time.Second)
		}
		if g.reads > 1_250_000 {
			t.Errorf("20 looks at a million rows read %d", g.reads)
		}
	})

	t.Run("reads every row once where none comes late", func(t *testing.T) {
		t.Parallel()
		now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
		g := &growing{}
		c := g.tally(&now)
		for range 20 {
			g.seen = append(g.seen, make([]time.Time, 1000)...)
			if got, err := c.count(t.Context(), int64(len(g.seen)), true, now); err != nil || got["row"] != int64(len(g.seen)) {
				t.Fatalf("counted %v: %v", got, err)
			}
			now = now.Add(15 * time.Second)
		}
		if g.reads != 20_000 {
			t.Errorf("20 looks at 20,000 rows read %d", g.reads)
		}
	})

	t.Run("keeps what it has counted when the time is over", func(t *testing.T) {
		t.Parallel()
		reads := 0
		c := &tally[string, int64]{add: func(a, b int64) int64 { return a + b }}
		c.read = func(_ context.Context, after, upto int64) (map[string]int64, error) {
			if reads++; reads%3 == 0 {
				return nil, errors.New("the time is over")
			}
			return map[string]int64{"row": upto - after}, nil
		}
		var got map[string]int64
		err := errors.New("not yet")
		for looks := 0; err != nil; looks++ {
			if looks > 10 {
				t.Fatal("it never ends")
			}
			got, err = c.count(t.Context(), 750_000, false, time.Now())
		}
		if got["row"] != 750_000 {
			t.Errorf("counted %v", got)
		}
	})
}
