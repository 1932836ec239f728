package text

import (
	"slices"
	"strings"

	"github.com/oxbow-memory/oxbow"
)

// Hints are words that a question about a memory would use and that nobody said:
// who asks which database is used shares no word with "We're on PostgreSQL", and
// who asks where somebody lives none with "I moved to Bergen". They follow from
// the typed details that are kept with a memory, are indexed as terms of their
// own, apart from the words that were said, and count less.
//
// Limit: they are English, and those of a few dozen attributes and classes.

// HintRules is the version of the words below. What was indexed by an older one
// is indexed anew by a run of the job reindex.
const HintRules = 1

// HintHash gives the name of a stem as a hint, which no word has.
func HintHash(stem string) int64 { return Hash("\x00hint " + stem) }

// IsHint tells whether a stem is the hint of anything.
func IsHint(stem string) bool { return hintStems[stem] }

// Hints gives the stems of the hints of a memory's details, sorted, without those
// that stand among its own terms.
func Hints(details []oxbow.Detail, said []Term) []string {
	var out []string
	add := func(stems []string) { out = append(out, stems...) }
	for _, d := range details {
		add(hintsOf[d.Attribute])
		for _, w := range append(strings.Fields(d.Subject), strings.Fields(d.Value)...) {
			add(broader[w])
		}
		for _, q := range d.Qualifiers {
			if class, ok := strings.CutPrefix(q, "of "); ok {
				add(hintsOfClass[class])
			}
		}
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(s string) bool {
		return slices.ContainsFunc(said, func(t Term) bool { return t.Word == s })
	})
}

// hintsOf holds the hints of attributes.
var hintsOf = stemmed(map[string]string{
	"home": "live home address city town based reside residence", "employer": "work employer company job firm workplace",
	"job": "job profession occupation work living role career", "diet": "diet eat food", "age": "old age", "school": "school study university college attend",
	"field": "study subject major degree", "bank": "bank account", "transport": "commute travel transport", "rides": "drive car vehicle ride",
	"boss": "boss manager report", "name": "name called", "price": "price cost charge", "opens": "open opening hours", "closes": "close closing hours",
	"owner": "own owner belong", "assignee": "assigned responsible", "language": "language programming written", "speech": "language",
	"prefers": "prefer preference favourite favorite like", "like": "like love enjoy favourite favorite", "engagement": "married partner husband wife spouse",
	"host": "host hosting hosted deploy deployed", "lodging": "stay staying hotel", "insurer": "insurance insurer insured", "allergic to": "allergy allergic",
	"born in": "birth born birthday", "born on": "birth born birthday", "weighs": "weigh weight heavy", "measures": "size measure", "play": "play", "speak": "speak language",
	"author": "author written wrote", "recipient": "recipient sent send", "needs": "need require requirement",
})

// hintsOfClass holds the hints of classes of values.
var hintsOfClass = stemmed(map[string]string{
	"database": "database db", "python packages": "package manager dependency", "js packages": "package manager dependency", "js runtime": "runtime",
	"editor": "editor ide", "ci": "ci pipeline", "host": "host hosting deploy cloud server provider", "web framework": "framework", "css": "css framework", "site generator": "generator",
	"tracker": "tracker issue ticket", "chat": "chat messenger", "shell": "shell terminal", "broker": "broker queue message", "browser": "browser", "notes": "note",
	"linter": "linter lint", "secrets": "password", "os": "operating os", "language": "language", "cache": "cache", "library": "library",
	"transport": "commute travel transport", "diet": "diet eat food", "science": "subject study", "instrument": "instrument music", "drink": "drink beverage",
	"occupation": "job profession occupation living work role career", "vehicle": "car vehicle", "housing": "house housing home", "license": "license licence",
	"keyboard": "keyboard layout", "money": "price cost money", "age": "old age", "phone": "phone number", "mail": "email mail address", "colour": "colour color",
	"weekday": "day weekday", "theme": "theme", "relief": "married relationship", "fuel": "fuel", "contract": "contract",
})

// broader holds the words for what people and things are, by their stems.
var broader = func() map[string][]string {
	out := map[string][]string{}
	for words, more := range map[string]string{
		"dog cat puppy kitten hamster parrot rabbit tortoise goldfish budgie pony": "pet animal",
		"wife husband spouse":                 "spouse partner married",
		"son daughter twin toddler baby":      "child kid children",
		"manag boss":                          "boss manager report",
		"sister brother":                      "sibling family",
		"mother father mum mom dad":           "parent family",
		"piano guitar violin cello flute":     "instrument music",
		"car bike bicycle motorbike scooter":  "vehicle",
		"nut peanut gluten lactose shellfish": "food",
	} {
		for w := range strings.FieldsSeq(words) {
			out[Stem(w)] = stemsOf(more)
		}
	}
	return out
}()

var hintStems = func() map[string]bool {
	out := map[string]bool{}
	for _, table := range []map[string][]string{hintsOf, hintsOfClass, broader} {
		for _, stems := range table {
			for _, s := range stems {
				out[s] = true
			}
		}
	}
	return out
}()

func stemmed(table map[string]string) map[string][]string {
	out := make(map[string][]string, len(table))
	for k, words := range table {
		out[k] = stemsOf(words)
	}
	return out
}

func stemsOf(words string) []string {
	var out []string
	for w := range strings.FieldsSeq(words) {
		if s := Stem(w); s != "" {
			out = append(out, s)
		}
	}
	return out
}
