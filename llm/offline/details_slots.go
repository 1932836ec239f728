package offline

import (
	"slices"
	"strings"

	"github.com/oxbow-memory/oxbow"
)

// details gives the typed details of a clause.
func (k *clause) details(c *claim) []oxbow.Detail {
	if d, ok := k.holder(); ok {
		return []oxbow.Detail{d}
	}
	if d, ok := k.ending(); ok {
		return []oxbow.Detail{d}
	}
	switch {
	case k.lemma == "stand" && k.denied:
		k.lemma = "like"
	case likings[k.lemma] < 0:
		k.lemma, k.denied = "like", !k.denied
	case likings[k.lemma] > 0:
		k.lemma = "like"
	}
	if changeVerbs[k.lemma] {
		if ds := k.change(c); len(ds) > 0 {
			return ds
		}
	}
	return k.plain(c)
}

// plain reads a clause by its verb, with the preposition behind it.
func (k *clause) plain(c *claim) []oxbow.Detail {
	if k.subject == "there" {
		return k.thereIs(c)
	}
	subject, lemma := k.subject, k.lemma
	ways := []string{}
	var value []word
	tails := k.tails
	switch {
	case len(k.object) == 0 && len(tails) > 0:
		t := tails[0]
		value, tails = t.words, tails[1:]
		if ty, _, class := c.valueOf(value, "when"); (ty == oxbow.TimeValue || ty == oxbow.DateValue) && class != "" && t.prep != "until" && t.prep != "till" && t.prep != "for" && t.prep != "by" && t.prep != "every" {
			ways = append(ways, lemma+" when")
		}
		if len(value) > 0 && strings.Contains(value[0].low, "@") {
			ways = append(ways, lemma+" to mail")
		}
		prep := t.prep
		if prep == "till" {
			prep = "until"
		}
		ways = append(ways, lemma+" "+prep)
	case len(k.object) > 0:
		value = k.object
		ways = append(ways, k.objectWays(c, &subject, &value, &tails)...)
	default:
		ways = append(ways, lemma)
	}
	r := relation{attribute: ways[len(ways)-1]}
	for _, w := range ways {
		if known, ok := relations[w]; ok {
			r = known
			break
		}
	}
	return k.detail(c, subject, r, value, tails)
}

// objectWays names what an object directly behind the verb may be a value of.
func (k *clause) objectWays(c *claim, subject *string, value *[]word, tails *[]tail) []string {
	o := k.object
	if k.lemma == "be" && (o[0].low == "called" || o[0].low == "named") {
		*value = o[1:]
		return []string{"name"}
	}
	if k.subject == "agent" {
		return k.orderWays(subject, value, tails)
	}
	switch ty, _, class := c.valueOf(o, "when"); {
	case k.lemma == "be" && (o[0].low == "a" || o[0].low == "an"):
		if _, _, class := c.valueOf(o, "job"); strings.HasPrefix(class, "occupation") {
			return []string{"be a"}
		}
		return []string{"is a"}
	case k.lemma == "be" && (ty == oxbow.TimeValue || ty == oxbow.DateValue) && class != "":
		return []string{"be when"}
	case k.lemma == "be" && o[len(o)-1].low == "old" && ty == oxbow.NumberValue:
		*value = o[:1]
		return []string{"be aged"}
	case k.lemma == "be" && len(o) == 1 && len(k.tails) > 0 && (k.tails[0].prep == "to" || k.tails[0].prep == "in" || k.tails[0].prep == "of" || k.tails[0].prep == "with") && ty == oxbow.WordValue && class == "":
		*value, *tails = k.tails[0].words, k.tails[1:]
		return []string{adjective(o[0].low + " " + k.tails[0].prep)}
	case k.lemma == "be":
		return []string{"is"}
	case k.lemma == "take" && ty == oxbow.NumberValue && times[strings.TrimSuffix(o[len(o)-1].low, ".")]:
		return []string{"take time"}
	case k.lemma == "have" || k.lemma == "contain" || k.lemma == "hold" || k.lemma == "include":
		return []string{k.lemma + " object", "have"}
	case len(k.tails) > 0 && k.tails[0].prep == "to" && giving[k.lemma]:
		*subject = strings.Join(sortedStems(o), " ")
		*value, *tails = k.tails[0].words, k.tails[1:]
		return []string{k.lemma + " to"}
	}
	return []string{k.lemma}
}

// adjective gives the attribute that an adjective with its preposition names.
func adjective(s string) string {
	if s == "fluent in" {
		return "speak"
	}
	return s
}

// likings are the verbs of liking (1) and of not liking (-1).
var likings = map[string]int{"like": 1, "love": 1, "enjoy": 1, "hate": -1, "dislike": -1}

// giving verbs have a thing and somebody who gets it.
var giving = set("send", "ship", "deliver", "mail", "forward", "assign", "reassign", "hand", "address", "set", "deploy")

