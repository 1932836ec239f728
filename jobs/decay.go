package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// Decay archives the memories of a scope whose strength has fallen under the
// policy's threshold. Strength is computed, never stored: what is indexed is the
// instant at which each memory fades, so the pass costs what fades and not what
// is kept. Fading does not say that a memory was wrong; it can be restored.
type Decay struct{ PassArgs }

// Kind names the job.
func (Decay) Kind() string { return "decay" }

// InsertOpts keeps it to one job of a scope and instant.
func (Decay) InsertOpts() river.InsertOpts { return passOpts() }

type decayWorker struct {
	river.WorkerDefaults[Decay]
	Deps
}

func (w *decayWorker) Timeout(*river.Job[Decay]) time.Duration { return passTimeout }

func (w *decayWorker) Work(ctx context.Context, job *river.Job[Decay]) error {
	return w.outcome(ctx, job.JobRow, job.Args.About, w.runPass(ctx, job.JobRow, job.Args.PassArgs, passes["decay"]))
}

const fadedReason = "its strength fell under the threshold"

// planDecay gives what has faded at now, the longest faded first. The pass
// itself writes it as a set, of what has faded still.
func planDecay(ctx context.Context, r store.Reader, s oxbow.ScopeSettings, now time.Time, after string, limit int) ([]oxbow.Change, string, error) {
	ms, err := r.Faded(ctx, s.Scope, now, after, limit)
	if err != nil {
		return nil, "", err
	}
	changes := make([]oxbow.Change, len(ms))
	for i, m := range ms {
		changes[i] = guarded(oxbow.ArchivedEvent, m, fadedReason)
		changes[i].Guard.FadedBy = now
	}
	return changes, nextCursor(ms, limit, func(m oxbow.Memory) time.Time { return m.FadesAt }), nil
}
