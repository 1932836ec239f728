package api_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/api"
)

// versions is a database of a version, or one that is away.
type versions struct {
	have, want int64
	err        error
}

func (v versions) SchemaVersion(context.Context) (have, want int64, err error) {
	return v.have, v.want, v.err
}

func TestHealth(t *testing.T) {
	t.Parallel()
	away := oxbow.Errorf(oxbow.CodeUnavailable, "the connection was lost")
	workers := func(n int, err error) func(context.Context) (int, error) {
		return func(context.Context) (int, error) { return n, err }
	}
	for _, c := range []struct {
		name   string
		health api.Health
		status int
		checks map[string]string
	}{
		{"is ready when all is there", api.Health{Store: versions{have: 3, want: 3}, Workers: workers(1, nil)}, 200,
			map[string]string{"process": "ok", "database": "ok", "migrations": "ok", "scheduler": "ok"}},
		{"is not ready before the database is migrated", api.Health{Store: versions{have: 2, want: 3}}, 503,
			map[string]string{"process": "ok", "database": "ok", "migrations": "pending"}},
		{"stays ready while a release migrates the database and has not replaced it yet", api.Health{Store: versions{have: 4, want: 3}}, 200,
			map[string]string{"process": "ok", "database": "ok", "migrations": "newer than this program"}},
		{"is not ready while the database is away, and asks it no more", api.Health{Store: versions{err: away}, Workers: workers(1, nil)}, 503,
			map[string]string{"process": "ok", "database": "unavailable"}},
		{"is not ready while the database does not answer in time", api.Health{Store: versions{err: context.DeadlineExceeded}}, 503,
			map[string]string{"process": "ok", "database": "unavailable"}},
		{"is not ready without a worker", api.Health{Store: versions{}, Workers: workers(0, nil)}, 503,
			map[string]string{"process": "ok", "database": "ok", "migrations": "ok", "scheduler": "no worker is alive"}},
		{"is not ready when workers cannot be counted", api.Health{Store: versions{}, Workers: workers(0, away)}, 503,
			map[string]string{"process": "ok", "database": "ok", "migrations": "ok", "scheduler": "unavailable"}},
		{"is not ready while it stops", api.Health{Store: versions{}, Draining: func() bool { return true }}, 503,
			map[string]string{"process": "draining", "database": "ok", "migrations": "ok"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			mux := http.NewServeMux()
			c.health.Handle(mux)
			ask := func(path string) (int, map[string]string) {
				w := httptest.NewRecorder()
				mux.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
				var said struct {
					OK     bool
					Checks map[string]string
				}
				if err := json.Unmarshal(w.Body.Bytes(), &said); err != nil || said.OK != (w.Code == 200) {
					t.Errorf("%s says %s and is %d: %v", path, w.Body, w.Code, err)
				}
				return w.Code, said.Checks
			}
			if status, checks := ask("/readyz"); status != c.status || !maps.Equal(checks, c.checks) {
				t.Errorf("it is %d %v, not %d %v", status, checks, c.status, c.checks)
			}
			if status, _ := ask("/healthz"); status != 200 {
				t.Errorf("the process lives, and says %d", status)
			}
		})
	}
}
