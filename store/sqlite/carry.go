package sqlite

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// Snapshot implements store.Store: a transaction that only reads sees the file
// as it was at its first read.
func (s *Store) Snapshot(ctx context.Context, fn func(context.Context, store.Reader) error) error {
	sqlTx, err := s.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return translate(err, "begin to read")
	}
	defer func() { _ = sqlTx.Rollback() }()
	return fn(ctx, reader{q: direct{sqlTx}, policies: s.policies})
}

// each calls yield with every row of a query.
func each[T any](ctx context.Context, q querier, doing string, scan func(*sql.Rows) (T, error), yield func(T) error, query string, args ...any) error {
	rows, err := q.query(ctx, query, args...)
	if err != nil {
		return translate(err, doing)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return translate(err, doing)
		}
		if err := yield(v); err != nil {
			return err
		}
	}
	return translate(rows.Err(), doing)
}

// dumpEvents finds the numbers of a scope's events by its memories, because the
// log has no index by scope, and reads them in their order.
const dumpEvents = `
	SELECT e.seq, s.tenant, s.name, e.memory, e.version, e.type, e.before, e.after, e.links, e.unlinks, e.reason, e.actor,
		e.judge, e.run, e.at, e.recorded_at, m.created_at, m.access_count, m.last_used_at, coalesce(c.salt, ''), coalesce(c.body, '')
	FROM memory_events e CROSS JOIN scopes s ON s.seq = e.scope CROSS JOIN memories m ON m.seq = e.memory_seq
		LEFT JOIN contents c ON c.id = json_extract(e.after, '$.content_id')
	WHERE e.seq IN (SELECT x.seq FROM memories y CROSS JOIN memory_events x ON x.memory_seq = y.seq WHERE y.scope = ?)
	ORDER BY e.seq`

// DumpEvents implements store.Dumper.
func (r reader) DumpEvents(ctx context.Context, s oxbow.Scope, yield func(store.Told) error) error {
	seq, err := r.scopeSeq(ctx, s)
	if err != nil {
		return err
	}
	return each(ctx, r.q, "read the log", func(rows *sql.Rows) (t store.Told, err error) {
		var created int64
		var used sql.NullInt64
		var salt, body string
		if t.Event, err = scanEventWith(rows, &created, &t.AccessCount, &used, &salt, &body); err != nil {
			return t, err
		}
		t.CreatedAt, t.LastUsedAt = time.UnixMilli(created), fromMS(used)
		return store.ReadTold(t, salt, body)
	}, yield, dumpEvents, seq)
}

const dumpMemories = selectMemory + `
	WHERE m.scope = ?1 AND (?2 = '' OR (m.said_at, m.id) > (SELECT said_at, id FROM memories WHERE id = ?2))
	ORDER BY m.said_at, m.id LIMIT ?3`

// DumpMemories implements store.Dumper.
func (r reader) DumpMemories(ctx context.Context, s oxbow.Scope, after string, limit int) ([]oxbow.Memory, error) {
	seq, err := r.scopeSeq(ctx, s)
	if err != nil {
		return nil, err
	}
	return collect(ctx, r.q, "read memories", scanMemory, dumpMemories, seq, after, limit)
}

const dumpRuns = selectRun + ` WHERE r.scope = ? ORDER BY r.name, r.about, r.id`

// DumpRuns implements store.Dumper.
func (r reader) DumpRuns(ctx context.Context, s oxbow.Scope, yield func(oxbow.Run) error) error {
	seq, err := r.scopeSeq(ctx, s)
	if err != nil {
		return err
	}
	return each(ctx, r.q, "read runs", scanRun, yield, dumpRuns, seq)
}

const dumpJobs = selectJob + `
	WHERE state IN ('available', 'pending', 'retryable', 'running', 'scheduled') AND json_extract(args, '$.tenant') = ? ORDER BY id`

// DumpJobs implements store.Dumper.
func (r reader) DumpJobs(ctx context.Context, tenant string, yield func(store.Job) error) error {
	return each(ctx, r.q, "read jobs", scanJob, yield, dumpJobs, tenant)
}

const turnsOf = selectTurn + ` WHERE s.tenant = ? AND t.id IN (SELECT value FROM json_each(?)) ORDER BY t.id`

// TurnsOf implements store.Dumper.
func (r reader) TurnsOf(ctx context.Context, tenant string, ids []string) ([]oxbow.Turn, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return collect(ctx, r.q, "read turns", scanTurn, turnsOf, tenant, jsonList(ids))
}

