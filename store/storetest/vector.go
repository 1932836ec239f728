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

// The two embedders of the suite.
const (
	small = "suite/4/1"
	other = "suite/4/2"
)

// vector gives a vector of a named memory's first version.
func (f *fixture) vector(name string, values ...float32) store.Vector {
	return store.Vector{Memory: f.id(name), ContentVersion: 1, Values: values}
}

// putVectors stores vectors of the embedder small, or of another, and gives how
// many were stored.
func (f *fixture) putVectors(embedder string, vs ...store.Vector) (n int) {
	f.Helper()
	f.tx(func(ctx context.Context, tx store.Tx) (err error) {
		n, err = tx.PutVectors(ctx, f.scope, embedder, vs)
		return err
	})
	return n
}

// wantVectors compares the vectors of the named memories; nil wants none.
func (f *fixture) wantVectors(embedder string, want map[string][]float32) {
	f.Helper()
	var ids []string
	for name := range want {
		ids = append(ids, f.id(name))
	}
	got := must(f.s.VectorsOf(f.ctx, f.scope, embedder, ids))(f)
	for name, v := range want {
		if have, ok := got[f.id(name)]; ok != (v != nil) || !slices.Equal(have, v) {
			f.Errorf("the vector of %s is %v, want %v", name, have, v)
		}
	}
}

// since reads what was put and dropped after a place, page by page, and gives
// the place at the end.
func (f *fixture) since(embedder string, after store.VectorPlace, page int) (map[int64][]float32, store.VectorPlace) {
	f.Helper()
	out := map[int64][]float32{}
	for {
		got := must(f.s.VectorsSince(f.ctx, f.scope, embedder, after, page))(f)
		for _, p := range got {
			if p.Mark < after.Mark || p.Mark == after.Mark && p.Number <= after.Number {
				f.Fatalf("a page after %v holds %v", after, p.VectorPlace)
			}
			after = p.VectorPlace
			out[p.Number] = p.Values
		}
		if len(got) < page {
			return out, after
		}
	}
}

func (f *fixture) mark() int64 {
	f.Helper()
	return must(f.s.VectorMark(f.ctx, f.scope))(f)
}

func (f *fixture) wantVectorCounts(s oxbow.Scope, with, without int) {
	f.Helper()
	have, lack, err := f.s.CountVectors(f.ctx, s, small)
	if err != nil || have != with || lack != without {
		f.Fatalf("%d have a vector and %d have none (%v), want %d and %d", have, lack, err, with, without)
	}
}

