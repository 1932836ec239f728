package worker

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/riverqueue/river/rivertype"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/trace"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/store"
)

// around stands around every attempt at a job: it has a span and tells how it
// ended. One that panics is tried again, which River sees to.
func (w *Worker) around(ctx context.Context, row *rivertype.JobRow, work func(context.Context) error) error {
	var about struct {
		Run string `json:"run"`
	}
	_ = json.Unmarshal(row.EncodedArgs, &about) // arguments that are none are the job's own affair
	ctx, span := trace.Job(ctx, row.Kind, about.Run, row.Attempt, store.EnqueuedIn(row))
	began, outcome := time.Now(), jobs.OutcomeRetried
	var failed error
	defer func() {
		took := time.Since(began)
		if w.cfg.Ended != nil {
			w.cfg.Ended(row.Kind, outcome, took)
		}
		w.tell(ctx, outcome, took, failed)
		span.Ended(outcome)
		span.End(failed)
	}()
	err := work(ctx)
	switch outcome = jobs.OutcomeOf(ctx, row, err); outcome {
	case jobs.OutcomeDone, jobs.OutcomeSnoozed, jobs.OutcomeInterrupted:
	default:
		failed = err
	}
	return err
}

// awayEvery is how often the log says that jobs wait for a judge that is away:
// each of them finds that out anew.
const awayEvery = 5 * time.Minute

// tell logs how an attempt ended: what was given up for everybody, and now and
// then that jobs wait for the judge, the rest for who looks closely. Of an error it
// says the code; the queue keeps its words.
func (w *Worker) tell(ctx context.Context, outcome string, took time.Duration, failed error) {
	if w.deps.Log == nil {
		return
	}
	level := slog.LevelDebug
	switch outcome {
	case jobs.OutcomeCancelled, jobs.OutcomeDiscarded:
		level = slog.LevelWarn
	case jobs.OutcomeSnoozed:
		now, said := time.Now().UnixNano(), w.saidAway.Load()
		if now-said >= int64(awayEvery) && w.saidAway.CompareAndSwap(said, now) {
			w.deps.Log.WarnContext(ctx, "the judge is away: jobs wait for it and spend no attempt")
		}
	}
	w.deps.Log.LogAttrs(ctx, level, "job ended", slog.String("outcome", outcome), slog.Int64("took_ms", took.Milliseconds()),
		slog.String("code", oxbow.CodeOf(failed)))
}
