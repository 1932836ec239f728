package worker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/lab"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/worker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tell runs a story on both databases, each time in a store of its own.
func tell(t *testing.T, story func(*lab.Bench)) {
	t.Helper()
	t.Parallel()
	lab.Each(t, func(t *testing.T, db *lab.DB) { story(lab.New(t, db)) })
}

// start makes a worker that the story stops itself.
func start(b *lab.Bench, cfg worker.Config) *worker.Worker {
	b.Helper()
	w, err := worker.New(jobs.Deps{Store: b.DB, Judge: b.Judge, Clock: b.Clock.Now}, cfg)
	b.Must(err)
	b.Must(w.Start(b.Ctx))
	return w
}

func job(b *lab.Bench, kind string) store.Job {
	b.Helper()
	js, err := b.DB.ListJobs(b.Ctx, store.JobFilter{Tenant: b.Scope.Tenant, Kind: kind, Limit: 10})
	b.Must(err)
	if len(js) != 1 {
		b.Fatalf("there are %d %s jobs", len(js), kind)
	}
	return js[0]
}

func TestStop(t *testing.T) {
	t.Parallel()

	t.Run("lets the jobs that run finish", func(t *testing.T) {
		tell(t, func(b *lab.Bench) {
			asked, answer := make(chan struct{}), make(chan struct{})
			b.Judge.Wait = func(ctx context.Context, question string) error {
				if question == "extract" {
					close(asked)
					<-answer
				}
				return nil
			}
			w := start(b, worker.Config{StopWithin: time.Minute})
			b.Say("c", "tea: green", lab.Start.Add(-lab.Day))
			<-asked
			ended := make(chan error)
			go func() { ended <- w.Stop(b.Ctx) }()
			close(answer)
			b.Must(<-ended)
			if j := job(b, "extract"); j.State != "completed" || j.Attempt != 1 {
				b.Errorf("the job is %s after %d attempts: %v", j.State, j.Attempt, j.Errors)
			}
			b.Find("tea: green")
			signedOff(b)
		})
	})

	t.Run("sends jobs that do not finish back without a spent attempt", func(t *testing.T) {
		tell(t, func(b *lab.Bench) {
			asked := make(chan struct{})
			var once atomic.Bool
			b.Judge.Wait = func(ctx context.Context, question string) error {
				if once.CompareAndSwap(false, true) {
					close(asked)
					<-ctx.Done()
					return ctx.Err()
				}
				return nil
			}
			w := start(b, worker.Config{StopWithin: time.Millisecond})
			b.Say("c", "tea: green", lab.Start.Add(-lab.Day))
			<-asked
			b.Must(w.Stop(b.Ctx))
			if j := job(b, "extract"); j.State != "available" || j.Attempt != 0 {
				b.Errorf("the job is %s after %d attempts: %v", j.State, j.Attempt, j.Errors)
			}
			signedOff(b)
			b.Finish(b.Worker(worker.Config{}))
			b.Find("tea: green")
			b.Clean()
		})
	})

	t.Run("is harmless for a worker that never started", func(t *testing.T) {
		tell(t, func(b *lab.Bench) {
			w, err := worker.New(jobs.Deps{Store: b.DB, Judge: b.Judge}, worker.Config{})
			b.Must(err)
			b.Must(w.Stop(b.Ctx))
		})
	})
}

func signedOff(b *lab.Bench) {
	b.Helper()
	n, err := b.DB.LiveWorkers(b.Ctx, time.Time{})
	b.Must(err)
	if n != 0 {
		b.Errorf("%d workers are alive", n)
	}
}

func TestShare(t *testing.T) {
	t.Parallel()

	t.Run("gives several workers one queue, and each effect happens once", func(t *testing.T) {
		tell(t, func(b *lab.Bench) {
			const scopes, turns = 5, 12
			ws := []*worker.Worker{b.Worker(worker.Config{Write: 3}), b.Worker(worker.Config{Write: 3}), b.Worker(worker.Config{Write: 3})}
			for i := range turns {
				for s := range scopes {
					b.Ingest(oxbow.Turn{Scope: scope(b, s), Conversation: "c", User: fmt.Sprintf("topic%d: says %d", i%4, i), At: lab.Start.Add(time.Duration(i-100) * time.Hour)})
				}
			}
			for _, w := range ws {
				b.Finish(w)
			}
			once(b, scopes, turns)
			b.Clean()
		})
	})
}

func scope(b *lab.Bench, n int) oxbow.Scope {
	return oxbow.Scope{Tenant: b.Scope.Tenant, Name: fmt.Sprint("user:", n)}
}

// once checks that every scope came to the same end, with one creation and one
// rating of each memory.
func once(b *lab.Bench, scopes, turns int) {
	b.Helper()
	want := b.StateOf(scope(b, 0))
	for s := range scopes {
		if d := lab.Differ(want, b.StateOf(scope(b, s))); d != "" {
			b.Errorf("scope %d ended elsewhere:\n%s", s, d)
		}
		b.Scope = scope(b, s)
		ms := b.All()
		if len(ms) != turns {
			b.Errorf("scope %d holds %d memories", s, len(ms))
		}
		for _, m := range ms {
			kinds := map[oxbow.EventType]int{}
			for _, t := range b.Types(m.ID) {
				kinds[t]++
			}
			if kinds[oxbow.Created] != 1 || kinds[oxbow.Rated] != 1 {
				b.Errorf("the events of %q are %v", m.Content.Text, b.Types(m.ID))
			}
		}
	}
}

