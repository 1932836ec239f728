package recall

import (
	"context"

	"github.com/oxbow-memory/oxbow/store"
)

const (
	// graphSeeds is how many nodes the graph is walked from, the published
	// design's number, as are the hops.
	graphSeeds = 5
	graphHops  = 2
)

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
	nodes, err := a.cfg.Store.MatchNodes(ctx, a.q.Scope, g.text, graphSeeds)
	if err != nil || len(nodes) == 0 {
		return nil, err
	}
	q := store.WalkQuery{Scope: a.q.Scope, Hops: graphHops, Statuses: a.stored(), Limit: 4*g.n + 20}
	if a.past == nil && len(a.q.Include) == 0 {
		q.Now = a.at
	}
	for _, n := range nodes {
		q.From = append(q.From, n.ID)
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
