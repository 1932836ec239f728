package offline

import (
	"slices"
	"strings"

	"github.com/oxbow-memory/oxbow"
)

// typed compares what two short statements say value by value: the same
// attribute of the same subject, with values of one type. It retires the older
// one when the attribute has one value at a time, or when the newer one says
// that something came to an end which the older one has.
func typed(p pair) oxbow.Relation {
	if p.pictures() || contrast(p.n, p.o) {
		return ""
	}
	ns, os := p.nd(), p.od()
	if p.n.has(alsoPhrases...) {
		return p.notOnly(ns, os)
	}
	if len(os) == 0 || len(os) > 1 && len(ns) == 0 {
		return ""
	}
	unsure, more := false, 0
	for _, o := range os {
		if !has(o, qualAside) {
			more++
		}
	}
	for _, n := range ns {
		for _, o := range os {
			r := p.compare(n, o)
			if (r == oxbow.Replaces || r == oxbow.Contradicts) && more > 1 {
				r = oxbow.Unsure // the older one says more, which would be lost with it
			}
			switch r {
			case "":
			case oxbow.Unsure:
				unsure = true
			default:
				if r != oxbow.ConfirmsIt || len(ns) == 1 && len(os) == 1 {
					return r
				}
			}
		}
	}
	if unsure {
		return oxbow.Unsure
	}
	return ""
}

// notOnly finds another value beside the one that the older statement says is
// the only one.
func (p pair) notOnly(ns, os []oxbow.Detail) oxbow.Relation {
	if !p.o.has("only", "just", "solely", "exclusively") || len(ns) != 1 || len(os) != 1 {
		return ""
	}
	n, o := ns[0], os[0]
	if n.Subject == o.Subject && n.Attribute == o.Attribute && n.Value != o.Value && n.Value != "" && has(n, qualDenied) == has(o, qualDenied) {
		return oxbow.Replaces
	}
	return ""
}

// pictures tells whether two statements describe what is to be seen in a
// picture: somebody, unnamed, is doing something.
func (p pair) pictures() bool {
	doing := func(c *claim) bool {
		return slices.ContainsFunc(c.words, func(w word) bool { return strings.HasSuffix(w.low, "ing") && verbs[w.low] != "" })
	}
	return scenes(p.n, p.o) && (doing(p.n) || doing(p.o) || p.n.starts("a", "an", "there", "some", "two") || p.o.starts("a", "an", "there", "some", "two"))
}

// nd and od give the details of the newer and of the older statement: those
// that were kept with it, else what is read now.
func (p pair) nd() []oxbow.Detail { return detailsOf(p.newer.Details, p.n) }
func (p pair) od() []oxbow.Detail { return detailsOf(p.older.Details, p.o) }

func detailsOf(kept []oxbow.Detail, c *claim) []oxbow.Detail {
	if len(kept) > 0 {
		return kept
	}
	return readDetails(c)
}

