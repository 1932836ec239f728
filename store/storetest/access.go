package storetest

import (
	"context"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

func (f *fixture) putKey(k oxbow.Key) {
	f.Helper()
	f.tx(func(ctx context.Context, tx store.Tx) error { return tx.PutKey(ctx, k) })
}

func (f *fixture) key(name string, at time.Time) oxbow.Key {
	return oxbow.Key{ID: oxbow.NewID("key", f.scope.Tenant, name), Tenant: f.scope.Tenant, Name: name,
		Permissions: []oxbow.Permission{oxbow.MayRead, oxbow.MayWrite}, Hash: "hash of " + name, CreatedAt: at}
}

func testAccess(t *testing.T, s store.Store) {
	t.Run("gives a key back as it was kept, and as it was changed", func(t *testing.T) {
		f := setup(t, s)
		k := f.key("app", start)
		f.putKey(k)
		if got := must(f.s.Key(f.ctx, k.ID))(f); !reflect.DeepEqual(got, k) {
			t.Fatalf("got %+v, want %+v", got, k)
		}
		k.ExpiresAt, k.RevokedAt, k.LastUsedAt = start.Add(time.Hour), start.Add(time.Minute), start.Add(time.Second)
		f.putKey(k)
		if got := must(f.s.Key(f.ctx, k.ID))(f); !reflect.DeepEqual(got, k) {
			t.Fatalf("got %+v, want %+v", got, k)
		}
	})

	t.Run("lists a tenant's keys, the oldest first", func(t *testing.T) {
		f := setup(t, s)
		young, old := f.key("young", start.Add(time.Hour)), f.key("old", start)
		f.putKey(young)
		f.putKey(old)
		got := must(f.s.ListKeys(f.ctx, f.scope.Tenant))(f)
		if len(got) != 2 || got[0].Name != "old" || got[1].Name != "young" {
			t.Fatalf("got %+v", got)
		}
		if none := must(f.s.ListKeys(f.ctx, f.scope.Tenant+"x"))(f); len(none) != 0 {
			t.Fatalf("another tenant sees %+v", none)
		}
	})

	t.Run("says that an unknown key is not there", func(t *testing.T) {
		f := setup(t, s)
		_, err := f.s.Key(f.ctx, "nothing")
		f.wantCode(err, oxbow.CodeNotFound)
	})
}

func (f *fixture) request(key, digest string, at time.Time) (was store.Request, first bool) {
	f.Helper()
	r := store.Request{Tenant: f.scope.Tenant, Key: key, Digest: digest, Outcome: []byte(`{"run":"r1"}`), At: at}
	f.tx(func(ctx context.Context, tx store.Tx) (err error) {
		was, first, err = tx.PutRequest(ctx, r, at.Add(-24*time.Hour))
		return err
	})
	return was, first
}

func testRequests(t *testing.T, s store.Store) {
	t.Run("remembers a request and gives it back to the next one with its key", func(t *testing.T) {
		f := setup(t, s)
		if _, first := f.request("k", "d1", start); !first {
			t.Fatal("a new request was taken for a known one")
		}
		was, first := f.request("k", "d2", start.Add(time.Hour))
		if first || was.Digest != "d1" || string(was.Outcome) != `{"run":"r1"}` || !was.At.Equal(start) {
			t.Fatalf("first %v, was %+v", first, was)
		}
	})

	t.Run("forgets what is older than it was told", func(t *testing.T) {
		f := setup(t, s)
		long := start.AddDate(0, -6, 0) // what the other sub-tests keep is younger
		f.request("k", "d1", long)
		if _, first := f.request("k", "d2", long.Add(25*time.Hour)); !first {
			t.Fatal("a request of the day before yesterday was remembered")
		}
	})

	t.Run("lets one of many at once be the first", func(t *testing.T) {
		f := setup(t, s)
		var firsts atomic.Int32
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if _, first := f.request("k", "d", start); first {
					firsts.Add(1)
				}
			})
		}
		wg.Wait()
		if firsts.Load() != 1 {
			t.Fatalf("%d were the first", firsts.Load())
		}
	})
}
