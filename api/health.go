package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/oxbow-memory/oxbow"
)

// Health answers whether the process lives (/healthz) and whether it should be
// sent requests (/readyz). Neither asks for a key nor tells more than words.
type Health struct {
	// Store is asked for its version, which is a read of the database.
	Store interface {
		SchemaVersion(ctx context.Context) (have, want int64, err error)
	}
	// Draining tells whether the process is about to stop. Defaults to never.
	Draining func() bool
	// Workers counts the workers of the database that are alive, wherever they
	// run. Defaults to none being looked for.
	Workers func(ctx context.Context) (int, error)
}

// checkTimeout bounds the checks of one request.
const checkTimeout = 2 * time.Second

// Handle adds the routes.
func (h Health) Handle(mux *http.ServeMux) {
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		answerChecks(w, map[string]string{"process": "ok"}, true)
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), checkTimeout)
		defer cancel()
		checks, ok := h.checks(ctx)
		answerChecks(w, checks, ok)
	})
}

func (h Health) checks(ctx context.Context) (map[string]string, bool) {
	out, ok := map[string]string{"process": "ok"}, true
	set := func(name, state string, good bool) {
		out[name] = state
		ok = ok && good
	}
	if h.Draining != nil && h.Draining() {
		set("process", "draining", false)
	}
	have, want, err := h.Store.SchemaVersion(ctx)
	switch {
	case err != nil:
		set("database", away(err), false)
	case have < want:
		set("database", "ok", true)
		set("migrations", "pending", false)
	case have > want: // a release migrates before it replaces those that run, which go on until then
		set("database", "ok", true)
		set("migrations", "newer than this program", true)
	default:
		set("database", "ok", true)
		set("migrations", "ok", true)
	}
	if h.Workers != nil && err == nil {
		switch n, err := h.Workers(ctx); {
		case err != nil:
			set("scheduler", away(err), false)
		case n == 0:
			set("scheduler", "no worker is alive", false)
		default:
			set("scheduler", "ok", true)
		}
	}
	return out, ok
}

// away says why a check has no answer: a database that takes longer than the check may
// is as good as one that is not there.
func away(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return oxbow.CodeUnavailable
	}
	return oxbow.CodeOf(err)
}

func answerChecks(w http.ResponseWriter, checks map[string]string, ok bool) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if !ok {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"ok": ok, "checks": checks}) // the status is sent
}
