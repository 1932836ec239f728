package offline

import (
	"slices"
	"strings"

	"github.com/oxbow-memory/oxbow/internal/text"
)

// Class is a sort of tool, such as a database, with the names of its members.
type Class struct {
	Name  string
	Names []string
}

// askingWords stand before the sort of thing that is asked for, and
// classReach words behind them at most: which main database, our editor.
var askingWords = set("which", "what", "whose", "our", "my", "your", "the", "current", "we", "i")

const classReach = 3

// Classes gives the exclusive sorts of tools that a question asks for: the
// database of "which database do we use?", the editor of "what is my editor?".
// A sort that is merely named is one that is asked for only behind such words.
func Classes(question string) []Class {
	words := read(question).words
	var out []Class
	for i := range words {
		for _, name := range classNames {
			if !namedAt(words, i, name) || !asked(words, i) || slices.ContainsFunc(out, func(c Class) bool { return c.Name == name }) {
				continue
			}
			out = append(out, Class{Name: name, Names: members(name)})
		}
	}
	return out
}

// Named tells whether a text names a tool of the class.
func (c Class) Named(s string) bool {
	words := read(s).words
	for i := range words {
		if t, n := toolAt(words, i); n > 0 && t.class == c.Name {
			return true
		}
	}
	return false
}

// classNames are the exclusive classes whose names mean little else, sorted.
var classNames = func() []string {
	var out []string
	for name := range exclusive {
		if name != "notes" && name != "secrets" && name != "chat" {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}()

// namedAt tells whether a class is named at word i, by all words of its name.
func namedAt(words []word, i int, name string) bool {
	for n, w := range strings.Fields(name) {
		if i+n >= len(words) || text.Stem(words[i+n].low) != text.Stem(w) {
			return false
		}
	}
	return true
}

func asked(words []word, i int) bool {
	for back := 1; back <= classReach && i-back >= 0; back++ {
		if askingWords[words[i-back].low] {
			return true
		}
	}
	return false
}

// members lists every name of every tool of a class.
func members(class string) []string {
	var out []string
	for entry := range strings.SplitSeq(lexicon[class], ",") {
		out = append(out, strings.Split(strings.TrimSpace(entry), "=")...)
	}
	return out
}
