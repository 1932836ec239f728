package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// memoryColumns are what scanMemory reads; m is memories, s scopes, c contents.
const memoryColumns = `
	m.id, s.tenant, s.name, m.status, m.replaced_by, m.kind, m.slot, m.key, m.content_id, m.digest, m.content_version,
	m.importance, m.rating, m.rated, m.confirmations, m.source, m.pinned, m.said_at, m.confirmed_at, m.touched_at,
	m.expires_at, m.review_at, m.turn, m.conversation, m.quote, m.derived, m.created_at, m.version,
	m.access_count, m.last_used_at, m.half_life, m.fades_at, m.rank_key`

const memoryFrom = `
	FROM memories m JOIN scopes s ON s.seq = m.scope LEFT JOIN contents c ON c.id = m.content_id`

const selectMemory = `SELECT` + memoryColumns + `, coalesce(c.body, '{}')` + memoryFrom

// scopeOf joins so that memories are found by their ids: by an index of m.scope a
// plan of a young database would look through all that a tenant has. A sum would
// do as well, but may reveal what it is worked out from, as greatest may not, and
// behind row-level security such a thing finds nothing by an index.
const (
	scopeOf    = ` JOIN scopes s ON s.seq = greatest(m.scope, m.scope)`
	byID       = ` FROM memories m` + scopeOf + ` LEFT JOIN contents c ON c.id = m.content_id`
	selectByID = `SELECT` + memoryColumns + `, coalesce(c.body, '{}')` + byID
)

func scanMemory(rows pgx.Rows) (oxbow.Memory, error) {
	var m oxbow.Memory
	var confirmed, touched, expires, review, used, fades *time.Time
	var quote, body string
	err := rows.Scan(&m.ID, &m.Scope.Tenant, &m.Scope.Name, &m.Status, &m.ReplacedBy, &m.Kind, &m.Slot, &m.Key,
		&m.ContentID, &m.Digest, &m.ContentVersion, &m.Importance, &m.Rating, &m.Rated, &m.Confirmations, &m.Source,
		&m.Pinned, &m.SaidAt, &confirmed, &touched, &expires, &review, &m.Turn, &m.Conversation, &quote, &m.Derived,
		&m.CreatedAt, &m.Version, &m.AccessCount, &used, &m.HalfLife, &fades, &m.RankKey, &body)
	if err != nil {
		return m, err
	}
	m.SaidAt, m.CreatedAt = m.SaidAt.UTC(), m.CreatedAt.UTC()
	m.ConfirmedAt, m.TouchedAt, m.ExpiresAt = fromNull(confirmed), fromNull(touched), fromNull(expires)
	m.ReviewAt, m.LastUsedAt, m.FadesAt = fromNull(review), fromNull(used), fromNull(fades)
	if quote != "" {
		if err := json.Unmarshal([]byte(quote), &m.Quote); err != nil {
			return m, err
		}
	}
	return m, json.Unmarshal([]byte(body), &m.Content)
}

// collect reads all rows of a query.
func collect[T any](ctx context.Context, q querier, doing string, scan func(pgx.Rows) (T, error), query string, args ...any) ([]T, error) {
	rows, err := q.Query(ctx, query, args...)
	if err != nil {
		return nil, translate(err, doing)
	}
	defer rows.Close()
	var out []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, translate(err, doing)
		}
		out = append(out, v)
	}
	return out, translate(rows.Err(), doing)
}

// texts gives a list for = ANY($n).
func texts[T ~string](vs []T) []string {
	out := make([]string, len(vs))
	for i, v := range vs {
		out[i] = string(v)
	}
	return out
}

// scopeSeq gives the integer that stands for a scope, 0 when there is none.
func (r reader) scopeSeq(ctx context.Context, s oxbow.Scope) (int64, error) {
	if k, ok := r.known.Get(s); ok {
		return k.Seq, nil
	}
	var seq int64
	err := r.in(s).QueryRow(ctx, `SELECT seq FROM scopes WHERE tenant = $1 AND name = $2`, s.Tenant, s.Name).Scan(&seq)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return 0, translate(err, "look up the scope")
	}
	if _, inTx := r.sights.(*pipe); seq != 0 && !inTx { // what a transaction sees may never be committed
		r.known.Put(s, store.Known{Seq: seq})
	}
	return seq, nil
}

