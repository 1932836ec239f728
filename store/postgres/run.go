package postgres

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// putRun adds up the counts in the statement itself, which holds the row.
const putRun = `
	INSERT INTO runs (id, scope, name, trigger, status, about, started_at, finished_at, counts, changed, cursor, note)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
	ON CONFLICT (id) DO UPDATE SET status = excluded.status, finished_at = excluded.finished_at, cursor = excluded.cursor,
		note = excluded.note, changed = runs.changed + excluded.changed, counts = (
			SELECT coalesce(json_object_agg(key, n ORDER BY key), '{}')::text FROM (
				SELECT key, sum(value::bigint) AS n FROM (
					SELECT key, value FROM json_each_text(runs.counts::json)
					UNION ALL SELECT key, value FROM json_each_text(excluded.counts::json)) both_counts
				GROUP BY key) sums)`

// newRun is for runs that are assumed to be new: to make ready for the addition
// takes longer than to store the row.
const newRun = `
	INSERT INTO runs (id, scope, name, trigger, status, about, started_at, finished_at, counts, changed, cursor, note)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
	ON CONFLICT (id) DO NOTHING RETURNING 1`

// PutRun implements store.RunWriter. A run that begins and ends at one instant is
// a write's, which is new; that of a turn is stored with it, and ends later, when
// it is read.
func (t *tx) PutRun(ctx context.Context, run oxbow.Run) error {
	seq, err := t.knownScope(ctx, run.Scope)
	if err != nil {
		return err
	}
	args := []any{run.ID, seq, run.Name, run.Trigger, run.Status, ts(run.About), ts(run.StartedAt),
		orNull(run.FinishedAt), store.CountsJSON(run.Counts), store.Changed(run.Counts), run.Cursor, run.Note}
	if t.assume && run.StartedAt.Equal(run.FinishedAt) {
		t.pipe.waiting.must("store the run", 1, errMissed, newRun, args...)
	} else {
		t.write("store the run", putRun, args...)
	}
	return nil
}

const claim = `INSERT INTO ledger (key, run, at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`

// Claim implements store.RunWriter. Of two transactions that claim the same key
// the second waits for the first to end. That the key is new is assumed at first:
// a job is seldom worked twice.
func (t *tx) Claim(ctx context.Context, key, run string, now time.Time) (bool, error) {
	if t.assume && !t.claimed[key] {
		if t.claimed == nil {
			t.claimed = map[string]bool{}
		}
		t.claimed[key] = true
		t.pipe.waiting.must("claim the effect", 1, errMissed, claim+" RETURNING 1", key, run, ts(now))
		return true, nil
	}
	tag, err := t.pipe.Exec(ctx, claim, key, run, ts(now))
	return tag.RowsAffected() == 1, translate(err, "claim the effect")
}

const unclaim = `DELETE FROM ledger WHERE key >= $1 AND key < $2`

// Unclaim implements store.RunWriter.
func (t *tx) Unclaim(ctx context.Context, prefix string) error {
	t.write("take back the claim", unclaim, prefix, prefix+"\U0010ffff")
	return nil
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
	t.of(d.Tenant)
	t.write("keep the discarded job", putDiscarded, d.ID, d.Tenant, d.Scope, d.Kind, string(d.Args), d.Error, ts(d.At))
	return nil
}

// DropDiscarded implements store.RunWriter.
func (t *tx) DropDiscarded(ctx context.Context, tenant, id string) error {
	t.of(tenant)
	t.write("drop the discarded job", dropDiscarded, tenant, id)
	return nil
}

// ListDiscarded implements store.WorkReader.
func (r reader) ListDiscarded(ctx context.Context, tenant string, limit int) ([]store.Discarded, error) {
	return collect(ctx, r.of(tenant), "list discarded jobs", func(rows pgx.Rows) (store.Discarded, error) {
		var d store.Discarded
		var args string
		err := rows.Scan(&d.ID, &d.Tenant, &d.Scope, &d.Kind, &args, &d.Error, &d.At)
		d.Args, d.At = json.RawMessage(args), d.At.UTC()
		return d, err
	}, listDiscarded, tenant, limit)
}
