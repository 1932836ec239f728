package recall

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/oxbow-memory/oxbow"
)

// contributors are the slots that are asked, each for itself, in the order in
// which their facts are shown.
var contributors = []string{"user", "project", "agent"}

const (
	factsPerSlot = 10
	shortestWord = 3 // letters
	published    = 1.2
	publishedB   = 0.75
)

// facts is the published design of slots: the message becomes an OR query of its
// words of three letters or more; BM25 (k1 1.2, b 0.75) over key and value of
// one slot's facts; each slot gives its ten best.
func facts(ctx context.Context, a *asking) ([]candidate, error) {
	words := longWords(a.q.Text)
	var out []candidate
	for _, slot := range contributors {
		if a.q.Slot != "" && a.q.Slot != slot {
			continue
		}
		found, err := a.lexical(ctx, words, factsPerSlot, published, publishedB, func(m oxbow.Memory) bool {
			return m.IsFact() && m.Slot == slot
		})
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// longWords gives the words of a text that have three letters or more. Words
// without spaces between them, as Chinese has, are left whole.
func longWords(s string) string {
	return strings.Join(slices.DeleteFunc(strings.Fields(s), func(w string) bool {
		return utf8.RuneCountInString(w) < shortestWord && !slices.ContainsFunc([]rune(w), wide)
	}), " ")
}

// wide tells whether a rune belongs to a script that is written without spaces.
func wide(r rune) bool { return r >= 0x2e80 }
