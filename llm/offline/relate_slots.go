package offline

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
)

// appointment is a day that something is due or takes place.
type appointment struct {
	head  string   // what: deadline, release, meeting …
	topic []string // of what, sorted stems
	day   time.Time
	moved bool
	from  time.Time // the day it was before, when said
}

// heads are the words for what has a day, each with the name it is compared by.
var heads = map[string]string{
	"deadline": "deadline", "due": "deadline", "launch": "release", "launches": "release", "release": "release", "releases": "release", "ship": "release", "ships": "release",
	"cutover": "cutover", "freeze": "freeze", "freezes": "freeze", "demo": "demo", "exam": "exam", "meeting": "meeting", "review": "review", "interview": "interview", "presentation": "presentation",
	"talk": "talk", "workshop": "workshop", "retro": "retro", "kickoff": "kickoff", "audit": "audit", "submission": "deadline", "call": "call", "appointment": "appointment",
}

// movePhrases say that an appointment has another day than before.
var movePhrases = []string{"pushed", "moved", "slipped", "delayed", "postponed", "extended", "brought forward", "rescheduled", "shifted", "changed", "now", "instead"}

// dayWords surround a day and tell nothing of the thing that has it.
var dayWords = stems("deadline", "due", "push", "move", "slip", "delay", "postpon", "extend", "brought", "bring", "forward", "reschedul", "shift", "chang",
	"date", "back", "set", "got", "get", "new", "end", "day", "until", "pm", "am", "o'clock", "turn", "confirm", "plan", "announc", "week", "month")

func appointmentIn(c *claim) (appointment, bool) {
	if len(c.dates) == 0 {
		return appointment{}, false
	}
	var a appointment
	for _, w := range c.words {
		if h := heads[w.low]; h != "" {
			a.head = h
			break
		}
	}
	if a.head == "" {
		return a, false
	}
	d := c.dates[len(c.dates)-1]
	for _, f := range c.dates {
		switch before := c.lowAt(f.from - 1); before {
		case "to", "until", "now":
			d = f
		case "from":
			a.from = f.day
		}
	}
	a.day = d.day
	a.moved = c.has(movePhrases...)
	for _, s := range c.stems {
		if !dayWords[s] && heads[s] != a.head && !hasDigit(s) {
			a.topic = append(a.topic, s)
		}
	}
	slices.Sort(a.topic)
	a.topic = slices.Compact(a.topic)
	return a, !d.passed
}

// dateMove compares the days of one appointment. A new day of the same thing
// replaces the old one when the statement says that it moved, or when the thing
// is a deadline that both name alike; otherwise the two conflict.
func dateMove(p pair) oxbow.Relation {
	n, ok := appointmentIn(p.n)
	if !ok {
		return ""
	}
	o, ok := appointmentIn(p.o)
	if !ok || n.head != o.head {
		return ""
	}
	same := slices.Equal(n.topic, o.topic)
	overlap := len(common(n.topic, o.topic))
	if n.day.Format(time.DateOnly) == o.day.Format(time.DateOnly) {
		if same && !n.moved && !o.moved {
			return oxbow.ConfirmsIt
		}
		return ""
	}
	near := same || overlap > 0 && overlap == min(len(n.topic), len(o.topic))
	switch {
	case n.moved && (near || sameDay(n.from, o.day) && overlap > 0):
		return oxbow.Replaces
	case n.moved && (len(n.topic) == 0 || len(o.topic) == 0):
		return oxbow.Unsure
	case same && len(n.topic) > 0 && n.head == "deadline":
		return oxbow.Replaces
	case same && (n.head == "deadline" || n.head == "release"):
		return oxbow.Unsure
	}
	return ""
}

func sameDay(a, b time.Time) bool {
	return !a.IsZero() && a.Format(time.DateOnly) == b.Format(time.DateOnly)
}

