package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

const logMark = `SELECT coalesce((SELECT max(seq) FROM memory_events), 0), pg_current_xact_id()::text::bigint`

// LogMark implements store.StatusReader. Every transaction that writes an event
// has locked its scope or claimed its ledger key before, and so has its number
// (xid) before the event has one. The mark takes a number of its own, after it has
// seen where the log ends. So what holds a number of the log below the mark's End,
// and is not seen yet, has a lower one, and is over when a later snapshot's xmin has
// reached it. The snapshot's xmax would not do: it is one more than the last
// transaction that ended, and others may have begun after that.
func (r reader) LogMark(ctx context.Context) (store.LogMark, error) {
	var m store.LogMark
	err := r.across(counts).QueryRow(ctx, logMark).Scan(&m.End, &m.Open)
	return m, translate(err, "find the end of the log")
}

const (
	// The upper bound says nothing, but for a plan that is made without knowing $2
	// a range is a small part of a table, and half of one a third, for which it
	// would read the whole log.
	movedStatuses = `
		SELECT 'over', '', '', '', pg_snapshot_xmin(pg_current_snapshot())::text::bigint
		UNION ALL SELECT * FROM (
			SELECT CASE WHEN e.seq <= $3 THEN 'early' ELSE 'late' END, s.name, e.type, ` + movedStatus + `, count(*)
			FROM memory_events e JOIN scopes s ON s.seq = e.scope + 0
			WHERE e.seq > $2 AND e.seq < 9223372036854775807 AND s.tenant = $1
				AND e.type IN ('created', 'superseded', 'compressed', 'expired', 'archived', 'released', 'restored', 'erased')
			GROUP BY 1, 2, 3, 4) moved`
	countStatuses = movedStatuses + `
		UNION ALL SELECT 'counted', s.name, '', m.status, m.n
		FROM (SELECT scope, status, count(*) AS n FROM memories
			WHERE scope IN (SELECT seq FROM scopes WHERE tenant = $1) GROUP BY scope, status) m JOIN scopes s ON s.seq = m.scope`
)

// CountStatuses implements store.StatusReader.
func (r reader) CountStatuses(ctx context.Context, tenant string, after int64) (store.StatusLook, error) {
	return r.statuses(ctx, "count memories by status", countStatuses, tenant, after, after)
}

// MovedStatuses implements store.StatusReader.
func (r reader) MovedStatuses(ctx context.Context, tenant string, after, upto int64) (store.StatusLook, error) {
	return r.statuses(ctx, "count what was moved", movedStatuses, tenant, after, upto)
}

func (r reader) statuses(ctx context.Context, doing, query, tenant string, after, upto int64) (store.StatusLook, error) {
	var look store.StatusLook
	_, err := collect(ctx, r.of(tenant), doing, func(rows pgx.Rows) (struct{}, error) {
		var part store.StatusPart
		var scope string
		var t oxbow.EventType
		var s oxbow.Status
		var n int64
		err := rows.Scan(&part, &scope, &t, &s, &n)
		look.Add(part, scope, t, s, n)
		return struct{}{}, err
	}, query, tenant, after, upto)
	return look, err
}
