package storetest

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// RunVectors is the part of Run that is about vectors, for a database that has
// an index of them. open is that of Run.
func RunVectors(t *testing.T, open func(t testing.TB) store.Store) {
	s := open(t)
	testVectors(t, s)
	testVectorPages(t, s)
	testNearest(t, s)
}

// needIndex skips the test of a database that searches no vectors itself.
func (f *fixture) needIndex() {
	f.Helper()
	if _, ok, err := f.s.NearestVectors(f.ctx, f.nearestTo(1, 0, 0, 0)); err != nil || !ok {
		must(0, err)(f)
		f.Skip("this database has no index of vectors: SQLite never has, and this Postgres is without pgvector")
	}
}

// nearestTo asks for the ten nearest active memories.
func (f *fixture) nearestTo(values ...float32) store.NearestQuery {
	return store.NearestQuery{Scope: f.scope, Embedder: small, Vector: values, Statuses: []oxbow.Status{oxbow.Active}, Now: start, Limit: 10}
}

// wantNearest compares the names of what a query finds, best first.
func (f *fixture) wantNearest(q store.NearestQuery, names ...string) {
	f.Helper()
	got, ok, err := f.s.NearestVectors(f.ctx, q)
	var ids []string
	for _, h := range got {
		ids = append(ids, h.ID)
	}
	if want := f.ids(names...); err != nil || !ok || !slices.Equal(ids, want) {
		f.Errorf("found %v (%v, %v), want %v", ids, ok, err, want)
	}
}

func testNearest(t *testing.T, s store.Store) {
	t.Run("finds the greatest dot products above 0, as going through all of them does", func(t *testing.T) {
		f := setup(t, s)
		f.needIndex()
		random := rand.New(rand.NewPCG(7, 11))
		for _, dimensions := range []int{3, 64, 2500} {
			embedder := fmt.Sprintf("suite/%d/1", dimensions)
			var ms []oxbow.Memory
			var vs []store.Vector
			for i := range 60 {
				name := fmt.Sprintf("%d of %d", i, dimensions)
				ms, vs = append(ms, f.memory(name)), append(vs, f.vector(name, randomVector(random, dimensions, i%2 == 0)...))
			}
			f.create(ms...)
			f.putVectors(embedder, vs...)
			for i := range 4 {
				q := f.nearestTo(randomVector(random, dimensions, i%2 == 0)...)
				q.Embedder = embedder
				got, ok, err := s.NearestVectors(f.ctx, q)
				if want := byDot(vs, q); err != nil || !ok || !near(got, want) {
					t.Errorf("of %d dimensions it found %v (%v, %v), want %v", dimensions, got, ok, err, want)
				}
			}
		}
	})

	t.Run("shows no memory that may not be shown, and looks further for those that may", func(t *testing.T) {
		f := setup(t, s)
		f.needIndex()
		f.create(f.memory("ended", func(m *oxbow.Memory) { m.ExpiresAt = start.Add(day) }), f.memory("live"), f.memory("away"), f.memory("against"))
		f.putVectors(small, f.vector("ended", 3, 0, 0, 0), f.vector("live", 1, 0, 0, 0), f.vector("away", 0, 1, 0, 0), f.vector("against", -1, 0, 0, 0))
		f.wantNearest(f.nearestTo(1, 0, 0, 0), "ended", "live")
		q := f.nearestTo(1, 0, 0, 0)
		q.Now = start.Add(2 * day)
		f.wantNearest(q, "live")
		q.Scope = f.other()
		f.wantNearest(q)
		var ms []oxbow.Memory
		var vs []store.Vector
		var archived []oxbow.Change
		for i := range 50 {
			name := fmt.Sprint("archived ", i)
			ms, vs = append(ms, f.memory(name)), append(vs, f.vector(name, 9, 0, 0, 0))
			archived = append(archived, f.change(oxbow.ArchivedEvent, name))
		}
		f.create(ms...)
		f.apply(archived...)
		f.putVectors(small, vs...)
		q = f.nearestTo(1, 0, 0, 0)
		q.Limit = 1
		f.wantNearest(q, "ended")
	})

	t.Run("follows what is replaced, reworded and erased, and keeps embedders and lengths apart", func(t *testing.T) {
		f := setup(t, s)
		f.needIndex()
		f.create(f.memory("a"), f.memory("b"), f.memory("c"))
		f.putVectors(small, f.vector("a", 1, 0, 0, 0), f.vector("b", 0.5, 0, 0, 0), f.vector("c", 0.25, 0, 0, 0))
		f.putVectors(other, f.vector("c", 7, 0, 0, 0))
		f.wantNearest(f.nearestTo(1, 0, 0, 0), "a", "b", "c")
		f.wantNearest(f.nearestTo(1, 0, 0))
		f.putVectors(small, f.vector("c", 2, 0, 0, 0))
		f.wantNearest(f.nearestTo(1, 0, 0, 0), "c", "a", "b")
		f.erase("a")
		f.apply(f.change(oxbow.Edited, "b", func(c *oxbow.Change) { c.Content = &oxbow.Content{Text: "something else"} }))
		f.wantNearest(f.nearestTo(1, 0, 0, 0), "c")
		f.wantNearest(f.nearestTo(0, 0, 0, 0))
	})
}

// randomVector gives a vector of length about 1, or one that is mostly zero.
func randomVector(r *rand.Rand, dimensions int, sparse bool) []float32 {
	v := make([]float32, dimensions)
	for i := range v {
		if !sparse || r.IntN(10) == 0 {
			v[i] = float32(r.NormFloat64() / math.Sqrt(float64(dimensions)))
		}
	}
	return v
}

// byDot gives what a query should find of vectors.
func byDot(vs []store.Vector, q store.NearestQuery) []store.Hit {
	var out []store.Hit
	for _, v := range vs {
		sum := 0.0
		for i, x := range v.Values {
			sum += float64(x) * float64(q.Vector[i])
		}
		if sum > 0 {
			out = append(out, store.Hit{ID: v.Memory, Score: sum})
		}
	}
	slices.SortFunc(out, func(a, b store.Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), strings.Compare(a.ID, b.ID))
	})
	return out[:min(len(out), q.Limit)]
}

// near tells whether two answers are the same up to rounding.
func near(a, b []store.Hit) bool {
	return slices.EqualFunc(a, b, func(a, b store.Hit) bool { return a.ID == b.ID && math.Abs(a.Score-b.Score) < 2e-6 })
}
