package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// View is a memory as doors show it, with what follows from it at this moment.
type View struct {
	oxbow.Memory
	Confidence float64 `json:"confidence"` // 0 to 1
	Strength   float64 `json:"strength"`   // 0 to 1
	Live       bool    `json:"live"`       // reads may serve it
	Zone       string  `json:"zone"`       // of its scope; dates are meant in it
}

// Views gives memories as doors show them, in the same order.
func (e *Engine) Views(ctx context.Context, ms []oxbow.Memory) ([]View, error) {
	now, scopes := e.now(), map[oxbow.Scope]oxbow.ScopeSettings{}
	out := make([]View, len(ms))
	for i, m := range ms {
		s, ok := scopes[m.Scope]
		if !ok {
			var err error
			if s, err = e.st.Scope(ctx, m.Scope); err != nil {
				return nil, err
			}
			scopes[m.Scope] = s
		}
		out[i] = View{Memory: m, Confidence: m.Confidence(), Strength: s.Policy.StrengthOf(m, now), Live: m.Live(now), Zone: s.Zone}
	}
	return out, nil
}

// Named is a memory as others speak of it: enough to tell which one is meant.
type Named struct {
	ID      string       `json:"id"`
	Summary string       `json:"summary"`
	Status  oxbow.Status `json:"status"`
	SaidAt  time.Time    `json:"said_at"`
}

func nameOf(m oxbow.Memory) Named {
	return Named{ID: m.ID, Summary: m.Content.Summary, Status: m.Status, SaidAt: m.SaidAt}
}

// Names gives those of the memories that exist, by id.
func (e *Engine) Names(ctx context.Context, tenant string, ids []string) (map[string]Named, error) {
	out := map[string]Named{}
	for page := range slices.Chunk(store.Sorted(ids), 500) {
		ms, err := e.st.Memories(ctx, tenant, page)
		if err != nil {
			return nil, err
		}
		for _, m := range ms {
			out[m.ID] = nameOf(m)
		}
	}
	return out, nil
}

// Decision is a memory that was written, and what the jobs of that write have
// decided so far.
type Decision struct {
	Memory     View          `json:"memory"`
	Run        string        `json:"run"`
	ReplacedBy *Named        `json:"replaced_by,omitempty"` // what superseded it, or holds it
	Superseded []Named       `json:"superseded"`            // what it replaced
	Confirmed  []Named       `json:"confirmed"`             // what it confirms
	Conflicts  []Named       `json:"conflicts"`             // what it cannot be right beside
	Events     []oxbow.Event `json:"events"`                // of the run, oldest first
}

// Decided tells what became of a write. Jobs that still run may change it.
func (e *Engine) Decided(ctx context.Context, tenant string, w Written) (Decision, error) {
	d := Decision{Run: w.Run, Superseded: []Named{}, Confirmed: []Named{}, Conflicts: []Named{}, Events: []oxbow.Event{}}
	m, err := e.st.Memory(ctx, tenant, w.Memory.ID)
	if err != nil {
		return d, err
	}
	views, err := e.Views(ctx, []oxbow.Memory{m})
	if err != nil {
		return d, err
	}
	d.Memory = views[0]
	links, err := e.st.Links(ctx, tenant, []string{m.ID})
	if err != nil {
		return d, err
	}
	ids := []string{m.ReplacedBy}
	for _, l := range links {
		ids = append(ids, l.From, l.To)
	}
	known, err := e.Names(ctx, tenant, ids)
	if err != nil {
		return d, err
	}
	if by, ok := known[m.ReplacedBy]; ok {
		d.ReplacedBy = &by
	}
	d.place(links, known)
	events, err := e.st.Events(ctx, store.EventFilter{Tenant: tenant, Run: w.Run, Limit: 1000})
	if len(events) > 0 {
		d.Events = events
	}
	return d, err
}

// place sorts the memory's edges by what they say of it.
func (d *Decision) place(links []oxbow.Link, known map[string]Named) {
	for _, l := range links {
		switch {
		case l.Type == oxbow.Supersedes && l.From == d.Memory.ID:
			d.Superseded = append(d.Superseded, known[l.To])
		case l.Type == oxbow.Confirms && l.From == d.Memory.ID:
			d.Confirmed = append(d.Confirmed, known[l.To])
		case l.Type == oxbow.ConflictsWith && l.From == d.Memory.ID:
			d.Conflicts = append(d.Conflicts, known[l.To])
		case l.Type == oxbow.ConflictsWith:
			d.Conflicts = append(d.Conflicts, known[l.From])
		}
	}
}

// Line is one change in one line: what happened to which memory, and why.
// Content stands in Text only.
type Line struct {
	Memory string          `json:"memory"`
	Text   string          `json:"text"` // its summary; "" when it is erased or unknown
	Type   oxbow.EventType `json:"type"`
	What   string          `json:"what"`
	Why    string          `json:"why"`
	Judge  string          `json:"judge,omitempty"`
}

