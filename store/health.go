package store

import (
	"context"
	"time"

	"github.com/oxbow-memory/oxbow"
)

// HealthReader reads what an operator looks at to see how a tenant's memory is.
type HealthReader interface {
	// Conflicts gives conflicts_with edges whose both ends are active, the newest
	// memories first.
	Conflicts(ctx context.Context, f ConflictFilter) ([]oxbow.Link, error)
	// Strengths counts a tenant's active, unpinned memories by their strength at
	// now: element i counts those from i/n up to (i+1)/n, the last one 1 too. It
	// reads every active memory.
	Strengths(ctx context.Context, tenant string, now time.Time, n int) ([]int, error)
	// Churn counts a tenant's events by day of UTC, as they were recorded, and
	// type, the oldest day first. It looks at the newest events of the database
	// only, at most as many as within says.
	Churn(ctx context.Context, tenant string, within int) ([]Churn, error)
	// CountRunEvents counts the events of some of a tenant's runs by type. It reads
	// every event of theirs. A run without any is left out.
	CountRunEvents(ctx context.Context, tenant string, runs []string) (map[string]map[string]int, error)
	// Moves counts the events that moved a tenant's memories between statuses
	// (oxbow.Moved) and were recorded since an instant, by day of UTC, type and
	// status, the oldest day first. It looks at the newest events only, at most
	// as many as within says; from is the first day of which it may have seen
	// all but the beginning, empty when there is no event.
	Moves(ctx context.Context, tenant string, since time.Time, within int) (from string, ms []DayMoves, err error)
}

// ConflictFilter chooses a page of a tenant's conflicts.
type ConflictFilter struct {
	Tenant, Scope string     // every scope when it is empty
	After         oxbow.Link // go on behind this one, whose memories have to exist; zero from the beginning
	Limit         int
}

// Churn is how often something happened on a day.
type Churn struct {
	Day  string          `json:"day"` // of UTC, as 2006-01-02
	Type oxbow.EventType `json:"type"`
	N    int             `json:"n"`
}

// DayMoves is how often memories were moved on a day.
type DayMoves struct {
	Day    string // of UTC, as 2006-01-02
	Type   oxbow.EventType
	Status oxbow.Status // as in LogCount
	N      int
}

// Filled spreads counted buckets over all n of them.
func Filled(counts map[int]int, n int) []int {
	out := make([]int, n)
	for i, c := range counts {
		out[min(max(i, 0), n-1)] += c
	}
	return out
}
