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

// Expiry finds out whether a memory ends by itself: a date becomes expires_at,
// the end of that day in the scope's zone; something that ends with an event
// gets a review date. Dates are read against the day it was said, however late
// it was imported. The judge's day is taken only when the words that it names
// stand in the memory or its turn, and the code reads no other day in them.
type Expiry struct{ aboutMemory }

// Kind names the job.
func (Expiry) Kind() string { return "expiry" }

// InsertOpts puts the job behind extract.
func (Expiry) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: QueueWrite, MaxAttempts: maxAttempts, Priority: 2}
}

type expiryWorker struct {
	river.WorkerDefaults[Expiry]
	Deps
}

func (w *expiryWorker) Timeout(*river.Job[Expiry]) time.Duration { return time.Minute }

func (w *expiryWorker) Work(ctx context.Context, job *river.Job[Expiry]) error {
	return w.outcome(ctx, job.JobRow, job.Args.About, w.date(ctx, job))
}

func (w *expiryWorker) date(ctx context.Context, job *river.Job[Expiry]) error {
	a := job.Args.aboutMemory
	m, ok, err := w.current(ctx, w.Store, a)
	if err != nil {
		return err
	}
	if !ok {
		return w.complete(ctx, job.JobRow, nothing)
	}
	s, err := w.Store.Scope(ctx, a.scope())
	if err != nil {
		return err
	}
	e, err := w.Judge.Expiry(asking(a.anew(ctx), "expiry", a.scope(), a.Run, m.ID), statement("new", m), s.Location())
	if errors.Is(err, llm.ErrUnparsable) && job.Attempt < job.MaxAttempts {
		return err
	}
	notTaken := errors.Is(err, llm.ErrRefused)
	if err != nil && !errors.Is(err, llm.ErrUnparsable) && !notTaken {
		return err
	}
	t, err := w.turnOf(ctx, m, e)
	if err != nil {
		return err
	}
	expires, review, why := gateExpiry(m, t, e, s, w.ReadDate)
	switch {
	case notTaken:
		why = "the judge refuses the text; nobody looked for a day on which it ends"
		w.countRefused(RefusedText, 1)
	case why != "":
		w.countRefused(RefusedDate, 1)
	}
	if expires.IsZero() && review.IsZero() && why == "" {
		return w.commit(ctx, job.JobRow, a.key("expiry"), a.Run, nothing)
	}
	return w.commit(ctx, job.JobRow, a.key("expiry"), a.Run, func(ctx context.Context, tx store.Tx) error {
		m, ok, err := w.current(ctx, tx, a)
		if err != nil || !ok || !m.ExpiresAt.IsZero() {
			return err
		}
		if why != "" {
			return w.refuse(ctx, tx, w.batch(a.About), m, why)
		}
		_, err = tx.Apply(ctx, w.batch(a.About), sign([]oxbow.Change{dated(m, expires, review)}, "judge", w.Judge.Name()))
		return err
	})
}

// turnOf gives the turn in which the words of a date may stand, an empty one when
// it is not asked for or is gone.
func (d Deps) turnOf(ctx context.Context, m oxbow.Memory, e llm.Expiry) (oxbow.Turn, error) {
	if d.ReadDate == nil || e.Date.IsZero() || m.Turn == "" {
		return oxbow.Turn{}, nil
	}
	t, err := d.Store.Turn(ctx, m.Scope.Tenant, m.Turn)
	if oxbow.CodeOf(err) == oxbow.CodeNotFound {
		return oxbow.Turn{}, nil
	}
	return t, err
}

// dated gives the change that a date makes.
func dated(m oxbow.Memory, expires, review time.Time) oxbow.Change {
	c := oxbow.Change{Type: oxbow.Dated, Memory: m.ID, Reason: "it names the day it ends"}
	if expires.IsZero() {
		c.Set.ReviewAt = &oxbow.Instant{Time: review}
		c.Reason = "it ends with an event that has no date"
		return c
	}
	c.Set.ExpiresAt = &oxbow.Instant{Time: expires}
	return c
}
