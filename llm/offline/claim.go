package offline

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow/internal/text"
)

// claim is what the rules understand of one statement.
type claim struct {
	sentence
	said time.Time

	// How it is said. A statement in any of these moods replaces nothing.
	asked       bool
	conditional bool
	planned     bool // thought of, tried out, intended: not so yet
	hedged      bool
	reported    bool // somebody else's words
	past        bool // was so once, and is bounded: used to, at my last job

	neg    bool            // an odd number of negations
	marker bool            // says that something is different now
	facets []string        // production aside: staging, tests, local …
	roles  []string        // what a tool is used as: cache, queue …
	owners map[string]bool // whom or what it is about, when that is not "us"
	person bool            // an owner is somebody else who acts

	mentions []mention
	gone     []tool   // tools that it says were given up
	came     []tool   // tools that it says took their place
	moved    []string // the stems of what was moved, when that is not everything
	upgraded bool     // says that a version changed

	dates    []found
	numbers  []number
	stems    []string // what is left that carries meaning, in order
	instruct bool     // always, never, please do
}

// mention is a tool named in a statement.
type mention struct {
	tool
	version  string
	at, next int // words [at, next), the version included
}

// number is a value that is no date, no version and no part of a name.
type number struct {
	value string
	unit  string // the word behind it
	at    int
}

// settled tells whether the statement asserts, so that it may replace others.
func (c *claim) settled() bool {
	return !c.asked && !c.conditional && !c.planned && !c.hedged && !c.reported && !c.past
}

// parse reads a statement said at an instant.
func parse(s string, said time.Time) *claim {
	c := &claim{sentence: read(s), said: said}
	c.dates = firm(dates(c.sentence, said))
	c.readMood()
	c.readMentions()
	c.readNumbers()
	c.readOwners()
	c.readFacets()
	c.readChange()
	c.readStems()
	return c
}

var askStarts = []string{"what", "how", "why", "when do", "when does", "when is", "when did", "where", "which", "who", "can you", "could you", "would you",
	"will you", "do you", "did you", "does", "is there", "are there", "is it", "should i", "should we", "any idea", "any chance", "can we", "can i", "do i", "do we"}

var planPhrases = []string{"thinking of", "thinking about", "considering", "planning to", "plan to", "plans to", "plan on", "planning on", "want to", "wants to",
	"might", "going to", "will", "looking at", "looking into", "look into", "investigating", "evaluating", "trying out", "try out", "experimenting", "toying with",
	"playing with", "playing around with", "tempted", "one day", "someday", "eventually", "about to", "should", "let us", "propose", "proposal", "hope to", "would like", "need to",
	"needs to", "have to", "ought", "curious about", "idea", "prototype", "prototyping", "spike", "could", "intend to", "some time next", "down the road", "in the process of", "halfway through", "not yet", "wish"}

var hedgePhrases = []string{"maybe", "perhaps", "possibly", "probably", "likely", "i think", "i guess", "i believe", "i suppose", "not sure", "unsure", "seems", "seem", "seemingly",
	"apparently", "supposedly", "allegedly", "as far as i know", "afaik", "rumour", "rumor", "presumably", "i doubt", "no idea", "wondering", "wonder", "who knows", "if i remember", "iirc"}

var reportPhrases = []string{"said", "says", "told me", "told us", "heard", "according to", "claims", "claimed", "suggested", "suggests", "recommends", "recommended", "i read",
	"the article", "the blog", "keeps saying", "swears by", "asked whether", "asked if", "wrote that", "mentioned that", "thinks", "reckons", "insists"}

var pastPhrases = []string{"used to", "back when", "back then", "last job", "previous job", "old job", "last company", "previous company", "years ago", "year ago", "formerly",
	"originally", "at first", "in the past", "for a while", "briefly", "until last", "once upon", "before that", "at university", "in college", "last year", "back in"}

var conditionPhrases = []string{"if", "unless", "assuming", "in case", "would", "suppose", "supposing", "were to", "otherwise", "hypothetically", "provided that"}

var markerPhrases = []string{"now", "no longer", "any more", "anymore", "from now on", "these days", "as of", "since", "switched", "moved", "migrated", "changed", "replaced",
	"instead", "pushed", "dropped", "stopped", "upgraded", "bumped", "raised", "lowered", "increased", "reduced", "quit", "finally", "new"}