// common gives what two lists share.
func common(a, b []string) []string {
	var out []string
	for _, x := range a {
		if slices.Contains(b, x) && !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}

// waiting finds whom somebody waits for.
var waiting = regexp.MustCompile(`(?i)\b(?:waiting (?:for|on)|blocked (?:by|on)|pending)\b`)

// arrived are the verbs with which somebody ends a waiting.
var arrived = regexp.MustCompile(`(?i)\b(?:sent|delivered|approved|replied|answered|merged|finished|signed off|got back|came through|handed over|gave us|granted|reviewed|unblocked|arrived|confirmed)\b`)

// arrival retires "waiting for Noor's review" once Noor has reviewed.
func arrival(p pair) oxbow.Relation {
	if !waiting.MatchString(p.o.text) || waiting.MatchString(p.n.text) || !arrived.MatchString(p.n.text) || p.n.neg {
		return ""
	}
	for i, w := range p.o.words {
		if !p.o.isName(i) || !strings.Contains(p.n.norm, " "+w.low+" ") {
			continue
		}
		shared := common(p.n.stems, p.o.stems)
		shared = slices.DeleteFunc(shared, func(s string) bool { return s == text.Stem(w.low) })
		if len(shared) > 0 && p.n.settled() && !p.o.asked {
			return oxbow.Replaces
		}
	}
	return ""
}

// likes is what a statement thinks of a thing: 1 for, -1 against, 0 nothing.
func likes(c *claim) int {
	against := c.has("hate", "hates", "dislike", "dislikes", "can not stand", "not a fan")
	in := against || c.has("prefer", "prefers", "like", "likes", "love", "loves", "favourite", "favorite", "fan of", "enjoy", "rather")
	switch {
	case !in:
		return 0
	case against != (c.neg && !c.has("not a fan", "can not stand")):
		return -1
	}
	return 1
}

var preferOver = regexp.MustCompile(` (?:prefer|prefers|favour|like|rather have|rather use|chose|choose) (.+?) (?:over|to|rather than|instead of|more than) (.+?) (?:[.,;!]|now |for |when |because |in |$)`)

// preferenceFlip finds that a newer preference turns an older one around.
func preferenceFlip(p pair) oxbow.Relation {
	n, o := likes(p.n), likes(p.o)
	if n == 0 || o == 0 {
		return ""
	}
	a, b := preferOver.FindStringSubmatch(p.n.norm), preferOver.FindStringSubmatch(p.o.norm)
	if a != nil && b != nil && n == o {
		if sameStems(a[1], b[2]) && sameStems(a[2], b[1]) {
			return oxbow.Replaces
		}
		return ""
	}
	if n != o && len(p.n.stems) > 0 && slices.Equal(p.n.stems, p.o.stems) {
		if p.n.marker {
			return oxbow.Replaces
		}
		return oxbow.Contradicts
	}
	if a != nil && n > 0 && o > 0 && slices.Equal(stemsOf(a[2]), p.o.stems) {
		if p.n.marker {
			return oxbow.Replaces
		}
		return oxbow.Unsure
	}
	return ""
}

func stemsOf(s string) []string {
	var kept []word
	for _, w := range read(s).words {
		if !stance[w.low] {
			kept = append(kept, w)
		}
	}
	return content(kept)
}

func sameStems(a, b string) bool {
	x := stemsOf(a)
	return len(x) > 0 && slices.Equal(x, stemsOf(b))
}

// polarity finds that one statement denies what the other one says, in the same
// words and order.
func polarity(p pair) oxbow.Relation {
	least := 2
	if p.n.has("no longer", "anymore", "any more") {
		least = 1
	}
	if p.n.neg == p.o.neg || len(p.n.stems) < least || !slices.Equal(p.n.stems, p.o.stems) || !sameValues(p.n, p.o) || likes(p.n) != 0 || likes(p.o) != 0 {
		return ""
	}
	if p.n.marker {
		return oxbow.Replaces
	}
	return oxbow.Contradicts
}

// numberWords say that a number changed.
var numberWords = stems("now", "rais", "lower", "increas", "reduc", "bump", "chang", "cut", "drop", "doubl", "halv", "move", "up", "down", "set", "went", "grew", "new", "instead", "from", "push", "shrunk")

// numberChange finds another number in the place of the older one. It replaces
// when the newer statement says that it changed.
func numberChange(p pair) oxbow.Relation {
	if len(p.n.numbers) == 0 || len(p.o.numbers) != 1 || p.n.neg != p.o.neg || len(p.n.dates)+len(p.o.dates) > 0 || contrast(p.n, p.o) {
		return ""
	}
	old := p.o.numbers[0]
	last := p.n.numbers[len(p.n.numbers)-1]
	if p.n.has(doneOnce...) && p.o.has(doneOnce...) {
		return "" // two events, each with its own number
	}
	if last.value == old.value || len(p.n.numbers) > 2 || kindOf(last.value) != kindOf(old.value) {
		return ""
	}
	a, b := withoutNumbers(p.n), withoutNumbers(p.o)
	shared := len(common(a, b))
	fromOld := len(p.n.numbers) == 2 && p.n.numbers[0].value == old.value && p.n.has("from")
	if len(p.n.numbers) == 2 && !fromOld {
		return ""
	}
	changed := p.n.marker || p.n.has("raised", "lowered", "increased", "reduced", "bumped", "cut", "doubled")
	switch {
	case shared == 0:
		return ""
	case fromOld && (shared >= 2 || shared == len(b)):
		return oxbow.Replaces
	case slices.Equal(a, b) && changed && shared >= 1:
		return oxbow.Replaces
	case shared >= 2 && shared == min(len(a), len(b)) && max(len(a), len(b)) <= shared+1:
		if changed {
			return oxbow.Replaces
		}
		if len(a) == len(b) {
			return oxbow.Unsure
		}
	}
	return ""
}

// doneOnce are the verbs of events, which do not take each other's place.
var doneOnce = []string{"released", "shipped", "published", "tagged", "fixed", "found", "closed", "merged", "bought", "paid"}

// timeWords say when something comes back, beside the number itself.
var timeWords = stems("everi", "each", "morn", "even", "afternoon", "day", "daili", "weekday", "week", "night")

// kindOf sorts the written forms of numbers, so that a time is not compared
// with a size.
func kindOf(v string) string {
	switch {
	case strings.Contains(v, ":") || strings.HasSuffix(v, "am") || strings.HasSuffix(v, "pm"):
		return "time"
	case strings.HasSuffix(v, "%"):
		return "share"
	case strings.ContainsAny(v, "-_/@"):
		return "name"
	}
	return strings.TrimLeft(v, "0123456789.,")
}

// withoutNumbers gives the stems that are neither a number nor a word of change.
func withoutNumbers(c *claim) []string {
	var out []string
	for _, s := range c.stems {
		if !hasDigit(s) && !numberWords[s] && !timeWords[s] {
			out = append(out, s)
		}
	}
	return out
}

var fromTo = regexp.MustCompile(` (?:moved|switched|migrated|changed|renamed|converted) ((?:[a-z0-9'-]+ ){0,4}?)from ((?:[a-z0-9'/-]+ ){1,3}?)to ((?:[a-z0-9'/-]+ ){1,3}?)(?:[.,;!]|last |this |on |for |because |in |$)`)

// phraseChange reads "moved the runners from Frankfurt to Helsinki" against what
// says that the runners are in Frankfurt. Without a shared subject it only
// conflicts.
func phraseChange(p pair) oxbow.Relation {
	m := fromTo.FindStringSubmatch(p.n.norm)
	if m == nil {
		return ""
	}
	gone, came := stemsOf(m[2]), stemsOf(m[3])
	if len(gone) == 0 || len(came) == 0 || slices.Equal(gone, came) || len(common(gone, p.o.stems)) != len(gone) || len(common(came, p.o.stems)) == len(came) {
		return ""
	}
	if p.o.has(findPhrases...) || likes(p.o) != 0 || p.o.neg {
		return ""
	}
	subject := stemsOf(m[1])
	if len(subject) > 0 && 2*len(common(subject, p.o.stems)) >= len(subject) {
		return oxbow.Replaces
	}
	return ""
}