func (p pair) compare(n, o oxbow.Detail) oxbow.Relation {
	switch {
	case n.Attribute == "exists":
		return p.gone(n, o)
	case n.Attribute == "ended":
		return p.ended(n, o)
	case o.Attribute == "ended" || o.Attribute == "exists":
		return ""
	case n.Attribute == "changed":
		return p.changedTo(n, o)
	case (has(n, qualOnce) || has(o, qualOnce)) && o.Attribute != "look for":
		return ""
	case o.Attribute == "look for" && n.Subject == o.Subject && n.Value == o.Value && !has(n, qualDenied) && (n.Attribute == "find" || n.Attribute == "have" || n.Attribute == "hire"):
		return oxbow.Replaces
	case breaksDiet(n, o):
		return oxbow.Replaces
	}
	if n.Subject != o.Subject {
		return ""
	}
	if p.elsewhere(n, o) {
		return oxbow.Replaces
	}
	if !narrows(n, o) && !(has(o, qualDenied) && !has(n, qualDenied) && daily(n)) {
		return ""
	}
	if o.Value == "" && has(o, qualDenied) && !has(n, qualDenied) && strings.HasPrefix(n.Attribute+" ", o.Attribute+" ") {
		return oxbow.Contradicts
	}
	if n.Attribute != o.Attribute && !(n.Attribute == "is" && o.Attribute == "changed") {
		return ""
	}
	denied := has(n, qualDenied) != has(o, qualDenied)
	x, y := strings.Fields(n.Value), strings.Fields(o.Value)
	if has(n, qualDenied) {
		x, y = y, x
	}
	switch {
	case denied && n.Type == o.Type && len(x) > 0 && len(y) > 0 && (subset(y, x) || len(x) == 1 && len(y) == 1 && isA(x[0], y[0])) && unitless(n, o):
		return oxbow.Contradicts
	case n.Value == o.Value && denied && n.Type == o.Type && (n.Value != "" || has(n, qualEnded)):
		return oxbow.Contradicts
	case denied || has(n, qualDenied):
		return ""
	case n.Value == o.Value:
		if n.Value == "" || n.Type != o.Type || unit(n) != unit(o) || len(n.Value) < 2 && n.Type == oxbow.WordValue {
			return ""
		}
		return oxbow.ConfirmsIt
	}
	return p.otherDetail(n, o)
}

// elsewhere tells whether the same is done now in another place: plans the week
// in Notion, and in Obsidian now.
func (p pair) elsewhere(n, o oxbow.Detail) bool {
	a, b := parts(n), parts(o)
	if n.Attribute != o.Attribute || n.Value != o.Value || n.Value == "" || len(a) != 1 || len(b) != 1 || !p.n.has(nowPhrases...) || has(n, qualDenied) || has(o, qualDenied) {
		return false
	}
	x, in, _ := strings.Cut(a[0], " ")
	y, was, _ := strings.Cut(b[0], " ")
	return x == y && (x == "in" || x == "on" || x == "with" || x == "via") && in != was && !contains(in, was)
}

// daily tells whether the only part that a detail names is how often.
func daily(d oxbow.Detail) bool {
	q := parts(d)
	return len(q) == 1 && strings.HasPrefix(q[0], "every ")
}

func unitless(n, o oxbow.Detail) bool {
	return n.Type != oxbow.NumberValue && o.Type != oxbow.NumberValue
}

// breaksDiet tells whether somebody eats what their diet forbids.
func breaksDiet(n, o oxbow.Detail) bool {
	if o.Attribute != "diet" || n.Attribute != "eat" || n.Subject != o.Subject || has(n, qualDenied) || len(parts(n)) > 0 {
		return false
	}
	forbidden := map[string][]string{"vegan": {"meat", "fish", "seafood", "dairi", "egg", "honey"}, "vegetarian": {"meat", "fish", "seafood"}, "pescatarian": {"meat"}, "gluten-fre": {"bread", "pasta", "wheat"}}[o.Value]
	for _, w := range strings.Fields(n.Value) {
		for _, f := range forbidden {
			if w == f || isA(w, f) {
				return true
			}
		}
	}
	return false
}

// otherDetail decides on two values of one attribute of one subject.
func (p pair) otherDetail(n, o oxbow.Detail) oxbow.Relation {
	now := p.n.has(nowPhrases...) || n.Attribute == "home" && p.n.has("moved", "relocated")
	one := has(n, qualOne) && has(o, qualOne)
	named := one && (nameLike(n) && nameLike(o) || held[n.Attribute])
	if !named && (unit(n) != unit(o) || n.Type != o.Type) {
		return ""
	}
	if has(n, qualAside) && !now && !has(n, qualOne) {
		return ""
	}
	switch {
	case n.Attribute == "is" && (stemOpposites[n.Value][o.Value] || undone(n.Value, o.Value)):
		return oxbow.Contradicts
	case contains(n.Value, o.Value):
		return "" // a part, or a fuller name, of the same
	case n.Attribute == "home" && regions[n.Value] != regions[o.Value]:
		return ""
	case n.Type == oxbow.NumberValue || n.Type == oxbow.TimeValue || n.Type == oxbow.DateValue || n.Type == oxbow.VersionValue || n.Type == oxbow.ContactValue:
		if has(n, qualOnce) || has(o, qualOnce) {
			return ""
		}
		return oxbow.Replaces
	case one && unit(n) != "", one && held[n.Attribute]:
		return oxbow.Replaces
	case n.Attribute == "is" && now && coded(n.Subject):
		return oxbow.Replaces
	case unit(n) != "" && !manyVerbs[n.Attribute] && now, one && now && n.Attribute != "is":
		return oxbow.Replaces
	}
	return ""
}

