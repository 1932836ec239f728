// Package worker runs jobs: it makes River's client from a store, gives it
// every worker, its queues and its limits, keeps a sign of life, and stops
// gracefully. What the jobs do stands in package jobs, when they run in package
// schedule.
//
// Only engine's callers start one: oxbow work for a long life, and on an
// embedded database each command that enqueues something, for as long as its
// jobs need.
package worker

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/schedule"
	"github.com/oxbow-memory/oxbow/store"
)

// Config says how many jobs run at once and how long they may take.
type Config struct {
	// Write, Maintenance and Synthesis are the concurrency of the queues.
	// Defaults to 8, 2 and 1.
	Write, Maintenance, Synthesis int
	// FetchCooldown is the shortest time between two fetches of a queue; with
	// the concurrency it bounds the rate. Defaults to 10 ms.
	FetchCooldown time.Duration
	// PollEvery is how often a queue is looked at without being told of a job.
	// A worker that lives for one command looks often. Defaults to 500 ms.
	PollEvery time.Duration
	// RescueAfter is when River takes a job for stuck. It must be over the
	// longest job. Defaults to the longest timeout and half a minute.
	RescueAfter time.Duration
	// StopWithin is how long running jobs may finish when the worker stops;
	// then they are cancelled and go back without losing an attempt. Defaults
	// to 4 s.
	StopWithin time.Duration
	// TTL is how long this worker counts as alive after its last sign of life,
	// of which it gives six in that time; then others take its jobs over. It
	// must be the same for every worker of a database. Defaults to
	// store.WorkerTTL.
	TTL time.Duration
	// Schedule says whether this worker looks at the schedules. Defaults to
	// false.
	Schedule bool
	// Ended is told of every attempt at a job that ended here: its kind, how it
	// ended (jobs.OutcomeOf) and how long it took. Defaults to nobody.
	Ended func(kind, outcome string, took time.Duration)
	// Log is where River reports. Defaults to nowhere.
	Log *slog.Logger
}

func (c Config) withDefaults() Config {
	def := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	def(&c.Write, 8)
	def(&c.Maintenance, 2)
	def(&c.Synthesis, 1)
	if c.FetchCooldown <= 0 {
		c.FetchCooldown = 10 * time.Millisecond
	}
	if c.PollEvery <= 0 {
		c.PollEvery = 500 * time.Millisecond
	}
	if c.RescueAfter <= 0 {
		c.RescueAfter = jobs.LongestTimeout + 30*time.Second
	}
	if c.TTL <= 0 {
		c.TTL = store.WorkerTTL
	}
	if c.StopWithin <= 0 {
		c.StopWithin = 4 * time.Second
	}
	if c.Log == nil {
		c.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	return c
}

// Worker works jobs until it is stopped.
type Worker struct {
	cfg    Config
	deps   jobs.Deps
	name   string
	client store.Client
	beats  sync.WaitGroup
	end    context.CancelFunc

	saidAway atomic.Int64 // when the log said so last, in nanoseconds
}

// New makes a worker; it does no I/O.
func New(deps jobs.Deps, cfg Config) (*Worker, error) {
	cfg = cfg.withDefaults()
	w := &Worker{cfg: cfg, deps: deps, name: newName()}
	ws := river.NewWorkers()
	jobs.Register(ws, deps)
	schedule.Register(ws, deps)
	queue := func(n int) river.QueueConfig {
		return river.QueueConfig{MaxWorkers: n, FetchCooldown: cfg.FetchCooldown, FetchPollInterval: max(cfg.PollEvery, cfg.FetchCooldown)}
	}
	rc := &river.Config{
		ID:                   w.name,
		Workers:              ws,
		Middleware:           []rivertype.Middleware{river.WorkerMiddlewareFunc(w.around)},
		Logger:               cfg.Log,
		JobTimeout:           time.Minute,
		RescueStuckJobsAfter: cfg.RescueAfter,
		SoftStopTimeout:      cfg.StopWithin,
		Queues: map[string]river.QueueConfig{
			jobs.QueueWrite: queue(cfg.Write), jobs.QueueMaintenance: queue(cfg.Maintenance), jobs.QueueSynthesis: queue(cfg.Synthesis),
		},
	}
	if cfg.Schedule {
		rc.PeriodicJobs = []*river.PeriodicJob{schedule.Periodic()}
	}
	client, err := deps.Store.NewClient(rc)
	if err != nil {
		return nil, fmt.Errorf("make the worker: %w", err)
	}
	w.client = client
	return w, nil
}

// newName makes the worker's name, which is also its client's id.
func newName() string {
	b := make([]byte, 8)
	if _, err := rand.Read(b); err != nil { // never fails on supported systems
		panic(err)
	}
	return "oxbow-" + hex.EncodeToString(b)
}

// Start begins working. The first beat comes before the first fetch, so that no
// other worker takes this one's jobs for lost.
func (w *Worker) Start(ctx context.Context) error {
	if err := w.beat(ctx, w.deps.RealNow()); err != nil {
		return err
	}
	if err := w.client.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("start the worker: %w", err)
	}
	beating, end := context.WithCancel(context.WithoutCancel(ctx))
	w.end = end
	w.beats.Go(func() { w.keepBeating(beating) })
	return nil
}

