package recall

import (
	"context"
	"slices"
	"time"

	"github.com/oxbow-memory/oxbow"
)

// asking is one query on its way through the pipeline.
type asking struct {
	*Recaller
	q        Query
	cue      cue
	settings oxbow.ScopeSettings
	at       time.Time      // the instant that the answer is about
	wanted   []oxbow.Status // the statuses that may answer
	past     *past          // what was, when the query is about the past
	notes    []string
}

func newAsking(r *Recaller, q Query, s oxbow.ScopeSettings) *asking {
	a := &asking{Recaller: r, q: q, settings: s, at: q.Now, wanted: append([]oxbow.Status{oxbow.Active}, q.Include...)}
	var cutOff bool
	if a.cue, cutOff = analyse(q); cutOff {
		a.note(tooLong)
	}
	if !q.AsOf.IsZero() {
		a.at = q.AsOf
		a.past = &past{}
	}
	return a
}

// tooLong is the note of a question that is cut.
const tooLong = "the question is longer than 64 KiB: its end was left out"

func (a *asking) note(s string) {
	if !slices.Contains(a.notes, s) {
		a.notes = append(a.notes, s)
	}
}

// candidate is a memory that may answer.
type candidate struct {
	memory oxbow.Memory
	score  float64 // 0 to 1
	match  []string
	stages []Stage
}

// stage notes what a stage made of the candidate.
func (c *candidate) stage(name string, value float64) {
	c.stages = append(c.stages, Stage{Name: name, Value: value})
}

// value gives what a stage made of the candidate, 0 when it did not pass it.
func (c *candidate) value(name string) float64 {
	for _, s := range c.stages {
		if s.Name == name {
			return s.Value
		}
	}
	return 0
}

// What finds a memory.
const (
	byWords  = "fts"
	byVector = "embedding"
	byGraph  = "graph"
	byIndex  = "index"
)

// stored gives the statuses that a memory may have now to be of any use.
func (a *asking) stored() []oxbow.Status {
	if a.past != nil {
		return recallable
	}
	return a.wanted
}

// admit reads memories and gives those that may answer, as they were at the
// instant asked about, in the order of the ids.
func (a *asking) admit(ctx context.Context, ids []string) ([]oxbow.Memory, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	ms, err := a.cfg.Store.Memories(ctx, a.q.Scope.Tenant, ids)
	if err != nil {
		return nil, err
	}
	return a.admitted(ctx, ms)
}

func (a *asking) admitted(ctx context.Context, ms []oxbow.Memory) ([]oxbow.Memory, error) {
	if a.past != nil {
		var err error
		if ms, err = a.rewind(ctx, ms); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(ms, func(m oxbow.Memory) bool { return !a.fits(m) }), nil
}

// fits tells whether a memory, as it was at the instant asked about, may answer.
func (a *asking) fits(m oxbow.Memory) bool {
	switch {
	case m.Scope != a.q.Scope:
		return false
	case m.IsNote() && !a.wantsNotes():
		return false // it says what memories say, once more
	case a.q.Kind != "" && m.Kind != a.q.Kind, a.q.Slot != "" && (m.Slot != a.q.Slot || !m.IsFact()):
		return false
	case a.q.Tag != "" && !slices.Contains(m.Content.Tags, a.q.Tag):
		return false
	}
	return slices.Contains(a.wanted, standing(m, a.at))
}

// wantsNotes tells whether the asker wants what conversations were condensed into.
func (a *asking) wantsNotes() bool {
	return a.q.Kind == oxbow.Observation || a.q.Kind == oxbow.Reflection
}

// standing is a memory's status at an instant, whether or not a pass has been
// there.
func standing(m oxbow.Memory, at time.Time) oxbow.Status {
	switch {
	case m.Status != oxbow.Active || m.Live(at):
		return m.Status
	case !m.ExpiresAt.IsZero() && !at.Before(m.ExpiresAt):
		return oxbow.Expired
	}
	return oxbow.Archived
}
