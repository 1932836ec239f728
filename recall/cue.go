package recall

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/store"
)

// cue is a query analysed: the words as typed, and what stands for the state of
// mind of whoever asks.
type cue struct {
	words string      // as typed
	state string      // goal, step and open questions; the words when there are none
	terms []text.Term // of the words, or of the state when no words were typed
	made  []vectorOf  // query vectors, each made once
}

type vectorOf struct {
	text   string
	values []float32
}

func analyse(q Query) (c cue, cutOff bool) {
	c.words, cutOff = bounded(q.Text)
	state, more := bounded(stateOf(q.State))
	c.state = state
	if state == "" {
		c.state = c.words
	}
	typed := c.words
	if typed == "" {
		typed = c.state
	}
	c.terms, _ = text.Analyse(typed)
	return c, cutOff || more
}

// stateOf gives the cue of a state of mind: what there is of it, a line each.
func stateOf(s State) string {
	parts := []string{s.Goal, s.Step}
	parts = append(parts, s.Open...)
	var kept []string
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, "\n")
}

// bounded normalises a text and cuts what is over the limit, at a rune's end.
func bounded(s string) (string, bool) {
	cutOff := len(s) > text.MaxBytes
	if cutOff {
		end := text.MaxBytes
		for end > 0 && !utf8.RuneStart(s[end]) {
			end--
		}
		s = s[:end]
	}
	return text.Normalise(s), cutOff
}

// isEmpty tells whether nothing was asked.
func (a *asking) isEmpty() bool { return a.cue.words == "" && a.cue.state == "" }

// weighted gives terms with the weight of words as they were asked.
func weighted(terms []text.Term) []store.Weighted {
	out := make([]store.Weighted, 0, min(len(terms), store.MaxTerms))
	for _, t := range terms[:min(len(terms), store.MaxTerms)] {
		out = append(out, store.Weighted{Hash: t.Hash, Weight: 1})
	}
	return out
}

// hintWeight is what a hint counts beside a word that was said. 0.3 to 1 rank alike
// on the public sets.
const hintWeight = 0.6

// withHints gives terms with the weight of words as they were asked, and behind
// them those that memories may have as hints.
func withHints(terms []text.Term) []store.Weighted {
	out := weighted(terms)
	for _, t := range terms[:len(out)] {
		if text.IsHint(t.Word) && len(out) < store.MaxTerms {
			out = append(out, store.Weighted{Hash: text.HintHash(t.Word), Weight: hintWeight})
		}
	}
	return out
}

// vector embeds a text of the query, once for all arms that need it; nil when
// there is no embedder or it is away, which a note says.
func (a *asking) vector(ctx context.Context, s string) ([]float32, error) {
	for _, v := range a.cue.made {
		if v.text == s {
			return v.values, nil
		}
	}
	if a.cfg.Embedder == nil || s == "" {
		return nil, nil
	}
	vs, err := a.embed(ctx, []string{s})
	if err != nil {
		return nil, err
	}
	a.cue.made = append(a.cue.made, vectorOf{s, vs[0]})
	return vs[0], nil
}

// embed asks the embedder; of one that is away it gives no vectors, and a note.
func (a *asking) embed(ctx context.Context, texts []string) ([][]float32, error) {
	ctx = llm.WithCaller(ctx, llm.Caller{Tenant: a.q.Scope.Tenant, Scope: a.q.Scope.Name, Job: "recall"})
	vs, err := a.cfg.Embedder.Embed(ctx, texts)
	if _, away := errors.AsType[*llm.AwayError](err); away && ctx.Err() == nil {
		a.note("the embedder is away: memories were found by their words alone")
		return make([][]float32, len(texts)), nil
	}
	return vs, err
}
