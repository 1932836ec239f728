package text

import (
	"regexp"
	"strings"
	"unicode"
)

// secret is one shape of a string that must not be stored.
type secret struct {
	form *regexp.Regexp
	mark string // takes its place; ${1} is the word that announces the value
	// value is the group that must look random for the shape to count, so that
	// ordinary sentences stay; 0 when the shape is enough.
	value int
	// words, of which one stands in whatever the form matches, in lower case, and
	// sign, which does too, spare most texts the form.
	words []string
	sign  string
}

// The pieces that the shapes of announced secrets are made of. A name may stand
// in a longer one, such as DB_PASSWORD or client-secret.
const (
	prefixed  = `(?i)\b([a-z0-9_-]*(?:`
	passwords = `pass(?:word|wd|phrase)|pwd`
	keys      = `secret|credentials?|api[-_ ]?key|access[-_ ]?key|private[-_ ]?key|token`
	orPass    = `|(?:\b|_)pass` // too common a word to be read in a sentence
	assigned  = `))["']?\s*=\s*["']?([^\s"',;]{6,})["']?`
	labelled  = `))["']?\s*:\s*["']?([^\s"',;]{6,})["']?`
	stated    = `))\s+is:?\s+["']?([^\s"',;]{6,})["']?`
)

// announcing are the words in which every name of a secret has a part.
var announcing = []string{"pass", "pwd", "secret", "credential", "key", "token"}

func prefixes(names ...string) (out []string) {
	for _, n := range names {
		out = append(out, n+"-", n+"_")
	}
	return out
}

// secrets are tried in this order: a form that is known by its own shape comes
// before the words that announce one.
var secrets = []secret{
	{words: []string{"-----begin "}, form: regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----.*?(-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|\z)`), mark: "[redacted: private key]"},
	{words: prefixes("sk", "pk", "rk"), form: regexp.MustCompile(`\b((?:sk|pk|rk)[-_][-_A-Za-z0-9]{16,})`), mark: "[redacted: api key]", value: 1},
	{words: []string{"gho_", "ghp_", "ghu_", "ghs_", "ghr_", "github_pat_"}, form: regexp.MustCompile(`\b(?:gh[opusr]|github_pat)_[A-Za-z0-9_]{20,}`), mark: "[redacted: token]"},
	{words: []string{"glpat-"}, form: regexp.MustCompile(`\bglpat-[-A-Za-z0-9_]{16,}`), mark: "[redacted: token]"},
	{words: prefixes("npm", "hf", "pypi", "dop_v1", "shpat"), form: regexp.MustCompile(`\b((?:npm|hf|pypi|dop_v1|shpat)[-_][-_A-Za-z0-9]{30,})`), mark: "[redacted: token]", value: 1},
	{words: []string{"xox"}, form: regexp.MustCompile(`\bxox[abeprs]-[-A-Za-z0-9]{10,}`), mark: "[redacted: token]"},
	{words: []string{"akia", "asia"}, form: regexp.MustCompile(`\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`), mark: "[redacted: access key]"},
	{words: []string{"aiza"}, form: regexp.MustCompile(`\bAIza[-_0-9A-Za-z]{35}`), mark: "[redacted: api key]"},
	{words: []string{"eyj"}, form: regexp.MustCompile(`\beyJ[-_A-Za-z0-9]{10,}\.[-_A-Za-z0-9]{10,}\.[-_A-Za-z0-9]*`), mark: "[redacted: token]"},
	{words: []string{"bearer", "basic"}, form: regexp.MustCompile(`(?i)\b(?:bearer|basic)\s+([-_.~+/=A-Za-z0-9]{16,})`), mark: "[redacted: token]", value: 1},
	{words: []string{"://"}, sign: "@", form: regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]*://[^\s:/@]*:[^\s@/]+@`), mark: "[redacted: credentials]@"},
	{words: announcing, sign: "=", form: regexp.MustCompile(prefixed + passwords + `|` + keys + orPass + assigned), mark: "[redacted: ${1}]"},
	{words: announcing, sign: ":", form: regexp.MustCompile(prefixed + passwords + labelled), mark: "[redacted: ${1}]"},
	{words: announcing, sign: ":", form: regexp.MustCompile(prefixed + keys + orPass + labelled), mark: "[redacted: ${1}]", value: 2},
	{words: announcing, sign: "is", form: regexp.MustCompile(prefixed + passwords + `|` + keys + stated), mark: "[redacted: ${1}]", value: 2},
}

// Redact takes out what looks like a secret and tells how many it took. What
// it leaves, it leaves again.
//
// Limit: a secret that is an ordinary word, and that no word announces, stays.
func Redact(s string) (string, int) {
	total, folded := 0, fold(s)
	for _, sec := range secrets {
		if !sec.possible(folded) {
			continue
		}
		var n int
		if s, n = sec.redact(s); n > 0 {
			total, folded = total+n, fold(s)
		}
	}
	return s, total
}

// fold gives a text in lower case as the forms see it, for which the long s is an
// s too.
func fold(s string) string { return strings.ReplaceAll(strings.ToLower(s), "ſ", "s") }

// possible tells whether a text in lower case has what the form cannot do without.
func (sec secret) possible(folded string) bool {
	if !strings.Contains(folded, sec.sign) {
		return false
	}
	for _, w := range sec.words {
		if strings.Contains(folded, w) {
			return true
		}
	}
	return false
}

func (sec secret) redact(s string) (string, int) {
	var b strings.Builder
	n, end := 0, 0
	for _, at := range sec.form.FindAllStringSubmatchIndex(s, -1) {
		found := s[at[0]:at[1]]
		if strings.Contains(found, "[redacted:") || sec.value > 0 && !random(s[at[2*sec.value]:at[2*sec.value+1]]) {
			continue
		}
		b.WriteString(s[end:at[0]])
		b.Write(sec.form.ExpandString(nil, sec.mark, s, at))
		n, end = n+1, at[1]
	}
	b.WriteString(s[end:])
	return b.String(), n
}

// random tells whether a value looks made by a machine or a password rule
// rather than written as a word: letters beside digits, six digits and more, or
// capitals in its middle beside small letters.
func random(v string) bool {
	var letters, digits, humps int
	small := false
	for _, r := range v {
		switch {
		case unicode.IsDigit(r):
			digits++
		case unicode.IsLetter(r):
			letters++
			if unicode.IsUpper(r) && small {
				humps++
			}
			small = unicode.IsLower(r)
		}
	}
	return digits > 0 && letters > 0 || digits >= 6 || humps >= 2
}
