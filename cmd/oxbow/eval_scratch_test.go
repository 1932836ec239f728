package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

func TestScratch(t *testing.T) {
	t.Parallel()

	t.Run("is a folder beside the file that is named, and gone after an interrupt", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		entries := func() int {
			found, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			return len(found)
		}
		ctx, interrupt := context.WithCancel(t.Context())
		db, err := openScratch(ctx, filepath.Join(dir, "mine.db"))
		if err != nil {
			t.Fatal(err)
		}
		if entries() != 1 {
			t.Errorf("the folder holds %d things, want one", entries())
		}
		interrupt()
		if err := db.drop(); err != nil || entries() != 0 {
			t.Errorf("the folder holds %d things, error %v", entries(), err)
		}
	})

	t.Run("is a schema of its own on Postgres, and gone after an interrupt", func(t *testing.T) {
		t.Parallel()
		url := pgtest.URL(t)
		conn, err := pgx.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
		schemas := func() (n int) {
			if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'oxbow%'`).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		ctx, interrupt := context.WithCancel(t.Context())
		db, err := openScratch(ctx, url)
		if err != nil {
			t.Fatal(err)
		}
		if schemas() != 1 {
			t.Errorf("there are %d schemas, want one", schemas())
		}
		interrupt()
		if err := db.drop(); err != nil || schemas() != 0 {
			t.Errorf("there are %d schemas, error %v", schemas(), err)
		}
	})
}
