package offline

import (
	"regexp"
	"slices"
	"strings"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
)

// nowPhrases say, by themselves, that a value took another's place.
var nowPhrases = []string{"now", "from now on", "these days", "nowadays", "as of", "instead", "new", "anymore", "since", "this term", "this year", "this season", "this semester", "nowadays"}

// alsoPhrases say that a value came beside another one.
var alsoPhrases = []string{"too", "also", "as well", "additionally", "besides", "in addition", "another", "second", "both", "plus", "other"}

// manyVerbs are done to several things at once: a second one takes no place.
var manyVerbs = set("like", "likes", "love", "loves", "hate", "hates", "know", "knows", "speak", "speaks", "play", "plays", "own", "owns", "read", "reads", "support", "supports", "learn", "learns", "learning", "visit", "visits",
	"eat", "eats", "enjoy", "enjoys", "have", "has", "use", "uses", "using", "travel", "travels", "bought", "buy", "know", "collect", "collects", "watch", "watches", "includes", "contains", "reading", "saw", "met", "finished", "drink", "drinks",
	"prefer", "prefers", "dislike", "dislikes", "paid", "sent", "wrote", "found", "fixed", "made", "can", "offers", "returns")

// placeWords come before a value of which there is one at a time.
var placeWords = set("in", "on", "at", "by", "with", "from", "under", "as", "every", "to", "for", "until", "near", "lives", "drives", "leads", "costs", "named", "called", "is", "are", "am", "takes", "weighs", "lasts", "call", "drive", "live", "studies")

// onlyValues finds that two statements of the same words differ in one value,
// and that the newer one says that it is so now.
func onlyValues(p pair) oxbow.Relation {
	if len(p.n.words) > maxDenied || len(p.o.words) > maxDenied || p.n.neg != p.o.neg || p.n.has(alsoPhrases...) {
		return ""
	}
	now := p.n.has(nowPhrases...)
	a, b := values(p.n), values(p.o)
	pre, post := shared(a, b)
	standing := standingSlot(a[:pre])
	if !standing && (likes(p.n) != 0 || likes(p.o) != 0) {
		return ""
	}
	if r := p.onlyDropped(a, b, now); r != "" {
		return r
	}
	x, y := a[pre:len(a)-post], b[pre:len(b)-post]
	if len(x) == 0 || len(y) == 0 || len(x) > 4 || len(y) > 4 || pre+post < 1 || !now && !standing {
		return ""
	}
	if slices.ContainsFunc(append(slices.Clone(x), y...), func(w value) bool { return w.low == "and" }) {
		return ""
	}
	switch {
	case pre == 0 && len(x)*len(y) == 1 && kindsOf(x) == "number" && kindsOf(y) == "number" && !x[0].first && !y[0].first:
		return oxbow.Replaces // we are six now, after four
	case pre == 0:
		return ""
	case standing && len(x)+len(y) <= 4 && post == 0 && x[0].lead == "is" && y[0].lead == "is":
		return oxbow.Contradicts
	}
	return p.otherValue(a[:pre], x, y, a[len(a)-post:], now)
}

// onlyDropped finds that "only" or "just" was taken back: Android only, now
// Android and iOS.
func (p pair) onlyDropped(a, b []value, now bool) oxbow.Relation {
	if !now || !p.o.has("only", "just") || p.n.has("only", "just") {
		return ""
	}
	kept := slices.DeleteFunc(slices.Clone(b), func(v value) bool { return v.low == "only" || v.low == "just" })
	if len(kept) >= 2 && len(a) > len(kept) && slices.EqualFunc(a[:len(kept)], kept, sameValue) {
		return oxbow.Replaces
	}
	return ""
}

// standingSlot tells whether the words before a value name what has one value
// by its nature, so that another one needs no "now".
func standingSlot(before []value) bool {
	for _, v := range before {
		if v.low == "favourite" || v.low == "favorite" {
			return true
		}
	}
	return false
}

// value is a word of a statement that may be a value, with the words that were
// passed over right before it.
type value struct {
	low, raw string
	lead     string // the article or verb before it
	first    bool   // it begins the statement
}

func sameValue(a, b value) bool {
	return a.low == b.low || text.Stem(a.low) != "" && text.Stem(a.low) == text.Stem(b.low) && !opposites[a.low][b.low]
}

// valueDrops are passed over: articles, the verb to be, whoever speaks, and
// what says now.
var valueDrops = set("a", "an", "the", "now", "still", "currently", "nowadays", "user", "users", "i", "we", "our", "my", "'s", "just", "already", "actually", "again", "been", "new", "anymore", "instead", "it", "that", "please", "finally", "of", "is", "are", "am", "was", "were", "be", "has", "user's")

