package engine

import (
	"context"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/schedule"
	"github.com/oxbow-memory/oxbow/store"
)

// Card is everything that a person looks at to judge one memory.
type Card struct {
	Story
	View     View
	Policy   oxbow.Policy
	Wordings []Wording        // what it said, oldest first; erased ones are left out
	Links    []oxbow.Link     // that touch it
	Verdicts []oxbow.Verdict  // that touch it
	Others   map[string]Named // the memories that links and verdicts name
	Turn     *oxbow.Turn      // what it was said in; nil when it was written directly
}

// Wording is what a memory said from an instant on.
type Wording struct {
	Event   string // the type of the event that brought it
	At      time.Time
	Version int // of the memory
	Text    string
}

// Card gives a memory by its id or a unique beginning of it, with its story.
func (e *Engine) Card(ctx context.Context, tenant, id string) (Card, error) {
	story, err := e.Why(ctx, tenant, id)
	if err != nil {
		return Card{}, err
	}
	m := story.Memory
	c := Card{Story: story}
	views, err := e.Views(ctx, []oxbow.Memory{m})
	if err != nil {
		return c, err
	}
	c.View = views[0]
	settings, err := e.st.Scope(ctx, m.Scope)
	if err != nil {
		return c, err
	}
	c.Policy = settings.Policy
	if c.Wordings, err = e.wordings(ctx, tenant, story); err != nil {
		return c, err
	}
	if c.Links, err = e.st.Links(ctx, tenant, []string{m.ID}); err != nil {
		return c, err
	}
	if c.Verdicts, err = e.st.Verdicts(ctx, tenant, []string{m.ID}); err != nil {
		return c, err
	}
	if c.Others, err = e.Names(ctx, tenant, neighbours(c)); err != nil {
		return c, err
	}
	if m.Turn != "" {
		t, err := e.st.Turn(ctx, tenant, m.Turn)
		if err == nil {
			c.Turn = &t
		} else if oxbow.CodeOf(err) != oxbow.CodeNotFound {
			return c, err
		}
	}
	return c, nil
}

func neighbours(c Card) []string {
	ids := []string{c.Memory.ReplacedBy}
	for _, l := range c.Links {
		ids = append(ids, l.From, l.To)
	}
	for _, v := range c.Verdicts {
		ids = append(ids, v.Older, v.Newer)
	}
	return ids
}

func (e *Engine) wordings(ctx context.Context, tenant string, s Story) ([]Wording, error) {
	var out []Wording
	for _, l := range s.Lines {
		id := l.Event.After.ContentID
		if id == nil || *id == "" {
			continue
		}
		c, _, err := e.st.ContentBody(ctx, tenant, *id)
		if oxbow.CodeOf(err) == oxbow.CodeNotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, Wording{Event: string(l.Event.Type), At: l.At, Version: l.Event.Version, Text: c.Text})
	}
	return out, nil
}

// Upcoming gives the next n instants at which a schedule is due, none when it is
// paused.
func (e *Engine) Upcoming(ctx context.Context, d store.Schedule, n int) ([]time.Time, error) {
	if d.Paused {
		return nil, nil
	}
	zone, err := e.Zone(ctx, d.Scope)
	if err != nil {
		return nil, err
	}
	out := []time.Time{d.NextAt.In(zone)}
	for len(out) < n {
		next, err := schedule.Next(d.Spec, zone, out[len(out)-1])
		if err != nil {
			return nil, err
		}
		out = append(out, next.In(zone))
	}
	return out, nil
}
