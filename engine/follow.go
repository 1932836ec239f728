package engine

import (
	"context"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// lateBy is how many numbers back a look reads again: on Postgres, an event
// whose transaction commits after that of a later one shows behind it.
const lateBy = 500

// Follow gives the events of a filter that come after its AfterSeq, or after
// the newest one there is when that is 0 or no event has come so far (of another
// database, say), as looks at the log find them: one at once and one at each tick.
// It ends with ctx, without an error, or with the first error of fn. Limit: an event
// whose transaction stays open while more than 500 others are written is left out.
func (e *Engine) Follow(ctx context.Context, f store.EventFilter, tick <-chan time.Time, fn func([]oxbow.Event) error) error {
	f.Newest, f.Limit = false, 1000
	newest, err := e.NewestEvent(ctx, f.Tenant)
	if err != nil {
		return ended(ctx, err)
	}
	last := f.AfterSeq
	if last == 0 || last > max(newest, 0) {
		last = newest
	}
	first, seen := last, map[int64]bool{}
	for {
		f.AfterSeq = max(first, last-lateBy)
		events, err := e.st.Events(ctx, f)
		if err != nil {
			return ended(ctx, err)
		}
		fresh := events[:0]
		for _, ev := range events {
			if !seen[ev.Seq] {
				seen[ev.Seq] = true
				fresh = append(fresh, ev)
				last = max(last, ev.Seq)
			}
		}
		for seq := range seen {
			if seq <= last-lateBy {
				delete(seen, seq)
			}
		}
		if len(fresh) > 0 {
			if err := fn(fresh); err != nil {
				return ended(ctx, err)
			}
			continue // there may be another page
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick:
		}
	}
}

// NewestEvent gives an AfterSeq behind which Follow finds what comes from now on,
// for a caller that must not miss what comes before Follow has begun.
func (e *Engine) NewestEvent(ctx context.Context, tenant string) (int64, error) {
	newest, err := e.st.Events(ctx, store.EventFilter{Tenant: tenant, Newest: true, Limit: 1})
	if err != nil || len(newest) == 0 {
		return -1, err // 0 would let Follow look for itself
	}
	return newest[0].Seq, nil
}

// ended is no error when the caller wanted the end.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
