package offline

import (
	"context"
	"slices"
	"strings"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/llm"
)

// relateAll judges s against each of the others, and leaves out the unrelated.
func relateAll(ctx context.Context, s llm.Statement, others []llm.Statement) ([]llm.Relation, error) {
	long := len(s.Text) > longText
	c := parse(s.Text, s.SaidAt)
	var out []llm.Relation
	seen := map[string]bool{}
	for _, o := range others {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if long && len(o.Text) > longText && !text.Same(s.Text, o.Text) {
			continue
		}
		if isNote(s) || isNote(o) {
			if r := relateNotes(s, o); r != oxbow.Unrelated {
				out = append(out, llm.Relation{Label: o.Label, Relation: r})
			}
			seen[o.Label] = true
			continue
		}
		if r := relatePair(s, c, o, parse(o.Text, o.SaidAt)); r != oxbow.Unrelated {
			out = append(out, llm.Relation{Label: o.Label, Relation: r})
			seen[o.Label] = true
		}
	}
	for _, r := range passages(s, others) {
		if !seen[r.Label] {
			out = append(out, r)
		}
	}
	return out, nil
}

// relatePair puts two statements in the order in which they were said. Of two
// said at the same instant neither is the newer one: what is not the same read
// both ways is a conflict, and one that only one reading sees is nothing.
func relatePair(s llm.Statement, sc *claim, o llm.Statement, oc *claim) oxbow.Relation {
	switch s.SaidAt.Compare(o.SaidAt) {
	case 1:
		return relate(pair{n: sc, o: oc, newer: s, older: o})
	case -1:
		return relate(pair{n: oc, o: sc, newer: o, older: s})
	}
	a := relate(pair{n: sc, o: oc, newer: s, older: o})
	b := relate(pair{n: oc, o: sc, newer: o, older: s})
	switch {
	case a == oxbow.Unrelated || b == oxbow.Unrelated:
		return oxbow.Unrelated
	case a == oxbow.ConfirmsIt && b == oxbow.ConfirmsIt:
		return a
	}
	return oxbow.Unsure
}

// pair is two statements in the order in which they were said.
type pair struct {
	n, o         *claim
	newer, older llm.Statement
}

// rules are asked in order; the first that knows the pair's relation decides.
// Each compares one sort of typed value.
var rules = []func(pair) oxbow.Relation{
	sameFact, sameWords, personalSlot, toolChange, versionChange, dateMove, preferenceFlip, polarity, denial, opposite, onlyValues, valueChange, numberChange, sameUse, phraseChange, excludes, left,
}

// relate reads the newer statement against the older one.
func relate(p pair) oxbow.Relation {
	if p.o.asked || p.n.asked {
		return oxbow.Unrelated
	}
	if p.n.cut() || p.o.cut() {
		return sameText(p)
	}
	// The one who was waited for acts in the newer statement and is named in
	// the older one; the guard against other subjects would be wrong here.
	if r := arrival(p); r != "" {
		return r
	}
	if r := newHolder(p); r != "" {
		return r
	}
	best := oxbow.Unrelated
	for _, rule := range rules {
		r := rule(p)
		if r == "" {
			continue
		}
		if (r == oxbow.Replaces || r == oxbow.Contradicts) && (p.otherPart() || p.otherThing() && len(p.n.gone)+len(p.n.came) == 0) {
			return oxbow.Unrelated
		}
		if r = p.allowed(r, sameOwner(p.n, p.o)); r != oxbow.Unrelated && r != oxbow.Unsure {
			return r
		}
		best = r
		break
	}
	if r := typed(p); r != "" {
		return p.allowed(r, 1) // it compares the subjects itself
	}
	return best
}

