package lab

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/llm/offline"
	"github.com/oxbow-memory/oxbow/store"
)

// Start is where the clock of a bench stands at first: a Friday at noon, UTC.
var Start = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// Day is the unit of the rules of time.
const Day = 24 * time.Hour

// Statement, Edit and Order are the engine's, so that tests below the engine
// can write through it.
type (
	Statement = engine.Statement
	Edit      = engine.Change
	Order     = engine.Order
)

// Bench is one test's corner of a store: a tenant that nobody else has, with a
// clock, a judge and an engine of its own.
type Bench struct {
	*testing.T
	Ctx    context.Context
	DB     *DB
	Scope  oxbow.Scope
	Clock  *Clock
	Judge  *Judge
	Engine *engine.Engine
	// Embedder is what Embed has set; none at first.
	Embedder llm.Embedder
	// Grapher is what Draw has set; none at first.
	Grapher llm.Grapher
	// Observer is jobs.Deps.Observer; Observe sets it. Defaults to none.
	Observer llm.Observer
	// EmbedFor is jobs.Deps.EmbedFor.
	EmbedFor time.Duration

	// Do works one job, given its dependencies and its row; Drain needs it.
	Do func(context.Context, jobs.Deps, *rivertype.JobRow) error
	// ReadDate reads dates for the gate; without it a judge's dates stand.
	ReadDate jobs.DateReader
	// Twice makes Drain work every job two times.
	Twice bool
	// BeforeTx, when it is set, is called before a job's transactions.
	BeforeTx func()
	// BeforeApply, when it is set, may make a job's changes fail. It is given
	// none for what is retired as a set.
	BeforeApply func([]oxbow.Change) error

	attempts map[int64]int
	asleep   map[int64]bool
}

// New makes a bench in a store.
func New(t *testing.T, db *DB) *Bench {
	t.Helper()
	b := &Bench{T: t, Ctx: t.Context(), DB: db, Clock: NewClock(Start), Judge: &Judge{},
		Scope:    oxbow.Scope{Tenant: "t" + oxbow.NewID(t.Name()), Name: "user:ada"},
		attempts: map[int64]int{}, asleep: map[int64]bool{}}
	b.Engine = engine.New(engine.Config{Store: db, Judge: b.Judge, Clock: b.Clock.Now, ReadDetails: offline.ReadDetails})
	return b
}

// Must fails the test when the bench could not do something.
func (b *Bench) Must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// Remember writes a statement directly, as the user unless it says otherwise.
func (b *Bench) Remember(s Statement) oxbow.Memory {
	b.Helper()
	if s.Scope.Name == "" {
		s.Scope = b.Scope
	}
	w, err := b.Engine.Remember(b.Ctx, s)
	b.Must(err)
	return w.Memory
}

// Say ingests one exchange of a conversation, said by the user at an instant.
func (b *Bench) Say(conversation, text string, at time.Time) {
	b.Helper()
	b.Ingest(oxbow.Turn{Conversation: conversation, User: text, At: at})
}

// Ingest stores turns; those without a scope go to the bench's.
func (b *Bench) Ingest(turns ...oxbow.Turn) {
	b.Helper()
	for i := range turns {
		if turns[i].Scope.Name == "" {
			turns[i].Scope = b.Scope
		}
	}
	_, err := b.Engine.Ingest(b.Ctx, turns)
	b.Must(err)
}

// Get reads a memory anew.
func (b *Bench) Get(id string) oxbow.Memory {
	b.Helper()
	m, err := b.DB.Memory(b.Ctx, b.Scope.Tenant, id)
	b.Must(err)
	return m
}

// Find gives the one memory that says a text.
func (b *Bench) Find(text string) oxbow.Memory {
	b.Helper()
	var found []oxbow.Memory
	for _, m := range b.All() {
		if m.Content.Text == text {
			found = append(found, m)
		}
	}
	if len(found) != 1 {
		b.Fatalf("%d memories say %q: %v", len(found), text, b.Texts())
	}
	return found[0]
}

