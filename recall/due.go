package recall

import (
	"context"
	"regexp"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// soon is the window of a question for what is due that names no time.
const soon = 7 * 24 * time.Hour

// asksDue is a question for what ends, whatever it is about.
var asksDue = regexp.MustCompile(`(?i)\b(due|overdue|deadlines?|expir(e|es|ing)|coming up|upcoming|milestones?|appointments?)\b`)

// DueWindow gives the time in which a text asks for what ends: the one that it
// names, as far as that lies ahead of now, or, when it asks what is due and names
// none, the next seven days. A text that neither asks for what is due nor names a
// time ahead, or asks for what was, has none.
func (r *Recaller) DueWindow(words string, now time.Time, zone *time.Location) (Span, bool) {
	var spans []Span
	if r.cfg.Days != nil {
		spans = r.cfg.Days(words, now, zone)
	}
	due := asksDue.MatchString(words)
	if !due && (asksPast.MatchString(words) || len(spans) == 0) {
		return Span{}, false
	}
	out, found := Span{}, false
	for _, s := range spans {
		if s.To.IsZero() || !s.To.After(now) {
			continue
		}
		s.From = later(s.From, now)
		if !found {
			out, found = s, true
			continue
		}
		if s.From.Before(out.From) {
			out.From = s.From
		}
		out.To = later(out.To, s.To)
	}
	if !found && due && len(spans) == 0 {
		return Span{From: now, To: now.Add(soon)}, true
	}
	return out, found
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Due gives the live memories of a scope that end after the beginning of a window
// and not after its end, the soonest first, at most limit; and whether there are
// more. They are found by their end alone, so they need not share a word with
// what was asked. A scope that there is none of has none.
func (r *Recaller) Due(ctx context.Context, s oxbow.Scope, w Span, now time.Time, limit int) (rs []Result, more bool, err error) {
	settings, err := r.cfg.Store.Scope(ctx, s)
	if oxbow.CodeOf(err) == oxbow.CodeNotFound {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	a := newAsking(r, Query{Scope: s, Now: now}, settings)
	var found []candidate
	// What ended before the pass was there, and what has faded, is left out below;
	// a place without an id stands before what ends at its instant, so it is
	// one millisecond, the unit of both databases, further on.
	for place := store.Place(later(w.From, now).Add(time.Millisecond), ""); ; {
		page, err := r.cfg.Store.PastExpiry(ctx, s, w.To, place, duePage)
		if err != nil {
			return nil, false, err
		}
		ids := make([]string, len(page))
		for i, m := range page {
			ids[i] = m.ID
		}
		ms, err := a.admit(ctx, ids)
		if err != nil {
			return nil, false, err
		}
		for _, m := range ms {
			if len(found) == limit {
				return a.results(found), true, nil
			}
			found = append(found, candidate{memory: m, match: []string{byDue}})
		}
		if len(page) < duePage {
			return a.results(found), false, nil
		}
		last := page[len(page)-1]
		place = store.Place(last.ExpiresAt, last.ID)
	}
}

// duePage is how many endings are read at a time.
const duePage = 50