func testVectors(t *testing.T, s store.Store) {
	t.Run("keeps vectors to the last bit, full ones, empty ones and those that are mostly zero", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a"), f.memory("b"), f.memory("c"))
		if n := f.putVectors(small, f.vector("a", 0.1, -0.2, 1e-30, 3e30), f.vector("b", 0, 0, 0, 0), f.vector("c", 0, 0, 0.7, 0)); n != 3 {
			t.Fatalf("%d were stored", n)
		}
		f.wantVectors(small, map[string][]float32{"a": {0.1, -0.2, 1e-30, 3e30}, "b": {0, 0, 0, 0}, "c": {0, 0, 0.7, 0}, "d": nil})
	})

	t.Run("replaces a vector, and keeps embedders apart", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a"))
		f.putVectors(small, f.vector("a", 1, 0, 0, 0))
		f.putVectors(other, f.vector("a", 0, 1, 0, 0))
		f.putVectors(small, f.vector("a", 0, 0, 1, 0))
		f.wantVectors(small, map[string][]float32{"a": {0, 0, 1, 0}})
		f.wantVectors(other, map[string][]float32{"a": {0, 1, 0, 0}})
		f.wantVectors("suite/4/3", map[string][]float32{"a": nil})
		if all, _ := f.since(other, store.VectorPlace{}, 10); len(all) != 1 {
			t.Fatalf("the other embedder has %d vectors", len(all))
		}
	})

	t.Run("stores no vector of words that are not there any more", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("old"), f.memory("gone"), f.memory("here"))
		f.apply(f.change(oxbow.Edited, "old", func(c *oxbow.Change) { c.Content = &oxbow.Content{Text: "something else"} }))
		f.erase("gone")
		if n := f.putVectors(small, f.vector("old", 1, 0, 0, 0), f.vector("gone", 1, 0, 0, 0), f.vector("nobody", 1, 0, 0, 0), f.vector("here", 1, 0, 0, 0)); n != 1 {
			t.Fatalf("%d were stored, want 1", n)
		}
		f.wantVectors(small, map[string][]float32{"old": nil, "gone": nil, "nobody": nil, "here": {1, 0, 0, 0}})
	})

	t.Run("drops what every other embedder made of a scope, and nothing else", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a"), f.memory("b"))
		for _, e := range []string{small, other} {
			f.putVectors(e, f.vector("a", 1, 0, 0, 0), f.vector("b", 0, 1, 0, 0))
		}
		for _, want := range []int{2, 0} {
			got := -1
			f.tx(func(ctx context.Context, tx store.Tx) (err error) {
				got, err = tx.DropOtherVectors(ctx, f.scope, small)
				return err
			})
			if got != want {
				t.Fatalf("%d vectors were dropped, want %d", got, want)
			}
		}
		f.wantVectors(small, map[string][]float32{"a": {1, 0, 0, 0}, "b": {0, 1, 0, 0}})
		f.wantVectors(other, map[string][]float32{"a": nil, "b": nil})
		if all, _ := f.since(other, store.VectorPlace{}, 10); len(all) != 0 {
			t.Fatalf("%d rows of the other embedder are left", len(all))
		}
	})

	t.Run("refuses vectors that are no vectors, and stores nothing then", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a"), f.memory("b"))
		err := s.InTx(f.ctx, func(ctx context.Context, tx store.Tx) error {
			_, err := tx.PutVectors(ctx, f.scope, small, []store.Vector{f.vector("a", 1, 0), f.vector("b", 1)})
			return err
		})
		f.wantCode(err, oxbow.CodeInvalid)
		f.wantVectors(small, map[string][]float32{"a": nil})
		stranger := oxbow.Scope{Tenant: f.scope.Tenant, Name: "nowhere"}
		err = s.InTx(f.ctx, func(ctx context.Context, tx store.Tx) error {
			_, err := tx.PutVectors(ctx, stranger, small, []store.Vector{f.vector("a", 1, 0)})
			return err
		})
		f.wantCode(err, oxbow.CodeNotFound)
	})

	t.Run("drops the vectors of every embedder when the words change", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a"), f.memory("b"), f.memory("c", fact("user", "city")))
		for _, e := range []string{small, other} {
			f.putVectors(e, f.vector("a", 1, 0, 0, 0), f.vector("b", 0, 1, 0, 0), f.vector("c", 0, 0, 1, 0))
		}
		f.apply(f.change(oxbow.Edited, "a", func(c *oxbow.Change) { c.Content = &oxbow.Content{Text: "something else"} }),
			f.change(oxbow.Edited, "c", func(c *oxbow.Change) { c.Set.Key = ptr("town") }),
			f.change(oxbow.PinnedEvent, "b", func(c *oxbow.Change) { c.Set.Pinned = ptr(true) }))
		for _, e := range []string{small, other} {
			f.wantVectors(e, map[string][]float32{"a": nil, "b": {0, 1, 0, 0}, "c": nil})
		}
		v := f.vector("a", 0, 0, 0, 1)
		v.ContentVersion = 2
		f.putVectors(small, v)
		f.wantVectors(small, map[string][]float32{"a": {0, 0, 0, 1}})
	})

	t.Run("drops the vectors of what is erased, and of nothing else", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a"), f.memory("b"))
		f.putVectors(small, f.vector("a", 1, 0, 0, 0), f.vector("b", 0, 1, 0, 0))
		f.putVectors(other, f.vector("a", 1, 0, 0, 0))
		f.erase("a")
		f.wantVectors(small, map[string][]float32{"a": nil, "b": {0, 1, 0, 0}})
		f.wantVectors(other, map[string][]float32{"a": nil})
	})

	t.Run("counts and lists what has no vector", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a"), f.memory("b"), f.memory("gone"), f.memory("d"),
			f.memory("quarantined", func(m *oxbow.Memory) { m.Status = oxbow.Quarantined }))
		f.erase("gone")
		f.apply(f.change(oxbow.ArchivedEvent, "d"))
		f.wantVectorCounts(f.scope, 0, 3)
		f.putVectors(small, f.vector("a", 1, 0, 0, 0))
		f.putVectors(other, f.vector("b", 1, 0, 0, 0))
		f.wantVectorCounts(f.scope, 1, 2)
		f.wantVectorCounts(oxbow.Scope{Tenant: f.scope.Tenant}, 1, 2)
		f.wantVectorCounts(f.other(), 0, 0)
		f.wantVectorCounts(oxbow.Scope{Tenant: f.scope.Tenant + "x"}, 0, 0)
		want := store.Sorted(f.ids("b", "d"))
		first := must(s.WithoutVector(f.ctx, f.scope, small, "", 1))(f)
		next := must(s.WithoutVector(f.ctx, f.scope, small, want[0], 9))(f)
		if got := append(store.IDsOf(first), store.IDsOf(next)...); !slices.Equal(got, want) || first[0].Content.Text == "" {
			t.Fatalf("got %v, want %v with their words", got, want)
		}
	})
}