// All gives every memory of the bench's scope, oldest said first.
func (b *Bench) All() []oxbow.Memory {
	b.Helper()
	var out []oxbow.Memory
	for after := ""; ; {
		ms, err := b.DB.AllMemories(b.Ctx, b.Scope, after, 1000)
		b.Must(err)
		out = append(out, ms...)
		if len(ms) < 1000 {
			break
		}
		after = ms[len(ms)-1].ID
	}
	slices.SortFunc(out, func(x, y oxbow.Memory) int {
		if x.Before(y) {
			return -1
		}
		return 1
	})
	return out
}

// Texts gives what the scope holds, each with its status.
func (b *Bench) Texts() []string {
	b.Helper()
	var out []string
	for _, m := range b.All() {
		out = append(out, string(m.Status)+" "+m.Content.Text)
	}
	return out
}

// EventsOf gives the events of a memory.
func (b *Bench) EventsOf(id string) []oxbow.Event {
	b.Helper()
	es, err := b.DB.EventsOf(b.Ctx, b.Scope.Tenant, []string{id})
	b.Must(err)
	return es
}

// Types gives the types of a memory's events.
func (b *Bench) Types(id string) []oxbow.EventType {
	b.Helper()
	var out []oxbow.EventType
	for _, e := range b.EventsOf(id) {
		out = append(out, e.Type)
	}
	return out
}

// Links gives every edge that touches a memory.
func (b *Bench) Links(id string) []oxbow.Link {
	b.Helper()
	ls, err := b.DB.Links(b.Ctx, b.Scope.Tenant, []string{id})
	b.Must(err)
	return ls
}

// Deps gives what a job gets when the bench works it: the bench's store with
// the fence open and completion without a running job.
func (b *Bench) Deps() jobs.Deps {
	return jobs.Deps{Store: direct{b.DB, b}, Judge: b.Judge, Observer: b.Observer, Embedder: b.Embedder, Grapher: b.Grapher, Clock: b.Clock.Now, ReadDate: b.ReadDate, ReadDetails: offline.ReadDetails, PassBatch: 500, EmbedFor: b.EmbedFor}
}

// Enqueue puts jobs in the queue.
func (b *Bench) Enqueue(args ...river.JobArgs) {
	b.Helper()
	b.Must(b.DB.InTx(b.Ctx, func(ctx context.Context, tx store.Tx) error {
		var ps []river.InsertManyParams
		for _, a := range args {
			ps = append(ps, river.InsertManyParams{Args: a})
		}
		return tx.Enqueue(ctx, ps)
	}))
}

// Pass enqueues a pass about an instant and works everything.
func (b *Bench) Pass(name string, now time.Time) oxbow.Run {
	b.Helper()
	return b.PassShare(name, now, 0)
}

// PassShare is Pass with another brake.
func (b *Bench) PassShare(name string, now time.Time, share float64) oxbow.Run {
	b.Helper()
	run := oxbow.NewID("run", name, b.Scope.String(), now.String(), time.Duration(len(b.attempts)).String())
	args, err := jobs.NewPass(name, jobs.PassArgs{MaxShare: share, About: jobs.About{Tenant: b.Scope.Tenant,
		Scope: b.Scope.Name, Run: run, Now: now, Trigger: "schedule"}})
	b.Must(err)
	b.Enqueue(args)
	b.Drain()
	r, err := b.DB.Run(b.Ctx, b.Scope.Tenant, run)
	b.Must(err)
	return r
}

// Waiting gives the jobs that could run now, oldest first.
func (b *Bench) Waiting() []store.Job {
	b.Helper()
	var out []store.Job
	for before := int64(0); ; {
		js, err := b.DB.ListJobs(b.Ctx, store.JobFilter{Tenant: b.Scope.Tenant, State: "available", BeforeID: before, Limit: 500})
		b.Must(err)
		for _, j := range js {
			if !b.asleep[j.ID] {
				out = append(out, j)
			}
		}
		if len(js) < 500 {
			break
		}
		before = js[len(js)-1].ID
	}
	slices.SortFunc(out, func(x, y store.Job) int { return int(x.ID - y.ID) })
	return out
}

// Drain works jobs, oldest first, until none is left that could run now. A job
// that fails is tried again at once, as often as its kind allows; one that
// waits for a judge sleeps until Wake.
func (b *Bench) Drain() {
	b.Helper()
	for js := b.Waiting(); len(js) > 0; js = b.Waiting() {
		for _, j := range js {
			b.work(j)
		}
	}
}

// Wake lets the jobs that wait for a judge be worked again.
func (b *Bench) Wake() { clear(b.asleep) }

// Attempts gives how many attempts a job has spent.
func (b *Bench) Attempts(id int64) int { return b.attempts[id] }

func (b *Bench) work(j store.Job) {
	b.Helper()
	b.attempts[j.ID]++
	row := Row(j, b.attempts[j.ID])
	err := b.Do(b.Ctx, b.Deps(), row)
	if err == nil && b.Twice {
		err = b.Do(b.Ctx, b.Deps(), row)
	}
	if _, ok := errors.AsType[*rivertype.JobSnoozeError](err); ok {
		b.attempts[j.ID]--
		b.asleep[j.ID] = true
		return
	}
	_, cancelled := errors.AsType[*rivertype.JobCancelError](err)
	if err == nil || cancelled || b.attempts[j.ID] >= j.MaxAttempts {
		b.Must(b.DB.InTx(b.Ctx, func(ctx context.Context, tx store.Tx) error { return tx.CancelJob(ctx, j.ID) }))
	}
}

// Row gives a job of the queue as a worker gets it.
func Row(j store.Job, attempt int) *rivertype.JobRow {
	return &rivertype.JobRow{ID: j.ID, Kind: j.Kind, Queue: j.Queue, Attempt: attempt, MaxAttempts: j.MaxAttempts,
		EncodedArgs: []byte(j.Args), State: rivertype.JobStateRunning}
}

// RowOf gives a job that never stood in the queue.
func RowOf(t testing.TB, args river.JobArgs) *rivertype.JobRow {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return &rivertype.JobRow{ID: -1, Kind: args.Kind(), Attempt: 1, MaxAttempts: 8, EncodedArgs: raw, State: rivertype.JobStateRunning}
}

// direct is a store whose jobs are worked without a River client: no row says
// that they run, so the fence stands open, and to complete one takes it out of
// the queue.
type direct struct {
	store.Store
	b *Bench
}

func (d direct) InTx(ctx context.Context, fn func(context.Context, store.Tx) error) error {
	if d.b.BeforeTx != nil {
		d.b.BeforeTx()
	}
	return d.Store.InTx(ctx, func(ctx context.Context, tx store.Tx) error { return fn(ctx, directTx{tx, d.b}) })
}

type directTx struct {
	store.Tx
	b *Bench
}

func (directTx) Fence(context.Context, *rivertype.JobRow) error { return nil }

func (t directTx) CompleteJob(ctx context.Context, row *rivertype.JobRow) error {
	if err := t.CancelJob(ctx, row.ID); err != nil && oxbow.CodeOf(err) != oxbow.CodeNotFound {
		return err
	}
	return nil
}

func (t directTx) Apply(ctx context.Context, batch store.Batch, changes []oxbow.Change) (store.Applied, error) {
	if t.b.BeforeApply != nil {
		if err := t.b.BeforeApply(changes); err != nil {
			return store.Applied{}, err
		}
	}
	return t.Tx.Apply(ctx, batch, changes)
}

func (t directTx) Retire(ctx context.Context, batch store.Batch, r store.Retirement) (store.Retired, error) {
	if t.b.BeforeApply != nil {
		if err := t.b.BeforeApply(nil); err != nil {
			return store.Retired{}, err
		}
	}
	return t.Tx.Retire(ctx, batch, r)
}
