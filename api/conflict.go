package api

import (
	"context"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/store"
)

type conflictsInput struct {
	Page
	Scope string `query:"scope"`
}

type keepInput struct {
	Once
	ID
	Body struct {
		Over   string `json:"over,omitempty" maxLength:"64" doc:"the memory that is set aside for it"`
		Beside string `json:"beside,omitempty" maxLength:"64" doc:"the memory that holds too; give this or over"`
	}
}

func (a *API) conflicts() {
	route(a, op{"GET", "/v1/conflicts", "list-conflicts", "memories", "List pairs of memories of which a person has to say which one holds, newest first", oxbow.MayRead, 0},
		listConflicts)
	writes(a, op{"POST", "/v1/memories/{id}/keep", "keep-memory", "memories", "Decide a conflict: keep a memory over another one, or both", oxbow.MayMaintain, 0}, keepMemory)
}

func listConflicts(ctx context.Context, c call, in *conflictsInput) (list[engine.Conflict], error) {
	f := store.ConflictFilter{Tenant: c.Tenant, Scope: in.Scope, Limit: in.Limit}
	var err error
	if f.After, err = engine.Behind(in.Cursor, func(name string) (oxbow.Link, error) { return c.e.ConflictNamed(ctx, c.Tenant, name) }); err != nil {
		return list[engine.Conflict]{}, err
	}
	cs, err := c.e.Conflicts(ctx, f)
	return listOf(cs, in.Limit, engine.Conflict.Name), err
}

func keepMemory(ctx context.Context, c call, in *keepInput) (written, error) {
	w, err := c.e.Decide(ctx, c.Tenant, in.ID.ID, engine.Ruling{Over: in.Body.Over, Beside: in.Body.Beside})
	return c.written(ctx, w, err)
}
