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
	// Since is when it was last said, released or restored to be believed, and Until
	// when that was over; zero when it never was, and while it is.
	Since, Until time.Time
	Zone         *time.Location // of the scope
	// Ends says until when it holds: the end of a day in the scope's zone, or an
	// instant. Empty when it has no date.
	Ends string
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
	c.Zone = settings.Location()
	c.Since, c.Until = believed(story, c.Zone)
	c.Ends = ends(m.ExpiresAt, c.Zone)
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
	// A judge may come late: what was said is what replaced it, and not the verdict.
	if by, ok := c.Others[m.ReplacedBy]; ok && !c.Since.IsZero() && by.SaidAt.After(c.Since) {
		c.Until = by.SaidAt.In(c.Zone)
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

// believed reads from the log when a memory last became active, and what ended that.
func believed(s Story, zone *time.Location) (since, until time.Time) {
	was := oxbow.Status("")
	for _, l := range s.Lines {
		if l.Event.After.Status == nil {
			continue
		}
		is := *l.Event.After.Status
		switch {
		case is == oxbow.Active && was == "":
			since, until = s.Memory.SaidAt.In(zone), time.Time{}
		case is == oxbow.Active && was != oxbow.Active:
			since, until = l.At.In(zone), time.Time{}
		case is != oxbow.Active && was == oxbow.Active:
			until = l.At.In(zone)
		}
		was = is
	}
	return since, until
}

// ends says when a date is over. One that was given as a day is over at its end,
// so that day is the last one that it holds on.
func ends(t time.Time, zone *time.Location) string {
	if t.IsZero() {
		return ""
	}
	at := t.In(zone)
	if at.Hour() == 0 && at.Minute() == 0 && at.Second() == 0 {
		return "the end of " + Day(at.Add(-time.Second)) + " (" + zone.String() + ")"
	}
	return at.Format("2 January 2006 15:04 MST")
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
