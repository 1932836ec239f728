package offline

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm"
)

// A date ends a memory only when it has that role. Libraries that find every
// date gave 4 to 17 false expiries in 15 to 20 sentences that have none; the
// words below are the gate.
var (
	// limits are the words of a limit, with the preposition wherever it stands.
	limits = []string{"deadline", "due", "by", "until", "till", "through", "before", "no later than", "expires", "expire", "ends", "end of", "closes", "close on", "freeze", "valid",
		"for the next", "up to", "eod", "eow", "eom", "submission", "overdue", "within"}

	// occasions take place on a day and are over after it.
	occasions = []string{"meeting", "demo", "exam", "interview", "appointment", "presentation", "presenting", "conference", "meetup", "flight", "flying", "travelling", "traveling",
		"trip", "visiting", "visit", "visits", "flies", "travels", "arriving", "arrives", "leaving", "call", "launch", "launching", "launches", "release", "releasing", "releases", "ship", "ships", "shipping", "cutover", "workshop", "talk",
		"kickoff", "review", "retro", "audit", "migration", "maintenance", "standup", "dentist", "doctor", "wedding", "party", "concert", "match", "session", "training", "onboarding", "handover",
		"holiday", "vacation", "on leave", "out of office", "ooo", "day off", "days off", "week off", "off work", "away", "on call", "on-call", "at home", "working from", "scheduled", "booked", "go live", "goes live",
		"starts", "opens", "election", "hackathon", "rehearsal", "festival", "tournament", "lecture", "seminar", "exhibition", "campaign", "pilot", "beta", "guests", "leaves", "runs out", "moving", "surgery", "operation", "delivery", "arrival", "departure",
		"show", "play", "premiere", "gig", "course", "class", "camp", "marathon", "race", "final", "ceremony", "funeral", "barbecue", "picnic", "dinner", "lunch", "brunch", "sale", "auction", "hearing", "trial", "checkup", "inspection", "vote", "voting", "webinar", "sprint", "rollout", "downtime", "window", "covering", "staying",
		"comes", "coming", "takes place", "take place", "stops by", "drops by", "moves in", "moves out", "returns", "graduates", "retires", "gets married", "marries", "departs", "lands", "picks up", "delivers", "performs", "sings", "speaks", "graduation", "viewing",
		"tasting", "reunion", "parade", "fireworks", "drill", "quiz", "recital", "screening", "check-in", "checkout", "moved to", "rescheduled to", "pushed to", "postponed to", "brought forward to", "pushed back to"}

	// begins are the words after which a day is a start and no end.
	begins = set("since", "from", "starting", "effective", "after", "as")

	// repeats are the words of what comes back, and so does not end.
	repeats = regexp.MustCompile(` (?:every|each|weekly|daily|monthly|yearly|annually|annual|quarterly|biweekly|mondays|tuesdays|wednesdays|thursdays|fridays|saturdays|sundays|weekdays|weekends|per (?:day|week|month|year)|once a (?:day|week|month|year)|nightly|hourly|anniversary|birthday|birthdays|was born|born on|founded|established) `)

	// looksBack finds a statement about what has happened.
	looksBack = regexp.MustCompile(` (?:was|were|had|shipped|released|finished|met|launched|happened|ended|expired|joined|started|left|deployed|closed|bought|went|gave|presented|decided|did|took|wrote|broke|fixed|passed|landed|returned|came back|got back) `)

	// events are the ends that have no day.
	events = regexp.MustCompile(` (?:until|till|til|as soon as|waiting (?:for|on)|awaiting|blocked (?:by|on|until)|pending|on hold|for now|for the time being|temporarily|temporary|for the moment|once (?:we|i|the|it|they|[a-z]+ (?:is|are|has|have))|before (?:we|i|the|they)|when (?:we|the [a-z0-9]+) (?:ships?|launch(?:es)?|releases?|merges?|lands?|goes live)|by (?:the )?end of (?:this|the) sprint|this sprint) `)
)

// expiry reads whether, and on which day of the zone, a statement ends.
func expiry(s llm.Statement, zone *time.Location) llm.Expiry {
	if zone == nil {
		zone = time.UTC
	}
	c := parse(s.Text, s.SaidAt.In(zone))
	if c.cut() || c.asked || c.conditional || s.Key != "" || s.Kind == oxbow.Fact || s.Kind == oxbow.Preference || standing(c) || c.repeating() {
		return llm.Expiry{}
	}
	if d, ok := c.ending(); ok {
		y, m, day := d.day.Date()
		return llm.Expiry{
			Date:   time.Date(y, m, day, 23, 59, 59, 0, zone),
			Phrase: c.written(d.from, d.to),
		}
	}
	if d, ok := c.lasting(); ok {
		y, m, day := d.day.Date()
		return llm.Expiry{Date: time.Date(y, m, day, 23, 59, 59, 0, zone), Phrase: c.written(d.from, d.to)}
	}
	if m := events.FindStringIndex(c.norm); m != nil && !c.past && !c.dayPassed() {
		return llm.Expiry{Event: true, Phrase: c.phrase(m[0], m[1])}
	}
	return llm.Expiry{}
}

// kindOfMeeting are words of repetition before what is held on one given day:
// the quarterly review is on 25 November.
var kindOfMeeting = regexp.MustCompile(` (?:weekly|monthly|yearly|annual|quarterly) (?:[a-z]+ ){0,2}(?:is|takes place|was moved|starts|ends|deadline|report is due) `)