// orderWays reads what the agent is told to do.
func (k *clause) orderWays(subject *string, value *[]word, tails *[]tail) []string {
	o := k.object
	if k.lemma == "call" && o[0].low == "me" && len(o) > 1 {
		*subject, *value = "user", o[1:]
		return []string{"name"}
	}
	if len(k.tails) > 0 && (k.tails[0].prep == "to" || k.tails[0].prep == "in") {
		if sts := sortedStems(o); len(sts) > 0 {
			*subject = "agent " + strings.Join(sts, " ")
		}
		t := k.tails[0]
		*value, *tails = t.words, k.tails[1:]
		return []string{k.lemma + " " + t.prep}
	}
	return []string{k.lemma}
}

func sortedStems(ws []word) []string {
	s := stemsIn(ws)
	slices.Sort(s)
	return slices.Compact(s)
}

// thereIs reads "there are two beds in the room".
func (k *clause) thereIs(c *claim) []oxbow.Detail {
	if len(k.object) == 0 || len(k.tails) == 0 {
		return nil
	}
	subject := strings.Join(sortedStems(k.tails[0].words), " ")
	if subject == "" {
		return nil
	}
	return k.detail(c, subject, relation{attribute: "have"}, k.object, k.tails[1:])
}

// detail types the value and collects the qualifiers.
func (k *clause) detail(c *claim, subject string, r relation, value []word, tails []tail) []oxbow.Detail {
	ty, v, class := c.valueOf(value, r.attribute)
	if len(value) == 0 {
		r = relation{attribute: k.lemma}
	}
	if of, rest, _ := strings.Cut(class, " "); personal1[of] && (rest == "" || rest == "diet" || rest == "contract") && !k.denied {
		r = relation{attribute: of, one: true}
		v = singleStem(value[0].low)
	}
	if r.attribute == "every" && class == "weekday" {
		r = relations["be when"]
	}
	if v == "" && len(value) > 0 {
		return nil
	}
	d := oxbow.Detail{Subject: subject, Attribute: r.attribute, Value: v, Type: ty}
	if class != "" {
		d.Qualifiers = append(d.Qualifiers, "of "+strings.TrimSpace(class))
	}
	if k.denied {
		d.Qualifiers = append(d.Qualifiers, qualDenied)
	}
	if k.ended {
		d.Qualifiers = append(d.Qualifiers, qualEnded)
	}
	if r.one || k.identity(c, r, value, ty) {
		d.Qualifiers = append(d.Qualifiers, qualOne)
	}
	d.Qualifiers = append(d.Qualifiers, qualsOf(tails, len(d.Qualifiers))...)
	return []oxbow.Detail{d}
}

// personal1 are the classes of words of which somebody is only one, whatever the
// verb: works full-time, went part-time.
var personal1 = set("contract", "diet", "relief")

// identity tells whether "is" joins two names for one thing, or gives a single
// thing the value that it has: our dentist is Dr. Lind, the limit is 30.
func (k *clause) identity(c *claim, r relation, value []word, ty oxbow.DetailType) bool {
	if k.passive && len(value) > 0 && ty == oxbow.NameValue {
		return true // taught by, led by
	}
	if r.attribute != "is" {
		return false
	}
	return ty != oxbow.WordValue && k.name == "" && k.subject != "user" || strings.Contains(k.subject, "favourit") || strings.Contains(k.subject, "favorit") || strings.Contains(k.subject, "prefer")
}

// holder reads "Igor is our accountant": of the accountant, the name.
func (k *clause) holder() (oxbow.Detail, bool) {
	if k.lemma != "be" || len(k.object) < 2 || k.denied {
		return oxbow.Detail{}, false
	}
	o := k.object[0].low
	if o != "my" && o != "our" && o != "the" && o != "user" || k.name == "" {
		return oxbow.Detail{}, false
	}
	role, _ := subjectName(k.object)
	d := oxbow.Detail{Subject: role, Attribute: "is", Value: k.name, Type: oxbow.NameValue, Qualifiers: []string{"of name", qualOne}}
	d.Qualifiers = append(d.Qualifiers, qualsOf(k.tails, len(d.Qualifiers))...)
	return d, true
}

// endVerbs end what stands behind them, each with what it ends: a thing one
// has, or anything.
var endVerbs = map[string]string{"sell": "has", "sell_off": "has", "cancel": "any", "close": "has", "quit": "any", "stop": "any", "give_up": "any", "give_away": "has", "drop": "any", "drop_out": "any", "leave": "any", "lose": "has", "abandon": "any",
	"ditch": "any", "terminate": "any", "retire": "any", "remove": "any", "pay_off": "has", "pay_back": "has", "return": "has", "get_rid": "has", "scrap": "any", "shut_down": "any", "resign": "any", "donate": "has", "divorce": "any", "end": "any", "give": "", "throw_away": "has", "throw_out": "has"}

// thinObjects are words for what one has of a thing, which the older statement
// need not name.
var thinObjects = stems("account", "subscription", "membership", "contract", "whole", "collection", "all", "course", "lessons", "class", "classes", "job", "position", "habit", "diet", "service", "plan", "entire", "use", "using", "old", "school", "doing", "practice", "practising", "license", "policy", "rid", "team", "group")

