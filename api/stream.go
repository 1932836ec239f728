package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/access"
	"github.com/oxbow-memory/oxbow/store"
)

type streamInput struct {
	EventQuery
	LastEventID string `header:"Last-Event-ID" doc:"go on behind this event; from now on without one"`
}

// streams adds the live log. huma's own package for server-sent events is not
// used because it answers 200 before it has looked at the request, sends nothing
// before the first event, and writes to a client that has left.
func (a *API) streams() {
	o := a.operation(op{"GET", "/v1/events/stream", "stream-events", "events", "The audit log live, as server-sent events", oxbow.MayRead, 0})
	event := a.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[oxbow.Event](), true, "Event")
	o.Responses = map[string]*huma.Response{"200": {Description: "Each message has the event's seq as id, and the event as data. A line of a colon and words says that the stream is alive.",
		Content: map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeObject,
			Properties: map[string]*huma.Schema{"id": {Type: huma.TypeInteger}, "data": event}}}}}}}
	huma.Register(a.huma, o, func(ctx context.Context, in *streamInput) (*huma.StreamResponse, error) {
		f, err := in.filter(ctx, a.e, access.CallerOf(ctx).Tenant)
		if err == nil && in.LastEventID != "" {
			if f.AfterSeq, err = strconv.ParseInt(in.LastEventID, 10, 64); err != nil || f.AfterSeq < 1 {
				err = oxbow.Errorf(oxbow.CodeInvalid, "Last-Event-ID is %q: send the id of an event, or none", in.LastEventID)
			}
		}
		if err != nil {
			return nil, a.problem(ctx, err)
		}
		return &huma.StreamResponse{Body: func(hc huma.Context) {
			r, w := humago.Unwrap(hc)
			a.stream(w, r, f)
		}}, nil
	})
}

// stream sends events until the client leaves, its key opens nothing any more, or
// the server stops.
func (a *API) stream(w http.ResponseWriter, r *http.Request, f store.EventFilter) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // a proxy must not gather what is live
	w.WriteHeader(http.StatusOK)
	out := sender{w, http.NewResponseController(w)}
	if r.Method == http.MethodHead || out.send("retry: %d\n\n", retryAfter.Milliseconds()) != nil {
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	pages, ended := a.follow(ctx, f)
	defer func() {
		cancel()
		for range pages { // until it has ended, too
		}
	}()
	alive := time.NewTicker(a.cfg.AliveEvery)
	defer alive.Stop()
	for {
		var err error
		select {
		case <-a.cfg.Done:
			return
		case page, more := <-pages:
			if !more {
				if err := <-ended; err != nil {
					a.problem(ctx, err) // logs it; the client sees the stream end
				}
				return
			}
			err = out.events(page)
		case <-alive.C:
			if oxbow.CodeOf(a.cfg.Guard.Still(r)) == oxbow.CodeUnauthorized {
				return
			}
			err = out.send(": alive\n\n")
		}
		if err != nil { // the client has left
			return
		}
	}
}

// follow gives the pages of the log as they come, until ctx ends; then, or when
// the log cannot be read, pages is closed and ended says why.
func (a *API) follow(ctx context.Context, f store.EventFilter) (pages <-chan []oxbow.Event, ended <-chan error) {
	out, end := make(chan []oxbow.Event), make(chan error, 1)
	go func() {
		defer close(out)
		tick := time.NewTicker(a.cfg.StreamEvery)
		defer tick.Stop()
		end <- a.e.Follow(ctx, f, tick.C, func(page []oxbow.Event) error {
			select {
			case out <- page:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	return out, end
}

// retryAfter is when a client whose stream broke should come again, and
// writeTimeout how long a message may take to be taken.
const (
	retryAfter   = time.Second
	writeTimeout = 5 * time.Second
)

// sender writes server-sent events.
type sender struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

// send writes and flushes; an error means that nobody reads.
func (s sender) send(format string, args ...any) error {
	// Not every writer has deadlines, and without one a dead client is noticed later.
	_ = s.control.SetWriteDeadline(time.Now().Add(writeTimeout))
	if _, err := fmt.Fprintf(s.w, format, args...); err != nil {
		return err
	}
	return s.control.Flush()
}

func (s sender) events(page []oxbow.Event) error {
	for _, e := range page {
		data, err := json.Marshal(e)
		if err != nil {
			return err
		}
		if err := s.send("id: %d\ndata: %s\n\n", e.Seq, data); err != nil {
			return err
		}
	}
	return nil
}
