package recall

import "context"

const (
	waterfallLimit = 15
	// vectorLeast is the least cosine of the second pass.
	vectorLeast = 0.3
	// graphMost is how many memories the graph adds at most, and graphShare the
	// part of the limit that it may take.
	graphMost  = 5
	graphShare = 3
)

// waterfall is the published design of three passes: words first; then, while
// there is room, vectors with a cosine of 0.3 or more; then the graph: nodes that
// match, two hops, their memories, at most five. Each result says what found it.
// The order is that of the passes, so a weak match of words stands before a
// strong one of vectors: that is the design.
//
// One query vector serves the second and the third pass. The graph may take a
// third of the limit, and what it leaves is filled by the passes before it.
func waterfall(ctx context.Context, a *asking) ([]candidate, error) {
	found, err := a.lexical(ctx, lexical{terms: a.cue.terms, n: a.q.Limit, k1: publishedK1, b: publishedB})
	if err != nil {
		return nil, err
	}
	if len(found) < a.q.Limit {
		alike, err := a.dense(ctx, dense{text: a.cue.words, n: a.q.Limit, least: vectorLeast})
		if err != nil {
			return nil, err
		}
		found = cut(append(found, others(alike, found)...), a.q.Limit)
	}
	linked, err := a.graph(ctx, graph{text: a.cue.words, n: graphMost})
	if err != nil {
		return nil, err
	}
	linked = cut(others(linked, found), max(1, a.q.Limit/graphShare))
	return append(cut(found, a.q.Limit-len(linked)), linked...), nil
}

// others gives those candidates that are not among the ones that were found.
func others(cs, found []candidate) []candidate {
	known := map[string]bool{}
	for _, c := range found {
		known[c.memory.ID] = true
	}
	var out []candidate
	for _, c := range cs {
		if !known[c.memory.ID] {
			out = append(out, c)
		}
	}
	return out
}
