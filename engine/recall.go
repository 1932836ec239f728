package engine

import (
	"context"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/recall"
	"github.com/oxbow-memory/oxbow/store"
)

// Recall is a question to a scope, as a door takes it.
type Recall struct {
	Scope    oxbow.Scope
	Text     string
	State    recall.State
	Strategy string         // "" is hybrid
	Limit    int            // 1 to 100; 0 is the strategy's own
	Floor    *float64       // 0 to 1; nil is the strategy's own
	Budget   int            // tokens; 0 is none
	AsOf     time.Time      // zero is now
	Include  []oxbow.Status // statuses beside active
	Slot     string
	Kind     oxbow.Kind
	Tag      string
	// Passive says that nobody asked: the results are put into a prompt by
	// themselves. Being shown is not use, so nothing is counted.
	Passive bool
}

// Recall finds what answers a question. What was asked for counts as use, at
// most once a day and memory; what is recalled of the past does not.
// Errors: invalid for a value that is out of its range, naming the range.
func (e *Engine) Recall(ctx context.Context, q Recall) (recall.Answer, error) {
	now := e.now()
	answer, err := e.recaller.Ask(ctx, recall.Query{Scope: q.Scope, Text: q.Text, State: q.State, Strategy: q.Strategy, Limit: q.Limit,
		Floor: q.Floor, Budget: q.Budget, AsOf: q.AsOf, Include: q.Include, Slot: q.Slot, Kind: q.Kind, Tag: q.Tag, Now: now})
	if err != nil || q.Passive || !q.AsOf.IsZero() || len(answer.Results) == 0 {
		return answer, err
	}
	ids := make([]string, len(answer.Results))
	for i, r := range answer.Results {
		ids[i] = r.Memory.ID
	}
	return answer, e.st.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
		_, err := tx.Use(ctx, q.Scope.Tenant, ids, now)
		return err
	})
}
