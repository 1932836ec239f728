package api

import (
	"context"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/recall"
)

// Question is what a caller asks recall.
type Question struct {
	Scope    string         `json:"scope" doc:"such as user:ada"`
	Query    string         `json:"query,omitempty" doc:"the words as typed, at most 64 KiB"`
	Goal     string         `json:"goal,omitempty" doc:"what the agent is after"`
	Step     string         `json:"step,omitempty" doc:"what it is doing for that now"`
	Open     []string       `json:"open,omitempty" maxItems:"32" doc:"what it does not know yet"`
	Strategy string         `json:"strategy,omitempty" doc:"hybrid when it is empty; see docs/recall.md"`
	Limit    int            `json:"limit,omitempty" minimum:"0" maximum:"100"`
	Floor    *float64       `json:"floor,omitempty" minimum:"0" maximum:"1" doc:"the least score"`
	Budget   int            `json:"budget,omitempty" minimum:"0" doc:"tokens that the results may take together"`
	AsOf     time.Time      `json:"as_of,omitzero" doc:"answer with what was known then"`
	Include  []oxbow.Status `json:"include,omitempty" doc:"statuses beside active"`
	Slot     string         `json:"slot,omitempty"`
	Kind     oxbow.Kind     `json:"kind,omitempty"`
	Tag      string         `json:"tag,omitempty"`
	// Conversation is where the results are shown.
	Conversation string `json:"conversation,omitempty" doc:"the conversation that the results are shown in: what is said there of them afterwards confirms nothing"`
	Passive      bool   `json:"passive,omitempty" doc:"nobody asked: the results are shown by themselves and do not count as used"`
	Explain      bool   `json:"explain,omitempty" doc:"give what each stage made of each result"`
}

func (q Question) recall(s oxbow.Scope) engine.Recall {
	return engine.Recall{Scope: s, Text: q.Query, State: recall.State{Goal: q.Goal, Step: q.Step, Open: q.Open}, Strategy: q.Strategy,
		Limit: q.Limit, Floor: q.Floor, Budget: q.Budget, AsOf: q.AsOf, Include: q.Include, Slot: q.Slot, Kind: q.Kind, Tag: q.Tag, Passive: q.Passive, Conversation: q.Conversation}
}

type recallInput struct{ Body Question }

// Found is a memory that answers.
type Found struct {
	Memory engine.View    `json:"memory"`
	Score  float64        `json:"score" doc:"0 to 1"`
	Match  string         `json:"match" doc:"what found it: fts, embedding or graph, joined by +"`
	Stages []recall.Stage `json:"stages,omitempty"`
}

// Recalled is what a question found, the best first.
type Recalled struct {
	Strategy string       `json:"strategy"`
	Results  []Found      `json:"results"`
	Rest     *recall.Rest `json:"rest,omitempty" doc:"what exceeded the budget, in one block"`
	Notes    []string     `json:"notes,omitempty"`
}

// Block is a rendered answer, for the preamble of the user's turn.
type Block struct {
	Text     string   `json:"text" doc:"put it before the user's words, never into the system prompt: it is evidence, not policy"`
	Memories []string `json:"memories" doc:"the ids of what it shows"`
	Notes    []string `json:"notes,omitempty"`
}

func (a *API) recall() {
	route(a, op{"POST", "/v1/recall", "recall", "recall", "Find what answers a question; nothing, when nothing fits", oxbow.MayRead, 0}, ask)
	route(a, op{"POST", "/v1/context", "context", "recall", "The same as a labelled block for the user's turn", oxbow.MayRead, 0}, block)
}

func ask(ctx context.Context, c call, in *recallInput) (Recalled, error) {
	got, err := c.e.Recall(ctx, in.Body.recall(c.scope(in.Body.Scope)))
	out := Recalled{Strategy: got.Strategy, Results: []Found{}, Rest: got.Rest, Notes: got.Notes}
	if err != nil {
		return out, err
	}
	ms := make([]oxbow.Memory, len(got.Results))
	for i, r := range got.Results {
		ms[i] = r.Memory
	}
	views, err := c.e.Views(ctx, ms)
	for i, v := range views {
		f := Found{Memory: v, Score: got.Results[i].Score, Match: got.Results[i].Match}
		if in.Body.Explain {
			f.Stages = got.Results[i].Stages
		}
		out.Results = append(out.Results, f)
	}
	return out, err
}

func block(ctx context.Context, c call, in *recallInput) (Block, error) {
	in.Body.Passive = true
	s := c.scope(in.Body.Scope)
	got, err := c.e.Recall(ctx, in.Body.recall(s))
	out := Block{Memories: []string{}, Notes: got.Notes}
	if err != nil {
		return out, err
	}
	for _, r := range got.Results {
		out.Memories = append(out.Memories, r.Memory.ID)
	}
	zone, err := c.e.Zone(ctx, s)
	if err != nil {
		return out, err
	}
	out.Text = recall.Render(got, c.e.Now(), zone)
	return out, nil
}
