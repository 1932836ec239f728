package store

import (
	"context"
	"time"

	"github.com/oxbow-memory/oxbow"
)

// HealthReader reads what an operator looks at to see how a tenant's memory is.
type HealthReader interface {
	// Conflicts gives the conflicts_with edges of a tenant whose both ends are
	// active, the newest memories first.
	Conflicts(ctx context.Context, tenant string, limit int) ([]oxbow.Link, error)
	// Strengths counts a tenant's active, unpinned memories by their strength at
	// now: element i counts those from i/n up to (i+1)/n, the last one 1 too. It
	// reads every active memory.
	Strengths(ctx context.Context, tenant string, now time.Time, n int) ([]int, error)
	// Churn counts a tenant's events by day of UTC, as they were recorded, type
	// and, where the type does not say all, status, the oldest day first. It looks at the newest events of the database
	// only, at most as many as within says.
	Churn(ctx context.Context, tenant string, within int) ([]Churn, error)
}

// Churn is how often something happened on a day.
type Churn struct {
	Day  string          `json:"day"` // of UTC, as 2006-01-02
	Type oxbow.EventType `json:"type"`
	// Status is that of LogCount.
	Status oxbow.Status `json:"status,omitempty"`
	N      int          `json:"n"`
}

// Filled spreads counted buckets over all n of them.
func Filled(counts map[int]int, n int) []int {
	out := make([]int, n)
	for i, c := range counts {
		out[min(max(i, 0), n-1)] += c
	}
	return out
}
