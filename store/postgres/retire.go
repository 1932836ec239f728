package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// One statement finds what is due, locks it in the order of the ids, which is
// when a row that was used meanwhile drops out, changes it, and writes the
// events in the order of what was due. No row travels.
const (
	retireBegin = `WITH due AS MATERIALIZED (SELECT m.seq, m.id, m.fades_at, m.expires_at FROM memories m`
	retireLock  = `),
		locked AS MATERIALIZED (
			SELECT m.seq FROM memories m JOIN due d ON d.seq = m.seq
			WHERE m.status = 'active' AND `
	retireWrite = ` <= $2 ORDER BY m.id FOR NO KEY UPDATE OF m),
		done AS (
			UPDATE memories m SET status = $6, version = m.version + 1 FROM locked l WHERE m.seq = l.seq
			RETURNING m.seq, m.id, m.version, m.fades_at, m.expires_at),
		logged AS (
			INSERT INTO memory_events (scope, memory, memory_seq, version, type, before, after, links, unlinks, reason, actor, judge, run, at, recorded_at)
			SELECT $1, d.id, d.seq, d.version, $7, $8, $9, '', '', $10, $11, '', $12, $13, $14 FROM done d ORDER BY `
	retireCount = ` RETURNING 1)
		SELECT d.id, d.fades_at, d.expires_at, (SELECT count(*) FROM logged) FROM due d ORDER BY `
	retireFaded   = retireBegin + fadedAt + retireLock + `m.fades_at` + retireWrite + `d.fades_at, d.id` + retireCount + `d.fades_at DESC, d.id DESC LIMIT 1`
	retireExpired = retireBegin + expiredAt + retireLock + `m.expires_at` + retireWrite + `d.expires_at, d.id` + retireCount + `d.expires_at DESC, d.id DESC LIMIT 1`
)

// Retire implements store.PassWriter.
func (t *tx) Retire(ctx context.Context, b store.Batch, r store.Retirement) (store.Retired, error) {
	before, after, err := r.Patches()
	if err != nil {
		return store.Retired{}, err
	}
	if _, err := t.policyOf(ctx, b); err != nil {
		return store.Retired{}, err
	}
	scope, err := t.scopeSeq(ctx, b.Scope)
	if err != nil {
		return store.Retired{}, err
	}
	query, due := retireFaded, memoryFadesAt
	if r.Type == oxbow.ExpiredEvent {
		query, due = retireExpired, memoryExpiresAt
	}
	at, id := store.ParsePlace(r.After)
	out := store.Retired{Last: r.After}
	statement := &batch{}
	statement.rows("retire memories", func(rows pgx.Rows) error {
		var m oxbow.Memory
		var fades, expires *time.Time
		err := rows.Scan(&m.ID, &fades, &expires, &out.Count)
		m.FadesAt, m.ExpiresAt = fromNull(fades), fromNull(expires)
		out.Last = store.Place(due(m), m.ID)
		return err
	}, query, scope, ts(b.Now), ts(at), id, r.Limit, *after.Status, string(r.Type), store.JSON(before), store.JSON(after),
		r.Reason, r.Actor, b.Run, ts(b.Now), ts(b.RecordedAt))
	return out, t.send(ctx, statement, "retire memories")
}