// repeating tells whether a statement is of what comes back, and not of one
// time of it.
func (c *claim) repeating() bool {
	if !repeats.MatchString(c.norm) {
		return false
	}
	if !kindOfMeeting.MatchString(c.norm) {
		return true
	}
	for _, d := range c.dates {
		if hasDigit(c.lowAt(d.from)) || hasDigit(c.lowAt(d.to-1)) {
			return false
		}
	}
	return true
}

// standing tells whether a statement is a rule that holds for good: "never
// deploy before a weekend" does not end with the weekend.
func standing(c *claim) bool {
	return c.has("always", "never", "whenever", "from now on", "in general", "as a rule")
}

// ending gives the day that ends the statement: of several the one that a limit
// points at, else the last.
func (c *claim) ending() (found, bool) {
	if c.has("favourite", "favorite") && !c.has(limits...) {
		return found{}, false
	}
	if !c.has(limits...) && !c.has(occasions...) && !c.has("for the next", "this week", "this weekend", "next weekend", "today", "tomorrow", "tonight") && !c.takesPlace() {
		return found{}, false
	}
	today := midnight(c.said)
	var out found
	ok, strong := false, false
	for _, d := range c.dates {
		before := c.lowAt(d.from - 1)
		first := c.lowAt(d.from)
		if c.general() && (first == "within" || first == "in" && before != "") {
			continue // a rule of how long such things take
		}
		if d.passed || d.day.Before(today) || begins[before] && before != "as" || c.lowAt(d.from-2) == "as" && before == "of" {
			continue
		}
		limit := before == "by" || before == "until" || before == "till" || before == "through" || before == "to" || before == "before" ||
			first == "by" || first == "until" || first == "till" || first == "before" || first == "through"
		if ok && strong && !limit {
			continue
		}
		out, ok, strong = d, true, strong || limit
	}
	if !ok || c.lookingBack(out) {
		return found{}, false
	}
	return out, true
}

// takesPlace tells whether a statement says of something that it is on a day,
// or from one day to another: the fireworks are on Thursday.
func (c *claim) takesPlace() bool {
	if c.has("favourite", "favorite", "called", "named", "best", "lucky", "born") {
		return false
	}
	if off.MatchString(c.norm) && c.hasMonthDay() || c.presently() {
		return true
	}
	for i, d := range c.dates {
		at := d.from - 1
		switch w := c.lowAt(at); {
		case w == "on" && (c.lowAt(at-1) == "is" || c.lowAt(at-1) == "are"):
			return true
		case w == "is" || w == "are" || w == "for":
			first := c.lowAt(d.from)
			if first == "next" || first == "this" || months[first] > 0 || setFor[c.lowAt(at-1)] {
				return true
			}
		case i > 0 && (w == "to" || w == "until") && c.lowAt(c.dates[i-1].from-1) == "from":
			return true
		}
	}
	return false
}

// presently tells whether something is said, in the present tense, of one given
// day: the move happens on December 1, the museum is free next Tuesday.
func (c *claim) presently() bool {
	verb := slices.ContainsFunc(c.words, func(w word) bool {
		return w.low == "is" || w.low == "are" || w.low == "am" || strings.HasSuffix(w.low, "s") && verbs[w.low] != "" && verbs[w.low] != w.low
	})
	for _, d := range c.dates {
		first, before := c.lowAt(d.from), c.lowAt(d.from-1)
		if first == "next" && d.to-d.from == 2 && weekdays[c.lowAt(d.from+1)] > 0 || verb && (before == "on" || first == "on") && c.hasMonthDay() {
			return true
		}
	}
	return false
}

// hasMonthDay tells whether a day is named by its number in a month.
func (c *claim) hasMonthDay() bool {
	for _, d := range c.dates {
		for i := d.from; i < d.to; i++ {
			if months[c.lowAt(i)] > 0 && d.to-d.from > 1 {
				return true
			}
		}
	}
	return false
}

// lookingBack tells whether the verb before a day without a year puts it into
// the past: "we shipped it on Friday".
func (c *claim) lookingBack(d found) bool {
	if c.has("set for", "scheduled for", "planned for", "will", "until", "till", "by", "due", "moved to", "pushed to", "to", "through", "no later than", "extended", "rescheduled", "postponed") {
		return false
	}
	i := strings.Index(c.norm, " "+c.lowAt(d.from)+" ")
	m := looksBack.FindStringIndex(c.norm)
	if m == nil || i < 0 {
		return false
	}
	return m[0] < i || !c.has("is", "are", "am", "will", "must", "need", "has to", "have to", "should", "starts", "ends", "until", "till", "by")
}

func (c *claim) dayPassed() bool {
	for _, d := range c.dates {
		if d.passed {
			return true
		}
	}
	return false
}

// phrase gives the words of norm[from:to), which begins and ends with a space,
// as they stand in the text.
func (c *claim) phrase(from, to int) string {
	first := strings.Count(c.norm[:from], " ")
	return c.written(first, first+len(strings.Fields(c.norm[from:to])))
}

// written gives words [from, to) as they stand in the text.
func (c *claim) written(from, to int) string {
	return c.text[c.words[from].start:c.words[to-1].end]
}
