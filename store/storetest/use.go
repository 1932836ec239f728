package storetest

import (
	"context"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// use counts uses of named memories and gives how many counted.
func (f *fixture) use(now time.Time, names ...string) (n int) {
	f.Helper()
	f.tx(func(ctx context.Context, tx store.Tx) (err error) {
		n, err = tx.Use(ctx, f.scope.Tenant, f.ids(names...), now)
		return err
	})
	return n
}

func testUse(t *testing.T, s store.Store) {
	t.Run("counts a memory once a day", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a"), f.memory("b"))
		midnight := start.Truncate(day).Add(day)
		for _, step := range []struct {
			at   time.Time
			want int
		}{
			{midnight.Add(-time.Millisecond), 2}, {midnight.Add(-time.Millisecond), 0},
			{midnight, 2}, {midnight.Add(day - time.Millisecond), 0}, {midnight.Add(day), 2},
			{midnight, 0}, // a late report of a day that is past
		} {
			if n := f.use(step.at, "b", "a", "nobody", "a"); n != step.want {
				t.Fatalf("%d uses counted at %v, want %d", n, step.at, step.want)
			}
		}
		if m := f.get("a"); m.AccessCount != 3 || !m.LastUsedAt.Equal(midnight.Add(day)) {
			t.Fatalf("got %s", show(m))
		}
	})

	t.Run("starts the idle clock anew and lengthens life", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a"))
		before := f.get("a")
		f.use(start.Add(10*day), "a")
		m := f.get("a")
		want := oxbow.DefaultPolicy().Derive(m)
		if m.HalfLife != 60 || m.HalfLife != want.HalfLife || !m.FadesAt.Equal(want.FadesAt) || m.RankKey != want.RankKey {
			t.Fatalf("got %s, want half-life, fading and rank as in %s", show(m), show(want))
		}
		if !m.FadesAt.After(before.FadesAt) || m.RankKey == before.RankKey || m.Version != before.Version {
			t.Fatalf("got %s after %s", show(m), show(before))
		}
		settings := f.settings()
		at := start.Add(10 * day)
		if got := must(f.s.StrongestMemories(f.ctx, settings, at, 3))(f); len(got) != 1 || settings.Policy.StrengthOf(got[0], at) != 1 {
			t.Fatalf("got %s", show(got))
		}
		f.wantIDs(must(f.s.Faded(f.ctx, f.scope, m.FadesAt, "", 3))(f), "a")
		f.wantIDs(must(f.s.Faded(f.ctx, f.scope, before.FadesAt, "", 3))(f))
	})

	t.Run("writes no event and leaves the replay whole", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a"))
		f.use(start.Add(day), "a")
		if n := len(must(f.s.EventsOf(f.ctx, f.scope.Tenant, f.ids("a")))(f)); n != 1 {
			t.Fatalf("there are %d events", n)
		}
		Replay(t, f.s, f.scope.Tenant, f.ids("a")...)
	})

	t.Run("survives a change of the memory, and the change the use", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a"))
		f.use(start.Add(day), "a")
		f.apply(f.change(oxbow.Edited, "a", edits("other words")))
		f.apply(f.change(oxbow.ArchivedEvent, "a"))
		f.apply(f.change(oxbow.Restored, "a"))
		if m := f.get("a"); m.AccessCount != 1 || !m.LastUsedAt.Equal(start.Add(day)) || m.HalfLife != 60 {
			t.Fatalf("got %s", show(m))
		}
	})

	t.Run("counts one of many that come at once", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a"), f.memory("b"))
		counted := make([]int, 8)
		var wg sync.WaitGroup
		for i := range counted {
			wg.Go(func() {
				_ = f.s.InTx(f.ctx, func(ctx context.Context, tx store.Tx) (err error) {
					counted[i], err = tx.Use(ctx, f.scope.Tenant, f.ids("a", "b"), start.Add(day))
					return err
				})
			})
		}
		wg.Wait()
		sum := 0
		for _, n := range counted {
			sum += n
		}
		if a, b := f.get("a"), f.get("b"); sum != 2 || a.AccessCount != 1 || b.AccessCount != 1 {
			t.Fatalf("%d uses counted; the counters are %d and %d", sum, a.AccessCount, b.AccessCount)
		}
	})

	t.Run("rederives everything derived from another policy, twice alike", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a"), f.memory("b"))
		f.use(start.Add(day), "a")
		policy := oxbow.DefaultPolicy()
		policy.HalfLifeDays = map[oxbow.Kind]float64{oxbow.Semantic: 7}
		policy.ArchiveBelow = 0.01
		before := f.get("b")
		for range 2 {
			f.tx(func(ctx context.Context, tx store.Tx) error {
				return tx.Rederive(ctx, f.scope, policy, f.ids("a", "nobody"))
			})
			m := f.get("a")
			life := time.Duration(math.Round(-math.Log2(0.01)*14*24*3600*1000)) * time.Millisecond
			if m.HalfLife != 14 || !m.FadesAt.Equal(start.Add(day+life)) || m.RankKey != policy.RankKey(m) || m.Version != 1 {
				t.Fatalf("got %s", show(m))
			}
		}
		f.wantSame(f.get("b"), before)
	})
}