// beatsPerTTL leaves room for a few beats that come late.
const beatsPerTTL = 6

func (w *Worker) keepBeating(ctx context.Context) {
	t := time.NewTicker(w.cfg.TTL / beatsPerTTL)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			if err := w.beat(ctx, w.deps.RealNow()); err != nil && ctx.Err() == nil {
				w.cfg.Log.WarnContext(ctx, "no sign of life could be written", slog.String("error", err.Error()))
			}
		}
	}
}

func (w *Worker) beat(ctx context.Context, now time.Time) error {
	return w.deps.Store.InTx(ctx, func(ctx context.Context, tx store.Tx) error { return tx.Beat(ctx, w.name, now, w.cfg.TTL) })
}

// Stop fetches no more jobs, lets the running ones finish for StopWithin, and
// signs off. Those that do not finish go back without losing an attempt.
func (w *Worker) Stop(ctx context.Context) error {
	if w.end == nil {
		return nil
	}
	stopErr := w.client.Stop(ctx)
	w.end()
	w.beats.Wait()
	if err := w.beat(context.WithoutCancel(ctx), time.Time{}); err != nil {
		return err
	}
	if stopErr != nil {
		return fmt.Errorf("stop the worker: %w", stopErr)
	}
	return nil
}

// Finished are the events after which a job may have been the last one.
var Finished = []river.EventKind{river.EventKindJobCompleted, river.EventKindJobFailed, river.EventKindJobCancelled, river.EventKindJobSnoozed}

// Drain waits until no job of a run is left to work now, or of any run when it
// is empty. Jobs that wait for a judge that is away, or for their next attempt,
// do not hold it up. progress, when given, is told how many are left.
func (w *Worker) Drain(ctx context.Context, run string, progress func(left int)) error {
	events, cancel := w.client.Subscribe(Finished...)
	defer cancel()
	t := time.NewTicker(50 * time.Millisecond)
	defer t.Stop()
	for {
		left, err := w.ready(ctx, run)
		if err != nil {
			return err
		}
		if progress != nil {
			progress(left)
		}
		if left == 0 {
			return nil
		}
		if err := wait(ctx, events, t.C); err != nil {
			return err
		}
	}
}

// wait returns when a job has ended, or after a moment. It takes every event
// that is there, so that River never drops one with a warning.
func wait(ctx context.Context, events <-chan *river.Event, tick <-chan time.Time) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-tick:
		return nil
	case <-events:
	}
	for {
		select {
		case <-events:
		default:
			return nil
		}
	}
}

// ready counts jobs that are running or could run now.
func (w *Worker) ready(ctx context.Context, run string) (int, error) {
	return w.deps.Store.ReadyJobs(ctx, run)
}
