package main

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/internal/lab"
)

// ready asks an address whether it is, and gives the status and the checks.
func ready(t *testing.T, addr string) (int, map[string]string) {
	t.Helper()
	r, err := http.Get("http://" + addr + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var out struct {
		Checks map[string]string `json:"checks"`
	}
	if err := json.NewDecoder(r.Body).Decode(&out); err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, out.Checks
}

func TestDraining(t *testing.T) {
	t.Parallel()
	b := lab.New(t, lab.OpenSQLite(t))
	const pause = 50 * time.Millisecond
	s := &session{app: newApp(strings.NewReader(""), &strings.Builder{}, &strings.Builder{}, func(string) (string, bool) { return "", false }),
		conf: settings{"drain_for": {value: pause.String()}, "worker.stop_within": {value: "1s"}},
		st:   b.DB, engine: engine.New(engine.Config{Store: b.DB, Judge: b.Judge}), judge: b.Judge, tenant: "home"}
	ctx, tellToStop := context.WithCancel(t.Context())
	defer tellToStop()
	ln, err := listen("addr", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	finish, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- s.answerWhile(ctx, ln, s.handler(ctx, serving{}, true, s.instruments(), s.logger(0)), s.logger(0), func(ctx context.Context) error {
			<-ctx.Done()
			<-finish // as long as running jobs take
			return nil
		})
	}()
	addr := ln.Addr().String()
	if _, checks := ready(t, addr); checks["process"] != "ok" || checks["database"] != "ok" || checks["scheduler"] != "no worker is alive" {
		t.Errorf("before, it says %v", checks)
	}
	began := time.Now()
	tellToStop()
	if code, checks := ready(t, addr); code != 503 || checks["process"] != "draining" {
		t.Errorf("while jobs end, it says %d %v", code, checks)
	}
	close(finish)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took < pause {
		t.Errorf("it stopped after %s, and was to answer for %s", took, pause)
	}
	if _, err := http.Get("http://" + addr + "/readyz"); err == nil {
		t.Error("it answers though it has stopped")
	}
}
