package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivertype"

	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/store/sqlite"

	_ "modernc.org/sqlite" // the driver
)

// sqliteBed keeps its files in a folder, opened as Oxbow opens them: WAL and
// synchronous NORMAL.
type sqliteBed struct{ dir string }

func (sqliteBed) label() string { return "SQLite" }

func (b sqliteBed) open(ctx context.Context, name string, copyOf *db) (*db, error) {
	path := filepath.Join(b.dir, name+".db")
	if copyOf != nil {
		if err := checkpoint(ctx, copyOf); err != nil {
			return nil, err
		}
		if err := copyFile(copyOf.where, path); err != nil {
			return nil, err
		}
	}
	st, err := sqlite.Open(ctx, sqlite.Config{Path: path})
	if err != nil {
		return nil, err
	}
	if err := st.Migrate(ctx); err != nil {
		return nil, err
	}
	own, err := sql.Open("sqlite", sqliteDSN(path)+"&_pragma=cache_size(-32000)")
	if err != nil {
		return nil, err
	}
	drop := func() error {
		return errors.Join(own.Close(), st.Close(), os.Remove(path))
	}
	return &db{dialect: "sqlite", where: path, st: st, sql: own, drop: drop}, nil
}

func sqliteDSN(path string) string {
	return "file:" + path + "?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)" +
		"&_pragma=synchronous(NORMAL)&_pragma=foreign_keys(1)&_pragma=secure_delete(1)&_pragma=temp_store(2)&_pragma=wal_autocheckpoint(4000)"
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// checkpoint empties the write-ahead log.
func checkpoint(ctx context.Context, d *db) error {
	var busy, frames, moved int
	for range 50 {
		err := d.sql.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &moved)
		if err != nil || busy == 0 {
			return err
		}
	}
	return errors.New("the write-ahead log cannot be emptied: somebody reads on")
}

// written empties the log first and gives the size that it has after. A reader
// that stands at the beginning keeps any connection from moving pages out of
// the log, which has the effect of wal_autocheckpoint being off in all of them.
func (b sqliteBed) written(ctx context.Context, d *db, fn func() error) (n int64, err error) {
	if err := checkpoint(ctx, d); err != nil {
		return 0, err
	}
	reader, err := d.sql.Conn(ctx)
	if err != nil {
		return 0, err
	}
	defer func() {
		_, e := reader.ExecContext(ctx, "ROLLBACK")
		err = errors.Join(err, e, reader.Close())
	}()
	var tables int
	if _, err := reader.ExecContext(ctx, "BEGIN"); err != nil {
		return 0, err
	}
	if err := reader.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
		return 0, err
	}
	if err := fn(); err != nil {
		return 0, err
	}
	log, err := os.Stat(d.where + "-wal")
	if err != nil {
		return 0, err
	}
	return log.Size(), nil
}

// rival implements bed with one connection, as River advises for SQLite.
func (b sqliteBed) rival(ctx context.Context, d *db) (rival, error) {
	conn, err := sql.Open("sqlite", sqliteDSN(d.where))
	if err != nil {
		return nil, err
	}
	conn.SetMaxOpenConns(1)
	r := &plain[*sql.Tx]{
		inTx: func(ctx context.Context, fn func(*sql.Tx) error) error {
			tx, err := conn.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			if err := fn(tx); err != nil {
				return errors.Join(err, tx.Rollback())
			}
			return tx.Commit()
		},
		// The call that the store makes too.
		add: func(ctx context.Context, c *river.Client[*sql.Tx], tx *sql.Tx, jobs []river.InsertManyParams) error {
			_, err := c.InsertManyFastTx(ctx, tx, jobs)
			return err
		},
		finish: func(ctx context.Context, tx *sql.Tx, row *rivertype.JobRow) error {
			var state string
			var attempt int
			err := tx.QueryRowContext(ctx, "SELECT state, attempt FROM river_job WHERE id = ?", row.ID).Scan(&state, &attempt)
			if err != nil {
				return err
			}
			if err := fence(row, state, attempt); err != nil {
				return err
			}
			_, err = river.JobCompleteTx[*riversqlite.Driver](ctx, tx, &river.Job[store.RawArgs]{JobRow: row})
			return err
		},
		close: conn.Close,
	}
	r.client, err = river.NewClient(riversqlite.New(conn), r.config(""))
	if err != nil {
		return nil, fmt.Errorf("make River's client: %w", err)
	}
	return r, nil
}
