package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// putRun adds up the counts in the statement itself.
const putRun = `
	INSERT INTO runs (id, scope, name, trigger, status, about, started_at, finished_at, counts, changed, cursor, note)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (id) DO UPDATE SET status = excluded.status, finished_at = excluded.finished_at, cursor = excluded.cursor,
		note = excluded.note, changed = runs.changed + excluded.changed, counts = (
			SELECT json_group_object(key, n) FROM (
				SELECT key, sum(value) AS n FROM (
					SELECT key, value FROM json_each(runs.counts)
					UNION ALL SELECT key, value FROM json_each(excluded.counts))
				GROUP BY key ORDER BY key))`

// PutRun implements store.RunWriter.
func (t *tx) PutRun(ctx context.Context, run oxbow.Run) error {
	seq, err := t.knownScope(ctx, run.Scope)
	if err != nil {
		return err
	}
	_, err = t.q.exec(ctx, putRun, run.ID, seq, run.Name, run.Trigger, run.Status, run.About.UnixMilli(), run.StartedAt.UnixMilli(),
		ms(run.FinishedAt), store.CountsJSON(run.Counts), store.Changed(run.Counts), run.Cursor, run.Note)
	return translate(err, "store the run")
}

const claim = `INSERT INTO ledger (key, run, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`

// Claim implements store.RunWriter.
func (t *tx) Claim(ctx context.Context, key, run string, now time.Time) (bool, error) {
	res, err := t.q.exec(ctx, claim, key, run, now.UnixMilli())
	if err != nil {
		return false, translate(err, "claim the effect")
	}
	n, err := res.RowsAffected()
	return n == 1, translate(err, "claim the effect")
}

const unclaim = `DELETE FROM ledger WHERE key >= ? AND key < ?`

// Unclaim implements store.RunWriter.
func (t *tx) Unclaim(ctx context.Context, prefix string) error {
	_, err := t.q.exec(ctx, unclaim, prefix, prefix+"\U0010ffff")
	return translate(err, "take back the claim")
}

const (
	putDiscarded = `
		INSERT INTO discarded (id, tenant, scope, kind, args, error, at) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET error = excluded.error, at = excluded.at`
	dropDiscarded = `DELETE FROM discarded WHERE tenant = ? AND id = ?`
	listDiscarded = `SELECT id, tenant, scope, kind, args, error, at FROM discarded WHERE tenant = ? ORDER BY at DESC, id LIMIT ?`
)

// PutDiscarded implements store.RunWriter.
func (t *tx) PutDiscarded(ctx context.Context, d store.Discarded) error {
	_, err := t.q.exec(ctx, putDiscarded, d.ID, d.Tenant, d.Scope, d.Kind, string(d.Args), d.Error, d.At.UnixMilli())
	return translate(err, "keep the discarded job")
}

// DropDiscarded implements store.RunWriter.
func (t *tx) DropDiscarded(ctx context.Context, tenant, id string) error {
	_, err := t.q.exec(ctx, dropDiscarded, tenant, id)
	return translate(err, "drop the discarded job")
}

// ListDiscarded implements store.WorkReader.
func (r reader) ListDiscarded(ctx context.Context, tenant string, limit int) ([]store.Discarded, error) {
	return collect(ctx, r.q, "list discarded jobs", func(rows *sql.Rows) (store.Discarded, error) {
		var d store.Discarded
		var args string
		var at int64
		err := rows.Scan(&d.ID, &d.Tenant, &d.Scope, &d.Kind, &args, &d.Error, &at)
		d.Args, d.At = json.RawMessage(args), time.UnixMilli(at).UTC()
		return d, err
	}, listDiscarded, tenant, limit)
}
