package store_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// index is a rank index in memory: for each class its rows as the database
// would give them.
type index map[float64][]store.Ranked

func (ix index) page(class float64, n, skip int) ([]store.Ranked, error) {
	rows := ix[class]
	rows = rows[min(skip, len(rows)):]
	return rows[:min(n, len(rows))], nil
}

func (ix index) classes() []float64 {
	var out []float64
	for c := range ix {
		out = append(out, c)
	}
	slices.Sort(out)
	return out
}

func score(class float64, r store.Ranked) float64 {
	if class == 0 {
		return r.RankKey
	}
	return r.RankKey - float64(now.UnixMilli())/(86_400_000*class)
}

func byScore(class float64) func(a, b store.Ranked) int {
	return func(a, b store.Ranked) int {
		if x, y := score(class, a), score(class, b); x != y {
			return int(math.Copysign(1, y-x))
		}
		return strings.Compare(a.ID, b.ID)
	}
}

func TestMergeRanked(t *testing.T) {
	t.Parallel()

	t.Run("gives what a sort of all rows gives", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			ix := index{}
			type row struct {
				id    string
				score float64
			}
			var all []row
			n := 0
			for _, class := range []float64{0, 15, 30, 60, 120} {
				size := rapid.IntRange(0, 80).Draw(t, "size")
				for range size {
					n++
					r := store.Ranked{ID: fmt.Sprintf("m%03d", n)}
					r.RankKey = float64(rapid.IntRange(-40, 12).Draw(t, "standing")) / 4
					if class > 0 {
						r.RankKey += float64(now.UnixMilli()) / (86_400_000 * class)
					}
					ix[class] = append(ix[class], r)
					all = append(all, row{r.ID, score(class, r)})
				}
				slices.SortFunc(ix[class], byScore(class))
			}
			slices.SortFunc(all, func(a, b row) int {
				if a.score != b.score {
					return int(math.Copysign(1, b.score-a.score))
				}
				return strings.Compare(a.id, b.id)
			})
			limit := rapid.IntRange(1, 150).Draw(t, "limit")
			got, err := store.MergeRanked(ix.classes(), now, limit, ix.page)
			if err != nil || len(got) != min(limit, len(all)) {
				t.Fatalf("%d rows and %v, want %d", len(got), err, min(limit, len(all)))
			}
			for i := range got {
				if got[i].ID != all[i].id {
					t.Fatalf("place %d holds %s, want %s", i, got[i].ID, all[i].id)
				}
			}
		})
	})

	t.Run("asks a weak class for one page only", func(t *testing.T) {
		t.Parallel()
		ix := index{}
		for i := range 1000 {
			ix[0] = append(ix[0], store.Ranked{ID: fmt.Sprintf("a%03d", i), RankKey: 3})
			ix[30] = append(ix[30], store.Ranked{ID: fmt.Sprintf("b%03d", i), RankKey: float64(now.UnixMilli())/(86_400_000*30) - 9})
		}
		read := map[float64]int{}
		_, err := store.MergeRanked([]float64{0, 30}, now, 60, func(class float64, n, skip int) ([]store.Ranked, error) {
			read[class] += n
			return ix.page(class, n, skip)
		})
		if err != nil || read[0] > 84 || read[30] > 24 {
			t.Fatalf("%v rows were read, error %v", read, err)
		}
	})

	t.Run("passes an error of a page on", func(t *testing.T) {
		t.Parallel()
		broken := errors.New("broken")
		_, err := store.MergeRanked([]float64{30}, now, 5, func(float64, int, int) ([]store.Ranked, error) { return nil, broken })
		if !errors.Is(err, broken) {
			t.Fatalf("got %v", err)
		}
	})

	t.Run("gives nothing of no classes", func(t *testing.T) {
		t.Parallel()
		if got, err := store.MergeRanked(nil, now, 5, index{}.page); err != nil || len(got) != 0 {
			t.Fatalf("got %v and %v", got, err)
		}
	})
}

func TestByStanding(t *testing.T) {
	t.Parallel()

	t.Run("orders by standing, then by id, and leaves out what no reader may see", func(t *testing.T) {
		t.Parallel()
		p := oxbow.DefaultPolicy()
		ms := []oxbow.Memory{
			memory("b"), memory("a"), memory("top", func(m *oxbow.Memory) { m.Importance = 9 }),
			memory("expired", func(m *oxbow.Memory) { m.ExpiresAt = now }),
			memory("archived", func(m *oxbow.Memory) { m.Status = oxbow.Archived }),
			memory("weak", func(m *oxbow.Memory) { m.SaidAt = now.Add(-83 * 24 * time.Hour) }), // 0.147
			memory("old", func(m *oxbow.Memory) { m.SaidAt = now.Add(-81 * 24 * time.Hour) }),  // 0.154
		}
		var got []string
		for _, m := range store.ByStanding(ms, p, now, 9) {
			got = append(got, m.ID)
		}
		if !slices.Equal(got, []string{"top", "a", "b", "old"}) {
			t.Fatalf("got %v", got)
		}
		if got := store.ByStanding(ms, p, now, 2); len(got) != 2 || ms[0].ID != "b" || len(ms) != 7 {
			t.Fatalf("a limit of two gives %d, and the caller's list is %d long", len(got), len(ms))
		}
	})
}

func TestIDF(t *testing.T) {
	t.Parallel()

	t.Run("falls with every text that holds the word and never counts against one", func(t *testing.T) {
		t.Parallel()
		last := math.Inf(1)
		for df := 1; df <= 100; df++ {
			v := store.IDF(100, df)
			if v <= 0 || v >= last {
				t.Fatalf("a word in %d of 100 texts weighs %v after %v", df, v, last)
			}
			last = v
		}
		if got, want := store.IDF(10, 1), math.Log(9.5/1.5+1); math.Abs(got-want) > 1e-12 {
			t.Fatalf("got %v, want %v", got, want)
		}
		if store.IDF(0, 5) <= 0 || store.IDF(1, 1) <= 0 {
			t.Fatal("a weight fell to zero")
		}
	})
}
