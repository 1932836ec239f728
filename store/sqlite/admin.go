package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/migrations"
)

func (s *Store) provider() (*goose.Provider, error) {
	files, err := fs.Sub(migrations.SQLite, "sqlite")
	if err != nil {
		return nil, fmt.Errorf("read the migrations: %w", err)
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, s.write, files)
	if err != nil {
		return nil, fmt.Errorf("read the migrations: %w", err)
	}
	return p, nil
}

// migrateAttempts bounds how often a step that another process took first is
// looked at again.
const migrateAttempts = 5

// Migrate implements store.Admin. Two processes may start at once: each step is
// one transaction that takes the write lock first, and the one that comes
// second finds the step done.
func (s *Store) Migrate(ctx context.Context) error {
	var err error
	for range migrateAttempts {
		have, want, e := s.SchemaVersion(ctx)
		if e == nil && have > want {
			return oxbow.Errorf(oxbow.CodeConflict,
				"the database is of version %d and this program knows %d: use a newer oxbow, or another database with --db", have, want)
		}
		// A step that another process did meanwhile is a conflict too, and is tried
		// again.
		if err = e; err == nil {
			err = s.migrate(ctx)
		}
		if err == nil {
			return nil
		}
	}
	return err
}

func (s *Store) migrate(ctx context.Context) error {
	p, err := s.provider()
	if err != nil {
		return err
	}
	if _, err := p.Up(ctx); err != nil {
		return translate(err, "migrate the database")
	}
	m, err := rivermigrate.New(riversqlite.New(s.write), &rivermigrate.Config{Logger: quiet()})
	if err != nil {
		return fmt.Errorf("migrate the queue: %w", err)
	}
	if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return translate(err, "migrate the queue")
	}
	return nil
}

// SchemaVersion implements store.Admin.
func (s *Store) SchemaVersion(ctx context.Context) (have, want int64, err error) {
	p, err := s.provider()
	if err != nil {
		return 0, 0, err
	}
	for _, src := range p.ListSources() {
		want = max(want, src.Version)
	}
	err = s.read.QueryRowContext(ctx, `SELECT coalesce(max(version_id), 0) FROM goose_db_version`).Scan(&have)
	if err != nil && isNoTable(err) {
		return 0, want, nil
	}
	return have, want, translate(err, "read the database's version")
}

// checks find what the tables' own rules do not forbid; each gives one line a
// finding.
var checks = []string{
	`SELECT 'memory ' || m.id || ': its content is missing' FROM memories m
		WHERE m.status <> 'erased' AND NOT EXISTS (SELECT 1 FROM contents c WHERE c.id = m.content_id)`,
	`SELECT 'event ' || e.seq || ': its memory ' || e.memory || ' is missing' FROM memory_events e
		WHERE NOT EXISTS (SELECT 1 FROM memories m WHERE m.seq = e.memory_seq AND m.id = e.memory)`,
	`SELECT 'memory ' || m.id || ': it has no events' FROM memories m
		WHERE NOT EXISTS (SELECT 1 FROM memory_events e WHERE e.memory_seq = m.seq)`,
	`SELECT 'memory ' || m.id || ': it is erased and its content is still there' FROM memories m
		WHERE m.status = 'erased' AND EXISTS (SELECT 1 FROM contents c WHERE c.owner = m.id)`,
	`SELECT 'turn ' || t.id || ': its text is missing' FROM turns t
		WHERE t.state <> 'erased' AND NOT EXISTS (SELECT 1 FROM contents c WHERE c.id = t.content_id)`,
	`SELECT 'link ' || l.from_id || ' ' || l.type || ' ' || l.to_id || ': one end is missing' FROM links l
		WHERE NOT EXISTS (SELECT 1 FROM memories m WHERE m.id = l.from_id) OR NOT EXISTS (SELECT 1 FROM memories m WHERE m.id = l.to_id)`,
	`SELECT 'memory ' || m.id || ': it is erased and a vector of it is still there' FROM vectors v JOIN memories m ON m.seq = v.memory
		WHERE v.dimensions > 0 AND m.status = 'erased'`,
	`SELECT 'memory ' || m.id || ': its vector by ' || v.embedder || ' has ' || length(v.vector) || ' bytes for ' || v.dimensions || ' dimensions'
		FROM vectors v JOIN memories m ON m.seq = v.memory
		WHERE length(v.vector) <> 4 * v.dimensions AND (length(v.vector) % 6 <> 0 OR length(v.vector) > 4 * v.dimensions)`,
	`SELECT 'memory ' || m.id || ': it is erased and still in the graph' FROM graph_mentions x JOIN memories m ON m.seq = x.memory
		WHERE m.status = 'erased'`,
	`SELECT 'graph node ' || n.id || ': the memories that name it were counted wrong' FROM graph_nodes n
		WHERE n.mentions <> (SELECT count(DISTINCT x.memory) FROM graph_mentions x WHERE x.node = n.seq)`,
	`SELECT 'graph edge from ' || coalesce(a.id, 'nowhere') || ' to ' || coalesce(b.id, 'nowhere') ||
			': an end is missing, or the memories that say it were counted wrong'
		FROM graph_edges e LEFT JOIN graph_nodes a ON a.seq = e.from_node LEFT JOIN graph_nodes b ON b.seq = e.to_node
		WHERE a.seq IS NULL OR b.seq IS NULL OR e.mentions <> (SELECT count(*) FROM graph_edge_mentions x WHERE x.edge = e.seq)`,
	`SELECT 'job ' || id || ': its arguments are not JSON' FROM river_job WHERE NOT json_valid(json(args))`,
}

// Check implements store.Admin.
func (s *Store) Check(ctx context.Context) ([]string, error) {
	found, err := collect(ctx, s.q, "check the file", scanString, `PRAGMA integrity_check(20)`)
	if err != nil {
		return nil, err
	}
	if len(found) == 1 && found[0] == "ok" {
		found = nil
	}
	for _, query := range checks {
		more, err := collect(ctx, s.q, "check the tables", scanString, query+` LIMIT 100`)
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
	return found, nil
}

// Vacuum implements store.Admin. secure_delete has overwritten erased content
// in the file already; this rewrites it and empties the log beside it.
func (s *Store) Vacuum(ctx context.Context) error {
	if _, err := s.write.ExecContext(ctx, `VACUUM`); err != nil {
		return translate(err, "rewrite the file")
	}
	var busy, pages, moved int
	if err := s.write.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &pages, &moved); err != nil {
		return translate(err, "empty the log beside the file")
	}
	if busy != 0 {
		return oxbow.Errorf(oxbow.CodeUnavailable,
			"the log beside the database could not be emptied, because another process is reading: what was erased may stand there until you repeat this")
	}
	return nil
}

func isNoTable(err error) bool {
	return errors.Is(err, sql.ErrNoRows) || strings.Contains(err.Error(), "no such table")
}
