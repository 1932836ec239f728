package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/internal/access"
)

// Config says what the console works with.
type Config struct {
	Engine *engine.Engine
	Guard  *access.Guard
	// Version is the program's. Defaults to "dev".
	Version string
	// Log is where internal errors and who did what go, without content. Defaults
	// to nowhere.
	Log *slog.Logger
	// LookEvery is how often a live page looks for new events. Defaults to half a
	// second.
	LookEvery time.Duration
	// BeatEvery is how often a live page that shows more than events is made anew.
	// Defaults to 5 seconds.
	BeatEvery time.Duration
	// Done ends live pages when it is closed, so that a server can stop. Defaults
	// to never.
	Done <-chan struct{}
}

func (c Config) withDefaults() Config {
	if c.Version == "" {
		c.Version = "dev"
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.LookEvery <= 0 {
		c.LookEvery = 500 * time.Millisecond
	}
	if c.BeatEvery <= 0 {
		c.BeatEvery = 5 * time.Second
	}
	return c
}

//go:embed static
var static embed.FS

//go:embed pages
var pages embed.FS

// Console is the pages with what they need.
type Console struct {
	cfg    Config
	mux    *http.ServeMux
	routed http.Handler // the mux, with refusals that are pages
	// The templates by the name of their page.
	templates map[string]*template.Template
}

// Root is where the console stands.
const Root = "/console/"

// tabs are the pages of the menu, in its order.
var tabs = []struct{ Path, Name string }{
	{"", "Overview"}, {"memories", "Memories"}, {"graph", "Graph"}, {"scopes", "Scopes"}, {"runs", "Runs"}, {"jobs", "Jobs"},
	{"schedule", "Schedule"}, {"review", "Review"}, {"health", "Health"}, {"events", "Events"},
}

// New makes the console's handler; it does no I/O. It is to be wrapped by the
// guard, whose look at a request's origin is what keeps other sites' forms out.
func New(cfg Config) *Console {
	c := &Console{cfg: cfg.withDefaults(), mux: http.NewServeMux(), templates: map[string]*template.Template{}}
	c.parse()
	files, err := fs.Sub(static, "static")
	if err != nil { // the folder is part of the program
		panic(err)
	}
	c.mux.Handle("GET "+Root+"static/", http.StripPrefix(Root+"static/", cached(http.FileServerFS(files))))
	c.mux.HandleFunc("GET "+Root+"login", c.loginPage)
	c.mux.HandleFunc("POST "+Root+"login", c.login)
	c.mux.HandleFunc("POST "+Root+"logout", c.logout)
	c.page("{$}", "overview", c.overview)
	c.page("memories", "memories", c.memories)
	c.page("memories/{id}", "memory", c.memory)
	c.page("graph", "graph", c.named)
	c.page("scopes", "scopes", c.scopes)
	c.page("scopes/{scope}", "scope", c.scope)
	c.page("runs", "runs", c.runs)
	c.page("runs/{id}", "run", c.run)
	c.page("jobs", "jobs", c.jobs)
	c.page("schedule", "schedule", c.schedule)
	c.page("review", "review", c.review)
	c.page("health", "health", c.health)
	c.page("events", "events", c.events)
	c.mux.HandleFunc("GET "+Root+"live", c.live)
	c.acts()
	c.routed = access.Routed(c.mux, func(w http.ResponseWriter, r *http.Request, p *access.Problem) {
		c.show(w, p.Status, "problem", ask{Request: r}, p)
	})
	return c
}

// ServeHTTP answers a request.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.routed.ServeHTTP(w, r) }

// policy forbids everything that the pages do not need.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// ask is one request with who sends it.
type ask struct {
	*http.Request
	engine.Caller
	e *engine.Engine
}

// ctx is the request's, by which the log names its trace.
func (a ask) ctx() context.Context {
	if a.Request == nil {
		return context.Background()
	}
	return a.Request.Context()
}

// value is a field of the query without the blanks that a keyboard puts behind words.
func (a ask) value(field string) string { return strings.TrimSpace(a.URL.Query().Get(field)) }

func (a ask) scope(name string) oxbow.Scope { return oxbow.Scope{Tenant: a.Tenant, Name: name} }

// page adds a page: what gather gives is shown by the template of its name.
func (c *Console) page(path, name string, gather func(ctx context.Context, a ask) (any, error)) {
	c.mux.HandleFunc("GET "+Root+path, func(w http.ResponseWriter, r *http.Request) {
		a, ok := c.enter(w, r)
		if !ok {
			return
		}
		data, err := gather(r.Context(), a)
		if err != nil {
			c.fail(w, a, err)
			return
		}
		c.show(w, http.StatusOK, name, a, data)
	})
}

// enter finds out who asks, and sends who has no key to the login.
func (c *Console) enter(w http.ResponseWriter, r *http.Request) (ask, bool) {
	who, err := c.cfg.Guard.Caller(r)
	if err == nil {
		err = who.May(oxbow.MayRead)
	}
	switch {
	case err == nil:
		return ask{r, who, c.cfg.Engine.As(who.Actor)}, true
	case oxbow.CodeOf(err) == oxbow.CodeUnauthorized && who.Key == "":
		to := url.Values{"next": {r.URL.RequestURI()}}
		if r.Method == http.MethodPost { // nothing was done, and a form's target is no page
			to = url.Values{"next": {Root + backOf(r.URL.Path)}, "undone": {"1"}}
		}
		http.Redirect(w, r, Root+"login?"+to.Encode(), http.StatusSeeOther)
	default:
		c.fail(w, ask{Request: r, Caller: who}, err)
	}
	return ask{}, false
}

// frame is what every page gets.
type frame struct {
	Title, Page, Version, Actor, Tenant string
	Said, Refused                       string
	Back, Kept                          string // after a refusal: where it was asked, and the words that were sent
	Login                               bool   // a key let the caller in, so it can be put away
	May                                 map[oxbow.Permission]bool
	Now                                 time.Time
	Data                                any
}

// show renders a page whole before it sends any of it.
func (c *Console) show(w http.ResponseWriter, status int, name string, a ask, data any) {
	f := frame{Page: name, Version: c.cfg.Version, Actor: a.Actor, Tenant: a.Tenant, Login: a.Key != "", May: map[oxbow.Permission]bool{}, Data: data, Now: c.cfg.Engine.Now()}
	for _, p := range a.Permissions {
		f.May[p] = true
	}
	if a.Request != nil {
		f.Said, f.Refused = said(a.URL.Query().Get("did")), ""
	}
	if p, ok := data.(*access.Problem); ok {
		f.Refused = p.Detail
		if a.Request != nil && a.Method == http.MethodPost {
			f.Back, f.Kept = Root+backOf(a.URL.Path), a.PostFormValue("text")
		}
	}
	var b bytes.Buffer
	if err := c.templates[name].ExecuteTemplate(&b, "frame", f); err != nil {
		c.cfg.Log.ErrorContext(a.ctx(), "page failed", slog.String("request", access.RequestID(a.ctx())), slog.String("page", name), slog.String("error", err.Error()))
		http.Error(w, "this page could not be made; the server's log names it", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // a reader who left needs no answer
}

// fail shows what is wrong as a page.
func (c *Console) fail(w http.ResponseWriter, a ask, err error) {
	p := access.ProblemOf(err)
	if p.Code == oxbow.CodeInternal && !errors.Is(err, context.Canceled) { // a reader who left is no failure of ours
		p.Request = access.RequestID(a.ctx())
		c.cfg.Log.ErrorContext(a.ctx(), "request failed", slog.String("request", p.Request), slog.String("error", err.Error()))
	}
	c.show(w, p.Status, "problem", a, p)
}

// address gives where a file of ours is served, with a part that changes with the
// file: the pages of a newer program must not be shown with the style of an older one
// that a browser has kept.
func address(name string) (string, error) {
	b, err := static.ReadFile("static/" + name)
	return fmt.Sprintf("%sstatic/%s?v=%.4x", Root, name, sha256.Sum256(b)), err
}

// cached lets a browser keep a file for as long as its address is the same.
func cached(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keep := "no-cache"
		if r.URL.Query().Get("v") != "" {
			keep = "public, max-age=31536000, immutable"
		}
		w.Header().Set("Cache-Control", keep)
		next.ServeHTTP(w, r)
	})
}

func (c *Console) loginPage(w http.ResponseWriter, r *http.Request) {
	form := loginForm{Next: r.URL.Query().Get("next")}
	if r.URL.Query().Get("undone") != "" {
		form.Away = "You were signed out, and what you asked for was not done. Sign in, and do it again."
	}
	c.show(w, http.StatusOK, "login", ask{Request: r}, form)
}

type loginForm struct{ Next, Wrong, Away string }

// loginLasts is how long a browser keeps the key.
const loginLasts = 30 * 24 * time.Hour

// login keeps a key in a cookie that no script can read.
func (c *Console) login(w http.ResponseWriter, r *http.Request) {
	secret, next := strings.TrimSpace(r.PostFormValue("key")), r.PostFormValue("next")
	if _, err := c.cfg.Engine.Authenticate(r.Context(), secret); err != nil {
		p := access.ProblemOf(err)
		status := p.Status
		if p.Code == oxbow.CodeUnauthorized {
			status, p.Detail = http.StatusUnauthorized, "This key opens nothing: it is mistyped, revoked, or has ended."
		}
		c.show(w, status, "login", ask{Request: r}, loginForm{Next: next, Wrong: p.Detail})
		return
	}
	http.SetCookie(w, cookie(r, secret, int(loginLasts.Seconds())))
	http.Redirect(w, r, inside(next), http.StatusSeeOther)
}

// inside gives a page of the console, whatever a link says: a path that climbs out of
// it may end as //elsewhere, to which a browser goes, and it takes a \ for a /.
func inside(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || strings.Contains(next, `\`) || !strings.HasPrefix(path.Clean(u.Path)+"/", Root) {
		return Root
	}
	return next
}

func (c *Console) logout(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, cookie(r, "", -1))
	http.Redirect(w, r, Root+"login", http.StatusSeeOther)
}

func cookie(r *http.Request, value string, age int) *http.Cookie {
	ck := &http.Cookie{Name: access.CookieName, Value: value, Path: "/", MaxAge: age, HttpOnly: true, SameSite: http.SameSiteStrictMode}
	if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
		ck.Name, ck.Secure = access.SecureCookieName, true
	}
	return ck
}
