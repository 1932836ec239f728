package api

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/internal/access"
)

// tagged is an answer with the version that If-Match takes.
type tagged[T any] struct {
	ETag string `header:"ETag"`
	Body T
}

// showMemory adds the one route whose answer has a version.
func (a *API) showMemory() {
	o := op{"GET", "/v1/memories/{id}", "get-memory", "memories", "One memory with what follows from it now", oxbow.MayRead, 0}
	huma.Register(a.huma, o.operation(), func(ctx context.Context, in *memoryInput) (*tagged[engine.View], error) {
		c := access.CallerOf(ctx)
		m, err := a.e.Memory(ctx, c.Tenant, in.ID.ID)
		if err != nil {
			return nil, a.problem(ctx, err)
		}
		views, err := a.e.Views(ctx, []oxbow.Memory{m})
		if err != nil {
			return nil, a.problem(ctx, err)
		}
		return &tagged[engine.View]{ETag: etag(m.Version), Body: views[0]}, nil
	})
}
