package store

import (
	"context"

	"github.com/oxbow-memory/oxbow"
)

// StatusReader lets who has counted a tenant's memories once move the counts on
// by the log, in place of counting anew. What it gives is exact when it is put
// together as engine/tally.go does it.
type StatusReader interface {
	// LogMark says where the log of all tenants ends now.
	LogMark(ctx context.Context) (LogMark, error)
	// CountStatuses counts a tenant's memories by scope and status, and as Late
	// what the events whose number is above after moved, both as they stood at
	// one instant. It reads every memory of the tenant.
	CountStatuses(ctx context.Context, tenant string, after int64) (StatusLook, error)
	// MovedStatuses gives what the events of a tenant moved whose number is above
	// after: as Early those up to upto, as Late those above it. It reads the log of
	// all tenants above after, and no memory.
	MovedStatuses(ctx context.Context, tenant string, after, upto int64) (StatusLook, error)
}

// LogMark is where the log ends. On a database of many writers a lower number may
// become visible after a higher one. It does so no more when a look's Over has
// reached the mark's Open: all that was being written at the mark is over then.
type LogMark struct {
	End  int64 // the last number; 0 when the log is empty
	Open int64 // the database's own count of transactions; 0 where there is one writer
}

// StatusCounts is how many memories stand in each status, by the name of a scope.
// As a difference it may hold less than none.
type StatusCounts map[string]map[oxbow.Status]int

// StatusLook is what was seen at one instant.
type StatusLook struct {
	Counts      StatusCounts
	Early, Late StatusCounts
	Over        int64 // transactions below it are over; 0 where there is one writer
}

// StatusPart says what a row that a dialect reads belongs to.
type StatusPart string

// The parts of a look.
const (
	CountedPart StatusPart = "counted"
	EarlyPart   StatusPart = "early"
	LatePart    StatusPart = "late"
	OverPart    StatusPart = "over" // its n is Over
)

// Add enters a row of a look: the count of memories in a status, or of events of
// a type, whose status is as in LogCount.
func (l *StatusLook) Add(part StatusPart, scope string, t oxbow.EventType, s oxbow.Status, n int64) {
	switch part {
	case OverPart:
		l.Over = n
	case CountedPart:
		l.Counts = l.Counts.Plus(scope, s, int(n))
	case EarlyPart:
		l.Early = l.Early.moved(scope, t, s, int(n))
	case LatePart:
		l.Late = l.Late.moved(scope, t, s, int(n))
	}
}

func (c StatusCounts) moved(scope string, t oxbow.EventType, s oxbow.Status, n int) StatusCounts {
	from, to := oxbow.Moved(t, s)
	if from == to {
		return c
	}
	if from != "" {
		c = c.Plus(scope, from, -n)
	}
	return c.Plus(scope, to, n)
}

// Plus adds n memories of a scope to a status, in place, and gives the counts,
// which are made when there are none.
func (c StatusCounts) Plus(scope string, s oxbow.Status, n int) StatusCounts {
	if c == nil {
		c = StatusCounts{}
	}
	if c[scope] == nil {
		c[scope] = map[oxbow.Status]int{}
	}
	c[scope][s] += n
	return c
}

// PlusAll adds what others hold, times a factor, in place, and gives the counts.
func (c StatusCounts) PlusAll(others StatusCounts, factor int) StatusCounts {
	for scope, by := range others {
		for s, n := range by {
			c = c.Plus(scope, s, factor*n)
		}
	}
	return c
}
