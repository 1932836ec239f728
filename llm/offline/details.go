package offline

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
)

// maxClause bounds the words of a statement whose details are read: longer ones
// are stories.
const maxClause = 40

// The qualifiers that the reading adds to those of the words.
const (
	qualDenied = "denied"
	qualEnded  = "ended" // came to an end: sold, stopped, no longer
	qualOne    = "one"   // of the attribute there is one value at a time
	qualOnce   = "once"  // was done, and is over
	qualAside  = "aside" // said beside the point of the clause
	qualPlaced = "instead"
)

// clause is one finite verb with what belongs to it.
type clause struct {
	subject       string
	name          string // the proper name that the subject is, or ends with
	finite        int    // where the verb stands in the text when an auxiliary tells it, else -1
	actor         []word // the words of the subject
	lemma         string
	past          bool // in the simple past
	object        []word
	tails         []tail
	passive       bool
	denied, ended bool
}

// tail is a preposition and the words behind it.
type tail struct {
	prep  string
	words []word
}

// readDetails reads the typed details of a statement, at most as many as a
// memory keeps.
func readDetails(c *claim) []oxbow.Detail {
	if c.asked || len(c.words) > maxClause || len(c.words) == 0 {
		return nil
	}
	var out []oxbow.Detail
	out = append(out, insteadOf(c)...)
	subject, about := "", ""
	for _, ws := range splitClauses(c.words) {
		before := subject
		if about != "" && len(ws) > 1 && ws[0].low == "it" {
			before = about
		}
		k, ok := readClause(ws, before)
		if !ok {
			if d, ok := newValue(c, out, ws); ok {
				out = append(out, d)
			}
			continue
		}
		subject, about = k.subject, strings.Join(sortedStems(k.object), " ")
		for _, d := range k.details(c) {
			if d.Valid() && len(out) < oxbow.MaxDetails {
				out = append(out, d)
			}
		}
	}
	return out
}

// insteadOf reads what a statement says that something took the place of.
func insteadOf(c *claim) []oxbow.Detail {
	for i := 1; i+2 < len(c.words); i++ {
		if w, next := c.words[i].low, c.words[i+1].low; w == "instead" && next == "of" || w == "rather" && next == "than" {
			var gone []word
			for _, x := range c.words[i+2:] {
				if punctuation(x.low) || prepositions[x.low] || weekdays[x.low] > 0 {
					break
				}
				gone = append(gone, x)
			}
			if v := strings.Join(sortedStems(gone), " "); v != "" {
				return []oxbow.Detail{{Subject: "user", Attribute: "ended", Value: v, Type: oxbow.WordValue, Qualifiers: []string{qualEnded, qualPlaced}}}
			}
		}
	}
	return nil
}

// newValue reads the value behind a colon: she has a new number: 0161 555.
func newValue(c *claim, before []oxbow.Detail, ws []word) (oxbow.Detail, bool) {
	if len(before) == 0 || len(ws) > 5 {
		return oxbow.Detail{}, false
	}
	last := before[len(before)-1]
	if last.Attribute != "have" || !c.has("a new", "another") {
		return oxbow.Detail{}, false
	}
	t, v, class := c.valueOf(ws, "is")
	if class == "" {
		return oxbow.Detail{}, false
	}
	return oxbow.Detail{Subject: last.Subject, Attribute: "is", Value: v, Type: t, Qualifiers: []string{"of " + class, qualOne}}, true
}

// factives come before what they state: the test showed that.
var factives = set("showed", "shows", "confirmed", "found", "out", "learned", "learnt", "realised", "realized", "discovered", "decided")

