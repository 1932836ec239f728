package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/internal/access"
)

// Config says what the API works with.
type Config struct {
	Engine *engine.Engine
	Guard  *access.Guard
	// Version is the program's, for the document. Defaults to "dev".
	Version string
	// StreamEvery is how often a live stream looks for new events. Defaults to
	// half a second.
	StreamEvery time.Duration
	// AliveEvery is how often a stream that has nothing to say shows that it is
	// alive, and looks whether its key still opens anything. Defaults to 15 s.
	AliveEvery time.Duration
	// Done ends live streams when it is closed, so that a server can stop.
	// Defaults to never.
	Done <-chan struct{}
	// Log is where internal errors go, without content. Defaults to nowhere.
	Log *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.Version == "" {
		c.Version = "dev"
	}
	if c.StreamEvery <= 0 {
		c.StreamEvery = 500 * time.Millisecond
	}
	if c.AliveEvery <= 0 {
		c.AliveEvery = 15 * time.Second
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// API is the routes with what they need.
type API struct {
	cfg    Config
	e      *engine.Engine
	huma   huma.API
	mux    *http.ServeMux
	routed http.Handler // the mux, with refusals like every other
}

const about = `What an agent knows, kept true. Memories go in, jobs judge them, time passes, and every
change can be explained. The tenant comes from the key; a scope is a name inside it such as user:ada.

Send a key as Authorization: Bearer KEY. Writes take an Idempotency-Key header: the same request sent twice within
a day has its effect once. Lists give next_cursor while there is more; send it back as cursor. Every answer has an
X-Request-Id, which the log has beside what went wrong.`

// New makes the API's handler; it does no I/O. It serves /v1, /openapi.json,
// /openapi.yaml and /docs, and is to be wrapped by the guard.
func New(cfg Config) *API {
	cfg = cfg.withDefaults()
	a := &API{cfg: cfg, e: cfg.Engine, mux: http.NewServeMux()}
	conf := huma.DefaultConfig("Oxbow", cfg.Version)
	conf.Info.Description = about
	conf.DocsPath, conf.SchemasPath, conf.CreateHooks = "", "", nil
	conf.Transformers = []huma.Transformer{plainly}
	conf.Formats = map[string]huma.Format{"application/json": jsonFormat, "json": jsonFormat}
	conf.RejectUnknownQueryParameters = true
	conf.Components.SecuritySchemes = map[string]*huma.SecurityScheme{"key": {Type: "http", Scheme: "bearer"}}
	conf.Components.Schemas.RegisterTypeAlias(reflect.TypeFor[oxbow.Instant](), reflect.TypeFor[time.Time]())
	a.huma = humago.New(a.mux, conf)
	a.huma.UseMiddleware(a.identify)
	a.memories()
	a.conflicts()
	a.facts()
	a.graph()
	a.turns()
	a.recall()
	a.events()
	a.runs()
	a.jobs()
	a.schedules()
	a.scopes()
	a.keys()
	a.settleDocument()
	a.mux.HandleFunc("GET /docs", a.docs)
	a.routed = access.Routed(a.mux, func(w http.ResponseWriter, _ *http.Request, p *access.Problem) {
		p.Detail += "; /docs shows every route"
		access.Answer(w, p)
	})
	return a
}

// ServeHTTP answers a request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p := unreadable(r); p != nil {
		access.Answer(w, p)
		return
	}
	if r.ContentLength != 0 {
		body := &brokenBody{ReadCloser: r.Body}
		r.Body, w = body, &brokenAnswer{w, body}
	}
	a.routed.ServeHTTP(w, r)
}

// Document gives the OpenAPI 3.1 document.
func (a *API) Document() *huma.OpenAPI { return a.huma.OpenAPI() }

// mayKey is where an operation's metadata holds the permission it needs.
const mayKey = "may"

// identify finds out who asks and refuses who may not.
func (a *API) identify(ctx huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(ctx)
	c, err := a.cfg.Guard.Caller(r)
	if err != nil {
		a.problem(r.Context(), err) // logs what is internal
		access.Answer(w, access.Unidentified(w, err))
		return
	}
	may, _ := ctx.Operation().Metadata[mayKey].(oxbow.Permission)
	if err := c.May(may); err != nil {
		access.Answer(w, a.problem(r.Context(), err))
		return
	}
	next(huma.WithContext(ctx, access.WithCaller(ctx.Context(), c)))
}

// problem gives an error as the caller may see it, and logs what they may not.
func (a *API) problem(ctx context.Context, err error) *access.Problem {
	p := access.ProblemOf(err)
	if p.Code == oxbow.CodeInternal && !errors.Is(err, context.Canceled) {
		p.Request = access.RequestID(ctx)
		a.cfg.Log.ErrorContext(ctx, "request failed", slog.String("request", p.Request), slog.String("error", err.Error()))
	}
	return p
}

// op describes a route.
type op struct {
	method, path, id, tag, short string
	may                          oxbow.Permission
	status                       int // of success; 200 when it is 0
}

func (o op) operation() huma.Operation {
	return huma.Operation{OperationID: o.id, Method: o.method, Path: o.path, Summary: o.short, Tags: []string{o.tag},
		DefaultStatus: o.status, Metadata: map[string]any{mayKey: o.may}, Security: []map[string][]string{{"key": {}}},
		Description: "Needs a key that may " + string(o.may) + ".",
		Errors:      o.refusals()}
}

// bodyTimeout is how long a caller may take to send a body; the largest one
// takes its time on a slow line.
const bodyTimeout = time.Minute

// operation describes a route of this server, which bounds what it reads.
func (a *API) operation(o op) huma.Operation {
	out := o.operation()
	out.MaxBodyBytes, out.BodyReadTimeout = a.cfg.Guard.MaxBody(), bodyTimeout
	return out
}

// refusals are the statuses that every route may refuse with, those of one that
// changes something, and those of one that takes a body.
func (o op) refusals() []int {
	all := []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusTooManyRequests,
		http.StatusServiceUnavailable}
	if o.method == http.MethodGet {
		return all
	}
	all = append(all, http.StatusConflict)
	if o.method == http.MethodDelete {
		return all
	}
	return append(all, http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
}

// body is an answer that is JSON. Where it tells of one thing that was made, or
// of one run that goes on, Location is its path.
type body[T any] struct {
	Location string `header:"Location"`
	Body     T
}

// located is an answer that knows the path of what it tells of, or "".
type located interface{ location() string }

func locationOf(out any) string {
	if l, ok := out.(located); ok {
		return l.location()
	}
	return ""
}

// call is who asks, and the engine that acts in their name.
type call struct {
	engine.Caller
	e *engine.Engine
}

func (c call) scope(name string) oxbow.Scope { return oxbow.Scope{Tenant: c.Tenant, Name: name} }

// route adds a route whose answer is JSON.
func route[I, O any](a *API, o op, fn func(ctx context.Context, c call, in *I) (O, error)) {
	huma.Register(a.huma, a.operation(o), func(ctx context.Context, in *I) (*body[O], error) {
		out, err := answer(ctx, a, o, in, fn)
		if err != nil {
			return nil, err
		}
		return &body[O]{locationOf(out), out}, nil
	})
}

// answer calls what a route is for, in the name of who asks.
func answer[I, O any](ctx context.Context, a *API, o op, in *I, fn func(ctx context.Context, c call, in *I) (O, error)) (out O, err error) {
	c := access.CallerOf(ctx)
	if r, ok := any(in).(repeatable); ok {
		if ctx, err = r.once(ctx, o); err != nil {
			return out, a.problem(ctx, err)
		}
	}
	if out, err = fn(ctx, call{c, a.e.As(c.Actor)}, in); err != nil {
		return out, a.problem(ctx, err)
	}
	return out, nil
}

// repeatable is an input that can be told from a repetition of itself.
type repeatable interface {
	once(ctx context.Context, o op) (context.Context, error)
}

// Repeat is the part of an input that makes a write without a body idempotent.
type Repeat struct {
	IdempotencyKey string `header:"Idempotency-Key" maxLength:"255" doc:"a name for this request: sent twice within a day, it has its effect once"`
	target         string
}

// Resolve notes what the path says, which belongs to what is asked.
func (r *Repeat) Resolve(ctx huma.Context) []error {
	u := ctx.URL()
	r.target = u.RequestURI()
	return nil
}

func (r *Repeat) once(ctx context.Context, o op) (context.Context, error) { return r.with(ctx, o, nil) }

func (r *Repeat) with(ctx context.Context, o op, body []byte) (context.Context, error) {
	return engine.WithRequest(ctx, r.IdempotencyKey, append([]byte(o.id+"\n"+r.target+"\n"), body...))
}

// Once is Repeat for a write that has a body.
type Once struct {
	Repeat
	RawBody []byte
}

func (r *Once) once(ctx context.Context, o op) (context.Context, error) {
	return r.with(ctx, o, r.RawBody)
}
