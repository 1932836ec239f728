package storetest

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// taskArgs are the arguments of the suite's own kind of job.
type taskArgs struct {
	Tenant string `json:"tenant"`
	Run    string `json:"run"`
	Do     string `json:"do"`
}

// Kind satisfies River.
func (taskArgs) Kind() string { return "storetest" }

// task gives a job of the sub-test, in a queue of its own.
func (f *fixture) task(do string, set ...func(*river.InsertOpts)) river.InsertManyParams {
	opts := &river.InsertOpts{Queue: f.queue(), MaxAttempts: 5}
	for _, s := range set {
		s(opts)
	}
	return river.InsertManyParams{Args: taskArgs{Tenant: f.scope.Tenant, Run: f.id("run"), Do: do}, InsertOpts: opts}
}

// queue gives the name of the sub-test's queue.
func (f *fixture) queue() string { return "q" + f.id("queue") }

// enqueue inserts jobs in a transaction of their own.
func (f *fixture) enqueue(jobs ...river.InsertManyParams) {
	f.Helper()
	f.tx(func(ctx context.Context, tx store.Tx) error { return tx.Enqueue(ctx, jobs) })
}

// jobs gives the sub-test's jobs, newest first.
func (f *fixture) jobs() []store.Job {
	f.Helper()
	return must(f.s.ListJobs(f.ctx, store.JobFilter{Tenant: f.scope.Tenant, Kind: "storetest", Run: f.id("run"), Limit: 100}))(f)
}

// stats gives the sub-test's queue.
func (f *fixture) stats() store.QueueStat {
	f.Helper()
	for _, q := range must(f.s.QueueStats(f.ctx))(f) {
		if q.Queue == f.queue() {
			return q
		}
	}
	return store.QueueStat{}
}

// later makes a job wait for an hour of River's clock.
func later(o *river.InsertOpts) { o.ScheduledAt = time.Now().Add(time.Hour) }