// allowed lets a relation stand only as far as the moods of the two carry it: a
// plan, a guess or a condition replaces nothing, and somebody else's words, or
// an unclear subject, make a conflict at most.
func (p pair) allowed(r oxbow.Relation, owner int) oxbow.Relation {
	if scenes(p.n, p.o) {
		return r // one picture: no owners, and nothing is planned or reported there
	}
	switch r {
	case oxbow.Contradicts, oxbow.Replaces:
		switch {
		case owner < 0, p.n.planned, p.n.conditional, p.n.past, p.n.passing():
			return oxbow.Unrelated
		case p.o.planned && !p.o.instruct && len(p.o.dates) == 0, p.o.conditional, p.o.past:
			return oxbow.Unrelated
		case p.n.hedged && !(p.n.has("may") && p.o.has("may")), p.n.reported, p.o.reported, owner == 0:
			if owner == 0 && len(p.n.owners) > 0 {
				return oxbow.Unrelated // the newer one speaks of one part only
			}
			return oxbow.Unsure
		}
	case oxbow.ConfirmsIt:
		if owner < 1 || !p.n.settled() || !p.o.settled() {
			return oxbow.Unrelated
		}
	case oxbow.Unsure:
		if owner < 0 || p.n.planned || p.n.conditional || p.o.planned || p.o.conditional || p.n.past || p.o.past {
			return oxbow.Unrelated
		}
	}
	return r
}

// sameText is all that can be said of texts too long to be read whole.
func sameText(p pair) oxbow.Relation {
	if text.Same(p.newer.Text, p.older.Text) {
		return oxbow.ConfirmsIt
	}
	return oxbow.Unrelated
}

// sameFact decides facts by address and value. Two facts of different addresses
// have nothing to do with each other.
func sameFact(p pair) oxbow.Relation {
	if p.newer.Key == "" || p.older.Key == "" {
		return ""
	}
	switch {
	case p.newer.Key != p.older.Key && strings.HasPrefix(p.newer.Key, rulePrefix) && strings.HasPrefix(p.older.Key, rulePrefix):
		return "" // two instructions may say the same, or deny each other, in other words
	case p.newer.Key != p.older.Key:
		return oxbow.Unrelated
	case sameAs(p.newer.Text, p.older.Text):
		return oxbow.ConfirmsIt
	}
	return oxbow.Replaces
}

// sameWords takes as confirmation what says the same words in the same order,
// but for fillers. A bag of words would not do: it confused "man riding horse"
// with "horse riding man" in 145 of 4,927 pairs.
func sameWords(p pair) oxbow.Relation {
	if text.Same(p.newer.Text, p.older.Text) {
		return oxbow.ConfirmsIt
	}
	if len(p.n.stems) < 2 || p.n.neg != p.o.neg || turned(p.n, p.o) || denials(p.n) != denials(p.o) || !slices.Equal(p.n.stems, p.o.stems) || !sameValues(p.n, p.o) || p.n.instruct != p.o.instruct {
		return ""
	}
	if len(p.n.gone)+len(p.o.gone)+len(p.n.came)+len(p.o.came) > 0 || likes(p.n) != likes(p.o) {
		return ""
	}
	return oxbow.ConfirmsIt
}

// sameValues tells whether two statements hold the same numbers and days.
func sameValues(a, b *claim) bool {
	if len(a.numbers) != len(b.numbers) || len(a.dates) != len(b.dates) {
		return false
	}
	for i := range a.numbers {
		if a.numbers[i].value != b.numbers[i].value {
			return false
		}
	}
	for i := range a.dates {
		if !a.dates[i].day.Equal(b.dates[i].day) {
			return false
		}
	}
	return true
}

// personalSlot compares what two statements say of the user's own name, place,
// mail and the like.
func personalSlot(p pair) oxbow.Relation {
	n, o := personal(p.newer.Text), personal(p.older.Text)
	for k, v := range o {
		w, ok := n[k]
		switch {
		case !ok:
		case strings.EqualFold(v, w):
			return oxbow.ConfirmsIt
		case k == "location" && regions[strings.ToLower(v)] != regions[strings.ToLower(w)] && !p.n.has("moved", "relocated"):
			return "" // the one may lie in the other
		default:
			return oxbow.Replaces
		}
	}
	return ""
}

