package pgtest_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

func TestURL(t *testing.T) {
	t.Parallel()

	t.Run("gives an empty database that is gone afterwards", func(t *testing.T) {
		t.Parallel()
		server := pgtest.URL(t)
		var inner string
		t.Run("inside", func(t *testing.T) {
			inner = pgtest.URL(t)
			if inner == server {
				t.Fatal("two calls gave the same database")
			}
			conn, err := pgx.Connect(t.Context(), inner)
			if err != nil {
				t.Fatal(err)
			}
			// Left open on purpose: the database is dropped all the same.
			var tables int
			err = conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").Scan(&tables)
			if err != nil || tables != 0 {
				t.Fatalf("the database has %d tables, error %v", tables, err)
			}
		})
		if conn, err := pgx.Connect(context.Background(), inner); err == nil {
			conn.Close(context.Background())
			t.Fatal("the database is still there")
		}
	})
}
