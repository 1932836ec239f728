package sqlite

import (
	"context"
	"database/sql"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

const logMark = `SELECT coalesce(max(seq), 0) FROM memory_events`

// LogMark implements store.StatusReader. There is one writer at a time, so
// numbers become visible in their order.
func (r reader) LogMark(ctx context.Context) (store.LogMark, error) {
	var m store.LogMark
	err := r.q.row(ctx, logMark).Scan(&m.End)
	return m, translate(err, "find the end of the log")
}

const (
	// The cross join keeps the log the outer loop: it is read from a number on.
	movedStatuses = `
		SELECT CASE WHEN e.seq <= ?3 THEN 'early' ELSE 'late' END, s.name, e.type, ` + movedStatus + `, count(*)
		FROM memory_events e CROSS JOIN scopes s ON s.seq = +e.scope
		WHERE e.seq > ?2 AND s.tenant = ?1
			AND e.type IN ('created', 'superseded', 'compressed', 'expired', 'archived', 'released', 'restored', 'erased')
		GROUP BY 1, 2, 3, 4`
	countStatuses = movedStatuses + `
		UNION ALL SELECT 'counted', s.name, '', m.status, count(*) FROM scopes s JOIN memories m ON m.scope = s.seq
		WHERE s.tenant = ?1 GROUP BY s.seq, m.status`
)

// CountStatuses implements store.StatusReader.
func (r reader) CountStatuses(ctx context.Context, tenant string, after int64) (store.StatusLook, error) {
	return r.statuses(ctx, "count memories by status", countStatuses, tenant, after, after)
}

// MovedStatuses implements store.StatusReader.
func (r reader) MovedStatuses(ctx context.Context, tenant string, after, upto int64) (store.StatusLook, error) {
	return r.statuses(ctx, "count what was moved", movedStatuses, tenant, after, upto)
}

func (r reader) statuses(ctx context.Context, doing, query string, args ...any) (store.StatusLook, error) {
	var look store.StatusLook
	_, err := collect(ctx, r.q, doing, func(rows *sql.Rows) (struct{}, error) {
		var part store.StatusPart
		var scope string
		var t oxbow.EventType
		var s oxbow.Status
		var n int64
		err := rows.Scan(&part, &scope, &t, &s, &n)
		look.Add(part, scope, t, s, n)
		return struct{}{}, err
	}, query, args...)
	return look, err
}