func values(c *claim) []value {
	var out []value
	lead := ""
	words := c.words
	if c.starts("from now on") {
		words = words[3:]
	}
	for i, w := range words {
		switch {
		case !isWordRune([]rune(w.low)[0]):
		case w.low == "from" && i+2 < len(words) && words[i+1].low == "now":
			return out
		case w.low == "these" && i+1 < len(words) && words[i+1].low == "days":
			return out
		case valueDrops[w.low]:
			lead = w.low
		default:
			out = append(out, value{low: w.low, raw: w.raw, lead: lead, first: i == 0})
			lead = ""
		}
	}
	return out
}

// shared gives how many values two lists have in common at their beginning and
// at their end.
func shared(a, b []value) (pre, post int) {
	for pre < len(a) && pre < len(b) && sameValue(a[pre], b[pre]) {
		pre++
	}
	for post < len(a)-pre && post < len(b)-pre && sameValue(a[len(a)-1-post], b[len(b)-1-post]) {
		post++
	}
	return pre, post
}

// otherValue decides on two values behind the same words.
func (p pair) otherValue(before, x, y, after []value, now bool) oxbow.Relation {
	last := before[len(before)-1].low
	kx, ky := kindsOf(x), kindsOf(y)
	many := slices.ContainsFunc(before, func(v value) bool { return manyVerbs[v.low] })
	toolsApart := len(p.n.mentions) > 0 && len(p.o.mentions) > 0 && p.n.mentions[0].class != p.o.mentions[0].class
	switch {
	case toolsApart && kx != "number":
		return ""
	case kx == "number" && ky == "number" && (len(after) > 0 && !toolsApart || unitOf(x) == unitOf(y) && len(before) > 1):
		return oxbow.Replaces // three cats after two
	case many || kx != ky:
		return ""
	case kx == "number":
		if len(before) > 1 || placeWords[last] {
			return oxbow.Replaces
		}
		return ""
	case len(after) > 0 && !placeWords[last]:
		return ""
	case kx == "name", kx == "colour":
		return oxbow.Replaces
	case placeWords[last] && last != "is" && last != "are" && last != "to" && last != "for":
		return oxbow.Replaces
	case article(x[0].lead) && article(y[0].lead), slices.ContainsFunc(before, func(v value) bool {
		return v.low == "default" || v.low == "preferred" || v.low == "current" || v.low == "main"
	}):
		return oxbow.Replaces
	case !now:
		return ""
	}
	return oxbow.Unsure // two properties that may well go together
}

func article(w string) bool { return w == "a" || w == "an" }

// newHolder finds another name before the same words. It is asked before the
// owners of the two are compared, which differ of course.
func newHolder(p pair) oxbow.Relation {
	if len(p.n.words) > maxDenied || len(p.o.words) > maxDenied || p.n.neg || p.o.neg || !p.n.has(nowPhrases...) || p.n.has(alsoPhrases...) {
		return ""
	}
	a, b := values(p.n), values(p.o)
	pre, post := shared(a, b)
	if pre > 0 || post == 0 || len(a) == post || len(b) == post {
		return ""
	}
	return p.otherHolder(a[:len(a)-post], b[:len(b)-post], a)
}

// roleVerbs say what one does alone at a time.
var roleVerbs = set("leads", "owns", "manages", "maintains", "handles", "heads", "chairs", "runs", "organises", "reviews")

// otherHolder decides on two names before the same words: Jonas leads the
// payments team now, after Marta.
func (p pair) otherHolder(x, y, rest []value) oxbow.Relation {
	if len(x) > 2 || len(y) > 2 || !p.n.isName(0) || !p.o.isName(0) || len(rest) < len(x)+1 || !p.n.settled() || !p.o.settled() {
		return ""
	}
	next := rest[len(x)]
	if roleVerbs[next.low] && len(rest) > len(x)+1 || next.lead == "the" || next.lead == "our" || next.lead == "my" {
		return oxbow.Replaces
	}
	return ""
}

// colours and times are values of a kind of their own.
var (
	colours = set("red", "blue", "green", "orange", "yellow", "purple", "pink", "brown", "grey", "gray", "black", "white", "turquoise", "beige")
	times   = set("midnight", "noon", "hour", "hours", "minute", "minutes", "day", "days", "week", "weeks", "month", "months", "year", "years", "daily", "weekly", "monthly", "yearly", "quarterly", "hourly", "nightly", "am", "pm",
		"weekdays", "mornings", "evenings", "morning", "evening", "afternoon", "half", "once", "twice")
)