func testVectorPages(t *testing.T, s store.Store) {
	t.Run("pages through everything, and then only through what changed", func(t *testing.T) {
		f := setup(t, s)
		if f.mark() != 0 {
			t.Fatalf("a scope that is not there has the mark %d", f.mark())
		}
		var ms []oxbow.Memory
		var vs []store.Vector
		for i := range 25 {
			ms = append(ms, f.memory(fmt.Sprint(i)))
			vs = append(vs, f.vector(fmt.Sprint(i), float32(i), 1, 1, 1))
		}
		f.create(ms...)
		f.putVectors(small, vs[:10]...)
		f.putVectors(small, vs[10:]...)
		all, at := f.since(small, store.VectorPlace{}, 4)
		if len(all) != 25 || at.Mark != f.mark() {
			t.Fatalf("%d vectors were read, up to %v; the mark is %d", len(all), at, f.mark())
		}
		if more, _ := f.since(small, at, 4); len(more) != 0 {
			t.Fatalf("nothing changed, and %d were read", len(more))
		}
		before := f.mark()
		f.erase("3")
		f.apply(f.change(oxbow.Edited, "4", func(c *oxbow.Change) { c.Content = &oxbow.Content{Text: "something else"} }))
		f.putVectors(small, f.vector("5", 9, 9, 9, 9))
		if f.mark() <= before {
			t.Fatal("the mark did not move")
		}
		changed, end := f.since(small, at, 1)
		dropped, put := 0, 0
		for _, v := range changed {
			if v == nil {
				dropped++
			} else if slices.Equal(v, []float32{9, 9, 9, 9}) {
				put++
			}
		}
		if dropped != 2 || put != 1 || len(changed) != 3 {
			t.Fatalf("read %v, want two that were dropped and one that was put", changed)
		}
		if end.Mark != f.mark() {
			t.Fatalf("the end is %v and the mark %d", end, f.mark())
		}
	})

	t.Run("leaves the mark alone when nothing of a vector changes", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a"))
		f.putVectors(small, f.vector("a", 1, 0, 0, 0))
		before := f.mark()
		f.create(f.memory("b"))
		f.apply(f.change(oxbow.ArchivedEvent, "a"))
		if f.mark() != before {
			t.Fatalf("the mark moved from %d to %d", before, f.mark())
		}
	})

	t.Run("tells by their numbers what may be shown, in the order asked", func(t *testing.T) {
		f := setup(t, s)
		soon := start.Add(10 * day)
		f.create(f.memory("live"), f.memory("ends", func(m *oxbow.Memory) { m.ExpiresAt = soon }), f.memory("archived"), f.memory("gone"))
		f.putVectors(small, f.vector("live", 1, 0, 0, 0), f.vector("ends", 2, 0, 0, 0), f.vector("archived", 3, 0, 0, 0), f.vector("gone", 4, 0, 0, 0))
		f.apply(f.change(oxbow.ArchivedEvent, "archived"))
		number := map[float32]int64{}
		all, _ := f.since(small, store.VectorPlace{}, 10)
		for n, v := range all {
			number[v[0]] = n
		}
		f.erase("gone")
		order := []int64{number[4], number[3], number[2], number[1], 1 << 40}
		for _, c := range []struct {
			now      time.Time
			statuses []oxbow.Status
			want     []string
		}{
			{start, []oxbow.Status{oxbow.Active}, []string{"ends", "live"}},
			{soon, []oxbow.Status{oxbow.Active}, []string{"live"}},
			{soon, []oxbow.Status{oxbow.Active, oxbow.Archived}, []string{"archived", "live"}},
			{start.Add(9999 * day), []oxbow.Status{oxbow.Active, oxbow.Archived}, []string{"archived"}},
			{start, nil, nil},
		} {
			got := must(s.Standing(f.ctx, store.StandingQuery{Scope: f.scope, Numbers: order, Statuses: c.statuses, Now: c.now}))(f)
			var ids []string
			for _, v := range got {
				ids = append(ids, v.ID)
			}
			if want := f.ids(c.want...); !slices.Equal(ids, want) {
				t.Errorf("at %v, of %v: %v, want %v", c.now, c.statuses, ids, want)
			}
		}
	})
}
