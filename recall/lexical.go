package recall

import (
	"context"

	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/store"
)

// The published designs rank by the defaults of SQLite's full-text index.
const (
	publishedK1 = 1.2
	publishedB  = 0.75
)

const (
	// maxPostings bounds the work of a query of common words; see store.MatchQuery.
	maxPostings = 100_000
	// maxHits is how many hits the store gives at most.
	maxHits = 1000
)

// lexical is the arm of words: up to n memories that share a term with the cue,
// by BM25, best first. Their score is the share of the cue's weight that they
// explain: 1 when every word of it stands in a text of average length.
//
//	relevance = min(1, BM25 / sum of idf)
type lexical struct {
	terms []text.Term
	n     int
	k1, b float64
	facts bool   // only memories with an address
	slot  string // only of this slot
}

func (a *asking) lexical(ctx context.Context, l lexical) ([]candidate, error) {
	if len(l.terms) == 0 || l.n < 1 {
		return nil, nil
	}
	q := store.MatchQuery{Scope: a.q.Scope, Terms: withHints(l.terms), Statuses: a.stored(), NoNotes: !a.wantsNotes(), K1: l.k1, B: l.b, Postings: maxPostings, Limit: l.n}
	if a.past == nil {
		q.Kind, q.Keyed = a.q.Kind, l.facts
		if l.slot != "" {
			q.Slots = []string{l.slot}
		}
		if len(a.q.Include) == 0 {
			q.LiveAt = a.at
		}
	}
	if a.past != nil || a.q.Tag != "" || a.q.Slot != "" || len(a.q.Include) > 0 {
		q.Limit = min(maxHits, 4*l.n+50) // some of them will not fit
	}
	for {
		matched, err := a.cfg.Store.Match(ctx, q)
		if err != nil {
			return nil, err
		}
		out, err := a.scored(ctx, l, q, matched)
		if err != nil || len(out) >= l.n || len(matched.Hits) < q.Limit || q.Limit == maxHits {
			return cut(out, l.n), err
		}
		q.Limit = maxHits
	}
}

// scored reads the hits and gives those that fit, with those that only earlier
// words of a memory find.
func (a *asking) scored(ctx context.Context, l lexical, q store.MatchQuery, matched store.Matched) ([]candidate, error) {
	whole := 0.0 // what the words that were asked count; hints stand for some of them
	for _, idf := range matched.IDF[:min(len(l.terms), len(matched.IDF))] {
		whole += idf
	}
	if whole <= 0 {
		return nil, nil
	}
	ids, bm25 := make([]string, len(matched.Hits)), make(map[string]float64, len(matched.Hits))
	for i, h := range matched.Hits {
		ids[i], bm25[h.ID] = h.ID, h.Score
	}
	edited, err := a.editedSince(ctx)
	if err != nil {
		return nil, err
	}
	for _, id := range edited {
		if _, found := bm25[id]; !found {
			ids = append(ids, id)
		}
	}
	ms, err := a.admit(ctx, ids)
	if err != nil {
		return nil, err
	}
	var out []candidate
	for _, m := range ms {
		if l.facts && !m.IsFact() || l.slot != "" && m.Slot != l.slot {
			continue
		}
		raw := bm25[m.ID]
		if a.past.reworded(m.ID) {
			raw = scoreWords(m, q, matched.IDF)
		}
		if raw <= 0 {
			continue
		}
		c := candidate{memory: m, match: []string{byWords}, score: min(1, raw/whole)}
		c.stage("bm25", raw)
		c.stage("relevance", c.score)
		out = append(out, c)
	}
	return inOrder(out), nil
}
