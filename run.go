package oxbow

import "time"

// RunStatus says how an execution stands.
type RunStatus string

// The statuses of a run.
const (
	RunRunning RunStatus = "running"
	RunDone    RunStatus = "done"
	RunStopped RunStatus = "stopped" // a brake or an operator stopped it; it can go on
	RunFailed  RunStatus = "failed"
)

// Run is one execution of a pass, or of one write's jobs. Events carry its id,
// so that what happened together can be shown together.
type Run struct {
	ID         string         `json:"id"`
	Scope      Scope          `json:"scope"`
	Name       string         `json:"name"`    // the job's name, or write
	Trigger    string         `json:"trigger"` // schedule, write or operator
	Status     RunStatus      `json:"status"`
	About      time.Time      `json:"about"`      // the instant it is about
	StartedAt  time.Time      `json:"started_at"` // processing time
	FinishedAt time.Time      `json:"finished_at,omitzero"`
	Counts     map[string]int `json:"counts,omitempty"` // events by type, and what was refused
	Cursor     string         `json:"cursor,omitempty"` // where a resumable run goes on
	Note       string         `json:"note,omitempty"`   // why it stopped or failed
}
