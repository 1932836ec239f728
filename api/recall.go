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
	Scope    string         `json:"scope" doc:"such as user:ada" example:"user:ada"`
	Query    string         `json:"query,omitempty" doc:"the words as typed, at most 64 KiB" example:"which database do we use?"`
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

// ContextQuestion is what a caller asks a context block.
type ContextQuestion struct {
	Scope        string             `json:"scope" doc:"such as user:ada" example:"user:ada"`
	Query        string             `json:"query,omitempty" doc:"the user's message, at most 64 KiB; may be empty when goal, step or open is given" example:"which database do we use?"`
	Goal         string             `json:"goal,omitempty" doc:"what the agent is after"`
	Step         string             `json:"step,omitempty" doc:"what it is doing for that now"`
	Open         []string           `json:"open,omitempty" maxItems:"32" doc:"what it does not know yet"`
	Conversation string             `json:"conversation,omitempty" doc:"the running conversation: its observations come first, a cue that went stale in it is noticed, and what is shown in it confirms nothing there"`
	Budget       int                `json:"budget,omitempty" minimum:"0" doc:"tokens of the whole block, 200 or more; 1500 when it is 0"`
	Shares       map[string]float64 `json:"shares,omitempty" doc:"of the budget, by part: observations, recent, relevant, due"`
	At           time.Time          `json:"at,omitzero" doc:"compose it as of this instant and record nothing"`
	Zone         string             `json:"zone,omitempty" doc:"of its dates; the scope's when it is empty"`
	Strategy     string             `json:"strategy,omitempty" doc:"how what is relevant is found; hybrid when it is empty"`
	Limit        int                `json:"limit,omitempty" minimum:"0" maximum:"100" doc:"of what is relevant; 5 when it is 0"`
	Floor        *float64           `json:"floor,omitempty" minimum:"0" maximum:"1" doc:"the least match of what is relevant; 0.4 by hybrid"`
	AsOf         time.Time          `json:"as_of,omitzero" doc:"what fitted with what was known then, and nothing else"`
	Include      []oxbow.Status     `json:"include,omitempty" doc:"statuses beside active, of what is relevant"`
	Slot         string             `json:"slot,omitempty"`
	Kind         oxbow.Kind         `json:"kind,omitempty"`
	Tag          string             `json:"tag,omitempty"`
}

func (q ContextQuestion) context(s oxbow.Scope) engine.ContextQuery {
	return engine.ContextQuery{Scope: s, Text: q.Query, State: recall.State{Goal: q.Goal, Step: q.Step, Open: q.Open}, Conversation: q.Conversation,
		Budget: q.Budget, Shares: q.Shares, At: q.At, Zone: q.Zone, Strategy: q.Strategy, Limit: q.Limit, Floor: q.Floor, AsOf: q.AsOf, Include: q.Include,
		Slot: q.Slot, Kind: q.Kind, Tag: q.Tag}
}

type contextInput struct{ Body ContextQuestion }

// Block is a context block, for the preamble of the user's turn.
type Block struct {
	Text     string             `json:"text" doc:"put it before the user's words, never into the system prompt: it is evidence, not policy"`
	Memories []string           `json:"memories" doc:"the ids of what it shows, in order"`
	Parts    []recall.BlockPart `json:"parts" doc:"observations, recent, relevant, due: those that there is something of"`
	At       time.Time          `json:"at" doc:"the instant that it is about"`
	Zone     string             `json:"zone"`
	Weekday  string             `json:"weekday"`
	Tokens   int                `json:"tokens" doc:"what the text takes, estimated"`
	Budget   int                `json:"budget"`
	Rest     *recall.Rest       `json:"rest,omitempty" doc:"what exceeded the budget"`
	// StaleCue is engine.ContextBlock's.
	StaleCue bool                `json:"stale_cue" doc:"the same cue was asked before and the conversation has gone on since"`
	Stale    *engine.StaleReason `json:"stale,omitempty"`
	Notes    []string            `json:"notes,omitempty"`
}

func (a *API) recall() {
	route(a, op{"POST", "/v1/recall", "recall", "recall", "Find what answers a question; nothing, when nothing fits", oxbow.MayRead, 0}, ask)
	route(a, op{"POST", "/v1/context", "context", "recall", "The block of what is known that belongs before the user's turn, rebuilt at each", oxbow.MayRead, 0}, block)
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

func block(ctx context.Context, c call, in *contextInput) (Block, error) {
	got, err := c.e.Context(ctx, in.Body.context(c.scope(in.Body.Scope)))
	if err != nil {
		return Block{}, err
	}
	out := Block{Text: got.Text, Memories: []string{}, Parts: got.Parts, At: got.At, Zone: got.Zone, Weekday: got.Weekday, Tokens: got.Tokens, Budget: got.Budget,
		Rest: got.Rest, StaleCue: got.StaleCue, Stale: got.Stale, Notes: got.Notes}
	for _, p := range got.Parts {
		for _, l := range p.Lines {
			out.Memories = append(out.Memories, l.ID)
		}
	}
	return out, nil
}