// Memory implements store.MemoryReader.
func (r reader) Memory(ctx context.Context, tenant, id string) (oxbow.Memory, error) {
	ms, err := r.Memories(ctx, tenant, []string{id})
	if err != nil {
		return oxbow.Memory{}, err
	}
	if len(ms) == 0 {
		return oxbow.Memory{}, oxbow.Errorf(oxbow.CodeNotFound, "there is no memory %s; oxbow memory list shows those there are", id)
	}
	return ms[0], nil
}

const memoriesByID = selectByID + ` WHERE s.tenant = $1 AND m.id = ANY($2) ORDER BY m.id`

// Memories implements store.MemoryReader.
func (r reader) Memories(ctx context.Context, tenant string, ids []string) ([]oxbow.Memory, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	found, err := collect(ctx, r.of(tenant), "read memories", scanMemory, memoriesByID, tenant, texts(ids))
	if err != nil {
		return nil, err
	}
	at := make(map[string]int, len(ids))
	for i, id := range ids {
		at[id] = i
	}
	slices.SortFunc(found, func(a, b oxbow.Memory) int { return at[a.ID] - at[b.ID] })
	return found, nil
}

// overScopes makes the query of a list over all scopes of a tenant, in an order: of
// rows that from calls as, under conditions which hold them to a scope s and end with
// the order inside one. The indexes are in the order of one scope. What is first
// stands in the scopes whose first is, so one look into each scope finds those that
// are read; what is said of a row beside itself is looked up for those that are shown.
func overScopes(columns, from, as, conds, order, tenant, limit string) string {
	rows := ` FROM ` + from + conds
	return `SELECT` + columns + ` FROM (
		SELECT ` + as + `.* FROM (
			SELECT s.seq FROM scopes s CROSS JOIN LATERAL (SELECT ` + as + `.*` + rows + ` LIMIT 1) ` + as + `
			WHERE s.tenant = ` + tenant + order + limit + `) s
		CROSS JOIN LATERAL (SELECT ` + as + `.*` + rows + limit + `) ` + as + order + limit + `) ` + as + `
		JOIN scopes s ON s.seq = ` + as + `.scope`
}

const newestFirst = ` ORDER BY m.said_at DESC, m.id DESC`

const withTerm = `
	SELECT t.memory FROM scopes s JOIN memory_terms t ON t.scope = s.seq AND t.term = $1
	WHERE s.tenant = $2 AND ($3 = '' OR s.name = $3) LIMIT $4`

// fewTagged gives the memories whose words have a term of the filter's tag, when
// they are few.
func (r reader) fewTagged(ctx context.Context, f store.MemoryFilter) (seqs []int64, few bool, err error) {
	for _, term := range store.TagTerms(f.Tag) {
		seqs, err = collect(ctx, r.in(oxbow.Scope{Tenant: f.Tenant, Name: f.Scope}), "look for the tag", scanInt, withTerm,
			term, f.Tenant, f.Scope, store.FewTagged+1)
		if err != nil || len(seqs) <= store.FewTagged {
			return seqs, err == nil, err
		}
	}
	return nil, false, nil
}

// ListMemories implements store.MemoryReader. Limit: for a tag whose words many
// memories have, contents are read in the order of the list until enough have it.
func (r reader) ListMemories(ctx context.Context, f store.MemoryFilter) ([]oxbow.Memory, error) {
	w := where{}
	tagged, few, err := r.fewTagged(ctx, f)
	if err != nil {
		return nil, err
	}
	if f.Scope == "" && f.Turn == "" && !few {
		w.conds = append(w.conds, "m.scope = s.seq")
		w.filter(f)
		query := overScopes(memoryColumns+`, coalesce(c.body, '{}')`, `memories m LEFT JOIN contents c ON c.id = m.content_id`, "m",
			w.String()+newestFirst, newestFirst, w.arg(f.Tenant), w.limit(f.Limit)) + ` LEFT JOIN contents c ON c.id = m.content_id` + newestFirst
		return collect(ctx, r.of(f.Tenant), "list memories", scanMemory, query, w.args...)
	}
	w.add("s.tenant = $", f.Tenant)
	from, scope := selectMemory, "m.scope = $"
	if f.Turn != "" || few { // by the index of turns, or by number: those are few, and a scope has many
		from, scope = selectByID, "greatest(m.scope, m.scope) = $"
	}
	if few {
		w.add("m.seq = ANY($)", tagged)
	}
	if f.Scope != "" {
		seq, err := r.scopeSeq(ctx, oxbow.Scope{Tenant: f.Tenant, Name: f.Scope})
		if err != nil {
			return nil, err
		}
		w.add(scope, seq)
	}
	w.filter(f)
	return collect(ctx, r.in(oxbow.Scope{Tenant: f.Tenant, Name: f.Scope}), "list memories", scanMemory,
		from+w.String()+newestFirst+w.limit(f.Limit), w.args...)
}

