package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/recall"
)

// searched bounds the scopes that one search asks.
const searched = 20

// Search asks recall as a person does who looks for something: in one scope, or,
// when the question names none, in every scope of its tenant, the best found
// first: a score says how much of the question is covered, so those of two scopes
// compare. It never counts as use, whatever a scope's policy says. Limit: of many
// scopes it asks those with the most memories, and a note says so.
func (e *Engine) Search(ctx context.Context, q Recall) (recall.Answer, error) {
	if q.Scope.Name != "" {
		return e.ask(ctx, q, e.now())
	}
	asked, all, err := e.LargestScopes(ctx, q.Scope.Tenant, searched)
	if err != nil {
		return recall.Answer{}, err
	}
	out := recall.Answer{At: e.now()}
	if all > len(asked) {
		out.Notes = []string{fmt.Sprintf("looked in the %d scopes with the most memories of %d: choose a scope to look in another", searched, all)}
	}
	for _, s := range asked {
		q.Scope = oxbow.Scope{Tenant: q.Scope.Tenant, Name: s.Name}
		got, err := e.ask(ctx, q, out.At)
		if err != nil {
			return out, err
		}
		out.Strategy = got.Strategy
		out.Results = append(out.Results, got.Results...)
		for _, n := range got.Notes {
			if !slices.Contains(out.Notes, n) {
				out.Notes = append(out.Notes, n)
			}
		}
	}
	slices.SortStableFunc(out.Results, func(a, b recall.Result) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Memory.ID, b.Memory.ID))
	})
	if q.Limit > 0 {
		out.Results = out.Results[:min(len(out.Results), q.Limit)]
	}
	return out, nil
}
