package recall_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/recall"
	"github.com/oxbow-memory/oxbow/store"
)

// shelf is a store of vectors in memory, with numbers for ids.
type shelf struct {
	store.VectorReader
	mu     sync.Mutex
	scopes map[string]*shelved
	reads  atomic.Int64 // vectors that were read
	counts atomic.Int64 // how often a scope was counted
}

type shelved struct {
	mark   int64
	rows   []store.PlacedVector // the newest state of each number, by mark
	hidden map[int64]bool
}

func newShelf() *shelf { return &shelf{scopes: map[string]*shelved{}} }

func (s *shelf) of(name string) *shelved {
	if s.scopes[name] == nil {
		s.scopes[name] = &shelved{hidden: map[int64]bool{}}
	}
	return s.scopes[name]
}

// put stores a vector, or drops it when it has no values.
func (s *shelf) put(scope string, number int64, values ...float32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.of(scope)
	h.mark++
	h.rows = slices.DeleteFunc(h.rows, func(p store.PlacedVector) bool { return p.Number == number })
	h.rows = append(h.rows, store.PlacedVector{VectorPlace: store.VectorPlace{Mark: h.mark, Number: number}, Values: values})
}

func (s *shelf) NearestVectors(context.Context, store.NearestQuery) ([]store.Hit, bool, error) {
	return nil, false, nil
}

func (s *shelf) VectorMark(_ context.Context, scope oxbow.Scope) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.of(scope.Name).mark, nil
}

func (s *shelf) CountVectors(_ context.Context, scope oxbow.Scope, _ string) (with, without int, err error) {
	s.counts.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.of(scope.Name).rows {
		if len(p.Values) > 0 {
			with++
		}
	}
	return with, 0, nil
}

func (s *shelf) VectorsSince(ctx context.Context, scope oxbow.Scope, _ string, after store.VectorPlace, limit int) ([]store.PlacedVector, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []store.PlacedVector
	for _, p := range s.of(scope.Name).rows {
		if len(out) < limit && cmp.Or(cmp.Compare(p.Mark, after.Mark), cmp.Compare(p.Number, after.Number)) > 0 {
			out = append(out, p)
		}
	}
	s.reads.Add(int64(len(out)))
	return out, nil
}

func (s *shelf) VectorsOf(_ context.Context, scope oxbow.Scope, _ string, ids []string) (map[string][]float32, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string][]float32{}
	for _, p := range s.of(scope.Name).rows {
		if id := nameOf(p.Number); len(p.Values) > 0 && slices.Contains(ids, id) {
			out[id] = p.Values
		}
	}
	return out, nil
}

func (s *shelf) Standing(_ context.Context, q store.StandingQuery) ([]store.Standing, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []store.Standing
	for _, n := range q.Numbers {
		if !s.of(q.Scope.Name).hidden[n] {
			out = append(out, store.Standing{Number: n, ID: nameOf(n)})
		}
	}
	return out, nil
}

func nameOf(number int64) string { return fmt.Sprintf("m%06d", number) }

func in(scope string) oxbow.Scope { return oxbow.Scope{Tenant: "t", Name: scope} }

func ask(scope string, limit int, v ...float32) store.NearestQuery {
	return store.NearestQuery{Scope: in(scope), Embedder: "e", Vector: v, Statuses: []oxbow.Status{oxbow.Active}, Limit: limit}
}

