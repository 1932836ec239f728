package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/riverqueue/river"
)

// WorkReader reads the queue. Its rows are River's; the ids are River's too
// and can be reused on SQLite, so nothing may be keyed by them.
type WorkReader interface {
	// ListJobs gives a page of jobs, newest first.
	ListJobs(ctx context.Context, f JobFilter) ([]Job, error)
	// Job gives one job; not_found.
	Job(ctx context.Context, id int64) (Job, error)
	// PendingJobs counts the jobs of a run of a tenant that are not finished; an
	// empty tenant or run counts those of all.
	PendingJobs(ctx context.Context, tenant, run string) (int, error)
	// ReadyJobs counts those of a run that are running or could run now: not
	// the ones that wait for their time.
	ReadyJobs(ctx context.Context, run string) (int, error)
	// QueueStats gives each queue's depth and the age of its oldest job.
	QueueStats(ctx context.Context) ([]QueueStat, error)
	// LiveWorkers counts workers that gave a sign of life at or after since.
	LiveWorkers(ctx context.Context, since time.Time) (int, error)
	// ListDiscarded gives the jobs that were given up, newest first.
	ListDiscarded(ctx context.Context, tenant string, limit int) ([]Discarded, error)
}

// Job is one job of the queue.
type Job struct {
	ID          int64           `json:"id"`
	Kind        string          `json:"kind"`
	Queue       string          `json:"queue"`
	State       string          `json:"state"`
	Attempt     int             `json:"attempt"`
	MaxAttempts int             `json:"max_attempts"`
	Args        json.RawMessage `json:"args"`
	Errors      []string        `json:"errors,omitempty"`
	CreatedAt   time.Time       `json:"created_at"`
	ScheduledAt time.Time       `json:"scheduled_at"`
	FinalizedAt time.Time       `json:"finalized_at,omitzero"`
}

// JobStates are River's.
var JobStates = []string{"available", "running", "scheduled", "retryable", "pending", "completed", "cancelled", "discarded"}

// JobFilter selects jobs. Those of the instance, such as the tick of the
// schedules, are no tenant's and are given only without one.
type JobFilter struct {
	Tenant   string
	Kind     string
	State    string
	Run      string
	BeforeID int64
	Limit    int
}

// QueueStat says how a queue stands.
type QueueStat struct {
	Queue     string    `json:"queue"`
	Paused    bool      `json:"paused"`
	Available int       `json:"available"` // ready to be worked
	Running   int       `json:"running"`
	Scheduled int       `json:"scheduled"` // waiting for their time, snoozed ones among them
	Retryable int       `json:"retryable"`
	OldestAt  time.Time `json:"oldest_at,omitzero"` // when the oldest ready job became ready
}

// Discarded is our own copy of a job that was given up.
type Discarded struct {
	ID     string          `json:"id"`
	Tenant string          `json:"tenant"`
	Scope  string          `json:"scope"`
	Kind   string          `json:"kind"`
	Args   json.RawMessage `json:"args"`
	Error  string          `json:"error"`
	At     time.Time       `json:"at"`
}

// Admin is what an operator does to a whole database.
type Admin interface {
	// Migrate brings the database to this program's version. Idempotent, and
	// safe when two processes do it at once. conflict when it is newer.
	Migrate(ctx context.Context) error
	// SchemaVersion gives the database's version and this program's.
	SchemaVersion(ctx context.Context) (have, want int64, err error)
	// Check looks for damage that the database itself can see.
	Check(ctx context.Context) ([]string, error)
	// Describe names the database without secrets, such as "sqlite ./a.db".
	Describe() string
	// Embedded tells whether the database is a file of this machine.
	Embedded() bool
	// Vacuum makes erased content leave the file, and the log beside it;
	// unsupported when that is for the owner of the tables to do.
	Vacuum(ctx context.Context) error
	// NewClient makes a River client on this database. The configuration says
	// what it works; it is not started.
	NewClient(cfg *river.Config) (Client, error)
}

// Client is the part of a River client that does not mention its driver.
type Client interface {
	// Start begins working until ctx ends, which stops it softly.
	Start(ctx context.Context) error
	// Stop waits for running jobs.
	Stop(ctx context.Context) error
	// StopAndCancel cancels running jobs, which go back without losing an attempt.
	StopAndCancel(ctx context.Context) error
	// Stopped is closed when the client has stopped.
	Stopped() <-chan struct{}
	// Subscribe gives events, some of which may be lost when nobody reads.
	Subscribe(kinds ...river.EventKind) (<-chan *river.Event, func())
}
