package metrics_test

import (
	"context"
	"errors"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/lab"
	"github.com/oxbow-memory/oxbow/internal/metrics"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/schedule"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/worker"
)

// labels lists every label that a metric may have, with the values that it may
// take; none listed are words of the configuration or of the code.
var labels = map[string][]string{
	"kind":   {"extract", "confidence", "contradiction", "expiry", "decay", "expire", "prune", "cluster", "synthesize", "apply_policy", "embed", "observe", "reflect", "graph", "reindex", "tick"},
	"reason": jobs.RefusedReasons,
	"queue":  {jobs.QueueWrite, jobs.QueueMaintenance, jobs.QueueSynthesis},
	"state":  {"available", "running", "scheduled", "retryable"},
	"status": words(oxbow.Statuses), "type": words(oxbow.EventTypes), "pass": append([]string{"reflect"}, jobs.Passes...), "direction": {"in", "out"},
	"part":  {"queue", "schedule", "budget", "llm", "log"},
	"model": {"small", "large"},
	"outcome": {jobs.OutcomeDone, jobs.OutcomeSnoozed, jobs.OutcomeRetried, jobs.OutcomeCancelled, jobs.OutcomeDiscarded, jobs.OutcomeInterrupted,
		string(llm.OutcomeOK), string(llm.OutcomeUnparsable), string(llm.OutcomeRefused), string(llm.OutcomeAway), string(llm.OutcomeLost)},
	"version": {"1.2.3"}, "goversion": nil,
}

func words[T ~string](all []T) (out []string) {
	for _, w := range all {
		out = append(out, string(w))
	}
	return out
}

// sample finds the value of one series; ok is false when there is none.
func sample(t *testing.T, i *metrics.Instruments, name string, with ...string) (v float64, ok bool) {
	t.Helper()
	all, err := i.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.Metric {
			var have []string
			for _, l := range m.Label {
				have = append(have, l.GetName(), l.GetValue())
			}
			if slices.Equal(have, with) {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount()), true
			}
		}
	}
	return 0, false
}

func want(b *lab.Bench, i *metrics.Instruments, v float64, name string, with ...string) {
	b.Helper()
	if got, ok := sample(b.T, i, name, with...); !ok || got != v {
		b.Errorf("%s%v is %v (there: %v), want %v", name, with, got, ok, v)
	}
}

// busy plays a story in which something happens to every metric.
func busy(b *lab.Bench) *metrics.Instruments {
	i := metrics.New(metrics.Config{Source: b.DB, Version: "1.2.3", Budget: 1000, Reasons: jobs.RefusedReasons, Clock: b.Clock.Now, KeepFor: time.Nanosecond})
	b.Judge.OnExtract = func(llm.TurnText) (llm.Extraction, error) {
		unfounded := lab.DraftOf("pet: a secretword")
		unfounded.Quote = "nobody said so"
		return llm.Extraction{Drafts: []llm.Draft{lab.DraftOf("tea: green"), unfounded}}, nil
	}
	b.Say("c", "tea: green", lab.Start.Add(-lab.Day))
	m := b.Remember(lab.Statement{Text: "secretword: a bird"})
	_, err := b.Engine.Archive(b.Ctx, b.Scope.Tenant, m.ID)
	b.Must(err)
	w, err := worker.New(jobs.Deps{Store: b.DB, Judge: b.Judge, Clock: b.Clock.Now, Refused: i.Refused}, worker.Config{Ended: i.Job})
	b.Must(err)
	b.Must(w.Start(b.Ctx))
	b.Must(w.Drain(b.Ctx, "", nil))
	b.Must(w.Stop(b.Ctx))
	cost := 0.5
	b.Must(b.DB.InTx(b.Ctx, func(ctx context.Context, tx store.Tx) error {
		day := lab.Start.Format(time.DateOnly)
		for n, c := range []store.LLMCall{{Model: "small", Outcome: store.LLMOK, In: 10, Out: 2, Cost: &cost}, {Model: "large", Outcome: "away", In: 5}} {
			c.ID, c.Scope, c.At = oxbow.NewID("call", string(rune('a'+n))), b.Scope, lab.Start
			if err := tx.PutLLMCall(ctx, c); err != nil {
				return err
			}
		}
		if _, err := tx.ReserveTokens(ctx, b.Scope.Tenant, day, 900, 1000); err != nil {
			return err
		}
		if _, err := tx.ReserveTokens(ctx, b.Scope.Tenant, day, 900, 1000); err != nil {
			return err
		}
		return tx.PutDiscarded(ctx, store.Discarded{ID: oxbow.NewID("gone"), Tenant: b.Scope.Tenant, Scope: b.Scope.Name, Kind: "expiry", Args: []byte("{}"), At: lab.Start})
	}))
	return i
}