// kindsOf says what kind of value some words are.
func kindsOf(ws []value) string {
	kind := "word"
	for _, w := range ws {
		_, isCount := counts[w.low]
		_, isMonth := months[w.low]
		_, isDay := weekdays[w.low]
		switch {
		case hasDigit(w.low), isCount && w.low != "a" && w.low != "an", tens[w.low] > 0, times[w.low], isDay && len(w.low) > 5, isMonth && capitalised(w.raw):
			return "number"
		case colours[w.low]:
			kind = "colour"
		case capitalised(w.raw) && !w.first:
			kind = "name"
		}
	}
	return kind
}

func unitOf(ws []value) string {
	last := ws[len(ws)-1].low
	if hasDigit(last) || counts[last] > 0 || tens[last] > 0 {
		return ""
	}
	return last
}

// changed finds "the conference was moved to Prague", "the rent went up to 950
// euros", "changed their name to Robin": what, perhaps from where, and to what.
var changed = regexp.MustCompile(`^ ((?:[a-z0-9'.-]+ ){0,7}?)(?:has |have |had )?(?:just |now |recently |finally )?(?:been |be |was |were |got |is |are )?(?:now |just |recently |finally )?(?:moved|postponed|pushed|pushed back|rescheduled|shifted|switched|changed|renamed|relocated|transferred|extended|shortened|upgraded|downgraded|raised|lowered|cut|increased|reduced|went up|went down|rose|fell|grew|promoted|rewritten|ported|brought forward|delayed|bumped|set) ((?:[a-z0-9'.-]+ ){0,3}?)(?:from ((?:[a-z0-9'.:%-]+ ){1,4}?))?(?:to|into|in|until|as) ((?:[a-z0-9'.:%-]+ ){1,4})`)

// stateVerbs come between what has a value and the value.
var stateVerbs = set("is", "are", "was", "am", "has", "takes", "starts", "begins", "runs", "lives", "costs", "sits", "stands", "happens", "ends", "lasts", "holds", "lies", "studies", "works", "live", "study", "work", "uses", "use", "use", "run", "cost")

// valueChange reads what was changed, and to what, against what had a value.
func valueChange(p pair) oxbow.Relation {
	m := changed.FindStringSubmatch(p.n.norm)
	if m == nil || p.n.neg || p.o.neg || len(p.o.words) > maxDenied || contrast(p.n, p.o) {
		return ""
	}
	if r := p.movedHome(); r != "" {
		return r
	}
	what := append(subjectOf(m[1]), subjectOf(m[2])...)
	old := values(p.o)
	if m[3] != "" {
		gone := subjectOf(m[3])
		if len(gone) == 0 || !holdsAll(old, gone) || len(what) > 0 && !holdsAll(old, what) || len(what) == 0 && len(p.n.mentions) > 0 {
			return ""
		}
		return oxbow.Replaces
	}
	if len(what) == 0 || len(old) <= len(what) {
		return ""
	}
	for i, w := range what {
		if text.Stem(old[i].low) != w && old[i].low != w {
			return ""
		}
	}
	if next := old[len(what)]; next.low == "called" || next.low == "named" {
		return oxbow.Replaces
	} else if !stateVerbs[next.low] && !stateVerbs[next.lead] {
		return ""
	}
	if len(p.o.dates) > 0 || len(p.n.dates) > 0 {
		if len(p.o.dates) == 0 || len(p.n.dates) == 0 || sameValues(p.n, p.o) {
			return ""
		}
		return oxbow.Replaces
	}
	return p.movedValue(old[len(what):], m[4])
}

var (
	newHome  = regexp.MustCompile(` (?:moved|moving) (?:in)?to (?:a|an|the) (?:new |bigger |smaller )?(flat|apartment|house|office|room|desk|studio) (in|on|at|by) `)
	promoted = regexp.MustCompile(` (?:promoted|became|is now|am now) (?:to )?(?:a |an |the )?([a-z -]+) `)
)

// movedHome reads "moved to a flat in Bremen" against where the flat was.
func (p pair) movedHome() oxbow.Relation {
	if m := newHome.FindStringSubmatch(p.n.norm); m != nil && p.o.has(m[1]+" is "+m[2], m[1]+" is located "+m[2], "lives "+m[2], "live "+m[2]) {
		return oxbow.Replaces
	}
	if p.n.has("promoted") && promoted.MatchString(p.n.norm) && p.o.has("is a", "am a", "is an", "am an", "works as a") && len(common(p.n.stems, p.o.stems)) > 0 {
		return oxbow.Replaces
	}
	return ""
}

