// Package storetest is the conformance suite that says what a store is.
//
// A database is a store of Oxbow when Run and RunAdmin pass on it. The suite
// reads like the contract in package store: a file for each role, a sub-test
// for each promise, named as the sentence that it holds the database to.
// Nothing here knows SQL but the few lines of RunAdmin that damage a database
// on purpose, and those are plain enough for every dialect.
//
// Most sub-tests share one store and work in a tenant of their own, side by
// side with the others. That is fast, and it is the first test of the rule that
// tenants never meet.
//
// Only tests may import it. Replay is for tests of other packages too: it says
// whether the table is still the replay of the log.
package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// Dialect is what RunAdmin needs of a database beside opening it.
type Dialect struct {
	// Open gives a fresh, migrated store that is closed when the test ends.
	Open func(t testing.TB) store.Store
	// Empty makes a new database without tables and gives a function that
	// opens it. Each call of that gives one more Store on the same database,
	// as another process would have it; all are closed when the test ends.
	Empty func(t testing.TB) func() store.Store
	// Exec runs one SQL statement on the store's database, behind its back.
	Exec func(t testing.TB, s store.Store, sql string)
}

// Run holds a database to the contract of package store, but for what RunAdmin
// asks. open gives a fresh, migrated store that is closed when the test ends;
// it is asked for a few, so it may take its time.
func Run(t *testing.T, open func(t testing.TB) store.Store) {
	t.Run("shared", func(t *testing.T) {
		t.Parallel()
		s := open(t)
		for _, p := range shared {
			t.Run(p.name, func(t *testing.T) {
				t.Parallel()
				p.test(t, s)
			})
		}
	})
	t.Run("carry", func(t *testing.T) {
		t.Parallel()
		testCarry(t, open)
	})
	for _, p := range alone {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			p.test(t, open(t))
		})
	}
}

// part is a file of the suite.
type part struct {
	name string
	test func(*testing.T, store.Store)
}

// shared are the parts that work in one store, side by side.
var shared = []part{
	{"memories", testMemories}, {"filters", testFilters}, {"tenants", testTenants}, {"strongest", testStrongest},
	{"apply", testApply}, {"addresses", testAddresses}, {"use", testUse}, {"erase", testErase}, {"verdicts", testVerdicts},
	{"search", testSearch}, {"ranking", testRanking}, {"match", testMatch}, {"beside", testBeside}, {"resolve", testResolve}, {"log", testLog}, {"turns", testTurns},
	{"scopes", testScopes}, {"schedules", testSchedules}, {"passes", testPasses}, {"retire", testRetire}, {"runs", testRuns}, {"text", testText},
	{"budgets", testBudgets}, {"calls", testCalls}, {"answers", testAnswers}, {"access", testAccess}, {"health", testHealth}, {"statuses", testStatuses}, {"shown", testShown}, {"notes", testNotes}, {"cues", testCues}, {"requests", testRequests},
	{"vectors", testVectors}, {"hints", testHints}, {"vector pages", testVectorPages}, {"nearest", testNearest}, {"graph", testGraph}, {"walk", testWalk}, {"graph erase", testGraphErase}, {"hub", testHub}, {"graph joins", testGraphJoins}, {"nodes", testNodes},
}

// alone are the parts with a store each: those that check all of a database,
// or work its jobs, or crowd its writer.
var alone = []part{
	{"replay", testReplay}, {"transactions", testTransactions}, {"queue", testQueue}, {"work", testWork}, {"workers", testWorkers}, {"operator", testOperator},
}

// start is the instant from which the suite counts; a whole millisecond,
// because that is what both databases keep.
var start = time.Date(2024, 3, 1, 12, 0, 0, 0, time.UTC)

// day is the unit of the rules of time.
const day = 24 * time.Hour

// fixture is one sub-test's corner of a store: a tenant that nobody else has.
type fixture struct {
	*testing.T
	ctx   context.Context
	s     store.Store
	scope oxbow.Scope
}

// setup marks the sub-test parallel and gives it its tenant. A sub-test that
// opens a store of its own sets it afterwards.
func setup(t *testing.T, s store.Store) *fixture {
	t.Helper()
	t.Parallel()
	return &fixture{T: t, ctx: t.Context(), s: s,
		scope: oxbow.Scope{Tenant: "t" + oxbow.NewID(t.Name()), Name: "user:ada"}}
}

// other gives a second scope of the same tenant.
func (f *fixture) other() oxbow.Scope {
	return oxbow.Scope{Tenant: f.scope.Tenant, Name: "project:apollo"}
}

// id gives the id that a name has in this sub-test.
func (f *fixture) id(name string) string { return oxbow.NewID(f.Name(), name) }

