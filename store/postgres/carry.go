package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// Snapshot implements store.Store: a transaction that only reads and whose
// statements all see what was committed at the first.
func (s *Store) Snapshot(ctx context.Context, fn func(context.Context, store.Reader) error) error {
	pgTx, err := s.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return translate(err, "begin to read")
	}
	defer func() { _ = pgTx.Rollback(context.WithoutCancel(ctx)) }()
	return fn(ctx, reader{sights: pooled{pgTx}, known: s.known, index: s.index})
}

// each calls yield with every row of a query.
func each[T any](ctx context.Context, q querier, doing string, scan func(pgx.Rows) (T, error), yield func(T) error, query string, args ...any) error {
	rows, err := q.Query(ctx, query, args...)
	if err != nil {
		return translate(err, doing)
	}
	defer rows.Close()
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

// dumpEvents finds a scope's events by its memories, because the log has no
// index by scope.
const dumpEvents = `
	SELECT e.seq, s.tenant, s.name, e.memory, e.version, e.type, e.before, e.after, e.links, e.unlinks, e.reason, e.actor,
		e.judge, e.run, e.at, e.recorded_at, m.created_at, m.access_count, m.last_used_at, coalesce(c.salt, ''), coalesce(c.body, '')
	FROM memories m JOIN memory_events e ON e.memory_seq = m.seq JOIN scopes s ON s.seq = e.scope
		LEFT JOIN contents c ON c.id = e.after::json ->> 'content_id'
	WHERE m.scope = $1 ORDER BY e.seq`

// DumpEvents implements store.Dumper.
func (r reader) DumpEvents(ctx context.Context, s oxbow.Scope, yield func(store.Told) error) error {
	seq, err := r.scopeSeq(ctx, s)
	if err != nil {
		return err
	}
	return each(ctx, r.in(s), "read the log", func(rows pgx.Rows) (t store.Told, err error) {
		var used *time.Time
		var salt, body string
		if t.Event, err = scanEventWith(rows, &t.CreatedAt, &t.AccessCount, &used, &salt, &body); err != nil {
			return t, err
		}
		t.LastUsedAt = fromNull(used)
		return store.ReadTold(t, salt, body)
	}, yield, dumpEvents, seq)
}

const dumpMemories = selectMemory + `
	WHERE m.scope = $1 AND ($2 = '' OR (m.said_at, m.id) > (SELECT said_at, id FROM memories WHERE id = $2))
	ORDER BY m.said_at, m.id LIMIT $3`

// DumpMemories implements store.Dumper.
func (r reader) DumpMemories(ctx context.Context, s oxbow.Scope, after string, limit int) ([]oxbow.Memory, error) {
	seq, err := r.scopeSeq(ctx, s)
	if err != nil {
		return nil, err
	}
	return collect(ctx, r.in(s), "read memories", scanMemory, dumpMemories, seq, after, limit)
}

const dumpRuns = selectRun + ` WHERE r.scope = $1 ORDER BY r.name, r.about, r.id`

// DumpRuns implements store.Dumper.
func (r reader) DumpRuns(ctx context.Context, s oxbow.Scope, yield func(oxbow.Run) error) error {
	seq, err := r.scopeSeq(ctx, s)
	if err != nil {
		return err
	}
	return each(ctx, r.in(s), "read runs", scanRun, yield, dumpRuns, seq)
}

const dumpJobs = selectJob + `
	WHERE state IN ('available', 'pending', 'retryable', 'running', 'scheduled') AND args ->> 'tenant' = $1 ORDER BY id`

// DumpJobs implements store.Dumper.
func (r reader) DumpJobs(ctx context.Context, tenant string, yield func(store.Job) error) error {
	return each(ctx, r.plain(), "read jobs", scanJob, yield, dumpJobs, tenant)
}

const turnsOf = selectTurn + ` WHERE s.tenant = $1 AND t.id = ANY($2) ORDER BY t.id`

// TurnsOf implements store.Dumper.
func (r reader) TurnsOf(ctx context.Context, tenant string, ids []string) ([]oxbow.Turn, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return collect(ctx, r.of(tenant), "read turns", scanTurn, turnsOf, tenant, ids)
}

const (
	readsOf = `
		SELECT m.id, m.content_version, g.grapher
		FROM memories m JOIN graph_read g ON g.memory = m.seq WHERE m.id = ANY($1) AND greatest(m.scope, m.scope) = $2 ORDER BY 1`
	namesOf = `
		SELECT m.id, x.alias, x.name, x.type, x.description, true AS own
		FROM memories m JOIN graph_mentions x ON x.memory = m.seq WHERE m.id = ANY($1) AND greatest(m.scope, m.scope) = $2
		UNION ALL
		SELECT m.id, x.alias, x.name, '', '', false
		FROM memories m JOIN graph_same x ON x.memory = m.seq
		WHERE m.id = ANY($1) AND greatest(m.scope, m.scope) = $2 ORDER BY 1, 6 DESC, 3`
	edgesOf = `
		SELECT m.id, e.from_alias, e.to_alias, e.type
		FROM memories m JOIN graph_edge_mentions x ON x.memory = m.seq JOIN graph_edges e ON e.seq = x.edge
		WHERE m.id = ANY($1) AND greatest(m.scope, m.scope) = $2 ORDER BY 1, 4`
)

// GraphOf implements store.Dumper.
func (r reader) GraphOf(ctx context.Context, s oxbow.Scope, ids []string) ([]store.GraphPart, error) {
	seq, err := r.scopeSeq(ctx, s)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	reads, err := collect(ctx, r.in(s), "read the graph", func(rows pgx.Rows) (p store.GraphPart, err error) {
		err = rows.Scan(&p.Memory, &p.ContentVersion, &p.Grapher)
		return p, err
	}, readsOf, ids, seq)
	if err != nil || len(reads) == 0 {
		return nil, err
	}
	names, err := collect(ctx, r.in(s), "read the graph", func(rows pgx.Rows) (n store.Mentioned, err error) {
		err = rows.Scan(&n.Memory, &n.Node, &n.Name, &n.Type, &n.Description, &n.Own)
		return n, err
	}, namesOf, ids, seq)
	if err != nil {
		return nil, err
	}
	edges, err := collect(ctx, r.in(s), "read the graph", func(rows pgx.Rows) (e store.Related, err error) {
		err = rows.Scan(&e.Memory, &e.From, &e.To, &e.Type)
		return e, err
	}, edgesOf, ids, seq)
	return store.GatherGraph(reads, names, edges), err
}

const embeddersOf = `SELECT DISTINCT embedder FROM vectors WHERE scope = $1 AND dimensions > 0 ORDER BY embedder`

// EmbeddersOf implements store.Dumper.
func (r reader) EmbeddersOf(ctx context.Context, s oxbow.Scope) ([]string, error) {
	seq, err := r.scopeSeq(ctx, s)
	if err != nil {
		return nil, err
	}
	return collect(ctx, r.in(s), "look for embedders", scanString, embeddersOf, seq)
}

const loadScope = `
	INSERT INTO scopes (tenant, name, zone, policy, version, memories, terms, created_at, updated_at)
	VALUES ($1, $2, $3, $4, $5, 0, 0, $6, $7)
	ON CONFLICT (tenant, name) DO UPDATE SET zone = excluded.zone, policy = excluded.policy, version = excluded.version,
		created_at = excluded.created_at, updated_at = excluded.updated_at
	WHERE scopes.version = 1 AND NOT EXISTS (SELECT 1 FROM memories m WHERE m.scope = scopes.seq)`

// LoadScope implements store.Loader.
func (t *tx) LoadScope(ctx context.Context, s oxbow.ScopeSettings) (oxbow.ScopeSettings, error) {
	if err := s.Scope.Validate(); err != nil {
		return s, err
	}
	if _, known := t.known.Get(s.Scope); known {
		t.known.Forget() // what others remember is checked by its version, which may stay
	}
	t.hold(s.Scope, held{changed: true})
	t.in(s.Scope)
	t.write("make the scope", loadScope, s.Tenant, s.Name, s.Zone, store.JSON(s.Policy), s.Version, ts(s.CreatedAt), ts(s.UpdatedAt))
	return t.Scope(ctx, s.Scope)
}

const loadRun = `
	INSERT INTO runs (id, scope, name, trigger, status, about, started_at, finished_at, counts, changed, cursor, note)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT (id) DO NOTHING`

// LoadRuns implements store.Loader.
func (t *tx) LoadRuns(ctx context.Context, rs []oxbow.Run) (int, error) {
	n := 0
	b := &batch{}
	for _, run := range rs {
		seq, err := t.knownScope(ctx, run.Scope)
		if err != nil {
			return n, err
		}
		b.count("store a run", &n, loadRun, run.ID, seq, run.Name, run.Trigger, run.Status, ts(run.About), ts(run.StartedAt),
			orNull(run.FinishedAt), store.CountsJSON(run.Counts), store.Changed(run.Counts), run.Cursor, run.Note)
	}
	err := t.send(ctx, b, "store runs")
	return n, err
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
	if err := t.dropGraph(ctx, seq, store.IDsOf(plan.Reworded)); err != nil {
		return store.Loaded{}, err
	}
	writes := &batch{}
	for _, write := range []func(*batch, int64, *store.Plan){
		writeContents, updateRows, insertRows, writeTerms, writeEvents, writeLinks,
	} {
		write(writes, seq, plan)
	}
	for _, id := range erased {
		writes.exec("erase the content", deleteContents, id, seq)
		writes.exec("erase kept answers", eraseLLMAnswers, id, s.Tenant)
	}
	return done, t.send(ctx, writes, "load events")
}

const (
	standsWhere = `SELECT id, scope = $2 FROM memories WHERE id = ANY($1)`
	holdersOf   = `
		SELECT slot, key, id FROM memories
		WHERE scope = $1 AND status = 'active' AND key <> '' AND key = ANY($2) AND slot = ANY($3)`
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
	if _, err = collect(ctx, t.across(ids), "look memories up", func(rows pgx.Rows) (struct{}, error) {
		var id string
		var here bool
		err := rows.Scan(&id, &here)
		if here {
			base.Here[id] = true
		} else if _, found := slices.BinarySearch(about, id); found {
			base.Taken[id] = true
		}
		return struct{}{}, err
	}, standsWhere, ends, seq); err != nil {
		return base, err
	}
	slots, keys := store.LoadAddresses(told, base.Rows)
	if len(keys) == 0 {
		return base, nil
	}
	_, err = collect(ctx, t.in(s), "look addresses up", func(rows pgx.Rows) (struct{}, error) {
		var a store.Address
		var id string
		err := rows.Scan(&a.Slot, &a.Key, &id)
		base.Holders[a] = id
		return struct{}{}, err
	}, holdersOf, seq, keys, slots)
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
	return len(raised), t.writeUse(ctx, raised, "count uses")
}
