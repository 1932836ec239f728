package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

const conflicts = `
	SELECT l.from_id, l.to_id, l.type FROM links l JOIN scopes s ON s.seq = l.scope
	JOIN memories a ON a.id = l.from_id JOIN memories b ON b.id = l.to_id
	WHERE s.tenant = $1 AND ($2 = '' OR s.name = $2) AND l.type = 'conflicts_with' AND a.status = 'active' AND b.status = 'active'
		AND ($3 = '' OR (a.said_at, l.from_id, l.to_id) < ((SELECT said_at FROM memories WHERE id = $3), $3, $4))
	ORDER BY a.said_at DESC, l.from_id DESC, l.to_id DESC LIMIT $5`

// Conflicts implements store.HealthReader.
func (r reader) Conflicts(ctx context.Context, f store.ConflictFilter) ([]oxbow.Link, error) {
	return collect(ctx, r.of(f.Tenant), "list conflicts", func(rows pgx.Rows) (oxbow.Link, error) {
		var l oxbow.Link
		return l, rows.Scan(&l.From, &l.To, &l.Type)
	}, conflicts, f.Tenant, f.Scope, f.After.From, f.After.To, f.Limit)
}

// strengths follows strength.go of the root: the half-life that is stored is the
// effective one, and the rule classic adds its bonus of use.
const strengths = `
	SELECT floor($3::int * least(1.0, pow(2.0::float8, -greatest(0.0, extract(epoch FROM $2::timestamptz - m.ref_time)::float8 / 86400) / m.half_life) +
		CASE WHEN s.policy::jsonb ->> 'strength' = 'classic' THEN least(0.3, 0.03 * m.access_count) ELSE 0.0 END))::int AS bucket, count(*)
	FROM scopes s JOIN memories m ON m.scope = s.seq
	WHERE s.tenant = $1 AND m.status = 'active' AND NOT m.pinned AND m.half_life > 0 GROUP BY bucket`

// Strengths implements store.HealthReader.
func (r reader) Strengths(ctx context.Context, tenant string, now time.Time, n int) ([]int, error) {
	counts := map[int]int{}
	_, err := collect(ctx, r.of(tenant), "count strengths", func(rows pgx.Rows) (int, error) {
		var bucket, c int
		err := rows.Scan(&bucket, &c)
		counts[bucket] = c
		return c, err
	}, strengths, tenant, ts(now), n)
	return store.Filled(counts, n), err
}

// churn takes the last number of all from the sequence: of the events themselves
// this tenant sees only its own, and would look for them past all the others.
// By the array the planner knows which runs are asked for; by a lateral join it
// takes them for average ones and reads the whole log for each.
const countRunEvents = `
	SELECT e.run, e.type, count(*) FROM memory_events e
	WHERE e.run = ANY($2) AND e.scope + 0 IN (SELECT seq FROM scopes WHERE tenant = $1) GROUP BY e.run, e.type`

// CountRunEvents implements store.HealthReader.
func (r reader) CountRunEvents(ctx context.Context, tenant string, runs []string) (map[string]map[string]int, error) {
	out := map[string]map[string]int{}
	_, err := collect(ctx, r.of(tenant), "count the events of runs", func(rows pgx.Rows) (struct{}, error) {
		var run, t string
		var n int
		err := rows.Scan(&run, &t, &n)
		if out[run] == nil {
			out[run] = map[string]int{}
		}
		out[run][t] = n
		return struct{}{}, err
	}, countRunEvents, tenant, texts(runs))
	return out, err
}

const churn = `
	SELECT to_char(e.recorded_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, e.type, count(*)
	FROM memory_events e JOIN scopes s ON s.seq = e.scope + 0
	WHERE e.seq > (SELECT last_value FROM memory_events_seq_seq) - $2 AND s.tenant = $1 GROUP BY day, e.type ORDER BY day, e.type`

// Churn implements store.HealthReader.
func (r reader) Churn(ctx context.Context, tenant string, within int) ([]store.Churn, error) {
	return collect(ctx, r.of(tenant), "count events", func(rows pgx.Rows) (store.Churn, error) {
		var c store.Churn
		return c, rows.Scan(&c.Day, &c.Type, &c.N)
	}, churn, tenant, within)
}

const (
	daysSeen = `
		SELECT coalesce((SELECT to_char(recorded_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') FROM memory_events
			WHERE seq > (SELECT last_value FROM memory_events_seq_seq) - $1 ORDER BY seq LIMIT 1), '')`
	dayMoves = `
		SELECT to_char(e.recorded_at AT TIME ZONE 'UTC', 'YYYY-MM-DD'), e.type, ` + movedStatus + ` AS status, count(*)
		FROM memory_events e JOIN scopes s ON s.seq = e.scope + 0
		WHERE e.seq > (SELECT last_value FROM memory_events_seq_seq) - $3 AND s.tenant = $1 AND e.recorded_at >= $2
			AND e.type IN ('created', 'superseded', 'compressed', 'expired', 'archived', 'released', 'restored', 'erased')
		GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`
)

// Moves implements store.HealthReader.
func (r reader) Moves(ctx context.Context, tenant string, since time.Time, within int) (from string, ms []store.DayMoves, err error) {
	if err := r.of(tenant).QueryRow(ctx, daysSeen, within).Scan(&from); err != nil {
		return "", nil, translate(err, "look at the log")
	}
	ms, err = collect(ctx, r.of(tenant), "count moves", func(rows pgx.Rows) (store.DayMoves, error) {
		var m store.DayMoves
		return m, rows.Scan(&m.Day, &m.Type, &m.Status, &m.N)
	}, dayMoves, tenant, ts(since), within)
	return from, ms, err
}