func TestInstruments(t *testing.T) {
	t.Parallel()

	t.Run("show what happened, alike in every process of a database", func(t *testing.T) {
		t.Parallel()
		lab.Each(t, func(t *testing.T, db *lab.DB) {
			b := lab.New(t, db)
			i := busy(b)
			other := metrics.New(metrics.Config{Source: b.DB, Budget: 1000, Clock: b.Clock.Now})
			for _, i := range []*metrics.Instruments{i, other} {
				want(b, i, 1, "oxbow_memories", "status", "active")
				want(b, i, 1, "oxbow_memories", "status", "archived")
				want(b, i, 0, "oxbow_memories", "status", "erased")
				want(b, i, 2, "oxbow_memory_events_total", "type", "created")
				want(b, i, 1, "oxbow_memory_events_total", "type", "archived")
				want(b, i, 1, "oxbow_llm_requests_total", "model", "small", "outcome", "ok")
				want(b, i, 1, "oxbow_llm_requests_total", "model", "large", "outcome", "away")
				want(b, i, 10, "oxbow_llm_tokens_total", "direction", "in", "model", "small")
				want(b, i, 0.5, "oxbow_llm_cost_usd_total", "model", "small")
				want(b, i, 1, "oxbow_llm_unpriced_requests_total", "model", "large")
				want(b, i, 900, "oxbow_llm_budget_used_tokens")
				want(b, i, 1, "oxbow_llm_budget_short_tenants")
				want(b, i, 1000, "oxbow_llm_budget_tokens")
				want(b, i, 1, "oxbow_jobs_given_up", "kind", "expiry")
				want(b, i, 0, "oxbow_workers_alive")
				want(b, i, 0, "oxbow_queue_depth", "queue", "write", "state", "available")
				want(b, i, 1, "oxbow_collector_up", "part", "log")
				want(b, i, float64(lab.Start.Unix()), "oxbow_schedule_last_success_timestamp_seconds", "pass", "decay")
				next, err := schedule.Next(schedule.Defaults[0].Spec, time.UTC, lab.Start)
				b.Must(err)
				want(b, i, float64(next.Unix()), "oxbow_schedule_next_slot_timestamp_seconds", "pass", "decay")
			}
			want(b, i, 1, "oxbow_jobs_total", "kind", "extract", "outcome", "done")
			want(b, i, 1, "oxbow_job_duration_seconds", "kind", "extract")
			want(b, i, 1, "oxbow_decision_refused_total", "reason", "draft")
			want(b, i, 0, "oxbow_decision_refused_total", "reason", "merge") // a rate counts from there
			if _, ok := sample(t, other, "oxbow_jobs_total", "kind", "extract", "outcome", "done"); ok {
				t.Error("another process counts jobs that it did not work")
			}
		})
	})

	t.Run("name no tenant, no scope, no id and no word, and few labels", func(t *testing.T) {
		t.Parallel()
		b := lab.New(t, lab.OpenSQLite(t))
		i := busy(b)
		all, err := i.Gatherer().Gather()
		b.Must(err)
		for _, f := range all {
			if !strings.HasPrefix(f.GetName(), "oxbow_") {
				continue
			}
			if n := len(f.Metric); n > 32 {
				t.Errorf("%s has %d series", f.GetName(), n)
			}
			for _, m := range f.Metric {
				for _, l := range m.Label {
					allowed, known := labels[l.GetName()]
					if !known || allowed != nil && !slices.Contains(allowed, l.GetValue()) {
						t.Errorf("%s has the label %s=%q, which no list allows", f.GetName(), l.GetName(), l.GetValue())
					}
				}
			}
		}
		answer := httptest.NewRecorder()
		i.Handler().ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
		for _, secret := range []string{b.Scope.Tenant, b.Scope.Name, "secretword", "green", b.Find("tea: green").ID} {
			if strings.Contains(answer.Body.String(), secret) {
				t.Errorf("the answer holds %q", secret)
			}
		}
	})

	t.Run("are named as Prometheus wants names", func(t *testing.T) {
		t.Parallel()
		problems, err := testutil.GatherAndLint(busy(lab.New(t, lab.OpenSQLite(t))).Gatherer())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range problems {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	})
}

// source counts the looks at a store, and can fail.
type source struct {
	store.Store
	looks atomic.Int64
	plans atomic.Int64 // looks at the schedules
	fail  atomic.Bool
}

func (s *source) CountLog(ctx context.Context, after, upto int64) ([]store.LogCount, error) {
	if s.fail.Load() {
		return nil, errors.New("the database is away")
	}
	return s.Store.CountLog(ctx, after, upto)
}

func (s *source) QueueStats(ctx context.Context) ([]store.QueueStat, error) {
	s.looks.Add(1)
	return s.Store.QueueStats(ctx)
}

func TestLook(t *testing.T) {
	t.Parallel()

	t.Run("is shared by many who ask at once and shortly after", func(t *testing.T) {
		t.Parallel()
		b := lab.New(t, lab.OpenSQLite(t))
		s := &source{Store: b.DB}
		i := metrics.New(metrics.Config{Source: s, Clock: b.Clock.Now})
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if _, err := i.Gatherer().Gather(); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := s.looks.Load(); n != 1 {
			t.Errorf("20 that asked at once cost %d looks", n)
		}
		b.Clock.Add(6 * time.Second)
		_, err := i.Gatherer().Gather()
		b.Must(err)
		if n := s.looks.Load(); n != 2 {
			t.Errorf("one who asked later cost %d looks in all", n)
		}
		if n := s.plans.Load(); n != 1 {
			t.Errorf("the schedules were looked at %d times within half a minute", n)
		}
		b.Clock.Add(30 * time.Second)
		_, err = i.Gatherer().Gather()
		b.Must(err)
		if n := s.plans.Load(); n != 2 {
			t.Errorf("the schedules were looked at %d times in a minute", n)
		}
	})

	t.Run("leaves out what cannot be read, says so, and comes back", func(t *testing.T) {
		t.Parallel()
		b := lab.New(t, lab.OpenSQLite(t))
		b.Remember(lab.Statement{Text: "tea: green"})
		s := &source{Store: b.DB}
		i := metrics.New(metrics.Config{Source: s, Clock: b.Clock.Now, KeepFor: time.Nanosecond})
		s.fail.Store(true)
		want(b, i, 0, "oxbow_collector_up", "part", "log")
		want(b, i, 1, "oxbow_collector_up", "part", "queue")
		if v, ok := sample(t, i, "oxbow_memories", "status", "active"); ok {
			t.Errorf("%v memories are shown that nobody could count", v)
		}
		s.fail.Store(false)
		b.Clock.Add(time.Second)
		want(b, i, 1, "oxbow_memories", "status", "active")
	})

	t.Run("ends in time when the database does not answer", func(t *testing.T) {
		t.Parallel()
		b := lab.New(t, lab.OpenSQLite(t))
		i := metrics.New(metrics.Config{Source: silent{b.DB}, Clock: b.Clock.Now, Within: time.Millisecond})
		want(b, i, 0, "oxbow_collector_up", "part", "queue")
	})
}

func (s *source) Freshness(ctx context.Context) ([]store.Freshness, error) {
	s.plans.Add(1)
	return s.Store.Freshness(ctx)
}

// silent is a store whose queue never answers.
type silent struct{ store.Store }

func (silent) QueueStats(ctx context.Context) ([]store.QueueStat, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestNamesOfLabels(t *testing.T) {
	t.Parallel()
	for _, forbidden := range []string{"tenant", "scope", "id", "memory", "run", "key", "conversation"} {
		if slices.Contains(slices.Collect(maps.Keys(labels)), forbidden) {
			t.Errorf("%s is a label", forbidden)
		}
	}
}
