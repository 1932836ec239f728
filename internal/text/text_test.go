package text_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/oxbow-memory/oxbow/internal/text"
)

func TestNormalise(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"keeps ordinary text", "Ada prefers uv.", "Ada prefers uv."},
		{"composes letters", "Cafe\u0301", "Café"},
		{"replaces what is not UTF-8", "a\xff\xfeb", "a\ufffdb"},
		{"takes out NUL", "a\x00b\x00", "ab"},
		{"makes every line end the same", "a\r\nb\rc\nd\r\r\ne", "a\nb\nc\nd\n\ne"},
		{"makes a line end that a NUL split", "a\r\x00\nb", "a\nb"},
		{"trims white space of any script", "\u2003\t a b \u00a0\n", "a b"},
		{"leaves nothing of nothing", " \x00\n", ""},
		{"leaves hostile text as text", "'; DROP TABLE x; -- <b>\x1b[31m", "'; DROP TABLE x; -- <b>\x1b[31m"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := text.Normalise(c.in); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func FuzzNormalise(f *testing.F) {
	for _, s := range []string{"", "a\r\r\nb", "\u0301", " \u0301a", "e\u0301\xff", "\u2000\u0344", "\x00\r\x00\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := text.Normalise(s)
		if !utf8.ValidString(got) || !norm.NFC.IsNormalString(got) || strings.ContainsAny(got, "\x00\r") {
			t.Fatalf("%q is not normal", got)
		}
		if again := text.Normalise(got); again != got {
			t.Fatalf("%q becomes %q the second time", got, again)
		}
	})
}

func TestClip(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in string
		n        int
		want     string
	}{
		{"keeps what fits", "one  two\nthree", 13, "one two three"},
		{"cuts at a word's end", "one two three four", 12, "one two…"},
		{"drops the marks before the cut", "one two, three four", 12, "one two…"},
		{"cuts a word that is too long alone", "abcdefghij", 5, "abcd…"},
		{"counts characters, not bytes", "äöüß", 4, "äöüß"},
		{"has room for nothing", "abc", 0, ""},
		{"has room for the mark only", "abc", 1, "…"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := text.Clip(c.in, c.n); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func FuzzClip(f *testing.F) {
	f.Add("one two three", 5)
	f.Add("", -1)
	f.Fuzz(func(t *testing.T, s string, n int) {
		if got := text.Clip(s, n); utf8.RuneCountInString(got) > max(0, n) {
			t.Fatalf("%q has more than %d characters", got, n)
		}
	})
}

func TestPrintable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"keeps ordinary text", "Grüße, 世界", "Grüße, 世界"},
		{"puts lines into one", "a\nb\tc", "a b c"},
		{"shows ANSI escapes", "\x1b[31mred\x1b[0m\x07", "<U+001B>[31mred<U+001B>[0m<U+0007>"},
		{"shows the escapes of eight bits", "\u009b31m", "<U+009B>31m"},
		{"shows marks that reorder text", "a\u202eb\u2066c\u2069\u061c", "a<U+202E>b<U+2066>c<U+2069><U+061C>"},
		{"shows invisible tags", "a\U000e0041b", "a<U+E0041>b"},
		{"shows separators that break a line", "a\u2028b\u2029c", "a<U+2028>b<U+2029>c"},
		{"shows a carriage return, which would overwrite", "safe\rrm", "safe<U+000D>rm"},
		{"keeps the joiners of scripts and emoji", "می\u200cخواهم 👩\u200d💻", "می\u200cخواهم 👩\u200d💻"},
		{"replaces broken bytes", "a\xffb", "a\ufffdb"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := text.Printable(c.in); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func FuzzPrintable(f *testing.F) {
	f.Add("a\x1b[2Jb\u202e")
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range text.Printable(s) {
			if unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp) {
				t.Fatalf("%U is left in", r)
			}
		}
	})
}

func TestSame(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"Uses PostgreSQL.", "uses  postgresql", true},
		{"Cafe\u0301!", "café", true},
		{"a\r\nb", "a b", true},
		{"uses PostgreSQL", "uses MySQL", false},
		{"version 1.5", "version 15", false},
		{"does not use Go", "does use Go", false},
	} {
		if got := text.Same(c.a, c.b); got != c.want || text.Same(c.b, c.a) != got {
			t.Errorf("%q and %q are the same: %v", c.a, c.b, got)
		}
	}
}

func TestAnalyse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in, want string
		length         int
	}{
		{"stems words and leaves out stop words", "The databases are running on a database", "databas:2 run:1", 3},
		{"knows no case and no possessive", "ADA's ada Ada’s", "ada:3", 3},
		{"keeps numbers and versions", "Go 1.26 on port 5432", "go:1 1.26:1 port:1 5432:1", 4},
		{"leaves out punctuation and operators", `"AND" (x*) -- ';`, "x:1", 1},
		{"makes pairs of Chinese characters", "数据库", "数据:1 据库:1", 2},
		{"keeps a single character", "猫", "猫:1", 1},
		{"does not pair across a space", "東京 大阪", "東京:1 大阪:1", 2},
		{"keeps the mark that lengthens a vowel", "データ", "デー:1 ータ:1", 2},
		{"pairs the syllables of Korean", "한국어", "한국:1 국어:1", 2},
		{"parts letters from a script without spaces", "Go言語 Go를 언어GO", "go:3 言語:1 를:1 언어:1", 6},
		{"finds nothing in nothing", " \n…!", "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			terms, length := text.Analyse(c.in)
			var got []string
			for _, term := range terms {
				got = append(got, fmt.Sprintf("%s:%d", term.Word, term.TF))
				if term.Hash != text.Hash(term.Word) {
					t.Errorf("%s has another hash", term.Word)
				}
			}
			if strings.Join(got, " ") != c.want || length != c.length {
				t.Errorf("got %v and length %d, want %s and %d", got, length, c.want, c.length)
			}
		})
	}

	t.Run("bounds the terms of a text", func(t *testing.T) {
		t.Parallel()
		var b strings.Builder
		for i := range 10_000 {
			fmt.Fprintf(&b, "word%d ", i)
		}
		if terms, length := text.Analyse(b.String()); len(terms) != 4096 || length != 10_000 {
			t.Errorf("%d terms, length %d", len(terms), length)
		}
	})

	t.Run("reads one word of the largest size", func(t *testing.T) {
		t.Parallel()
		if terms, _ := text.Analyse(strings.Repeat("nesses", text.MaxBytes/6)); len(terms) != 1 {
			t.Errorf("%d terms", len(terms))
		}
	})
}

func FuzzAnalyse(f *testing.F) {
	for _, s := range []string{"The cat's 数据库 runs", "'s", "’s", "ーー", "a\xff\u0301", "Go言語"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		terms, length := text.Analyse(s)
		sum := 0
		for _, term := range terms {
			if term.Word == "" || term.TF < 1 {
				t.Fatalf("the term %+v", term)
			}
			sum += term.TF
		}
		if sum > length || len(terms) < 4096 && sum != length {
			t.Fatalf("the terms occur %d times in %d", sum, length)
		}
	})
}
