package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

// Concurrency of the measurements of jobs, the same for both sides. With River's
// cooldown of 10 ms it allows 6,400 jobs a second, so that neither side is held
// up by it.
const (
	concurrency   = 64
	fetchCooldown = 10 * time.Millisecond
)

// noop is a job without an effect.
type noop struct {
	N int `json:"n"`
}

// Kind names the job.
func (noop) Kind() string { return "noop" }

// plain is River alone: transactions of the plain driver, a fence, and
// completion in the same transaction.
type plain[T any] struct {
	client *river.Client[T]
	inTx   func(context.Context, func(T) error) error
	add    func(context.Context, *river.Client[T], T, []river.InsertManyParams) error
	finish func(context.Context, T, *rivertype.JobRow) error
	close  func() error
}

type noopWorker[T any] struct {
	river.WorkerDefaults[noop]
	p *plain[T]
}

// Work fences and completes the job.
func (w *noopWorker[T]) Work(ctx context.Context, job *river.Job[noop]) error {
	return w.p.inTx(ctx, func(tx T) error { return w.p.finish(ctx, tx, job.JobRow) })
}

func (p *plain[T]) config(schema string) *river.Config {
	ws := river.NewWorkers()
	river.AddWorker(ws, &noopWorker[T]{p: p})
	return &river.Config{
		Schema: schema, Workers: ws, SkipUnknownJobCheck: true, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Queues: map[string]river.QueueConfig{
			"default": {MaxWorkers: concurrency, FetchCooldown: fetchCooldown, FetchPollInterval: 500 * time.Millisecond},
		},
	}
}

func (p *plain[T]) insert(ctx context.Context, jobs []river.InsertManyParams) error {
	return p.inTx(ctx, func(tx T) error { return p.add(ctx, p.client, tx, jobs) })
}

func (p *plain[T]) start(ctx context.Context) error { return p.client.Start(ctx) }

func (p *plain[T]) stop(ctx context.Context) error {
	return errors.Join(p.client.Stop(ctx), p.close())
}

func fence(row *rivertype.JobRow, state string, attempt int) error {
	if state != string(rivertype.JobStateRunning) || attempt != row.Attempt {
		return errors.New("another attempt has taken this job over")
	}
	return nil
}
