package postgres

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

const runCounts = `SELECT counts FROM runs WHERE id = $1 FOR NO KEY UPDATE`

const putRun = `
	INSERT INTO runs (id, scope, name, trigger, status, about, started_at, finished_at, counts, changed, cursor, note)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
	ON CONFLICT (id) DO NOTHING`

const changeRun = `
	UPDATE runs SET status = $2, finished_at = $3, counts = $4, changed = $5, cursor = $6, note = $7 WHERE id = $1`

// PutRun implements store.RunWriter. Most runs are new. The counts of one that is
// there are added to, so its row is locked before they are read.
func (t *tx) PutRun(ctx context.Context, run oxbow.Run) error {
	seq, err := t.knownScope(ctx, run.Scope)
	if err != nil {
		return err
	}
	counts, err := store.AddCounts("", run.Counts)
	if err != nil {
		return err
	}
	tag, err := t.q.Exec(ctx, putRun, run.ID, seq, run.Name, run.Trigger, run.Status, ts(run.About), ts(run.StartedAt),
		orNull(run.FinishedAt), store.JSON(counts), store.Changed(counts), run.Cursor, run.Note)
	if err != nil || tag.RowsAffected() == 1 {
		return translate(err, "store the run")
	}
	var stored string
	if err := t.q.QueryRow(ctx, runCounts, run.ID).Scan(&stored); err != nil {
		return translate(err, "read the run")
	}
	if counts, err = store.AddCounts(stored, run.Counts); err != nil {
		return err
	}
	_, err = t.q.Exec(ctx, changeRun, run.ID, run.Status, orNull(run.FinishedAt), store.JSON(counts), store.Changed(counts),
		run.Cursor, run.Note)
	return translate(err, "store the run")
}

const claim = `INSERT INTO ledger (key, run, at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`

// Claim implements store.RunWriter. Of two transactions that claim the same key
// the second waits for the first to end.
func (t *tx) Claim(ctx context.Context, key, run string, now time.Time) (bool, error) {
	tag, err := t.q.Exec(ctx, claim, key, run, ts(now))
	return tag.RowsAffected() == 1, translate(err, "claim the effect")
}

const unclaim = `DELETE FROM ledger WHERE key >= $1 AND key < $2`

// Unclaim implements store.RunWriter.
func (t *tx) Unclaim(ctx context.Context, prefix string) error {
	_, err := t.q.Exec(ctx, unclaim, prefix, prefix+"\U0010ffff")
	return translate(err, "take back the claim")
}

const (
	putDiscarded = `
		INSERT INTO discarded (id, tenant, scope, kind, args, error, at) VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (id) DO UPDATE SET error = excluded.error, at = excluded.at`
	dropDiscarded = `DELETE FROM discarded WHERE tenant = $1 AND id = $2`
	listDiscarded = `SELECT id, tenant, scope, kind, args, error, at FROM discarded WHERE tenant = $1 ORDER BY at DESC, id LIMIT $2`
)

// PutDiscarded implements store.RunWriter.
func (t *tx) PutDiscarded(ctx context.Context, d store.Discarded) error {
	_, err := t.q.Exec(ctx, putDiscarded, d.ID, d.Tenant, d.Scope, d.Kind, string(d.Args), d.Error, ts(d.At))
	return translate(err, "keep the discarded job")
}

// DropDiscarded implements store.RunWriter.
func (t *tx) DropDiscarded(ctx context.Context, tenant, id string) error {
	_, err := t.q.Exec(ctx, dropDiscarded, tenant, id)
	return translate(err, "drop the discarded job")
}

// ListDiscarded implements store.WorkReader.
func (r reader) ListDiscarded(ctx context.Context, tenant string, limit int) ([]store.Discarded, error) {
	return collect(ctx, r.q, "list discarded jobs", func(rows pgx.Rows) (store.Discarded, error) {
		var d store.Discarded
		var args string
		err := rows.Scan(&d.ID, &d.Tenant, &d.Scope, &d.Kind, &args, &d.Error, &d.At)
		d.Args, d.At = json.RawMessage(args), d.At.UTC()
		return d, err
	}, listDiscarded, tenant, limit)
}