// near gives the ids that a matrix finds, joined, or "-" when the scope is not held.
func near(t *testing.T, m *recall.Matrix, q store.NearestQuery) string {
	t.Helper()
	hits, ok, err := m.Nearest(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if !ok {
		return "-"
	}
	ids := make([]string, len(hits))
	for i, h := range hits {
		ids[i] = h.ID
	}
	return strings.Join(ids, " ")
}

func want(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func TestMatrix(t *testing.T) {
	t.Parallel()

	t.Run("gives the nearest, ties by id, and nothing that has nothing in common", func(t *testing.T) {
		t.Parallel()
		s := newShelf()
		m := recall.NewMatrix(s, 0)
		want(t, "an empty scope", near(t, m, ask("a", 3, 1, 0, 0)), "")
		s.put("a", 1, 0, 1, 0)
		s.put("a", 3, 1, 0, 0)
		s.put("a", 2, 1, 0, 0)
		s.put("a", 4, 0.5, 0.5, 0)
		want(t, "the nearest", near(t, m, ask("a", 9, 1, 0, 0)), "m000002 m000003 m000004")
		want(t, "the one nearest", near(t, m, ask("a", 1, 1, 0, 0)), "m000002")
		want(t, "none asked for", near(t, m, ask("a", 0, 1, 0, 0)), "")
		want(t, "another scope", near(t, m, ask("b", 9, 1, 0, 0)), "")
	})

	t.Run("hears of what was put, replaced and dropped, and reads only that", func(t *testing.T) {
		t.Parallel()
		s := newShelf()
		m := recall.NewMatrix(s, 0)
		for i := range int64(3000) {
			s.put("a", i, float32(i), 1)
		}
		want(t, "at first", near(t, m, ask("a", 2, 1, 0)), "m002999 m002998")
		want(t, "read at first", fmt.Sprint(s.reads.Load()), "3000")
		s.put("a", 2999)
		s.put("a", 1, 9999, 1)
		s.put("a", 5000, 8000, 1)
		want(t, "then", near(t, m, ask("a", 3, 1, 0)), "m000001 m005000 m002998")
		near(t, m, ask("a", 3, 1, 0))
		want(t, "read in all", fmt.Sprint(s.reads.Load()), "3003")
	})

	t.Run("looks further when the nearest may not be shown", func(t *testing.T) {
		t.Parallel()
		s := newShelf()
		m := recall.NewMatrix(s, 0)
		for i := range int64(2000) {
			s.put("a", i, float32(i+1))
			s.of("a").hidden[i] = i != 7
		}
		want(t, "the only one", near(t, m, ask("a", 3, 1)), "m000007")
	})

	t.Run("finds what going through everything finds, after any changes", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(rt *rapid.T) {
			r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
			s, d := newShelf(), 1+r.IntN(40)
			m := recall.NewMatrix(s, 0)
			for range 1 + r.IntN(4) {
				for range r.IntN(60) {
					if number := int64(r.IntN(40)); r.IntN(4) == 0 {
						s.put("a", number)
					} else {
						s.put("a", number, vector(r, d)...)
					}
				}
				q := ask("a", 1+r.IntN(10), vector(r, d)...)
				got := near(t, m, q)
				if all := s.through(q, got); got != all {
					rt.Fatalf("got %q, want %q", got, all)
				}
			}
		})
	})
}

// vector makes one that is zero in most places, or in none.
func vector(r *rand.Rand, d int) []float32 {
	v, share := make([]float32, d), []int{1, 1, 8}[r.IntN(3)]
	for i := range v {
		if r.IntN(share) == 0 {
			v[i] = float32(r.NormFloat64())
		}
	}
	return v
}

// through is what a matrix should find, given what it found: of what lies closer
// together than the sums of two precisions may differ, either order will do.
func (s *shelf) through(q store.NearestQuery, found string) string {
	const apart = 1e-5
	score := map[string]float64{}
	for _, p := range s.of(q.Scope.Name).rows {
		sum := 0.0
		for i, x := range p.Values {
			sum += float64(x) * float64(q.Vector[i])
		}
		if sum > 1e-6 {
			score[nameOf(p.Number)] = sum
		}
	}
	ids := slices.SortedFunc(maps.Keys(score), func(a, b string) int {
		return cmp.Or(cmp.Compare(score[b], score[a]), strings.Compare(a, b))
	})
	ids = ids[:min(len(ids), q.Limit)]
	got := strings.Fields(found)
	if len(got) != len(ids) {
		return strings.Join(ids, " ")
	}
	seen := map[string]bool{}
	for i, id := range got {
		if x, ok := score[id]; !ok || seen[id] || math.Abs(x-score[ids[i]]) > apart {
			return strings.Join(ids, " ")
		}
		seen[id] = true
	}
	return found
}

// perRow is what a row of four values takes.
const perRow = 4*4 + 8 + 48

// fill puts n vectors of four values.
func (s *shelf) fill(scope string, n int) {
	for i := range int64(n) {
		s.put(scope, i, float32(i), 1, 1, 1)
	}
}