// filter adds what a filter asks of a memory beside its tenant and scope.
func (w *where) filter(f store.MemoryFilter) {
	w.addIf(len(f.Status) > 0, "m.status = ANY($)", texts(f.Status))
	// The few that wait for a decision have an index of their own.
	if slices.Equal(f.Status, []oxbow.Status{oxbow.Quarantined}) {
		w.conds = append(w.conds, "m.status = 'quarantined'")
	}
	w.addIf(f.Kind != "", "m.kind = $", f.Kind)
	w.addIf(len(f.Kinds) > 0, "m.kind = ANY($)", texts(f.Kinds))
	w.addIf(f.Slot != "", "m.slot = $", f.Slot)
	// The indexes hold what has a turn, or a conversation, only, and are not taken
	// unless the query says so too.
	w.addIf(f.Turn != "", "m.id IN (SELECT id FROM memories WHERE turn = $ AND turn <> '' UNION SELECT memory FROM memory_turns WHERE turn = $)", f.Turn)
	w.addIf(f.Conversation != "", "m.conversation = $ AND m.conversation <> ''", f.Conversation)
	w.addIf(f.Tag != "", "c.body::jsonb -> 'tags' ? $", f.Tag)
	w.addIf(!f.Since.IsZero(), "m.said_at >= $", ts(f.Since))
	if !f.LiveAt.IsZero() {
		w.add("(m.status <> 'active' OR m.fades_at IS NULL OR m.fades_at > $)", ts(f.LiveAt))
		w.add("(m.status <> 'active' OR m.expires_at IS NULL OR m.expires_at > $)", ts(f.LiveAt))
	}
	w.addIf(f.AfterID != "", "(m.said_at, m.id) < (SELECT said_at, id FROM memories WHERE id = $)", f.AfterID)
}

// where gathers the conditions of a filter, each a constant in which $ stands
// for its argument.
type where struct {
	conds []string
	args  []any
}

func (w *where) add(cond string, arg any) {
	w.conds = append(w.conds, strings.ReplaceAll(cond, "$", w.arg(arg)))
}

// arg takes an argument and gives its name.
func (w *where) arg(v any) string {
	w.args = append(w.args, v)
	return "$" + strconv.Itoa(len(w.args))
}

func (w *where) addIf(on bool, cond string, arg any) {
	if on {
		w.add(cond, arg)
	}
}

func (w *where) String() string {
	if len(w.conds) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(w.conds, " AND ")
}

// limit is the last argument of a filter.
func (w *where) limit(n int) string { return " LIMIT " + w.arg(n) }

const factHistory = selectMemory + `
	WHERE m.scope = $1 AND m.slot = $2 AND m.key = $3 AND m.key <> '' AND m.status NOT IN ('erased', 'quarantined')
	ORDER BY m.said_at, m.id`

// FactHistory implements store.MemoryReader.
func (r reader) FactHistory(ctx context.Context, s oxbow.Scope, slot, key string) ([]oxbow.Memory, error) {
	seq, err := r.scopeSeq(ctx, s)
	if err != nil {
		return nil, err
	}
	return collect(ctx, r.in(s), "read a fact", scanMemory, factHistory, seq, slot, key)
}

const countMemories = `
	SELECT m.status, count(*) FROM memories m JOIN scopes s ON s.seq = m.scope
	WHERE s.tenant = $1 AND ($2 = '' OR s.name = $2) GROUP BY m.status`

// CountMemories implements store.MemoryReader.
func (r reader) CountMemories(ctx context.Context, s oxbow.Scope) (map[oxbow.Status]int, error) {
	return countBy[oxbow.Status](ctx, r.in(s), countMemories, s.Tenant, s.Name)
}

