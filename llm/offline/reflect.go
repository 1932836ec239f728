package offline

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"github.com/oxbow-memory/oxbow/llm"
)

// perReflection is how many notes one reflection takes, and maxReflection how many
// bytes, so that it stays readable and loses little when it is replaced.
const (
	perReflection = 12
	maxReflection = 1600
)

// reflect puts neighbouring notes together. Each part keeps every name, number and
// negation of its notes, and the words of what was decided, mentioned and done.
func reflect(ctx context.Context, items []llm.Statement) ([]llm.Reflection, error) {
	var out []llm.Reflection
	var part []llm.Statement
	size := 0
	put := func() {
		if len(part) > 1 {
			r := llm.Reflection{Text: condensed(part)}
			for _, s := range part {
				r.Of = append(r.Of, s.Label)
			}
			out = append(out, r)
		}
		part, size = nil, 0
	}
	for _, s := range items {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if len(part) == perReflection || len(part) > 0 && size+len(s.Text) > maxReflection {
			put()
		}
		part, size = append(part, s), size+len(s.Text)
	}
	put()
	return out, nil
}

// condensed writes the clauses of notes by what they are about, the questions last.
func condensed(notes []llm.Statement) string {
	have := map[string]bool{}
	by := map[string][]string{}
	for _, questions := range []bool{false, true} {
		for _, n := range notes {
			for _, c := range sayings(n.Text) {
				if (c.head == wanted) != questions {
					continue
				}
				brings := false
				p := parse(c.words, n.SaidAt)
				terms := salient(p)
				asWritten(p, terms)
				for t := range terms {
					// of a question only what no rewriting may lose
					brings = brings || !have[t] && (!questions || strings.HasPrefix(t, "=") || strings.HasPrefix(t, "not "))
				}
				if !brings {
					continue
				}
				for t := range terms {
					have[t] = true
				}
				by[c.head] = append(by[c.head], c.words)
			}
		}
	}
	var out []string
	for _, head := range noteOrder {
		if len(by[head]) > 0 {
			out = append(out, head+": "+strings.Join(slices.Compact(by[head]), "; "))
		}
	}
	return stop(strings.Join(out, ". ")) // a question comes last
}

// asWritten adds the names of a clause to the letter, which its meaning does not
// show: Postgres and PostgreSQL are one thing and two names, and no rewriting may
// lose either.
func asWritten(c *claim, terms map[string]bool) {
	for i, w := range c.words {
		for at, r := range w.raw {
			if unicode.IsUpper(r) && len(w.raw) > 1 && (at > 0 || i > 0) {
				terms["="+strings.Trim(w.low, ".:")] = true
				break
			}
		}
	}
}
