package offline

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/sentences"
	"github.com/oxbow-memory/oxbow/internal/text"
)

// word is one token of a sentence. Contractions are spelled out, so "we're" is
// the two words "we" and "are", both at the place of the one that was written.
type word struct {
	raw        string // as written
	low        string // lower case; the punctuation mark itself for punctuation
	start, end int    // bytes in the sentence
}

// cut tells whether the text was too long to be read to its end.
func (s sentence) cut() bool { return s.long }

// sentence is a text in tokens. norm is the lower-case tokens between single
// spaces, with one at each end, so that a phrase is found as " phrase ".
type sentence struct {
	text  string
	words []word
	norm  string
	long  bool // it was longer than maxSentence
}

// maxSentence bounds what the rules read of one sentence, in bytes. Pasted logs
// and code have no use for them.
const maxSentence = 2000

// read turns a text into tokens.
func read(s string) sentence {
	long := len(s) > maxSentence
	if long {
		s = strings.ToValidUTF8(s[:maxSentence], "")
	}
	out := sentence{text: s, long: long}
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case isWordRune(r):
			end := wordEnd(s, i)
			out.words = append(out.words, spellOut(s[i:end], i, end)...)
			i = end
		case strings.ContainsRune(",.;:?!()\"", r):
			out.words = append(out.words, word{raw: s[i : i+n], low: s[i : i+n], start: i, end: i + n})
			i += n
		default:
			i += n
		}
	}
	var b strings.Builder
	b.WriteByte(' ')
	for _, w := range out.words {
		b.WriteString(w.low)
		b.WriteByte(' ')
	}
	out.norm = b.String()
	return out
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// wordEnd gives the end of the word that starts at i: letters and digits, and
// the marks inside names and numbers (node.js, us-east-1, 10:30, c++, 5%).
func wordEnd(s string, i int) int {
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		if isWordRune(r) || r == '%' {
			i += n
			continue
		}
		next, _ := utf8.DecodeRuneInString(s[i+n:])
		inside := strings.ContainsRune(".'’+#/_-:@&", r) && isWordRune(next) || r == ',' && thousands(s, i)
		if r == '+' && next == '+' || r == '+' && s[i-1] == '+' || r == '#' && !isWordRune(next) && s[i-1] != ' ' {
			inside = true
		}
		if !inside {
			break
		}
		i += n
	}
	return i
}

// thousands tells whether the comma at i groups the digits of a number.
func thousands(s string, i int) bool {
	digit := func(k int) bool { return k >= 0 && k < len(s) && s[k] >= '0' && s[k] <= '9' }
	return digit(i-1) && digit(i+1) && digit(i+2) && digit(i+3) && !digit(i+4)
}

// contractions are what stands for a word's end. 's is read as "is" only after
// the words in sIsIs; elsewhere it is a possessive.
var contractions = []struct{ end, word string }{
	{"'re", "are"}, {"'m", "am"}, {"'ve", "have"}, {"'ll", "will"}, {"'d", "would"},
}

var sIsIs = set("it", "that", "there", "what", "who", "here", "he", "she", "where", "how", "everything", "everyone", "nothing", "something", "this")

// spellOut gives the word, or words, that a written word stands for.
func spellOut(raw string, start, end int) []word {
	low := strings.ToLower(strings.ReplaceAll(raw, "’", "'"))
	two := func(a, b string) []word {
		return []word{{raw: raw, low: a, start: start, end: end}, {raw: "", low: b, start: end, end: end}}
	}
	switch low {
	case "won't":
		return two("will", "not")
	case "can't", "cannot":
		return two("can", "not")
	case "let's":
		return two("let", "us")
	}
	if s, ok := strings.CutSuffix(low, "n't"); ok && s != "" {
		return two(s, "not")
	}
	if s, ok := strings.CutSuffix(low, "'s"); ok && s != "" {
		if sIsIs[s] {
			return two(s, "is")
		}
		return two(s, "'s")
	}
	for _, c := range contractions {
		if s, ok := strings.CutSuffix(low, c.end); ok && s != "" {
			return two(s, c.word)
		}
	}
	return []word{{raw: raw, low: low, start: start, end: end}}
}

// has tells whether one of the phrases stands in the sentence, as whole words.
func (s sentence) has(phrases ...string) bool {
	for _, p := range phrases {
		if i := strings.Index(s.norm, p); i >= 0 && hasPhrase(s.norm, p, i) {
			return true
		}
	}
	return false
}

func hasPhrase(norm, p string, i int) bool {
	for i >= 0 {
		if norm[i-1] == ' ' && norm[i+len(p)] == ' ' {
			return true
		}
		next := strings.Index(norm[i+1:], p)
		if next < 0 {
			return false
		}
		i += 1 + next
	}
	return false
}

// starts tells whether the sentence begins with one of the phrases.
func (s sentence) starts(phrases ...string) bool {
	for _, p := range phrases {
		if strings.HasPrefix(s.norm[1:], p+" ") {
			return true
		}
	}
	return false
}

// split gives the sentences of a text as substrings of it, trimmed.
func split(s string) []string {
	var out []string
	for _, line := range strings.Split(s, "\n") {
		seg := sentences.FromString(line)
		for seg.Next() {
			if v := strings.TrimSpace(seg.Value()); v != "" {
				out = append(out, v)
			}
		}
	}
	return out
}

// set makes a set of words.
func set(ws ...string) map[string]bool {
	m := make(map[string]bool, len(ws))
	for _, w := range ws {
		m[w] = true
	}
	return m
}

// stems makes a set of the stems of words.
func stems(ws ...string) map[string]bool {
	m := make(map[string]bool, len(ws))
	for _, w := range ws {
		m[w] = true
		m[text.Stem(w)] = true
	}
	return m
}

// fillers are words that colour a statement and say nothing of their own.
var fillers = set("please", "just", "really", "actually", "also", "now", "currently", "basically", "finally",
	"still", "already", "again", "too", "well", "ok", "okay", "oh", "btw", "always", "generally", "usually",
	"today", "anyway", "so", "by", "way", "quite", "very", "pretty", "simply", "though", "everywhere", "thanks")

// content gives the stems that carry the meaning of tokens, in order: without
// stop words, fillers and punctuation, and with one name for each tool.
func content(words []word) []string {
	var out []string
	for i := 0; i < len(words); i++ {
		if t, n := toolAt(words, i); n > 0 {
			out = append(out, t.id)
			i += n - 1
			continue
		}
		w := words[i].low
		if fillers[w] {
			continue
		}
		if st := text.Stem(w); st != "" {
			out = append(out, st)
		}
	}
	return out
}

// capitalised tells whether a word is written like a name.
func capitalised(w string) bool {
	r, _ := utf8.DecodeRuneInString(w)
	return unicode.IsUpper(r)
}

// hasDigit tells whether a word holds a digit.
func hasDigit(w string) bool { return strings.ContainsAny(w, "0123456789") }