// contrasts are words that tell two things of one sort apart: a limit for reads
// is none for writes.
var contrasts = [][2]string{{"read", "write"}, {"upload", "download"}, {"inbound", "outbound"}, {"incoming", "outgoing"}, {"request", "response"}, {"minimum", "maximum"}, {"min", "max"}, {"morning", "evening"}, {"adults", "children"},
	{"desktop", "mobile"}, {"weekday", "weekend"}, {"weekdays", "weekends"}, {"client", "server"}, {"staging", "production"}, {"primary", "secondary"}, {"internal", "external"}, {"front", "back"}, {"summer", "winter"}, {"dev", "prod"},
	{"android", "ios"}, {"first", "second"}, {"work", "private"}, {"work", "personal"}, {"home", "office"}, {"free", "paying"}, {"left", "right"}, {"soft", "hard"}, {"lower", "upper"}, {"men", "women"}, {"input", "output"}, {"local", "remote"}, {"eu", "us"}, {"old", "new"}}

// contrast tells whether each of two statements names the other one of two.
func contrast(a, b *claim) bool {
	for _, c := range contrasts {
		for _, xy := range [][2]string{c, {c[1], c[0]}} {
			if a.has(xy[0]) && !a.has(xy[1]) && b.has(xy[1]) && !b.has(xy[0]) {
				return true
			}
		}
	}
	return false
}

// movedValue compares the kind of the old value with the one it moved to.
func (p pair) movedValue(old []value, to string) oxbow.Relation {
	var came []value
	all := values(p.n)
	for i, v := range all {
		if strings.HasPrefix(to, v.low+" ") && i > 0 {
			came = all[i:]
		}
	}
	if len(came) == 0 {
		return ""
	}
	if stateVerbs[old[0].low] {
		old = old[1:]
	}
	for len(old) > 1 && placeWords[old[0].low] || len(old) > 1 && old[0].low == "place" {
		old = old[1:]
	}
	if len(old) == 0 {
		return ""
	}
	kx, ky := kindsOf(came), kindsOf(old)
	if kx == ky && (kx != "word" || unitOf(came) == unitOf(old)) && !sameValue(came[0], old[0]) {
		return oxbow.Replaces
	}
	return ""
}

// subjectOf gives the stems of words that say of what something is said.
func subjectOf(s string) []string {
	var out []string
	for w := range strings.FieldsSeq(s) {
		if valueDrops[w] || w == "their" || w == "his" || w == "her" || w == "has" || w == "have" || w == "in" || w == "on" || w == "the" {
			continue
		}
		if st := text.Stem(w); st != "" {
			out = append(out, st)
		}
	}
	return out
}

func holdsAll(vs []value, stems []string) bool {
	for _, s := range stems {
		if !slices.ContainsFunc(vs, func(v value) bool { return v.low == s || text.Stem(v.low) == s }) {
			return false
		}
	}
	return true
}

