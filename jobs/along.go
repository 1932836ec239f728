package jobs

import (
	"context"

	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/store"
)

// answered are the questions about new memories that a judge answered when it
// read their turn, by memory.
type answered struct{ rated, dated map[string]bool }

// has tells whether a job would ask what is answered.
func (a answered) has(p river.InsertManyParams) bool {
	switch args := p.Args.(type) {
	case Confidence:
		return a.rated[args.Memory]
	case Expiry:
		return a.dated[args.Memory]
	}
	return false
}

// sayAlong gives new memories the rating and the end that the judge named with
// their words, through the same gate and with the same events as the jobs
// confidence and expiry. One reading of a turn costs a third of asking about
// each memory alone. What is in quarantine is judged when it is released.
func (d Deps) sayAlong(ctx context.Context, tx store.Tx, b store.Batch, s oxbow.ScopeSettings, t oxbow.Turn, made []oxbow.Memory, of map[string]llm.Draft) (answered, error) {
	done := answered{rated: map[string]bool{}, dated: map[string]bool{}}
	var changes []oxbow.Change
	for _, m := range made {
		said := of[m.ID]
		if m.Status == oxbow.Quarantined {
			continue
		}
		if said.Rating != nil {
			done.rated[m.ID] = true
			changes = append(changes, rated(m, *said.Rating, ""))
		}
		if said.Expiry == nil || !m.ExpiresAt.IsZero() {
			continue
		}
		done.dated[m.ID] = true
		expires, review, why := gateExpiry(m, t, *said.Expiry, s, d.ReadDate)
		if why != "" {
			if err := d.refuse(ctx, tx, b, m, why); err != nil {
				return done, err
			}
		} else if !expires.IsZero() || !review.IsZero() {
			changes = append(changes, dated(m, expires, review))
		}
	}
	if len(changes) == 0 {
		return done, nil
	}
	_, err := tx.Apply(ctx, b, sign(changes, "judge", d.Judge.Name()))
	return done, err
}
