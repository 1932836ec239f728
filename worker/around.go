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
)

// around stands around every attempt at a job: it has a span and tells how it
// ended. One that panics is tried again, which River sees to.
func (w *Worker) around(ctx context.Context, row *rivertype.JobRow, work func(context.Context) error) error {
	var about struct {
		Run string `json:"run"`
	}
	_ = json.Unmarshal(row.EncodedArgs, &about) // arguments that are none are the job's own affair
	ctx, span := trace.Job(ctx, row.Kind, about.Run, row.Attempt)
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

// tell logs how an attempt ended: what was given up for everybody, the rest for
// who looks closely. Of an error it says the code; the queue keeps its words.
func (w *Worker) tell(ctx context.Context, outcome string, took time.Duration, failed error) {
	if w.deps.Log == nil {
		return
	}
	level := slog.LevelDebug
	if outcome == jobs.OutcomeCancelled || outcome == jobs.OutcomeDiscarded {
		level = slog.LevelWarn
	}
	w.deps.Log.LogAttrs(ctx, level, "job ended", slog.String("outcome", outcome), slog.Int64("took_ms", took.Milliseconds()),
		slog.String("code", oxbow.CodeOf(failed)))
}
