package recall

import (
	"context"
	"slices"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// past is what a query about an instant of the past has learnt of it.
//
// Limit: the policy is today's. Use stands outside the log, so a memory that was
// used since counts as unused then. The graph is today's.
type past struct {
	edited  []string // memories whose words were changed since
	looked  bool
	earlier map[string]bool // those that had other words then
}

// reworded tells whether a memory said something else then.
func (p *past) reworded(id string) bool { return p != nil && p.earlier[id] }

const (
	eventPage = 1000
	// maxEdited bounds the memories that are looked at because they were edited.
	maxEdited = 2000
)

// editedSince gives the memories that were edited after the instant asked about:
// the index knows them by their new words only. None when the query is about now.
func (a *asking) editedSince(ctx context.Context) ([]string, error) {
	if a.past == nil || a.past.looked {
		return a.past.ids(), nil
	}
	f := store.EventFilter{Tenant: a.q.Scope.Tenant, Scope: a.q.Scope.Name, Types: []oxbow.EventType{oxbow.Edited}, Since: a.at, Limit: eventPage}
	seen := map[string]bool{}
	for len(seen) < maxEdited {
		events, err := a.cfg.Store.Events(ctx, f)
		if err != nil {
			return nil, err
		}
		for _, e := range events {
			if e.After.ContentID != nil && !seen[e.Memory] {
				seen[e.Memory] = true
				a.past.edited = append(a.past.edited, e.Memory)
			}
			f.AfterSeq = e.Seq
		}
		if len(events) < eventPage {
			break
		}
	}
	if len(seen) >= maxEdited {
		a.note("more than two thousand memories were edited since: some are missing")
	}
	a.past.looked = true
	return a.past.ids(), nil
}

func (p *past) ids() []string {
	if p == nil {
		return nil
	}
	return p.edited
}

// rewind gives memories as they were at the instant asked about: status, content
// and what strength follows from, replayed from the log. Those that nobody knew
// of yet, and those whose words of then were erased, are left out.
func (a *asking) rewind(ctx context.Context, ms []oxbow.Memory) ([]oxbow.Memory, error) {
	ids := make([]string, len(ms))
	for i, m := range ms {
		ids[i] = m.ID
	}
	events, err := a.cfg.Store.EventsOf(ctx, a.q.Scope.Tenant, ids)
	if err != nil {
		return nil, err
	}
	of := map[string][]oxbow.Event{}
	for _, e := range events {
		of[e.Memory] = append(of[e.Memory], e)
	}
	out := ms[:0]
	for _, m := range ms {
		was, known := a.replay(m, of[m.ID])
		if !known {
			continue
		}
		if was.ContentID != m.ContentID {
			was.Content, _, err = a.cfg.Store.ContentBody(ctx, a.q.Scope.Tenant, was.ContentID)
			if oxbow.CodeOf(err) == oxbow.CodeNotFound {
				continue
			}
			if err != nil {
				return nil, err
			}
			if a.past.earlier == nil {
				a.past.earlier = map[string]bool{}
			}
			a.past.earlier[m.ID] = true
		}
		out = append(out, was)
	}
	return out, nil
}

// replay gives a memory as its events up to the instant left it; false when it
// had none by then.
func (a *asking) replay(now oxbow.Memory, events []oxbow.Event) (oxbow.Memory, bool) {
	slices.SortFunc(events, func(x, y oxbow.Event) int { return x.Version - y.Version })
	was := oxbow.Memory{ID: now.ID, Scope: now.Scope, CreatedAt: now.CreatedAt, Content: now.Content}
	for _, e := range events {
		if e.At.After(a.at) {
			break
		}
		was = e.After.Apply(was)
		was.Version = e.Version
	}
	if was.Version == 0 {
		return was, false
	}
	if !now.LastUsedAt.After(a.at) { // else nobody knows what the counters were
		was.AccessCount, was.LastUsedAt = now.AccessCount, now.LastUsedAt
	}
	return a.settings.Policy.Derive(was), true
}

// scoreWords is BM25 of a memory's words and hints, as a text of average length.
func scoreWords(m oxbow.Memory, q store.MatchQuery, idf []float64) float64 {
	tf := frequencies(m)
	score := 0.0
	for i, t := range q.Terms[:min(len(q.Terms), len(idf))] {
		n := float64(tf[t.Hash])
		score += t.Weight * idf[i] * n * (q.K1 + 1) / (n + q.K1)
	}
	return score
}

// frequencies gives how often each term and hint of a memory stands in its index.
func frequencies(m oxbow.Memory) map[int64]int {
	out := map[int64]int{}
	for _, p := range store.IndexOf(m).Pairs() {
		out[p[0]] = int(p[1])
	}
	return out
}
