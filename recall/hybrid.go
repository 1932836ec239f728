package recall

import "context"

// hybrid is the default: BM25 over everything, with quality (how sure, how
// present) as a modifier that can take at most a fifth of the relevance.
func hybrid(ctx context.Context, a *asking) ([]candidate, error) {
	found, err := a.lexical(ctx, lexical{terms: a.cue.terms, n: 3 * a.q.Limit, k1: publishedK1, b: 0.4})
	if err != nil {
		return nil, err
	}
	for i := range found {
		c := &found[i]
		quality := (c.memory.Confidence() + a.settings.Policy.StrengthOf(c.memory, a.at)) / 2
		c.stage("quality", quality)
		c.score *= 0.8 + 0.2*quality
	}
	return inOrder(found), nil
}
