// Package sqlite keeps Oxbow's store in one file, with nothing else installed.
//
// It mirrors store/postgres file by file and function by function; what differs
// is only what the databases make differ. Two things are worth knowing before
// reading on. All writes go through one connection, which River shares, and a
// goroutine that gathers the transactions that are waiting into one commit, each
// in a savepoint of its own (commit.go). Reads have a pool of their own and,
// thanks to the write-ahead log, never wait for a writer.
//
// Only cmd and tests may import it; everything else knows package store.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivertype"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"

	_ "modernc.org/sqlite" // the driver
)

// Config says which file to open.
type Config struct {
	// Path is the database file. Its folder is made when it is missing.
	Path string
	// Full makes every commit reach the disk before it is answered
	// (synchronous=FULL). Defaults to false: a power cut may lose the last
	// commits, a crash of the program loses none.
	Full bool
	// MaxPages bounds the file in pages of 4 KiB; 0 is no bound. For tests of
	// a full disk.
	MaxPages int
	// ReadConns is the size of the read pool. Defaults to 4.
	ReadConns int
}

// Store is one open database file.
type Store struct {
	reader
	path     string
	write    *sql.DB // one connection, shared with River
	read     *sql.DB
	river    *river.Client[*sql.Tx] // inserts only
	requests chan *request
	closing  chan struct{}
	closed   chan struct{}
}

var _ store.Store = (*Store)(nil)

// Open opens or makes the file, readable by its owner only. It does not
// migrate.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	if cfg.ReadConns <= 0 {
		cfg.ReadConns = 4
	}
	if err := prepareFile(cfg.Path); err != nil {
		return nil, err
	}
	sync := "NORMAL"
	if cfg.Full {
		sync = "FULL"
	}
	// The log is moved into the file every 4000 pages, not every 1000: that waits
	// for the disk, and pages that many writes touch are moved once.
	busy := fmt.Sprintf("busy_timeout(%d)", busyFor.Milliseconds())
	pragmas := []string{busy, "journal_mode(WAL)", "synchronous(" + sync + ")",
		"foreign_keys(1)", "secure_delete(1)", "temp_store(2)", "cache_size(-24000)", "wal_autocheckpoint(4000)"}
	if cfg.MaxPages > 0 {
		pragmas = append(pragmas, fmt.Sprintf("max_page_count(%d)", cfg.MaxPages))
	}
	write, err := openPool(dsn(cfg.Path, append([]string{}, pragmas...), true))
	if err != nil {
		return nil, translate(err, "open the database")
	}
	write.SetMaxOpenConns(1)
	read, err := openPool(dsn(cfg.Path, []string{busy, "query_only(1)", "cache_size(-4000)", "temp_store(2)"}, false))
	if err != nil {
		return nil, translate(err, "open the database")
	}
	read.SetMaxOpenConns(cfg.ReadConns)
	read.SetMaxIdleConns(cfg.ReadConns) // a new connection prepares every statement anew
	s := &Store{
		path: cfg.Path, write: write, read: read,
		requests: make(chan *request), closing: make(chan struct{}), closed: make(chan struct{}),
	}
	if err := s.probe(ctx); err != nil {
		return nil, errors.Join(err, write.Close(), read.Close())
	}
	s.reader = reader{q: direct{read}, policies: &store.Policies{}}
	// River tells workers of an insert at most once per FetchCooldown; a job
	// that falls into the gap would wait for the next poll.
	s.river, err = river.NewClient(inserting{riversqlite.New(write)},
		&river.Config{Logger: quiet(), FetchCooldown: river.FetchCooldownMin, Middleware: []rivertype.Middleware{store.NamesSpan()}})
	if err != nil {
		return nil, fmt.Errorf("make the queue's client: %w", err)
	}
	go s.commitLoop()
	return s, nil
}

// prepareFile makes the folder and an empty file that only the owner can read,
// before SQLite would make it with the process's umask.
func prepareFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return oxbow.WrapError(oxbow.CodeUnavailable, err, "cannot make the folder of the database; choose another with --db")
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return oxbow.WrapError(oxbow.CodeUnavailable, err, "cannot open the database file; choose another with --db")
	}
	if err := f.Close(); err != nil {
		return oxbow.WrapError(oxbow.CodeUnavailable, err, "cannot open the database file; choose another with --db")
	}
	return nil
}