// undone tells whether one of two values is the other with a prefix of denial.
func undone(a, b string) bool {
	x, y := lastWord(a), lastWord(b)
	for _, prefix := range []string{"un", "in", "im", "dis", "non-", "non", "ir", "il"} {
		if x == prefix+y || y == prefix+x {
			return true
		}
	}
	return false
}

func lastWord(s string) string { return s[strings.LastIndex(s, " ")+1:] }

// held are the attributes by which a thing is in one hand at a time.
var held = set("owner", "assignee", "boss", "insurer", "teacher")

// coded tells whether a subject is a thing whose value is any word.
func coded(subject string) bool {
	return len(common(strings.Fields(subject), codeNouns)) > 0
}

var codeNouns = []string{"password", "passphras", "pin", "code", "usernam", "login", "nicknam", "titl", "address", "handl", "hashtag", "slogan", "motto", "name"}

func nameLike(d oxbow.Detail) bool {
	return d.Type == oxbow.NameValue || d.Type == oxbow.PlaceValue || d.Type == oxbow.EmployerValue || d.Type == oxbow.ToolValue
}

// onceVerbs are what is done once, with a value of its own each time.
var onceVerbs = set("buy", "pay", "visit", "release", "spend", "find", "fix", "earn", "see", "read", "watch", "meet", "sell", "donate", "break", "run", "eat", "drink", "win", "lose", "save", "write", "order", "play", "walk", "swim", "send", "pass", "fail", "bring", "call", "email", "merge", "ship", "publish")

func has(d oxbow.Detail, q string) bool { return slices.Contains(d.Qualifiers, q) }

// unit gives what tells values of one type apart: of money, of weekday.
func unit(d oxbow.Detail) string {
	for _, q := range d.Qualifiers {
		if strings.HasPrefix(q, "of ") {
			return q
		}
	}
	return ""
}

// narrows tells whether two details hold for the same part of the world: the
// same places, times and purposes are named.
func narrows(n, o oxbow.Detail) bool {
	a, b := parts(n), parts(o)
	return len(a) == len(b) && subset(a, b)
}

// parts gives the qualifiers that name a part of the world.
func parts(d oxbow.Detail) []string {
	var out []string
	for _, q := range d.Qualifiers {
		if q == qualDenied || q == qualEnded || q == qualOne || q == qualAside || q == qualOnce || q == qualPlaced || strings.HasPrefix(q, "of ") || strings.HasPrefix(q, "since ") || strings.HasPrefix(q, "because ") {
			continue
		}
		out = append(out, q)
	}
	return out
}

// contains tells whether one value holds all words of the other.
func contains(a, b string) bool {
	x, y := strings.Fields(a), strings.Fields(b)
	return len(x) > 0 && len(y) > 0 && (subset(x, y) || subset(y, x))
}

