package jobs

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/oxbow-memory/oxbow"
)

// gateSynthesis gives the reason why a rewriting may not replace its sources, ""
// when it may: it lost or made up a detail, or reads like an order to the agent.
// The sources are all active, so none of them superseded another, and each has to
// be kept whole.
func gateSynthesis(sources []oxbow.Memory, merged oxbow.Memory) string {
	words := merged.Content.Text
	if words == "" {
		return "the rewriting is empty"
	}
	if lost := missing(sources, words); len(lost) > 0 {
		return "the rewriting lost a " + lost[0] + " of its sources"
	}
	if made := invented(sources, words); len(made) > 0 {
		return "the rewriting made up a " + made[0]
	}
	if why := Instruction(screened(merged), merged.Source); why != "" {
		return "the rewriting reads like an order to the agent: " + why
	}
	return ""
}

// missing gives the kinds of detail (name, number, negation) of the sources
// that a synthesis lost; none when it may replace them.
func missing(sources []oxbow.Memory, merged string) []string {
	have := details(merged)
	// A name of the sources may begin a sentence of the result.
	for _, w := range wordForm.FindAllString(merged, -1) {
		addName(have["name"], w, false)
	}
	var lost []string
	for _, m := range sources {
		for kind, words := range details(m.Content.Text) {
			for w := range words {
				if !have[kind][w] && !slices.Contains(lost, kind) {
					lost = append(lost, kind)
				}
			}
		}
	}
	slices.Sort(lost)
	return lost
}

// invented gives the kinds of detail of a synthesis that none of its sources has.
func invented(sources []oxbow.Memory, merged string) []string {
	have := map[string]map[string]bool{"number": {}, "name": {}, "negation": {}}
	for _, m := range sources {
		for kind, words := range details(m.Content.Text) {
			maps.Copy(have[kind], words)
		}
		for _, w := range wordForm.FindAllString(m.Content.Text, -1) {
			for _, piece := range append(strings.FieldsFunc(w, isJoint), w) {
				have["name"][bare(piece)] = true
			}
		}
	}
	var made []string
	for kind, words := range details(merged) {
		for w := range words {
			unknown := func(piece string) bool { return !have[kind][piece] }
			if !have[kind][w] && (kind != "name" || slices.ContainsFunc(strings.FieldsFunc(w, isJoint), unknown)) {
				made = append(made, kind)
				break
			}
		}
	}
	slices.Sort(made)
	return made
}

// isJoint tells whether a sign joins the pieces of a word.
func isJoint(r rune) bool { return strings.ContainsRune("-_.+#", r) }

var (
	numberForm   = regexp.MustCompile(`\d+([.,:/-]\d+)*`)
	negationForm = regexp.MustCompile(`(?i)\b(not|nor|never|no|none|nothing|nobody|without|cannot|avoid|avoids|avoiding|stop|stopped|[a-z]+n['’]t|dont|doesnt|didnt|wont|isnt|arent|wasnt|cant|shouldnt)\b`)
	wordForm     = regexp.MustCompile(`[\p{L}][\p{L}\p{N}+#.'’_-]*`)
)

// details gives what a text must not lose: its numbers (dates among them), the
// words written like names, and whether it denies something. Limit: a name that
// only ever begins a sentence looks like any other word, and one denial in a
// text stands for all of them.
func details(s string) map[string]map[string]bool {
	d := map[string]map[string]bool{"number": {}, "name": {}, "negation": {}}
	for _, n := range numberForm.FindAllString(s, -1) {
		d["number"][n] = true
	}
	if negationForm.MatchString(s) {
		d["negation"]["not"] = true
	}
	for _, at := range wordForm.FindAllStringIndex(s, -1) {
		addName(d["name"], s[at[0]:at[1]], startsSentence(s, at[0]))
	}
	return d
}

// addName adds a word to a set of names when it is written like one.
func addName(names map[string]bool, w string, first bool) {
	if isName(strings.TrimRight(w, ".'’-_"), first) {
		names[bare(w)] = true
	}
}

// bare gives a word without its genitive and the signs at its end, in lower case.
func bare(w string) string {
	w = strings.TrimRight(w, ".'’-_")
	return strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(w, "'s"), "’s"))
}

// isName tells whether a word is written like a name: capitals that a sentence's
// beginning does not explain, or digits and signs inside.
func isName(w string, first bool) bool {
	upper, letters := 0, 0
	for i, r := range w {
		letters++
		if unicode.IsUpper(r) && (i > 0 || !first) {
			upper++
		}
	}
	return upper > 0 && letters > 1
}

func startsSentence(s string, at int) bool {
	before := strings.TrimRight(s[:at], " \t\n\"'([-–—•*")
	return before == "" || strings.ContainsAny(before[len(before)-1:], ".!?:;")
}
