package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

const runCounts = `SELECT counts FROM runs WHERE id = ?`

const putRun = `
	INSERT INTO runs (id, scope, name, trigger, status, about, started_at, finished_at, counts, changed, cursor, note)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (id) DO NOTHING`

const changeRun = `UPDATE runs SET status = ?, finished_at = ?, counts = ?, changed = ?, cursor = ?, note = ? WHERE id = ?`

// PutRun implements store.RunWriter. Most runs are new; the counts of one that
// is there are added to.
func (t *tx) PutRun(ctx context.Context, run oxbow.Run) error {
	seq, err := t.knownScope(ctx, run.Scope)
	if err != nil {
		return err
	}
	counts, err := store.AddCounts("", run.Counts)
	if err != nil {
		return err
	}
	res, err := t.q.exec(ctx, putRun, run.ID, seq, run.Name, run.Trigger, run.Status, run.About.UnixMilli(), run.StartedAt.UnixMilli(),
		ms(run.FinishedAt), store.JSON(counts), store.Changed(counts), run.Cursor, run.Note)
	if err != nil {
		return translate(err, "store the run")
	}
	if n, err := res.RowsAffected(); err != nil || n == 1 {
		return translate(err, "store the run")
	}
	var stored string
	if err := t.q.row(ctx, runCounts, run.ID).Scan(&stored); err != nil {
		return translate(err, "read the run")
	}
	if counts, err = store.AddCounts(stored, run.Counts); err != nil {
		return err
	}
	_, err = t.q.exec(ctx, changeRun, run.Status, ms(run.FinishedAt), store.JSON(counts), store.Changed(counts), run.Cursor, run.Note, run.ID)
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
