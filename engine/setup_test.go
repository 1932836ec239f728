package engine_test

import (
	"context"
	"flag"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/internal/lab"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/worker"
)

// TestMain lets more stories wait side by side than there are processors: most
// of their time is a database's and a queue's.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		if err := flag.Set("test.parallel", "8"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// day is the unit of the rules of time.
const day = lab.Day

// bench is a bench with a real worker beside it, started when it is first needed.
type bench struct {
	*lab.Bench
	worker *worker.Worker
}

// setup makes a bench in a store of its own.
func setup(t *testing.T, db *lab.DB) *bench {
	t.Helper()
	return &bench{Bench: lab.New(t, db)}
}

// drain lets the worker finish everything that could run now.
func (b *bench) drain() {
	b.Helper()
	if b.worker == nil {
		b.worker = b.Worker(worker.Config{})
	}
	b.Finish(b.worker)
}

// story is a sub-test in a store of its own.
type story struct {
	name string
	test func(*bench)
}

// tell runs stories on both databases.
func tell(t *testing.T, stories ...story) {
	t.Helper()
	t.Parallel()
	for _, s := range stories {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			lab.Each(t, func(t *testing.T, db *lab.DB) { s.test(setup(t, db)) })
		})
	}
}

func equal[T comparable](b *bench, what string, got, want T) {
	b.Helper()
	if got != want {
		b.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// code fails the test when an error has another code.
func code(b *bench, what string, err error, want string) {
	b.Helper()
	if got := oxbow.CodeOf(err); got != want {
		b.Errorf("%s: the code is %q (%v), want %q", what, got, err, want)
	}
}

func linked(b *bench, from, to string, t oxbow.LinkType) bool {
	b.Helper()
	return slices.Contains(b.Links(from), oxbow.Link{From: from, To: to, Type: t})
}

func (b *bench) tenant() string { return b.Bench.Scope.Tenant }

// inTx runs fn in one transaction.
func (b *bench) inTx(fn func(context.Context, store.Tx) error) {
	b.Helper()
	b.Must(b.DB.InTx(b.Ctx, fn))
}

// at gives an instant some hours into the week before the bench's beginning.
func at(hours int) time.Time { return lab.Start.Add(-7*day + time.Duration(hours)*time.Hour) }

// remember is Remember that may be refused.
func (b *bench) remember(s engine.Statement) error {
	if s.Scope.Name == "" {
		s.Scope = b.Bench.Scope
	}
	_, err := b.Engine.Remember(b.Ctx, s)
	return err
}
