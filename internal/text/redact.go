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

// secrets are tried in this order: a form that is known by its own shape comes
// before the words that announce one.
var secrets = []secret{
	{form: regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----.*?(-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|\z)`), mark: "[redacted: private key]"},
	{form: regexp.MustCompile(`\b((?:sk|pk|rk)[-_][-_A-Za-z0-9]{16,})`), mark: "[redacted: api key]", value: 1},
	{form: regexp.MustCompile(`\b(?:gh[opusr]|github_pat)_[A-Za-z0-9_]{20,}`), mark: "[redacted: token]"},
	{form: regexp.MustCompile(`\bglpat-[-A-Za-z0-9_]{16,}`), mark: "[redacted: token]"},
	{form: regexp.MustCompile(`\b((?:npm|hf|pypi|dop_v1|shpat)[-_][-_A-Za-z0-9]{30,})`), mark: "[redacted: token]", value: 1},
	{form: regexp.MustCompile(`\bxox[abeprs]-[-A-Za-z0-9]{10,}`), mark: "[redacted: token]"},
	{form: regexp.MustCompile(`\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`), mark: "[redacted: access key]"},
	{form: regexp.MustCompile(`\bAIza[-_0-9A-Za-z]{35}`), mark: "[redacted: api key]"},
	{form: regexp.MustCompile(`\beyJ[-_A-Za-z0-9]{10,}\.[-_A-Za-z0-9]{10,}\.[-_A-Za-z0-9]*`), mark: "[redacted: token]"},
	{form: regexp.MustCompile(`(?i)\b(?:bearer|basic)\s+([-_.~+/=A-Za-z0-9]{16,})`), mark: "[redacted: token]", value: 1},
	{form: regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]*://[^\s:/@]*:[^\s@/]+@`), mark: "[redacted: credentials]@"},
	{form: regexp.MustCompile(prefixed + passwords + `|` + keys + orPass + assigned), mark: "[redacted: ${1}]"},
	{form: regexp.MustCompile(prefixed + passwords + labelled), mark: "[redacted: ${1}]"},
	{form: regexp.MustCompile(prefixed + keys + orPass + labelled), mark: "[redacted: ${1}]", value: 2},
	{form: regexp.MustCompile(prefixed + passwords + `|` + keys + stated), mark: "[redacted: ${1}]", value: 2},
}

// Redact takes out what looks like a secret and tells how many it took. What
// it leaves, it leaves again.
//
// Limit: a secret that is an ordinary word, and that no word announces, stays.
func Redact(s string) (string, int) {
	total := 0
	for _, sec := range secrets {
		var n int
		s, n = sec.redact(s)
		total += n
	}
	return s, total
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