// splitClauses parts a sentence where another finite verb begins to speak.
func splitClauses(ws []word) [][]word {
	var out [][]word
	from := 0
	for i, w := range ws {
		cut := false
		switch w.low {
		case ".":
			cut = i == 0 || !titles[ws[i-1].low]
		case ";", ":", "!", "(", ")", "\"":
			cut = true
		case "that":
			cut = i > 0 && factives[ws[i-1].low]
		case ",", "and", "but":
			if i+1 < len(ws) && w.low == "," && from == 0 && verbs[ws[0].low] == ws[0].low && ws[0].low != "" && verbs[ws[i+1].low] == ws[i+1].low && ws[i+1].low != "" && verbs[ws[0].low] != "" && verbs[ws[i+1].low] != "" {
				cut = true // an order after an order
				break
			}
			cut = w.low == "," && i+1 < len(ws) && ws[i+1].low == "not"
			for j := i + 1; j < min(len(ws), i+5) && !cut; j++ {
				if punctuation(ws[j].low) || j > i+1 && prepositions[ws[j].low] {
					break
				}
				cut = finite(ws[j].low) && !(j > i+1 && determiners[ws[j-1].low]) || j == i+1 && i+2 < len(ws) && pronouns[ws[from].low] == "user" && verbs[ws[j].low] == ws[j].low && (prepositions[ws[j+1].low] || determiners[ws[j+1].low])
			}
		}
		if cut {
			if i > from {
				out = append(out, ws[from:i])
			}
			from = i + 1
		}
	}
	if from < len(ws) {
		out = append(out, ws[from:])
	}
	return out
}

// titles come before names, with a full stop that ends nothing.
var titles = set("mr", "mrs", "ms", "dr", "prof", "st", "no")

func punctuation(s string) bool { return s == "" || !isWordRune([]rune(s)[0]) }

var determiners = set("the", "a", "an", "my", "our", "your", "his", "her", "their", "its", "this", "that", "these", "those", "'s", "each", "every", "all", "no", "any", "some", "both")

// finite tells whether a word is plainly a verb in a finite form.
func finite(w string) bool {
	l := verbs[w]
	return l != "" && l != w && !strings.HasSuffix(w, "ing") || w == "quit" || w == "cut" || w == "cost" || w == "set"
}

// pronouns stand for the user, or for nobody that could be told.
var pronouns = map[string]string{"i": "user", "we": "user", "user": "user", "users": "user", "they": "", "he": "", "she": "", "it": "", "you": "", "there": "there"}

// readClause reads one clause; before is the subject of the one before it.
func readClause(ws []word, before string) (clause, bool) {
	var k clause
	t := k.strip(ws)
	v := k.findVerb(t, before != "")
	if v < 0 {
		return k, false
	}
	k.subject, k.name = subjectName(t[:v])
	if v == 0 && before == "" && finite(t[0].low) {
		before = "user" // requires Node 20
	}
	k.actor = t[:v]
	form := t[v].low
	k.past = verbs[form] != "be" && verbs[form] != form && !strings.HasSuffix(form, "s") && !strings.HasSuffix(form, "ing")
	switch {
	case v == 0 && before != "":
		k.subject = before
	case v == 0 && verbs[t[0].low] == t[0].low:
		k.subject = "agent"
	case k.subject == "":
		k.subject = before
	}
	if k.subject == "" {
		return k, false
	}
	t = k.readVerb(t[v:])
	k.readRest(t)
	return k, true
}

// strip leaves out adverbs, auxiliaries and denials, which it notes.
func (k *clause) strip(ws []word) []word {
	var t []word
	k.finite = -1
	for i := 0; i < len(ws); i++ {
		w := ws[i].low
		if auxiliaries[w] && len(t) > 0 {
			for j := i + 1; j < min(len(ws), i+4); j++ {
				if verbs[ws[j].low] != "" {
					k.finite = ws[j].start
					break
				}
			}
		}
		next := ""
		if i+1 < len(ws) {
			next = ws[i+1].low
		}
		switch {
		case w == "no" && next == "longer":
			k.denied, k.ended = !k.denied, true
			i++
		case w == "any" && next == "more", w == "these" && next == "days", w == "from" && next == "now":
			i++
			if w == "from" {
				i++
			}
		case (w == "have" || w == "has" || w == "need" || w == "needs") && next == "to":
			i++
		case w == "not" || w == "never":
			k.denied = !k.denied
		case w == "no" && len(t) > 0 && verbs[t[len(t)-1].low] != "":
			k.denied = !k.denied
		case w == "this" && !(i+2 < len(ws) && ws[i+2].low == "'s") && (times[next] || next == "term" || next == "semester" || next == "season"):
			i++
		case adverbs[w] && !(w == "about" && len(t) > 0 && verbs[t[len(t)-1].low] == "be" && !hasDigit(next)), punctuation(w) && w != "'s", modals[w], w == "do" && i+1 < len(ws) && next == "not", w == "does", w == "did", w == "has" && verbs[next] != "" && next != verbs[next], w == "have" && (next == "been" || next == "had" || strings.HasSuffix(next, "ed") || strings.HasSuffix(next, "en")):
		default:
			t = append(t, ws[i])
		}
	}
	return t
}

