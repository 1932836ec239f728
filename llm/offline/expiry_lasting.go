package offline

import (
	"regexp"
	"strings"
)

// States that somebody or something is in for a while, after which "for two
// weeks" is an end. Things are kept, stored and valid for as long by a rule, and
// what one has done for two weeks began in the past.
var (
	passingState = regexp.MustCompile(` (?:am|is|are|will be|'s) (?:[a-z-]+ ){0,2}?(?:on|away|off|out|in|at|down|closed|suspended|paused|blocked|unavailable|grounded|banned|booked|reserved|short|alone|abroad|travelling|traveling|visiting|staying|living|working|covering|borrowing|renting|using|taking|fasting|training|[a-z]+-?sitting|back|with|stuck|free|busy|offline|half) `)
	longAgo      = regexp.MustCompile(` (?:have|has|had|'ve|was|were|used to|usually|always|typically|kept|stored|retained|cached|valid|per|at a time) `)
)

// lasting reads how long a state goes on from the day on which it was told: on
// holiday for two weeks, three more weeks.
func (c *claim) lasting() (found, bool) {
	if longAgo.MatchString(c.norm) {
		return found{}, false
	}
	p := dateParser{text: c.text, words: c.words, at: c.said, today: midnight(c.said)}
	for i, w := range c.words {
		from := i
		switch {
		case w.low == "for":
			from = i + 1
		case w.low == "another":
		case c.lowAt(i+1) == "more":
		default:
			continue
		}
		n, k := p.count(from)
		if n == 0 && w.low == "another" {
			n, k = 1, i+1
			if m, to := p.count(i + 1); m > 0 {
				n, k = m, to
			}
		}
		more := c.lowAt(k) == "more"
		if more || c.lowAt(k) == "another" {
			k++
		}
		span, ok := spans[c.lowAt(k)]
		if n == 0 || !ok || span == "h" || span == "n" || span == "t" || c.lowAt(k+1) == "'s" || c.lowAt(k+1) == "ago" {
			continue
		}
		if w.low == "for" && !passingState.MatchString(c.norm) && !more {
			continue
		}
		return found{from: i, to: k + 1, day: p.shift(p.today, span, n)}, true
	}
	return found{}, false
}

// manyDo are verbs behind several things.
var manyDo = set("are", "take", "have", "must", "need", "get", "go", "stay", "can", "expire", "arrive", "come", "last", "usually", "should")

// general tells whether a statement is of things of a sort and not of one:
// invoices are payable within 30 days.
func (c *claim) general() bool {
	if len(c.words) < 2 {
		return false
	}
	return strings.HasSuffix(c.words[0].low, "s") && (manyDo[c.words[1].low] || verbs[c.words[1].low] == c.words[1].low)
}

// off is what is done to a thing on a day to come: switched off on December 1.
var off = regexp.MustCompile(` (?:is|are) (?:switched off|turned off|shut down|retired|removed|switched|handed over|closed|opened|launched|released|migrated|replaced|announced|decided|published|delivered|picked up|collected|installed|repaired|inspected|torn down|moved|celebrated|discontinued|cut over|decommissioned) (?:[a-z]+ ){0,3}?(?:on|by) `)

// setFor comes before the day for which a thing was arranged.
var setFor = set("planned", "set", "announced", "reserved", "booked", "expected", "scheduled", "slated", "arranged", "fixed", "due", "lined", "table")
