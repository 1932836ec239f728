package text

import "regexp"

// secrets are the shapes of strings that must not be stored, each with the
// word that takes its place.
var secrets = []struct {
	form *regexp.Regexp
	mark string
}{
	{regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\z)`), "[redacted: private key]"},
	{regexp.MustCompile(`\b(sk|pk|rk)[-_](live|test|proj|ant|or)?[-_A-Za-z0-9]{16,}`), "[redacted: api key]"},
	{regexp.MustCompile(`\b(ghp|gho|ghu|ghs|ghr|github_pat)_[A-Za-z0-9_]{20,}`), "[redacted: token]"},
	{regexp.MustCompile(`\bglpat-[-A-Za-z0-9_]{16,}`), "[redacted: token]"},
	{regexp.MustCompile(`\bxox[abeprs]-[-A-Za-z0-9]{10,}`), "[redacted: token]"},
	{regexp.MustCompile(`\b(AKIA|ASIA)[0-9A-Z]{16}\b`), "[redacted: access key]"},
	{regexp.MustCompile(`\bAIza[-_0-9A-Za-z]{35}`), "[redacted: api key]"},
	{regexp.MustCompile(`\beyJ[-_A-Za-z0-9]{10,}\.[-_A-Za-z0-9]{10,}\.[-_A-Za-z0-9]*`), "[redacted: token]"},
	{regexp.MustCompile(`(?i)\bbearer\s+[-_.~+/=A-Za-z0-9]{16,}`), "[redacted: token]"},
	{regexp.MustCompile(`\b[a-z][a-z0-9+.-]*://[^\s:/@]+:[^\s@/]+@`), "[redacted: credentials]@"},
	{regexp.MustCompile(`(?i)\b(pass(word|wd|phrase)?|secret|api[-_ ]?key|access[-_ ]?key|auth[-_ ]?token|token)\b\s*[:=]\s*["']?[^\s"',;]{6,}["']?`), "[redacted: ${1}]"},
	{regexp.MustCompile(`(?i)\b(pass(word|wd|phrase)?|secret|api[-_ ]?key|token)\s+is\s+["']?[^\s"',;]*\d[^\s"',;]*["']?`), "[redacted: ${1}]"},
}

// Redact takes out what looks like a secret and tells how many it took.
func Redact(s string) (string, int) {
	n := 0
	for _, sec := range secrets {
		if !sec.form.MatchString(s) {
			continue
		}
		n += len(sec.form.FindAllStringIndex(s, -1))
		s = sec.form.ReplaceAllString(s, sec.mark)
	}
	return s, n
}
