package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// River keeps times as text; %F %R:%f is the form it writes.
const selectJob = `
	SELECT id, kind, queue, state, attempt, max_attempts, json(args), coalesce(json(errors), '[]'),
		strftime('%s', created_at), strftime('%s', scheduled_at), strftime('%s', finalized_at)
	FROM river_job`

func scanJob(rows *sql.Rows) (store.Job, error) {
	var j store.Job
	var args, errs string
	var created, scheduled, finalized sql.NullString
	err := rows.Scan(&j.ID, &j.Kind, &j.Queue, &j.State, &j.Attempt, &j.MaxAttempts, &args, &errs, &created, &scheduled, &finalized)
	if err != nil {
		return j, err
	}
	j.Args = json.RawMessage(args)
	j.CreatedAt, j.ScheduledAt, j.FinalizedAt = fromSeconds(created), fromSeconds(scheduled), fromSeconds(finalized)
	j.Errors, err = store.JobErrors(errs)
	return j, err
}

func fromSeconds(v sql.NullString) time.Time {
	var n json.Number = json.Number(v.String)
	sec, err := n.Int64()
	if !v.Valid || err != nil {
		return time.Time{}
	}
	return time.Unix(sec, 0).UTC()
}

// ListJobs implements store.WorkReader.
func (r reader) ListJobs(ctx context.Context, f store.JobFilter) ([]store.Job, error) {
	w := where{}
	w.addIf(f.Tenant != "", "json_extract(args, '$.tenant') = ?", f.Tenant)
	w.addIf(f.Kind != "", "kind = ?", f.Kind)
	w.addIf(f.State != "", "state = ?", f.State)
	w.addIf(f.Run != "", "json_extract(args, '$.run') = ?", f.Run)
	w.addIf(f.BeforeID > 0, "id < ?", f.BeforeID)
	return collect(ctx, r.q, "list jobs", scanJob, selectJob+w.String()+` ORDER BY id DESC LIMIT ?`, append(w.args, f.Limit)...)
}

const jobByID = selectJob + ` WHERE id = ?`

// Job implements store.WorkReader.
func (r reader) Job(ctx context.Context, id int64) (store.Job, error) {
	found, err := collect(ctx, r.q, "read the job", scanJob, jobByID, id)
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
		AND (?1 = '' OR json_extract(args, '$.run') = ?1) AND (?2 = '' OR json_extract(args, '$.tenant') = ?2) AND kind <> 'tick'`

// PendingJobs implements store.WorkReader.
func (r reader) PendingJobs(ctx context.Context, tenant, run string) (int, error) {
	var n int
	err := r.q.row(ctx, pendingJobs, run, tenant).Scan(&n)
	return n, translate(err, "count waiting jobs")
}

const readyJobs = `
	SELECT count(*) FROM river_job
	WHERE state IN ('available', 'running') AND (?1 = '' OR json_extract(args, '$.run') = ?1) AND kind <> 'tick'`

// ReadyJobs implements store.WorkReader.
func (r reader) ReadyJobs(ctx context.Context, run string) (int, error) {
	var n int
	err := r.q.row(ctx, readyJobs, run).Scan(&n)
	return n, translate(err, "count ready jobs")
}

const queueStats = `
	SELECT q.name, q.paused_at IS NOT NULL,
		coalesce(sum(j.state = 'available'), 0), coalesce(sum(j.state = 'running'), 0),
		coalesce(sum(j.state = 'scheduled'), 0), coalesce(sum(j.state = 'retryable'), 0),
		strftime('%s', min(CASE WHEN j.state = 'available' THEN j.scheduled_at END))
	FROM (SELECT name, paused_at FROM river_queue
		UNION ALL SELECT DISTINCT queue, NULL FROM river_job
		WHERE queue NOT IN (SELECT name FROM river_queue) AND state IN ('available', 'running', 'scheduled', 'retryable')) q
	LEFT JOIN river_job j ON j.queue = q.name AND j.state IN ('available', 'running', 'scheduled', 'retryable')
	GROUP BY q.name, q.paused_at ORDER BY q.name`

// QueueStats implements store.WorkReader.
func (r reader) QueueStats(ctx context.Context) ([]store.QueueStat, error) {
	return collect(ctx, r.q, "read the queues", func(rows *sql.Rows) (store.QueueStat, error) {
		var s store.QueueStat
		var oldest sql.NullString
		err := rows.Scan(&s.Queue, &s.Paused, &s.Available, &s.Running, &s.Scheduled, &s.Retryable, &oldest)
		s.OldestAt = fromSeconds(oldest)
		return s, err
	}, queueStats)
}

const liveWorkers = `SELECT count(*) FROM workers WHERE seen_at >= ?`

// LiveWorkers implements store.WorkReader.
func (r reader) LiveWorkers(ctx context.Context, since time.Time) (int, error) {
	var n int
	err := r.q.row(ctx, liveWorkers, since.UnixMilli()).Scan(&n)
	return n, translate(err, "count the workers")
}
