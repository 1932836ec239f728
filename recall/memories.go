package recall

import (
	"context"
	"slices"
)

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
//	score = 0.6 * BM25 / best BM25 + 0.4 * 2^(-age / 30 days)
//
// The published formula adds a raw BM25 score, which has no scale and is negative
// there, and the quotient of two timestamps, which is 0.99 for everything. Here
// both terms run from 0 to 1. Age is since the memory last changed.
func memories(ctx context.Context, a *asking) ([]candidate, error) {
	found, err := a.lexical(ctx, lexical{terms: a.cue.terms, n: rankedPool, k1: publishedK1, b: publishedB})
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(c candidate) bool { return c.memory.IsFact() })
	ofBest(found)
	for i := range found {
		a.freshen(&found[i])
	}
	return inOrder(found), nil
}

// ofBest scores by the share of the best one's BM25, so that the best is 1. The
// share of the question that a memory explains would be small for nearly all, and
// leave the order to freshness: recall of the turns that answer a question fell
// from 0.53 to 0.32 by it.
func ofBest(cs []candidate) {
	best := 0.0
	for _, c := range cs {
		best = max(best, c.value("bm25"))
	}
	for i := range cs {
		cs[i].score = cs[i].value("bm25") / best
		cs[i].stage("of best", cs[i].score)
	}
}

// freshen mixes a score with how fresh the memory is.
func (a *asking) freshen(c *candidate) {
	fresh := halved(changedAt(c.memory), a.at, freshHalfLife)
	c.stage("freshness", fresh)
	c.score = relevanceShare*c.score + freshnessShare*fresh
}
