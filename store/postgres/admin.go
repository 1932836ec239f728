package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/migrations"
)

func provider(db *sql.DB) (*goose.Provider, error) {
	files, err := fs.Sub(migrations.Postgres, "postgres")
	if err != nil {
		return nil, fmt.Errorf("read the migrations: %w", err)
	}
	p, err := goose.NewProvider(goose.DialectPostgres, db, files)
	if err != nil {
		return nil, fmt.Errorf("read the migrations: %w", err)
	}
	return p, nil
}

// migrateLock is the key of the lock that lets one process of a database
// migrate at a time: the letters "oxbow".
const migrateLock = 0x6f78626f77

// Migrate implements store.Admin. It holds a lock of the session, on a
// connection of its own, for as long as it works. To a user who does not own the
// tables it says whether there is anything to do, which their owner has to.
func (s *Store) Migrate(ctx context.Context) (err error) {
	have, want, err := s.SchemaVersion(ctx)
	if err != nil {
		return err
	}
	owns, err := s.owns(ctx)
	s.guest.Store(!owns)
	if err != nil || !owns && have == want {
		return err
	}
	if !owns && have < want {
		return oxbow.Errorf(oxbow.CodeUnavailable,
			"the database is of version %d, this program's is %d, and this user does not own the tables: run oxbow db migrate as their owner", have, want)
	}
	conn, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig)
	if err != nil {
		return unreachable(ctx, s.pool.Config().ConnConfig, err)
	}
	defer func() { // ends the session, and so the lock
		if e := conn.Close(context.WithoutCancel(ctx)); err == nil {
			err = translate(e, "end the migration")
		}
	}()
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, int64(migrateLock)); err != nil {
		return translate(err, "wait for another migration")
	}
	conf := s.pool.Config()
	conf.ConnConfig.RuntimeParams["oxbow.instance"] = string(migration)
	pool, err := pgxpool.NewWithConfig(ctx, conf)
	if err != nil {
		return unreachable(ctx, conf.ConnConfig, err)
	}
	defer pool.Close()
	return s.migrate(ctx, pool)
}

// migrate works on connections that see the rows of all tenants.
func (s *Store) migrate(ctx context.Context, pool *pgxpool.Pool) error {
	have, want, err := s.SchemaVersion(ctx)
	if err != nil {
		return err
	}
	if have > want {
		return oxbow.Errorf(oxbow.CodeConflict,
			"the database is of version %d and this program knows %d: use a newer oxbow, or another database with --db", have, want)
	}
	if err := s.makeSchema(ctx, pool); err != nil {
		return err
	}
	db := stdlib.OpenDBFromPool(pool)
	defer func() { _ = db.Close() }()
	p, err := provider(db)
	if err != nil {
		return err
	}
	if _, err := p.Up(ctx); err != nil {
		return translate(err, "migrate the database")
	}
	m, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: quiet(), Schema: s.schema})
	if err != nil {
		return fmt.Errorf("migrate the queue: %w", err)
	}
	queue, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil)
	if err != nil {
		return translate(err, "migrate the queue")
	}
	for _, name := range unusedIndexes {
		if _, err := pool.Exec(ctx, `DROP INDEX IF EXISTS `+name); err != nil {
			return translate(err, "migrate the queue")
		}
	}
	made, err := s.migrateIndex(ctx, pool)
	if err != nil {
		return err
	}
	if _, err := pool.Exec(ctx, raiseWalls); err != nil {
		return translate(err, "raise the walls between tenants")
	}
	if made || have < want || len(queue.Versions) > 0 {
		return s.grantAgain(ctx, pool)
	}
	return nil
}

// unusedIndexes are River's for searching jobs by what is in their arguments and
// metadata. Neither River nor Oxbow asks that, and each of the four times that a
// job's row is written they take about as much log as everything else. River
// reads their names in one place only, the list of what it rebuilds (NewClient).
var unusedIndexes = []string{"river_job_args_index", "river_job_metadata_index"}

