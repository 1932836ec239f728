package storetest

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// patience bounds how long the suite waits for something to happen; nothing
// takes a hundredth of it unless it is broken.
const patience = 30 * time.Second

// crew is a running client that works the sub-test's queues.
type crew struct {
	*fixture
	events <-chan *river.Event
}

// openQueue gives the name of a second queue, which no sub-test pauses.
func (f *fixture) openQueue() string { return f.queue() + "open" }

// work starts a client that does fn for every job of the sub-test's queues.
func (f *fixture) work(fn func(ctx context.Context, job *river.Job[taskArgs]) error) *crew {
	f.Helper()
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(fn))
	client, err := f.s.NewClient(&river.Config{
		Queues:            map[string]river.QueueConfig{f.queue(): {MaxWorkers: 4}, f.openQueue(): {MaxWorkers: 4}},
		Workers:           workers,
		FetchCooldown:     5 * time.Millisecond,
		FetchPollInterval: 20 * time.Millisecond,
		ID:                f.id("client"),
		Logger:            slog.New(slog.DiscardHandler),
		TestOnly:          true, // no random delays at the start
	})
	if err != nil {
		f.Fatalf("the client was refused: %v", err)
	}
	events, unsubscribe := client.Subscribe(river.EventKindJobCompleted, river.EventKindJobCancelled,
		river.EventKindJobFailed, river.EventKindJobSnoozed)
	if err := client.Start(context.WithoutCancel(f.ctx)); err != nil {
		f.Fatalf("the client did not start: %v", err)
	}
	f.Cleanup(func() {
		unsubscribe()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := client.StopAndCancel(ctx); err != nil {
			f.Errorf("the client did not stop: %v", err)
		}
		<-client.Stopped()
	})
	return &crew{fixture: f, events: events}
}

// await waits for the next event, which must be of a kind.
func (c *crew) await(kind river.EventKind) *river.Event {
	c.Helper()
	e := receive(c.fixture, c.events)
	if e.Kind != kind {
		c.Fatalf("the job was %s, want %s: %s", e.Kind, kind, show(e.Job.Errors))
	}
	return e
}

// receive waits for what a channel brings.
func receive[T any](f *fixture, ch <-chan T) T {
	f.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		f.Fatal("nothing happened")
	}
	panic("unreachable")
}

