package api

import (
	"context"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2/sse"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/internal/access"
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

type streamInput struct {
	EventQuery
	LastEventID string `header:"Last-Event-ID" doc:"go on behind this event"`
}

func (a *API) events() {
	route(a, op{"GET", "/v1/events", "list-events", "events", "The audit log, newest first", oxbow.MayRead, 0}, listEvents)
	o := op{"GET", "/v1/events/stream", "stream-events", "events", "The audit log live, as server-sent events", oxbow.MayRead, 0}
	sse.Register(a.huma, o.operation(), map[string]any{"message": oxbow.Event{}}, a.stream)
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

// stream sends events until the client leaves. The first message comes with the
// first event, so an open stream may be silent for long.
func (a *API) stream(ctx context.Context, in *streamInput, send sse.Sender) {
	c := access.CallerOf(ctx)
	f, err := in.filter(ctx, a.e, c.Tenant)
	if err != nil {
		return
	}
	if last, err := strconv.ParseInt(in.LastEventID, 10, 64); err == nil {
		f.AfterSeq = last
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-a.cfg.Done:
			cancel()
		case <-ctx.Done():
		}
	}()
	tick := time.NewTicker(a.cfg.StreamEvery)
	defer tick.Stop()
	err = a.e.Follow(ctx, f, tick.C, func(events []oxbow.Event) error {
		for _, e := range events {
			if err := send(sse.Message{ID: int(e.Seq), Data: e}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		a.problem(ctx, err) // logs it; the client sees the stream end
	}
}