func (c *claim) readMood() {
	c.asked = strings.HasSuffix(c.norm, " ? ") || c.starts(askStarts...)
	c.conditional = c.has(conditionPhrases...) || c.starts("should the", "should it", "should my", "should our", "were it", "were the", "had the") && !strings.HasSuffix(c.norm, " ? ")
	c.planned = c.has(planPhrases...) && !(c.has("within one day", "in one day", "for one day") || c.has("stopped going to", "quit going to", "gave up going to") || goingSomewhere.MatchString(c.norm) && !c.has(otherPlans...))
	if c.planned && c.has("not have to", "not need to", "no longer have to", "no longer need to", "no longer has to", "no longer needs to") {
		c.planned = c.has(otherNorms...) && !c.has("need to", "needs to", "not have to")
	}
	if c.has("will") && len(c.dates) > 0 || c.has("is going to be", "are going to be") {
		c.planned = c.has("thinking of", "considering", "might", "could", "planning to", "plan to", "want to")
	}
	c.hedged = c.has(hedgePhrases...) || c.hasMay()
	c.reported = c.has(reportPhrases...)
	c.past = c.has(pastPhrases...) && !(c.has("years ago", "year ago") && c.has(turnPhrases...)) || c.boundedYear()
	c.marker = c.has(markerPhrases...)
	c.instruct = c.starts("always", "never", "please", "do not", "from now on", "make sure", "keep", "avoid", "remember to", "stop", "whenever", "when you", "use") ||
		c.has("please always", "please never", "please do not", "i want you to", "from now on")
	c.neg = negations(c.words)%2 == 1
}

// normative tells whether what sounds like a plan says how things should be.
func (c *claim) normative() bool {
	return c.has("should", "ought", "have to") && !c.has(otherNorms...)
}

var otherNorms = slices.DeleteFunc(slices.Clone(planPhrases), func(s string) bool { return s == "should" || s == "ought" || s == "have to" })

// goingSomewhere is going to a place, which is no plan.
var goingSomewhere = regexp.MustCompile(` (?:likes?|loves?|enjoys?|keeps?|started|stopped|hates?|avoids?) going to `)

// otherPlans are the plan phrases but "going to".
var otherPlans = slices.DeleteFunc(slices.Clone(planPhrases), func(s string) bool { return s == "going to" })

// turnPhrases tell of a turn whose outcome lasts, however long ago it was.
var turnPhrases = []string{"quit", "stopped", "gave up", "sold", "moved to", "switched", "left", "retired", "divorced", "died", "passed away", "cancelled", "closed"}

// passing tells whether a statement is about one time and no more: this week
// the sync is on Friday.
func (c *claim) passing() bool {
	return c.has("this week", "this time", "for once", "exceptionally", "this once", "just once", "temporarily", "this morning", "this afternoon", "this evening", "tonight", "last night", "today", "this weekend", "for today", "by accident", "by mistake") &&
		!c.has("now", "moved", "switched", "changed", "no longer", "from now on", "since", "as of today", "starting today", "from today", "was pushed", "got", "sold", "quit", "stopped", "became", "left", "started", "replaced", "upgraded", "anymore", "raised", "lowered", "cancelled", "was cut", "finally")
}

// yearBound is a year that bounds a statement: in 2019, until 2020.
var yearBound = regexp.MustCompile(` (?:in|until|till|from|during) ((?:19|20)\d\d) `)

// boundedYear tells whether a year that has passed bounds the statement.
func (c *claim) boundedYear() bool {
	for _, m := range yearBound.FindAllStringSubmatch(c.norm, -1) {
		if y, _ := strconv.Atoi(m[1]); c.said.IsZero() || y < c.said.Year() {
			return true
		}
	}
	return false
}

// hasMay finds the verb, not the month: "may move", not "in May".
func (c *claim) hasMay() bool {
	for i, w := range c.words {
		if w.low == "may" && !capitalised(w.raw) && i > 0 {
			return true
		}
	}
	return false
}

var negatives = set("not", "never", "no", "without", "stop", "stopped", "avoid", "none", "neither", "nobody", "nothing")

// denials counts the words of denial.
func denials(c *claim) int { return negations(c.words) }