var (
	auxiliaries = set("do", "does", "did", "not", "can", "could", "must", "may", "will", "shall", "never")
	modals      = set("can", "must", "may", "could", "will")
)

// findVerb gives the place of a clause's finite verb, -1 for none; continued
// tells that a clause came before, whose subject this one may share.
func (k *clause) findVerb(t []word, continued bool) int {
	if len(t) < 2 {
		return -1
	}
	if k.finite >= 0 {
		for i, w := range t {
			if w.start == k.finite {
				return i
			}
		}
	}
	if !continued && finite(t[0].low) && strings.HasSuffix(t[0].low, "s") && (capitalised(t[1].raw) || hasDigit(t[1].low) || determiners[t[1].low]) {
		return 0
	}
	if continued && verbs[t[0].low] != "" && (finite(t[0].low) || prepositions[t[1].low] || determiners[t[1].low]) {
		return 0
	}
	first := 0
	if t[0].low == "the" && len(t) > 2 {
		if _, ok := pronouns[t[1].low]; ok {
			first = 1
		}
	}
	if _, ok := pronouns[t[first].low]; ok && !(first+1 < len(t) && t[first+1].low == "'s") {
		for i := first + 1; i < min(len(t), first+3); i++ {
			if verbs[t[i].low] != "" {
				return i
			}
		}
		return -1
	}
	if l := verbs[t[0].low]; l == t[0].low && l != "" && !finite(t[1].low) && !laterBe(t) && (determiners[t[1].low] || t[1].low == "me" || t[1].low == "us" || len(t) > 2 && !verbLike(t, 1) && !verbLike(t, 2)) {
		return 0
	}
	for i := 1; i < len(t); i++ {
		if verbLike(t, i) {
			return i
		}
	}
	return -1
}

// laterBe tells whether a form of to be follows, so that the first word is a noun.
func laterBe(t []word) bool {
	for _, w := range t[1:] {
		if w.low == "if" || w.low == "when" || w.low == "that" || w.low == "which" {
			return false
		}
		if verbs[w.low] == "be" {
			return true
		}
	}
	return false
}

// verbLike tells whether word i is the finite verb of a clause that begins with
// a noun.
func verbLike(t []word, i int) bool {
	w := t[i].low
	l := verbs[w]
	if l == "" || determiners[t[i-1].low] || prepositions[t[i-1].low] || strings.HasSuffix(w, "ing") || capitalised(t[i].raw) {
		return false
	}
	if i+1 < len(t) {
		next := t[i+1].low
		if strings.HasSuffix(w, "ed") && modifier(t, i) {
			return false
		}
		if next == "'s" || l != "be" && l != "have" && l != "get" && verbs[next] != "" && !strings.HasSuffix(next, "ing") && (finite(next) || strings.HasSuffix(w, "s")) {
			return false
		}
	}
	return finite(w) || l == w && strings.HasSuffix(t[i-1].low, "s") && t[i-1].low != "'s"
}

// modifier tells whether the participle at i stands before the noun that the
// clause is about: the supported version is.
func modifier(t []word, i int) bool {
	for j := i + 1; j < min(len(t), i+5); j++ {
		if prepositions[t[j].low] || determiners[t[j].low] {
			return false
		}
		if verbs[t[j].low] == "be" {
			return j > i+1
		}
	}
	return false
}

// subjectDrops say nothing of which subject is meant.
var subjectDrops = set("main", "current", "whole", "own", "new", "old", "user", "'s", "entire", "own", "of", "that", "which", "total", "overall", "own", "mr", "ms", "mrs", "dr", ".", "actual", "present", "latest", "number", "weekly", "standard", "role", "position")