func testQueue(t *testing.T, s store.Store) {
	const noJob = 1 << 40

	t.Run("shows a job when its transaction has committed", func(t *testing.T) {
		f := setup(t, s)
		f.tx(func(ctx context.Context, tx store.Tx) error {
			if err := tx.Enqueue(ctx, []river.InsertManyParams{f.task("one"), f.task("two")}); err != nil {
				return err
			}
			if n := must(f.s.PendingJobs(f.ctx, "", f.id("run")))(f); n != 0 {
				t.Errorf("%d jobs are visible before the commit", n)
			}
			n, err := tx.PendingJobs(ctx, "", f.id("run"))
			if n != 2 {
				t.Errorf("the transaction sees %d of its jobs", n)
			}
			return err
		})
		jobs := f.jobs()
		if len(jobs) != 2 || jobs[0].ID < jobs[1].ID {
			t.Fatalf("got %s", show(jobs))
		}
		j := must(f.s.Job(f.ctx, jobs[1].ID))(f)
		f.wantSame(j, jobs[1])
		if j.Kind != "storetest" || j.Queue != f.queue() || j.State != "available" || j.Attempt != 0 || j.MaxAttempts != 5 ||
			j.CreatedAt.IsZero() || j.ScheduledAt.IsZero() || !j.FinalizedAt.IsZero() || len(j.Errors) != 0 {
			t.Fatalf("got %s", show(j))
		}
		var args taskArgs
		if err := json.Unmarshal(j.Args, &args); err != nil || args != (taskArgs{Tenant: f.scope.Tenant, Run: f.id("run"), Do: "one"}) {
			t.Fatalf("the arguments are %s: %v", j.Args, err)
		}
		_, err := f.s.Job(f.ctx, noJob)
		f.wantCode(err, oxbow.CodeNotFound)
	})

	t.Run("lists jobs by kind, state, run and tenant, in pages", func(t *testing.T) {
		f := setup(t, s)
		f.enqueue()
		f.enqueue(f.task("one"), f.task("two", later), f.task("three"))
		list := func(filter store.JobFilter, want int) {
			t.Helper()
			if filter.Limit == 0 {
				filter.Limit = 100
			}
			if got := must(f.s.ListJobs(f.ctx, filter))(f); len(got) != want {
				t.Errorf("%s gives %d jobs, want %d", show(filter), len(got), want)
			}
		}
		mine := store.JobFilter{Tenant: f.scope.Tenant}
		list(mine, 3)
		list(store.JobFilter{Tenant: f.scope.Tenant, State: "scheduled"}, 1)
		list(store.JobFilter{Tenant: f.scope.Tenant, State: "available", Kind: "storetest"}, 2)
		list(store.JobFilter{Tenant: f.scope.Tenant, Kind: "other"}, 0)
		list(store.JobFilter{Tenant: f.scope.Tenant + "x"}, 0)
		list(store.JobFilter{Run: f.id("run")}, 3)
		list(store.JobFilter{Run: f.id("run"), Limit: 2}, 2)
		list(store.JobFilter{Run: f.id("run"), BeforeID: f.jobs()[1].ID}, 1)
		f.wantSame(must(f.s.PendingJobs(f.ctx, "", f.id("run")))(f), 3)
		f.wantSame(must(f.s.PendingJobs(f.ctx, f.scope.Tenant, ""))(f), 3)
		f.wantSame(must(f.s.PendingJobs(f.ctx, f.scope.Tenant+"x", f.id("run")))(f), 0)
		f.wantSame(must(f.s.ReadyJobs(f.ctx, f.id("run")))(f), 2)
		f.wantSame(must(f.s.ReadyJobs(f.ctx, f.id("other run")))(f), 0)
		pending, ready := must(f.s.PendingJobs(f.ctx, "", ""))(f), must(f.s.ReadyJobs(f.ctx, ""))(f)
		if pending < 3 || ready < 2 {
			t.Errorf("an empty run counts %d jobs, %d of them ready", pending, ready)
		}
	})

	t.Run("cancels a job that waits and makes it available again", func(t *testing.T) {
		f := setup(t, s)
		f.enqueue(f.task("one", later))
		id := f.jobs()[0].ID
		change := func(fn func(store.Tx, context.Context, int64) error, id int64) error {
			return f.s.InTx(f.ctx, func(ctx context.Context, tx store.Tx) error { return fn(tx, ctx, id) })
		}
		for _, step := range []struct {
			do      func(store.Tx, context.Context, int64) error
			state   string
			pending int
		}{{store.Tx.CancelJob, "cancelled", 0}, {store.Tx.CancelJob, "cancelled", 0}, {store.Tx.RetryJob, "available", 1}, {store.Tx.RetryJob, "available", 1}} {
			f.wantCode(change(step.do, id), "")
			j := must(f.s.Job(f.ctx, id))(f)
			if n := must(f.s.PendingJobs(f.ctx, "", f.id("run")))(f); j.State != step.state || n != step.pending || j.FinalizedAt.IsZero() != (n == 1) {
				t.Fatalf("%d are pending and the job is %s, want %s", n, show(j), step.state)
			}
		}
		f.wantCode(change(store.Tx.CancelJob, noJob), oxbow.CodeNotFound)
		f.wantCode(change(store.Tx.RetryJob, noJob), oxbow.CodeNotFound)
	})

	t.Run("refuses at the fence an attempt that is not the running one", func(t *testing.T) {
		f := setup(t, s)
		f.enqueue(f.task("one"))
		fence := func(row *rivertype.JobRow) error {
			return f.s.InTx(f.ctx, func(ctx context.Context, tx store.Tx) error { return tx.Fence(ctx, row) })
		}
		f.wantCode(fence(&rivertype.JobRow{ID: f.jobs()[0].ID, Attempt: 0}), oxbow.CodeConflict)
		f.wantCode(fence(&rivertype.JobRow{ID: f.jobs()[0].ID, Attempt: 1}), oxbow.CodeConflict)
		f.wantCode(fence(&rivertype.JobRow{ID: noJob, Attempt: 1}), oxbow.CodeNotFound)
	})

	t.Run("counts a queue's jobs and knows its oldest", func(t *testing.T) {
		f := setup(t, s)
		f.enqueue(f.task("one"), f.task("two"), f.task("three", later))
		q := f.stats()
		if q.Available != 2 || q.Scheduled != 1 || q.Running+q.Retryable != 0 || q.Paused {
			t.Fatalf("got %s", show(q))
		}
		if oldest := f.jobs()[2].ScheduledAt; !q.OldestAt.Equal(oldest) {
			t.Fatalf("the oldest is of %v, want %v", q.OldestAt, oldest)
		}
		names := []string{}
		for _, q := range must(f.s.QueueStats(f.ctx))(f) {
			names = append(names, q.Queue)
		}
		if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
			t.Fatalf("the queues come as %q", names)
		}
	})

	t.Run("pauses a queue before any worker has opened it", func(t *testing.T) {
		f := setup(t, s)
		pause := func(paused bool) {
			t.Helper()
			f.tx(func(ctx context.Context, tx store.Tx) error { return tx.SetQueuePaused(ctx, f.queue(), paused) })
			if f.stats().Paused != paused {
				t.Fatalf("got %s", show(f.stats()))
			}
		}
		pause(true)
		pause(true)
		f.enqueue(f.task("one"))
		if q := f.stats(); q.Available != 1 || !q.Paused {
			t.Fatalf("got %s", show(q))
		}
		pause(false)
		pause(false)
	})

	t.Run("resumes a queue that was never paused and never opened", func(t *testing.T) {
		f := setup(t, s)
		f.tx(func(ctx context.Context, tx store.Tx) error { return tx.SetQueuePaused(ctx, f.queue(), false) })
	})
}
