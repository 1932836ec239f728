package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/oxbow-memory/oxbow"
)

// Enqueue implements store.Queue. A unique job that is there already is passed
// over.
func (t *tx) Enqueue(ctx context.Context, jobs []river.InsertManyParams) error {
	if len(jobs) == 0 {
		return nil
	}
	_, err := t.s.river.InsertManyFastTx(ctx, inserter{riverTx{t.pipe}}, jobs)
	return translate(err, "enqueue")
}

const (
	jobState  = `SELECT state::text, attempt FROM river_job WHERE id = $1 FOR UPDATE`
	isRunning = `SELECT 1 FROM river_job WHERE id = $1 AND attempt = $2 AND state = 'running' FOR UPDATE`
)

// Fence implements store.Queue.
func (t *tx) Fence(ctx context.Context, row *rivertype.JobRow) error {
	if t.assume {
		t.pipe.waiting.must("look at the job", 1, errMissed, isRunning, row.ID, row.Attempt)
		return nil
	}
	var state string
	var attempt int
	if err := t.pipe.QueryRow(ctx, jobState, row.ID).Scan(&state, &attempt); err != nil {
		return translate(err, "look at the job")
	}
	if state != string(rivertype.JobStateRunning) || attempt != row.Attempt {
		return oxbow.Errorf(oxbow.CodeConflict, "another attempt has taken this job over")
	}
	return nil
}

const completeJob = `UPDATE river_job SET state = 'completed', finalized_at = now() WHERE id = $1 AND state = 'running'`

// CompleteJob implements store.Queue. It is what River's JobCompleteTx does to a
// job without output; that one reads the row back, which would cost a round trip.
// The time is River's.
func (t *tx) CompleteJob(_ context.Context, row *rivertype.JobRow) error {
	t.write("complete the job", completeJob, row.ID)
	return nil
}

// CancelJob implements store.Queue.
func (t *tx) CancelJob(ctx context.Context, id int64) error {
	_, err := t.s.river.JobCancelTx(ctx, riverTx{t.pipe}, id)
	return queueError(err, id)
}

// RetryJob implements store.Queue.
func (t *tx) RetryJob(ctx context.Context, id int64) error {
	_, err := t.s.river.JobRetryTx(ctx, riverTx{t.pipe}, id)
	return queueError(err, id)
}

func queueError(err error, id int64) error {
	if errors.Is(err, rivertype.ErrNotFound) {
		return oxbow.Errorf(oxbow.CodeNotFound, "there is no job %d; oxbow job list shows those there are", id)
	}
	return translate(err, "change the job")
}

const knowQueue = `INSERT INTO river_queue (name, metadata, updated_at) VALUES ($1, '{}', now()) ON CONFLICT DO NOTHING`

// SetQueuePaused implements store.Queue. A queue that no worker has opened yet
// is made known first; that row and its time are River's.
func (t *tx) SetQueuePaused(ctx context.Context, queue string, paused bool) error {
	t.write("change the queue", knowQueue, queue)
	if paused {
		return translate(t.s.river.QueuePauseTx(ctx, riverTx{t.pipe}, queue, nil), "pause the queue")
	}
	return translate(t.s.river.QueueResumeTx(ctx, riverTx{t.pipe}, queue, nil), "resume the queue")
}

const (
	beat    = `INSERT INTO workers (name, seen_at) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET seen_at = excluded.seen_at`
	endBeat = `DELETE FROM workers WHERE name = $1`
	lost    = `DELETE FROM workers WHERE seen_at < $1`
)

// requeue passes over rows that are locked: somebody is at work on them.
const requeue = `
	UPDATE river_job SET state = 'available' WHERE id IN (
		SELECT id FROM river_job WHERE state = 'running'
		AND coalesce(attempted_by[cardinality(attempted_by)], '') NOT IN (SELECT name FROM workers)
		FOR UPDATE SKIP LOCKED)`

// Beat implements store.Queue.
func (t *tx) Beat(ctx context.Context, worker string, now time.Time, ttl time.Duration) error {
	if now.IsZero() {
		t.write("sign off", endBeat, worker)
		return nil
	}
	b := &batch{}
	b.exec("give a sign of life", beat, worker, ts(now))
	b.exec("take lost workers away", lost, ts(now.Add(-ttl)))
	b.exec("send lost jobs back", requeue)
	t.later(b)
	return nil
}
