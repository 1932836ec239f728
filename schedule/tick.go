package schedule

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow/jobs"
)

// TickJob is the one periodic job that River itself keeps: once a minute it
// looks at the schedules.
type TickJob struct{}

// Kind names the job.
func (TickJob) Kind() string { return "tick" }

// InsertOpts lets a tick that fails be forgotten; the next one does its work.
func (TickJob) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: jobs.QueueMaintenance, MaxAttempts: 1, Priority: 1}
}

type tickWorker struct {
	river.WorkerDefaults[TickJob]
	jobs.Deps
}

// Register adds the worker of the tick.
func Register(ws *river.Workers, d jobs.Deps) { river.AddWorker(ws, &tickWorker{Deps: d}) }

func (w *tickWorker) Timeout(*river.Job[TickJob]) time.Duration { return time.Minute }

func (w *tickWorker) Work(ctx context.Context, _ *river.Job[TickJob]) error {
	_, err := Tick(ctx, w.Store, w.Now())
	return err
}

// Periodic gives the periodic job for a client's configuration.
func Periodic() *river.PeriodicJob {
	return river.NewPeriodicJob(river.PeriodicInterval(time.Minute), func() (river.JobArgs, *river.InsertOpts) {
		return TickJob{}, nil
	}, &river.PeriodicJobOpts{RunOnStart: true})
}