// subjectName gives the name under which a subject is compared: its stems,
// without possessives and articles.
func subjectName(t []word) (subject, name string) {
	if len(t) == 0 {
		return "", ""
	}
	last := t[len(t)-1]
	if p, ok := pronouns[last.low]; ok && len(t) <= 2 {
		return p, ""
	}
	var out []string
	for _, w := range t {
		if prepositions[w.low] || determiners[w.low] && !keptDeterminers[w.low] || subjectDrops[w.low] && len(t) > 1 || punctuation(w.low) {
			continue
		}
		out = append(out, singleStem(w.low))
	}
	if len(out) > 1 && slices.Contains(out, "email") {
		out = slices.DeleteFunc(out, func(s string) bool { return s == "address" })
	}
	if len(out) == 0 {
		return singleStem(last.low), ""
	}
	slices.Sort(out)
	if _, isPronoun := pronouns[last.low]; capitalised(last.raw) && !isPronoun && !noNames[last.low] && (len(t) > 1 || !strings.HasSuffix(last.low, "s")) && strings.ToUpper(last.raw) != last.raw {
		name = last.low
	}
	return strings.Join(slices.Compact(out), " "), name
}

// keptDeterminers tell one subject from another.
var keptDeterminers = set("each", "every", "no", "his", "her", "their", "its", "your", "all", "some", "any", "both")

// readVerb reads the verb group at the beginning of t and gives the rest.
func (k *clause) readVerb(t []word) []word {
	k.lemma = verbs[t[0].low]
	t = t[1:]
	for len(t) > 0 {
		w := t[0].low
		l := verbs[w]
		ing := strings.HasSuffix(w, "ing") && len(w) > 4
		switch {
		case k.lemma == "be" && l == "be":
		case k.lemma == "be" && l != "" && ing:
			k.lemma = l
		case siblings[w] == "relief" && (len(t) == 1 || t[1].low != "to"):
			return t
		case k.lemma == "be" && len(t) == 1 && stemOpposites[singleStem(w)] != nil && endVerbs[l] == "":
			return t // is locked, is signed: a state
		case (k.lemma == "be" || k.lemma == "get") && l != "" && l != "be" && (finite(w) || w == "set") && l != "have" && !strings.HasSuffix(w, "s"):
			k.lemma, k.passive = l, true
		case k.lemma == "have" && w == "to":
			return t
		case (k.lemma == "start" || k.lemma == "begin") && ing && l != "":
			k.lemma = l
		case k.lemma == "take" && (w == "place" || w == "part"):
			k.lemma = "take_" + w
		case k.lemma != "be" && particles[w] && !(len(t) > 1 && w == "on" || w == "in"):
			k.lemma += "_" + w
		default:
			return t
		}
		t = t[1:]
	}
	return t
}

var particles = set("up", "down", "off", "out", "away", "back", "over")

// readRest parts what stands behind the verb into its object and its tails.
func (k *clause) readRest(t []word) {
	at := -1
	if n := len(t); n > 1 && particles[t[n-1].low] && k.lemma != "be" {
		k.lemma += "_" + t[n-1].low
		t = t[:n-1]
	}
	if k.lemma == "get" && len(t) > 2 && t[0].low == "rid" && t[1].low == "of" {
		k.lemma, t = "get_rid", t[2:]
	}
	for i, w := range t {
		starts := prepositions[w.low] && !(w.low == "of") && !(w.low == "about" && i+1 < len(t) && hasDigit(t[i+1].low))
		switch {
		case starts && at >= 0 && len(k.tails[at].words) == 0:
			k.tails[at].prep = w.low // moved on to, from behind
		case starts:
			k.tails = append(k.tails, tail{prep: w.low})
			at = len(k.tails) - 1
		case at >= 0:
			k.tails[at].words = append(k.tails[at].words, w)
		default:
			k.object = append(k.object, w)
		}
	}
	if n := len(t); k.lemma == "be" && len(k.object) == 0 && len(k.tails) == 1 && len(k.tails[0].words) == 0 {
		k.object, k.tails = t[n-1:], nil // the lights are on
	}
	k.tails = slices.DeleteFunc(k.tails, func(t tail) bool {
		return k.subject == "agent" && len(t.words) == 1 && (t.words[0].low == "me" || t.words[0].low == "you") && (t.prep == "to" || t.prep == "for")
	})
}

