package web

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/internal/text"
)

// done are the sentences that say what an action did. A URL names one, so that
// no link can put words of its own on a page.
var done = map[string]string{
	"pinned": "Pinned: it does not fade and nothing replaces it.", "unpinned": "Unpinned: its idle clock starts anew.",
	"archived": "Archived. It can be restored.", "restored": "Restored: it is believed again, and its idle clock starts anew.",
	"released": "Released from quarantine, and judged now.", "edited": "Changed. Its words are judged anew.",
	"redacted": "Changed, and what looks like a secret was taken out before it was stored. Its words are judged anew.", "erased": "Erased: its words are gone everywhere, and a tombstone stays.",
	"kept": "Decided. The other one was set aside, and the decision binds every judge.", "both": "Decided. Both hold, and no judge sets them against each other again.", "started": "Started. Its run is in the list.", "idle": "Nothing was started: there is no scope yet. The first memory makes one.",
	"retried": "The job runs again.", "cancelled": "The job is cancelled.", "stopped": "The run is cancelled. What it did so far stays.", "paused": "Paused.", "resumed": "Resumed.",
}

func said(code string) string { return done[code] }

// act adds a form's target: it needs a permission, does one thing, and goes back
// to a page that says what was done.
func (c *Console) act(path string, may oxbow.Permission, do func(ctx context.Context, a ask) (page, code string, err error)) {
	c.mux.HandleFunc("POST "+Root+path, func(w http.ResponseWriter, r *http.Request) {
		a, ok := c.enter(w, r)
		if !ok {
			return
		}
		err := a.May(may)
		var page, code string
		if err == nil {
			page, code, err = do(r.Context(), a)
		}
		if err != nil {
			c.fail(w, a, err)
			return
		}
		// What changes a memory stands in the audit log; this says who did the rest.
		c.cfg.Log.InfoContext(r.Context(), "done by hand", slog.String("action", strings.TrimPrefix(r.URL.Path, Root)),
			slog.String("name", cmp.Or(a.PostFormValue("name"), a.PostFormValue("job"))), slog.String("scope", a.PostFormValue("scope")), slog.String("actor", a.Actor), slog.String("tenant", a.Tenant))
		http.Redirect(w, r, Root+page+"?did="+code, http.StatusSeeOther)
	})
}

// backOf gives the page on which the form with this target stands.
func backOf(target string) string {
	parts := strings.Split(strings.TrimPrefix(target, Root), "/")
	switch {
	case len(parts) == 3 && (parts[0] == "memories" || parts[0] == "runs"):
		return parts[0] + "/" + url.PathEscape(parts[1])
	case parts[0] == "queues" || parts[0] == "discarded":
		return "jobs"
	}
	return parts[0]
}