// toolChange retires what says that a tool is in use once a newer statement
// says that it was given up, or that a rival has its place.
func toolChange(p pair) oxbow.Relation {
	if !subset(p.n.facets, p.o.facets) || len(p.o.facets) > 0 && p.n.has("production", "prod", "live") || contrast(p.n, p.o) {
		return ""
	}
	r := p.toolChange()
	if r != oxbow.Replaces {
		return r
	}
	switch shared := len(common(p.n.roles, p.o.roles)); {
	case len(p.n.roles) > 0 && shared == 0 && len(p.o.roles) > 0:
		return ""
	case len(p.n.roles) > 0 && shared == 0, !subset(p.n.moved, p.o.stems):
		return oxbow.Unsure // only a part was changed, and the older one does not name it
	}
	return r
}

func (p pair) toolChange() oxbow.Relation {
	for _, g := range p.n.gone {
		if r := p.retires(g); r != "" {
			return r
		}
	}
	if len(p.n.gone) > 0 {
		return ""
	}
	for _, c := range p.n.came {
		if !exclusive[c.class] {
			continue
		}
		for _, m := range p.o.mentions {
			if m.class != c.class || m.id == c.id || namesTool(p.n, m.tool) || p.n.holdsClass(c.class) > 1 {
				continue
			}
			r := p.retires(m.tool)
			if r != "" && namesTool(p.o, c) && !holds(p.o.gone, c) {
				return oxbow.Unsure // the older one knows both, side by side
			}
			if r != "" {
				return r
			}
		}
	}
	return ""
}

// subset tells whether b holds all of a.
func subset(a, b []string) bool { return len(common(a, b)) == len(unique(a)) }

// holdsClass counts the different tools of a class that a statement names.
func (c *claim) holdsClass(class string) int {
	seen := map[string]bool{}
	for _, m := range c.mentions {
		if m.class == class {
			seen[m.id] = true
		}
	}
	return len(seen)
}

func namesTool(c *claim, t tool) bool {
	return slices.ContainsFunc(c.mentions, func(m mention) bool { return m.id == t.id })
}

// retires says what becomes of the older statement when a tool is given up.
func (p pair) retires(t tool) oxbow.Relation {
	if !namesTool(p.o, t) || holds(p.o.gone, t) {
		return ""
	}
	switch usage(p.o, t) {
	case inUse:
		return oxbow.Replaces
	case unclear:
		return oxbow.Unsure
	}
	return ""
}

type use int

const (
	notUsed use = iota
	unclear
	inUse
)

// aboutPhrases mark statements about a tool rather than its use.
var aboutPhrases = []string{"expert", "book", "course", "talk", "conference", "meetup", "article", "blog post", "podcast", "learn", "learning", "learned", "certified", "certification",
	"better than", "worse than", "compared to", "versus", "similar to", "like", "likes", "love", "loves", "hate", "hates", "favourite", "favorite", "fan of", "logo", "sticker",
	"newsletter", "workshop", "tutorial", "interview", "history of",
	"is great", "is good", "is nice", "is awesome", "is amazing", "is terrible", "is bad", "is overkill", "is hard",
	"migration from", "migrating from", "move from", "switch from"}

// findPhrases mark what was found or done once. It stays true when the tool goes.
var findPhrases = []string{"found", "turned out", "root cause", "was caused", "fixed", "the bug", "crashed", "broke", "bug in", "deadlocked", "the fix"}

// usage says whether a statement tells that a tool is in use by its subject.
func usage(c *claim, t tool) use {
	switch {
	case c.past || c.planned && !c.instruct || c.conditional || c.asked:
		return notUsed
	case c.neg && !c.instruct && len(c.came) == 0 && negatedUse(c, t):
		return notUsed
	case c.has(aboutPhrases...):
		return notUsed
	case c.has(findPhrases...) || c.reported || c.hedged || c.saysMore(t):
		return unclear
	}
	return inUse
}

// saysMore tells whether another clause of the statement names a tool of
// another exclusive class, which would be lost with it: "built with Hugo and
// hosted on Netlify".
func (c *claim) saysMore(t tool) bool {
	clause := 0
	in := map[string]int{}
	for i, w := range c.words {
		if w.low == "and" || w.low == "," || w.low == ";" {
			clause++
		}
		for _, m := range c.mentions {
			if m.at == i {
				in[m.id] = clause
			}
		}
	}
	for _, m := range c.mentions {
		if m.id != t.id && m.class != t.class && exclusive[m.class] && in[m.id] != in[t.id] {
			return true
		}
	}
	return false
}

