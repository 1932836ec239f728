package store

import (
	"context"
	"time"

	"github.com/oxbow-memory/oxbow"
)

// OperatorReader counts over all tenants of a database, for the instruments of
// whoever runs it. No id, no word and no name of a tenant or a scope comes out
// of it. Logs are counted in pieces, so that who remembers what it has counted
// reads only what came since.
type OperatorReader interface {
	// LogEnds gives the last numbers of the two logs that only grow. On a
	// database of many writers a lower number may be committed after a higher
	// one, by as long as a transaction lasts.
	LogEnds(ctx context.Context) (LogEnds, error)
	// CountLog counts the events whose number is above after and at most upto.
	CountLog(ctx context.Context, after, upto int64) ([]LogCount, error)
	// CountLLMCalls counts the requests to models in the same way.
	CountLLMCalls(ctx context.Context, after, upto int64) ([]LLMCount, error)
	// Freshness says of each pass that some scope's schedule names, and that is
	// not paused, how the worst scope stands, by name.
	Freshness(ctx context.Context) ([]Freshness, error)
	// CountBudgets says how the tenants' budgets of a day (UTC, 2006-01-02) stand.
	CountBudgets(ctx context.Context, day string) (Budgets, error)
	// CountDiscarded counts the jobs that were given up, by kind.
	CountDiscarded(ctx context.Context) (map[string]int, error)
}

// LogEnds are the highest numbers of the logs; 0 when one is empty.
type LogEnds struct {
	Event   int64
	LLMCall int64
	// InOrder says that there is one writer at a time, so that no lower number can
	// come to light any more.
	InOrder bool
}

// LogCount is how often one type of event stands in a piece of the log.
type LogCount struct {
	Type oxbow.EventType
	// Status tells created events by the status that the memory began in, and
	// restored and erased ones by the one that it left; empty for the others,
	// whose type says all (oxbow.Moved).
	Status oxbow.Status
	N      int64
}

// LLMCount is the sum of requests with one model and outcome.
type LLMCount struct {
	Model    string
	Outcome  string
	Calls    int64
	In, Out  int64   // tokens
	Cached   int64   // of In
	Cost     float64 // US dollars, of those whose price is known
	Unpriced int64   // of Calls, those whose price is not
}

// Freshness is how a pass stands in the scope where it stands worst.
type Freshness struct {
	Pass string
	// LastSuccess is when the pass last ended well, where that is longest ago; a
	// scope in which it never ran counts from when it was made.
	LastSuccess time.Time
	// NextSlot is the earliest slot that is still to come, or overdue.
	NextSlot time.Time
}

// Budgets is how the budgets of one day stand.
type Budgets struct {
	Most  int64 // tokens, of the tenant that took most
	Short int   // tenants of whom a request was turned away
}