// hideFile takes from others what they may do with files that are there already.
// Limit: of somebody else's files the mode cannot be changed, so it stays.
func hideFile(path string) error {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + suffix)
		if err != nil || info.Mode().Perm()&0o077 == 0 {
			continue
		}
		if err := os.Chmod(path+suffix, 0o600); err != nil && !errors.Is(err, os.ErrPermission) {
			return oxbow.WrapError(oxbow.CodeUnavailable, err, "cannot keep others from reading the database file; choose another with --db")
		}
	}
	return nil
}

func dsn(path string, pragmas []string, immediate bool) string {
	q := url.Values{}
	for _, p := range pragmas {
		q.Add("_pragma", p)
	}
	if immediate {
		q.Set("_txlock", "immediate")
	}
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}).String()
}

// busyFor is how long opening waits for other processes, and every later statement
// too (busy_timeout); busyPause is how long between two attempts.
const (
	busyFor   = 10 * time.Second
	busyPause = 20 * time.Millisecond
)

// isForeign asks for tables, none of which is the one that counts migrations: it is
// the first that a migration makes. SQLite's own do not count.
const isForeign = `
	SELECT count(*) > 0 AND sum(name = 'goose_db_version') = 0
	FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'`

// probe reads the file's header and tables, so that a file that is no database, or
// another program's, is refused before its mode or anything in it is changed. Then
// it makes the first connection that writes, which turns the write-ahead log of a
// new file on.
func (s *Store) probe(ctx context.Context) error {
	var foreign bool
	if err := s.patiently(ctx, s.read.QueryRowContext, isForeign, &foreign); err != nil {
		return err
	}
	if foreign {
		return oxbow.Errorf(oxbow.CodeInvalid, "%s is the database of another program; choose another file with --db", s.path)
	}
	if err := hideFile(s.path); err != nil {
		return err
	}
	var n int
	return s.patiently(ctx, s.write.QueryRowContext, "SELECT count(*) FROM sqlite_schema", &n)
}

// patiently asks until nobody else holds the file. While its log is turned on SQLite
// heeds no busy_timeout, since a reader that becomes a writer might wait for ever,
// so of two processes that make one file the second has to come again.
func (s *Store) patiently(ctx context.Context, ask func(context.Context, string, ...any) *sql.Row, query string, into any) error {
	late := time.After(busyFor)
	for {
		err := ask(ctx, query).Scan(into)
		if !isBusy(err) {
			return translate(err, "open "+s.path)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-late:
			return translate(err, "open "+s.path)
		case <-time.After(busyPause):
		}
	}
}

// InTx implements store.Store.
func (s *Store) InTx(ctx context.Context, fn func(context.Context, store.Tx) error) error {
	return s.submit(ctx, func(ctx context.Context, t *tx) error { return fn(ctx, t) })
}

// Close implements store.Store.
func (s *Store) Close() error {
	close(s.closing)
	<-s.closed
	return errors.Join(s.read.Close(), s.write.Close())
}

// Describe implements store.Admin.
func (s *Store) Describe() string { return "sqlite " + s.path }

// Embedded implements store.Admin.
func (s *Store) Embedded() bool { return true }

// NewClient implements store.Admin.
func (s *Store) NewClient(cfg *river.Config) (store.Client, error) {
	c, err := river.NewClient(riversqlite.New(s.write), cfg)
	if err != nil {
		return nil, fmt.Errorf("make the queue's client: %w", err)
	}
	return c, nil
}

// tx is one savepoint of the running transaction.
type tx struct {
	reader
	s      *Store
	sql    *sql.Tx
	scopes map[oxbow.Scope]held
}

var _ store.Tx = (*tx)(nil)

// reader answers from a pool or from inside a transaction.
type reader struct {
	q        querier
	policies *store.Policies
}

func ms(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMilli()
}

func fromMS(v sql.NullInt64) time.Time {
	if !v.Valid {
		return time.Time{}
	}
	return time.UnixMilli(v.Int64).UTC()
}
