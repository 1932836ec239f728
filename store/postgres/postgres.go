// Package postgres keeps Oxbow's store in a Postgres database, for as many
// machines as there are workers.
//
// It mirrors store/sqlite file by file and function by function; what differs
// is only what the databases make differ. Three things are worth knowing before
// reading on. Everything, River's tables too, stands in the schema oxbow, which
// every connection has as its search_path. Transactions are READ COMMITTED and
// take locks in one order, the scope first and then memories by id; those that
// meet all the same are run again (commit.go). And statements
// go to the server together, with the next one whose answer is needed or with
// the commit, because a round trip costs more than most of them (pipe.go).
//
// What a statement may see is said where it is asked: r.of(tenant), r.in(scope),
// r.across(reason) or r.plain() for tables of no tenant, and t.of and t.in before
// what a transaction writes. Row-level security, which migration 00012 raises around
// every table, shows and takes nothing else (sight.go, wall.go).
//
// Limit: the search_path is set when a connection starts and statements are
// prepared on it, so a pooler between the two must work by session.
//
// Only cmd and tests may import it; everything else knows package store.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// schema holds every table, River's too, where Config names no other.
const schema = "oxbow"

// schemaForm is what a schema may be called here: it needs no quotes.
var schemaForm = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)

// notifyEvery is the shortest time between two signals to the workers of a
// queue.
const notifyEvery = 10 * time.Millisecond

// connectTimeout bounds one try to connect, when the URL does not say.
const connectTimeout = 10 * time.Second

// pingTimeout bounds the look at a connection that was idle, before it is used: one
// whose server went away without a word would hold whoever asks for ever.
const pingTimeout = 3 * time.Second

// Config says which database to open.
type Config struct {
	// URL is a connection string such as postgres://user:password@host:5432/db.
	URL string
	// MaxConns bounds the connections of this process. A worker needs two at
	// least, because the queue listens on one. Defaults to 16.
	MaxConns int
	// Schema holds every table: lower-case letters, digits and _. A second one
	// beside the first is a database of its own. Defaults to oxbow.
	Schema string
}

// Store is one open database.
type Store struct {
	reader
	pool   *pgxpool.Pool
	schema string
	river  *river.Client[pgx.Tx] // inserts only
	known  *store.Scopes
	guest  atomic.Bool // the user does not own the tables
}

var _ store.Store = (*Store)(nil)

// Open connects to the database. It does not migrate. Its errors are invalid
// for a URL that cannot be read and unavailable for a server that cannot be
// reached; neither shows the password.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	conf, err := pgxpool.ParseConfig(cfg.URL)
	if err != nil { // the cause would show the URL
		return nil, oxbow.Errorf(oxbow.CodeInvalid, "the database URL cannot be read; write postgres://user:password@host:5432/database")
	}
	if cfg.MaxConns <= 0 {
		cfg.MaxConns = 16
	}
	if cfg.Schema == "" {
		cfg.Schema = schema
	}
	if !schemaForm.MatchString(cfg.Schema) {
		return nil, oxbow.Errorf(oxbow.CodeInvalid, "%q is no name for a schema: use up to 63 lower-case letters, digits and _", cfg.Schema)
	}
	conf.MaxConns = int32(min(cfg.MaxConns, 1000))
	conf.ConnConfig.RuntimeParams["search_path"] = cfg.Schema
	// A plan is kept for as long as its connection, and the one that was made
	// while a table was small reads the whole table long after, until the server
	// has counted it anew. What is asked often here has an index.
	conf.ConnConfig.RuntimeParams["enable_seqscan"] = "off"
	// Row-level security makes planning dearer than most statements here are: with
	// a plan kept from the first time on, a write-time job takes two thirds.
	conf.ConnConfig.RuntimeParams["plan_cache_mode"] = "force_generic_plan"
	// The price that this puts on reading a whole table, where nothing else is
	// possible, makes the server compile the plan: 14 ms for a worker's sign of life,
	// which takes a tenth of one.
	conf.ConnConfig.RuntimeParams["jit"] = "off"
	if conf.ConnConfig.RuntimeParams["application_name"] == "" {
		conf.ConnConfig.RuntimeParams["application_name"] = "oxbow"
	}
	if conf.ConnConfig.ConnectTimeout == 0 {
		conf.ConnConfig.ConnectTimeout = connectTimeout
	}
	if conf.PingTimeout == 0 {
		conf.PingTimeout = pingTimeout
	}
	// Whoever answers after connections were lost may be a standby that had not
	// heard of the newest scopes.
	known := &store.Scopes{}
	conf.AfterConnect = func(context.Context, *pgx.Conn) error {
		known.Forget()
		return nil
	}
	pool, err := pgxpool.NewWithConfig(ctx, conf)
	if err != nil {
		return nil, unreachable(ctx, conf.ConnConfig, err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, unreachable(ctx, conf.ConnConfig, err)
	}
	index := &vectorIndex{}
	if err := index.look(ctx, pool, cfg.Schema); err != nil {
		pool.Close()
		return nil, err
	}
	s := &Store{reader: reader{sights: pooled{pool}, known: known, index: index}, pool: pool, schema: cfg.Schema, known: known}
	// River tells workers of an insert at most once per FetchCooldown; a job
	// that falls into the gap waits for the next poll. Shorter is dearer here: a
	// transaction that notifies holds a lock of the whole server until its
	// commit is on the disk, and a worker fetches no more often anyway.
	s.river, err = river.NewClient(riverpgxv5.New(pool),
		&river.Config{Logger: quiet(), Schema: s.schema, FetchCooldown: notifyEvery, Middleware: []rivertype.Middleware{store.NamesSpan()}})
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("make the queue's client: %w", err)
	}
	return s, nil
}