func negations(words []word) int {
	n := 0
	for i, w := range words {
		if w.low == "no" && i+1 < len(words) && words[i+1].low == "matter" {
			continue
		}
		if negatives[w.low] {
			n++
		}
	}
	return n
}

var version = regexp.MustCompile(`^v?\d+(\.\d+)*(\.x)?$`)

func (c *claim) readMentions() {
	for i := 0; i < len(c.words); i++ {
		t, n := toolAt(c.words, i)
		if n == 0 {
			continue
		}
		m := mention{tool: t, at: i, next: i + n}
		if m.next < len(c.words) && version.MatchString(c.words[m.next].low) {
			m.version = strings.TrimPrefix(c.words[m.next].low, "v")
			m.next++
		}
		c.mentions = append(c.mentions, m)
		i = m.next - 1
	}
}

func (c *claim) readNumbers() {
	for i, w := range c.words {
		if !hasDigit(w.low) || c.inDate(i) || c.inMention(i) {
			continue
		}
		n := number{value: strings.TrimRight(w.low, ".:"), at: i}
		if i+1 < len(c.words) {
			n.unit = text.Stem(c.words[i+1].low)
		}
		c.numbers = append(c.numbers, n)
	}
}

func (c *claim) inDate(i int) bool {
	return slices.ContainsFunc(c.dates, func(d found) bool { return i >= d.from && i < d.to })
}

func (c *claim) inMention(i int) bool {
	return slices.ContainsFunc(c.mentions, func(m mention) bool { return i >= m.at && i < m.next })
}

// ownerPhrase finds the part of our world that a statement is about: the
// billing service, my side project. Nouns such as pool or column are no owners.
var ownerPhrase = regexp.MustCompile(` (?:the|our|my|a|his|her|their|this|that) ((?:[a-z0-9-]+ ){0,2})(service|app|project|site|website|warehouse|team|cluster|pipeline|product|client|module|frontend|blog|bot|company|startup|laptop|prototype|importer|repo|dashboard|cli|customer|branch|customers|clients|intern|contractor|agency|vendor|boss|manager|colleague|colleagues|designer|competitors|competitor|supplier|neighbour) `)

// ourWords before such a noun say nothing that tells it from our own.
var ourWords = set("main", "whole", "new", "entire", "production", "primary", "our", "own", "current", "same", "test")

// otherHeads are not ours even without a word before them.
var otherHeads = set("client", "customer", "company", "blog", "bot", "startup", "laptop", "prototype", "frontend", "website", "site", "dashboard", "cli", "warehouse", "importer",
	"customers", "clients", "intern", "contractor", "agency", "vendor", "boss", "manager", "colleague", "colleagues", "designer", "competitor", "competitors", "supplier", "neighbour")

// people among them act for themselves.
var people = set("client", "customer", "customers", "clients", "intern", "contractor", "agency", "vendor", "boss", "manager", "colleague", "colleagues", "designer", "competitor", "competitors", "supplier", "neighbour")

// actVerbs follow the name of somebody, or something, that a sentence is about.
var actVerbs = set("is", "has", "uses", "runs", "wants", "likes", "prefers", "lives", "works", "moved", "uses", "was", "said", "says", "thinks", "migrated", "switched",
	"owns", "keeps", "needs", "deploys", "hates", "loves", "joined", "left", "'s", "handles", "asked", "sent", "still")

// noNames begin sentences with a capital and are nobody's name.
var noNames = set("i", "we", "the", "a", "an", "it", "this", "that", "they", "he", "she", "you", "my", "our", "everything", "everyone", "nothing", "there", "here", "what", "app",
	"project", "backend", "production", "data", "code", "user", "users", "deadline", "launch", "release", "demo", "build", "work", "one", "all", "each", "today", "yesterday",
	"and", "but", "also", "now", "then", "still", "just", "turns", "who", "his", "her", "their", "some", "most", "ci", "timezone", "standup", "email", "prod")

