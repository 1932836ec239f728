package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

func testScopes(t *testing.T, s store.Store) {
	t.Run("makes a scope once, with the defaults", func(t *testing.T) {
		f := setup(t, s)
		_, err := f.s.Scope(f.ctx, f.scope)
		f.wantCode(err, oxbow.CodeNotFound)
		got := f.settings()
		want := oxbow.ScopeSettings{Scope: f.scope, Zone: "UTC", Policy: oxbow.DefaultPolicy(), Version: 1, CreatedAt: start, UpdatedAt: start}
		f.wantSame(got, want)
		f.tx(func(ctx context.Context, tx store.Tx) error {
			again, err := tx.LockScope(ctx, f.scope, start.Add(day))
			f.wantSame(again, want)
			return err
		})
		f.wantSame(must(f.s.Scope(f.ctx, f.scope))(f), want)
	})

	t.Run("refuses names that are none", func(t *testing.T) {
		f := setup(t, s)
		for _, scope := range []oxbow.Scope{{}, {Tenant: f.scope.Tenant}, {Tenant: f.scope.Tenant, Name: "a b"}, {Tenant: "'", Name: "a"}} {
			err := f.s.InTx(f.ctx, func(ctx context.Context, tx store.Tx) error {
				_, err := tx.LockScope(ctx, scope, start)
				return err
			})
			f.wantCode(err, oxbow.CodeInvalid)
		}
	})

	t.Run("keeps settings and refuses those that somebody else overtook", func(t *testing.T) {
		f := setup(t, s)
		put := func(v oxbow.ScopeSettings) error {
			return f.s.InTx(f.ctx, func(ctx context.Context, tx store.Tx) error { return tx.PutScope(ctx, v) })
		}
		v := f.settings()
		v.Zone, v.Version, v.UpdatedAt = "Europe/Lisbon", 2, start.Add(day)
		v.Policy.Strength, v.Policy.SlotCap, v.Policy.MaxShare = oxbow.Classic, 7, 1.0/3
		v.Policy.HalfLifeDays = map[oxbow.Kind]float64{oxbow.Fact: 12.5}
		f.wantCode(put(v), "")
		f.wantSame(must(f.s.Scope(f.ctx, f.scope))(f), v)
		for _, version := range []int{1, 2, 4} {
			late := v
			late.Version, late.Zone = version, "Asia/Tokyo"
			f.wantCode(put(late), oxbow.CodeConflict)
		}
		f.wantSame(must(f.s.Scope(f.ctx, f.scope))(f), v)
		v.Scope, v.Version = f.other(), 1
		f.wantCode(put(v), oxbow.CodeConflict)
	})

	t.Run("lists a tenant's scopes by name, and everybody's", func(t *testing.T) {
		f := setup(t, s)
		for _, name := range []string{"b", "a", "Ä", "a2"} {
			f.lock(oxbow.Scope{Tenant: f.scope.Tenant, Name: name})
		}
		names := ""
		for _, v := range must(f.s.ListScopes(f.ctx, f.scope.Tenant))(f) {
			names += v.Name + " "
		}
		if names != "a a2 b Ä " {
			t.Fatalf("got %s", names)
		}
		mine := 0
		for _, v := range must(f.s.ListScopes(f.ctx, ""))(f) {
			if v.Tenant == f.scope.Tenant {
				mine++
			}
		}
		if mine != 4 {
			t.Fatalf("the list of all has %d of 4", mine)
		}
	})
}

func testSchedules(t *testing.T, s store.Store) {
	plan := func(f *fixture, scope oxbow.Scope, name string, next time.Time, set ...func(*store.Schedule)) store.Schedule {
		d := store.Schedule{Scope: scope, Name: name, Spec: "0 3 * * *", NextAt: next, CatchUp: "latest"}
		for _, s := range set {
			s(&d)
		}
		f.lock(scope)
		f.tx(func(ctx context.Context, tx store.Tx) error { return tx.PutSchedule(ctx, d) })
		return d
	}
	due := func(f *fixture, now time.Time) []string {
		f.Helper()
		var out []string
		for _, d := range must(f.s.DueSchedules(f.ctx, now, 1000))(f) {
			if d.Scope.Tenant == f.scope.Tenant {
				out = append(out, d.Scope.Name+" "+d.Name)
			}
		}
		return out
	}

	t.Run("keeps a schedule and replaces it", func(t *testing.T) {
		f := setup(t, s)
		plan(f, f.scope, "decay", start)
		d := plan(f, f.scope, "decay", start.Add(day), func(d *store.Schedule) {
			d.Spec, d.LastAt, d.CatchUp, d.Paused = "@hourly", start, "all", true
		})
		f.wantSame(must(f.s.ListSchedules(f.ctx, f.scope))(f), []store.Schedule{d})
	})

	t.Run("lists a scope's schedules, or the tenant's, by name", func(t *testing.T) {
		f := setup(t, s)
		b, a := plan(f, f.scope, "prune", start), plan(f, f.scope, "decay", start)
		c := plan(f, f.other(), "cluster", start)
		f.wantSame(must(f.s.ListSchedules(f.ctx, f.scope))(f), []store.Schedule{a, b})
		f.wantSame(must(f.s.ListSchedules(f.ctx, oxbow.Scope{Tenant: f.scope.Tenant}))(f), []store.Schedule{c, a, b})
	})

	t.Run("gives what is due at an instant, the longest due first, and nothing that is paused", func(t *testing.T) {
		f := setup(t, s)
		plan(f, f.scope, "now", start)
		plan(f, f.scope, "later", start.Add(time.Millisecond))
		plan(f, f.other(), "long ago", start.Add(-day))
		plan(f, f.scope, "paused", start.Add(-2*day), func(d *store.Schedule) { d.Paused = true })
		f.wantSame(due(f, start), []string{f.other().Name + " long ago", f.scope.Name + " now"})
		f.wantSame(len(due(f, start.Add(time.Millisecond))), 3)
		f.wantSame(len(due(f, start.Add(-2*day))), 0)
		if got := must(f.s.DueSchedules(f.ctx, start.Add(day), 1))(f); len(got) != 1 {
			t.Fatalf("a limit of one gives %d", len(got))
		}
	})

	t.Run("says not_found for a schedule of a scope that is not there", func(t *testing.T) {
		f := setup(t, s)
		err := f.s.InTx(f.ctx, func(ctx context.Context, tx store.Tx) error {
			return tx.PutSchedule(ctx, store.Schedule{Scope: f.scope, Name: "decay", NextAt: start})
		})
		f.wantCode(err, oxbow.CodeNotFound)
	})

	t.Run("gives every due schedule of many scopes once", func(t *testing.T) {
		f := setup(t, s)
		for i := range 20 {
			plan(f, oxbow.Scope{Tenant: f.scope.Tenant, Name: fmt.Sprintf("s%02d", i)}, "decay", start)
		}
		seen := map[string]bool{}
		for _, d := range due(f, start) {
			seen[d] = true
		}
		f.wantSame(len(seen), 20)
	})
}