var (
	clock   = regexp.MustCompile(`^(\d{1,2})(?:[:.](\d\d))?(am|pm|h)?$`)
	phone   = regexp.MustCompile(`^[+\d][\d-]{3,}$`)
	amount  = regexp.MustCompile(`^[$€£]?\d[\d.,]*[a-z%]*$`)
	release = regexp.MustCompile(`^v?\d+(?:\.\d+)+$`)
)

// currencies are units of money.
var currencies = set("euro", "euros", "eur", "dollar", "dollars", "usd", "pounds", "pound", "gbp", "francs", "chf", "kronor", "kroner", "yen", "zloty", "cents", "rupees", "pesos")

// valueOf gives the type of some words and the spelling by which they are
// compared; class tells values apart that have the same type.
func (c *claim) valueOf(ws []word, attribute string) (t oxbow.DetailType, value, class string) {
	ws = slices.DeleteFunc(slices.Clone(ws), func(w word) bool {
		return w.raw != "A" && determiners[w.low] && w.low != "no" || punctuation(w.low)
	})
	if len(ws) == 0 {
		return oxbow.WordValue, "", ""
	}
	first, last := ws[0].low, ws[len(ws)-1].low
	if t, n := toolAt(ws, 0); n > 0 && n < len(ws) && version.MatchString(ws[n].low) {
		return oxbow.VersionValue, t.id + " " + strings.TrimPrefix(ws[n].low, "v"), "version of " + t.id
	}
	switch {
	case strings.Contains(first, "@"):
		return oxbow.ContactValue, first, "mail"
	case weekdays[strings.TrimSuffix(last, "s")] > 0 || strings.TrimSuffix(last, "s") == "sunday":
		if len(last) > 5 {
			return oxbow.DateValue, strings.TrimSuffix(last, "s"), "weekday"
		}
	}
	if v, ok := c.dayOf(ws); ok {
		return oxbow.DateValue, v, "day"
	}
	if last == "midnight" || last == "noon" {
		return oxbow.TimeValue, map[string]string{"midnight": "0:00", "noon": "12:00"}[last], "time"
	}
	if v, class, ok := numberOf(ws, attribute); ok {
		switch class {
		case "time":
			return oxbow.TimeValue, v, class
		case "phone":
			return oxbow.ContactValue, v, class
		case "version":
			return oxbow.VersionValue, v, class
		}
		return oxbow.NumberValue, v, class
	}
	return c.nameOf(ws, attribute)
}

// dayOf gives the day that words name.
func (c *claim) dayOf(ws []word) (string, bool) {
	for _, d := range c.dates {
		if c.words[d.from].start <= ws[0].start && ws[0].start < c.words[d.to-1].end && ws[len(ws)-1].end <= c.words[d.to-1].end+8 {
			return d.day.Format("2006-01-02"), true
		}
	}
	if _, month := months[ws[0].low]; month && capitalised(ws[0].raw) && len(ws) == 1 {
		return ws[0].low, true
	}
	return "", false
}

