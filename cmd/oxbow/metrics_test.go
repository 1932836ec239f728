package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/internal/lab"
)

// served gives what answers on an address, for a bench.
func served(b *lab.Bench, open bool) http.Handler {
	s := &session{app: newApp(strings.NewReader(""), &strings.Builder{}, &strings.Builder{}, func(string) (string, bool) { return "", false }),
		conf: settings{}, st: b.DB, engine: engine.New(engine.Config{Store: b.DB, Judge: b.Judge}), judge: b.Judge, tenant: "home"}
	return s.handler(b.Ctx, serving{}, open, s.instruments(), s.logger(0))
}

func TestMetricsNeedAnOperator(t *testing.T) {
	t.Parallel()
	ask := func(h http.Handler, key, from string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("GET", "http://localhost/metrics", nil)
		r.RemoteAddr = from
		if key != "" {
			r.Header.Set("Authorization", "Bearer "+key)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	const here, elsewhere = "127.0.0.1:40000", "192.0.2.7:40000"
	b := lab.New(t, lab.OpenSQLite(t))

	open := served(b, true)
	if w := ask(open, "", here); w.Code != 200 || !strings.Contains(w.Body.String(), `oxbow_memories{status="active"} 0`) {
		t.Errorf("on loopback, while there is no key: %d %s", w.Code, w.Body)
	}
	if w := ask(open, "", elsewhere); w.Code != 401 {
		t.Errorf("from elsewhere without a key: %d", w.Code)
	}

	closed := served(b, false)
	if w := ask(closed, "", here); w.Code != 401 || strings.Contains(w.Body.String(), "oxbow_memories") {
		t.Errorf("on a public address without a key: %d %s", w.Code, w.Body)
	}
	for _, p := range oxbow.Permissions {
		k, err := b.Engine.CreateKey(t.Context(), oxbow.Key{Tenant: "t", Name: "k" + string(p), Permissions: []oxbow.Permission{p}})
		if err != nil {
			t.Fatal(err)
		}
		want := 403
		if p == oxbow.MayOperate {
			want = 200
		}
		if w := ask(closed, k.Secret, elsewhere); w.Code != want || strings.Contains(w.Body.String(), "oxbow_memories") != (want == 200) {
			t.Errorf("with a key that may %s: %d, want %d", p, w.Code, want)
		}
	}
	if w := ask(closed, "oxb_nonsense", elsewhere); w.Code != 401 {
		t.Errorf("with a wrong key: %d", w.Code)
	}
}
