// Package llm is the contract of what judges: the questions about memories
// that rules of time cannot answer. llm/openai asks an OpenAI-compatible model,
// llm/offline answers by rules, llm/llmtest is a server that plays a model.
//
// A judge proposes and never acts. It sees texts and labels, no ids and no
// database, and what it answers goes through the gate in package jobs before
// anything changes. Implementations must be safe for concurrent use, must heed
// ctx, and must not keep or log what they are shown.
package llm

import (
	"context"
	"errors"
	"time"

	"github.com/oxbow-memory/oxbow"
)

// Judge answers the questions of the lifecycle. Its errors are of four kinds:
// ErrUnparsable (it answered, but not in the form; nothing may change),
// ErrRefused (it does not take these words, but others; nothing may change, and
// what waits behind them goes on), *AwayError (it cannot be reached now; ask again
// later), and any other (permanent: asking again will not help).
type Judge interface {
	// Name is judge@version, such as offline@1 or openai/small@3. It stands in
	// every event that follows from an answer.
	Name() string
	// Extract gives the memories that a turn is worth; none is an answer, with
	// the reason why.
	Extract(ctx context.Context, t TurnText) (Extraction, error)
	// Confidence says how surely a memory was stated in its turn.
	Confidence(ctx context.Context, memory string, t TurnText) (Rating, error)
	// Relate compares a statement with others. Only labels that were offered
	// may be named; what is not named is unrelated.
	Relate(ctx context.Context, s Statement, others []Statement) ([]Relation, error)
	// Expiry says whether a statement ends by itself, and when.
	Expiry(ctx context.Context, s Statement, zone *time.Location) (Expiry, error)
	// Cluster gives groups of labels that say nearly the same.
	Cluster(ctx context.Context, items []Statement) ([][]string, error)
	// Synthesize rewrites a group as one better statement.
	Synthesize(ctx context.Context, items []Statement) (Synthesis, error)
}

// Cuer is a judge that knows by which further words a statement's rivals are
// found: other spellings, and the names of what it would replace. The words are
// searched for and never stored or shown.
type Cuer interface {
	Cue(s Statement) string
}

// Selector is a judge that chooses, for a recall, among memories that it is
// offered. It stands beside Judge because nothing of the lifecycle needs it.
// Its errors are those of a Judge; whoever asks chooses how long to wait, by ctx.
type Selector interface {
	// Select gives the labels of the items that help with a cue, which is what
	// somebody asks or is about to do: the most helpful first, each once, at most
	// limit. Only labels that were offered come back; none is an answer.
	Select(ctx context.Context, cue string, items []Statement, limit int) ([]string, error)
}

// Signer is a judge whose answers do not all come from the same model.
type Signer interface {
	// NameOf is Name for one question, such as synthesize.
	NameOf(question string) string
}

// NameOf gives the name that stands in the events that follow from a question.
func NameOf(j Judge, question string) string {
	if s, ok := j.(Signer); ok {
		return s.NameOf(question)
	}
	return j.Name()
}

// Reader is a judge that reads the typed details of a statement. It asks nobody,
// answers the same every time and takes well under a millisecond, because it
// stands in the way of every write.
type Reader interface {
	Details(text string, saidAt time.Time) []oxbow.Detail
}

// TurnText is the text of one exchange as a judge sees it.
type TurnText struct {
	User      string
	Assistant string
	Parts     []oxbow.Part
	At        time.Time // in the zone in which the days of its words are meant
}

// Statement is a memory as a judge sees it.
type Statement struct {
	Label  string // c1, c2 …; mapped per call, never an id
	Text   string
	Kind   oxbow.Kind
	Key    string // for a fact
	Source oxbow.Source
	SaidAt time.Time
	// Details are what was read from the text when it was stored; a judge may
	// compare by them, or read the text itself when there are none. They follow
	// from Text and SaidAt, so they are no part of the question.
	Details []oxbow.Detail `json:"-"`
}

// Extraction is what a turn is worth keeping.
type Extraction struct {
	Drafts []Draft
	Reason string // when there are none: why, in a few words without content
}

// Draft is a proposed memory.
type Draft struct {
	Text       string
	Summary    string // at most 100 characters
	Tags       []string
	Kind       oxbow.Kind
	Slot, Key  string  // for a fact: slot user, project or agent
	Importance float64 // 0 to 10
	Quote      string  // the words of the turn that it rests on

	// Rating and Expiry are what the judge says of it in the same breath, so that
	// nobody has to ask; nil when it says nothing.
	Rating *Rating
	Expiry *Expiry
}

// Rating says how surely something was stated.
type Rating struct {
	Confidence float64 // 1 explicit, 0.7 clearly implied, 0.5 reasonable, 0.3 weak, 0.1 speculation
}

// Relation says how a statement stands to another one, always read as the
// newer of the two against the older.
type Relation struct {
	Label    string
	Relation oxbow.Relation // contradicts, supersedes, confirms, conflicts (unsure) or unrelated
}

// Expiry says when a statement stops being true by itself.
type Expiry struct {
	Date   time.Time // an instant on its last day, in the zone; zero when there is none
	Phrase string    // the words that say so
	Event  bool      // ends with an event that has no date: gets a review date
}

// Synthesis is a group rewritten.
type Synthesis struct {
	Text    string
	Summary string
	Tags    []string
}

// ErrUnparsable says that the judge answered, but not in the form asked for.
var ErrUnparsable = errors.New("the judge's answer does not parse")

// ErrRefused says that the judge does not take these words, though it takes
// others: they are too long for it, or it filters them. Asking again will not
// help, and nothing is wrong with the judge.
var ErrRefused = errors.New("the judge refuses the text")

// AwayError says that the judge cannot be asked now: it is down, overloaded,
// or out of quota. Jobs wait and spend no attempt.
type AwayError struct {
	RetryAfter time.Duration // 0 when the judge does not say
	Err        error
}

// Error names the cause.
func (e *AwayError) Error() string { return "the judge is away: " + e.Err.Error() }

// Unwrap gives the cause.
func (e *AwayError) Unwrap() error { return e.Err }