const (
	readsOf = `
		SELECT m.id, m.content_version, g.grapher
		FROM json_each(?1) j CROSS JOIN memories m ON m.id = j.value CROSS JOIN graph_read g ON g.memory = m.seq
		WHERE m.scope = ?2 ORDER BY 1`
	namesOf = `
		SELECT m.id, x.alias, x.name, x.type, x.description, 1 AS own
		FROM json_each(?1) j CROSS JOIN memories m ON m.id = j.value CROSS JOIN graph_mentions x ON x.memory = m.seq
		WHERE m.scope = ?2
		UNION ALL
		SELECT m.id, x.alias, x.name, '', '', 0
		FROM json_each(?1) j CROSS JOIN memories m ON m.id = j.value CROSS JOIN graph_same x ON x.memory = m.seq
		WHERE m.scope = ?2 ORDER BY 1, 6 DESC, 3`
	edgesOf = `
		SELECT m.id, e.from_alias, e.to_alias, e.type
		FROM json_each(?1) j CROSS JOIN memories m ON m.id = j.value CROSS JOIN graph_edge_mentions x ON x.memory = m.seq
			CROSS JOIN graph_edges e ON e.seq = x.edge
		WHERE m.scope = ?2 ORDER BY 1, 4`
)

// GraphOf implements store.Dumper.
func (r reader) GraphOf(ctx context.Context, s oxbow.Scope, ids []string) ([]store.GraphPart, error) {
	seq, err := r.scopeSeq(ctx, s)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	list := jsonList(ids)
	reads, err := collect(ctx, r.q, "read the graph", func(rows *sql.Rows) (p store.GraphPart, err error) {
		err = rows.Scan(&p.Memory, &p.ContentVersion, &p.Grapher)
		return p, err
	}, readsOf, list, seq)
	if err != nil || len(reads) == 0 {
		return nil, err
	}
	names, err := collect(ctx, r.q, "read the graph", func(rows *sql.Rows) (n store.Mentioned, err error) {
		err = rows.Scan(&n.Memory, &n.Node, &n.Name, &n.Type, &n.Description, &n.Own)
		return n, err
	}, namesOf, list, seq)
	if err != nil {
		return nil, err
	}
	edges, err := collect(ctx, r.q, "read the graph", func(rows *sql.Rows) (e store.Related, err error) {
		err = rows.Scan(&e.Memory, &e.From, &e.To, &e.Type)
		return e, err
	}, edgesOf, list, seq)
	return store.GatherGraph(reads, names, edges), err
}

const embeddersOf = `SELECT DISTINCT embedder FROM vectors WHERE scope = ? AND dimensions > 0 ORDER BY embedder`

// EmbeddersOf implements store.Dumper.
func (r reader) EmbeddersOf(ctx context.Context, s oxbow.Scope) ([]string, error) {
	seq, err := r.scopeSeq(ctx, s)
	if err != nil {
		return nil, err
	}
	return collect(ctx, r.q, "look for embedders", scanString, embeddersOf, seq)
}

const loadScope = `
	INSERT INTO scopes (tenant, name, zone, policy, version, memories, terms, created_at, updated_at)
	VALUES (?1, ?2, ?3, ?4, ?5, 0, 0, ?6, ?7)
	ON CONFLICT (tenant, name) DO UPDATE SET zone = excluded.zone, policy = excluded.policy, version = excluded.version,
		created_at = excluded.created_at, updated_at = excluded.updated_at
	WHERE scopes.version = 1 AND NOT EXISTS (SELECT 1 FROM memories m WHERE m.scope = scopes.seq)`

// LoadScope implements store.Loader.
func (t *tx) LoadScope(ctx context.Context, s oxbow.ScopeSettings) (oxbow.ScopeSettings, error) {
	if err := s.Scope.Validate(); err != nil {
		return s, err
	}
	delete(t.scopes, s.Scope)
	if _, err := t.q.exec(ctx, loadScope, s.Tenant, s.Name, s.Zone, store.JSON(s.Policy), s.Version,
		s.CreatedAt.UnixMilli(), s.UpdatedAt.UnixMilli()); err != nil {
		return s, translate(err, "make the scope")
	}
	return t.Scope(ctx, s.Scope)
}

const loadRun = `
	INSERT INTO runs (id, scope, name, trigger, status, about, started_at, finished_at, counts, changed, cursor, note)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`

// LoadRuns implements store.Loader.
func (t *tx) LoadRuns(ctx context.Context, rs []oxbow.Run) (int, error) {
	n := 0
	for _, run := range rs {
		seq, err := t.knownScope(ctx, run.Scope)
		if err != nil {
			return n, err
		}
		made, err := t.did(ctx, "store a run", loadRun, run.ID, seq, run.Name, run.Trigger, run.Status, run.About.UnixMilli(), run.StartedAt.UnixMilli(),
			ms(run.FinishedAt), store.CountsJSON(run.Counts), store.Changed(run.Counts), run.Cursor, run.Note)
		if err != nil {
			return n, err
		}
		if made {
			n++
		}
	}
	return n, nil
}

