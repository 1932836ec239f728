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
	Text     string         // the words as typed; what is over 64 KiB is left out
	State    State          // what the agent is doing
	Strategy string         // one of Strategies; "" is hybrid
	Limit    int            // how many results, 1 to 100; 0 is the strategy's own
	Floor    *float64       // the least score, 0 to 1; nil is the strategy's own
	Budget   int            // tokens that the results may take together, as rendered; 0 is no limit
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

// Result is one memory that answers, as it was at the instant asked about.
type Result struct {
	Memory     oxbow.Memory `json:"memory"`
	Score      float64      `json:"score"`      // 0 to 1; the strategy says what it measures
	Match      string       `json:"match"`      // what found it: fts, embedding or graph, joined by +; index when it was listed
	Confidence float64      `json:"confidence"` // 0 to 1
	Strength   float64      `json:"strength"`   // 0 to 1
	Age        string       `json:"age"`        // in words: today, yesterday, 12 days ago
	Stages     []Stage      `json:"stages"`     // what each stage made of it, in order
}

// Stage is what one stage of the pipeline gave a memory.
type Stage struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// Answer is what a query found, the best first; no results is an answer.
type Answer struct {
	Strategy string    `json:"strategy"`
	At       time.Time `json:"at"` // the instant that it is about
	Results  []Result  `json:"results"`
	Rest     *Rest     `json:"rest,omitempty"`  // what exceeded the budget; nil when everything fits
	Notes    []string  `json:"notes,omitempty"` // what the asker should know, such as an arm that was away
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
	// VectorWeight is what a cosine of 1 counts in hybrid, in mean weights of a
	// word. Defaults to 0: vectors count where words find too little. Of use with
	// a model; the offline embedder knows spelling and no meaning.
	VectorWeight float64
	// VectorBytes bounds the memory for vectors of all scopes together, see
	// Matrix. Defaults to 64 MiB; below 0 none are held.
	VectorBytes int64
	// Selector picks for the strategy index. Defaults to none: index is refused.
	Selector llm.Selector
	// Days gives the spans of time that words such as "last March" name, read at
	// ref in a zone. Defaults to none: words of time are words like others.
	Days func(text string, ref time.Time, zone *time.Location) []Span
	// Classes gives the sorts of things that a question asks for, for OfClass.
	// Defaults to none: OfClass finds nothing.
	Classes func(question string) []Class
}

// Span is the time from From up to To.
type Span struct{ From, To time.Time }

// Recaller answers queries. It is safe for concurrent use.
type Recaller struct {
	cfg    Config
	matrix *Matrix
	nodes  *Matrix // of the graph
}

// New makes a Recaller; it does no I/O.
func New(cfg Config) *Recaller {
	return &Recaller{cfg: cfg, matrix: NewMatrix(cfg.Store, cfg.VectorBytes),
		nodes: NewMatrix(nodeVectors{cfg.Store}, cfg.VectorBytes)}
}

// Ask answers a query. An unknown scope and a question that nothing fits have no
// results and no error. Errors: invalid for a value out of its range and for a
// strategy that there is none of; unsupported for one that needs what the
// Recaller was not given; for index those of its Selector.
func (r *Recaller) Ask(ctx context.Context, q Query) (Answer, error) {
	rule, err := check(&q)
	if err != nil {
		return Answer{}, err
	}
	settings, err := r.cfg.Store.Scope(ctx, q.Scope)
	a := newAsking(r, q, settings)
	answer := Answer{Strategy: q.Strategy, At: a.at, Results: []Result{}}
	if oxbow.CodeOf(err) == oxbow.CodeNotFound {
		return answer, nil
	}
	if err != nil {
		return answer, err
	}
	if a.isEmpty() {
		answer.Notes = []string{"the question has no words, so nothing was looked for"}
		return answer, nil
	}
	found, err := rule.find(ctx, a)
	if err != nil {
		return answer, err
	}
	found = cut(atLeast(found, *q.Floor), q.Limit)
	answer.Results, answer.Rest = a.withinBudget(a.results(found))
	answer.Notes = a.notes
	return answer, nil
}
