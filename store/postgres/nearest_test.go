package postgres

import (
	"context"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/store/storetest"
)

// pgvectorVariable names an empty database of a server that has pgvector, for
// when the server of the other tests has not.
const pgvectorVariable = "OXBOW_TEST_PGVECTOR"

// withPgvector gives a migrated store that uses pgvector, or skips the test.
func withPgvector(t testing.TB) *Store {
	t.Helper()
	url := os.Getenv(pgvectorVariable)
	if url == "" {
		url = pgtest.URL(t)
	}
	s := open(t, url)
	var offered bool
	if err := s.pool.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'vector')`).Scan(&offered); err != nil {
		t.Fatal(err)
	}
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !offered {
		t.Skipf("this Postgres has no pgvector, which Debian 12 does not package: set %s to an empty database that has", pgvectorVariable)
	}
	if s.VectorSearch() != "pgvector is used" {
		t.Fatalf("it says %q", s.VectorSearch())
	}
	return s
}

func TestWithoutPgvector(t *testing.T) {
	t.Parallel()
	t.Run("says that vectors are searched in memory, and has no answer of its own", func(t *testing.T) {
		t.Parallel()
		s := open(t, pgtest.URL(t)) // not migrated, so nothing is there
		_, ok, err := s.NearestVectors(t.Context(), store.NearestQuery{Scope: ada, Embedder: "e/1/1", Vector: []float32{1}, Limit: 1})
		if ok || err != nil || !strings.Contains(s.VectorSearch(), "not there") {
			t.Errorf("it answers %v (%v) and says %q", ok, err, s.VectorSearch())
		}
	})
}

func TestVectorOf(t *testing.T) {
	t.Parallel()
	t.Run("reads stored bytes to the last bit, short form and long", func(t *testing.T) {
		t.Parallel()
		s, _ := setupBoth(t)
		function := strings.NewReplacer("SCHEMA", "oxbow", "vector_of", "numbers_of", "EXTENSION.vector", "real[]").Replace(vectorOf)
		if _, err := s.pool.Exec(t.Context(), function); err != nil {
			t.Fatal(err)
		}
		for _, v := range [][]float32{
			{0.1, -0.2, 1e-30, 3e30}, {0, 0, 0, -1}, {0, 0, 0, 0}, {1}, {-1.5, 0},
			{math.SmallestNonzeroFloat32, -math.SmallestNonzeroFloat32, math.MaxFloat32, -math.MaxFloat32},
			{0x1p-126, 0x1.fffffcp-127, 0x1.fffffep127, -0x1p-149}, slices.Repeat([]float32{0, 0, 0, 0, 0, 0.3}, 100),
		} {
			var got []float32
			err := s.pool.QueryRow(t.Context(), `SELECT numbers_of($1, $2)`, store.PackVector(v), len(v)).Scan(&got)
			if err != nil || !slices.Equal(got, v) {
				t.Errorf("%v was read as %v (%v)", v, got, err)
			}
		}
	})
}

// TestPgvector goes in one order: the extension belongs to the whole database,
// which may be the only one.
func TestPgvector(t *testing.T) {
	t.Parallel()
	s := withPgvector(t)

	t.Run("conforms", func(t *testing.T) {
		storetest.RunVectors(t, func(testing.TB) store.Store { return s })
	})

	t.Run("indexes what was there before, finds damage, and goes on when the extension is dropped", func(t *testing.T) {
		ctx, e := t.Context(), "e/2/1"
		apply(t, s, created("first"), created("second"))
		put := func(name string, values ...float32) {
			inTx(t, s, func(ctx context.Context, tx store.Tx) error {
				_, err := tx.PutVectors(ctx, ada, e, []store.Vector{{Memory: oxbow.NewID(name), ContentVersion: 1, Values: values}})
				return err
			})
		}
		exec := func(sql string) {
			if _, err := s.pool.Exec(ctx, sql); err != nil {
				t.Fatal(err)
			}
		}
		find := func() (int, bool) {
			hits, ok, err := s.NearestVectors(ctx, store.NearestQuery{Scope: ada, Embedder: e, Vector: []float32{1, 0}, Statuses: []oxbow.Status{oxbow.Active}, Now: start, Limit: 5})
			if err != nil {
				t.Fatal(err)
			}
			return len(hits), ok
		}
		put("first", 1, 0)
		exec(`DELETE FROM oxbow.vector_index`)
		if found, err := s.Check(ctx); err != nil || !strings.Contains(strings.Join(found, "\n"), "pgvector differ") {
			t.Errorf("the check finds %q, error %v", found, err)
		}
		exec(`DROP EXTENSION vector CASCADE`)
		if n, ok := find(); n != 0 || ok {
			t.Errorf("without the extension it finds %d, %v", n, ok)
		}
		put("second", 1, 1)
		if err := s.Migrate(ctx); err != nil {
			t.Fatal(err)
		}
		if n, ok := find(); n != 2 || !ok {
			t.Errorf("with it again it finds %d, %v", n, ok)
		}
		if found, err := s.Check(ctx); err != nil || len(found) > 0 {
			t.Errorf("the check finds %q, error %v", found, err)
		}
		if err := s.Vacuum(ctx); err != nil {
			t.Error(err)
		}
	})
}