// ending reads what came to an end: sold the Yamaha, dropped out of school.
func (k *clause) ending() (oxbow.Detail, bool) {
	if k.lemma == "die" || k.lemma == "pass_away" {
		return oxbow.Detail{Subject: k.subject, Attribute: "exists", Type: oxbow.WordValue, Value: "no", Qualifiers: []string{qualEnded}}, !k.denied
	}
	if endVerbs[k.lemma] == "" {
		return oxbow.Detail{}, false
	}
	o := k.object
	if len(o) == 0 || k.lemma == "get_rid" {
		if len(k.tails) == 0 || k.tails[0].prep != "of" && k.tails[0].prep != "from" && k.tails[0].prep != "with" {
			if k.passive {
				return oxbow.Detail{Subject: k.subject, Attribute: "exists", Type: oxbow.WordValue, Value: "no", Qualifiers: []string{qualEnded}}, true
			}
			return oxbow.Detail{}, false
		}
		o = k.tails[0].words
	}
	if k.denied && !k.ended {
		return oxbow.Detail{}, false
	}
	var kept []string
	for _, s := range endedStems(o) {
		if !thinObjects[s] && s != "and" && s != "our" && s != "us" {
			kept = append(kept, s)
		}
	}
	if len(kept) == 0 {
		return oxbow.Detail{}, false
	}
	return oxbow.Detail{Subject: k.subject, Attribute: "ended", Value: strings.Join(kept, " "), Type: oxbow.WordValue, Qualifiers: []string{qualEnded}}, true
}

// endedStems gives the stems of an object up to "of", which may follow it.
func endedStems(ws []word) []string {
	var out []string
	for _, w := range ws {
		if s := singleStem(w.low); !determiners[w.low] && !punctuation(w.low) && w.low != "of" && w.low != "away" && w.low != "user" {
			out = append(out, s)
		}
	}
	return out
}

// changeVerbs give a thing another value, which stands behind "to".
var changeVerbs = set("switch", "move", "change", "convert", "migrate", "raise", "lower", "increase", "reduce", "cut", "extend", "shorten", "postpone", "delay", "push", "reschedule", "rebook", "shift", "bump", "upgrade", "update", "downgrade", "rename", "relocate",
	"transfer", "go_up", "go_down", "go_back", "rise", "grow", "swap", "replace", "set", "reassign", "cut_down", "dye", "paint", "push_back", "move_over", "switch_over", "renew", "bring", "turn", "promote", "hand", "hand_over", "trade_in", "trade")

// change reads what has which value from now on.
func (k *clause) change(c *claim) []oxbow.Detail {
	if k.denied {
		return nil
	}
	var to []word
	subject := k.subject
	what := k.object
	var rest []tail
	for _, t := range k.tails {
		switch {
		case (t.prep == "to" || t.prep == "into" || t.prep == "onto" || t.prep == "until") && to == nil:
			to = t.words
		case (t.prep == "for" || t.prep == "with") && to == nil && (k.lemma == "swap" || k.lemma == "replace" || k.lemma == "trade" || k.lemma == "trade_in"):
			to = t.words
		default:
			rest = append(rest, t)
		}
	}
	if n := len(what); n > 1 && (k.lemma == "dye" || k.lemma == "paint") && colours[what[n-1].low] {
		to, what = what[n-1:], what[:n-1]
	}
	if len(to) == 0 {
		return nil
	}
	sts := slices.DeleteFunc(sortedStems(what), func(s string) bool { return s == "role" || s == "number" })
	if len(sts) > 0 {
		subject = strings.Join(sts, " ")
	}
	r := relation{attribute: "changed", one: true}
	switch {
	case k.lemma == "rename":
		r.attribute = "name"
	case len(sts) == 0 && subject == "user" && (k.lemma == "move" || k.lemma == "relocate"):
		if ty, _, _ := c.valueOf(to, "home"); ty == oxbow.PlaceValue {
			r.attribute = "home"
		}
	case k.lemma == "promote":
		r.attribute = "job"
	}
	rest = slices.DeleteFunc(rest, func(t tail) bool {
		_, dated := c.dayOf(t.words)
		return len(t.words) == 0 || dated || t.words[0].low == "last" || months[t.words[0].low] > 0
	})
	return k.detail(c, subject, r, to, rest)
}

// qualsOf gives the tails that narrow a change: in which part, for whom. Where
// it came from, and why, narrow nothing.
func qualsOf(ts []tail, have int) []string {
	var out []string
	for _, t := range ts {
		q := strings.Join(stemsIn(t.words), " ")
		if q == "" || t.prep == "from" || t.prep == "because" || t.prep == "after" || t.prep == "since" || have+len(out) >= oxbow.MaxQualifiers {
			continue
		}
		out = append(out, t.prep+" "+q)
	}
	return out
}
