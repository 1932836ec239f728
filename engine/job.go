package engine

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/schedule"
	"github.com/oxbow-memory/oxbow/store"
)

// CancelJob cancels a job of the tenant, running or not; conflict when it has
// ended otherwise.
func (e *Engine) CancelJob(ctx context.Context, tenant string, id int64) error {
	return e.ownJob(ctx, tenant, id, func(ctx context.Context, tx store.Tx) error {
		j, err := tx.Job(ctx, id)
		if err != nil {
			return err
		}
		if s := rivertype.JobState(j.State); s == rivertype.JobStateCompleted || s == rivertype.JobStateDiscarded {
			return oxbow.Errorf(oxbow.CodeConflict, "the job %d is %s already: there is nothing to cancel", id, s)
		}
		return tx.CancelJob(ctx, id)
	})
}

// CancelRun stops a run of the tenant: its jobs are cancelled, running or not,
// what it did stays, and a new one goes on with what is left. Conflict when it
// has ended.
func (e *Engine) CancelRun(ctx context.Context, tenant, id string) (oxbow.Run, error) {
	run, err := e.Run(ctx, tenant, id)
	if err != nil {
		return run, err
	}
	err = e.st.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
		if run, err = tx.Run(ctx, tenant, run.ID); err != nil {
			return err
		}
		if err := e.once(ctx, tx, tenant, "", &served{Run: run.ID}); err != nil {
			return err
		}
		if run.Status != oxbow.RunRunning {
			return oxbow.Errorf(oxbow.CodeConflict, "the run %s is %s: only one that is running can be cancelled", Short(run.ID), run.Status)
		}
		found, err := tx.ListJobs(ctx, store.JobFilter{Tenant: tenant, Run: run.ID, Limit: 1000})
		if err != nil {
			return err
		}
		for _, j := range found {
			if j.FinalizedAt.IsZero() {
				if err := tx.CancelJob(ctx, j.ID); err != nil {
					return err
				}
			}
		}
		stopped := run
		stopped.Status, stopped.FinishedAt, stopped.Counts = oxbow.RunStopped, e.now(), nil
		stopped.Note = "it was cancelled; go on with: oxbow job run " + run.Name + " --scope " + run.Scope.Name
		run.Status, run.FinishedAt, run.Note = stopped.Status, stopped.FinishedAt, stopped.Note
		return tx.PutRun(ctx, stopped)
	})
	if errors.Is(err, errServed) {
		err = nil
	}
	return run, err
}

// RetryJob makes a job of the tenant available at once; conflict when it is
// completed, because what it does is done once.
func (e *Engine) RetryJob(ctx context.Context, tenant string, id int64) error {
	return e.ownJob(ctx, tenant, id, func(ctx context.Context, tx store.Tx) error {
		j, err := tx.Job(ctx, id)
		if err != nil {
			return err
		}
		if j.State == string(rivertype.JobStateCompleted) {
			return oxbow.Errorf(oxbow.CodeConflict, "the job %d is completed and has its effect once: start another one to have the work done anew", id)
		}
		return tx.RetryJob(ctx, id)
	})
}

func (e *Engine) ownJob(ctx context.Context, tenant string, id int64, fn func(context.Context, store.Tx) error) error {
	j, err := e.st.Job(ctx, id)
	if err != nil {
		return err
	}
	var args struct {
		Tenant string `json:"tenant"`
	}
	if err := json.Unmarshal(j.Args, &args); err != nil || args.Tenant != tenant {
		return oxbow.Errorf(oxbow.CodeNotFound, "there is no job %d; oxbow job list shows those there are", id)
	}
	return e.st.InTx(ctx, fn)
}

// RetryDiscarded enqueues a job that was given up once more. A turn that could
// not be read waits again.
func (e *Engine) RetryDiscarded(ctx context.Context, tenant, id string) error {
	all, err := e.st.ListDiscarded(ctx, tenant, 1000)
	if err != nil {
		return err
	}
	for _, d := range all {
		if d.ID != id {
			continue
		}
		args, err := jobs.Decode(d.Kind, d.Args)
		if err != nil {
			return err
		}
		return e.st.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
			if d.Kind == "extract" {
				s := oxbow.Scope{Tenant: d.Tenant, Name: d.Scope}
				if _, err := tx.LockScope(ctx, s, e.now()); err != nil {
					return err
				}
				if _, err := tx.ReopenTurns(ctx, s, time.Time{}, true); err != nil {
					return err
				}
			}
			if err := tx.DropDiscarded(ctx, tenant, id); err != nil {
				return err
			}
			return tx.Enqueue(ctx, []river.InsertManyParams{insert(args)})
		})
	}
	return oxbow.Errorf(oxbow.CodeNotFound, "there is no discarded job %s; oxbow job list --discarded shows those there are", id)
}

// SetQueuePaused pauses or resumes a queue for every worker.
func (e *Engine) SetQueuePaused(ctx context.Context, queue string, paused bool) error {
	switch queue {
	case jobs.QueueWrite, jobs.QueueMaintenance, jobs.QueueSynthesis:
	default:
		return oxbow.Errorf(oxbow.CodeNotFound, "there is no queue %q: use %s, %s or %s", queue, jobs.QueueWrite, jobs.QueueMaintenance, jobs.QueueSynthesis)
	}
	return e.st.InTx(ctx, func(ctx context.Context, tx store.Tx) error { return tx.SetQueuePaused(ctx, queue, paused) })
}

// SetSchedulePaused pauses or resumes a schedule of a scope. A resumed one goes
// on with its next slot from now.
func (e *Engine) SetSchedulePaused(ctx context.Context, s oxbow.Scope, name string, paused bool) error {
	return e.st.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
		settings, err := tx.Scope(ctx, s)
		if err != nil {
			return err
		}
		all, err := tx.ListSchedules(ctx, s)
		if err != nil {
			return err
		}
		for _, d := range all {
			if d.Name != name {
				continue
			}
			d.Paused = paused
			if !paused {
				if d.NextAt, err = schedule.Next(d.Spec, settings.Location(), e.now()); err != nil {
					return err
				}
			}
			return tx.PutSchedule(ctx, d)
		}
		return oxbow.Errorf(oxbow.CodeNotFound, "the scope %s has no schedule %q; oxbow schedule list shows those there are", s.Name, name)
	})
}

// JobOf is what a job is about; what it does not name is empty.
type JobOf struct {
	Scope  string `json:"scope"`
	Memory string `json:"memory"`
	Run    string `json:"run"`
}

// OfJob reads from a job's arguments what it is about.
func OfJob(j store.Job) JobOf {
	var of JobOf
	if json.Unmarshal(j.Args, &of) != nil {
		return JobOf{} // of a kind that this program does not know
	}
	return of
}
