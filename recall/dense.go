package recall

import (
	"context"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/store"
)

// dense is the arm of vectors: up to n memories whose vectors have a cosine of at
// least least with a text of the query, best first; the cosine is their score.
// Without an embedder it finds nothing.
//
// Limit: of the past it looks among the vectors of today's words. What was edited
// since is then judged by its words of then, but only if it is found.
type dense struct {
	text  string
	n     int
	least float64
}

func (a *asking) dense(ctx context.Context, d dense) ([]candidate, error) {
	v, err := a.vector(ctx, d.text)
	if err != nil || v == nil || d.n < 1 {
		return nil, err
	}
	hits, err := a.nearest(ctx, d, v, 2*d.n+20)
	if err != nil {
		return nil, err
	}
	ids, cosine := make([]string, 0, len(hits)), make(map[string]float64, len(hits))
	for _, h := range hits {
		if h.Score >= d.least {
			ids = append(ids, h.ID)
			cosine[h.ID] = h.Score
		}
	}
	ms, err := a.admit(ctx, ids)
	if err != nil {
		return nil, err
	}
	if err := a.reword(ctx, v, ms, cosine); err != nil {
		return nil, err
	}
	var out []candidate
	for _, m := range ms {
		if cosine[m.ID] < d.least {
			continue
		}
		c := candidate{memory: m, match: []string{byVector}, score: max(0, min(1, cosine[m.ID]))}
		c.stage("cosine", cosine[m.ID])
		out = append(out, c)
	}
	return cut(inOrder(out), d.n), nil
}

// reword compares memories that said something else at the instant asked about by
// what they said then.
func (a *asking) reword(ctx context.Context, v []float32, ms []oxbow.Memory, cosine map[string]float64) error {
	var ids, words []string
	for _, m := range ms {
		if a.past.reworded(m.ID) {
			ids, words = append(ids, m.ID), append(words, store.SearchText(m))
		}
	}
	if len(ids) == 0 {
		return nil
	}
	vs, err := a.embed(ctx, words)
	if err != nil {
		return err
	}
	for i, id := range ids {
		cosine[id] = 0
		if len(vs[i]) == len(v) {
			cosine[id] = float64(product(v)(vs[i]))
		}
	}
	return nil
}

// rescored is how many memories that were found by words are looked at again when
// the scope's vectors are too many to be held.
const rescored = 200

// nearest gives the memories whose vectors are nearest to one: from the
// database's own index where there is one, else by going through all vectors of
// the scope in memory, and where those are too many, of what shares words with
// the text.
func (a *asking) nearest(ctx context.Context, d dense, v []float32, n int) ([]store.Hit, error) {
	q := store.NearestQuery{Scope: a.q.Scope, Embedder: a.cfg.Embedder.ID(), Vector: v, Statuses: a.stored(), Limit: n}
	if a.past == nil && len(a.q.Include) == 0 {
		q.Now = a.at
	}
	hits, ok, err := a.matrix.Nearest(ctx, q)
	if ok || err != nil {
		return hits, err
	}
	terms, _ := text.Analyse(d.text)
	found, err := a.cfg.Store.Match(ctx, store.MatchQuery{Scope: q.Scope, Terms: weighted(terms), Statuses: q.Statuses, LiveAt: q.Now, NoNotes: !a.wantsNotes(),
		K1: publishedK1, B: publishedB, Postings: maxPostings, Limit: rescored})
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(found.Hits))
	for i, h := range found.Hits {
		ids[i] = h.ID
	}
	hits, err = a.matrix.Rescore(ctx, q, ids)
	return cutTo(hits, n), err
}

func cutTo[T any](s []T, n int) []T { return s[:min(len(s), n)] }