// states that exclude each other, said in other words: what the older statement
// says, and the newer one.
var exclusions = []struct{ a, b []string }{
	{[]string{"vegetarian", "vegan"}, []string{"eats meat", "eat meat", "eats fish", "eating meat", "eats steak", "is not vegetarian", "is a carnivore"}},
	{[]string{"unemployed", "without a job", "between jobs", "looking for a job"}, []string{"found a job", "got a job", "has a job", "started a job", "started a new job", "found work", "works at", "got hired", "was hired"}},
	{[]string{"is single", "am single", "unmarried"}, []string{"got married", "is married", "got engaged", "am married", "girlfriend", "boyfriend", "fiancé", "fiancée", "in a relationship", "is dating", "started dating", "lives with a partner"}},
	{[]string{"engaged", "engagement"}, []string{"broke off", "called off", "engagement ended", "split up", "broke up", "not getting married"}},
	{[]string{"dating", "girlfriend", "boyfriend", "in a relationship", "is together with"}, []string{"broke up", "split up", "is single", "am single", "separated"}},
	{[]string{"married"}, []string{"got divorced", "is divorced", "am divorced", "are divorced", "separated", "got a divorce", "divorced"}},
	{[]string{"gluten-free", "coeliac", "celiac"}, []string{"eats bread", "eat bread", "eats pasta", "eat pasta", "eats wheat", "eat wheat", "eats gluten"}},
	{[]string{"vegan"}, []string{"eats cheese", "eats eggs", "eat cheese", "eat eggs", "drinks milk", "eats dairy", "eat dairy", "eats butter"}},
	{[]string{"is pregnant", "am pregnant", "expecting a baby", "expecting a child"}, []string{"gave birth", "had the baby", "baby was born", "had a baby"}},
	{[]string{"morning person", "early bird"}, []string{"night owl", "hates mornings", "hate mornings", "not a morning person", "sleeps until noon"}},
	{[]string{"hates mornings", "hate mornings", "night owl"}, []string{"morning person", "early bird", "early riser"}},
	{[]string{"is an introvert", "am an introvert"}, []string{"is an extrovert", "am an extrovert"}},
	{[]string{"can not cook", "can not swim"}, []string{"learned to cook", "learned to swim", "can swim", "can cook"}},
	{[]string{"no siblings", "an only child"}, []string{"a brother", "a sister", "brothers", "sisters", "siblings"}},
	{[]string{"no children", "no kids", "childless"}, []string{"a son", "a daughter", "a baby", "children", "kids"}},
	{[]string{"no pets"}, []string{"a dog", "a cat", "a pet", "a rabbit"}},
	{[]string{"a student", "studies"}, []string{"graduated", "finished university", "dropped out"}},
	{[]string{"works", "employed"}, []string{"retired", "is retired", "lost the job", "lost his job", "lost her job", "got laid off"}},
	{[]string{"rents", "is renting"}, []string{"bought a house", "bought a flat", "bought an apartment"}},
	{[]string{"non-smoker"}, []string{"smokes", "started smoking"}},
	{[]string{"teetotal", "drinks no alcohol"}, []string{"drinks wine", "drinks beer", "drinks alcohol"}},
}

// conditions of things, which must be the same thing in both statements.
var conditions = []struct{ a, b []string }{
	{[]string{"on hold", "paused", "suspended"}, []string{"resumed", "was resumed", "is running again", "continues again", "was restarted"}},
	{[]string{"out of order", "broken", "defective", "does not work"}, []string{"repaired", "was repaired", "works again", "was fixed", "is fixed", "got fixed"}},
	{[]string{"under construction", "in development"}, []string{"was finished", "is finished", "was completed", "is complete"}},
	{[]string{"open", "unresolved"}, []string{"was closed", "got closed", "was resolved", "is resolved"}},
	{[]string{"in stock", "available"}, []string{"sold out", "out of stock"}},
	{[]string{"pending", "in review", "under review", "on its way"}, []string{"was shipped", "was delivered", "has arrived", "was approved", "was rejected", "got approved", "was merged", "is approved"}},
}

// exchanged tells whether one statement holds one of two states, and the other
// one the other.
func (p pair) exchanged(a, b []string) bool {
	return p.o.has(a...) && p.n.has(b...) && !p.n.has(a...) && !p.n.neg || p.o.has(b...) && p.n.has(a...) && !p.o.has(a...) && !p.o.neg
}

// sameThing tells whether two statements begin with the same thing.
func (p pair) sameThing() bool {
	a, b := values(p.n), values(p.o)
	pre, _ := shared(a, b)
	return pre >= 1 && pre >= min(len(a), len(b))-4 && !contrast(p.n, p.o)
}

// excludes finds two states of the same person that exclude each other.
func excludes(p pair) oxbow.Relation {
	if (p.n.person || p.o.person) && (len(p.n.owners) == 0 || len(p.o.owners) == 0 || sameOwner(p.n, p.o) < 1) || len(p.n.words) > maxDenied || len(p.o.words) > maxDenied {
		return ""
	}
	for _, e := range exclusions {
		if p.exchanged(e.a, e.b) {
			return oxbow.Replaces
		}
	}
	for _, e := range conditions {
		if p.exchanged(e.a, e.b) && p.sameThing() {
			return oxbow.Replaces
		}
	}
	return ""
}

// leaving finds that somebody left where they worked.
var leaving = regexp.MustCompile(` (?:left|quit|resigned from|moved on from|no longer works? (?:at|for)|stopped working (?:at|for)) ((?:[a-z0-9'&-]+ ){1,3})`)

func left(p pair) oxbow.Relation {
	m := leaving.FindStringSubmatch(p.n.norm)
	if m == nil || !p.o.has("works at", "work at", "works for", "work for", "employed at", "employed by", "working at", "working for", "job at") {
		return ""
	}
	first, _, _ := strings.Cut(m[1], " ")
	if p.o.has(first) && !valueDrops[first] {
		return oxbow.Replaces
	}
	return ""
}
