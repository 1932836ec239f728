package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
)

// tagged is an answer with the version that If-Match takes.
type tagged[T any] struct {
	ETag     string `header:"ETag" doc:"the memory's version; send it back as If-Match"`
	Location string `header:"Location"`
	Body     T
}

// taggedRoute adds a route whose answer has a version.
func taggedRoute[I, O any](a *API, o op, version func(O) int, fn func(ctx context.Context, c call, in *I) (O, error)) {
	huma.Register(a.huma, a.operation(o), func(ctx context.Context, in *I) (*tagged[O], error) {
		out, err := answer(ctx, a, o, in, fn)
		if err != nil {
			return nil, err
		}
		t := &tagged[O]{ETag: etag(version(out)), Body: out}
		if o.status == http.StatusCreated {
			t.Location = locationOf(out)
		}
		return t, nil
	})
}

// writes adds a route that gives a memory as it left it.
func writes[I any](a *API, o op, fn func(ctx context.Context, c call, in *I) (written, error)) {
	taggedRoute(a, o, func(w written) int { return w.Memory.Version }, fn)
}

func showMemory(ctx context.Context, c call, in *memoryInput) (engine.View, error) {
	m, err := c.e.Memory(ctx, c.Tenant, in.ID.ID)
	if err != nil {
		return engine.View{}, err
	}
	views, err := c.e.Views(ctx, []oxbow.Memory{m})
	if err != nil {
		return engine.View{}, err
	}
	return views[0], nil
}
