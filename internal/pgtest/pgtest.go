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
	return at(t, server, name, nil)
}

// Place is a database with the three users that a careful operator has: the
// server's superuser, the owner of the database, who is an ordinary user, and one
// who may do nothing yet, for the program to run as.
type Place struct {
	Admin, Owner, Runtime string // URLs
	Role                  string // Runtime's user
}

// Split gives such a place, and takes the database and its users away when the
// test ends. It skips and fails as URL does.
func Split(t testing.TB) Place {
	t.Helper()
	var p Place
	id, password := randomHex(), randomHex()
	owner := "oxbow_owner_" + id
	p.Role = "oxbow_app_" + id
	t.Cleanup(func() { // after the database is gone, and what they were granted with it
		if p.Admin == "" {
			return
		}
		if err := run(os.Getenv(Variable), "DROP ROLE IF EXISTS "+owner+", "+p.Role); err != nil {
			t.Errorf("drop the test's users: %v", err)
		}
	})
	p.Admin = URL(t)
	u, err := url.Parse(p.Admin)
	if err != nil {
		t.Fatalf("read the URL of the test database: %v", err)
	}
	name := u.Path[1:]
	for _, sql := range []string{
		"CREATE ROLE " + owner + " LOGIN PASSWORD '" + password + "'",
		"CREATE ROLE " + p.Role + " LOGIN PASSWORD '" + password + "'",
		"ALTER DATABASE " + name + " OWNER TO " + owner,
	} {
		if err := run(os.Getenv(Variable), sql); err != nil {
			t.Fatalf("make the test's users: %v", err)
		}
	}
	p.Owner = at(t, p.Admin, name, url.UserPassword(owner, password))
	p.Runtime = at(t, p.Admin, name, url.UserPassword(p.Role, password))
	return p
}

// at gives a server's URL with another database, and another user unless nil.
func at(t testing.TB, server, name string, user *url.Userinfo) string {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatalf("%s is not a URL: use postgres://user:password@host:port/database", Variable)
	}
	u.Path = "/" + name
	if user != nil {
		u.User = user
	}
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
