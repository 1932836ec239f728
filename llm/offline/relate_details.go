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
	if p.pictures() || contrast(p.n, p.o) || p.n.has(alsoPhrases...) {
		return ""
	}
	ns, os := p.nd(), p.od()
	if len(os) == 0 || len(os) > 1 && len(ns) == 0 {
		return ""
	}
	unsure := false
	for _, n := range ns {
		for _, o := range os {
			r := p.compare(n, o)
			if (r == oxbow.Replaces || r == oxbow.Contradicts) && len(os) > 1 {
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
	}
	if n.Subject != o.Subject || !narrows(n, o) {
		return ""
	}
	if o.Value == "" && has(o, qualDenied) && !has(n, qualDenied) && strings.HasPrefix(n.Attribute+" ", o.Attribute+" ") {
		return oxbow.Contradicts
	}
	if n.Attribute != o.Attribute && !(n.Attribute == "is" && o.Attribute == "changed") {
		return ""
	}
	denied := has(n, qualDenied) != has(o, qualDenied)
	switch {
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

// otherDetail decides on two values of one attribute of one subject.
func (p pair) otherDetail(n, o oxbow.Detail) oxbow.Relation {
	now := p.n.has(nowPhrases...)
	one := has(n, qualOne) && has(o, qualOne)
	if unit(n) != unit(o) || n.Type != o.Type && !(one && nameLike(n) && nameLike(o)) {
		return ""
	}
	switch {
	case n.Attribute == "is" && stemOpposites[n.Value][o.Value]:
		return oxbow.Contradicts
	case contains(n.Value, o.Value):
		return "" // a part, or a fuller name, of the same
	case n.Attribute == "home" && regions[n.Value] != regions[o.Value]:
		return ""
	case n.Type == oxbow.NumberValue || n.Type == oxbow.TimeValue || n.Type == oxbow.DateValue || n.Type == oxbow.VersionValue || n.Type == oxbow.ContactValue:
		if event(n.Attribute) && !one {
			return ""
		}
		return oxbow.Replaces
	case one && unit(n) != "":
		return oxbow.Replaces
	case n.Attribute == "is" && now && coded(n.Subject):
		return oxbow.Replaces
	case unit(n) != "" && !manyVerbs[n.Attribute] && now, one && now && n.Attribute != "is":
		return oxbow.Replaces
	}
	return ""
}

// coded tells whether a subject is a thing whose value is any word.
func coded(subject string) bool {
	return len(common(strings.Fields(subject), codeNouns)) > 0
}

var codeNouns = []string{"password", "passphras", "pin", "code", "usernam", "login", "nicknam", "titl", "address", "handl", "hashtag", "slogan", "motto", "password"}

func nameLike(d oxbow.Detail) bool {
	return d.Type == oxbow.NameValue || d.Type == oxbow.PlaceValue || d.Type == oxbow.EmployerValue || d.Type == oxbow.ToolValue
}

// onceVerbs are what is done once, with a value of its own each time.
var onceVerbs = set("buy", "pay", "visit", "release", "spend", "find", "fix", "earn", "see", "read", "watch", "meet", "sell", "donate", "break", "run", "eat", "drink", "win", "lose", "save", "write", "order", "play", "walk", "swim", "send", "pass", "fail", "bring", "call", "email", "merge", "ship", "publish")

func event(attribute string) bool {
	lemma, prep, _ := strings.Cut(attribute, " ")
	return prep != "for" && onceVerbs[lemma]
}

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
		if q == qualDenied || q == qualEnded || q == qualOne || strings.HasPrefix(q, "of ") || strings.HasPrefix(q, "since ") || strings.HasPrefix(q, "because ") {
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
	if has(o, qualDenied) || n.Subject != o.Subject && n.Subject != "user" && o.Attribute != "owner" || event(o.Attribute) || o.Attribute == "is a" && p.o.person {
		return ""
	}
	gone := strings.Fields(n.Value)
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
	for _, q := range parts(o) {
		have = append(have, strings.Fields(q)[1:]...)
	}
	if len(have) == 0 || !subset(gone, have) {
		return ""
	}
	return oxbow.Replaces
}

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
	if has(o, qualDenied) || event(o.Attribute) || n.Value == o.Value || contains(n.Value, o.Value) || !narrows(n, o) {
		return ""
	}
	same := n.Subject == o.Subject
	if !same && o.Subject == "user" {
		lemma, _, _ := strings.Cut(o.Attribute, " ")
		same = n.Subject == singleStem(lemma) || attributeNouns[n.Subject] == o.Attribute || subset(strings.Fields(n.Subject), strings.Fields(o.Value))
	}
	if !same {
		return ""
	}
	if (n.Type == o.Type || nameLike(n) && nameLike(o)) && unit(n) == unit(o) && unit(n) != "" && (n.Subject != "user" || has(o, qualOne) || n.Type == oxbow.ToolValue || strings.Count(unit(n), " ") > 1) {
		return oxbow.Replaces
	}
	return ""
}

// attributeNouns name an attribute of the user that may have changed.
var attributeNouns = map[string]string{"major": "field", "subject": "field", "job": "employer", "employ": "employer", "bank": "bank", "school": "school", "univers": "school", "name": "name", "address": "home", "compani": "employer", "team": "team"}

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
