package offline

import (
	"slices"
	"strings"

	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/llm"
)

// maxTagsMerged bounds the tags of a merged statement.
const maxTagsMerged = 8

// synthesize joins the sources' sentences, the fullest first, and leaves out
// each that brings nothing new: no stem, name, number, day or negation that
// does not stand there already. Nothing is reworded, so nothing can be made up.
func synthesize(items []llm.Statement) llm.Synthesis {
	type source struct {
		text  string
		terms map[string]bool
		at    int
	}
	var sources []source
	var all []string
	for i, it := range items {
		c := parse(it.Text, it.SaidAt)
		all = append(all, tags(c)...)
		sources = append(sources, source{text: strings.TrimSpace(it.Text), terms: salient(c), at: i})
	}
	slices.SortStableFunc(sources, func(a, b source) int { return len(b.terms) - len(a.terms) })
	have := map[string]bool{}
	var kept []string
	for _, s := range sources {
		brings := len(s.text) > maxSentence
		for t := range s.terms {
			brings = brings || !have[t]
		}
		if !brings {
			continue
		}
		for t := range s.terms {
			have[t] = true
		}
		kept = append(kept, stop(s.text))
	}
	slices.Sort(all)
	all = slices.Compact(all)
	out := llm.Synthesis{Text: strings.Join(kept, " "), Tags: all[:min(len(all), maxTagsMerged)]}
	if len(kept) > 0 {
		out.Summary = text.Clip(kept[0], maxSummary)
	}
	return out
}

// salient gives what a merged statement must not lose: stems, names and numbers
// as they are written, days, and each negation with the word it denies.
func salient(c *claim) map[string]bool {
	out := map[string]bool{}
	for _, s := range meaning(c) {
		out[s] = true
	}
	for i, w := range c.words {
		low := strings.Trim(w.low, ".:")
		switch {
		case hasDigit(low), c.inDate(i):
			out["="+low] = true
		case c.isName(i) && i > 0:
			out["="+low] = true
		case negatives[low]:
			out["not "+text.Stem(c.lowAt(i+1))] = true
		}
	}
	return out
}

// stop ends a text with a full stop.
func stop(s string) string {
	if strings.HasSuffix(s, ".") || strings.HasSuffix(s, "!") || strings.HasSuffix(s, "?") || strings.HasSuffix(s, "…") {
		return s
	}
	return s + "."
}
