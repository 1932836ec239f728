package recall

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/oxbow-memory/oxbow/internal/text"
)

// contributors are the slots that are asked, each for itself, in the order in
// which their facts are shown.
var contributors = []string{"user", "project", "agent"}

const (
	factsPerSlot = 10
	shortestWord = 3 // letters
)

// facts is the published design of slots: the message becomes an OR query of its
// words of three letters or more; BM25 over key and value of one slot's facts;
// each slot gives its ten best, one slot after the other.
//
// The published design knows no stop words and no stems. The words that are left
// out here stand in nearly every fact.
func facts(ctx context.Context, a *asking) ([]candidate, error) {
	terms, _ := text.Analyse(longWords(a.cue.words))
	var out []candidate
	for _, slot := range contributors {
		if a.q.Slot != "" && a.q.Slot != slot {
			continue
		}
		found, err := a.lexical(ctx, lexical{terms: terms, n: factsPerSlot, k1: publishedK1, b: publishedB, facts: true, slot: slot})
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// longWords gives the words of a text that have three letters or more. Scripts
// that are written without spaces are left whole.
func longWords(s string) string {
	words := strings.FieldsFunc(strings.ReplaceAll(s, "'", ""), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsPunct(r) && !strings.ContainsRune("-_./@", r) || unicode.IsSymbol(r)
	})
	return strings.Join(slices.DeleteFunc(words, func(w string) bool {
		return utf8.RuneCountInString(w) < shortestWord && !strings.ContainsFunc(w, text.IsCJK)
	}), " ")
}
