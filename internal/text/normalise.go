package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// MaxBytes is the largest text that is stored, 64 KiB.
const MaxBytes = 64 << 10

// Normalise gives text as both databases keep it: valid UTF-8 (what is not
// becomes U+FFFD), NFC, without NUL, with \n for line ends, and without white
// space around it.
func Normalise(s string) string {
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	s = strings.ReplaceAll(s, "\x00", "")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	return strings.TrimSpace(norm.NFC.String(s))
}

// Clip shortens a text to at most n runes, at a word's end when there is one
// in the second half, and marks the cut.
func Clip(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)[:n-1]
	cut := string(r)
	if i := strings.LastIndexByte(cut, ' '); i > len(cut)/2 {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, " ,;:.") + "…"
}

// Printable gives text that is safe to print on a terminal in one line: the
// control characters, among them ANSI escapes, and the marks that reorder
// text become visible escapes.
func Printable(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n' || r == '\t':
			b.WriteByte(' ')
		case unicode.IsControl(r) || unicode.In(r, unicode.Cf) && r != '\u200d' && r != '\u200c':
			b.WriteString(strings.Trim(strings.ToUpper(quoteRune(r)), "'"))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func quoteRune(r rune) string {
	const hex = "0123456789abcdef"
	out := []byte("<u+")
	for shift := 12; shift >= 0; shift -= 4 {
		out = append(out, hex[(r>>shift)&0xf])
	}
	return string(append(out, '>'))
}

// Same tells whether two texts say the same words: equal but for case, white
// space and the punctuation at the end.
func Same(a, b string) bool { return fold(a) == fold(b) }

func fold(s string) string {
	s = strings.ToLower(strings.Join(strings.Fields(Normalise(s)), " "))
	return strings.TrimRight(s, ".!? ")
}
