package recall

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/store"
)

// Class is a sort of thing that a question asks for, such as a database, with the
// names of those that are one.
type Class struct {
	Name  string
	Names []string
	// Holds tells whether a text names one of them.
	Holds func(text string) bool
}

const (
	// classHits are looked at for a class.
	classHits = 40
	// tookOver is what it counts that a memory replaced others: what a change says
	// is what holds since.
	tookOver = 1.0
)

// OfClass gives the live memories that name a thing of a sort that a question asks
// for, at most limit for each sort: what took the place of others first, then
// what was stated most surely, then what was said last. "Which database do we
// use?" shares no word with "we moved to MySQL". There is no score, because no
// words of the question were found. Without Config.Classes, and in a scope that
// there is none of, it finds nothing.
//
// Limit: what was never replaced and is a mere mention ranks by how surely it was
// said; the class says that a memory is about a database, not that it says which.
func (r *Recaller) OfClass(ctx context.Context, s oxbow.Scope, question string, now time.Time, limit int) ([]Result, error) {
	if r.cfg.Classes == nil {
		return nil, nil
	}
	classes := r.cfg.Classes(question)
	if len(classes) == 0 {
		return nil, nil
	}
	settings, err := r.cfg.Store.Scope(ctx, s)
	if oxbow.CodeOf(err) == oxbow.CodeNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	a := newAsking(r, Query{Scope: s, Now: now}, settings)
	var out []candidate
	for _, c := range classes {
		found, err := a.ofClass(ctx, c)
		if err != nil {
			return nil, err
		}
		out = append(out, cut(found, limit)...)
	}
	return a.results(out), nil
}

func (a *asking) ofClass(ctx context.Context, c Class) ([]candidate, error) {
	terms, _ := text.Analyse(strings.Join(c.Names, " "))
	matched, err := a.cfg.Store.Match(ctx, store.MatchQuery{Scope: a.q.Scope, Terms: weighted(terms), Statuses: a.stored(), LiveAt: a.at,
		K1: hybridK1, B: hybridB, Postings: hybridPostings, Limit: classHits})
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(matched.Hits))
	for i, h := range matched.Hits {
		ids[i] = h.ID
	}
	ms, err := a.admit(ctx, ids)
	if err != nil {
		return nil, err
	}
	ms = slices.DeleteFunc(ms, func(m oxbow.Memory) bool { return !c.Holds(m.Content.Text) || isQuestion(m.Content.Text) })
	if len(ms) == 0 {
		return nil, nil
	}
	ids = ids[:0]
	for _, m := range ms {
		ids = append(ids, m.ID)
	}
	links, err := a.cfg.Store.Links(ctx, a.q.Scope.Tenant, ids)
	if err != nil {
		return nil, err
	}
	took := map[string]float64{}
	for _, l := range links {
		if l.Type == oxbow.Supersedes {
			took[l.From] = tookOver
		}
	}
	out := make([]candidate, len(ms))
	for i, m := range ms {
		out[i] = candidate{memory: m, match: []string{byClass}, score: took[m.ID] + m.Confidence()}
	}
	out = inOrder(out)
	for i := range out {
		out[i].stage("class", out[i].score)
		out[i].score = 0 // it ranks within the class and measures nothing
	}
	return out, nil
}
