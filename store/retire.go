package store

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/oxbow-memory/oxbow"
)

// retireMin is from how many changes on it pays to write them as a set.
const retireMin = 32

// Retirement is a call of Apply that does one and the same thing to many
// memories: active ones that nobody touched since they were read lose their
// status, and nothing else about them changes. That is what passes do, so both
// databases write it as a set, with the guard in the UPDATE itself, instead of
// reading, planning and writing row by row. What it does is what Plan would do.
type Retirement struct {
	Type                  oxbow.EventType
	To                    oxbow.Status
	Reason, Actor, Judge  string
	FadedBy               time.Time // zero, or the instant by which they must fade
	IDs                   []string
	ContentVersions       []int
	changes               map[string]oxbow.Change
	beforeJSON, afterJSON string
}

// NewRetirement gives the changes as a retirement, if they are one.
func NewRetirement(changes []oxbow.Change) (Retirement, bool) {
	if len(changes) < retireMin || !retires(changes[0]) {
		return Retirement{}, false
	}
	first := changes[0]
	to, err := oxbow.Move(first.Type, oxbow.Active)
	if err != nil {
		return Retirement{}, false
	}
	r := Retirement{Type: first.Type, To: to, Reason: first.Reason, Actor: first.Actor, Judge: first.Judge,
		FadedBy: first.Guard.FadedBy, changes: make(map[string]oxbow.Change, len(changes))}
	for _, c := range changes {
		_, twice := r.changes[c.Memory]
		same := retires(c) && c.Type == r.Type && c.Reason == r.Reason && c.Actor == r.Actor && c.Judge == r.Judge &&
			c.Guard.FadedBy.Equal(r.FadedBy)
		if !same || twice {
			return Retirement{}, false
		}
		r.changes[c.Memory] = c
		r.IDs = append(r.IDs, c.Memory)
		r.ContentVersions = append(r.ContentVersions, c.Guard.ContentVersion)
	}
	before, after := oxbow.Active, r.To
	r.beforeJSON, r.afterJSON = JSON(oxbow.Patch{Status: &before}), JSON(oxbow.Patch{Status: &after})
	return r, true
}

// retires tells whether a change takes a status and touches nothing else.
func retires(c oxbow.Change) bool {
	return (c.Type == oxbow.ArchivedEvent || c.Type == oxbow.ExpiredEvent) && c.New == nil && c.Content == nil &&
		c.Set == (oxbow.Patch{}) && len(c.Links)+len(c.Unlinks) == 0 &&
		c.Guard != nil && c.Guard.Status == oxbow.Active
}

// BeforeJSON is the patch that each of its events has as its before.
func (r Retirement) BeforeJSON() string { return r.beforeJSON }

// AfterJSON is the patch that each of its events has as its after.
func (r Retirement) AfterJSON() string { return r.afterJSON }

// Retired is a memory that was retired, with its version after that.
type Retired struct {
	ID      string
	Version int
}

// MarshalJSON gives [id, version], the form in which a query takes it.
func (r Retired) MarshalJSON() ([]byte, error) { return json.Marshal([2]any{r.ID, r.Version}) }

// Applied gives the events of what was retired, whose numbers are seqs in the
// same order, and the changes that were stale.
func (r Retirement) Applied(b Batch, done []Retired, seqs []int64) Applied {
	before, after := oxbow.Active, r.To
	out := Applied{Events: make([]oxbow.Event, len(done))}
	for i, d := range done {
		out.Events[i] = oxbow.Event{Seq: seqs[i], Scope: b.Scope, Memory: d.ID, Version: d.Version, Type: r.Type,
			Before: oxbow.Patch{Status: &before}, After: oxbow.Patch{Status: &after},
			Reason: r.Reason, Actor: r.Actor, Judge: r.Judge, Run: b.Run, At: b.Now, RecordedAt: b.RecordedAt}
		delete(r.changes, d.ID)
	}
	for _, id := range r.IDs {
		if c, ok := r.changes[id]; ok {
			out.Stale = append(out.Stale, c)
		}
	}
	return out
}

// Sort puts what was retired in the order of the changes, in which the events
// are numbered.
func (r Retirement) Sort(done []Retired) {
	at := make(map[string]int, len(r.IDs))
	for i, id := range r.IDs {
		at[id] = i
	}
	slices.SortFunc(done, func(a, b Retired) int { return at[a.ID] - at[b.ID] })
}
