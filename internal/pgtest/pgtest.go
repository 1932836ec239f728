// Package pgtest gives a test a Postgres database of its own.
//
// The server is named by OXBOW_TEST_POSTGRES; scripts/with-postgres starts one.
// Without it a test skips and says why, except where CI=true: there a skipped
// Postgres test would be a hole that nobody sees, so it fails.
//
// Only tests and bench may import it. It knows nothing of Oxbow's schema: the
// database that it gives is empty.
package pgtest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Variable is the environment variable that names the server, as a URL whose
// user may create databases.
const Variable = "OXBOW_TEST_POSTGRES"

// patience bounds each statement that makes or drops a database.
const patience = 30 * time.Second

// URL gives the URL of a fresh, empty database, which is dropped when the test
// ends, whoever is still connected to it. It skips the test when there is no
// server, and fails it when CI is true.
func URL(t testing.TB) string {
	t.Helper()
	server := os.Getenv(Variable)
	if server == "" {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s is not set, and in CI Postgres is not optional: run make test", Variable)
		}
		t.Skipf("%s is not set: run make test, which starts a Postgres", Variable)
	}
	name := "oxbow_" + randomHex()
	if err := run(server, "CREATE DATABASE "+name); err != nil {
		t.Fatalf("create a test database: %v", err)
	}
	t.Cleanup(func() {
		if err := run(server, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("drop the test database: %v", err)
		}
	})
	u, err := url.Parse(server)
	if err != nil {
		t.Fatalf("%s is not a URL: use postgres://user:password@host:port/database", Variable)
	}
	u.Path = "/" + name
	return u.String()
}

func randomHex() string {
	var b [8]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

func run(server, sql string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql)
	return err
}
