package recall

import (
	"context"
	"slices"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

const (
	// graphSeeds is how many nodes the graph is walked from, the published
	// design's number, as are the hops.
	graphSeeds = 5
	graphHops  = 2
)

// seedsByVector is how many of the seeds their vectors may name. They go first, as
// in the published design, but leave room: a name that stands in the question is
// the surer sign.
const seedsByVector = 3

// graph is the arm of the graph: memories of the nodes that match a text, and of
// those up to two hops away, at most n. Near ones come first; the score is the
// weight of the way, which is less for relations that few memories say, divided
// by its length and one.
//
// Limit: of the past it goes along the relations that stand today.
type graph struct {
	text string
	n    int
}

func (a *asking) graph(ctx context.Context, g graph) ([]candidate, error) {
	if g.text == "" || g.n < 1 {
		return nil, nil
	}
	q := store.WalkQuery{Scope: a.q.Scope, Hops: graphHops, Statuses: a.stored(), Limit: 4*g.n + 20,
		Avoid: store.NodeID(a.q.Scope, store.UserNode)}
	if a.past == nil && len(a.q.Include) == 0 {
		q.Now = a.at
	}
	var err error
	if q.From, err = a.seeds(ctx, g.text, q); err != nil || len(q.From) == 0 {
		return nil, err
	}
	walked, err := a.cfg.Store.Walk(ctx, q)
	if err != nil {
		return nil, err
	}
	ids, way := make([]string, len(walked.Hits)), make(map[string]store.Reached, len(walked.Hits))
	for i, h := range walked.Hits {
		ids[i], way[h.ID] = h.ID, h
	}
	ms, err := a.admit(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make([]candidate, 0, len(ms))
	for _, m := range ms {
		h := way[m.ID]
		c := candidate{memory: m, match: []string{byGraph}, score: h.Weight / float64(1+h.Hops)}
		c.stage("hops", float64(h.Hops))
		out = append(out, c)
	}
	if walked.Cut {
		a.note("the graph is larger than what was looked at: not every way was followed")
	}
	return cut(out, g.n), nil
}

// seeds gives the nodes from which the graph is walked: those whose description
// is like the text, then those of whose name half the words stand in it.
func (a *asking) seeds(ctx context.Context, words string, q store.WalkQuery) ([]string, error) {
	alike, err := a.nodesLike(ctx, words, q)
	if err != nil {
		return nil, err
	}
	named, err := a.cfg.Store.MatchNodes(ctx, store.NodeQuery{Scope: q.Scope, Words: words, Statuses: q.Statuses, Now: q.Now, Limit: graphSeeds + 1})
	if err != nil {
		return nil, err
	}
	var out []string
	add := func(id string) {
		if id != q.Avoid && len(out) < graphSeeds && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	for _, id := range cutTo(alike, seedsByVector) {
		add(id)
	}
	for _, n := range named {
		add(n.ID)
	}
	for _, id := range alike {
		add(id)
	}
	return out, nil
}

// nodesLike gives the nodes whose vectors have a cosine of 0.3 or more with a text,
// best first; none without an embedder, or when they are too many to be held.
func (a *asking) nodesLike(ctx context.Context, words string, q store.WalkQuery) ([]string, error) {
	if mark, err := a.cfg.Store.NodeVectorMark(ctx, q.Scope); err != nil || mark == 0 {
		return nil, err // a vector of the question would be for nothing
	}
	v, err := a.vector(ctx, words)
	if err != nil || v == nil {
		return nil, err
	}
	hits, _, err := a.nodes.Nearest(ctx, store.NearestQuery{Scope: q.Scope, Embedder: a.cfg.Embedder.ID(), Vector: v,
		Statuses: q.Statuses, Now: q.Now, Limit: graphSeeds})
	var out []string
	for _, h := range hits {
		if h.Score >= vectorLeast {
			out = append(out, h.ID)
		}
	}
	return out, err
}

// nodeVectors shows the vectors of nodes to a Matrix as it sees those of memories.
type nodeVectors struct{ store.NodeVectorReader }

func (n nodeVectors) VectorsOf(context.Context, oxbow.Scope, string, []string) (map[string][]float32, error) {
	return nil, nil
}

func (n nodeVectors) VectorMark(ctx context.Context, s oxbow.Scope) (int64, error) {
	return n.NodeVectorMark(ctx, s)
}

func (n nodeVectors) VectorsSince(ctx context.Context, s oxbow.Scope, embedder string, after store.VectorPlace, limit int) ([]store.PlacedVector, error) {
	return n.NodeVectorsSince(ctx, s, embedder, after, limit)
}

func (n nodeVectors) CountVectors(ctx context.Context, s oxbow.Scope, embedder string) (with, without int, err error) {
	return n.CountNodeVectors(ctx, s, embedder)
}

func (n nodeVectors) WithoutVector(context.Context, oxbow.Scope, string, string, int) ([]oxbow.Memory, error) {
	return nil, nil
}

func (n nodeVectors) Standing(ctx context.Context, q store.StandingQuery) ([]store.Standing, error) {
	return n.StandingNodes(ctx, q)
}

func (n nodeVectors) NearestVectors(context.Context, store.NearestQuery) ([]store.Hit, bool, error) {
	return nil, false, nil
}
