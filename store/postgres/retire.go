package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/store"
)

// retireRows locks in the order of the ids, and guards and changes in one
// statement.
const retireRows = `
	WITH v AS MATERIALIZED (
		SELECT m.id, u.content_version FROM unnest($2::text[], $3::int[]) u (id, content_version)
		JOIN memories m ON m.id = u.id COLLATE "C" AND m.scope = $4
		ORDER BY m.id FOR NO KEY UPDATE OF m)
	UPDATE memories m SET status = $1, version = m.version + 1 FROM v
	WHERE m.id = v.id AND m.content_version = v.content_version AND m.status = 'active'
		AND ($5::timestamptz IS NULL OR m.fades_at <= $5)
	RETURNING m.id, m.version`

const retireEvents = `
	INSERT INTO memory_events (scope, memory, version, type, before, after, links, unlinks, reason, actor, judge, run, at, recorded_at)
	SELECT $1, u.memory, u.version, $2, $3, $4, '', '', $5, $6, $7, $8, $9, $10
	FROM unnest($11::text[], $12::int[]) WITH ORDINALITY u (memory, version, place)
	ORDER BY u.place RETURNING seq`

// retire writes a retirement as two statements.
func (t *tx) retire(ctx context.Context, b store.Batch, scope int64, r store.Retirement) (store.Applied, error) {
	var done []store.Retired
	rows := &batch{}
	rows.rows("retire memories", func(rows pgx.Rows) error {
		var d store.Retired
		err := rows.Scan(&d.ID, &d.Version)
		done = append(done, d)
		return err
	}, retireRows, r.To, r.IDs, r.ContentVersions, scope, orNull(r.FadedBy))
	if err := t.send(ctx, rows, "retire memories"); err != nil || len(done) == 0 {
		return r.Applied(b, nil, nil), err
	}
	r.Sort(done)
	ids, versions := make([]string, len(done)), make([]int, len(done))
	for i, d := range done {
		ids[i], versions[i] = d.ID, d.Version
	}
	var seqs []int64
	events := &batch{}
	events.rows("write the events", func(rows pgx.Rows) error {
		var seq int64
		err := rows.Scan(&seq)
		seqs = append(seqs, seq)
		return err
	}, retireEvents, scope, string(r.Type), r.BeforeJSON(), r.AfterJSON(), r.Reason, r.Actor, r.Judge, b.Run, ts(b.Now), ts(b.RecordedAt),
		ids, versions)
	if err := t.send(ctx, events, "write the events"); err != nil {
		return store.Applied{}, err
	}
	return r.Applied(b, done, seqs), nil
}