// erase erases named memories the way the engine does.
func (f *fixture) erase(names ...string) {
	f.Helper()
	f.tx(func(ctx context.Context, tx store.Tx) error {
		var changes []oxbow.Change
		for _, n := range names {
			changes = append(changes, f.change(oxbow.ErasedEvent, n))
		}
		if _, err := tx.Apply(ctx, f.batch(), changes); err != nil {
			return err
		}
		return tx.Erase(ctx, f.scope, f.ids(names...))
	})
}

func testErase(t *testing.T, s store.Store) {
	t.Run("removes every content that the memory ever had", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a", says("first words")), f.memory("b", says("first words")))
		versions := []string{f.get("a").ContentID}
		for _, text := range []string{"second words", "third words"} {
			f.apply(f.change(oxbow.Edited, "a", edits(text)))
			versions = append(versions, f.get("a").ContentID)
		}
		f.erase("a")
		for _, id := range versions {
			_, _, err := f.s.ContentBody(f.ctx, f.scope.Tenant, id)
			f.wantCode(err, oxbow.CodeNotFound)
		}
		m := f.get("a")
		if m.Status != oxbow.Erased || m.Content.Text != "" || len(m.Content.Tags) != 0 || m.Quote != (oxbow.Quote{}) {
			t.Fatalf("the tombstone still says something: %s", show(m))
		}
		f.wantOrder(hitIDs(f.search("words", oxbow.Statuses...)), "b")
	})

	t.Run("keeps the events, which replay to the tombstone", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a"))
		f.apply(f.change(oxbow.Edited, "a", edits("other words")))
		f.erase("a")
		if n := len(must(f.s.EventsOf(f.ctx, f.scope.Tenant, f.ids("a")))(f)); n != 3 {
			t.Fatalf("there are %d events, want 3", n)
		}
		Replay(t, f.s, f.scope.Tenant, f.ids("a")...)
		_, err := f.tryApply(f.change(oxbow.Restored, "a"))
		f.wantCode(err, oxbow.CodeConflict)
	})

	t.Run("leaves the scores of the others as if it had never been, twice alike", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a", says("a lighthouse by the sea")), f.memory("b", says("the sea and the sand")))
		want := f.search("sea sand", oxbow.Active)
		f.create(f.memory("c", says("sand, sea, sun and a very long walk along the beach")))
		if got := f.search("sea sand", oxbow.Active); got[0].Score == want[0].Score {
			t.Fatal("a third memory changed no score, so this test could not fail")
		}
		f.erase("c")
		f.wantSame(f.search("sea sand", oxbow.Active), want)
		f.tx(func(ctx context.Context, tx store.Tx) error { return tx.Erase(ctx, f.scope, f.ids("c", "nobody")) })
		f.wantSame(f.search("sea sand", oxbow.Active), want)
	})

	t.Run("frees a fact's address", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a", fact("user", "city")))
		f.erase("a")
		f.create(f.memory("b", fact("user", "city")))
	})

	t.Run("refuses an erasure in one call with an edit, which would leave words in the index", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a", says("a lighthouse")))
		_, err := f.tryApply(f.change(oxbow.Edited, "a", edits("a harbour")), f.change(oxbow.ErasedEvent, "a"))
		f.wantCode(err, oxbow.CodeConflict)
	})
}
