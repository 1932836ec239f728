package recall

import "context"

const (
	compositeLimit = 5
	compositeFloor = 0.35
	compositePool  = 30
	// strangers have a cosine up to this; what is no nearer is no candidate.
	strangers = 0.15
)

// composite is the published design of a cue from the agent's state: lexical over
// the words as typed and dense over the cue, fused to one similarity, which is
// the greater of the two; then
//
//	score = 0.6 * similarity + 0.25 * 2^(-idle / 7 days) + 0.15 * salience
//
// over 30 candidates, where idle is the time since the memory was last said,
// confirmed, touched or used, and salience is importance / 10. What scores under
// 0.35 is left out before the five best are taken. The weights are those of the
// scope's policy (recall.similarity, recall.recency, recall.salience), divided by
// their sum.
func composite(ctx context.Context, a *asking) ([]candidate, error) {
	typed, err := a.lexical(ctx, lexical{terms: a.cue.terms, n: compositePool, k1: publishedK1, b: publishedB})
	if err != nil {
		return nil, err
	}
	alike, err := a.dense(ctx, dense{text: a.cue.state, n: compositePool, least: strangers})
	if err != nil {
		return nil, err
	}
	found := cut(inOrder(fuse(typed, alike)), compositePool)
	w := a.settings.Policy.Recall.OrDefault()
	whole := w.Similarity + w.Recency + w.Salience
	for i := range found {
		c := &found[i]
		recency := halved(c.memory.RefTime(), a.at, w.RecencyHalfLifeDays)
		salience := c.memory.Importance / 10
		c.stage("similarity", c.score)
		c.stage("recency", recency)
		c.stage("salience", salience)
		c.score = (w.Similarity*c.score + w.Recency*recency + w.Salience*salience) / whole
	}
	return inOrder(found), nil
}