func (c *claim) readOwners() {
	c.owners = map[string]bool{}
	for _, m := range ownerPhrase.FindAllStringSubmatch(c.norm, -1) {
		var quals []string
		for _, q := range strings.Fields(m[1]) {
			if _, isTool := tools[q]; !isTool && !ourWords[q] && !fillers[q] {
				quals = append(quals, q)
			}
		}
		if len(quals) > 0 || otherHeads[m[2]] {
			c.owners[strings.Join(append(quals, m[2]), " ")] = true
			c.person = c.person || people[m[2]]
		}
	}
	for i, w := range c.words {
		next := c.lowAt(i + 1)
		if !c.isName(i) || reporting[next] { // who reports is not whom it is about
			continue
		}
		switch {
		case i == 0 && actVerbs[next] && !abstract.MatchString(w.low), i > 0 && (c.lowAt(i-1) == "," || c.lowAt(i-1) == "and") && actVerbs[next]:
			c.owners[w.low] = true
			c.person = true
		case next == "'s" && i+2 < len(c.words):
			c.owners[w.low] = true
		case i > 0 && ownedBy[c.lowAt(i-1)]:
			c.owners[w.low] = true
		}
	}
	c.readKin()
	if c.has("his", "her", "their", "my brother", "my friend", "my wife", "my husband", "my sister", "my partner", "the other team") {
		c.owners["somebody else"] = true
		c.person = true
	}
}

// kin are the people whom one has; what is said of them is not said of oneself.
var kin = set("brother", "sister", "mother", "father", "mum", "mom", "dad", "wife", "husband", "partner", "girlfriend", "boyfriend", "fiancé", "fiancée", "son", "daughter", "cousin", "uncle", "aunt", "niece", "nephew", "friend", "flatmate", "roommate",
	"grandmother", "grandfather", "grandma", "grandpa", "parents", "children", "kids", "neighbour", "neighbor", "landlord", "landlady", "dog", "cat", "baby", "in-laws", "team", "colleague", "coworker", "teammate")

// ownWords before 's are our own world, or a time.
var ownWords = set("user", "users", "today", "yesterday", "tomorrow", "week", "month", "year", "team", "project", "company", "it", "everyone", "one", "day", "let")

// readKin finds whom else a statement is about: the user's sister, my landlord,
// the office's phone.
func (c *claim) readKin() {
	for i, w := range c.words {
		next := c.lowAt(i + 1)
		switch before := c.lowAt(i - 1); {
		case (before == "'s" && c.lowAt(i-2) == "user" || before == "my") && kin[w.low] && w.low != "team":
			c.owners[w.low] = true
			c.person = true
		case next == "'s" && i > 0 && !ownWords[w.low] && !c.isName(i) && !kin[w.low] && (before == "the" || before == "our") && !c.inMention(i):
			c.owners[w.low] = true
		}
	}
}

// reporting verbs follow whoever is quoted.
var reporting = set("said", "says", "thinks", "claims", "claimed", "told", "mentioned", "heard", "wrote", "suggested", "reckons", "insists")

// ownedBy are the words before the name of what a statement is about.
var ownedBy = set("for", "of", "upgraded", "moved", "migrated", "switched", "ported")

// abstract nouns begin sentences with a capital, as names do.
var abstract = regexp.MustCompile(`(?:ing|tion|ment|ity|ness|ance)$`)

// facetWords name a part of the world in which another tool may be used;
// roleWords what a tool may be used as.
var (
	facetWords = map[string]string{"staging": "staging", "test": "tests", "tests": "tests", "testing": "tests", "local": "local", "locally": "local", "development": "local", "dev": "local",
		"demo": "demo", "backup": "backup", "backups": "backup", "docs": "docs", "windows": "windows", "home": "home"}
	roleWords = map[string]string{"cache": "cache", "caching": "cache", "caches": "cache", "queue": "queue", "queues": "queue", "session": "session", "sessions": "session", "search": "search",
		"logs": "logs", "logging": "logs", "metrics": "metrics", "monitoring": "metrics", "analytics": "analytics", "email": "email", "emails": "email"}
)

func (c *claim) readFacets() {
	for _, w := range c.words {
		if f := facetWords[w.low]; f != "" {
			c.facets = append(c.facets, f)
		}
		if r := roleWords[w.low]; r != "" {
			c.roles = append(c.roles, r)
		}
	}
}

func (c *claim) lowAt(i int) string {
	if i < 0 || i >= len(c.words) {
		return ""
	}
	return c.words[i].low
}

