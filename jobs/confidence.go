package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/store"
)

// Confidence rates how surely a memory was stated in its turn. An answer that
// does not parse, or a text that the judge refuses, leaves 0.5, unrated, and the
// event says so.
type Confidence struct{ aboutMemory }

// Kind names the job.
func (Confidence) Kind() string { return "confidence" }

// InsertOpts puts the job behind extract.
func (Confidence) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: QueueWrite, MaxAttempts: maxAttempts, Priority: 2}
}

type confidenceWorker struct {
	river.WorkerDefaults[Confidence]
	Deps
}

func (w *confidenceWorker) Timeout(*river.Job[Confidence]) time.Duration { return time.Minute }

func (w *confidenceWorker) Work(ctx context.Context, job *river.Job[Confidence]) error {
	return w.outcome(ctx, job.JobRow, job.Args.About, w.rate(ctx, job))
}

func (w *confidenceWorker) rate(ctx context.Context, job *river.Job[Confidence]) error {
	a := job.Args.aboutMemory
	m, ok, err := w.current(ctx, w.Store, a)
	if err != nil {
		return err
	}
	if !ok || m.Turn == "" {
		return w.complete(ctx, job.JobRow, nothing)
	}
	t, err := w.Store.Turn(ctx, a.Tenant, m.Turn)
	if err != nil {
		return err
	}
	if t.State == oxbow.TurnErased {
		return w.complete(ctx, job.JobRow, nothing)
	}
	rating, err := w.Judge.Confidence(asking(a.anew(ctx), "confidence", a.scope(), a.Run, m.ID, t.ID), m.Content.Text, textOf(t))
	unrated := ""
	switch {
	case errors.Is(err, llm.ErrUnparsable):
		unrated = "the judge's answer did not parse; left at 0.5"
	case errors.Is(err, llm.ErrRefused):
		unrated = "the judge refuses the text; left at 0.5"
		w.countRefused(RefusedText, 1)
	case err != nil:
		return err
	}
	return w.commit(ctx, job.JobRow, a.key("confidence"), a.Run, func(ctx context.Context, tx store.Tx) error {
		c := rated(m, rating, unrated)
		c.Guard = &oxbow.Guard{Status: m.Status, ContentVersion: m.ContentVersion}
		done, err := tx.Apply(ctx, w.batch(a.About), sign([]oxbow.Change{c}, "judge", w.Judge.Name()))
		if err != nil || len(done.Stale) == 0 {
			return err
		}
		// It was changed meanwhile, which may or may not end what there is to rate.
		m, ok, err := w.current(ctx, tx, a)
		if err != nil || !ok {
			return err
		}
		_, err = tx.Apply(ctx, w.batch(a.About), sign([]oxbow.Change{rated(m, rating, unrated)}, "judge", w.Judge.Name()))
		return err
	})
}

// rated gives the change that a rating makes, or that there is none and why.
func rated(m oxbow.Memory, r llm.Rating, unrated string) oxbow.Change {
	c := oxbow.Change{Type: oxbow.Rated, Memory: m.ID}
	value, yes := max(0, min(1, r.Confidence)), true
	c.Reason = "rated against the turn"
	if unrated != "" {
		value, yes, c.Reason = 0.5, false, unrated
	}
	c.Set.Rating, c.Set.Rated = &value, &yes
	return c
}
