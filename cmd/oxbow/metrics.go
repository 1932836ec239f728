package main

import (
	"context"
	"net/http"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/metrics"
	"github.com/oxbow-memory/oxbow/jobs"
)

// instruments gives what this process counts and what the database shows.
func (s *session) instruments() *metrics.Instruments {
	return metrics.New(metrics.Config{Source: s.st, Version: version, Budget: s.conf.budget(), Reasons: jobs.RefusedReasons})
}

// workSeen is work with its metrics, and its health, at an address of its own
// when one was asked for.
func (s *session) workSeen(ctx context.Context) error {
	counts, addr := s.instruments(), s.conf.text("worker.metrics_addr")
	if addr == "" {
		return s.work(ctx, counts)
	}
	open, err := s.mayListen(ctx, "metrics-addr", addr)
	if err != nil {
		return err
	}
	ln, err := listen("metrics-addr", addr)
	if err != nil {
		return err
	}
	guard, mux := s.guard(open), http.NewServeMux()
	s.health(ctx).Handle(mux)
	mux.Handle("GET /metrics", guard.Require(oxbow.MayOperate, counts.Handler()))
	s.say("metrics at http://%s/metrics", toOpen(ln.Addr()))
	return s.answerWhile(ctx, ln, guard.Wrap(mux), s.logger(s.conf.level()), func(ctx context.Context) error { return s.work(ctx, counts) })
}
