package recall

import "context"

const (
	relevanceShare = 0.6
	freshnessShare = 0.4
	// freshHalfLife is in days: after a month a memory is half as fresh.
	freshHalfLife = 30
	// rankedPool is how many of the most relevant are ranked by both terms.
	rankedPool = 300
)

// memories is the published design of memories without an address: 60 % relevance
// and 40 % freshness.
//
//	score = 0.6 * relevance + 0.4 * 2^(-age / 30 days)
//
// The published formula adds a raw BM25 score, which has no scale and is negative
// there, and the quotient of two timestamps, which is 0.99 for everything. Here
// both terms run from 0 to 1. Age is since the memory last changed.
func memories(ctx context.Context, a *asking) ([]candidate, error) {
	found, err := a.lexical(ctx, lexical{terms: a.cue.terms, n: rankedPool, k1: publishedK1, b: publishedB})
	if err != nil {
		return nil, err
	}
	var out []candidate
	for _, c := range found {
		if !c.memory.IsFact() {
			out = append(out, a.freshened(c))
		}
	}
	return inOrder(out), nil
}

func (a *asking) freshened(c candidate) candidate {
	fresh := halved(changedAt(c.memory), a.at, freshHalfLife)
	c.stage("freshness", fresh)
	c.score = relevanceShare*c.value("relevance") + freshnessShare*fresh
	return c
}