const countRefused = `
	SELECT (SELECT count(*) FROM memory_events e JOIN scopes s ON s.seq = e.scope + 0
			WHERE s.tenant = $1 AND ($2 = '' OR s.name = $2) AND e.type = 'refused' AND e.recorded_at >= $3) +
		(SELECT coalesce(sum((r.counts::jsonb ->> 'refused')::bigint), 0) FROM runs r JOIN scopes s ON s.seq = r.scope
			WHERE s.tenant = $1 AND ($2 = '' OR s.name = $2) AND r.name <> 'synthesize' AND r.started_at >= $3)`

// CountRefused implements store.MemoryReader.
func (r reader) CountRefused(ctx context.Context, s oxbow.Scope, since time.Time) (int, error) {
	var n int
	err := r.in(s).QueryRow(ctx, countRefused, s.Tenant, s.Name, ts(since)).Scan(&n)
	return n, translate(err, "count what was refused")
}

func countBy[K ~string](ctx context.Context, q querier, query string, args ...any) (map[K]int, error) {
	out := map[K]int{}
	_, err := collect(ctx, q, "count", func(rows pgx.Rows) (struct{}, error) {
		var k K
		var n int
		err := rows.Scan(&k, &n)
		out[k] = n
		return struct{}{}, err
	}, query, args...)
	return out, err
}

// rankClasses walks the index from one half-life class to the next.
const rankClasses = `
	WITH RECURSIVE class (v) AS (
		SELECT min(half_life) FROM memories WHERE scope = $1 AND status = 'active'
		UNION ALL
		SELECT (SELECT min(half_life) FROM memories WHERE scope = $1 AND status = 'active' AND half_life > class.v)
		FROM class WHERE class.v IS NOT NULL)
	SELECT v FROM class WHERE v IS NOT NULL`

const rankPage = `
	SELECT id, rank_key FROM memories
	WHERE scope = $1 AND status = 'active' AND half_life = $2 AND ref_time > $3 AND (expires_at IS NULL OR expires_at > $4)
		AND NOT (kind IN ('observation', 'reflection') AND conversation <> '')
	ORDER BY rank_key DESC, id LIMIT $5 OFFSET $6`

const activeIDs = `SELECT id, 0::float8 FROM memories WHERE scope = $1 AND status = 'active' AND NOT (kind IN ('observation', 'reflection') AND conversation <> '')`

// StrongestMemories implements store.MemoryReader.
func (r reader) StrongestMemories(ctx context.Context, s oxbow.ScopeSettings, now time.Time, limit int) ([]oxbow.Memory, error) {
	seq, err := r.scopeSeq(ctx, s.Scope)
	if err != nil || seq == 0 {
		return nil, err
	}
	if s.Policy.Strength == oxbow.Classic {
		all, err := collect(ctx, r.in(s.Scope), "list the strongest", scanRanked, activeIDs, seq)
		if err != nil {
			return nil, err
		}
		return r.standing(ctx, s, now, limit, all)
	}
	classes, err := collect(ctx, r.in(s.Scope), "list the strongest", func(rows pgx.Rows) (float64, error) {
		var v float64
		err := rows.Scan(&v)
		return v, err
	}, rankClasses, seq)
	if err != nil {
		return nil, err
	}
	top, err := store.MergeRanked(classes, now, limit, func(class float64, n, skip int) ([]store.Ranked, error) {
		var from time.Time
		if class > 0 {
			from = s.Policy.ListableSince(class, now)
		}
		return collect(ctx, r.in(s.Scope), "list the strongest", scanRanked, rankPage, seq, class, since(from), ts(now), n, skip)
	})
	if err != nil {
		return nil, err
	}
	return r.standing(ctx, s, now, limit, top)
}

func scanRanked(rows pgx.Rows) (store.Ranked, error) {
	var v store.Ranked
	err := rows.Scan(&v.ID, &v.RankKey)
	return v, err
}

func (r reader) standing(ctx context.Context, s oxbow.ScopeSettings, now time.Time, limit int, top []store.Ranked) ([]oxbow.Memory, error) {
	ids := make([]string, len(top))
	for i, v := range top {
		ids[i] = v.ID
	}
	ms, err := r.Memories(ctx, s.Tenant, ids)
	if err != nil {
		return nil, err
	}
	return store.ByStanding(ms, s.Policy, now, limit), nil
}