// ids gives the ids of names.
func (f *fixture) ids(names ...string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = f.id(n)
	}
	return out
}

// memory gives a plain active memory that set may change.
func (f *fixture) memory(name string, set ...func(*oxbow.Memory)) oxbow.Memory {
	m := oxbow.Memory{
		ID: f.id(name), Scope: f.scope, Status: oxbow.Active, Kind: oxbow.Semantic,
		Content:    oxbow.Content{Text: "the memory called " + name},
		Importance: 5, Rating: 0.7, Rated: true, Source: oxbow.FromUser,
		SaidAt: start, CreatedAt: start.Add(time.Second),
	}
	for _, s := range set {
		s(&m)
	}
	return m
}

// fact gives a setter that makes a memory a fact at an address.
func fact(slot, key string) func(*oxbow.Memory) {
	return func(m *oxbow.Memory) { m.Kind, m.Slot, m.Key = oxbow.Fact, slot, key }
}

// says gives a setter of a memory's text.
func says(text string) func(*oxbow.Memory) {
	return func(m *oxbow.Memory) { m.Content.Text = text }
}

// created gives the change that creates a memory.
func created(m oxbow.Memory) oxbow.Change {
	return oxbow.Change{Type: oxbow.Created, Memory: m.ID, New: &m, Actor: "user"}
}

// change gives an unguarded change of a named memory.
func (f *fixture) change(t oxbow.EventType, name string, set ...func(*oxbow.Change)) oxbow.Change {
	c := oxbow.Change{Type: t, Memory: f.id(name), Actor: "operator", Reason: "the suite says so"}
	for _, s := range set {
		s(&c)
	}
	return c
}

// batch gives the batch that this sub-test's changes belong to.
func (f *fixture) batch() store.Batch {
	return store.Batch{Scope: f.scope, Run: f.id("run"), Now: start.Add(time.Hour), RecordedAt: start.Add(2 * time.Hour)}
}

// tx runs fn in a transaction that must commit.
func (f *fixture) tx(fn func(ctx context.Context, tx store.Tx) error) {
	f.Helper()
	if err := f.s.InTx(f.ctx, fn); err != nil {
		f.Fatalf("the transaction failed: %v", err)
	}
}

// tryApply applies changes in a transaction of their own.
func (f *fixture) tryApply(changes ...oxbow.Change) (store.Applied, error) {
	var out store.Applied
	err := f.s.InTx(f.ctx, func(ctx context.Context, tx store.Tx) error {
		var err error
		out, err = tx.Apply(ctx, f.batch(), changes)
		return err
	})
	return out, err
}

// apply applies changes that must succeed.
func (f *fixture) apply(changes ...oxbow.Change) store.Applied {
	f.Helper()
	out, err := f.tryApply(changes...)
	if err != nil {
		f.Fatalf("the changes were refused: %v", err)
	}
	return out
}

// create stores memories in one call of Apply.
func (f *fixture) create(ms ...oxbow.Memory) {
	f.Helper()
	changes := make([]oxbow.Change, len(ms))
	for i, m := range ms {
		changes[i] = created(m)
	}
	f.apply(changes...)
}

// get reads the named memory.
func (f *fixture) get(name string) oxbow.Memory {
	f.Helper()
	m, err := f.s.Memory(f.ctx, f.scope.Tenant, f.id(name))
	if err != nil {
		f.Fatalf("%s is not there: %v", name, err)
	}
	return m
}

// settings locks, and so makes, the sub-test's scope.
func (f *fixture) settings() oxbow.ScopeSettings {
	f.Helper()
	return f.lock(f.scope)
}

// lock locks, and so makes, a scope.
func (f *fixture) lock(s oxbow.Scope) (out oxbow.ScopeSettings) {
	f.Helper()
	f.tx(func(ctx context.Context, tx store.Tx) (err error) {
		out, err = tx.LockScope(ctx, s, start)
		return err
	})
	return out
}

// wantCode fails unless an error has a code; "" wants none.
func (f *fixture) wantCode(err error, code string) {
	f.Helper()
	if got := oxbow.CodeOf(err); got != code {
		f.Fatalf("the error is %v (%q), want the code %q", err, got, code)
	}
}

// must gives the value of a call that may not fail, to be called with the
// sub-test that it fails: must(s.Memory(...))(f).
func must[T any](v T, err error) func(*fixture) T {
	return func(f *fixture) T {
		f.Helper()
		if err != nil {
			f.Fatalf("the call failed: %v", err)
		}
		return v
	}
}

// ptr gives a pointer to a value, for patches.
func ptr[T any](v T) *T { return &v }
