package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

const conflicts = `
	SELECT l.from_id, l.to_id, l.type FROM links l JOIN scopes s ON s.seq = l.scope
	JOIN memories a ON a.id = l.from_id JOIN memories b ON b.id = l.to_id
	WHERE s.tenant = ?1 AND (?2 = '' OR s.name = ?2) AND l.type = 'conflicts_with' AND a.status = 'active' AND b.status = 'active'
		AND (?3 = '' OR (a.said_at, l.from_id, l.to_id) < ((SELECT said_at FROM memories WHERE id = ?3), ?3, ?4))
	ORDER BY a.said_at DESC, l.from_id DESC, l.to_id DESC LIMIT ?5`

// Conflicts implements store.HealthReader.
func (r reader) Conflicts(ctx context.Context, f store.ConflictFilter) ([]oxbow.Link, error) {
	return collect(ctx, r.q, "list conflicts", func(rows *sql.Rows) (oxbow.Link, error) {
		var l oxbow.Link
		return l, rows.Scan(&l.From, &l.To, &l.Type)
	}, conflicts, f.Tenant, f.Scope, f.After.From, f.After.To, f.Limit)
}

// strengths follows strength.go of the root: the half-life that is stored is the
// effective one, and the rule classic adds its bonus of use.
const strengths = `
	SELECT CAST(?3 * min(1.0, pow(2.0, -max(0.0, (?2 - m.ref_time) / 86400000.0) / m.half_life) +
		CASE WHEN json_extract(s.policy, '$.strength') = 'classic' THEN min(0.3, 0.03 * m.access_count) ELSE 0.0 END) AS INTEGER) AS bucket, count(*)
	FROM scopes s JOIN memories m ON m.scope = s.seq
	WHERE s.tenant = ?1 AND m.status = 'active' AND m.pinned = 0 AND m.half_life > 0 GROUP BY bucket`

// Strengths implements store.HealthReader.
func (r reader) Strengths(ctx context.Context, tenant string, now time.Time, n int) ([]int, error) {
	counts := map[int]int{}
	_, err := collect(ctx, r.q, "count strengths", func(rows *sql.Rows) (int, error) {
		var bucket, c int
		err := rows.Scan(&bucket, &c)
		counts[bucket] = c
		return c, err
	}, strengths, tenant, now.UnixMilli(), n)
	return store.Filled(counts, n), err
}

const countRunEvents = `
	SELECT e.run, e.type, count(*) FROM (SELECT DISTINCT value FROM json_each(?2)) i CROSS JOIN memory_events e ON e.run = i.value
	WHERE +e.scope IN (SELECT seq FROM scopes WHERE tenant = ?1) GROUP BY e.run, e.type`

// CountRunEvents implements store.HealthReader.
func (r reader) CountRunEvents(ctx context.Context, tenant string, runs []string) (map[string]map[string]int, error) {
	out := map[string]map[string]int{}
	_, err := collect(ctx, r.q, "count the events of runs", func(rows *sql.Rows) (struct{}, error) {
		var run, t string
		var n int
		err := rows.Scan(&run, &t, &n)
		if out[run] == nil {
			out[run] = map[string]int{}
		}
		out[run][t] = n
		return struct{}{}, err
	}, countRunEvents, tenant, jsonList(runs))
	return out, err
}

const churn = `
	SELECT strftime('%Y-%m-%d', e.recorded_at / 1000, 'unixepoch') AS day, e.type, count(*)
	FROM memory_events e JOIN scopes s ON s.seq = +e.scope
	WHERE e.seq > (SELECT coalesce(max(seq), 0) FROM memory_events) - ?2 AND s.tenant = ?1 GROUP BY day, e.type ORDER BY day, e.type`

// Churn implements store.HealthReader.
func (r reader) Churn(ctx context.Context, tenant string, within int) ([]store.Churn, error) {
	return collect(ctx, r.q, "count events", func(rows *sql.Rows) (store.Churn, error) {
		var c store.Churn
		return c, rows.Scan(&c.Day, &c.Type, &c.N)
	}, churn, tenant, within)
}

const (
	daysSeen = `
		SELECT coalesce((SELECT strftime('%Y-%m-%d', recorded_at / 1000, 'unixepoch') FROM memory_events
			WHERE seq > (SELECT coalesce(max(seq), 0) FROM memory_events) - ? ORDER BY seq LIMIT 1), '')`
	dayMoves = `
		SELECT strftime('%Y-%m-%d', (e.recorded_at / 86400000) * 86400, 'unixepoch'), e.type, ` + movedStatus + ` AS status, count(*)
		FROM memory_events e
		WHERE e.seq > (SELECT coalesce(max(seq), 0) FROM memory_events) - ?3 AND e.recorded_at >= ?2
			AND +e.scope IN (SELECT seq FROM scopes WHERE tenant = ?1)
			AND e.type IN ('created', 'superseded', 'compressed', 'expired', 'archived', 'released', 'restored', 'erased')
		GROUP BY e.recorded_at / 86400000, e.type, status ORDER BY 1, 2, 3`
)

// Moves implements store.HealthReader.
func (r reader) Moves(ctx context.Context, tenant string, since time.Time, within int) (from string, ms []store.DayMoves, err error) {
	if err := r.q.row(ctx, daysSeen, within).Scan(&from); err != nil {
		return "", nil, translate(err, "look at the log")
	}
	ms, err = collect(ctx, r.q, "count moves", func(rows *sql.Rows) (store.DayMoves, error) {
		var m store.DayMoves
		return m, rows.Scan(&m.Day, &m.Type, &m.Status, &m.N)
	}, dayMoves, tenant, since.UnixMilli(), within)
	return from, ms, err
}
