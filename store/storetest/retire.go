package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// retire retires what is due at now.
func (f *fixture) retire(t oxbow.EventType, now time.Time, after string, limit int) (done store.Retired) {
	f.Helper()
	b := f.batch()
	b.Now = now
	f.tx(func(ctx context.Context, tx store.Tx) (err error) {
		done, err = tx.Retire(ctx, b, store.Retirement{Type: t, Reason: "it is time", Actor: "schedule", After: after, Limit: limit})
		return err
	})
	return done
}

// due stores memories m0, m1 and so on, each said an hour after the one before.
func (f *fixture) due(n int, set ...func(*oxbow.Memory)) (names []string) {
	f.Helper()
	var ms []oxbow.Memory
	for i := range n {
		names = append(names, fmt.Sprint("m", i))
		said := func(m *oxbow.Memory) { m.SaidAt = start.Add(time.Duration(i) * time.Hour) }
		ms = append(ms, f.memory(names[i], append([]func(*oxbow.Memory){said}, set...)...))
	}
	f.create(ms...)
	return names
}

func testRetire(t *testing.T, s store.Store) {
	t.Run("retires what has faded by now, the longest faded first, and no more than asked", func(t *testing.T) {
		f := setup(t, s)
		names := f.due(6)
		now := f.get("m4").FadesAt
		first := f.retire(oxbow.ArchivedEvent, now, "", 2)
		f.wantSame(first, store.Retired{Count: 2, Last: store.Place(f.get("m1").FadesAt, f.id("m1"))})
		second := f.retire(oxbow.ArchivedEvent, now, first.Last, 9)
		f.wantSame(second, store.Retired{Count: 3, Last: store.Place(now, f.id("m4"))})
		f.wantSame(f.retire(oxbow.ArchivedEvent, now, second.Last, 9), store.Retired{Last: second.Last})
		f.wantSame(f.retire(oxbow.ArchivedEvent, now, "", 9), store.Retired{})
		f.wantSame(f.get("m5").Status, oxbow.Active)
		last := int64(0)
		for _, name := range names[:5] {
			es := must(f.s.EventsOf(f.ctx, f.scope.Tenant, f.ids(name)))(f)
			if len(es) != 2 || es[1].Seq <= last {
				t.Fatalf("%s has the events %s, want them in the order of fading", name, show(es))
			}
			last = es[1].Seq
		}
		Replay(t, f.s, f.scope.Tenant, f.ids(names...)...)
	})

	t.Run("leaves the event and the row that Apply would leave", func(t *testing.T) {
		f := setup(t, s)
		f.due(2)
		now := f.get("m1").FadesAt
		f.retire(oxbow.ArchivedEvent, now, "", 1)
		b := f.batch()
		b.Now = now
		c := f.change(oxbow.ArchivedEvent, "m1", guarded(oxbow.Active, 1))
		c.Reason, c.Actor, c.Judge = "it is time", "schedule", ""
		f.tx(func(ctx context.Context, tx store.Tx) error {
			_, err := tx.Apply(ctx, b, []oxbow.Change{c})
			return err
		})
		set, one := f.get("m0"), f.get("m1")
		if set.Status != one.Status || set.Version != one.Version || set.ContentVersion != one.ContentVersion || set.ReplacedBy != one.ReplacedBy {
			t.Fatalf("as a set %s, by Apply %s", show(set), show(one))
		}
		of := func(name string) oxbow.Event {
			e := must(f.s.EventsOf(f.ctx, f.scope.Tenant, f.ids(name)))(f)[1]
			e.Seq, e.Memory = 0, ""
			return e
		}
		f.wantSame(of("m0"), of("m1"))
	})

	t.Run("leaves alone what is pinned, retired before, kept back, used meanwhile, or in another scope", func(t *testing.T) {
		f := setup(t, s)
		f.due(5)
		f.create(f.memory("q", func(m *oxbow.Memory) { m.Status = oxbow.Quarantined }))
		now := f.get("m4").FadesAt
		f.apply(f.change(oxbow.PinnedEvent, "m0", func(c *oxbow.Change) { c.Set.Pinned = ptr(true) }))
		f.apply(f.change(oxbow.SupersededBy, "m1", func(c *oxbow.Change) { c.Set.ReplacedBy = ptr(f.id("m3")) }))
		f.use(now, "m2")
		home := f.scope
		f.scope = f.other()
		f.create(f.memory("elsewhere"))
		f.scope = home
		f.wantSame(f.retire(oxbow.ArchivedEvent, now, "", 9).Count, 2)
		for name, want := range map[string]oxbow.Status{"m0": oxbow.Active, "m1": oxbow.Superseded, "m2": oxbow.Active,
			"m3": oxbow.Archived, "m4": oxbow.Archived, "q": oxbow.Quarantined, "elsewhere": oxbow.Active} {
			if got := f.get(name).Status; got != want {
				t.Errorf("%s is %s, want %s", name, got, want)
			}
		}
	})

	t.Run("expires what is past its date at this very instant, the pinned too", func(t *testing.T) {
		f := setup(t, s)
		ends := start.Add(day)
		names := f.due(3, func(m *oxbow.Memory) { m.ExpiresAt, m.Pinned = ends, true })
		f.create(f.memory("open"))
		f.wantSame(f.retire(oxbow.ExpiredEvent, ends.Add(-time.Millisecond), "", 9).Count, 0)
		f.wantSame(f.retire(oxbow.ExpiredEvent, ends, "", 9).Count, 3)
		f.wantSame(f.get("m1").Status, oxbow.Expired)
		f.wantSame(f.get("open").Status, oxbow.Active)
		Replay(t, f.s, f.scope.Tenant, f.ids(names...)...)
	})

	t.Run("refuses what takes no status by itself", func(t *testing.T) {
		f := setup(t, s)
		f.due(1)
		err := f.s.InTx(f.ctx, func(ctx context.Context, tx store.Tx) error {
			_, err := tx.Retire(ctx, f.batch(), store.Retirement{Type: oxbow.SupersededBy, Limit: 1})
			return err
		})
		f.wantCode(err, oxbow.CodeInternal)
	})
}
