package offline

import (
	"strings"

	"github.com/oxbow-memory/oxbow/llm"
)

// The levels of confidence (DESIGN 1).
const (
	explicit    = 1.0
	implied     = 0.7
	reasonable  = 0.5
	weak        = 0.3
	speculation = 0.1
)

// The words of doubt, weakest level first: the weakest that is found decides.
var doubts = []struct {
	level   float64
	phrases []string
}{
	{speculation, []string{"imagine", "let us say", "say we", "for the sake of argument", "no idea", "wondering", "what if", "who knows", "hypothetically", "just speculating", "i doubt", "complete guess", "wild guess", "pure speculation", "anyone 's guess", "wonder if", "wonder whether", "purely a hunch"}},
	{weak, []string{"maybe", "perhaps", "possibly", "a chance that", "a chance of", "a possibility", "might", "not sure", "unsure", "could be", "considering", "toying with", "not certain", "not convinced", "rumour", "rumor", "supposedly", "allegedly", "can not remember", "do not remember", "may be", "tempted"}},
	{reasonable, []string{"i think", "i believe", "i guess", "i suppose", "according to", "in my opinion", "my impression", "probably", "likely", "seems", "seem", "appears", "apparently", "presumably", "i assume", "i reckon", "thinking of", "thinking about", "planning to", "looking at", "looking into", "i suspect", "i heard", "investigating", "evaluating", "i expect", "i do not think", "hopefully", "ought to", "tentatively"}},
	{implied, []string{"is supposed to", "are supposed to", "usually", "generally", "mostly", "tend to", "tends to", "pretty sure", "fairly sure", "almost certain", "as far as i know", "afaik", "typically", "often", "more or less", "should be fine", "looks like", "roughly", "normally", "sometimes", "most of the time", "hardly ever", "rarely", "must have", "if i remember", "iirc", "fairly confident", "as a rule"}},
}

// certain phrases hold words of doubt and express none.
var certain = strings.NewReplacer(" should be noted ", " is noted ", " could not be ", " is ", " no doubt ", " ", " without a doubt ", " ", " might as well ", " will ", " i think so ", " yes ", " most likely to ", " to ", " not sure why ", " ", " not sure how ", " ")

// rate finds the sentence that a memory rests on and reads its doubts.
func rate(memory string, t llm.TurnText) float64 {
	want := parse(memory, t.At)
	best, cover, user := "", 0.0, false
	look := func(part string, isUser bool) {
		for _, s := range split(part) {
			if c := covered(want.stems, s); c > cover {
				best, cover, user = s, c, isUser
			}
		}
	}
	look(t.User, true)
	look(t.Assistant, false)
	for _, p := range t.Parts {
		look(p.Text, false)
	}
	level := explicit
	switch {
	case len(want.stems) == 0 && strings.Contains(t.User, memory):
		best, user = memory, true
	case cover == 0:
		return speculation
	case cover < 0.3:
		return weak
	case cover < 0.6:
		level = reasonable
	}
	if !user {
		level = min(level, implied)
		if read(best).has("you could", "you can", "you should", "you might", "consider", "i recommend", "i would recommend", "a good default") {
			return speculation // advice tells nothing of the user
		}
	}
	return min(level, committed(best, want), doubt(memory))
}

// committed gives the level that a sentence leaves to a claim that it holds: by
// the verb that governs the claim when there is one, and by words of doubt.
func committed(best string, want *claim) float64 {
	s := read(best)
	level, ok := governed(s, want.stems, want.neg)
	switch {
	case ok && level == explicit:
		return level // what one knows, one knows in questions too
	case ok:
		return min(level, max(doubt(best), 0.15))
	}
	return doubt(best)
}

// covered gives the share of stems that a sentence holds.
func covered(stems []string, s string) float64 {
	if len(stems) == 0 {
		return 0
	}
	return float64(len(common(stems, content(read(s).words)))) / float64(len(unique(stems)))
}

// doubt gives the level that a sentence's own words allow.
func doubt(s string) float64 {
	c := read(s)
	c.norm = certain.Replace(c.norm)
	for _, d := range doubts {
		if c.has(d.phrases...) {
			return d.level
		}
	}
	switch {
	case c.has("if i had", "if i were", "if we had", "if we were", "if it were", "if i won", "if we won", "if i could", "if only") && c.has("would"):
		return speculation
	case c.starts("if", "unless", "provided", "assuming"):
		return weak
	}
	if strings.HasSuffix(c.norm, " ? ") && presupposed.FindString(s) == "" {
		return speculation
	}
	if (&claim{sentence: c}).hasMay() {
		return weak
	}
	return explicit
}

func unique(ss []string) []string { return common(ss, ss) }