// LoadEvents implements store.Loader.
func (t *tx) LoadEvents(ctx context.Context, s oxbow.Scope, told []store.Told, now time.Time) (store.Loaded, error) {
	policy, err := t.policyOf(ctx, store.Batch{Scope: s, RecordedAt: now})
	if err != nil {
		return store.Loaded{}, err
	}
	seq, err := t.scopeSeq(ctx, s)
	if err != nil {
		return store.Loaded{}, err
	}
	base, err := t.loadBase(ctx, s, seq, told)
	if err != nil {
		return store.Loaded{}, err
	}
	base.Policy = policy
	plan, done, erased := store.NewLoad(base, told)
	for _, write := range []func(context.Context, int64, *store.Plan) error{
		t.writeContents, t.updateRows, t.insertRows, t.writeTerms, t.writeEvents, t.writeLinks,
	} {
		if err := write(ctx, seq, plan); err != nil {
			return store.Loaded{}, err
		}
	}
	return done, t.eraseWords(ctx, s, seq, erased)
}

// eraseWords takes the contents of memories away whose terms are gone already.
func (t *tx) eraseWords(ctx context.Context, s oxbow.Scope, scope int64, ids []string) error {
	for _, id := range ids {
		if _, err := t.q.exec(ctx, deleteContents, id, scope); err != nil {
			return translate(err, "erase the content")
		}
		if _, err := t.q.exec(ctx, eraseLLMAnswers, id, s.Tenant); err != nil {
			return translate(err, "erase kept answers")
		}
	}
	return nil
}

const (
	standsWhere = `SELECT id, scope = ?2 FROM memories WHERE id IN (SELECT value FROM json_each(?1))`
	holdersOf   = `
		SELECT m.slot, m.key, m.id FROM json_each(?2) j CROSS JOIN memories m ON m.key = j.value
		WHERE m.scope = ?1 AND m.status = 'active' AND m.key <> '' AND m.slot IN (SELECT value FROM json_each(?3))`
)

// loadBase reads what is here of what told events name.
func (t *tx) loadBase(ctx context.Context, s oxbow.Scope, seq int64, told []store.Told) (store.LoadBase, error) {
	base := store.LoadBase{Scope: s, Here: map[string]bool{}, Taken: map[string]bool{}, Holders: map[store.Address]string{}}
	about, ends := store.LoadIDs(told)
	var err error
	if base.Rows, err = t.lockMemories(ctx, s, about, lockedMemories); err != nil {
		return base, err
	}
	if again := store.LoadAgain(told, base.Rows); len(again) > 0 {
		if base.Had, err = t.EventsOf(ctx, s.Tenant, again); err != nil {
			return base, err
		}
	}
	if _, err = collect(ctx, t.q, "look memories up", func(rows *sql.Rows) (struct{}, error) {
		var id string
		var here bool
		err := rows.Scan(&id, &here)
		if here {
			base.Here[id] = true
		} else if _, found := slices.BinarySearch(about, id); found {
			base.Taken[id] = true
		}
		return struct{}{}, err
	}, standsWhere, jsonList(ends), seq); err != nil {
		return base, err
	}
	slots, keys := store.LoadAddresses(told, base.Rows)
	if len(keys) == 0 {
		return base, nil
	}
	_, err = collect(ctx, t.q, "look addresses up", func(rows *sql.Rows) (struct{}, error) {
		var a store.Address
		var id string
		err := rows.Scan(&a.Slot, &a.Key, &id)
		base.Holders[a] = id
		return struct{}{}, err
	}, holdersOf, seq, jsonList(keys), jsonList(slots))
	return base, err
}

// LoadUses implements store.Loader.
func (t *tx) LoadUses(ctx context.Context, s oxbow.Scope, uses []store.Uses) (int, error) {
	policy, err := t.policyOf(ctx, store.Batch{Scope: s})
	if err != nil {
		return 0, err
	}
	rows, err := t.lockMemories(ctx, s, store.UsedIDs(uses), lockedBare)
	if err != nil {
		return 0, err
	}
	raised := store.RaiseUses(policy, rows, uses)
	for _, m := range raised {
		args := append([]any{m.AccessCount, ms(m.LastUsedAt)}, derivedArgs(m)...)
		if _, err := t.q.exec(ctx, updateUse, append(args, m.ID)...); err != nil {
			return 0, translate(err, "count uses")
		}
	}
	return len(raised), nil
}
