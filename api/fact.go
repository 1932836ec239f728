package api

import (
	"context"
	"slices"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
)

// Address is the part of an input that names a fact.
type Address struct {
	Slot  string `path:"slot" enum:"user,project,agent"`
	Key   string `path:"key" maxLength:"128" doc:"such as timezone"`
	Scope string `query:"scope" required:"true" doc:"such as user:ada"`
}

type factInput struct{ Address }

type putFactInput struct {
	Once
	Address
	Body struct {
		Text       string       `json:"text" doc:"the value, at most 64 KiB" example:"Europe/Stockholm"`
		Importance *float64     `json:"importance,omitempty" minimum:"0" maximum:"10"`
		Source     oxbow.Source `json:"source,omitempty" doc:"who said it; user when it is empty"`
	}
}

// fact is what is known at an address.
type fact struct {
	Now     *engine.View  `json:"now,omitempty" doc:"what is believed; nothing when no value is active"`
	History []engine.View `json:"history" doc:"every value that was ever held there, oldest said first"`
}

func (a *API) facts() {
	route(a, op{"GET", "/v1/facts/{slot}/{key}", "get-fact", "facts", "What is known at an address, and what was", oxbow.MayRead, 0}, getFact)
	writes(a, op{"PUT", "/v1/facts/{slot}/{key}", "put-fact", "facts", "Say what a fact's value is; an older value is superseded and stays readable", oxbow.MayWrite, 0}, putFact)
}

func getFact(ctx context.Context, c call, in *factInput) (fact, error) {
	out := fact{History: []engine.View{}}
	ms, err := c.e.Fact(ctx, c.scope(in.Scope), in.Slot, in.Key)
	if err != nil {
		return out, err
	}
	if out.History, err = c.e.Views(ctx, ms); err != nil {
		return out, err
	}
	if i := slices.IndexFunc(out.History, func(v engine.View) bool { return v.Live }); i >= 0 {
		out.Now = &out.History[i]
	}
	return out, nil
}

func putFact(ctx context.Context, c call, in *putFactInput) (written, error) {
	w, err := c.e.Remember(ctx, engine.Statement{Scope: c.scope(in.Scope), Text: in.Body.Text, Slot: in.Slot, Key: in.Key,
		Importance: in.Body.Importance, Source: in.Body.Source})
	return c.written(ctx, w, err)
}
