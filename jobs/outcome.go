package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/store"
)

// maxAttempts is how often a job is tried before it is given up. Waiting for a
// judge that is away spends none.
const maxAttempts = 8

// longestSnooze bounds what a judge's Retry-After can ask for.
const longestSnooze = 6 * time.Hour

// outcome ends a job in one of its four ways: done (nil), snooze when the judge
// is away, cancel when asking again cannot help, and else retry with backoff.
// Giving up leaves a copy among the discarded jobs.
func (d Deps) outcome(ctx context.Context, row *rivertype.JobRow, a About, err error) error {
	if err == nil {
		return nil
	}
	if away, ok := errors.AsType[*llm.AwayError](err); ok {
		return river.JobSnooze(d.snooze(away.RetryAfter))
	}
	permanent := isPermanent(err)
	if permanent || row.Attempt >= row.MaxAttempts {
		if e := d.discard(ctx, row, a, err); e != nil {
			return errors.Join(err, e)
		}
	}
	if permanent {
		return river.JobCancel(err)
	}
	return err
}

// The ways in which an attempt at a job ends, as OutcomeOf names them.
const (
	OutcomeDone        = "done"
	OutcomeSnoozed     = "snoozed"     // the judge is away; no attempt is spent
	OutcomeRetried     = "retried"     // it is tried again after a while
	OutcomeCancelled   = "cancelled"   // trying again cannot help
	OutcomeDiscarded   = "discarded"   // it was the last attempt
	OutcomeInterrupted = "interrupted" // the worker stops; it goes back as it was
)

// OutcomeOf names how an attempt ended that gave an error, or none.
func OutcomeOf(ctx context.Context, row *rivertype.JobRow, err error) string {
	if err == nil {
		return OutcomeDone
	}
	if _, ok := errors.AsType[*rivertype.JobSnoozeError](err); ok {
		return OutcomeSnoozed
	}
	if _, ok := errors.AsType[*rivertype.JobCancelError](err); ok {
		return OutcomeCancelled
	}
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return OutcomeInterrupted
	case row.Attempt >= row.MaxAttempts:
		return OutcomeDiscarded
	}
	return OutcomeRetried
}

func (d Deps) snooze(asked time.Duration) time.Duration {
	if asked <= 0 {
		asked = d.AwayFor
	}
	if asked <= 0 {
		asked = time.Minute
	}
	return min(asked, longestSnooze)
}

// isPermanent tells whether trying again can help.
func isPermanent(err error) bool {
	switch oxbow.CodeOf(err) {
	case oxbow.CodeInvalid, oxbow.CodeUnauthorized, oxbow.CodeUnsupported:
		return true
	}
	return false
}

// discardWithin bounds the writing of a copy when the job's own time is over.
const discardWithin = 10 * time.Second

// discard keeps our own copy of a job that is given up, with an id of ours.
func (d Deps) discard(ctx context.Context, row *rivertype.JobRow, a About, cause error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) { // the job's own time is over; the copy must be written all the same
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), discardWithin)
		defer cancel()
	}
	return d.Store.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
		return tx.PutDiscarded(ctx, store.Discarded{
			ID:     oxbow.NewID("discarded", row.Kind, string(row.EncodedArgs)),
			Tenant: a.Tenant, Scope: a.Scope, Kind: row.Kind,
			Args: json.RawMessage(row.EncodedArgs), Error: cause.Error(), At: d.now(),
		})
	})
}

// divided asks about items, in halves when the judge refuses their words, to find
// the few that it refuses, and gives those. When both halves of a part are
// refused it is given whole: what is refused is then not among the items. ask
// keeps what it finds.
func divided[T any](items []T, ask func([]T) error) (left []T, err error) {
	err = ask(items)
	for errors.Is(err, llm.ErrRefused) && len(items) > 1 {
		first, second := items[:len(items)/2], items[len(items)/2:]
		one, two := ask(first), ask(second)
		switch bad, worse := errors.Is(one, llm.ErrRefused), errors.Is(two, llm.ErrRefused); {
		case one != nil && !bad:
			return nil, one
		case two != nil && !worse:
			return nil, two
		case bad && worse:
			return items, nil
		case bad:
			items, err = first, one
		default:
			items, err = second, two
		}
	}
	if errors.Is(err, llm.ErrRefused) {
		return items, nil
	}
	return nil, err
}

func itoa(n int) string { return strconv.Itoa(n) }

func isAway(err error) bool {
	_, ok := errors.AsType[*llm.AwayError](err)
	return ok
}
