package postgres

import (
	"testing"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/store/storetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t testing.TB) store.Store { return setup(t) })
}

func TestConformanceOfAdmin(t *testing.T) {
	t.Parallel()
	storetest.RunAdmin(t, storetest.Dialect{
		Open: func(t testing.TB) store.Store { return setup(t) },
		Empty: func(t testing.TB) func() store.Store {
			url := pgtest.Split(t).Owner
			return func() store.Store { return open(t, url) }
		},
		Exec: func(t testing.TB, s store.Store, sql string) {
			t.Helper()
			if _, err := byHand(t, s.(*Store)).Exec(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		},
	})
}
