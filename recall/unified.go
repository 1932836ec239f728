package recall

import "context"

// unified asks facts and memories in one query, which the author of the two
// designs missed: each keeps its own rule, and as both score from 0 to 1 they
// stand in one list. A fact does not grow stale, so its score is its relevance;
// a memory's is that of the strategy memories.
func unified(ctx context.Context, a *asking) ([]candidate, error) {
	found, err := a.lexical(ctx, lexical{terms: a.cue.terms, n: rankedPool, k1: publishedK1, b: publishedB})
	if err != nil {
		return nil, err
	}
	ofBest(found)
	for i := range found {
		if !found[i].memory.IsFact() {
			a.freshen(&found[i])
		}
	}
	return inOrder(found), nil
}