// ended compares what came to an end with what the older statement has.
func (p pair) ended(n, o oxbow.Detail) oxbow.Relation {
	if has(o, qualDenied) || n.Subject != o.Subject && n.Subject != "user" && o.Attribute != "owner" || has(o, qualOnce) {
		return ""
	}
	gone := strings.Fields(n.Value)
	for _, m := range p.o.mentions {
		if slices.Contains(gone, m.id) && usage(p.o, m.tool) != inUse {
			return ""
		}
	}
	if has(o, qualAside) {
		return ""
	}
	if lemma, prep, _ := strings.Cut(o.Attribute, " "); !(has(n, qualPlaced) && has(o, qualOne)) && (prep == "" || aboutness[prep]) && opinions[lemma] && !slices.Contains(gone, singleStem(lemma)) {
		return ""
	}
	if has(n, qualPlaced) && n.Subject == "user" && o.Value == n.Value && (o.Attribute == "is a" || o.Attribute == "is") {
		return oxbow.Replaces
	}
	if o.Attribute == "owner" && o.Value == n.Subject && subset(gone, strings.Fields(o.Subject)) {
		return oxbow.Replaces
	}
	have := strings.Fields(o.Value)
	if lemma, _, _ := strings.Cut(o.Attribute, " "); lemma != "is" {
		have = append(have, singleStem(lemma))
	}
	if n.Subject != o.Subject {
		have = nil
		if o.Attribute == "owner" {
			have = strings.Fields(o.Subject)
		}
	}
	have = append(have, strings.Fields(unit(o))...)
	for _, q := range parts(o) {
		if prep, rest, _ := strings.Cut(q, " "); !aboutness[prep] {
			have = append(have, strings.Fields(rest)...)
		}
	}
	for _, q := range parts(n) {
		if _, rest, _ := strings.Cut(q, " "); !subset(strings.Fields(rest), have) {
			return "" // only where, or when, the older one does not say
		}
	}
	if len(have) == 0 || !subset(gone, have) {
		return ""
	}
	return oxbow.Replaces
}

// opinions are the verbs of which a thing that is given up remains the object:
// one may like what one sold.
var opinions = set("like", "prefers", "prefer", "read", "know", "visit", "talk", "recommend", "fix", "find", "is", "speak", "remember", "see", "meet", "hear", "write", "topic", "watch", "topic", "name", "price")

// aboutness are the prepositions behind which stands what something is about.
var aboutness = set("about", "against", "than", "over", "from", "like", "of", "before", "after", "until", "because", "since")

// gone compares a thing that came to an end with what was said of it.
func (p pair) gone(n, o oxbow.Detail) oxbow.Relation {
	if o.Attribute == "have" && subset(strings.Fields(n.Subject), strings.Fields(o.Value)) {
		return oxbow.Replaces
	}
	if n.Subject != o.Subject || has(o, qualDenied) {
		return ""
	}
	if o.Value == "aliv" || o.Attribute == "home" || o.Attribute == "employer" || o.Attribute == "closes" || o.Attribute == "lasts" || o.Attribute == "when" || strings.HasPrefix(o.Attribute, "run") {
		return oxbow.Replaces
	}
	return oxbow.Unsure
}

// changedTo compares a new value, whose attribute the words do not name, with
// what the older statement says of the same thing.
func (p pair) changedTo(n, o oxbow.Detail) oxbow.Relation {
	if has(o, qualDenied) || has(o, qualOnce) || n.Value == o.Value || contains(n.Value, o.Value) || !narrows(n, o) && o.Value != n.Subject && !p.purpose(n, o) || n.Type == oxbow.ToolValue && n.Subject == "user" || opinions[o.Attribute] && o.Attribute != "is" {
		return ""
	}
	same := n.Subject == o.Subject
	if !same && partOf(n.Subject, o.Subject, o.Attribute) {
		return oxbow.Replaces
	}
	if !same && n.Type == oxbow.VersionValue && o.Type == oxbow.VersionValue && unit(n) == unit(o) && o.Subject == "user" && !slices.ContainsFunc(strings.Fields(n.Subject), func(s string) bool { return !whole[s] }) {
		return oxbow.Replaces
	}
	if !same && o.Subject == "user" {
		lemma, _, _ := strings.Cut(o.Attribute, " ")
		same = n.Subject == singleStem(lemma) || attributeNouns[n.Subject] == o.Attribute || subset(strings.Fields(n.Subject), strings.Fields(o.Value))
	}
	if !same {
		return ""
	}
	if n.Subject == "user" && o.Subject == "user" && p.purpose(n, o) {
		return oxbow.Replaces
	}
	if n.Subject != o.Subject && o.Value == n.Subject && len(parts(o)) == 1 {
		return oxbow.Replaces // do our accounting in spreadsheets
	}
	if (n.Type == o.Type || nameLike(n) && nameLike(o)) && unit(n) == unit(o) && unit(n) != "" && (n.Subject != "user" || has(o, qualOne) || n.Type == oxbow.ToolValue || strings.Count(unit(n), " ") > 1) {
		return oxbow.Replaces
	}
	return ""
}

