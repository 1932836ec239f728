// Package history is the story that the demo plays: six months of one developer
// and their assistant, ending on the day it is played. It was written for this
// project; nobody in it exists.
//
// history.jsonl holds a turn a line, in the order in which they were said, with
// the day counted back from today. Days inside a text are marks, counted
// from the day of the turn: {date:+14} becomes "March 15", {weekday:+2}
// "Thursday". {secret} becomes a string that looks like a key and is none; it is
// put together here so that no scanner takes this repository for leaking one.
//
// Any package may import it; it imports the root package only.
package history

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow"
)

//go:embed history.jsonl
var bundled []byte

// line is one turn as it is bundled.
type line struct {
	Scope        string `json:"scope"`
	Conversation string `json:"conversation"`
	Day          int    `json:"day"`  // 0 is today, -1 yesterday
	Time         string `json:"time"` // 15:04 in UTC
	User         string `json:"user"`
	Assistant    string `json:"assistant"`
}

// Turns gives the bundled turns for a story that ends on today's date (its UTC
// day), oldest first, waiting to be ingested into the tenant. The same day and
// tenant give the same turns with the same ids. Texts are as they were said:
// redacting is the job of whoever takes them in.
func Turns(today time.Time, tenant string) ([]oxbow.Turn, error) {
	y, m, d := today.UTC().Date()
	day := time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	var out []oxbow.Turn
	lines := bufio.NewScanner(bytes.NewReader(bundled))
	for n := 1; lines.Scan(); n++ {
		t, err := turn(lines.Bytes(), day, tenant, n)
		if err != nil {
			return nil, fmt.Errorf("read line %d of the history: %w", n, err)
		}
		out = append(out, t)
	}
	return out, lines.Err()
}

func turn(raw []byte, today time.Time, tenant string, n int) (oxbow.Turn, error) {
	var l line
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&l); err != nil {
		return oxbow.Turn{}, err
	}
	clock, err := time.Parse("15:04", l.Time)
	if err != nil {
		return oxbow.Turn{}, err
	}
	day := today.AddDate(0, 0, l.Day)
	at := day.Add(time.Duration(clock.Hour())*time.Hour + time.Duration(clock.Minute())*time.Minute)
	t := oxbow.Turn{
		ID:           oxbow.NewID("turn", tenant, l.Scope, l.Conversation, at.Format(time.RFC3339), strconv.Itoa(n)),
		Scope:        oxbow.Scope{Tenant: tenant, Name: l.Scope},
		Conversation: l.Conversation,
		At:           at,
		State:        oxbow.TurnWaiting,
	}
	if t.User, err = render(l.User, day); err != nil {
		return oxbow.Turn{}, err
	}
	if t.Assistant, err = render(l.Assistant, day); err != nil {
		return oxbow.Turn{}, err
	}
	return t, t.Scope.Validate()
}

var mark = regexp.MustCompile(`\{(date|weekday):([+-]?\d+)\}`)

// fakeSecret has the shape of a key and opens nothing.
var fakeSecret = strings.Join([]string{"sk", "test", "NOT0A0KEY0NOT0A0KEY0NOT"}, "-")

// render puts days into a text. A mark that it does not know is an error.
func render(s string, day time.Time) (string, error) {
	s = strings.ReplaceAll(s, "{secret}", fakeSecret)
	s = mark.ReplaceAllStringFunc(s, func(p string) string {
		m := mark.FindStringSubmatch(p)
		n, _ := strconv.Atoi(m[2]) // the pattern lets only digits through
		d := day.AddDate(0, 0, n)
		if m[1] == "date" {
			return d.Format("January 2")
		}
		return d.Weekday().String()
	})
	if i := strings.IndexByte(s, '{'); i >= 0 {
		return "", fmt.Errorf("an unknown mark stands at byte %d", i)
	}
	return s, nil
}