// isName tells whether word i is written as a name and is no tool, month,
// weekday or acronym.
func (c *claim) isName(i int) bool {
	w := c.words[i]
	if !capitalised(w.raw) || noNames[w.low] || c.inMention(i) || c.inDate(i) || len(w.low) < 3 {
		return false
	}
	_, isMonth := months[w.low]
	_, isDay := weekdays[strings.TrimSuffix(w.low, "s")]
	return !isMonth && !isDay && strings.ToUpper(w.raw) != w.raw
}

// sameOwner compares whom two statements are about: 1 the same, 0 unclear, -1 not.
func sameOwner(a, b *claim) int {
	switch {
	case len(a.owners) == 0 && len(b.owners) == 0:
		return 1
	case len(a.owners) == 0 || len(b.owners) == 0:
		if a.person || b.person {
			return -1
		}
		return 0
	}
	for o := range a.owners {
		if b.owners[o] {
			return 1
		}
	}
	return -1
}

// The shapes of a change. In the text they are matched against, each tool
// stands as @0, @1 … with its version.
const (
	moveVerbs = `(?:migrated|moved|switched|changed|ported|converted|transitioned|went|swapped|jumped|gone)`
	gap       = `(?:[a-z0-9'-]+ ){0,4}?`
	short     = `(?:[a-z0-9'-]+ ){0,2}?`
)

var changeShapes = []struct {
	form       *regexp.Regexp
	gone, came int // which group names it; 0 for none
}{
	{regexp.MustCompile(` ` + moveVerbs + ` ` + gap + `from ` + short + `@(\d+) ` + gap + `(?:to|onto) ` + short + `@(\d+) `), 1, 2},
	{regexp.MustCompile(` ` + moveVerbs + ` ` + gap + `(?:to|onto|for) ` + short + `@(\d+) ` + gap + `(?:from|instead of) ` + short + `@(\d+) `), 2, 1},
	{regexp.MustCompile(` (?:migrating|moving|migration|move|switch|moved|port) ` + short + `from ` + short + `@(\d+) (?:over )?to ` + short + `@(\d+) .*(?:done|finished|complete|completed|through|live|over|landed|behind us)`), 1, 2},
	{regexp.MustCompile(` (?:finished|completed|done) ` + short + `(?:migrating|moving|migration|switch|move|switching|porting) ` + gap + `from ` + short + `@(\d+) (?:over )?to ` + short + `@(\d+) `), 1, 2},
	{regexp.MustCompile(` @(\d+) to @(\d+) (?:migration|move|switch|cutover) ` + gap + `(?:is|went|finished|landed|has|was) ` + gap + `(?:done|finished|complete|completed|through|live|over|landed) `), 1, 2},
	{regexp.MustCompile(` (?:replaced|swapped|swapped out|ripped out|dropped|ditched|traded|traded in|abandoned|retired) ` + short + `@(\d+) (?:with|for|by|in favour of|in favor of) ` + short + `@(\d+) `), 1, 2},
	{regexp.MustCompile(` @(\d+) (?:has |have )?replaced ` + short + `@(\d+) `), 2, 1},
	{regexp.MustCompile(` (?:use|uses|using|on|with|run|runs|went with|deploy with|deploy to) ` + short + `@(\d+) ` + gap + `(?:instead of|rather than|not|in place of) ` + short + `@(\d+) `), 2, 1},
	{regexp.MustCompile(` (?:no longer|stopped|quit|not) (?:use|uses|using|on|run|running|runs|have|need|host on|hosted on) ` + short + `@(\d+) (?:any more|anymore|,|\.|for|at|in|and|since|$)`), 1, 0},
	{regexp.MustCompile(` (?:got rid of|removed|dropped|ditched|abandoned|retired|uninstalled|decommissioned|moved off|moved away from|migrated off|migrated away from|shut down|are off|am off|is off|got off|we are done with|i am done with|gave up on|ripped out|turned off|left) ` + short + `@(\d+) `), 1, 0},
	{regexp.MustCompile(` @(\d+) (?:is|was) (?:gone|retired|removed|switched off|decommissioned|shut down) `), 1, 0},
	{regexp.MustCompile(` (?:switched|moved|migrated|changed|converted|went over|ported|transitioned) ` + gap + `(?:to|onto) ` + short + `@(\d+) `), 0, 1},
	{regexp.MustCompile(` (?:are|am|is|use|uses|using|on|run|runs|with) (?:all |now |all now )?(?:on |using |in )?` + short + `@(\d+) (?:now|these days|from now on|since|as of) `), 0, 1},
	{regexp.MustCompile(` now ` + short + `(?:on|use|uses|using|run|runs|with|in) ` + short + `@(\d+) `), 0, 1},
}

