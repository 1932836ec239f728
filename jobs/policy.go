package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// ApplyPolicy recomputes the derived fields of a scope's memories after its
// policy was changed: half-life, the instant of fading, and the rank. It goes
// batch by batch and leaves its cursor in the run, so it can be stopped and
// resumed. No memory's state changes, so it writes no events.
type ApplyPolicy struct {
	About
	Version int `json:"version"` // of the settings to apply
}

// Kind names the job.
func (ApplyPolicy) Kind() string { return "apply_policy" }

// InsertOpts keeps it to one job of a run.
func (ApplyPolicy) InsertOpts() river.InsertOpts { return passOpts() }

type policyWorker struct {
	river.WorkerDefaults[ApplyPolicy]
	Deps
}

func (w *policyWorker) Timeout(*river.Job[ApplyPolicy]) time.Duration { return passTimeout }

func (w *policyWorker) Work(ctx context.Context, job *river.Job[ApplyPolicy]) error {
	return w.outcome(ctx, job.JobRow, job.Args.About, w.rederive(ctx, job))
}

func (w *policyWorker) rederive(ctx context.Context, job *river.Job[ApplyPolicy]) error {
	a := job.Args.About
	run, err := w.beginRun(ctx, a, "apply_policy")
	if err != nil || run.Status == oxbow.RunDone {
		return w.orComplete(ctx, job.JobRow, err)
	}
	for {
		s, err := w.Store.Scope(ctx, a.scope())
		if err != nil {
			return err
		}
		ms, err := w.Store.AllMemories(ctx, a.scope(), run.Cursor, w.passBatch())
		if err != nil {
			return err
		}
		if run, err = w.rederiveBatch(ctx, job.JobRow, run, s, ms); err != nil {
			return err
		}
		if len(ms) < w.passBatch() {
			return w.endRun(ctx, job.JobRow, run, false)
		}
	}
}

func (w *policyWorker) rederiveBatch(ctx context.Context, row *rivertype.JobRow, run oxbow.Run, s oxbow.ScopeSettings, ms []oxbow.Memory) (oxbow.Run, error) {
	if len(ms) == 0 {
		return run, nil
	}
	ids := idsOf(ms)
	next := run
	next.Cursor, next.Counts = ids[len(ids)-1], map[string]int{"rederived": len(ids)}
	err := w.commitStep(ctx, row, "apply_policy:"+run.ID+":"+run.Cursor, run.ID, func(ctx context.Context, tx store.Tx) error {
		if err := tx.Rederive(ctx, s.Scope, s.Policy, ids); err != nil {
			return err
		}
		return tx.PutRun(ctx, next)
	})
	next.Counts = nil
	return next, err
}
