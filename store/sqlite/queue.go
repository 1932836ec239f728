package sqlite

import (
	"context"
	"errors"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivertype"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// Enqueue implements store.Queue.
func (t *tx) Enqueue(ctx context.Context, jobs []river.InsertManyParams) error {
	if len(jobs) == 0 {
		return nil
	}
	_, err := t.s.river.InsertManyFastTx(ctx, t.sql, jobs)
	return translate(err, "enqueue")
}

const jobState = `SELECT state, attempt FROM river_job WHERE id = ?`

// Fence implements store.Queue.
func (t *tx) Fence(ctx context.Context, row *rivertype.JobRow) error {
	var state string
	var attempt int
	if err := t.q.row(ctx, jobState, row.ID).Scan(&state, &attempt); err != nil {
		return translate(err, "look at the job")
	}
	if state != string(rivertype.JobStateRunning) || attempt != row.Attempt {
		return oxbow.Errorf(oxbow.CodeConflict, "another attempt has taken this job over")
	}
	return nil
}

// CompleteJob implements store.Queue.
func (t *tx) CompleteJob(ctx context.Context, row *rivertype.JobRow) error {
	_, err := river.JobCompleteTx[*riversqlite.Driver](ctx, t.sql, &river.Job[store.RawArgs]{JobRow: row})
	return translate(err, "complete the job")
}

// notifyCancel tells workers of a cancelled job. River 0.47 does not send this
// on SQLite by itself, so a running job would go on; the payload is River's own
// form, which is why it stands here alone and has a test.
const notifyCancel = `
	INSERT INTO river_notification (topic, payload)
	VALUES ('river_control', json_object('action', 'cancel', 'job_id', ?, 'queue', ?))`

// CancelJob implements store.Queue.
func (t *tx) CancelJob(ctx context.Context, id int64) error {
	row, err := t.s.river.JobCancelTx(ctx, t.sql, id)
	if err != nil {
		return queueError(err, id)
	}
	_, err = t.q.exec(ctx, notifyCancel, id, row.Queue)
	return translate(err, "cancel the job")
}

// RetryJob implements store.Queue.
func (t *tx) RetryJob(ctx context.Context, id int64) error {
	_, err := t.s.river.JobRetryTx(ctx, t.sql, id)
	return queueError(err, id)
}

func queueError(err error, id int64) error {
	if errors.Is(err, rivertype.ErrNotFound) {
		return oxbow.Errorf(oxbow.CodeNotFound, "there is no job %d; oxbow job list shows those there are", id)
	}
	return translate(err, "change the job")
}

const knowQueue = `
	INSERT INTO river_queue (name, metadata, updated_at) VALUES (?, jsonb('{}'), datetime('now', 'subsec')) ON CONFLICT DO NOTHING`

// SetQueuePaused implements store.Queue. A queue that no worker has opened yet
// is made known first; that row and its time are River's.
func (t *tx) SetQueuePaused(ctx context.Context, queue string, paused bool) error {
	if _, err := t.q.exec(ctx, knowQueue, queue); err != nil {
		return translate(err, "change the queue")
	}
	if paused {
		return translate(t.s.river.QueuePauseTx(ctx, t.sql, queue, nil), "pause the queue")
	}
	return translate(t.s.river.QueueResumeTx(ctx, t.sql, queue, nil), "resume the queue")
}

const (
	beat    = `INSERT INTO workers (name, seen_at) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET seen_at = excluded.seen_at`
	endBeat = `DELETE FROM workers WHERE name = ?`
	lost    = `DELETE FROM workers WHERE seen_at < ?`
)

const requeue = `
	UPDATE river_job SET state = 'available' WHERE state = 'running'
	AND coalesce(json_extract(attempted_by, '$[#-1]'), '') NOT IN (SELECT name FROM workers)`

// Beat implements store.Queue.
func (t *tx) Beat(ctx context.Context, worker string, now time.Time, ttl time.Duration) error {
	if now.IsZero() {
		_, err := t.q.exec(ctx, endBeat, worker)
		return translate(err, "sign off")
	}
	if _, err := t.q.exec(ctx, beat, worker, now.UnixMilli()); err != nil {
		return translate(err, "give a sign of life")
	}
	if _, err := t.q.exec(ctx, lost, now.Add(-ttl).UnixMilli()); err != nil {
		return translate(err, "take lost workers away")
	}
	_, err := t.q.exec(ctx, requeue)
	return translate(err, "send lost jobs back")
}