// movedObject is what stands between a verb of change and from or to.
var movedObject = regexp.MustCompile(` ` + moveVerbs + ` ((?:[a-z0-9'-]+ ){1,4}?)(?:from|over|to|onto|off) `)

// whole are the words for everything we have, which limit a change to nothing.
var whole = stems("everything", "database", "databases", "db", "data", "app", "application", "project", "production", "system", "stack", "over", "away", "completely", "entirely", "fully",
	"main", "whole", "entire", "primary", "service", "backend", "store", "storage", "tables", "schema", "back", "last", "week", "all", "rest", "off", "us", "setup", "team", "cluster", "server", "servers", "codebase")

// shape gives the sentence with its tools as @0, @1 …
func (c *claim) shape() string {
	var b strings.Builder
	b.WriteByte(' ')
	for i := 0; i < len(c.words); i++ {
		k := slices.IndexFunc(c.mentions, func(m mention) bool { return m.at == i })
		if k < 0 {
			b.WriteString(c.words[i].low + " ")
			continue
		}
		fmt.Fprintf(&b, "@%d ", k)
		i = c.mentions[k].next - 1
	}
	return b.String()
}

var upgrade = regexp.MustCompile(` (?:upgraded|updated|bumped|moved|went|switched|are|am|is|on) `)

func (c *claim) readChange() {
	if len(c.mentions) == 0 {
		return
	}
	c.upgraded = c.marker && upgrade.MatchString(c.norm)
	s := c.shape()
	if m := movedObject.FindStringSubmatch(s); m != nil {
		for _, st := range stemsOf(m[1]) {
			if !whole[st] && !c.owners[st] {
				c.moved = append(c.moved, st)
			}
		}
	}
	for _, f := range changeShapes {
		at := f.form.FindStringSubmatchIndex(s)
		if at == nil || denied(s[:at[0]]) {
			continue
		}
		m := f.form.FindStringSubmatch(s)
		if t, ok := c.group(m, f.gone); ok && !holds(c.gone, t) && !holds(c.came, t) {
			c.gone = append(c.gone, t)
		}
		if t, ok := c.group(m, f.came); ok && !holds(c.came, t) && !holds(c.gone, t) {
			c.came = append(c.came, t)
		}
	}
}

// denied tells whether what comes next is denied: "have not migrated".
func denied(before string) bool {
	ws := strings.Fields(before)
	for _, w := range ws[max(0, len(ws)-3):] {
		if w == "not" || w == "never" || w == "without" || w == "nobody" {
			return true
		}
	}
	return false
}

func (c *claim) group(m []string, k int) (tool, bool) {
	if k == 0 {
		return tool{}, false
	}
	for i := range c.mentions {
		if m[k] == fmt.Sprint(i) {
			return c.mentions[i].tool, true
		}
	}
	return tool{}, false
}

func holds(ts []tool, t tool) bool {
	return slices.ContainsFunc(ts, func(o tool) bool { return o.id == t.id })
}

// stance holds the words that say what somebody thinks of a thing, or that a
// thing is to be done, and not which thing.
var stance = set("prefer", "prefers", "like", "likes", "love", "loves", "hate", "hates", "dislike", "dislikes", "want", "wants", "favour", "favor", "enjoy", "keep", "keeps",
	"use", "uses", "using", "user", "make", "sure", "you", "rather", "ever", "longer", "anymore", "stop", "stopped", "avoid", "never", "not", "no", "without", "fan", "write",
	"from", "remember", "instead", "would", "will", "have", "has", "going", "get", "got", "said", "everything", "thing", "things", "stick", "tend")

func (c *claim) readStems() {
	var kept []word
	for i, w := range c.words {
		if !c.inDate(i) && !stance[w.low] {
			kept = append(kept, w)
		}
	}
	c.stems = content(kept)
}
