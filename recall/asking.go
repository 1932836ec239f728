package recall

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// asking is one query on its way through the pipeline.
type asking struct {
	*Recaller
	q        Query
	settings oxbow.ScopeSettings
	at       time.Time      // the instant that the answer is about
	wanted   []oxbow.Status // the statuses that may answer
	notes    []string
}

func newAsking(r *Recaller, q Query, s oxbow.ScopeSettings) *asking {
	a := &asking{Recaller: r, q: q, settings: s, at: q.Now, wanted: append([]oxbow.Status{oxbow.Active}, q.Include...)}
	if !q.AsOf.IsZero() {
		a.at = q.AsOf
	}
	return a
}

// candidate is a memory that may answer.
type candidate struct {
	memory oxbow.Memory
	score  float64
	match  string
	stages []Stage
}

// stage notes what a stage made of the candidate.
func (c *candidate) stage(name string, value float64) {
	c.stages = append(c.stages, Stage{Name: name, Value: value})
}

// What finds a memory.
const (
	byWords  = "fts"
	byVector = "embedding"
	byGraph  = "graph"
)

// admit reads memories and gives those that may answer, in the order of ids.
func (a *asking) admit(ctx context.Context, ids []string) ([]oxbow.Memory, error) {
	ms, err := a.cfg.Store.Memories(ctx, a.q.Scope.Tenant, ids)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(ms, func(m oxbow.Memory) bool { return !a.fits(m) }), nil
}

// fits tells whether a memory, as it was at the instant asked about, may answer.
func (a *asking) fits(m oxbow.Memory) bool {
	switch {
	case m.Scope != a.q.Scope:
		return false
	case a.q.Kind != "" && m.Kind != a.q.Kind, a.q.Slot != "" && (m.Slot != a.q.Slot || !m.IsFact()):
		return false
	case a.q.Tag != "" && !slices.Contains(m.Content.Tags, a.q.Tag):
		return false
	}
	return slices.Contains(a.wanted, standing(m, a.at))
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

// lexicalPages bounds how often the lexical arm looks for more, because what it
// found first does not fit.
const lexicalPages = 6

// lexical is the arm of words: the n best of the scope by BM25 over the analysed
// words of a text, of those that keep says. Their scores are shares of the best
// one's.
func (a *asking) lexical(ctx context.Context, words string, n int, k1, b float64, keep func(oxbow.Memory) bool) ([]candidate, error) {
	if words == "" || n < 1 {
		return nil, nil
	}
	sq := store.SearchQuery{Scope: a.q.Scope, Text: words, Statuses: a.wanted, K1: k1, B: b, Limit: 2*n + 20}
	var out []candidate
	best := 0.0
	for range lexicalPages {
		hits, err := a.cfg.Store.Search(ctx, sq)
		if err != nil || len(hits) == 0 {
			return out, err
		}
		best = max(best, hits[0].Score)
		scores := map[string]float64{}
		ids := make([]string, len(hits))
		for i, h := range hits {
			ids[i], scores[h.ID] = h.ID, h.Score
		}
		ms, err := a.admit(ctx, ids)
		if err != nil {
			return nil, err
		}
		for _, m := range ms {
			if keep != nil && !keep(m) {
				continue
			}
			c := candidate{memory: m, match: byWords, score: scores[m.ID] / best}
			c.stage("bm25", scores[m.ID])
			if out = append(out, c); len(out) == n {
				return out, nil
			}
		}
		if len(hits) < sq.Limit {
			break
		}
		sq.Offset += sq.Limit
		sq.Limit *= 2
	}
	return out, nil
}

// inOrder sorts candidates by score, then the later said first, then by id.
func inOrder(cs []candidate) []candidate {
	slices.SortStableFunc(cs, func(x, y candidate) int {
		switch {
		case x.score > y.score:
			return -1
		case x.score < y.score:
			return 1
		case !x.memory.SaidAt.Equal(y.memory.SaidAt):
			return y.memory.SaidAt.Compare(x.memory.SaidAt)
		}
		return strings.Compare(x.memory.ID, y.memory.ID)
	})
	return cs
}

// atLeast is the floor: it leaves out what scores less, before anything is cut.
func atLeast(cs []candidate, floor float64) []candidate {
	return slices.DeleteFunc(cs, func(c candidate) bool { return c.score < floor })
}

func cut(cs []candidate, n int) []candidate { return cs[:min(len(cs), n)] }

func results(cs []candidate) []Result {
	out := make([]Result, len(cs))
	for i, c := range cs {
		out[i] = Result{Memory: c.memory, Score: c.score, Match: c.match, Stages: append(c.stages, Stage{"score", c.score})}
	}
	return out
}