func (c *Console) acts() {
	c.actOn("pin", "pinned", oxbow.MayMaintain, (*engine.Engine).Pin)
	c.actOn("unpin", "unpinned", oxbow.MayMaintain, (*engine.Engine).Unpin)
	c.actOn("archive", "archived", oxbow.MayWrite, (*engine.Engine).Archive)
	c.actOn("release", "released", oxbow.MayMaintain, (*engine.Engine).Release)
	c.act("memories/{id}/edit", oxbow.MayWrite, edit)
	c.act("memories/{id}/restore", oxbow.MayMaintain, restore)
	c.act("memories/{id}/erase", oxbow.MayAdmin, func(ctx context.Context, a ask) (string, string, error) {
		_, err := a.e.EraseMemory(ctx, a.Tenant, a.PathValue("id"))
		return "memories/" + url.PathEscape(a.PathValue("id")), "erased", err
	})
	c.act("review/keep", oxbow.MayMaintain, func(ctx context.Context, a ask) (string, string, error) {
		_, err := a.e.Decide(ctx, a.Tenant, a.PostFormValue("keep"), engine.Ruling{Over: a.PostFormValue("drop")})
		return "review", "kept", err
	})
	c.act("review/both", oxbow.MayMaintain, func(ctx context.Context, a ask) (string, string, error) {
		_, err := a.e.Decide(ctx, a.Tenant, a.PostFormValue("keep"), engine.Ruling{Beside: a.PostFormValue("beside")})
		return "review", "both", err
	})
	c.act("runs", oxbow.MayMaintain, func(ctx context.Context, a ask) (string, string, error) {
		name := a.PostFormValue("job")
		if !slices.Contains(engine.Passes, name) {
			return "", "", oxbow.Errorf(oxbow.CodeInvalid, "there is no job %q to start here: use %s", name, text.OneOf(engine.Passes))
		}
		order := engine.Order{Name: name, Tenant: a.Tenant}
		if scope := a.PostFormValue("scope"); scope != "" {
			order.Scopes = []string{scope}
		}
		started, err := a.e.RunJob(ctx, order)
		if err == nil && len(started) == 0 {
			return "runs", "idle", nil
		}
		return "runs", "started", err
	})
	c.act("runs/{id}/cancel", oxbow.MayMaintain, func(ctx context.Context, a ask) (string, string, error) {
		run, err := a.e.CancelRun(ctx, a.Tenant, a.PathValue("id"))
		return "runs/" + run.ID, "stopped", err
	})
	c.actOnJob("retry", "retried", (*engine.Engine).RetryJob)
	c.actOnJob("cancel", "cancelled", (*engine.Engine).CancelJob)
	c.act("discarded/{id}/retry", oxbow.MayMaintain, func(ctx context.Context, a ask) (string, string, error) {
		return "jobs", "retried", a.e.RetryDiscarded(ctx, a.Tenant, a.PathValue("id"))
	})
	for verb, code := range map[string]string{"pause": "paused", "resume": "resumed"} {
		c.act("queues/{queue}/"+verb, oxbow.MayOperate, func(ctx context.Context, a ask) (string, string, error) {
			return "jobs", code, a.e.SetQueuePaused(ctx, a.PathValue("queue"), verb == "pause")
		})
		c.act("schedule/"+verb, oxbow.MayMaintain, func(ctx context.Context, a ask) (string, string, error) {
			return "schedule", code, a.e.SetSchedulePaused(ctx, a.scope(a.PostFormValue("scope")), a.PostFormValue("name"), verb == "pause")
		})
	}
}

// actOn adds what is done to one memory without further words.
func (c *Console) actOn(verb, code string, may oxbow.Permission, do func(*engine.Engine, context.Context, string, string) (engine.Written, error)) {
	c.act("memories/{id}/"+verb, may, func(ctx context.Context, a ask) (string, string, error) {
		w, err := do(a.e, ctx, a.Tenant, a.PathValue("id"))
		return "memories/" + w.Memory.ID, code, err
	})
}

// actOnJob adds what is done to one job of the tenant.
func (c *Console) actOnJob(verb, code string, do func(*engine.Engine, context.Context, string, int64) error) {
	c.act("jobs/{id}/"+verb, oxbow.MayMaintain, func(ctx context.Context, a ask) (string, string, error) {
		id, err := strconv.ParseInt(a.PathValue("id"), 10, 64)
		if err != nil {
			return "", "", oxbow.Errorf(oxbow.CodeNotFound, "there is no such job")
		}
		return "jobs", code, do(a.e, ctx, a.Tenant, id)
	})
}

func edit(ctx context.Context, a ask) (string, string, error) {
	id := a.PathValue("id")
	words := strings.ReplaceAll(a.PostFormValue("text"), "\r\n", "\n")
	change := engine.Change{Text: &words}
	change.IfVersion, _ = strconv.Atoi(a.PostFormValue("version"))
	w, err := a.e.Edit(ctx, a.Tenant, id, change)
	what := "edited"
	if w.Redacted > 0 {
		what = "redacted"
	}
	return "memories/" + w.Memory.ID, what, err
}

func restore(ctx context.Context, a ask) (string, string, error) {
	w, err := a.e.Restore(ctx, a.Tenant, a.PathValue("id"), engine.Restoration{Replace: a.PostFormValue("replace") != "", LastDay: a.PostFormValue("expires")})
	return "memories/" + w.Memory.ID, "restored", err
}
