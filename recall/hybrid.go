package recall

import "context"

// hybrid is the default: BM25 over everything, with quality (how sure, how
// present) as a modifier that can take at most a fifth of the relevance.
func hybrid(ctx context.Context, a *asking) ([]candidate, error) {
	found, err := a.lexical(ctx, a.q.Text, 3*a.q.Limit, 1.2, 0.4, nil)
	if err != nil {
		return nil, err
	}
	for i := range found {
		c := &found[i]
		m := c.memory
		quality := (m.Confidence() + a.settings.Policy.StrengthOf(m, a.at)) / 2
		c.stage("relevance", c.score)
		c.stage("quality", quality)
		c.score *= 0.8 + 0.2*quality
	}
	return inOrder(found), nil
}
