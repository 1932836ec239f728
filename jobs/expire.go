package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// Expire retires the memories of a scope whose expires_at has passed. It has no
// brake: a date is a date.
type Expire struct{ PassArgs }

// Kind names the job.
func (Expire) Kind() string { return "expire" }

// InsertOpts keeps it to one job of a scope and instant.
func (Expire) InsertOpts() river.InsertOpts { return passOpts() }

type expireWorker struct {
	river.WorkerDefaults[Expire]
	Deps
}

func (w *expireWorker) Timeout(*river.Job[Expire]) time.Duration { return passTimeout }

func (w *expireWorker) Work(ctx context.Context, job *river.Job[Expire]) error {
	return w.outcome(ctx, job.JobRow, job.Args.About, w.runPass(ctx, job.JobRow, job.Args.PassArgs, passes["expire"]))
}

const expiredReason = "the day it named has passed"

// planExpire gives what is past its date at now.
func planExpire(ctx context.Context, r store.Reader, s oxbow.ScopeSettings, now time.Time, after string, limit int) ([]oxbow.Change, string, error) {
	ms, err := r.PastExpiry(ctx, s.Scope, now, after, limit)
	if err != nil {
		return nil, "", err
	}
	changes := make([]oxbow.Change, len(ms))
	for i, m := range ms {
		changes[i] = guarded(oxbow.ExpiredEvent, m, expiredReason)
	}
	return changes, nextCursor(ms, limit, func(m oxbow.Memory) time.Time { return m.ExpiresAt }), nil
}