// negatedUse tells whether a negation stands before the tool's name.
func negatedUse(c *claim, t tool) bool {
	for _, m := range c.mentions {
		if m.id != t.id {
			continue
		}
		for i := max(0, m.at-4); i < m.at; i++ {
			if negatives[c.words[i].low] {
				return true
			}
		}
	}
	return false
}

// versionChange retires a statement of an older version of the same tool.
func versionChange(p pair) oxbow.Relation {
	if !p.n.marker || !p.n.upgraded {
		return ""
	}
	for _, n := range p.n.mentions {
		v := versionIn(p.n, n)
		if v == "" {
			continue
		}
		for _, o := range p.o.mentions {
			old := o.version
			if o.id != n.id || old == "" || old == v || strings.HasPrefix(old, v+".") || strings.HasPrefix(v, old+".") {
				continue
			}
			if usage(p.o, n.tool) != inUse {
				continue
			}
			if !subset(p.n.subject(), p.o.stems) {
				return oxbow.Unsure // it may be another thing that was upgraded
			}
			return oxbow.Replaces
		}
	}
	return ""
}

// changeStems are the stems of change itself.
var changeStems = stems("upgraded", "updated", "bumped", "moved", "went", "switched", "finally", "new", "now", "version", "week", "month", "yesterday", "today", "are", "we", "finished")

// subject gives the stems that are neither a tool, a number nor a change.
func (c *claim) subject() []string {
	var out []string
	for _, s := range c.stems {
		_, isTool := tools[s]
		if !isTool && !changeStems[s] && !hasDigit(s) {
			out = append(out, s)
		}
	}
	return out
}

// versionIn gives the version that a statement ends up with: the one behind the
// name, or behind a later "to".
func versionIn(c *claim, m mention) string {
	for i := m.next; i < len(c.words)-1 && i < m.next+6; i++ {
		if c.words[i].low == "to" && version.MatchString(c.words[i+1].low) {
			return strings.TrimPrefix(c.words[i+1].low, "v")
		}
	}
	return m.version
}

// sameUse takes as confirmation that the same tools are used for the same
// things, in whatever order of words.
func sameUse(p pair) oxbow.Relation {
	if len(p.n.mentions) == 0 || p.n.neg || p.o.neg || likes(p.n) != 0 || likes(p.o) != 0 || len(p.n.gone)+len(p.o.gone) > 0 || !sameValues(p.n, p.o) {
		return ""
	}
	for _, t := range append(p.n.mentions, p.o.mentions...) {
		if usage(p.n, t.tool) != inUse || usage(p.o, t.tool) != inUse {
			return ""
		}
	}
	a, b := slices.Clone(p.n.stems), slices.Clone(p.o.stems)
	slices.Sort(a)
	slices.Sort(b)
	if len(a) >= 3 && slices.Equal(a, b) {
		return oxbow.ConfirmsIt
	}
	return ""
}

// cue gives more words to search candidates by (see Judge.Cue).
func cue(s llm.Statement) string {
	c := parse(s.Text, s.SaidAt)
	words := []string{s.Text}
	for _, m := range c.mentions {
		words = append(words, spellings(m.tool)...)
	}
	if len(c.gone) == 0 {
		for _, t := range c.came {
			words = append(words, rivals(t)...)
		}
	}
	details := s.Details
	if details == nil {
		details = readDetails(c)
	}
	for _, d := range details {
		words = append(words, otherwise[d.Attribute])
	}
	return strings.Join(words, " ")
}

// otherwise holds, for attributes that people state in one word and change in
// another, all those words: who says "I moved to Bergen" shares none with "I live
// in Oslo". They stand under both, so that the order of arrival does not matter.
var otherwise = map[string]string{
	"home":     "live moved relocated based settled",
	"employer": "work joined employed hired",
	"diet":     "eat vegan vegetarian",
	"eat":      "vegan vegetarian",
}
