package api

import (
	"context"
	"net/http"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/store"
)

// Exchange is a turn as a caller writes it.
type Exchange struct {
	ID           string       `json:"id,omitempty" doc:"yours; without one a turn is what it says, when and where"`
	Scope        string       `json:"scope" doc:"such as user:ada" example:"user:ada"`
	Conversation string       `json:"conversation,omitempty" example:"c42"`
	User         string       `json:"user,omitempty" doc:"what the user said, at most 64 KiB" example:"I moved to Stockholm last week"`
	Assistant    string       `json:"assistant,omitempty" doc:"what the assistant answered, at most 64 KiB" example:"Noted."`
	Parts        []oxbow.Part `json:"parts,omitempty" maxItems:"64" doc:"text of tools, web pages and imports"`
	At           time.Time    `json:"at,omitzero" doc:"when it was said; now when it is empty"`
}

type ingestInput struct {
	Once
	Body struct {
		Turns []Exchange `json:"turns" minItems:"1" maxItems:"500"`
	}
}

// ingested is what became of turns at once; their extraction still runs.
type ingested struct {
	New      int      `json:"new" doc:"turns that were not known"`
	Known    int      `json:"known" doc:"turns that were there already"`
	Redacted int      `json:"redacted" doc:"secret-shaped strings taken out before storing"`
	Turns    []string `json:"turns" doc:"their ids, in order; GET /v1/turns/{id} says what was made of one"`
	Runs     []string `json:"runs" doc:"the run of each, in order: what reading it changes; GET /v1/runs/{id} shows it"`
}

// location is where what was made of a turn shows, when there is one.
func (i ingested) location() string {
	if len(i.Turns) != 1 {
		return ""
	}
	return "/v1/turns/" + i.Turns[0]
}

type turnInput struct{ ID }

type turnsInput struct {
	Page
	Scope        string `query:"scope"`
	Conversation string `query:"conversation"`
	State        string `query:"state" enum:"waiting,extracted,failed,erased"`
}

// read is a turn with what was made of it.
type read struct {
	oxbow.Turn
	Made []engine.View `json:"made" doc:"the memories that were made from it, in any status"`
}

func (a *API) turns() {
	route(a, op{"POST", "/v1/turns", "ingest", "turns", "Take in turns of a conversation, each at most once", oxbow.MayWrite, http.StatusAccepted}, a.ingest)
	route(a, op{"GET", "/v1/turns", "list-turns", "turns", "List turns, newest first", oxbow.MayRead, 0}, listTurns)
	route(a, op{"GET", "/v1/turns/{id}", "get-turn", "turns", "One turn, and what was made of it", oxbow.MayRead, 0}, showTurn)
	route(a, op{"DELETE", "/v1/turns/{id}", "erase-turn", "turns", "Erase a turn's text, and every memory that was made from it", oxbow.MayAdmin, 0},
		func(ctx context.Context, c call, in *turnInput) (engine.Erasure, error) {
			return c.e.EraseTurn(ctx, c.Tenant, in.ID.ID)
		})
}

func (a *API) ingest(ctx context.Context, c call, in *ingestInput) (ingested, error) {
	turns := make([]oxbow.Turn, len(in.Body.Turns))
	for i, t := range in.Body.Turns {
		if t.At.IsZero() {
			t.At = c.e.Now()
		}
		clean, err := c.e.CleanTurn(oxbow.Turn{ID: t.ID, Scope: c.scope(t.Scope), Conversation: t.Conversation,
			User: t.User, Assistant: t.Assistant, Parts: t.Parts, At: t.At})
		if err != nil {
			return ingested{}, nthTurn(err, i)
		}
		turns[i] = clean
	}
	done, err := c.e.Ingest(ctx, turns)
	return ingested{done.New, done.Known, done.Redacted, done.Turns, done.Runs}, err
}

// nthTurn says which turn of a request is meant.
func nthTurn(err error, i int) error {
	if e, ok := err.(*oxbow.Error); ok {
		return oxbow.Errorf(e.Code, "turn %d: %s; none was stored", i+1, e.Message)
	}
	return err
}

func listTurns(ctx context.Context, c call, in *turnsInput) (list[oxbow.Turn], error) {
	f := store.TurnFilter{Tenant: c.Tenant, Scope: in.Scope, Conversation: in.Conversation, State: oxbow.TurnState(in.State), Limit: in.Limit}
	last, err := engine.Behind(in.Cursor, func(id string) (oxbow.Turn, error) { return c.e.Store().Turn(ctx, c.Tenant, id) })
	if err != nil {
		return list[oxbow.Turn]{}, err
	}
	f.AfterID = last.ID
	ts, err := c.e.Store().ListTurns(ctx, f)
	return listOf(ts, in.Limit, func(t oxbow.Turn) string { return t.ID }), err
}

func showTurn(ctx context.Context, c call, in *turnInput) (read, error) {
	id, err := c.e.Store().Resolve(ctx, c.Tenant, "turn", in.ID.ID)
	if err != nil {
		return read{}, err
	}
	t, err := c.e.Store().Turn(ctx, c.Tenant, id)
	if err != nil {
		return read{}, err
	}
	ms, err := c.e.Store().ListMemories(ctx, store.MemoryFilter{Tenant: c.Tenant, Turn: t.ID, Limit: 1000})
	if err != nil {
		return read{}, err
	}
	views, err := c.e.Views(ctx, ms)
	if views == nil {
		views = []engine.View{}
	}
	return read{Turn: t, Made: views}, err
}