// makeSchema asks first, because a user who may not make schemas may still use
// one that was made for it.
func (s *Store) makeSchema(ctx context.Context, pool *pgxpool.Pool) error {
	var there bool
	err := pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)`, s.schema).Scan(&there)
	if err == nil && !there {
		_, err = pool.Exec(ctx, `CREATE SCHEMA `+s.schema)
	}
	return translate(err, "make the schema")
}

// DropSchema takes away everything that stands in the store's schema, for good.
// It is for a schema that was made for a while: conflict for the usual one.
func (s *Store) DropSchema(ctx context.Context) error {
	if s.schema == schema {
		return oxbow.Errorf(oxbow.CodeConflict, "the schema %s is where memories are kept; it is not dropped", schema)
	}
	_, err := s.pool.Exec(ctx, `DROP SCHEMA IF EXISTS `+s.schema+` CASCADE`)
	return translate(err, "drop the schema")
}

// SchemaVersion implements store.Admin.
func (s *Store) SchemaVersion(ctx context.Context) (have, want int64, err error) {
	db := stdlib.OpenDBFromPool(s.pool)
	defer func() { _ = db.Close() }()
	p, err := provider(db)
	if err != nil {
		return 0, 0, err
	}
	for _, src := range p.ListSources() {
		want = max(want, src.Version)
	}
	err = s.pool.QueryRow(ctx, `SELECT coalesce(max(version_id), 0) FROM `+s.schema+`.goose_db_version`).Scan(&have)
	if err != nil && isNoTable(err) {
		return 0, want, nil
	}
	return have, want, translate(err, "read the database's version")
}

// checks find what the tables' own rules do not forbid, and what the server
// knows of its own state; each gives one line a finding.
var checks = []string{
	`SELECT 'memory ' || m.id || ': its content is missing' FROM memories m
		WHERE m.status <> 'erased' AND NOT EXISTS (SELECT FROM contents c WHERE c.id = m.content_id)`,
	`SELECT 'event ' || e.seq || ': its memory ' || e.memory || ' is missing' FROM memory_events e
		WHERE NOT EXISTS (SELECT FROM memories m WHERE m.seq = e.memory_seq AND m.id = e.memory)`,
	`SELECT 'memory ' || m.id || ': it has no events' FROM memories m
		WHERE NOT EXISTS (SELECT FROM memory_events e WHERE e.memory_seq = m.seq)`,
	`SELECT 'memory ' || m.id || ': it is erased and its content is still there' FROM memories m
		WHERE m.status = 'erased' AND EXISTS (SELECT FROM contents c WHERE c.owner = m.id)`,
	`SELECT 'turn ' || t.id || ': its text is missing' FROM turns t
		WHERE t.state <> 'erased' AND NOT EXISTS (SELECT FROM contents c WHERE c.id = t.content_id)`,
	`SELECT 'link ' || l.from_id || ' ' || l.type || ' ' || l.to_id || ': one end is missing' FROM links l
		WHERE NOT EXISTS (SELECT FROM memories m WHERE m.id = l.from_id) OR NOT EXISTS (SELECT FROM memories m WHERE m.id = l.to_id)`,
	`SELECT 'memory ' || m.id || ': it is erased and a vector of it is still there' FROM vectors v JOIN memories m ON m.seq = v.memory
		WHERE v.dimensions > 0 AND m.status = 'erased'`,
	`SELECT 'memory ' || m.id || ': its vector by ' || v.embedder || ' has ' || octet_length(v.vector) || ' bytes for ' || v.dimensions || ' dimensions'
		FROM vectors v JOIN memories m ON m.seq = v.memory
		WHERE octet_length(v.vector) <> 4 * v.dimensions AND (octet_length(v.vector) % 6 <> 0 OR octet_length(v.vector) > 4 * v.dimensions)`,
	`SELECT 'memory ' || m.id || ': it is erased and still in the graph' FROM graph_mentions x JOIN memories m ON m.seq = x.memory
		WHERE m.status = 'erased'`,
	`SELECT 'graph node ' || n.id || ': the memories that name it were counted wrong' FROM graph_nodes n
		WHERE n.mentions <> (SELECT count(DISTINCT x.memory) FROM graph_mentions x WHERE x.node = n.seq)`,
	`SELECT 'graph edge from ' || coalesce(a.id, 'nowhere') || ' to ' || coalesce(b.id, 'nowhere') ||
			': an end is missing, or the memories that say it were counted wrong'
		FROM graph_edges e LEFT JOIN graph_nodes a ON a.seq = e.from_node LEFT JOIN graph_nodes b ON b.seq = e.to_node
		WHERE a.seq IS NULL OR b.seq IS NULL OR e.mentions <> (SELECT count(*) FROM graph_edge_mentions x WHERE x.edge = e.seq)`,
	`SELECT 'index ' || c.relname || ': it is not valid; rebuild it with REINDEX'
		FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = current_schema() AND NOT i.indisvalid`,
	`SELECT 'database: ' || d.checksum_failures || ' of its pages did not have their checksum' FROM pg_stat_database d
		WHERE d.datname = current_database() AND d.checksum_failures > 0`,
}

// Check implements store.Admin.
//
// Limit: it does not read every page, as SQLite's check does; pg_amcheck and
// pg_checksums do, and are the server's operator's to run.
func (s *Store) Check(ctx context.Context) ([]string, error) {
	var found []string
	queries := checks
	if s.index.there() {
		queries = append(slices.Clone(checks), indexCheck)
	}
	for _, query := range queries {
		more, err := collect(ctx, s.across(check), "check the tables", scanString, query+` LIMIT 100`)
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
	return found, nil
}

// Vacuum implements store.Admin. An ordinary VACUUM gives the room of erased
// rows back and may leave their bytes in it, so the tables that hold words
// are rewritten, which locks them for that long.
//
// Limit: it reaches the database's own files only. Erased content is still in
// the write-ahead log until it is recycled, in archives of that log, in
// replicas until they follow, and in backups until they are thrown away; and
// what the file system does with the old file is not ours to say.
func (s *Store) Vacuum(ctx context.Context) error {
	owns, err := s.owns(ctx) // to others the server only gives a warning
	if err != nil {
		return err
	}
	if !owns {
		return oxbow.Errorf(oxbow.CodeUnsupported,
			"what was erased may stand in the server's files until the owner of the tables runs: oxbow db vacuum")
	}
	statements := []string{`VACUUM (FULL) contents, llm_answers, vectors`,
		`VACUUM (FULL) graph_nodes, graph_mentions, graph_aliases, graph_same, graph_edges, graph_vectors`, `VACUUM memory_terms, memory_events`}
	if s.index.there() {
		statements = append(statements, `VACUUM (FULL) vector_index`)
	}
	for _, stmt := range statements {
		if _, err := s.pool.Exec(ctx, stmt); err != nil {
			return translate(err, "rewrite the tables")
		}
	}
	return nil
}

func isNoTable(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (e.Code == undefinedTable || e.Code == invalidSchema)
}