func TestLostWorker(t *testing.T) {
	t.Parallel()

	t.Run("has its running jobs worked by another after its time to live", func(t *testing.T) {
		tell(t, func(b *lab.Bench) {
			m := b.Remember(lab.Statement{Text: "tea: green"})
			seen := jobs.Deps{}.RealNow().Add(-store.WorkerTTL)
			b.Must(b.DB.InTx(b.Ctx, func(ctx context.Context, tx store.Tx) error { return tx.Beat(ctx, "oxbow-lost", seen, store.WorkerTTL) }))
			by := `ARRAY['oxbow-lost']`
			if b.DB.Embedded() {
				by = `jsonb('["oxbow-lost"]')`
			}
			b.DB.Exec(b, `UPDATE river_job SET state = 'running', attempt = 1, attempted_at = CURRENT_TIMESTAMP, attempted_by = `+by)
			b.Must(b.DB.InTx(b.Ctx, func(ctx context.Context, tx store.Tx) error {
				return tx.Beat(ctx, "oxbow-other", seen.Add(store.WorkerTTL), store.WorkerTTL)
			}))
			if j := job(b, "expiry"); j.State != "running" {
				b.Errorf("before its time the job is %s", j.State)
			}
			b.Finish(b.Worker(worker.Config{}))
			if j := job(b, "expiry"); j.State != "completed" {
				b.Errorf("the job is %s", j.State)
			}
			if b.Judge.Calls("expiry") != 1 || b.Get(m.ID).Status != oxbow.Active {
				b.Errorf("the judge was asked %d times", b.Judge.Calls("expiry"))
			}
		})
	})
}

func TestAway(t *testing.T) {
	t.Parallel()

	t.Run("leaves the jobs of a judge that is away waiting, with no attempt spent", func(t *testing.T) {
		tell(t, func(b *lab.Bench) {
			b.Judge.Down = func() error { return &llm.AwayError{RetryAfter: time.Hour, Err: errors.New("503")} }
			b.Say("c", "tea: green", lab.Start.Add(-lab.Day))
			b.Finish(b.Worker(worker.Config{}))
			j := job(b, "extract")
			if j.State != "scheduled" || j.Attempt != 0 {
				b.Errorf("the job is %s after %d attempts", j.State, j.Attempt)
			}
			if left := time.Until(j.ScheduledAt); left < 50*time.Minute || left > 70*time.Minute {
				b.Errorf("it waits %s", left)
			}
		})
	})
}

func TestSchedule(t *testing.T) {
	t.Parallel()

	t.Run("runs what was missed as soon as the worker is there", func(t *testing.T) {
		tell(t, func(b *lab.Bench) {
			var ids []string
			for i := range 5 {
				ids = append(ids, b.Remember(lab.Statement{Text: fmt.Sprintf("topic%d: x", i)}).ID)
			}
			asked := make(chan struct{}, 10)
			b.Judge.OnCluster = func([]llm.Statement) ([][]string, error) { asked <- struct{}{}; return nil, nil }
			b.Clock.Add(14 * lab.Day)
			w := b.Worker(worker.Config{Schedule: true})
			<-asked
			b.Finish(w)
			if n := b.Judge.Calls("cluster"); n != 1 {
				b.Errorf("cluster ran %d times", n)
			}
			rs, err := b.DB.ListRuns(b.Ctx, store.RunFilter{Tenant: b.Scope.Tenant, Limit: 100})
			b.Must(err)
			ran := map[string]int{}
			for _, r := range rs {
				if r.Trigger == "schedule" {
					ran[r.Name]++
				}
			}
			for _, name := range []string{"decay", "expire", "prune", "cluster"} {
				if ran[name] != 1 {
					b.Errorf("%s ran %d times", name, ran[name])
				}
			}
			if b.Get(ids[0]).Status != oxbow.Active {
				b.Error("a memory of two weeks has faded")
			}
		})
	})
}

func TestDrain(t *testing.T) {
	t.Parallel()

	t.Run("tells how much is left and waits for one run only", func(t *testing.T) {
		tell(t, func(b *lab.Bench) {
			first, err := b.Engine.Remember(b.Ctx, lab.Statement{Scope: b.Scope, Text: "tea: green"})
			b.Must(err)
			w := b.Worker(worker.Config{})
			var last []string
			b.Must(w.Drain(b.Ctx, first.Run, func(left int) { last = append(last, fmt.Sprint(left)) }))
			if len(last) == 0 || last[len(last)-1] != "0" {
				b.Errorf("it told %s", strings.Join(last, ", "))
			}
		})
	})

	t.Run("ends with its context", func(t *testing.T) {
		tell(t, func(b *lab.Bench) {
			asked, answer := make(chan struct{}), make(chan struct{})
			b.Judge.Wait = func(context.Context, string) error { close(asked); <-answer; return nil }
			b.Say("c", "tea: green", lab.Start.Add(-lab.Day))
			w := b.Worker(worker.Config{})
			<-asked
			b.Judge.Wait = nil
			ctx, cancel := context.WithCancel(b.Ctx)
			cancel()
			if err := w.Drain(ctx, "", nil); !errors.Is(err, context.Canceled) {
				b.Errorf("it ended with %v", err)
			}
			close(answer)
			b.Finish(w)
		})
	})
}
