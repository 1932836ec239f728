package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/oxbow-memory/oxbow/internal/access"
)

func TestToOpen(t *testing.T) {
	t.Parallel()
	for listened, want := range map[string]string{"0.0.0.0:7437": "localhost:7437", "[::]:7437": "localhost:7437", "127.0.0.1:80": "127.0.0.1:80", "[::1]:80": "[::1]:80"} {
		a, err := net.ResolveTCPAddr("tcp", listened)
		if err != nil {
			t.Fatal(err)
		}
		if got := toOpen(a); got != want {
			t.Errorf("%s is opened as %s, want %s", listened, got, want)
		}
	}
}

func TestRest(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	h := rest(mux, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	for _, c := range []struct {
		name, method, path, accept string
		want                       int
	}{
		{"answers what there is", "GET", "/healthz", "*/*", 200},
		{"refuses a method with a problem", "POST", "/healthz", "*/*", 405},
		{"refuses a path with a problem", "GET", "/nothing", "*/*", 404},
		{"shows a browser a page", "GET", "/nothing", "text/html,application/xhtml+xml", 418},
	} {
		r, w := httptest.NewRequest(c.method, c.path, nil), httptest.NewRecorder()
		r.Header.Set("Accept", c.accept)
		h.ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("%s: got %d, want %d", c.name, w.Code, c.want)
		}
		if w.Code == 404 || w.Code == 405 {
			var p access.Problem
			if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || p.Detail == "" || w.Header().Get("Content-Type") != "application/problem+json" {
				t.Errorf("%s: %s", c.name, w.Body)
			}
		}
	}
}

func TestSurvived(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	h := survived(slog.New(slog.NewJSONHandler(&log, nil)), http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("canary 7f3a") }))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	if w.Code != 500 || !strings.Contains(w.Body.String(), `"code":"internal"`) || !strings.Contains(log.String(), "rest_test.go") {
		t.Errorf("got %d %s, and the log %s", w.Code, w.Body, log.String())
	}
	if strings.Contains(w.Body.String()+log.String(), "7f3a") {
		t.Errorf("it shows what it panicked with: %s", log.String())
	}
}