func testWork(t *testing.T, s store.Store) {
	t.Run("works a job and completes it in the transaction of its effect", func(t *testing.T) {
		f := setup(t, s)
		f.enqueue(f.task("one"))
		c := f.work(func(ctx context.Context, job *river.Job[taskArgs]) error {
			return f.s.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
				if err := tx.Fence(ctx, job.JobRow); err != nil {
					return err
				}
				if _, err := tx.Apply(ctx, f.batch(), []oxbow.Change{created(f.memory(job.Args.Do))}); err != nil {
					return err
				}
				if err := tx.Enqueue(ctx, nil); err != nil {
					return err
				}
				return tx.CompleteJob(ctx, job.JobRow)
			})
		})
		c.await(river.EventKindJobCompleted)
		f.get("one")
		if j := f.jobs()[0]; j.State != "completed" || j.Attempt != 1 || j.FinalizedAt.IsZero() {
			t.Fatalf("got %s", show(j))
		}
		if n := must(f.s.PendingJobs(f.ctx, "", f.id("run")))(f); n != 0 {
			t.Fatalf("%d jobs are pending", n)
		}
	})

	t.Run("leaves a job running when the transaction that completed it fails", func(t *testing.T) {
		f := setup(t, s)
		f.enqueue(f.task("one", func(o *river.InsertOpts) { o.MaxAttempts = 1 }))
		c := f.work(func(ctx context.Context, job *river.Job[taskArgs]) error {
			return f.s.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
				if err := tx.CompleteJob(ctx, job.JobRow); err != nil {
					return err
				}
				return errOnPurpose
			})
		})
		c.await(river.EventKindJobFailed)
		if j := f.jobs()[0]; j.State != "discarded" || len(j.Errors) != 1 || j.Errors[0] != errOnPurpose.Error() {
			t.Fatalf("got %s", show(j))
		}
	})

	t.Run("passes the running attempt at the fence and no other", func(t *testing.T) {
		f := setup(t, s)
		f.enqueue(f.task("one"))
		codes := make(chan [2]string, 1)
		c := f.work(func(ctx context.Context, job *river.Job[taskArgs]) error {
			fence := func(attempt int) string {
				row := *job.JobRow
				row.Attempt = attempt
				return oxbow.CodeOf(f.s.InTx(ctx, func(ctx context.Context, tx store.Tx) error { return tx.Fence(ctx, &row) }))
			}
			codes <- [2]string{fence(job.Attempt), fence(job.Attempt + 1)}
			return nil
		})
		if got := receive(f, codes); got != [2]string{"", oxbow.CodeConflict} {
			t.Fatalf("the fence says %q", got)
		}
		c.await(river.EventKindJobCompleted)
	})

	t.Run("works what a job enqueues as it completes", func(t *testing.T) {
		f := setup(t, s)
		f.enqueue(f.task("first"))
		c := f.work(func(ctx context.Context, job *river.Job[taskArgs]) error {
			return f.s.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
				if job.Args.Do == "first" {
					if err := tx.Enqueue(ctx, []river.InsertManyParams{f.task("second")}); err != nil {
						return err
					}
				}
				return tx.CompleteJob(ctx, job.JobRow)
			})
		})
		first, second := c.await(river.EventKindJobCompleted), c.await(river.EventKindJobCompleted)
		if first.Job.ID == second.Job.ID || f.stats().Available != 0 {
			t.Fatalf("got %d and %d", first.Job.ID, second.Job.ID)
		}
	})

	t.Run("lets a cancelled job that runs feel it", func(t *testing.T) {
		f := setup(t, s)
		f.enqueue(f.task("one"))
		started := make(chan int64, 1)
		c := f.work(func(ctx context.Context, job *river.Job[taskArgs]) error {
			started <- job.ID
			<-ctx.Done()
			return ctx.Err()
		})
		id := receive(f, started)
		if q := f.stats(); q.Running != 1 {
			t.Fatalf("got %s", show(q))
		}
		f.tx(func(ctx context.Context, tx store.Tx) error { return tx.CancelJob(ctx, id) })
		c.await(river.EventKindJobCancelled)
		if j := must(f.s.Job(f.ctx, id))(f); j.State != "cancelled" {
			t.Fatalf("got %s", show(j))
		}
	})

	t.Run("puts a snoozed job back without an attempt spent", func(t *testing.T) {
		f := setup(t, s)
		f.enqueue(f.task("one"))
		c := f.work(func(context.Context, *river.Job[taskArgs]) error { return river.JobSnooze(time.Hour) })
		c.await(river.EventKindJobSnoozed)
		if j := f.jobs()[0]; j.State != "scheduled" || j.Attempt != 0 || f.stats().Scheduled != 1 {
			t.Fatalf("got %s", show(j))
		}
	})

	t.Run("makes a failed job available again at an operator's word", func(t *testing.T) {
		f := setup(t, s)
		f.enqueue(f.task("one"))
		c := f.work(func(_ context.Context, job *river.Job[taskArgs]) error {
			if job.Attempt == 1 {
				return errors.New("away")
			}
			return nil
		})
		id := c.await(river.EventKindJobFailed).Job.ID
		f.tx(func(ctx context.Context, tx store.Tx) error { return tx.RetryJob(ctx, id) })
		c.await(river.EventKindJobCompleted)
		if j := must(f.s.Job(f.ctx, id))(f); j.Attempt != 2 || len(j.Errors) != 1 || j.Errors[0] != "away" {
			t.Fatalf("got %s", show(j))
		}
	})

	t.Run("works a paused queue only when it is resumed", func(t *testing.T) {
		f := setup(t, s)
		f.tx(func(ctx context.Context, tx store.Tx) error { return tx.SetQueuePaused(ctx, f.queue(), true) })
		open := func(o *river.InsertOpts) { o.Queue = f.openQueue() }
		f.enqueue(f.task("paused"), f.task("open", open))
		c := f.work(func(context.Context, *river.Job[taskArgs]) error { return nil })
		for range 3 {
			if e := c.await(river.EventKindJobCompleted); e.Job.Queue != f.openQueue() {
				t.Fatal("a job of the paused queue was worked")
			}
			f.enqueue(f.task("open", open))
		}
		if q := f.stats(); q.Available != 1 || !q.Paused {
			t.Fatalf("got %s", show(q))
		}
		f.tx(func(ctx context.Context, tx store.Tx) error { return tx.SetQueuePaused(ctx, f.queue(), false) })
		for c.await(river.EventKindJobCompleted).Job.Queue == f.openQueue() {
		}
	})
}