// purpose tells whether what was changed is what the older statement does with
// another thing: switched to Craft for taking notes, takes notes in Bear.
func (p pair) purpose(n, o oxbow.Detail) bool {
	q := parts(n)
	if len(q) != 1 || len(parts(o)) != 1 || !strings.HasPrefix(q[0], "for ") {
		return false
	}
	lemma, _, _ := strings.Cut(o.Attribute, " ")
	return subset(strings.Fields(q[0])[1:], append(strings.Fields(o.Value), singleStem(lemma))) && o.Value != ""
}

// partOf tells whether a subject is an attribute of another one: the topic of
// the thesis.
func partOf(subject, of, attribute string) bool {
	for _, w := range strings.Fields(subject) {
		if attributeNouns[w] != attribute {
			continue
		}
		rest := slices.DeleteFunc(strings.Fields(subject), func(x string) bool { return x == w })
		if strings.Join(rest, " ") == of {
			return true
		}
	}
	return false
}

// attributeOfThings are the attributes that a noun may name: the parrot's name.
var attributeOfThings = set("name", "price", "age", "topic", "when", "place", "lasts", "weighs")

// attributeNouns name an attribute that may have changed.
var attributeNouns = map[string]string{"major": "field", "subject": "field", "job": "employer", "employ": "employer", "bank": "bank", "school": "school", "univers": "school", "name": "name", "address": "home", "compani": "employer", "team": "team", "topic": "topic", "price": "price", "cost": "price", "fee": "price", "age": "age", "weight": "weighs", "durat": "lasts", "length": "lasts", "locat": "place", "venu": "place", "owner": "owner", "assigne": "assignee", "home": "home"}

// otherPart tells whether both statements name a time, a place or a purpose of
// their own for the same thing: by day and at night, on Saturdays.
func (p pair) otherPart() bool {
	if scenes(p.n, p.o) {
		return false
	}
	ns, os := p.nd(), p.od()
	if len(ns) != 1 || len(os) != 1 || ns[0].Subject != os[0].Subject {
		return false
	}
	a, b := timed(parts(ns[0])), timed(parts(os[0]))
	return len(a) > 0 && len(common(a, b)) < min(len(a), max(1, len(b)))
}

// otherThing tells whether two statements say one thing each, of subjects that
// one word of their names tells apart: the viper pool, the ferret pool.
func (p pair) otherThing() bool {
	if scenes(p.n, p.o) {
		return false
	}
	ns, os := p.nd(), p.od()
	if len(ns) != 1 || len(os) != 1 {
		return false
	}
	a, b := strings.Fields(ns[0].Subject), strings.Fields(os[0].Subject)
	if ns[0].Attribute != os[0].Attribute || len(a) < 2 || len(a) != len(b) || len(common(a, b)) != len(a)-1 {
		return false
	}
	return !stemOpposites[lacking(a, b)[0]][lacking(b, a)[0]] // everyone, nobody
}

// timed leaves the parts that say when, where or for what.
func timed(parts []string) []string {
	return slices.DeleteFunc(parts, func(q string) bool {
		switch prep, _, _ := strings.Cut(q, " "); prep {
		case "on", "at", "in", "during", "for", "per", "when", "while":
			return false
		}
		return true
	})
}
