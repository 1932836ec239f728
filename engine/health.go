package engine

import (
	"context"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// The bounds of Health.
const (
	// ChurnWithin is how many of the newest events Churn is counted from.
	ChurnWithin = 20_000
	// StatusDays is how many days Moves reaches back.
	StatusDays = 30
	// movesWithin is how many of the newest events are looked at for Moves. On a
	// store of 100,000 memories and two busy cores that took 0.6 to 1 s.
	movesWithin = 100_000
	strengths   = 10 // buckets
)

// Health is how a tenant's memory is and has been, as charts show it. To work it
// out reads every active memory and the newest events, so it is kept for a minute.
type Health struct {
	At        time.Time            // when it was worked out
	Strengths []int                // active memories by tenths of strength
	Memories  map[oxbow.Status]int // as they stood at At
	From      string               // the first day (UTC) that Moves has seen
	Moves     []store.DayMoves     // of the last StatusDays days
	Churn     []store.Churn        // the oldest day first
}

// Health gives a tenant's. Anew works it out again.
func (e *Engine) Health(ctx context.Context, tenant string) (Health, error) {
	now := e.now()
	return e.healths.get(ctx, tenant, now, e.anew, func(ctx context.Context) (h Health, err error) {
		h.At = now
		if h.Strengths, err = e.st.Strengths(ctx, tenant, now, strengths); err != nil {
			return h, err
		}
		if h.Memories, err = e.CountMemories(ctx, oxbow.Scope{Tenant: tenant}); err != nil {
			return h, err
		}
		if h.From, h.Moves, err = e.st.Moves(ctx, tenant, now.AddDate(0, 0, -StatusDays), movesWithin); err != nil {
			return h, err
		}
		h.Churn, err = e.st.Churn(ctx, tenant, ChurnWithin)
		return h, err
	})
}
