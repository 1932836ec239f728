package text

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/oxbow-memory/oxbow"
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
	s = strings.ReplaceAll(s, "\r", "\n")
	return strings.TrimSpace(norm.NFC.String(s))
}

// Clip shortens a text to at most n runes, at a word's end when there is one
// in the second half, and marks the cut.
func Clip(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	if n < 1 {
		return ""
	}
	r := []rune(s)[:n-1]
	cut := string(r)
	if i := strings.LastIndexByte(cut, ' '); i > len(cut)/2 {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, " ,;:.") + "…"
}

// Printable gives text that is safe to print on a terminal in one line: the
// control characters, among them ANSI escapes, the marks that reorder text and
// the separators that break a line become visible escapes.
func Printable(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n' || r == '\t':
			b.WriteByte(' ')
		case r == '\u200c' || r == '\u200d': // joiners, which many scripts are written with
			b.WriteRune(r)
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp):
			fmt.Fprintf(&b, "<%U>", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Same tells whether two texts say the same words once they are normalised.
func Same(a, b string) bool { return oxbow.SameText(Normalise(a), Normalise(b)) }

// OneOf writes a choice for people: "a", "a or b", "a, b or c".
func OneOf[S ~string](words []S) string {
	var b strings.Builder
	for i, w := range words {
		switch {
		case i == 0:
		case i == len(words)-1:
			b.WriteString(" or ")
		default:
			b.WriteString(", ")
		}
		b.WriteString(string(w))
	}
	return b.String()
}
