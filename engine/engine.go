// Package engine holds Oxbow's use cases: everything that a person or a program
// can ask for, in one place, so that the command line, the HTTP API and the MCP
// server have no logic of their own. A Go program that uses Oxbow as a library
// starts here: open a store, choose a judge, make an Engine, and call Remember
// or Ingest; a worker (package worker) does the rest in the background.
//
//	e := engine.New(engine.Config{Store: st, Judge: offline.New(), ReadDate: offline.ReadDate, ReadDetails: offline.ReadDetails})
//	m, err := e.Remember(ctx, engine.Statement{Scope: scope, Text: "We use MySQL"})
//
// Every method names its tenant, times come from Config.Clock, and errors carry
// the codes of package oxbow.
package engine

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/recall"
	"github.com/oxbow-memory/oxbow/schedule"
	"github.com/oxbow-memory/oxbow/store"
)

// Config is what an engine works with.
type Config struct {
	Store store.Store
	Judge llm.Judge
	// Clock gives the present. Defaults to time.Now.
	Clock func() time.Time
	// ReadDate reads dates by rules; see jobs.Deps. Defaults to nil.
	ReadDate jobs.DateReader
	// ReadDetails reads the typed details kept with a memory; see jobs.Deps.
	// Defaults to the judge's own reading.
	ReadDetails jobs.DetailReader
	// Budget is how many tokens a tenant may take in a day, for Status to
	// measure by. Defaults to 0: no budget is shown.
	Budget int64
	// Embedder makes the vectors of questions and, in the jobs that a write
	// enqueues, of memories. Defaults to nil: memories are found by words alone.
	Embedder llm.Embedder
	// Grapher reads what memories name, in the jobs that a write enqueues, for the
	// graph. Defaults to nil: nothing is added to it.
	Grapher llm.Grapher
	// Observer condenses conversations. Defaults to the judge, when it can.
	Observer llm.Observer
	// VectorWeight, Days and Classes are those of recall.Config. Default to nothing.
	VectorWeight float64
	Days         func(text string, ref time.Time, zone *time.Location) []recall.Span
	Classes      func(question string) []recall.Class
	// VectorBytes bounds the memory that recall takes for vectors; see
	// recall.Config. Defaults to 64 MiB.
	VectorBytes int64
	// Actor names who asks, in the audit log. Defaults to "operator".
	Actor string
}

// Engine answers the use cases. It is safe for concurrent use.
type Engine struct {
	st    store.Store
	judge llm.Judge
	deps  jobs.Deps
	actor string
	// tokens of a tenant and day; 0 is none
	budget   int64
	recaller *recall.Recaller
	keysMade *atomic.Int64 // by this engine and by those of As
	tallies  *tallies
	stocks   *keeper[stock]  // by tenant and scope
	healths  *keeper[Health] // by tenant
	anew     bool            // see Anew
}

// New makes an engine; it does no I/O.
func New(cfg Config) *Engine {
	if cfg.Observer == nil {
		cfg.Observer = llm.CanObserve(cfg.Judge)
	}
	if cfg.Actor == "" {
		cfg.Actor = "operator"
	}
	return &Engine{st: cfg.Store, judge: cfg.Judge, actor: cfg.Actor, budget: cfg.Budget,
		recaller: newRecaller(cfg), keysMade: new(atomic.Int64), tallies: newTallies(cfg.Store), stocks: new(keeper[stock]), healths: new(keeper[Health]),
		deps: jobs.Deps{Store: cfg.Store, Judge: cfg.Judge, Observer: cfg.Observer, Embedder: cfg.Embedder, Grapher: cfg.Grapher, Clock: cfg.Clock, ReadDate: cfg.ReadDate, ReadDetails: cfg.ReadDetails}}
}

// Deps is what a worker of the same memories works with, so that it judges as the
// engine expects.
func (e *Engine) Deps() jobs.Deps { return e.deps }

// newRecaller gives recall what the engine has; a judge that can select picks for
// the strategy index.
func newRecaller(cfg Config) *recall.Recaller {
	c := recall.Config{Store: cfg.Store, Embedder: cfg.Embedder, VectorWeight: cfg.VectorWeight, Days: cfg.Days, Classes: cfg.Classes, VectorBytes: cfg.VectorBytes}
	if s, ok := cfg.Judge.(llm.Selector); ok {
		c.Selector = s
	}
	return recall.New(c)
}

// Store gives the store, for what only reads.
func (e *Engine) Store() store.Store { return e.st }

// Recaller gives the engine's recall, for what asks at a present of its own and
// counts no use.
func (e *Engine) Recaller() *recall.Recaller { return e.recaller }

// Now gives the present, by the engine's clock.
func (e *Engine) Now() time.Time { return e.now() }

func (e *Engine) now() time.Time { return e.deps.Now() }

// openScope locks a scope and, when it is new, gives it its schedules.
func (e *Engine) openScope(ctx context.Context, tx store.Tx, s oxbow.Scope) (oxbow.ScopeSettings, error) {
	now := e.now()
	settings, err := tx.LockScope(ctx, s, now)
	if err != nil || !settings.CreatedAt.Equal(now) {
		return settings, err
	}
	have, err := tx.ListSchedules(ctx, s)
	if err != nil || len(have) > 0 {
		return settings, err
	}
	return settings, schedule.Ensure(ctx, tx, settings, now)
}

// randomID makes an id that nothing else has.
func randomID(parts ...string) string {
	b := make([]byte, 16)
	if _, err := rand.Read(b); err != nil { // never fails on supported systems
		panic(err)
	}
	return oxbow.NewID(append(parts, hex.EncodeToString(b))...)
}

func (e *Engine) newRun(s oxbow.Scope, name, trigger string) oxbow.Run {
	now := e.now()
	return oxbow.Run{ID: randomID("run", name), Scope: s, Name: name, Trigger: trigger, Status: oxbow.RunDone,
		About: now, StartedAt: now, FinishedAt: now}
}

func (e *Engine) batch(run oxbow.Run) store.Batch {
	return store.Batch{Scope: run.Scope, Run: run.ID, Now: run.About, RecordedAt: e.now()}
}

func about(run oxbow.Run) jobs.About {
	return jobs.About{Tenant: run.Scope.Tenant, Scope: run.Scope.Name, Run: run.ID, Now: run.About, Trigger: run.Trigger}
}

func insert(args river.JobArgs) river.InsertManyParams { return river.InsertManyParams{Args: args} }
