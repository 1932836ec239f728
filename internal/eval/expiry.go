package eval

import (
	"context"
	"io"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm"
)

type expiryExample struct {
	Text    string  `json:"text"`
	At      string  `json:"at"`
	Expires *string `json:"expires"`
	Event   bool    `json:"event"`
}

// Expiry are the figures of a judge on sentences that end on a day, with an
// event, or not by themselves.
type Expiry struct {
	N      int `json:"n"`
	Dated  int `json:"dated"`  // sentences with a day
	Events int `json:"events"` // sentences that end with an event
	Never  int `json:"never"`  // sentences that do not end by themselves

	Right     int `json:"right"`      // the day
	WrongDate int `json:"wrong_date"` // another day
	Missed    int `json:"missed"`     // no day
	// FalsePositives are days given where there is none, or where the end is an event.
	FalsePositives int `json:"false_positives"`
	// EventRight are sentences with an event that got no day and were seen as one.
	EventRight int `json:"event_right"`
	// FalseEvents are events seen where there is none. They cost a review, no memory.
	FalseEvents int `json:"false_events"`

	RightShare float64 `json:"right_share"` // of the sentences with a day
	FalseShare float64 `json:"false_share"` // of those without one
	EventShare float64 `json:"event_share"`

	Misses []Miss `json:"misses,omitempty"`
}

// RateExpiry asks the judge about each sentence {text, at, expires, event}. Days
// are read in UTC.
func RateExpiry(ctx context.Context, r io.Reader, j llm.Judge) (Expiry, error) {
	var out Expiry
	err := each(r, func(line int, e expiryExample) error {
		at, err := instant(e.At)
		if err != nil {
			return err
		}
		s := llm.Statement{Label: "new", Text: e.Text, Kind: oxbow.Semantic, Source: oxbow.FromUser, SaidAt: at}
		x, err := j.Expiry(ctx, s, time.UTC)
		if err != nil {
			return err
		}
		want, got := e.end(), end(x)
		out.count(want, got)
		if want != got {
			out.Misses = append(out.Misses, Miss{Line: line, Text: e.Text, Want: want, Got: got})
		}
		return nil
	})
	out.RightShare = share(out.Right, out.Dated)
	out.FalseShare = share(out.FalsePositives, out.Never+out.Events)
	out.EventShare = share(out.EventRight, out.Events)
	return out, err
}

// What an example or an answer may be beside a day.
const (
	endEvent = "event"
	endNever = "never"
)

func (e expiryExample) end() string {
	switch {
	case e.Expires != nil:
		return *e.Expires
	case e.Event:
		return endEvent
	}
	return endNever
}

func end(x llm.Expiry) string {
	switch {
	case !x.Date.IsZero():
		return x.Date.UTC().Format(time.DateOnly)
	case x.Event:
		return endEvent
	}
	return endNever
}

func (x *Expiry) count(want, got string) {
	x.N++
	dated := got != endEvent && got != endNever
	switch want {
	case endEvent:
		x.Events++
		if got == endEvent {
			x.EventRight++
		}
	case endNever:
		x.Never++
		if got == endEvent {
			x.FalseEvents++
		}
	default:
		x.Dated++
		switch {
		case got == want:
			x.Right++
		case dated:
			x.WrongDate++
		default:
			x.Missed++
		}
		return
	}
	if dated {
		x.FalsePositives++
	}
}
