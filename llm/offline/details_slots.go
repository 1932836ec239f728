package offline

import (
	"slices"
	"strconv"
	"strings"

	"github.com/oxbow-memory/oxbow"
)

// details gives the typed details of a clause.
func (k *clause) details(c *claim) []oxbow.Detail {
	if d, ok := k.holder(); ok {
		return []oxbow.Detail{d}
	}
	if d, ok := k.ending(c); ok {
		return []oxbow.Detail{d}
	}
	switch {
	case k.lemma == "stand" && k.denied:
		k.lemma = "like"
	case likings[k.lemma] < 0:
		k.lemma, k.denied = "like", !k.denied
	case likings[k.lemma] > 0:
		k.lemma = "like"
	case acquiring[k.lemma] && len(k.object) > 0 && !k.passive:
		k.lemma, k.past = "have", false
	}
	if k.lemma == "use" && k.passive && len(k.object) == 0 && len(k.tails) > 0 && k.tails[0].prep == "for" {
		return k.detail(c, strings.Join(sortedStems(k.tails[0].words), " "), relation{attribute: "used for", one: true}, k.actor, k.tails[1:])
	}
	if (k.lemma == "hire" || k.lemma == "appoint" || k.lemma == "promote") && len(k.object) == 1 && k.object[0].low == "me" && len(k.tails) > 0 && (k.tails[0].prep == "as" || k.tails[0].prep == "to") {
		return k.detail(c, "user", relation{"job", true}, k.tails[0].words, nil)
	}
	if r, ok := relations[k.lemma+" by"]; ok && r.attribute == "teacher" && !k.passive && k.name != "" && len(k.object) > 0 && !k.denied {
		return k.detail(c, strings.Join(sortedStems(k.object), " "), r, k.actor, k.tails)
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
	var rate []oxbow.Detail
	tails := k.tails
	if rest, n, unit := often(k.object); n != "" {
		k.object = rest
		rate = append(rate, oxbow.Detail{Subject: subject, Attribute: "how often " + lemma + " " + strings.Join(stemsIn(rest), " "), Value: n, Type: oxbow.NumberValue, Qualifiers: []string{"of " + unit, qualOne, qualAside}})
	} else if i := len(k.tails) - 1; i >= 0 {
		if rest, n, unit := often(k.tails[i].words); n != "" {
			k.tails[i].words = rest
			tails = k.tails
			rate = append(rate, oxbow.Detail{Subject: subject, Attribute: "how often " + lemma + " " + strings.Join(stemsIn(rest), " "), Value: n, Type: oxbow.NumberValue, Qualifiers: []string{"of " + unit, qualOne, qualAside}})
		}
	}
	if at := strings.Fields(subject); len(at) > 1 && lemma == "be" {
		for i, w := range at {
			if a := attributeNouns[w]; a != "" && attributeOfThings[a] {
				subject = strings.Join(slices.Delete(at, i, i+1), " ")
				value := k.object
				tails := k.tails
				if len(value) == 0 && len(tails) > 0 {
					value, tails = tails[0].words, tails[1:]
				}
				return k.detail(c, subject, relation{a, true}, value, tails)
			}
		}
	}
	ways := []string{}
	var value []word
	switch {
	case len(k.object) == 0 && len(tails) > 0:
		t := tails[0]
		if lemma == "live" && len(tails) > 1 && (tails[1].prep == "in" || tails[1].prep == "near") && !capitalised(lastRaw(t.words)) && capitalised(lastRaw(tails[1].words)) {
			t, tails = tails[1], tails[1:] // in a flat in Leipzig
		}
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
	if r.attribute == "go to" && len(value) > 0 && !strings.Contains(value[0].low, "@") {
		r = k.destination(value)
		ways = nil
	}
	for _, w := range ways {
		if known, ok := relations[w]; ok {
			r = known
			break
		}
	}
	out := k.detail(c, subject, r, value, tails)
	if !k.denied {
		out = append(out, k.keptWhere(c, tails)...)
	}
	if len(out) == 1 && !k.denied && out[0].Type == oxbow.DateValue {
		for _, d := range k.aside(c, out[0], tails) {
			if d.Type == oxbow.TimeValue { // on Thursday at 19:00
				d.Attribute, d.Qualifiers = "time of "+out[0].Attribute, append(d.Qualifiers, qualOne)
				out = append(out, d)
			}
		}
	} else if len(out) == 1 && !k.denied && out[0].Type != oxbow.TimeValue {
		out = append(out, k.aside(c, out[0], tails)...)
	}
	return append(out, rate...)
}

// keptWhere reads of the docs where they are written, from "we write the docs in
// Notion".
func (k *clause) keptWhere(c *claim, tails []tail) []oxbow.Detail {
	if k.subject != "user" || len(k.object) == 0 || len(tails) == 0 || tails[0].prep != "in" && tails[0].prep != "on" && tails[0].prep != "with" && tails[0].prep != "at" {
		return nil
	}
	r, known := relations[k.lemma+" "+tails[0].prep]
	subject := strings.Join(sortedStems(k.object), " ")
	if !known || !r.one || subject == "" {
		return nil
	}
	ds := k.detail(c, subject, r, tails[0].words, tails[1:])
	for i := range ds {
		ds[i].Qualifiers = append(ds[i].Qualifiers, qualAside)
	}
	return ds
}

// often takes "three times a week" out of words.
func often(ws []word) (rest []word, times, unit string) {
	for i, w := range ws {
		n, to := 0, i+1
		switch {
		case w.low == "once":
			n = 1
		case w.low == "twice":
			n = 2
		case i+1 < len(ws) && ws[i+1].low == "times":
			n, to = counts[w.low], i+2
			if v, err := strconv.Atoi(w.low); err == nil {
				n = v
			}
		}
		if n == 0 || to+1 >= len(ws) || !determiners[ws[to].low] || !lengths[singleStem(ws[to+1].low)] {
			continue
		}
		return append(slices.Clone(ws[:i]), ws[to+2:]...), strconv.Itoa(n), singleStem(ws[to+1].low)
	}
	return ws, "", ""
}

// schoolWords are in the names of schools.
var schoolWords = set("school", "university", "college", "academy", "kindergarten", "gymnasium", "lyceum", "institute")

// destination tells going to a school, by somebody, from going anywhere.
func (k *clause) destination(value []word) relation {
	person := k.subject == "user" || k.name != "" || slices.ContainsFunc(k.actor, func(w word) bool { return kin[w.low] })
	switch {
	case slices.ContainsFunc(value, func(w word) bool { return schoolWords[w.low] }), person && k.subject != "user" && len(value) > 0 && capitalised(value[0].raw):
		return relation{"school", true}
	case person:
		return relation{attribute: "go to"}
	}
	return relation{"destination", true}
}

// aside reads the time at which something is said to be done: to bed at ten.
func (k *clause) aside(c *claim, d oxbow.Detail, tails []tail) []oxbow.Detail {
	for _, t := range tails {
		ty, v, class := c.valueOf(t.words, "when")
		if (ty != oxbow.TimeValue && ty != oxbow.DateValue) || class == "" || t.prep != "at" && t.prep != "on" {
			continue
		}
		return []oxbow.Detail{{Subject: d.Subject, Attribute: "when " + d.Attribute + " " + d.Value, Value: v, Type: ty, Qualifiers: []string{"of " + class, qualAside}}}
	}
	return nil
}

func lastRaw(ws []word) string {
	if len(ws) == 0 {
		return ""
	}
	return ws[len(ws)-1].raw
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
	case k.lemma == "be" && len(o) > 1 && o[len(o)-1].low == "'s":
		*value = o[:len(o)-1]
		return []string{"own by"}
	case k.lemma == "be" && len(o) == 1 && ty == oxbow.NumberValue && class == "" && slices.ContainsFunc(k.actor, func(w word) bool { return kin[w.low] }):
		return []string{"be aged"}
	case k.lemma == "be" && len(o) == 1 && o[0].low == "free" && k.subject != "user" && k.name == "" && len(k.tails) == 0:
		*value = []word{{raw: "0", low: "0"}, {raw: "euros", low: "euros"}}
		return []string{"cost"}
	case k.lemma == "be" && (o[0].low == "mine" || o[0].low == "ours") && len(o) == 1:
		*value = []word{{raw: "user", low: "user"}}
		return []string{"be owned by", "own by"}
	case k.lemma == "be" && o[len(o)-1].low == "long" && ty == oxbow.NumberValue:
		*value = o[:len(o)-1]
		return []string{"be long"}
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
	case k.lemma == "have" && ty == oxbow.NumberValue && len(k.actor) > 0 && k.past:
		return []string{"got object"}
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

// acquiring verbs end in having.
var acquiring = set("own", "get", "buy", "adopt", "acquire", "inherit", "possess", "purchase")

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
	if r.attribute == "owner" && ty == oxbow.NumberValue {
		ty, v, class = c.nameOf(value, r.attribute)
	}
	if len(value) == 0 {
		r = relation{attribute: k.lemma}
	}
	if of, rest, _ := strings.Cut(strings.TrimSpace(class), " "); personal1[of] && (rest == "" || rest == "diet" || rest == "contract") && !k.denied {
		r, tails = relation{attribute: of, one: true}, nil
		v = siblingIn(value, of)
	}
	if r.attribute == "every" && class == "length" {
		class = "frequency"
	}
	if strings.TrimSpace(class) == "frequency" {
		r = relation{attribute: k.lemma + " frequency", one: true}
	}
	if len(value) > 1 && class == "" && !k.denied && contractNouns[value[len(value)-1].low] {
		for _, w := range value {
			if siblings[w.low] == "contract" {
				r, v, class, tails = relation{"contract", true}, singleStem(w.low), "contract", nil
			}
		}
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
	if r.attribute == "use" && subject == "agent" && class != "" && siblings[value[0].low] != "" {
		r.one = true
	}
	if k.past && onceVerbs[k.lemma] {
		d.Qualifiers = append(d.Qualifiers, qualOnce)
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

// siblingIn gives the word of a class.
func siblingIn(ws []word, class string) string {
	for _, w := range ws {
		if siblings[w.low] == class {
			return singleStem(w.low)
		}
	}
	return ""
}

var contractNouns = set("job", "position", "contract", "role", "basis", "post", "employment")

// identity tells whether "is" joins two names for one thing, or gives a single
// thing the value that it has: our dentist is Dr. Lind, the limit is 30.
func (k *clause) identity(c *claim, r relation, value []word, ty oxbow.DetailType) bool {
	if k.passive && len(value) > 0 && ty == oxbow.NameValue {
		return true // taught by, led by
	}
	if r.attribute != "is" {
		return false
	}
	if colours[lastOf(value)] && len(value) == 1 && k.name == "" && k.subject != "user" || strings.Contains(k.subject, "default") {
		return true
	}
	return (ty != oxbow.WordValue || siblings[lastOf(value)] != "") && k.name == "" && k.subject != "user" || strings.Contains(k.subject, "favourit") || strings.Contains(k.subject, "favorit") || strings.Contains(k.subject, "prefer")
}

func lastOf(ws []word) string {
	if len(ws) == 0 {
		return ""
	}
	return ws[len(ws)-1].low
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
	"ditch": "any", "terminate": "any", "retire": "any", "remove": "any", "move_out": "has", "pay_off": "has", "pay_back": "has", "return": "has", "get_rid": "has", "scrap": "any", "shut_down": "any", "resign": "any", "donate": "has", "divorce": "any", "end": "any", "fire": "any", "discharge": "any", "dismiss": "any", "lay_off": "any", "revoke": "has", "withdraw": "has", "suspend": "has", "confiscate": "has", "demolish": "has", "steal": "has", "tear_down": "has", "close_down": "has", "throw_away": "has", "throw_out": "has"}

// thinObjects are words for what one has of a thing, which the older statement
// need not name.
var thinObjects = stems("account", "subscription", "membership", "contract", "whole", "collection", "all", "course", "lessons", "class", "classes", "job", "position", "habit", "diet", "service", "plan", "entire", "use", "using", "old", "school", "doing", "practice", "practising", "license", "policy", "rid", "team", "group", "house", "flat", "apartment", "place", "home", "room")

// ending reads what came to an end: sold the Yamaha, dropped out of school.
func (k *clause) ending(c *claim) (oxbow.Detail, bool) {
	if k.lemma == "retire" && len(k.tails) == 0 && (len(k.object) == 0 || k.object[0].low == "last") {
		return oxbow.Detail{Subject: k.subject, Attribute: "job", Value: "retired", Type: oxbow.WordValue, Qualifiers: []string{"of occupation", qualOne}}, !k.denied
	}
	over := k.lemma == "be" && len(k.object) == 1 && (k.object[0].low == "gone" || k.object[0].low == "over") || k.lemma == "expire" && k.past && len(k.object)+len(k.tails) == 0 || k.lemma == "go" && k.passive
	if k.lemma == "die" || k.lemma == "pass_away" || over {
		return oxbow.Detail{Subject: k.subject, Attribute: "exists", Type: oxbow.WordValue, Value: "no", Qualifiers: []string{qualEnded}}, !k.denied
	}
	o := k.object
	var rest []tail
	switch {
	case k.lemma == "give" && len(o) > 0 && len(k.tails) == 1 && k.tails[0].prep == "to":
	case k.denied && k.ended && having[k.lemma] && len(o) > 0:
		rest = k.tails
	case endVerbs[k.lemma] == "" || k.denied && !k.ended:
		return oxbow.Detail{}, false
	default:
		rest = k.tails
		if trades[k.lemma] {
			rest = slices.DeleteFunc(slices.Clone(rest), func(t tail) bool { return t.prep == "for" })
		}
	}
	if len(o) == 0 {
		if len(k.tails) == 0 || k.tails[0].prep != "of" && k.tails[0].prep != "from" && k.tails[0].prep != "with" {
			if k.passive {
				return oxbow.Detail{Subject: k.subject, Attribute: "exists", Type: oxbow.WordValue, Value: "no", Qualifiers: []string{qualEnded}}, true
			}
			return oxbow.Detail{}, false
		}
		o, rest = k.tails[0].words, k.tails[1:]
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
	return oxbow.Detail{Subject: k.subject, Attribute: "ended", Value: strings.Join(kept, " "), Type: oxbow.WordValue, Qualifiers: append([]string{qualEnded}, qualsOf(undated(c, rest), 1)...)}, true
}

// trades are the verbs of giving up one thing for another.
var trades = set("give_up", "leave", "drop", "quit", "sell", "ditch")

// having are the verbs of having and using: what is no longer needed is no
// longer worn.
var having = set("need", "use", "have", "own", "wear", "take", "drive", "ride", "keep", "rent")

// undated leaves out what only says when, and a reason.
func undated(c *claim, ts []tail) []tail {
	return slices.DeleteFunc(slices.Clone(ts), func(t tail) bool {
		if len(t.words) == 0 || t.prep == "from" || t.prep == "to" || t.prep == "for" && len(t.words) > 0 && capitalised(t.words[0].raw) || t.words[0].low == "last" || t.words[0].low == "good" || months[t.words[0].low] > 0 {
			return true
		}
		_, dated := c.dayOf(t.words)
		return dated
	})
}

// endedStems gives the stems of an object up to "of", which may follow it.
func endedStems(ws []word) []string {
	var out []string
	for i, w := range ws {
		if i > 0 && (w.low == "last" || w.low == "ago" || w.low == "yesterday" || counts[w.low] > 1 || hasDigit(w.low)) {
			break
		}
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
	for i, t := range k.tails {
		switch {
		case t.prep == "to" && to == nil && i+1 < len(k.tails) && k.tails[i+1].prep == "to":
			what = append(slices.Clone(what), t.words...)
		case (t.prep == "to" || t.prep == "into" || t.prep == "onto" || t.prep == "until") && to == nil:
			to = t.words
		case (t.prep == "for" || t.prep == "with") && to == nil && (k.lemma == "swap" || k.lemma == "replace" || k.lemma == "trade" || k.lemma == "trade_in"):
			to = t.words
		default:
			rest = append(rest, t)
		}
	}
	if len(k.tails) > 0 && k.tails[0].prep == "with" && k.lemma == "move" && len(what) == 0 {
		return []oxbow.Detail{{Subject: subject, Attribute: "home", Value: "with " + strings.Join(stemsIn(k.tails[0].words), " "), Type: oxbow.PlaceValue, Qualifiers: []string{"of name", qualOne}}}
	}
	if k.lemma == "replace" && len(to) == 0 && len(what) > 0 && !k.passive {
		return []oxbow.Detail{ended("user", what)}
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
	case len(sts) == 0 && k.lemma == "move" && slices.ContainsFunc(k.actor, func(w word) bool { return kin[w.low] }):
		r.attribute = "home"
	case k.lemma == "promote":
		r.attribute = "job"
	}
	ds := k.detail(c, subject, r, to, undated(c, rest))
	switch {
	case trading[k.lemma] && len(what) > 0:
		return append(ds, ended(k.subject, what))
	case len(k.tails) > 0 && k.tails[0].prep == "from" && len(what) == 0 && len(k.tails[0].words) > 0:
		return append(ds, ended(k.subject, k.tails[0].words))
	}
	return ds
}

// trading verbs give away their object for another thing.
var trading = set("swap", "replace", "trade", "trade_in", "exchange")

func ended(subject string, gone []word) oxbow.Detail {
	return oxbow.Detail{Subject: subject, Attribute: "ended", Value: strings.Join(sortedStems(gone), " "), Type: oxbow.WordValue, Qualifiers: []string{qualEnded, qualPlaced}}
}

// qualsOf gives the tails that narrow a change: in which part, for whom. Where
// it came from, and why, narrow nothing.
func qualsOf(ts []tail, have int) []string {
	var out []string
	for _, t := range ts {
		q := strings.Join(stemsIn(t.words), " ")
		if q == "" || t.prep == "for" && lengths[singleStem(lastOf(t.words))] || t.prep == "because" || t.prep == "after" || t.prep == "since" || have+len(out) >= oxbow.MaxQualifiers {
			continue
		}
		out = append(out, t.prep+" "+q)
	}
	return out
}
