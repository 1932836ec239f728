package recall

import (
	"cmp"
	"context"
	"slices"

	"github.com/oxbow-memory/oxbow/store"
)

// dense is the arm of vectors: up to n memories whose vectors have a cosine of at
// least least with a text of the query, best first; the cosine is their score.
// Without an embedder it finds nothing.
//
// Limit: of the past it finds memories by the words that they have today.
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
	hits, err := a.nearest(ctx, v, 2*d.n+20)
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
	var out []candidate
	for _, m := range ms {
		c := candidate{memory: m, match: []string{byVector}, score: max(0, min(1, cosine[m.ID]))}
		c.stage("cosine", cosine[m.ID])
		out = append(out, c)
	}
	return cut(inOrder(out), d.n), nil
}

// vectorPage is how many vectors are read at a time.
const vectorPage = 2000

// nearest gives the memories whose vectors are nearest to one: from the
// database's own index where there is one, else by looking at every vector of
// the scope.
func (a *asking) nearest(ctx context.Context, v []float32, n int) ([]store.Hit, error) {
	id := a.cfg.Embedder.ID()
	q := store.NearestQuery{Scope: a.q.Scope, Embedder: id, Vector: v, Statuses: a.stored(), Limit: n}
	if a.past == nil && len(a.q.Include) == 0 {
		q.Now = a.at
	}
	if hits, ok, err := a.cfg.Store.NearestVectors(ctx, q); ok || err != nil {
		return hits, err
	}
	scores := map[int64]float64{}
	for place := (store.VectorPlace{}); ; {
		page, err := a.cfg.Store.VectorsSince(ctx, a.q.Scope, id, place, vectorPage)
		if err != nil {
			return nil, err
		}
		for _, p := range page {
			if place = p.VectorPlace; p.Values == nil {
				delete(scores, p.Number)
				continue
			}
			scores[p.Number] = dot(v, p.Values)
		}
		if len(page) < vectorPage {
			break
		}
	}
	numbers := make([]int64, 0, len(scores))
	for number := range scores {
		numbers = append(numbers, number)
	}
	slices.SortFunc(numbers, func(x, y int64) int { return cmp.Or(cmp.Compare(scores[y], scores[x]), cmp.Compare(x, y)) })
	standing, err := a.cfg.Store.Standing(ctx, store.StandingQuery{Scope: a.q.Scope, Numbers: cutTo(numbers, 4*n), Statuses: q.Statuses, Now: q.Now})
	hits := make([]store.Hit, len(standing))
	for i, s := range standing {
		hits[i] = store.Hit{ID: s.ID, Score: scores[s.Number]}
	}
	return cutTo(hits, n), err
}

func cutTo[T any](s []T, n int) []T { return s[:min(len(s), n)] }

func dot(a, b []float32) float64 {
	sum := 0.0
	for i := range min(len(a), len(b)) {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}
