package text

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/words"
	"github.com/kljensen/snowball/english"
)

// Term is one analysed word of a text. Hash stands for the word in the
// database, so that erasing a memory leaves no word behind.
type Term struct {
	Word string
	Hash int64
	TF   int // how often it occurs in the text
}

// MaxTerms bounds the distinct terms that one text is indexed by.
const MaxTerms = 4096

// Analyse gives a text's distinct terms in order of first use, and its length
// in terms: Unicode words, lower case, English stems, without stop words;
// Chinese, Japanese and Korean runs become pairs of characters.
func Analyse(s string) (terms []Term, length int) {
	at := map[string]int{}
	add := func(w string) {
		length++
		if i, ok := at[w]; ok {
			terms[i].TF++
			return
		}
		if len(terms) < MaxTerms {
			at[w] = len(terms)
			terms = append(terms, Term{Word: w, Hash: Hash(w), TF: 1})
		}
	}
	var cjk []rune
	flush := func() {
		if len(cjk) == 1 {
			add(string(cjk))
		}
		for i := 0; i+1 < len(cjk); i++ {
			add(string(cjk[i : i+2]))
		}
		cjk = cjk[:0]
	}
	tokens := words.FromString(s)
	for tokens.Next() {
		rest := tokens.Value()
		if !IsCJK(firstRune(rest)) {
			flush()
		}
		// A word of letters and a particle may be one token: Go言語, Go를.
		for rest != "" {
			n := cjkPrefix(rest)
			cjk = append(cjk, []rune(rest[:n])...)
			rest = rest[n:]
			n = strings.IndexFunc(rest, IsCJK)
			if n < 0 {
				n = len(rest)
			}
			if n == 0 {
				continue
			}
			flush()
			if stem := Stem(rest[:n]); stem != "" {
				add(stem)
			}
			rest = rest[n:]
		}
	}
	flush()
	return terms, length
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

// cjkPrefix gives the length in bytes of the run that a text begins with.
func cjkPrefix(s string) int {
	n := strings.IndexFunc(s, func(r rune) bool { return !IsCJK(r) })
	if n < 0 {
		return len(s)
	}
	return n
}

// Stem gives the term of one word, or "" for a stop word or a word without
// letters and digits.
func Stem(w string) string {
	w = strings.ToLower(strings.TrimFunc(w, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }))
	w = strings.TrimSuffix(strings.TrimSuffix(w, "'s"), "’s")
	if w == "" || english.IsStopWord(w) {
		return ""
	}
	return english.Stem(w, false)
}

// Hash gives the 64-bit name of a term.
func Hash(w string) int64 {
	sum := sha256.Sum256([]byte(w))
	return int64(binary.BigEndian.Uint64(sum[:8]))
}

// IsCJK tells whether a rune belongs to a script that is written without spaces
// between its words and is analysed in pairs of characters.
func IsCJK(r rune) bool {
	// The two marks that lengthen a vowel belong to no script.
	return r == 'ー' || r == 'ｰ' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}
