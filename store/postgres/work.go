package postgres

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

const selectJob = `
	SELECT id, kind, queue, state::text, attempt, max_attempts, args::text, coalesce(to_jsonb(errors), '[]')::text,
		created_at, scheduled_at, finalized_at
	FROM river_job`

func scanJob(rows pgx.Rows) (store.Job, error) {
	var j store.Job
	var args, errs string
	var finalized *time.Time
	err := rows.Scan(&j.ID, &j.Kind, &j.Queue, &j.State, &j.Attempt, &j.MaxAttempts, &args, &errs,
		&j.CreatedAt, &j.ScheduledAt, &finalized)
	if err != nil {
		return j, err
	}
	var compact bytes.Buffer // Postgres writes jsonb with spaces
	if err := json.Compact(&compact, []byte(args)); err != nil {
		return j, err
	}
	j.Args = compact.Bytes()
	j.CreatedAt, j.ScheduledAt, j.FinalizedAt = ts(j.CreatedAt), ts(j.ScheduledAt), fromNull(finalized).Truncate(time.Millisecond)
	j.Errors, err = store.JobErrors(errs)
	return j, err
}

// ListJobs implements store.WorkReader.
func (r reader) ListJobs(ctx context.Context, f store.JobFilter) ([]store.Job, error) {
	w := where{}
	w.addIf(f.Tenant != "", "args ->> 'tenant' = $", f.Tenant)
	w.addIf(f.Kind != "", "kind = $", f.Kind)
	w.addIf(f.State != "", "state::text = $", f.State)
	w.addIf(f.Run != "", "args ->> 'run' = $", f.Run)
	w.addIf(f.BeforeID > 0, "id < $", f.BeforeID)
	query := selectJob + w.String() + ` ORDER BY id DESC` + w.limit(f.Limit)
	return collect(ctx, r.plain(), "list jobs", scanJob, query, w.args...)
}

const jobByID = selectJob + ` WHERE id = $1`

// Job implements store.WorkReader.
func (r reader) Job(ctx context.Context, id int64) (store.Job, error) {
	found, err := collect(ctx, r.plain(), "read the job", scanJob, jobByID, id)
	if err != nil {
		return store.Job{}, err
	}
	if len(found) == 0 {
		return store.Job{}, oxbow.Errorf(oxbow.CodeNotFound, "there is no job %d; oxbow job list shows those there are", id)
	}
	return found[0], nil
}

const pendingJobs = `
	SELECT count(*) FROM river_job
	WHERE state IN ('available', 'pending', 'retryable', 'running', 'scheduled')
		AND ($1 = '' OR args ->> 'run' = $1) AND ($2 = '' OR args ->> 'tenant' = $2) AND kind <> 'tick'`

// PendingJobs implements store.WorkReader.
func (r reader) PendingJobs(ctx context.Context, tenant, run string) (int, error) {
	var n int
	err := r.plain().QueryRow(ctx, pendingJobs, run, tenant).Scan(&n)
	return n, translate(err, "count waiting jobs")
}

const readyJobs = `
	SELECT count(*) FROM river_job
	WHERE state IN ('available', 'running') AND ($1 = '' OR args ->> 'run' = $1) AND kind <> 'tick'`

// ReadyJobs implements store.WorkReader.
func (r reader) ReadyJobs(ctx context.Context, run string) (int, error) {
	var n int
	err := r.plain().QueryRow(ctx, readyJobs, run).Scan(&n)
	return n, translate(err, "count ready jobs")
}

const queueStats = `
	SELECT q.name, q.paused_at IS NOT NULL,
		count(*) FILTER (WHERE j.state = 'available'), count(*) FILTER (WHERE j.state = 'running'),
		count(*) FILTER (WHERE j.state = 'scheduled'), count(*) FILTER (WHERE j.state = 'retryable'),
		min(j.scheduled_at) FILTER (WHERE j.state = 'available')
	FROM (SELECT name, paused_at FROM river_queue
		UNION ALL SELECT DISTINCT queue, NULL::timestamptz FROM river_job
		WHERE queue NOT IN (SELECT name FROM river_queue) AND state IN ('available', 'running', 'scheduled', 'retryable')) q
	LEFT JOIN river_job j ON j.queue = q.name AND j.state IN ('available', 'running', 'scheduled', 'retryable')
	GROUP BY q.name, q.paused_at ORDER BY q.name COLLATE "C"`

// QueueStats implements store.WorkReader.
func (r reader) QueueStats(ctx context.Context) ([]store.QueueStat, error) {
	return collect(ctx, r.plain(), "read the queues", func(rows pgx.Rows) (store.QueueStat, error) {
		var s store.QueueStat
		var oldest *time.Time
		err := rows.Scan(&s.Queue, &s.Paused, &s.Available, &s.Running, &s.Scheduled, &s.Retryable, &oldest)
		if oldest != nil {
			s.OldestAt = ts(*oldest)
		}
		return s, err
	}, queueStats)
}

const liveWorkers = `SELECT count(*) FROM workers WHERE seen_at >= $1`

// LiveWorkers implements store.WorkReader.
func (r reader) LiveWorkers(ctx context.Context, since time.Time) (int, error) {
	var n int
	err := r.plain().QueryRow(ctx, liveWorkers, ts(since)).Scan(&n)
	return n, translate(err, "count the workers")
}
