package api

import (
	"context"
	"strconv"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/store"
)

// EventQuery is the part of an input that selects events.
type EventQuery struct {
	Scope  string    `query:"scope"`
	Memory string    `query:"memory"`
	Run    string    `query:"run"`
	Type   []string  `query:"type" doc:"such as superseded; several with commas"`
	Since  time.Time `query:"since" doc:"only about then or later"`
}

func (q EventQuery) filter(ctx context.Context, e *engine.Engine, tenant string) (store.EventFilter, error) {
	f := store.EventFilter{Tenant: tenant, Scope: q.Scope, Since: q.Since}
	var err error
	if f.Types, err = engine.EventTypesOf(q.Type); err != nil {
		return f, err
	}
	if q.Memory != "" {
		if f.Memory, err = e.Store().Resolve(ctx, tenant, "memory", q.Memory); err != nil {
			return f, err
		}
	}
	if q.Run != "" {
		f.Run, err = e.Store().Resolve(ctx, tenant, "run", q.Run)
	}
	return f, err
}

type eventsInput struct {
	Page
	EventQuery
}

func (a *API) events() {
	route(a, op{"GET", "/v1/events", "list-events", "events", "The audit log, newest first", oxbow.MayRead, 0}, listEvents)
	a.streams()
}

func listEvents(ctx context.Context, c call, in *eventsInput) (list[oxbow.Event], error) {
	f, err := in.filter(ctx, c.e, c.Tenant)
	if err != nil {
		return list[oxbow.Event]{}, err
	}
	f.Newest, f.Limit = true, in.Limit
	if in.Cursor != "" {
		if f.AfterSeq, err = strconv.ParseInt(in.Cursor, 10, 64); err != nil || f.AfterSeq < 1 {
			return list[oxbow.Event]{}, noCursor(in.Cursor)
		}
	}
	events, err := c.e.Store().Events(ctx, f)
	return listOf(events, in.Limit, func(e oxbow.Event) string { return strconv.FormatInt(e.Seq, 10) }), err
}
