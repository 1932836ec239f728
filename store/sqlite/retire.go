package sqlite

import (
	"context"
	"database/sql"

	"github.com/oxbow-memory/oxbow/store"
)

// retireRows guards and changes in one statement; each pair is [id, content_version].
// The plus signs keep the planner from walking the scope's active memories
// instead of looking up the ids.
const retireRows = `
	UPDATE memories SET status = ?1, version = version + 1
	FROM (SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS content_version FROM json_each(?2)) v
	WHERE memories.id = v.id AND memories.content_version = v.content_version AND +memories.scope = ?3
		AND +memories.status = 'active' AND (?4 IS NULL OR +memories.fades_at <= ?4)
	RETURNING id, version`

const retireEvents = `
	INSERT INTO memory_events (scope, memory, version, type, before, after, links, unlinks, reason, actor, judge, run, at, recorded_at)
	SELECT ?1, json_extract(value, '$[0]'), json_extract(value, '$[1]'), ?2, ?3, ?4, '', '', ?5, ?6, ?7, ?8, ?9, ?10
	FROM json_each(?11) ORDER BY key`

// retire writes a retirement as two statements.
func (t *tx) retire(ctx context.Context, b store.Batch, scope int64, r store.Retirement) (store.Applied, error) {
	pairs := make([][2]any, len(r.IDs))
	for i, id := range r.IDs {
		pairs[i] = [2]any{id, r.ContentVersions[i]}
	}
	done, err := collect(ctx, t.q, "retire memories", func(rows *sql.Rows) (store.Retired, error) {
		var d store.Retired
		err := rows.Scan(&d.ID, &d.Version)
		return d, err
	}, retireRows, r.To, store.JSON(pairs), scope, ms(r.FadedBy))
	if err != nil || len(done) == 0 {
		return r.Applied(b, nil, nil), err
	}
	r.Sort(done)
	res, err := t.q.exec(ctx, retireEvents, scope, r.Type, r.BeforeJSON(), r.AfterJSON(), r.Reason, r.Actor, r.Judge, b.Run,
		b.Now.UnixMilli(), b.RecordedAt.UnixMilli(), store.JSON(done))
	if err != nil {
		return store.Applied{}, translate(err, "write the events")
	}
	last, err := res.LastInsertId()
	if err != nil {
		return store.Applied{}, translate(err, "write the events")
	}
	seqs := make([]int64, len(done)) // one writer: the numbers are consecutive
	for i := range seqs {
		seqs[i] = last - int64(len(done)-1-i)
	}
	return r.Applied(b, done, seqs), nil
}
