package access

import (
	"context"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
)

// Config says who is let in.
type Config struct {
	Engine *engine.Engine
	// Tenant is whose memories a caller without a key sees. Defaults to none:
	// every caller needs a key.
	Tenant string
	// Hosts are the names, without ports, by which this server may be called,
	// beside localhost and every IP address. Defaults to none.
	Hosts []string
	// MaxBody bounds a request's body in bytes. Defaults to 4 MiB.
	MaxBody int64
	// PerSecond and Burst bound the requests of one key, or of all callers
	// without one. Defaults to 100 and 200.
	PerSecond float64
	Burst     int
	// Clock gives the present. Defaults to time.Now.
	Clock func() time.Time
}

func (c Config) withDefaults() Config {
	if c.MaxBody <= 0 {
		c.MaxBody = 4 << 20
	}
	if c.PerSecond <= 0 {
		c.PerSecond = 100
	}
	if c.Burst <= 0 {
		c.Burst = 200
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	return c
}

// Guard checks requests. It is safe for concurrent use.
type Guard struct {
	cfg   Config
	cross *http.CrossOriginProtection

	mu      sync.Mutex
	keyless bool      // no key existed when it was last looked
	looked  time.Time // when that was
	made    int64     // how many keys this process had made then
	buckets map[string]*bucket
}

// New makes a guard; it does no I/O.
func New(cfg Config) *Guard {
	return &Guard{cfg: cfg.withDefaults(), cross: http.NewCrossOriginProtection(), buckets: map[string]*bucket{}}
}

// Wrap refuses what no door should see, and bounds bodies. Everything that a
// server answers goes through it.
func (g *Guard) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		name(w, r)
		if !g.ours(r.Host) {
			Refuse(w, http.StatusMisdirectedRequest, oxbow.CodeInvalid, "this server is not called "+printable(r.Host)+": start it with --host NAME to answer to that name")
			return
		}
		if err := g.cross.Check(r); err != nil {
			Refuse(w, http.StatusForbidden, oxbow.CodeUnauthorized, "the request comes from another site's page")
			return
		}
		if r.ContentLength > g.cfg.MaxBody {
			Refuse(w, http.StatusRequestEntityTooLarge, oxbow.CodeInvalid, TooLarge)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, g.cfg.MaxBody)
		next.ServeHTTP(w, r)
	})
}

// printable keeps what a host's name is made of.
func printable(host string) string {
	return strings.Map(func(r rune) rune {
		if r > ' ' && r < 0x7f && r != '<' && r != '>' && r != '"' {
			return r
		}
		return -1
	}, host[:min(len(host), 100)])
}

// ours tells whether a Host header names this server. What it guards against is a
// name that another site's owner lets stand for this machine's address: an address
// cannot be such a name, and a browser always sends one or the other. So a machine
// that asks by address, or by HTTP/1.0 without a Host, as probes do, is let in.
func (g *Guard) ours(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.Trim(name, "[]"))
	return host == "" || name == "localhost" || slices.Contains(g.cfg.Hosts, name) || net.ParseIP(name) != nil
}

func isLoopback(name string) bool {
	ip := net.ParseIP(name)
	return ip != nil && ip.IsLoopback()
}

// CookieName is the console's cookie on plain HTTP; over TLS it has the prefix
// that browsers tie to the host.
const CookieName = "oxbow_key"

// SecureCookieName is the same over TLS.
const SecureCookieName = "__Host-oxbow_key"

// Secret gives the key that a request brings: its bearer token, else its cookie.
func Secret(r *http.Request) string {
	if kind, token, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(kind, "Bearer") {
		return strings.TrimSpace(token)
	}
	for _, name := range []string{SecureCookieName, CookieName} {
		if c, err := r.Cookie(name); err == nil && c.Value != "" {
			return c.Value
		}
	}
	return ""
}

// Caller gives who asks: unauthorized without a key that opens anything, budget
// when the key asks too often.
func (g *Guard) Caller(r *http.Request) (engine.Caller, error) {
	c, err := g.who(r)
	if err != nil {
		return c, err
	}
	if wait := g.allow(c.Key); wait > 0 {
		return c, &tooFast{oxbow.Errorf(oxbow.CodeBudget, "too many requests: this key may send %g a second; wait as Retry-After says", g.cfg.PerSecond), wait}
	}
	return c, nil
}

// Still tells whether a request's key opens anything now, for an answer that
// lasts: unauthorized when it does not any more.
func (g *Guard) Still(r *http.Request) error {
	_, err := g.who(r)
	return err
}

// MaxBody gives how many bytes a body may have.
func (g *Guard) MaxBody() int64 { return g.cfg.MaxBody }

func (g *Guard) who(r *http.Request) (engine.Caller, error) {
	secret := Secret(r)
	if secret != "" || g.cfg.Tenant == "" || !fromHere(r) {
		return g.cfg.Engine.Authenticate(r.Context(), secret)
	}
	free, err := g.noKeys(r.Context())
	if err != nil {
		return engine.Caller{}, err
	}
	if !free {
		return g.cfg.Engine.Authenticate(r.Context(), secret)
	}
	return engine.Caller{Tenant: g.cfg.Tenant, Actor: "local", Permissions: oxbow.Permissions}, nil
}

// fromHere tells whether a request was sent from this machine and by no proxy,
// which would make everybody look as if they were here.
func fromHere(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	return err == nil && isLoopback(host) && r.Header.Get("X-Forwarded-For") == "" && r.Header.Get("Forwarded") == ""
}

// lookEvery is how soon the first key that another process makes closes the
// door. One that this process makes closes it at once.
const lookEvery = time.Second

func (g *Guard) noKeys(ctx context.Context) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now, made := g.cfg.Clock(), g.cfg.Engine.KeysMade()
	if !g.looked.IsZero() && now.Sub(g.looked) < lookEvery && made == g.made {
		return g.keyless, nil
	}
	keys, err := g.cfg.Engine.Keys(ctx, "")
	if err != nil {
		return false, err
	}
	g.keyless, g.looked, g.made = len(keys) == 0, now, made
	return g.keyless, nil
}

// bucket is how much a key may still ask for.
type bucket struct {
	left float64
	at   time.Time
}

// mostBuckets bounds what is remembered; full ones are forgotten first.
const mostBuckets = 10_000

// allow takes one request from a key's share, or gives how long to wait for the
// next one. golang.org/x/time/rate is not used because it has no way to forget
// keys that are idle.
func (g *Guard) allow(key string) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.cfg.Clock()
	b := g.buckets[key]
	if b == nil {
		if len(g.buckets) >= mostBuckets {
			g.forget(now)
		}
		b = &bucket{left: float64(g.cfg.Burst), at: now}
		g.buckets[key] = b
	}
	b.left = min(float64(g.cfg.Burst), b.left+now.Sub(b.at).Seconds()*g.cfg.PerSecond)
	b.at = now
	if b.left < 1 {
		return max(1, time.Duration((1-b.left)/g.cfg.PerSecond*float64(time.Second)))
	}
	b.left--
	return 0
}

func (g *Guard) forget(now time.Time) {
	for k, b := range g.buckets {
		if b.left+now.Sub(b.at).Seconds()*g.cfg.PerSecond >= float64(g.cfg.Burst) {
			delete(g.buckets, k)
		}
	}
}

// Refuse writes a refusal as problem+json (RFC 9457), with a code of package oxbow.
func Refuse(w http.ResponseWriter, status int, code, detail string) {
	Answer(w, &Problem{Title: http.StatusText(status), Status: status, Code: code, Detail: detail})
}

type callerKey struct{}

// WithCaller gives a context that knows who asks.
func WithCaller(ctx context.Context, c engine.Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf gives who asks; one who may do nothing when nobody was found out.
func CallerOf(ctx context.Context) engine.Caller {
	c, _ := ctx.Value(callerKey{}).(engine.Caller)
	return c
}
