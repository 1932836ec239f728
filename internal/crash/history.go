package crash

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/oxbow-memory/oxbow"
)

// Ends is the instant at which a History ends; whoever plays one sets clocks to
// it.
var Ends = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

// lasts is how long a History takes: little enough for nothing in it to fade.
const lasts = 45 * 24 * time.Hour

// History gives n turns of one tenant, oldest first and never two at one
// instant, spread over scopes: values that change, facts that are replaced,
// deadlines that move, rules that are turned around, preferences said in several
// ways, things said again in another conversation, and small talk. The same
// arguments give the same turns with the same ids.
func History(seed uint64, tenant string, n, scopes int) []oxbow.Turn {
	r := rand.New(rand.NewPCG(seed, 0x0b0))
	stories := make([]*story, scopes)
	for i := range stories {
		stories[i] = &story{r: r, said: map[string]string{}}
	}
	step := lasts / time.Duration(n+1)
	out := make([]oxbow.Turn, n)
	for i := range out {
		k := r.IntN(scopes)
		s := oxbow.Scope{Tenant: tenant, Name: "project:p" + strconv.Itoa(k)}
		at := Ends.Add(-lasts + time.Duration(i+1)*step).Truncate(time.Millisecond)
		out[i] = oxbow.Turn{
			ID:           oxbow.NewID("turn", tenant, strconv.FormatUint(seed, 10), strconv.Itoa(i)),
			Scope:        s,
			Conversation: "c" + strconv.Itoa(i/7),
			User:         stories[k].next(at),
			Assistant:    "Understood.",
			At:           at,
			State:        oxbow.TurnWaiting,
		}
	}
	return out
}

// story is what was said in one scope so far.
type story struct {
	r    *rand.Rand
	said map[string]string // a subject and how it stands
	past []string
}

// subjects are words that no rule knows anything about.
var subjects = []string{
	"kestrel", "marlin", "osprey", "badger", "heron", "lynx", "otter", "falcon", "beaver", "puffin", "walrus", "gannet",
	"weasel", "condor", "magpie", "plover", "jackal", "ferret", "curlew", "bison", "tapir", "oriole", "egret", "dingo",
	"iguana", "gecko", "cobra", "viper", "stork", "raven",
}

// measures are values that a subject has one of, with how a first and a later
// value is said.
var measures = []struct{ first, later string }{
	{"The %s upload limit is %d MB.", "The %s upload limit is now %d MB."},
	{"The %s connection pool is capped at %d.", "The %s connection pool is now capped at %d."},
	{"The %s rate limit is set to %d requests.", "The %s rate limit is now set to %d requests."},
}

// ways are five ways to say one preference about a subject.
var ways = []string{
	"I prefer short %s messages with plain words.",
	"Keep %s messages short and words plain.",
	"I like %s messages short and words plain.",
	"Please write short %s messages with plain words.",
	"Always keep %s messages short, with plain words.",
}

var (
	zones  = []string{"Europe/Berlin", "Europe/Lisbon", "Europe/Oslo", "America/Lima", "Asia/Tokyo"}
	cities = []string{"Berlin", "Lisbon", "Oslo", "Lima", "Tokyo"}
	stacks = []string{"Flask", "Django", "FastAPI", "Laravel"}
	talk   = []string{"Thanks a lot, have a good weekend!", "Hi there!", "What is the capital of Uruguay?", "Explain the difference between tar and zip.", "Haha, good one."}
)

func (s *story) next(at time.Time) string {
	text := s.say(at)
	s.past = append(s.past, text)
	return text
}

func (s *story) say(at time.Time) string {
	subject := subjects[s.r.IntN(len(subjects))]
	switch s.r.IntN(12) {
	case 0, 1, 2:
		return s.measure(subject)
	case 3:
		return "My timezone is " + zones[s.r.IntN(len(zones))] + "."
	case 4:
		return "I live in " + cities[s.r.IntN(len(cities))] + " now."
	case 5:
		return s.deadline(subject, at)
	case 6:
		return s.rule(subject)
	case 7, 8:
		return fmt.Sprintf(ways[s.r.IntN(len(ways))], subject)
	case 9:
		return s.stack(subject)
	case 10:
		if len(s.past) > 0 {
			return s.past[s.r.IntN(len(s.past))]
		}
		return "We are waiting for Noor to send the " + subject + " files."
	}
	if s.r.IntN(2) == 0 {
		return "We are waiting for Noor to send the " + subject + " files."
	}
	return talk[s.r.IntN(len(talk))]
}

// first tells whether something is said of a subject for the first time.
func (s *story) first(what, subject string) bool {
	key := what + " " + subject
	first := s.said[key] == ""
	s.said[key] = "said"
	return first
}

func (s *story) measure(subject string) string {
	k := s.r.IntN(len(measures))
	n := 5 * (1 + s.r.IntN(40))
	if s.first("measure"+strconv.Itoa(k), subject) {
		return fmt.Sprintf(measures[k].first, subject, n)
	}
	return fmt.Sprintf(measures[k].later, subject, n)
}

func (s *story) deadline(subject string, at time.Time) string {
	day := at.AddDate(0, 0, 5+s.r.IntN(40)).Format("January 2")
	if s.first("deadline", subject) {
		return "The " + subject + " deadline is " + day + "."
	}
	return "The " + subject + " deadline moved to " + day + "."
}

func (s *story) rule(subject string) string {
	key := "rule " + subject
	if s.said[key] == "always" {
		s.said[key] = "never"
		return "Never squash " + subject + " commits before merging."
	}
	s.said[key] = "always"
	return "Always squash " + subject + " commits before merging."
}

func (s *story) stack(subject string) string {
	key := "stack " + subject
	was, is := s.said[key], stacks[s.r.IntN(len(stacks))]
	s.said[key] = is
	if was == "" || was == is {
		return "The " + subject + " runs on " + is + "."
	}
	return "We ported the " + subject + " from " + was + " to " + is + "."
}
