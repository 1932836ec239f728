package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"

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

// statements keeps prepared statements. A statement cannot be prepared while a
// transaction holds the only connection, so a query that is new is run as it
// is and prepared after the commit.
type statements struct {
	db     *sql.DB
	mu     sync.Mutex
	ready  map[string]*sql.Stmt
	wanted map[string]bool
}

func newStatements(db *sql.DB) *statements {
	return &statements{db: db, ready: map[string]*sql.Stmt{}, wanted: map[string]bool{}}
}

// maxStatements bounds the cache; filters make a bounded number of queries.
const maxStatements = 256

func (s *statements) get(query string) *sql.Stmt {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.ready[query]
	if st == nil && len(s.ready) < maxStatements {
		s.wanted[query] = true
	}
	return st
}

func (s *statements) prepareWanted() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for query := range s.wanted {
		if st, err := s.db.PrepareContext(context.Background(), query); err == nil {
			s.ready[query] = st
		}
		delete(s.wanted, query)
	}
}

func (s *statements) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.ready {
		_ = st.Close()
	}
}

type inTx struct {
	tx    *sql.Tx
	stmts *statements
}

func (c *inTx) exec(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if st := c.stmts.get(query); st != nil {
		return c.tx.StmtContext(ctx, st).ExecContext(ctx, args...)
	}
	return c.tx.ExecContext(ctx, query, args...)
}

func (c *inTx) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if st := c.stmts.get(query); st != nil {
		return c.tx.StmtContext(ctx, st).QueryContext(ctx, args...)
	}
	return c.tx.QueryContext(ctx, query, args...)
}

func (c *inTx) row(ctx context.Context, query string, args ...any) *sql.Row {
	if st := c.stmts.get(query); st != nil {
		return c.tx.StmtContext(ctx, st).QueryRowContext(ctx, args...)
	}
	return c.tx.QueryRowContext(ctx, query, args...)
}

type pool struct {
	db    *sql.DB
	stmts *statements
}

func (p *pool) stmt(query string) *sql.Stmt {
	st := p.stmts.get(query)
	if st == nil {
		p.stmts.prepareWanted()
		st = p.stmts.get(query)
	}
	return st
}

func (p *pool) exec(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return p.db.ExecContext(ctx, query, args...)
}

func (p *pool) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if st := p.stmt(query); st != nil {
		return st.QueryContext(ctx, args...)
	}
	return p.db.QueryContext(ctx, query, args...)
}

func (p *pool) row(ctx context.Context, query string, args ...any) *sql.Row {
	if st := p.stmt(query); st != nil {
		return st.QueryRowContext(ctx, args...)
	}
	return p.db.QueryRowContext(ctx, query, args...)
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

// quiet is a logger for the client that only inserts.
func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }
