package access_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/internal/access"
	"github.com/oxbow-memory/oxbow/store/sqlite"
)

// gate is a guard over a fresh database, with a clock that only moves by hand.
type gate struct {
	*testing.T
	engine *engine.Engine
	guard  *access.Guard
	now    time.Time
}

func setup(t *testing.T, set func(*access.Config)) *gate {
	t.Helper()
	st, err := sqlite.Open(t.Context(), sqlite.Config{Path: t.TempDir() + "/a.db"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	if err := st.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	g := &gate{T: t, now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}
	clock := func() time.Time { return g.now }
	g.engine = engine.New(engine.Config{Store: st, Clock: clock})
	c := access.Config{Engine: g.engine, Clock: clock, Tenant: "home"}
	if set != nil {
		set(&c)
	}
	g.guard = access.New(c)
	return g
}

// request is one from this machine.
func request(set func(*http.Request)) *http.Request {
	r := httptest.NewRequest("POST", "http://localhost:7437/v1/memories", strings.NewReader("{}"))
	r.RemoteAddr = "127.0.0.1:50000"
	if set != nil {
		set(r)
	}
	return r
}

// status sends a request through the guard. A refusal is a problem with a code.
func (g *gate) status(r *http.Request) int {
	g.Helper()
	w := httptest.NewRecorder()
	g.guard.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, r)
	var p access.Problem
	if w.Code != http.StatusOK && (json.Unmarshal(w.Body.Bytes(), &p) != nil || p.Code == "" || p.Detail == "") {
		g.Errorf("the refusal %d is %s", w.Code, w.Body)
	}
	return w.Code
}

func (g *gate) key(may ...oxbow.Permission) string {
	g.Helper()
	k, err := g.engine.CreateKey(g.Context(), oxbow.Key{Tenant: "work", Name: "app", Permissions: may})
	if err != nil {
		g.Fatal(err)
	}
	return k.Secret
}

func TestWrap(t *testing.T) {
	t.Parallel()
	g := setup(t, func(c *access.Config) { c.Hosts = []string{"memory.example"}; c.MaxBody = 10 })
	for _, c := range []struct {
		name string
		set  func(*http.Request)
		want int
	}{
		{"lets in who calls it localhost", nil, 200},
		{"lets in who calls it by its name", func(r *http.Request) { r.Host = "Memory.Example:80" }, 200},
		{"lets in who calls it by a loopback address", func(r *http.Request) { r.Host = "[::1]:7437" }, 200},
		{"lets in who calls it by another address, as probes do", func(r *http.Request) { r.Host = "192.0.2.7:7437" }, 200},
		{"lets in a probe of HTTP/1.0 that calls it nothing", func(r *http.Request) { r.Host = "" }, 200},
		{"refuses a name that looks like an address", func(r *http.Request) { r.Host = "192.0.2.7.evil.example:7437" }, 421},
		{"refuses a number that only some read as an address", func(r *http.Request) { r.Host = "3221225991" }, 421},
		{"refuses another name, as a rebound one is", func(r *http.Request) { r.Host = "evil.example" }, 421},
		{"refuses a name that only begins like ours", func(r *http.Request) { r.Host = "localhost.evil.example" }, 421},
		{"refuses another site's page", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, 403},
		{"refuses another origin where browsers say no more", func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") }, 403},
		{"lets in its own pages", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-origin") }, 200},
		{"refuses a body that is too large", func(r *http.Request) { r.ContentLength = 11 }, 413},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := g.status(request(c.set)); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

func TestCaller(t *testing.T) {
	t.Parallel()
	t.Run("is the person at the machine while there is no key", func(t *testing.T) {
		t.Parallel()
		g := setup(t, nil)
		c, err := g.guard.Caller(request(nil))
		if err != nil || c.Tenant != "home" || c.May(oxbow.MayOperate) != nil {
			t.Fatalf("got %+v and %v", c, err)
		}
		for name, set := range map[string]func(*http.Request){
			"from elsewhere":        func(r *http.Request) { r.RemoteAddr = "192.0.2.7:50000" },
			"through a proxy":       func(r *http.Request) { r.Header.Set("X-Forwarded-For", "192.0.2.7") },
			"with a key that fails": func(r *http.Request) { r.Header.Set("Authorization", "Bearer oxb_x") },
		} {
			if c, err := g.guard.Caller(request(set)); oxbow.CodeOf(err) != oxbow.CodeUnauthorized {
				t.Errorf("%s: got %+v and %v", name, c, err)
			}
		}
		g.key(oxbow.MayRead)
		if c, err := g.guard.Caller(request(nil)); oxbow.CodeOf(err) != oxbow.CodeUnauthorized {
			t.Errorf("the first key left the door open: %+v and %v", c, err)
		}
	})

	t.Run("is nobody a second after another process made the first key", func(t *testing.T) {
		t.Parallel()
		g := setup(t, nil)
		if _, err := g.guard.Caller(request(nil)); err != nil {
			t.Fatal(err)
		}
		other := *g
		other.engine = engine.New(engine.Config{Store: g.engine.Store(), Clock: func() time.Time { return g.now }})
		other.key(oxbow.MayRead)
		g.now = g.now.Add(time.Second)
		if c, err := g.guard.Caller(request(nil)); oxbow.CodeOf(err) != oxbow.CodeUnauthorized {
			t.Errorf("the first key left the door open: %+v and %v", c, err)
		}
	})

	t.Run("is who the key was made for, by header or cookie", func(t *testing.T) {
		t.Parallel()
		g := setup(t, func(c *access.Config) { c.Tenant = "" })
		secret := g.key(oxbow.MayRead)
		for name, set := range map[string]func(*http.Request){
			"header": func(r *http.Request) { r.Header.Set("Authorization", "bearer "+secret) },
			"cookie": func(r *http.Request) { r.AddCookie(&http.Cookie{Name: access.CookieName, Value: secret}) },
		} {
			c, err := g.guard.Caller(request(set))
			if err != nil || c.Tenant != "work" || c.Actor != "app" || c.May(oxbow.MayWrite) == nil {
				t.Errorf("by %s: got %+v and %v", name, c, err)
			}
		}
	})

	t.Run("is slowed down when the key asks too often", func(t *testing.T) {
		t.Parallel()
		g := setup(t, func(c *access.Config) { c.Burst, c.PerSecond = 3, 1 })
		ask := func() string {
			_, err := g.guard.Caller(request(nil))
			return oxbow.CodeOf(err)
		}
		for range 3 {
			if got := ask(); got != "" {
				t.Fatalf("got %q", got)
			}
		}
		if got := ask(); got != oxbow.CodeBudget {
			t.Fatalf("got %q, want a refusal", got)
		}
		w := httptest.NewRecorder()
		g.guard.Require(oxbow.MayRead, http.NotFoundHandler()).ServeHTTP(w, request(nil))
		if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "1" {
			t.Errorf("the refusal is %d and says when to come again with %q", w.Code, w.Header().Get("Retry-After"))
		}
		g.now = g.now.Add(time.Second)
		if got := ask(); got != "" {
			t.Errorf("after a second: %q", got)
		}
	})
}

func TestProblemOf(t *testing.T) {
	t.Parallel()
	if p := access.ProblemOf(oxbow.Errorf(oxbow.CodeUnavailable, "it is away")); p.GetHeaders().Get("Retry-After") != "1" {
		t.Errorf("what is away says nothing of when to come again: %v", p.GetHeaders())
	}
	if p := access.ProblemOf(http.ErrBodyNotAllowed); p.Status != 500 || strings.Contains(p.Detail, "body") {
		t.Errorf("an unknown error is shown: %+v", p)
	}
	inner := oxbow.WrapError(oxbow.CodeConflict, http.ErrBodyNotAllowed, "it is taken")
	if p := access.ProblemOf(inner); p.Status != 409 || p.Detail != "it is taken" || p.Code != oxbow.CodeConflict {
		t.Errorf("got %+v", p)
	}
}