// unreachable says why there is no connection, without the driver's words,
// which repeat themselves for each address that was tried.
func unreachable(ctx context.Context, c *pgx.ConnConfig, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	reason := "it does not answer"
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		reason = e.Message
	} else if e, ok := errors.AsType[*net.OpError](err); ok {
		reason = e.Err.Error()
	}
	return oxbow.Errorf(oxbow.CodeUnavailable, "cannot reach Postgres at %s: %s; check the URL and that the server runs", address(c), reason)
}

// address gives host:port/database, nothing of which is secret.
func address(c *pgx.ConnConfig) string {
	return net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port))) + "/" + c.Database
}

// InTx implements store.Store.
func (s *Store) InTx(ctx context.Context, fn func(context.Context, store.Tx) error) error {
	return s.submit(ctx, func(ctx context.Context, t *tx) error { return fn(ctx, t) })
}

// Close implements store.Store.
func (s *Store) Close() error {
	s.pool.Close()
	return nil
}

// Describe implements store.Admin.
func (s *Store) Describe() string { return "postgres " + address(s.pool.Config().ConnConfig) }

// Embedded implements store.Admin.
func (s *Store) Embedded() bool { return false }

// NewClient implements store.Admin.
func (s *Store) NewClient(cfg *river.Config) (store.Client, error) {
	own := *cfg
	own.Schema = s.schema
	if own.ReindexerIndexNames == nil {
		own.ReindexerIndexNames = slices.DeleteFunc(river.ReindexerIndexNamesDefault(), func(name string) bool {
			return slices.Contains(unusedIndexes, name)
		})
	}
	if s.guest.Load() { // only an owner may rebuild an index
		own.ReindexerIndexNames = []string{}
	}
	c, err := river.NewClient(riverpgxv5.New(s.pool), &own)
	if err != nil {
		return nil, fmt.Errorf("make the queue's client: %w", err)
	}
	return c, nil
}

// tx is one open transaction.
type tx struct {
	reader
	s       *Store
	pipe    *pipe
	assume  bool // take what mostly holds for granted, and have the server refuse when it does not
	scopes  map[oxbow.Scope]held
	claimed map[string]bool // keys that were taken for new
}

var _ store.Tx = (*tx)(nil)

// reader answers from the pool or from inside a transaction.
type reader struct {
	sights
	known *store.Scopes
	index *vectorIndex
}

// ts gives a time as it is stored: whole milliseconds, because SQLite keeps no
// more and both must answer alike.
func ts(t time.Time) time.Time { return time.UnixMilli(t.UnixMilli()).UTC() }

// orNull is ts for a column that may be empty.
func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	v := ts(t)
	return &v
}

func fromNull(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

// since gives a bound that is before everything when t is zero.
func since(t time.Time) pgtype.Timestamptz {
	if t.IsZero() {
		return pgtype.Timestamptz{InfinityModifier: pgtype.NegativeInfinity, Valid: true}
	}
	return pgtype.Timestamptz{Time: ts(t), Valid: true}
}
