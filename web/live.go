package web

import (
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/access"
	"github.com/oxbow-memory/oxbow/store"
)

// live tells a page that something changed, and with beat=1 every now and then
// that something may have, since a queue moves without an event. It holds no
// content: the page is asked for again. It ends with the browser, the server, or
// the key that opened it.
func (c *Console) live(w http.ResponseWriter, r *http.Request) {
	who, err := c.cfg.Guard.Caller(r)
	if err != nil {
		access.Answer(w, access.Unidentified(w, err))
		return
	}
	a := ask{r, who, c.cfg.Engine}
	var f store.EventFilter
	if err = who.May(oxbow.MayRead); err == nil {
		f, err = a.events()
	}
	if err == nil { // before the browser is told to look, or a change in between would show late
		f.AfterSeq, err = c.cfg.Engine.NewestEvent(r.Context(), a.Tenant)
	}
	if err != nil {
		access.Answer(w, access.ProblemOf(err))
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // a proxy that gathers answers would hold it back
	changed, ended := make(chan struct{}, 1), make(chan error, 1)
	go func() {
		look := time.NewTicker(c.cfg.LookEvery)
		defer look.Stop()
		ended <- c.cfg.Engine.Follow(r.Context(), f, look.C, func([]oxbow.Event) error {
			select {
			case changed <- struct{}{}:
			default: // the page has not been told of the last one yet
			}
			return nil
		})
	}()
	beat := time.NewTicker(c.cfg.BeatEvery)
	defer beat.Stop()
	pulse := ": still here\n\n"
	if r.URL.Query().Get("beat") != "" {
		pulse = tick("beat")
	}
	for words := ": open\n\n"; send(w, words) == nil; {
		select {
		case <-r.Context().Done():
			return
		case <-c.cfg.Done:
			return
		case err := <-ended:
			if err != nil {
				c.cfg.Log.ErrorContext(r.Context(), "live page ended", slog.String("request", access.RequestID(r.Context())), slog.String("error", err.Error()))
			}
			return
		case <-changed:
			words = tick("changed")
		case <-beat.C:
			if oxbow.CodeOf(c.cfg.Guard.Still(r)) == oxbow.CodeUnauthorized { // the page asks anew, and is told so
				return
			}
			words = pulse
		}
	}
}

func tick(name string) string { return "event: " + name + "\ndata: {}\n\n" }

// writeWithin bounds each write, so that a browser that reads nothing is let go.
const writeWithin = 10 * time.Second

func send(w http.ResponseWriter, words string) error {
	rc := http.NewResponseController(w)
	// A server that cannot set a deadline can still write.
	_ = rc.SetWriteDeadline(time.Now().Add(writeWithin))
	if _, err := fmt.Fprint(w, words); err != nil {
		return err
	}
	return rc.Flush()
}
