package jobs_test

import (
	"slices"
	"testing"
	"time"

	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/lab"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/store"
)

const day = lab.Day

// bench makes a bench whose jobs are worked directly.
func bench(t *testing.T, db *lab.DB) *lab.Bench {
	t.Helper()
	t.Parallel()
	b := lab.New(t, db)
	b.Do = jobs.Do
	return b
}

// story is a sub-test on a bench of its own.
type story struct {
	name string
	test func(*lab.Bench)
}

// tell runs stories on both databases, side by side in one store.
func tell(t *testing.T, stories ...story) {
	t.Helper()
	t.Parallel()
	lab.Each(t, func(t *testing.T, db *lab.DB) {
		for _, s := range stories {
			t.Run(s.name, func(t *testing.T) { s.test(bench(t, db)) })
		}
	})
}

// equal fails the test when two values differ.
func equal[T comparable](b *lab.Bench, what string, got, want T) {
	b.Helper()
	if got != want {
		b.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func same[T comparable](b *lab.Bench, what string, got, want []T) {
	b.Helper()
	if !slices.Equal(got, want) {
		b.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// count says how many events of a type a memory has.
func count(b *lab.Bench, id string, t oxbow.EventType) int {
	b.Helper()
	n := 0
	for _, e := range b.EventsOf(id) {
		if e.Type == t {
			n++
		}
	}
	return n
}

// reason gives the reason of a memory's last event of a type.
func reason(b *lab.Bench, id string, t oxbow.EventType) string {
	b.Helper()
	out := ""
	for _, e := range b.EventsOf(id) {
		if e.Type == t {
			out = e.Reason
		}
	}
	return out
}

func linked(b *lab.Bench, from, to string, t oxbow.LinkType) bool {
	b.Helper()
	return slices.Contains(b.Links(from), oxbow.Link{From: from, To: to, Type: t})
}

func turns(b *lab.Bench) []oxbow.Turn {
	b.Helper()
	ts, err := b.DB.ListTurns(b.Ctx, store.TurnFilter{Tenant: b.Scope.Tenant, Limit: 1000})
	b.Must(err)
	slices.Reverse(ts)
	return ts
}

// at gives an instant some hours after the bench's beginning, minus a week, so
// that nothing lies ahead of the clock.
func at(hours int) time.Time { return lab.Start.Add(-7*day + time.Duration(hours)*time.Hour) }

// benchOf makes a bench in a scope of its own, for a test that needs many.
func benchOf(t *testing.T, db *lab.DB, scope string) *lab.Bench {
	t.Helper()
	b := lab.New(t, db)
	b.Do = jobs.Do
	b.Scope.Tenant += oxbow.NewID(scope)
	b.Scope.Name = scope
	return b
}

// passArgs gives the job of a pass about an instant.
func passArgs(b *lab.Bench, name, run string, now time.Time) river.JobArgs {
	b.Helper()
	args, err := jobs.NewPass(name, jobs.PassArgs{About: jobs.About{Tenant: b.Scope.Tenant, Scope: b.Scope.Name, Run: run, Now: now, Trigger: "schedule"}})
	b.Must(err)
	return args
}
