package llm

import (
	"context"
	"fmt"

	"github.com/oxbow-memory/oxbow"
)

// Observer is a judge that condenses conversations. It stands beside Judge
// because memories can do without; its errors are those of a Judge.
type Observer interface {
	// Observe gives short dated notes of a stretch of one conversation: what was
	// said, asked, decided and done. The turns come in the order in which they
	// were said; the one at i has the label TurnLabel(i). None is an answer.
	Observe(ctx context.Context, turns []TurnText) ([]Observation, error)
	// Reflect rewrites observations of one conversation, in the order in which
	// they were said, as fewer ones that take about target tokens together. What
	// stands in none of the answers stays as it is; none is an answer.
	Reflect(ctx context.Context, items []Statement, target int) ([]Reflection, error)
}

// TurnLabel names the turn at i of a stretch: t1, t2 …
func TurnLabel(i int) string { return fmt.Sprintf("t%d", i+1) }

// Observation is a proposed note.
type Observation struct {
	Text       string
	Turns      []string // the labels of the turns that it rests on
	Quote      string   // words of one of them, from one place
	Importance float64  // 0 to 10

	// Rating and Expiry are what the judge says of it in the same breath, so that
	// nobody has to ask; nil when it says nothing.
	Rating *Rating
	Expiry *Expiry
}

// Reflection is one note in the place of several.
type Reflection struct {
	Text string
	Of   []string // the labels of those that it condenses, two or more
}

// CanObserve gives what condenses conversations by a judge; nil when it cannot.
func CanObserve(j Judge) Observer {
	if j == nil {
		return nil
	}
	if w, ok := j.(interface{ Observes() bool }); ok && !w.Observes() {
		return nil
	}
	o, _ := j.(Observer)
	return o
}

// ObserverOf gives the observer that a judge is; unsupported when it is none.
func ObserverOf(j Judge) (Observer, error) {
	if o := CanObserve(j); o != nil {
		return o, nil
	}
	return nil, oxbow.Errorf(oxbow.CodeUnsupported, "the judge %s cannot condense conversations: use another one, or the offline judge", j.Name())
}
