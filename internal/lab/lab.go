// Package lab is the bench on which the tests of jobs, schedule, worker and
// engine stand: real databases, a clock that only moves when it is told to, a
// judge that follows a script, and a way to work jobs one after the other
// without a queue's timing.
//
// Only tests may import it. It holds no assertions about what memories should
// become; it fails a test only when the bench itself breaks.
package lab

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/store/postgres"
	"github.com/oxbow-memory/oxbow/store/sqlite"
)

// DB is a migrated store of a test's own, with what only a test may do to it.
type DB struct {
	store.Store
	path string // the file of an SQLite store
	url  string // the address of a Postgres one, for its superuser
}

// Each runs a test on both databases, side by side, with a fresh store each.
func Each(t *testing.T, test func(t *testing.T, db *DB)) {
	t.Helper()
	t.Run("on SQLite", func(t *testing.T) {
		t.Parallel()
		test(t, OpenSQLite(t))
	})
	t.Run("on Postgres", func(t *testing.T) {
		t.Parallel()
		test(t, OpenPostgres(t))
	})
}

// OpenSQLite opens a migrated file in the test's own folder.
func OpenSQLite(t testing.TB) *DB {
	t.Helper()
	file, err := emptyFile()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "oxbow.db")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	st, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	return migrated(t, &DB{Store: st, path: path})
}

// emptyFile gives the bytes of a migrated file, made once: the migrations take
// longer than most tests.
var emptyFile = sync.OnceValues(func() (_ []byte, err error) {
	dir, err := os.MkdirTemp("", "oxbow-lab")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "oxbow.db")
	st, err := sqlite.Open(context.Background(), sqlite.Config{Path: path})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(st.Migrate(context.Background()), st.Close()); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// OpenPostgres opens a migrated database of the test's own as it should run: by
// a user who neither owns the tables nor passes by their policies.
func OpenPostgres(t testing.TB) *DB {
	t.Helper()
	p := pgtest.Split(t)
	owner, err := postgres.Open(t.Context(), postgres.Config{URL: p.Owner, MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(owner.Migrate(t.Context()), owner.Grant(t.Context(), p.Role), owner.Close()); err != nil {
		t.Fatal(err)
	}
	st, err := postgres.Open(t.Context(), postgres.Config{URL: p.Runtime, MaxConns: 8})
	if err != nil {
		t.Fatal(err)
	}
	return migrated(t, &DB{Store: st, url: p.Admin})
}

func migrated(t testing.TB, db *DB) *DB {
	t.Helper()
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return db
}

// Exec changes the database behind the store's back.
func (db *DB) Exec(t testing.TB, statement string) {
	t.Helper()
	ctx := t.Context()
	var err error
	if db.path != "" {
		err = db.execSQLite(ctx, statement)
	} else {
		err = db.execPostgres(ctx, statement)
	}
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func (db *DB) execSQLite(ctx context.Context, statement string) error {
	c, err := sql.Open("sqlite", "file:"+db.path+"?_pragma=busy_timeout(10000)")
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.ExecContext(ctx, statement)
	return err
}

func (db *DB) execPostgres(ctx context.Context, statement string) error {
	c, err := pgx.Connect(ctx, db.url)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	if _, err := c.Exec(ctx, "SET search_path TO oxbow"); err != nil {
		return err
	}
	_, err = c.Exec(ctx, statement)
	return err
}

// Dump gives everything that the database holds, for a search through it: the
// bytes of the file and of what lies beside it, or every row of every table.
func (db *DB) Dump(t testing.TB) string {
	t.Helper()
	if db.path != "" {
		return db.dumpFiles(t)
	}
	return db.dumpTables(t)
}

func (db *DB) dumpFiles(t testing.TB) string {
	t.Helper()
	var all []byte
	for _, end := range []string{"", "-wal", "-journal"} {
		b, err := os.ReadFile(db.path + end)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		all = append(all, b...)
	}
	return string(all)
}

const tables = `SELECT table_name FROM information_schema.tables WHERE table_schema = 'oxbow' AND table_type = 'BASE TABLE'`

func (db *DB) dumpTables(t testing.TB) string {
	t.Helper()
	ctx := t.Context()
	c, err := pgx.Connect(ctx, db.url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	rows, err := c.Query(ctx, tables)
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	all := ""
	for _, name := range names {
		rows, err := c.Query(ctx, `SELECT t::text FROM oxbow.`+pgx.Identifier{name}.Sanitize()+` t`)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range lines {
			all += l + "\n"
		}
	}
	return all
}
