package sqlite

import (
	"context"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// The events are written first, from the rows as they are, and then name the
// rows to change: there is one writer, so what is due cannot change between the
// two, and the numbers of the events are consecutive.
const (
	retireEvents = `
		INSERT INTO memory_events (scope, memory, memory_seq, version, type, before, after, links, unlinks, reason, actor, judge, run, at, recorded_at)
		SELECT ?1, m.id, m.seq, m.version + 1, ?6, ?7, ?8, '', '', ?9, ?10, '', ?11, ?12, ?13 FROM memories m`
	retireFaded   = retireEvents + fadedAt
	retireExpired = retireEvents + expiredAt
	retireRows    = `
		UPDATE memories SET status = ?1, version = version + 1
		WHERE seq IN (SELECT memory_seq FROM memory_events WHERE seq BETWEEN ?2 AND ?3)`
	lastRetired = `
		SELECT m.id, m.status, m.content_version, m.fades_at, m.expires_at FROM memories m
		JOIN memory_events e ON e.memory_seq = m.seq WHERE e.seq = ?`
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
	events, due := retireFaded, memoryFadesAt
	if r.Type == oxbow.ExpiredEvent {
		events, due = retireExpired, memoryExpiresAt
	}
	at, id := store.ParsePlace(r.After)
	res, err := t.q.exec(ctx, events, scope, b.Now.UnixMilli(), at.UnixMilli(), id, r.Limit, r.Type, store.JSON(before),
		store.JSON(after), r.Reason, r.Actor, b.Run, b.Now.UnixMilli(), b.RecordedAt.UnixMilli())
	if err != nil {
		return store.Retired{}, translate(err, "write the events")
	}
	n, err := res.RowsAffected()
	if err != nil || n == 0 {
		return store.Retired{Last: r.After}, translate(err, "write the events")
	}
	last, err := res.LastInsertId()
	if err != nil {
		return store.Retired{}, translate(err, "write the events")
	}
	res, err = t.q.exec(ctx, retireRows, *after.Status, last-n+1, last)
	if err != nil {
		return store.Retired{}, translate(err, "retire memories")
	}
	if changed, err := res.RowsAffected(); err != nil || changed != n {
		return store.Retired{}, oxbow.ErrStale
	}
	ends, err := collect(ctx, t.q, "read the last memory", scanCandidate, lastRetired, last)
	if err != nil || len(ends) != 1 {
		return store.Retired{}, translate(err, "read the last memory")
	}
	return store.Retired{Count: int(n), Last: store.Place(due(ends[0]), ends[0].ID)}, nil
}
