package recall

import (
	"context"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/store"
)

// Query is a question to one scope.
type Query struct {
	Scope    oxbow.Scope
	Text     string         // the words as typed, at most 64 KiB; none asks by State alone
	State    State          // what the agent is doing
	Strategy string         // one of Strategies; "" is hybrid
	Limit    int            // how many results, 1 to 100; 0 is the strategy's own
	Floor    *float64       // the least score, 0 to 1; nil is the strategy's own
	Budget   int            // tokens that the results may take together; 0 is no limit
	AsOf     time.Time      // answer with what was known then; zero is now
	Include  []oxbow.Status // statuses beside active
	Slot     string         // only facts of this slot
	Kind     oxbow.Kind     // only memories of this kind
	Tag      string         // only memories with this tag
	Now      time.Time      // the present; must be set
}

// State is what an agent is doing at the moment: the cue that dense search goes
// by, after the published design that asks by state of mind and not by the last
// message.
type State struct {
	Goal string   // what it is after
	Step string   // what it is doing for that now
	Open []string // what it does not know yet
}

// Result is one memory that answers.
type Result struct {
	Memory oxbow.Memory // as it was at the query's AsOf
	Score  float64      // 0 to 1; the strategy says what it measures
	Match  string       // what found it: fts, embedding or graph, joined by +
	Stages []Stage      // what each stage made of it, in order
}

// Stage is what one stage of the pipeline gave a memory.
type Stage struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// Answer is what a query found, the best first; no results is an answer.
type Answer struct {
	Strategy string
	Results  []Result
	Rest     *Rest    // what exceeded the budget; nil when everything fits
	Notes    []string // what the asker should know, such as an arm that was away
}

// Rest is what exceeded the budget, summarised in one block.
type Rest struct {
	IDs  []string `json:"ids"` // best first
	Text string   `json:"text"`
}

// Config is what a Recaller works with.
type Config struct {
	Store store.Reader
	// Embedder makes the query's vector. Defaults to none: no dense arm.
	Embedder llm.Embedder
	// Selector picks for the strategy index. Defaults to none: index is refused.
	Selector Selector
	// Days gives the spans of time that words such as "last March" name, read at
	// ref in a zone. Defaults to none: words of time are words like others.
	Days func(text string, ref time.Time, zone *time.Location) []Span
}

// Selector picks the statements that help with a cue. It gives at most limit of
// their labels, best first; none is an answer. Its errors are those of a Judge.
type Selector interface {
	Select(ctx context.Context, cue string, items []llm.Statement, limit int) ([]string, error)
}

// Span is the time from From up to To.
type Span struct{ From, To time.Time }

// Recaller answers queries. It is safe for concurrent use.
type Recaller struct{ cfg Config }

// New makes a Recaller; it does no I/O.
func New(cfg Config) *Recaller { return &Recaller{cfg: cfg} }

// Ask answers a query. An unknown scope and a question that nothing fits have no
// results and no error. Errors: invalid for a value out of its range and for a
// strategy that there is none of; unsupported for one that needs what the
// Recaller was not given.
func (r *Recaller) Ask(ctx context.Context, q Query) (Answer, error) {
	rule, err := check(&q)
	if err != nil {
		return Answer{}, err
	}
	answer := Answer{Strategy: q.Strategy}
	settings, err := r.cfg.Store.Scope(ctx, q.Scope)
	if oxbow.CodeOf(err) == oxbow.CodeNotFound {
		return answer, nil
	}
	if err != nil {
		return answer, err
	}
	a := newAsking(r, q, settings)
	found, err := rule.find(ctx, a)
	if err != nil {
		return answer, err
	}
	answer.Results = results(cut(atLeast(found, *q.Floor), q.Limit))
	answer.Notes = a.notes
	return answer, nil
}
