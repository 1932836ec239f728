package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"log/slog"
	"strings"

	sqlite "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/oxbow-memory/oxbow"
)

// querier runs SQL on the read pool or inside a transaction.
type querier interface {
	exec(ctx context.Context, query string, args ...any) (sql.Result, error)
	query(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	row(ctx context.Context, query string, args ...any) *sql.Row
}

// direct runs SQL by the names of this package; the connections keep the
// statements (driver.go).
type direct struct {
	on interface {
		ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
		QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	}
}

func (d direct) exec(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return d.on.ExecContext(ctx, query, args...)
}

func (d direct) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return d.on.QueryContext(ctx, query, args...)
}

func (d direct) row(ctx context.Context, query string, args ...any) *sql.Row {
	return d.on.QueryRowContext(ctx, query, args...)
}

// translate gives a driver's error Oxbow's code and the next thing to do.
func translate(err error, doing string) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if errors.Is(err, sql.ErrNoRows) {
		return oxbow.WrapError(oxbow.CodeNotFound, nil, "%s: not found", doing)
	}
	if _, ok := errors.AsType[*oxbow.Error](err); ok {
		return err
	}
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return oxbow.WrapError(oxbow.CodeInternal, err, "%s", doing)
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR:
		return oxbow.WrapError(oxbow.CodeUnavailable, err, "%s: the disk is full or failing; nothing was written, make room and repeat", doing)
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		return oxbow.WrapError(oxbow.CodeUnavailable, err, "%s: the database file cannot be written; check its permissions", doing)
	case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT:
		return oxbow.WrapError(oxbow.CodeUnavailable, err, "%s: the file is damaged or not a database; restore a backup or choose another with --db", doing)
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return oxbow.WrapError(oxbow.CodeUnavailable, err, "%s: another process holds the database; repeat", doing)
	case sqlite3.SQLITE_CONSTRAINT:
		return oxbow.WrapError(oxbow.CodeConflict, err, "%s: it is there already", doing)
	}
	return oxbow.WrapError(oxbow.CodeInternal, err, "%s", doing)
}

func isNoTransaction(err error) bool {
	return strings.Contains(err.Error(), "no transaction is active")
}

func isBusy(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && e.Code()&0xff == sqlite3.SQLITE_BUSY
}

// quiet is a logger for the client that only inserts.
func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }
