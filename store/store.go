// Package store is the contract of Oxbow's memory of its own: what a database
// must do for the jobs, the engine and the worker. store/sqlite and
// store/postgres implement it in mirrored files; store/storetest is the suite
// that says whether an implementation is one.
//
// It imports the vocabulary and River's non-generic types only. No package
// above it sees SQL, a driver's error or River's type parameter.
//
// Three rules hold for every method. Times are parameters: no method reads a
// clock. Errors carry a code of package oxbow: what is missing is not_found,
// what is in another state is conflict. And every read and write stays inside
// the (tenant, scope) that it names.
package store

import (
	"context"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/oxbow-memory/oxbow"
)

// Store is one open database. Its reads see the last committed state and may
// run beside a writer.
type Store interface {
	Reader
	Admin

	// InTx runs fn in one transaction and commits when fn gives nil. fn may be
	// run again when the database asks for it, so it must have no effect
	// outside of tx, and inside it only tx may be used. A write may wait for the
	// next read or the commit, so its error may come from there. The context that fn
	// gets must be used for tx. Errors of fn come back as they are.
	InTx(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error

	// Snapshot runs fn with a reader of one committed state, whatever is written
	// meanwhile. It holds up no writer. The context that fn gets must be used
	// for the reader, and the reader nowhere else.
	Snapshot(ctx context.Context, fn func(ctx context.Context, r Reader) error) error

	// Close waits for running transactions and closes the database.
	Close() error
}

// Tx is one open transaction: everything it reads sees what it wrote. It is one
// tenant's, the first that a call names; a database may refuse another with
// internal. Only one that read DueSchedules goes from tenant to tenant.
type Tx interface {
	Reader
	Writer
	Queue
}

// Reader is everything that can be asked.
type Reader interface {
	MemoryReader
	Searcher
	Recaller
	LogReader
	TurnReader
	NoteReader
	ScopeReader
	PassReader
	WorkReader
	LLMReader
	AccessReader
	ShownReader
	CueReader
	HealthReader
	StatusReader
	OperatorReader
	VectorReader
	HintReader
	GraphReader
	Dumper
	NodeVectorReader
}

// Writer is everything that can be changed.
type Writer interface {
	MemoryWriter
	PassWriter
	TurnWriter
	NoteWriter
	RunWriter
	ScopeWriter
	LLMWriter
	AccessWriter
	ShownWriter
	CueWriter
	VectorWriter
	HintWriter
	GraphWriter
	Loader
	NodeVectorWriter
}

// MemoryReader reads memories.
type MemoryReader interface {
	// Memory gives one memory with its content; not_found.
	Memory(ctx context.Context, tenant, id string) (oxbow.Memory, error)
	// Memories gives those of the ids that exist, in the order of the ids.
	Memories(ctx context.Context, tenant string, ids []string) ([]oxbow.Memory, error)
	// ListMemories gives a page, newest said first, then by id descending. Of a
	// turn it gives also the observations that rest on it among others.
	ListMemories(ctx context.Context, f MemoryFilter) ([]oxbow.Memory, error)
	// FactHistory gives every memory ever held at an address, in any status
	// but erased and quarantined, oldest said first.
	FactHistory(ctx context.Context, s oxbow.Scope, slot, key string) ([]oxbow.Memory, error)
	// StrongestMemories gives the live memories over the policy's ListAbove by
	// importance * confidence * strength at now, descending, then by id, without notes.
	StrongestMemories(ctx context.Context, s oxbow.ScopeSettings, now time.Time, limit int) ([]oxbow.Memory, error)
	// CountMemories counts a tenant's memories by status; an empty scope name
	// counts all scopes.
	CountMemories(ctx context.Context, s oxbow.Scope) (map[oxbow.Status]int, error)
	// CountRefused counts what the gate refused in what was processed at or
	// after since: the events that say so, and what runs counted that has no
	// memory to carry an event. A refused rewriting has events. An empty scope
	// name counts all scopes.
	CountRefused(ctx context.Context, s oxbow.Scope, since time.Time) (int, error)
}

// MemoryFilter selects memories of a tenant; empty fields do not restrict.
type MemoryFilter struct {
	Tenant string
	Scope  string
	Status []oxbow.Status
	Kind   oxbow.Kind
	Kinds  []oxbow.Kind // any of them, beside Kind
	Slot   string
	Tag    string
	Turn   string
	// Conversation selects what was said in one; of a named scope it is found by
	// an index, however many memories the scope has.
	Conversation string
	Since        time.Time // said at or after
	LiveAt       time.Time // leaves out active ones that have faded or ended by then
	AfterID      string    // the last id of the page before
	Limit        int       // 1 to 1000
}

// Searcher finds memories by their words.
type Searcher interface {
	// Search ranks a scope's memories by BM25 over their analysed terms, best
	// first, ties by id. It never fails for what a query says.
	Search(ctx context.Context, q SearchQuery) ([]Hit, error)
	// Resolve gives the one full id of a kind of thing (memory, turn, run)
	// that begins with a prefix; not_found, or conflict when several do.
	Resolve(ctx context.Context, tenant, thing, prefix string) (string, error)
}

// SearchQuery asks for the memories of a scope that share words with a text.
type SearchQuery struct {
	Scope    oxbow.Scope
	Text     string
	Statuses []oxbow.Status
	Exclude  string   // an id to leave out
	Notes    NoteRule // observations and reflections
	K1, B    float64
	// MaxPostings bounds the work: a word that stands in more memories of the
	// scope is left out, unless every word does. 0 means no bound.
	MaxPostings   int
	Limit, Offset int
}

// Hit is a memory id with its score.
type Hit struct {
	ID    string
	Score float64
}

// LogReader reads what happened.
type LogReader interface {
	// Events gives a page of the audit log in the order of Seq, descending
	// when the filter says so.
	Events(ctx context.Context, f EventFilter) ([]oxbow.Event, error)
	// EventsOf gives every event of the memories, by memory and version.
	EventsOf(ctx context.Context, tenant string, ids []string) ([]oxbow.Event, error)
	// Links gives every edge that touches one of the ids.
	Links(ctx context.Context, tenant string, ids []string) ([]oxbow.Link, error)
	// Verdicts gives every verdict that touches one of the ids.
	Verdicts(ctx context.Context, tenant string, ids []string) ([]oxbow.Verdict, error)
	// Run gives one run; not_found.
	Run(ctx context.Context, tenant, id string) (oxbow.Run, error)
	// ListRuns gives a page: the newest first, by what they are about.
	ListRuns(ctx context.Context, f RunFilter) ([]oxbow.Run, error)
	// ContentBody gives a content row, for the words of an earlier version;
	// not_found when it was erased.
	ContentBody(ctx context.Context, tenant, id string) (oxbow.Content, oxbow.Seal, error)
}

// EventFilter selects events of a tenant; empty fields do not restrict.
type EventFilter struct {
	Tenant   string
	Scope    string
	Memory   string
	Run      string
	Types    []oxbow.EventType
	Since    time.Time // about this instant or later
	AfterSeq int64     // for going on; before it when Newest
	Newest   bool
	Limit    int
}

// RunFilter selects runs of a tenant.
type RunFilter struct {
	Tenant  string
	Scope   string
	Name    string
	Status  oxbow.RunStatus
	AfterID string // for going on behind this run
	Limit   int
}

// TurnReader reads turns.
type TurnReader interface {
	// Turn gives one turn with its text; not_found.
	Turn(ctx context.Context, tenant, id string) (oxbow.Turn, error)
	// ListTurns gives a page, newest first.
	ListTurns(ctx context.Context, f TurnFilter) ([]oxbow.Turn, error)
	// NextTurns gives a scope's waiting turns in the order in which they were
	// said, then by id.
	NextTurns(ctx context.Context, s oxbow.Scope, limit int) ([]oxbow.Turn, error)
	// CountTurns counts a tenant's turns by state; an empty name counts all scopes.
	CountTurns(ctx context.Context, s oxbow.Scope) (map[oxbow.TurnState]int, error)
}

// TurnFilter selects turns of a tenant.
type TurnFilter struct {
	Tenant       string
	Scope        string
	Conversation string
	State        oxbow.TurnState
	Since        time.Time
	AfterID      string
	Limit        int
}

// ScopeReader reads settings and schedules.
type ScopeReader interface {
	// Scope gives a scope's settings; not_found when nothing was ever stored
	// in it or set of it.
	Scope(ctx context.Context, s oxbow.Scope) (oxbow.ScopeSettings, error)
	// ListScopes gives a tenant's scopes by name; an empty tenant gives all.
	ListScopes(ctx context.Context, tenant string) ([]oxbow.ScopeSettings, error)
	// ListSchedules gives a scope's schedules by name; an empty name gives
	// the tenant's.
	ListSchedules(ctx context.Context, s oxbow.Scope) ([]Schedule, error)
	// DueSchedules gives the schedules of every tenant that are due at now and
	// not paused, the longest due first; and those whose last slot lies after
	// now, because a clock was set back.
	DueSchedules(ctx context.Context, now time.Time, limit int) ([]Schedule, error)
}

// Schedule says when a pass runs in a scope.
type Schedule struct {
	Scope   oxbow.Scope `json:"scope"`
	Name    string      `json:"name"` // the job's name
	Spec    string      `json:"spec"` // a cron line, read in the scope's zone
	NextAt  time.Time   `json:"next_at"`
	LastAt  time.Time   `json:"last_at,omitzero"`  // the last slot that was enqueued
	CatchUp string      `json:"catch_up,omitzero"` // latest or all
	Paused  bool        `json:"paused"`
}

// PassReader gives passes their candidates, in pages that begin after a place:
// "" is before the first.
type PassReader interface {
	// Faded gives active, unpinned memories whose FadesAt is at or before now,
	// by FadesAt, then by id, and of each only the id, status, content version
	// and the instants. after is a Place.
	Faded(ctx context.Context, s oxbow.Scope, now time.Time, after string, limit int) ([]oxbow.Memory, error)
	// PastExpiry gives active memories whose ExpiresAt is at or before now, by
	// ExpiresAt, in the same way.
	PastExpiry(ctx context.Context, s oxbow.Scope, now time.Time, after string, limit int) ([]oxbow.Memory, error)
	// Slots counts the active memories of a scope by slot; "" is free ones.
	Slots(ctx context.Context, s oxbow.Scope) (map[string]int, error)
	// SlotMemories gives a slot's active memories without their content.
	SlotMemories(ctx context.Context, s oxbow.Scope, slot string) ([]oxbow.Memory, error)
	// ClusterCandidates gives active, unpinned memories without a key that
	// are live at now, the most recently said first, and no notes.
	ClusterCandidates(ctx context.Context, s oxbow.Scope, now time.Time, limit int) ([]oxbow.Memory, error)
	// PassChanges counts the changes that passes (not expire) made in a scope
	// about instants after since, up to until.
	PassChanges(ctx context.Context, s oxbow.Scope, since, until time.Time) (int, error)
	// AllMemories gives every memory of a scope, in any status, the last said
	// first, then by id descending; after is the last id of the page before.
	AllMemories(ctx context.Context, s oxbow.Scope, after string, limit int) ([]oxbow.Memory, error)
}

// MemoryWriter changes memories.
type MemoryWriter interface {
	// LockScope makes this the only transaction that settles, extracts or
	// ingests in a scope until it ends. Creates the scope when it is new. The
	// count of memories that it gives may be an earlier one; Scope gives today's.
	LockScope(ctx context.Context, s oxbow.Scope, now time.Time) (oxbow.ScopeSettings, error)
	// Apply is the one way to change memories: it locks the rows in the order
	// of their ids, applies each change to what the one before it left, and
	// writes rows, contents, terms, links and one event per change. Changes
	// whose guard does not hold are skipped and given back as stale; an
	// illegal one fails the whole call. Not idempotent: use a ledger key.
	Apply(ctx context.Context, b Batch, changes []oxbow.Change) (Applied, error)
	// PutVerdicts stores verdicts; the newer verdict on a pair wins.
	PutVerdicts(ctx context.Context, s oxbow.Scope, vs []oxbow.Verdict) error
	// DropVerdicts takes away every verdict that touches a memory.
	DropVerdicts(ctx context.Context, s oxbow.Scope, memory string) error
	// Use counts one use of each memory at now, at most one per memory and
	// day, and gives how many counted. Unknown ids are left out.
	Use(ctx context.Context, tenant string, ids []string, now time.Time) (int, error)
	// Erase removes the contents of memories, their terms, and every earlier
	// content that they had. The events stay. Apply an erased change first.
	Erase(ctx context.Context, s oxbow.Scope, ids []string) error
}

// Batch says what a call of Apply belongs to.
type Batch struct {
	Scope      oxbow.Scope
	Run        string
	Now        time.Time // the instant the changes are about
	RecordedAt time.Time // the processing time
	Policy     *oxbow.Policy
}

// Applied is what Apply did.
type Applied struct {
	Events []oxbow.Event
	Stale  []oxbow.Change
}

// PassWriter changes many memories at once.
type PassWriter interface {
	// Retire is Apply for what is due, as a set: it does what Apply would do to
	// the same memories, with one event each, and takes no memory that was used,
	// restored or edited meanwhile and is no longer due. Not idempotent: use a
	// ledger key.
	Retire(ctx context.Context, b Batch, r Retirement) (Retired, error)
	// Rederive recomputes the derived fields of memories from a policy.
	// Idempotent.
	Rederive(ctx context.Context, s oxbow.Scope, p oxbow.Policy, ids []string) error
}

// TurnWriter changes turns.
type TurnWriter interface {
	// AddTurns stores turns that are not stored yet and gives how many were
	// new. Idempotent by id.
	AddTurns(ctx context.Context, ts []oxbow.Turn) (int, error)
	// FinishTurn sets a turn's state, reason, judge, run and count of memories.
	FinishTurn(ctx context.Context, t oxbow.Turn) error
	// ReopenTurns sets turns said since an instant back to waiting, all or
	// only those that failed, and gives how many.
	ReopenTurns(ctx context.Context, s oxbow.Scope, since time.Time, failedOnly bool) (int, error)
	// EraseTurn removes a turn's text, and the cues of its conversation, which
	// may have been made of it.
	EraseTurn(ctx context.Context, s oxbow.Scope, id string) error
}

// RunWriter changes runs and the ledger.
type RunWriter interface {
	// PutRun stores a run, or replaces it. Counts are added to those stored.
	PutRun(ctx context.Context, r oxbow.Run) error
	// Claim writes a ledger key and tells whether it is new. A job whose key
	// is already there has had its effect. That it is new may be assumed: when
	// it is not, the next read or the commit runs the transaction again.
	Claim(ctx context.Context, key, run string, now time.Time) (bool, error)
	// Unclaim takes ledger keys away that begin with a prefix, so that an
	// operator can have work done anew.
	Unclaim(ctx context.Context, prefix string) error
	// PutDiscarded copies a job that was given up.
	PutDiscarded(ctx context.Context, d Discarded) error
	// DropDiscarded takes such a copy away.
	DropDiscarded(ctx context.Context, tenant, id string) error
}

// ScopeWriter changes settings and schedules.
type ScopeWriter interface {
	// PutScope stores a scope's settings; conflict when the stored version is
	// not one less.
	PutScope(ctx context.Context, s oxbow.ScopeSettings) error
	// PutSchedule stores a schedule, or replaces it.
	PutSchedule(ctx context.Context, s Schedule) error
}

// WorkerTTL is how long a worker counts as alive after its last beat, where
// nothing else is said.
const WorkerTTL = 30 * time.Second

// Queue is River inside a transaction.
type Queue interface {
	// Enqueue inserts jobs that become visible when the transaction commits.
	Enqueue(ctx context.Context, jobs []river.InsertManyParams) error
	// Fence refuses with a conflict error when a running job is no longer the
	// attempt that the row says. It saves work; the ledger decides.
	Fence(ctx context.Context, row *rivertype.JobRow) error
	// CompleteJob marks a running job completed with the transaction. The
	// context must be the job's.
	CompleteJob(ctx context.Context, row *rivertype.JobRow) error
	// CancelJob cancels a job, running or not; not_found.
	CancelJob(ctx context.Context, id int64) error
	// RetryJob makes a job available at once; not_found.
	RetryJob(ctx context.Context, id int64) error
	// SetQueuePaused pauses or resumes a queue for every worker.
	SetQueuePaused(ctx context.Context, queue string, paused bool) error
	// Beat says that a worker, whose name is its River client's id, is alive at
	// now; a zero now takes it away. Workers that gave no sign of life for ttl
	// are taken away too, and running jobs of workers that are not there any
	// more become available again: fence and ledger make that safe even for one
	// that only slept. Every worker of a database must give the same ttl.
	Beat(ctx context.Context, worker string, now time.Time, ttl time.Duration) error
}