func TestBudget(t *testing.T) {
	t.Parallel()

	t.Run("does not hold a scope that does not fit, and rescoring works then", func(t *testing.T) {
		t.Parallel()
		s := newShelf()
		s.fill("large", 101)
		m := recall.NewMatrix(s, 100*perRow)
		q := ask("large", 3, 1, 0, 0, 0)
		want(t, "the answer", near(t, m, q), "-")
		if scopes, bytes := m.Held(); scopes != 0 || bytes != 0 {
			t.Errorf("%d scopes take %d bytes", scopes, bytes)
		}
		hits, err := m.Rescore(t.Context(), q, []string{nameOf(3), nameOf(77), nameOf(500)})
		if err != nil || len(hits) != 2 || hits[0] != (store.Hit{ID: nameOf(77), Score: 77}) || hits[1].ID != nameOf(3) {
			t.Errorf("rescored: %v %v", hits, err)
		}
	})

	t.Run("counts a large scope again only when much of it has changed", func(t *testing.T) {
		t.Parallel()
		s := newShelf()
		s.fill("large", 104)
		m := recall.NewMatrix(s, 100*perRow)
		q := ask("large", 3, 1, 0, 0, 0)
		for i := range int64(10) {
			near(t, m, q)
			s.put("large", 200+i, 1, 1, 1, 1)
		}
		want(t, "the counts", fmt.Sprint(s.counts.Load()), "1")
		for i := range int64(60) {
			s.put("large", i)
		}
		want(t, "when it has become small", near(t, m, ask("large", 1, 1, 0, 0, 0)), nameOf(103))
	})

	t.Run("lets go of what was not asked for the longest time, and loads it again", func(t *testing.T) {
		t.Parallel()
		s := newShelf()
		m := recall.NewMatrix(s, 100*perRow)
		for _, scope := range []string{"a", "b", "c"} {
			s.fill(scope, 40)
		}
		for _, scope := range []string{"a", "b", "a", "c"} {
			want(t, scope, near(t, m, ask(scope, 1, 1, 0, 0, 0)), nameOf(39))
		}
		if scopes, bytes := m.Held(); scopes != 2 || bytes != 80*perRow {
			t.Errorf("%d scopes take %d bytes, want two that take %d", scopes, bytes, 80*perRow)
		}
		before := s.reads.Load()
		near(t, m, ask("a", 1, 1, 0, 0, 0))
		want(t, "what is held is not read again", fmt.Sprint(s.reads.Load()-before), "0")
		near(t, m, ask("b", 1, 1, 0, 0, 0))
		want(t, "what was let go is", fmt.Sprint(s.reads.Load()-before), "40")
	})

	t.Run("lets go of a scope that grows over the budget", func(t *testing.T) {
		t.Parallel()
		s := newShelf()
		m := recall.NewMatrix(s, 100*perRow)
		s.fill("a", 60)
		want(t, "at first", near(t, m, ask("a", 1, 1, 0, 0, 0)), nameOf(59))
		s.fill("a", 130)
		want(t, "when it has grown", near(t, m, ask("a", 1, 1, 0, 0, 0)), "-")
		if _, bytes := m.Held(); bytes != 0 {
			t.Errorf("it still takes %d bytes", bytes)
		}
	})

	t.Run("holds nothing without a budget", func(t *testing.T) {
		t.Parallel()
		s := newShelf()
		s.fill("a", 1)
		want(t, "the answer", near(t, recall.NewMatrix(s, -1), ask("a", 1, 1, 0, 0, 0)), "-")
	})

	t.Run("goes on after an asker that went away while it was loaded", func(t *testing.T) {
		t.Parallel()
		s := newShelf()
		s.fill("a", 40)
		m := recall.NewMatrix(s, 0)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, _, err := m.Nearest(ctx, ask("a", 1, 1, 0, 0, 0)); err == nil {
			t.Error("an asker who went away got an answer")
		}
		want(t, "the next one", near(t, m, ask("a", 1, 1, 0, 0, 0)), nameOf(39))
	})

	t.Run("keeps its budget and the truth while many ask and many write", func(t *testing.T) {
		t.Parallel()
		s := newShelf()
		budget := int64(100 * perRow)
		m := recall.NewMatrix(s, budget)
		var wg sync.WaitGroup
		for i := range 6 {
			scope := string(rune('a' + i%4))
			wg.Go(func() {
				r := rand.New(rand.NewPCG(uint64(i), 1))
				for n := range 300 {
					if number := int64(r.IntN(60)); n%3 == 0 {
						s.put(scope, number)
					} else {
						s.put(scope, number, float32(number), 1, 1, 1)
					}
					if _, _, err := m.Nearest(t.Context(), ask(scope, 3, 1, 0, 0, 0)); err != nil {
						t.Error(err)
					}
					if _, bytes := m.Held(); bytes > budget || bytes < 0 {
						t.Errorf("%d bytes are held of %d", bytes, budget)
					}
				}
			})
		}
		wg.Wait()
		for _, scope := range []string{"a", "b", "c", "d"} {
			q := ask(scope, 5, 1, 0, 0, 0)
			got := near(t, m, q)
			want(t, scope, got, s.through(q, got))
		}
	})
}

func BenchmarkMatrix(b *testing.B) {
	const n, d = 30_000, 512
	r := rand.New(rand.NewPCG(1, 1))
	for _, share := range []int{1, 8} {
		s := newShelf()
		rows := &shelved{mark: n, hidden: map[int64]bool{}}
		for i := range int64(n) {
			v := make([]float32, d)
			for j := range v {
				if r.IntN(share) == 0 {
					v[j] = r.Float32()
				}
			}
			rows.rows = append(rows.rows, store.PlacedVector{VectorPlace: store.VectorPlace{Mark: i + 1, Number: i}, Values: v})
		}
		s.scopes["a"] = rows
		m := recall.NewMatrix(s, 0)
		q := ask("a", 10, rows.rows[7].Values...)
		b.Run(fmt.Sprintf("one place of %d", share), func(b *testing.B) {
			for b.Loop() {
				if _, ok, err := m.Nearest(b.Context(), q); !ok || err != nil {
					b.Fatal(ok, err)
				}
			}
		})
	}
}
