package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/store"
)

// Reindex goes through a scope and indexes each memory by the hints of its
// details, which was stored before there were any, or by older rules, so that
// questions find it whose words nobody said. What a memory's details are is read
// from its words where none are kept with it. New memories are indexed as they
// are stored. It changes no memory and writes nothing to the log, because an
// index follows from the words; it can be watched, stopped, and goes on where it
// was.
type Reindex struct {
	About
	After string `json:"after,omitempty"` // the id behind which it goes on
}

// Kind names the job.
func (Reindex) Kind() string { return "reindex" }

// InsertOpts keeps it to one job of a scope and instant.
func (Reindex) InsertOpts() river.InsertOpts { return passOpts() }

type reindexWorker struct {
	river.WorkerDefaults[Reindex]
	Deps
}

func (w *reindexWorker) Timeout(*river.Job[Reindex]) time.Duration { return 3 * time.Minute }

func (w *reindexWorker) Work(ctx context.Context, job *river.Job[Reindex]) error {
	return w.outcome(ctx, job.JobRow, job.Args.About, w.reindex(ctx, job))
}

func (w *reindexWorker) reindex(ctx context.Context, job *river.Job[Reindex]) error {
	a := job.Args.About
	return w.fill(ctx, job.JobRow, a, filling{
		name: "reindex", version: itoa(text.HintRules),
		left: func(ctx context.Context) (int, error) { return w.Store.CountWithoutHints(ctx, a.scope()) },
		step: byMemories("indexed", func(ctx context.Context, after string) ([]oxbow.Memory, error) {
			return w.Store.WithoutHints(ctx, a.scope(), after, fillBatch)
		}, func(_ context.Context, ms []oxbow.Memory) (storing, error) {
			for i, m := range ms {
				if m.Content.Details == nil {
					ms[i] = w.Detailed(m)
				}
			}
			return func(ctx context.Context, tx store.Tx) (int, error) { return tx.PutHints(ctx, a.scope(), ms) }, nil
		}),
		goesOn: func(cursor string) river.JobArgs {
			next := job.Args
			next.After = cursor
			return next
		},
	})
}