// numberOf reads a number with its unit.
func numberOf(ws []word, attribute string) (value, class string, ok bool) {
	digits := ""
	for _, w := range ws {
		digits += w.low
	}
	if phone.MatchString(digits) && len(strings.Trim(digits, "+-")) >= 6 && len(ws) <= 5 && !strings.Contains(digits, ":") {
		return strings.Trim(digits, "+"), "phone", true
	}
	at := slices.IndexFunc(ws, func(w word) bool {
		n, isCount := counts[w.low]
		return amount.MatchString(w.low) || isCount && n > 0 && w.low != "a" && w.low != "an" && w.low != "second" || tens[w.low] > 0 || release.MatchString(w.low) || clock.MatchString(w.low)
	})
	if at < 0 {
		return "", "", false
	}
	w := ws[at].low
	unit := ""
	if at+1 < len(ws) {
		unit = strings.Join(stemsIn(ws[at+1:]), " ")
		if currencies[ws[at+1].low] {
			unit = strings.TrimSpace("money " + strings.Join(stemsIn(ws[at+2:]), " "))
		}
	}
	v := w
	if n, isCount := counts[w]; isCount {
		v = strconv.Itoa(n)
	} else if tens[w] > 0 {
		v = strconv.Itoa(tens[w])
	}
	before := ""
	for _, x := range ws[:at] {
		if st := singleStem(x.low); st != "number" && !adverbs[x.low] {
			before += st + " "
		}
	}
	switch {
	case strings.ContainsAny(w, "$€£"):
		return strings.Trim(w, "$€£"), before + "money", true
	case clock.MatchString(w) && (strings.Contains(w, ":") || strings.HasSuffix(w, "am") || strings.HasSuffix(w, "pm") || unit == "am" || unit == "pm" || unit == "o'clock" || unit == "oclock" || unit == "" && (attribute == "when" || attribute == "opens" || attribute == "closes")):
		return clockOf(w, unit), "time", true
	case attribute == "age":
		return v, "age", true
	case lengths[unit]:
		return v + " " + unit, "length", true
	case release.MatchString(w) && unit == "":
		return strings.TrimPrefix(w, "v"), before + "version", true
	}
	return strings.ReplaceAll(v, ",", ""), before + unit, true
}

// lengths are the stems of units of time.
var lengths = stems("minute", "hour", "day", "week", "month", "year", "second", "days long", "weeks long", "long")

// clockOf spells a time of day as 20:00.
func clockOf(w, unit string) string {
	m := clock.FindStringSubmatch(w)
	h, _ := strconv.Atoi(m[1])
	if (m[3] == "pm" || unit == "pm") && h < 12 {
		h += 12
	}
	minutes := m[2]
	if minutes == "" {
		minutes = "00"
	}
	return strconv.Itoa(h) + ":" + minutes
}

// nameOf types words that hold no number: a tool, a proper name, one of a class
// of words that exclude each other, or any other words.
func (c *claim) nameOf(ws []word, attribute string) (oxbow.DetailType, string, string) {
	if t, n := toolAt(ws, 0); n > 0 {
		return oxbow.ToolValue, t.id, t.class
	}
	var sts []string
	for _, w := range ws {
		if !subjectDrops[w.low] || len(ws) == 1 {
			sts = append(sts, singleStem(w.low))
		}
	}
	if len(sts) == 0 {
		sts = []string{singleStem(ws[len(ws)-1].low)}
	}
	value := strings.Join(sts, " ")
	name := false
	for i, w := range ws {
		if capitalised(w.raw) && w.low != "i" && !isDemonym(w.low) && (i == 0 || !determiners[ws[i-1].low]) {
			name = true
		}
	}
	// A name begins the value, perhaps behind the sort of thing that it is.
	switch {
	case name && (capitalised(ws[0].raw) || len(ws) > 1 && capitalised(ws[1].raw)):
		t := map[string]oxbow.DetailType{"home": oxbow.PlaceValue, "place": oxbow.PlaceValue, "employer": oxbow.EmployerValue}[attribute]
		if t == "" {
			t = oxbow.NameValue
		}
		return t, value, "name"
	case colours[ws[0].low]:
		return oxbow.WordValue, value, "colour"
	}
	t := oxbow.WordValue
	if attribute == "prefers" {
		t = oxbow.PreferenceValue
	}
	for _, w := range []word{ws[0], ws[len(ws)-1]} {
		if s := siblings[w.low]; s != "" {
			rest := slices.DeleteFunc(sts, func(x string) bool { return x == singleStem(w.low) })
			return t, value, s + " " + strings.Join(rest, " ")
		}
	}
	return t, value, ""
}

// stemsIn gives the stems of words, without determiners.
func stemsIn(ws []word) []string {
	var out []string
	for _, w := range ws {
		if determiners[w.low] || punctuation(w.low) || prepositions[w.low] {
			continue
		}
		if s := text.Stem(w.low); s != "" {
			out = append(out, s)
		}
	}
	return out
}