// PlannedChange is a change that a dry run found, with nothing left out.
type PlannedChange struct {
	Line
	New     *oxbow.Memory `json:"new,omitempty"`
	Set     oxbow.Patch   `json:"set,omitzero"`
	Links   []oxbow.Link  `json:"links,omitempty"`
	Unlinks []oxbow.Link  `json:"unlinks,omitempty"`
}

// EventLines tells events in one line each, in their order.
func (e *Engine) EventLines(ctx context.Context, tenant string, events []oxbow.Event) ([]Line, error) {
	ids := make([]string, len(events))
	for i, ev := range events {
		ids[i] = ev.Memory
	}
	known, err := e.Names(ctx, tenant, ids)
	if err != nil {
		return nil, err
	}
	out := make([]Line, len(events))
	for i, ev := range events {
		out[i] = Line{Memory: ev.Memory, Text: known[ev.Memory].Summary, Type: ev.Type, Why: ev.Reason, Judge: ev.Judge,
			What: whatOf(ev.Type, ev.Memory, ev.After, ev.Links, ev.Unlinks)}
	}
	return out, nil
}

// PlanLines tells the changes of a dry run in one line each, in their order.
func (e *Engine) PlanLines(ctx context.Context, tenant string, changes []oxbow.Change) ([]PlannedChange, error) {
	ids := make([]string, len(changes))
	for i, c := range changes {
		ids[i] = c.Memory
	}
	known, err := e.Names(ctx, tenant, ids)
	if err != nil {
		return nil, err
	}
	out := make([]PlannedChange, len(changes))
	for i, c := range changes {
		text := known[c.Memory].Summary
		after := c.Set
		if c.New != nil {
			text = c.New.Content.Summary
			_, after = oxbow.Diff(oxbow.Memory{}, *c.New)
		}
		out[i] = PlannedChange{New: c.New, Set: c.Set, Links: c.Links, Unlinks: c.Unlinks,
			Line: Line{Memory: c.Memory, Text: text, Type: c.Type, Why: c.Reason, Judge: c.Judge, What: whatOf(c.Type, c.Memory, after, c.Links, c.Unlinks)}}
	}
	return out, nil
}

// whatOf says what a change does to a memory, without its words.
func whatOf(t oxbow.EventType, memory string, after oxbow.Patch, links, unlinks []oxbow.Link) string {
	switch {
	case t == oxbow.Created && after.Status != nil && *after.Status != oxbow.Active:
		return fmt.Sprintf("created, %s at once", *after.Status)
	case t == oxbow.SupersededBy && after.ReplacedBy != nil:
		return "superseded by " + Short(*after.ReplacedBy)
	case t == oxbow.CompressedTo && after.ReplacedBy != nil:
		return "compressed into " + Short(*after.ReplacedBy)
	case t == oxbow.Rated && after.Rating != nil:
		return fmt.Sprintf("rated %.1f", *after.Rating)
	case t == oxbow.Dated && after.ExpiresAt != nil && !after.ExpiresAt.IsZero():
		return "ends " + after.ExpiresAt.UTC().Format("2006-01-02 15:04") + " UTC"
	case t == oxbow.Dated && after.ReviewAt != nil && !after.ReviewAt.IsZero():
		return "to be reviewed " + after.ReviewAt.UTC().Format(time.DateOnly)
	case t == oxbow.Linked && len(links) > 0:
		return linked(memory, links)
	case t == oxbow.Linked && len(unlinks) > 0:
		return "no longer " + linked(memory, unlinks)
	}
	return string(t)
}

func linked(memory string, links []oxbow.Link) string {
	var parts []string
	for _, l := range links {
		other, verb := l.To, string(l.Type)
		if other == memory && l.Type != oxbow.ConflictsWith {
			other, verb = l.From, map[oxbow.LinkType]string{oxbow.Confirms: "confirmed_by", oxbow.Supersedes: "superseded_by",
				oxbow.DerivedFrom: "source_of"}[l.Type]
		} else if other == memory {
			other = l.From
		}
		parts = append(parts, strings.ReplaceAll(verb, "_", " ")+" "+Short(other))
	}
	return strings.Join(parts, ", ")
}

// Job gives a job of the tenant by its number; not_found.
func (e *Engine) Job(ctx context.Context, tenant string, id int64) (store.Job, error) {
	var out store.Job
	return out, e.ownJob(ctx, tenant, id, func(ctx context.Context, tx store.Tx) error {
		var err error
		out, err = tx.Job(ctx, id)
		return err
	})
}

// ResolveDiscarded gives the one id of a job that was given up that begins with
// a prefix; not_found, or conflict when several do.
func (e *Engine) ResolveDiscarded(ctx context.Context, tenant, prefix string) (string, error) {
	all, err := e.st.ListDiscarded(ctx, tenant, 1000)
	if err != nil {
		return "", err
	}
	var ids []string
	for _, d := range all {
		if strings.HasPrefix(d.ID, prefix) {
			ids = append(ids, d.ID)
		}
	}
	if len(ids) == 0 {
		return "", oxbow.Errorf(oxbow.CodeNotFound, "there is no discarded job %s; oxbow job list --discarded shows those there are", prefix)
	}
	return store.OneOf("job", prefix, ids)
}
