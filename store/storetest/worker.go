package storetest

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// testWorkers has a store to itself and one sub-test after the other, because
// a beat is about all workers and all running jobs of a database.
func testWorkers(t *testing.T, s store.Store) {
	f := &fixture{T: t, ctx: t.Context(), s: s, scope: oxbow.Scope{Tenant: "default", Name: "user:ada"}}
	beat := func(name string, at time.Time) {
		t.Helper()
		f.tx(func(ctx context.Context, tx store.Tx) error { return tx.Beat(ctx, f.id(name), at, store.WorkerTTL) })
	}
	alive := func(t *testing.T, since time.Time, want int) {
		t.Helper()
		if n := must(f.s.LiveWorkers(f.ctx, since))(f); n != want {
			t.Fatalf("%d workers live, want %d", n, want)
		}
	}

	t.Run("counts the workers that gave a sign of life since an instant", func(t *testing.T) {
		beat("a", start)
		beat("b", start.Add(time.Second))
		alive(t, start, 2)
		alive(t, start.Add(time.Millisecond), 1)
		beat("a", start.Add(2*time.Second))
		alive(t, start.Add(time.Second), 2)
		beat("b", time.Time{})
		beat("nobody", time.Time{})
		alive(t, start, 1)
	})

	t.Run("takes away a worker that was silent for longer than WorkerTTL", func(t *testing.T) {
		beat("a", start)
		beat("b", start.Add(store.WorkerTTL))
		alive(t, start, 2)
		beat("b", start.Add(store.WorkerTTL+time.Millisecond))
		alive(t, start, 1)
		beat("b", time.Time{})
		alive(t, start.Add(-day), 0)
	})

	t.Run("takes it away sooner when the caller's patience is shorter", func(t *testing.T) {
		beat("a", start)
		f.tx(func(ctx context.Context, tx store.Tx) error {
			return tx.Beat(ctx, f.id("b"), start.Add(time.Second), 999*time.Millisecond)
		})
		alive(t, start.Add(-day), 1)
		beat("b", time.Time{})
	})

	t.Run("sends the running jobs of a lost worker back, and stops the sleeper at the fence", func(t *testing.T) {
		f := &fixture{T: t, ctx: t.Context(), s: s, scope: f.scope}
		f.enqueue(f.task("one"))
		started, code := make(chan int, 2), make(chan string, 1)
		release := make(chan struct{})
		var effects atomic.Int32
		c := f.work(func(ctx context.Context, job *river.Job[taskArgs]) error {
			started <- job.Attempt
			if job.Attempt == 1 {
				<-release
			}
			err := f.s.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
				if err := tx.Fence(ctx, job.JobRow); err != nil {
					return err
				}
				return tx.CompleteJob(ctx, job.JobRow)
			})
			if err == nil {
				effects.Add(1)
			}
			if job.Attempt == 1 {
				code <- oxbow.CodeOf(err)
				return nil
			}
			return err
		})
		receive(f, started)
		beat := func(name string, at time.Time) {
			f.tx(func(ctx context.Context, tx store.Tx) error { return tx.Beat(ctx, f.id(name), at, store.WorkerTTL) })
		}
		beat("client", start)
		if j := f.jobs()[0]; j.State != "running" || j.Attempt != 1 {
			t.Fatalf("a live worker lost its job: %s", show(j))
		}
		beat("other", start.Add(2*store.WorkerTTL))
		if attempt := receive(f, started); attempt != 2 {
			t.Fatalf("attempt %d was started, want the second", attempt)
		}
		c.await(river.EventKindJobCompleted)
		close(release)
		if got := receive(f, code); got != oxbow.CodeConflict || effects.Load() != 1 {
			t.Fatalf("the sleeper passed the fence with %q, and there were %d effects", got, effects.Load())
		}
		c.await(river.EventKindJobCompleted)
		if j := f.jobs()[0]; j.State != "completed" || j.Attempt != 2 {
			t.Fatalf("got %s", show(j))
		}
	})
}
