package llm

import (
	"context"
	"time"
)

// Caller says for whom, and in what work, a judge is asked. It travels in the
// context, because it is about the question and no part of it: a judge that
// costs nothing never looks.
type Caller struct {
	Tenant string
	Scope  string // a name; empty when the question is about none
	Run    string
	Job    string // the kind of the job, or what an operator does
	// Owners are the turn and the memories whose words are asked about. An
	// answer may be kept only under their names, so that it is erased with them.
	Owners []string
	// Anew, when it is not empty, names a judging for which what was answered
	// before it does not count. Within it a question is still paid for once.
	Anew string
}

type callerKey struct{}

// WithCaller gives a context in which judges are asked for a caller.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf gives a context's caller; the empty one when nobody said.
func CallerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}

// WithOwners gives a context in which the same caller asks about the words of
// other owners.
func WithOwners(ctx context.Context, owners ...string) context.Context {
	c := CallerOf(ctx)
	c.Owners = owners
	return WithCaller(ctx, c)
}

// Meter counts what judges spend, and stops them at a limit. A judge that sends
// requests calls it around each of them, whether or not it is a second try.
type Meter interface {
	// Reserve sets the tokens of a request aside before it is sent, and gives
	// the call with its instant, for Settle. *AwayError with the code budget
	// when they do not fit; then nothing may be sent.
	Reserve(ctx context.Context, c Call) (Call, error)
	// Settle puts what a request really took in the place of what was set
	// aside, and keeps a record of it when it reached the endpoint. It must be
	// called once for each Reserve, and works though ctx has ended.
	Settle(ctx context.Context, c Call, s Spent) error
}

// Call is one request as it is known before it is sent.
type Call struct {
	Caller  Caller
	Purpose string // the question
	Model   string
	In      int // tokens of the request, estimated
	MaxOut  int // tokens that the answer may have, estimated
	At      time.Time
}

// Spent is what a request took.
type Spent struct {
	Reached   bool // the endpoint saw the request
	Outcome   Outcome
	In, Out   int  // tokens
	Cached    int  // of In, those that the endpoint had read before
	Estimated bool // the endpoint did not say
	Latency   time.Duration
}

// Outcome is how a request ended.
type Outcome string

// The outcomes of a request.
const (
	OutcomeOK         Outcome = "ok"
	OutcomeUnparsable Outcome = "unparsable" // an answer that could not be used
	OutcomeRefused    Outcome = "refused"    // the endpoint does not take such requests
	OutcomeAway       Outcome = "away"       // the endpoint is overloaded, out of quota or failing
	OutcomeLost       Outcome = "lost"       // no complete answer came back
)

// PurposePing is the question that only looks whether an endpoint answers. It
// is counted and never turned away.
const PurposePing = "ping"

// PurposeEmbed is what is asked of an Embedder that costs something.
const PurposeEmbed = "embed"

// PassLimit is where passes stop drawing on a day's budget, so that a quarter of
// it is left for new writes.
func PassLimit(budget int64) int64 { return budget / 4 * 3 }

// BudgetDay is the day of UTC that an instant's tokens are taken from, and
// when the next one begins.
func BudgetDay(t time.Time) (day string, next time.Time) {
	t = t.UTC()
	y, m, d := t.Date()
	return t.Format(time.DateOnly), time.Date(y, m, d+1, 0, 0, 0, 0, time.UTC)
}

// TokensOf estimates the tokens of a text of so many bytes: a quarter of them,
// which is what English comes to with the encodings of today.
func TokensOf(bytes int) int { return (bytes + 3) / 4 }
