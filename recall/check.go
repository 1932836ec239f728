package recall

import (
	"context"
	"slices"
	"strings"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
)

// Hybrid is the strategy of a query that names none.
const Hybrid = "hybrid"

// maxLimit is how many results a query may ask for.
const maxLimit = 100

// strategy is a rule, with the numbers that a query takes when it names none.
type strategy struct {
	limit int
	floor float64
	// find gives candidates with their scores, in the order in which they are shown.
	find func(context.Context, *asking) ([]candidate, error)
}

// strategies are the rules by name.
var strategies = map[string]strategy{
	"facts":     {limit: factsPerSlot * len(contributors), find: facts},
	"memories":  {limit: 10, find: memories},
	"unified":   {limit: 10, find: unified},
	"waterfall": {limit: waterfallLimit, find: waterfall},
	"composite": {limit: compositeLimit, floor: compositeFloor, find: composite},
	"index":     {limit: indexPicks, find: index},
	"hybrid":    {limit: hybridLimit, floor: hybridFloor, find: hybrid},
}

// Strategies gives the names of the strategies, sorted.
func Strategies() []string {
	names := make([]string, 0, len(strategies))
	for name := range strategies {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// check refuses what no rule can work with and fills in what the strategy says.
func check(q *Query) (strategy, error) {
	if q.Strategy == "" {
		q.Strategy = Hybrid
	}
	rule, ok := strategies[q.Strategy]
	if !ok {
		return rule, oxbow.Errorf(oxbow.CodeInvalid, "there is no strategy %q: use one of %s", q.Strategy, strings.Join(Strategies(), ", "))
	}
	if err := q.Scope.Validate(); err != nil {
		return rule, err
	}
	switch {
	case q.Now.IsZero():
		return rule, oxbow.Errorf(oxbow.CodeInvalid, "the query does not say what the time is: set Now")
	case q.Limit < 0 || q.Limit > maxLimit:
		return rule, oxbow.Errorf(oxbow.CodeInvalid, "the limit is %d: use a number from 1 to %d", q.Limit, maxLimit)
	case q.Floor != nil && !(*q.Floor >= 0 && *q.Floor <= 1): // a NaN passes no comparison
		return rule, oxbow.Errorf(oxbow.CodeInvalid, "the floor is %v: use a number from 0 to 1", *q.Floor)
	case q.Budget < 0:
		return rule, oxbow.Errorf(oxbow.CodeInvalid, "the budget is %d tokens: use a number over 0, or none", q.Budget)
	case q.Kind != "" && !slices.Contains(oxbow.Kinds, q.Kind):
		return rule, oxbow.Errorf(oxbow.CodeInvalid, "there is no kind %q: use %s", q.Kind, text.OneOf(oxbow.Kinds))
	case q.Slot != "" && !slices.Contains(contributors, q.Slot):
		return rule, oxbow.Errorf(oxbow.CodeInvalid, "there is no slot %q: use %s", q.Slot, text.OneOf(contributors))
	}
	for _, s := range q.Include {
		if !slices.Contains(recallable, s) {
			return rule, oxbow.Errorf(oxbow.CodeInvalid, "memories cannot be recalled by the status %q: use %s", s, text.OneOf(recallable))
		}
	}
	if q.Limit == 0 {
		q.Limit = rule.limit
	}
	if q.Floor == nil {
		q.Floor = &rule.floor
	}
	q.Tag = strings.ToLower(q.Tag)
	return rule, nil
}

// recallable are the statuses that a query may ask for. What is in quarantine
// stays there until an operator has looked at it.
var recallable = slices.DeleteFunc(slices.Clone(oxbow.Statuses), func(s oxbow.Status) bool {
	return s == oxbow.Erased || s == oxbow.Quarantined
})
