package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/llm/offline"
	"github.com/oxbow-memory/oxbow/worker"
)

// The patience of settleJobs.
const (
	waitForWorker = 5 * time.Second       // for a worker elsewhere to do a command's jobs
	lookEvery     = 25 * time.Millisecond // while it does
)

// settled says how the jobs of a command ended.
type settled struct {
	Worked  bool // they ran, here or elsewhere; else they wait for a worker
	Pending int  // how many are not finished
}

// settleJobs sees to the jobs of a run ("" for every run) that a command has
// enqueued. On an embedded database without a worker it works them here and
// now; with one it waits for it a moment, and as long as it takes when wait is
// true. On Postgres they are left to the workers unless wait is true. about says
// what is going on, for the progress line.
func (s *session) settleJobs(ctx context.Context, run string, wait bool, about func(left int) string) (settled, error) {
	started := time.Now()
	bar := s.progress()
	worked, err := s.untilWorked(ctx, run, wait, func(left int) { bar.show(func() string { return about(left) }) })
	bar.done()
	if err != nil {
		return settled{}, err
	}
	pending, err := s.st.PendingJobs(ctx, "", run)
	if err != nil {
		return settled{}, err
	}
	return settled{Worked: worked, Pending: pending}, s.sayLeft(ctx, worked, pending, started)
}

// untilWorked tells whether the jobs have run when it returns.
func (s *session) untilWorked(ctx context.Context, run string, wait bool, tell func(left int)) (bool, error) {
	until := time.Now().Add(waitForWorker)
	for {
		left, err := s.st.ReadyJobs(ctx, run)
		if err != nil || left == 0 {
			return true, err
		}
		tell(left)
		workers, err := s.engine.LiveWorkers(ctx)
		if err != nil {
			return false, err
		}
		if s.st.Embedded() && workers == 0 {
			return true, s.workHere(ctx, run, tell)
		}
		if stuck, err := s.stuck(ctx); err != nil || len(stuck) > 0 {
			return true, err
		}
		if !wait && (!s.st.Embedded() || time.Now().After(until)) {
			return false, nil
		}
		if err := pause(ctx, lookEvery); err != nil {
			return false, err
		}
	}
}

// workHere runs a worker for as long as the jobs need.
func (s *session) workHere(ctx context.Context, run string, tell func(left int)) error {
	w, err := worker.New(jobs.Deps{Store: s.st, Judge: s.judge, Observer: llm.CanObserve(s.judge), Embedder: s.embeds, Grapher: newGrapher(s.conf, s.judge), ReadDate: offline.ReadDate, ReadDetails: offline.ReadDetails}, s.workerConfig())
	if err != nil {
		return err
	}
	if err := w.Start(ctx); err != nil {
		return err
	}
	drain, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := time.Now()
	err = w.Drain(drain, run, func(left int) {
		tell(left)
		if now := time.Now(); left > 0 && now.After(next) {
			next = now.Add(quietFor)
			if stuck, err := s.stuck(ctx); err == nil && len(stuck) > 0 {
				cancel(errPaused)
			}
		}
	})
	if errors.Is(context.Cause(drain), errPaused) {
		err = nil
	}
	return errors.Join(err, w.Stop(context.WithoutCancel(ctx)))
}

var errPaused = errors.New("what is left waits in a paused queue")

// stuck gives the paused queues in which all that could run waits; none when
// something else can run.
func (s *session) stuck(ctx context.Context) ([]string, error) {
	stats, err := s.st.QueueStats(ctx)
	var held []string
	for _, q := range stats {
		if q.Running > 0 || q.Available > 0 && !q.Paused {
			return nil, err
		}
		if q.Available > 0 {
			held = append(held, q.Queue)
		}
	}
	return held, err
}

// sayLeft says what happens to jobs that are not finished, and that some were
// given up.
func (s *session) sayLeft(ctx context.Context, worked bool, pending int, since time.Time) error {
	stuck, err := s.stuck(ctx)
	if err != nil {
		return err
	}
	workers, err := s.engine.LiveWorkers(ctx)
	if err != nil {
		return err
	}
	waiting := number(pending, "job waits", "jobs wait")
	switch {
	case pending == 0:
	case len(stuck) > 0:
		s.say("%s, for a queue is paused; go on with: oxbow queue resume %s", waiting, strings.Join(stuck, ", and oxbow queue resume "))
	case !worked && workers > 0:
		s.say("%s or run at a worker; see: oxbow status", waiting)
	case !worked:
		s.say("%s for a worker, and none is running; start one with: oxbow work", waiting)
	default:
		s.say("%s for another try, because the judge is away or one failed; see: oxbow job list. oxbow work runs them in time", waiting)
	}
	gone, err := s.st.ListDiscarded(ctx, s.tenant, 1)
	if err == nil && len(gone) > 0 && !gone[0].At.Before(since.Truncate(time.Millisecond)) {
		s.say("a job was given up; see: oxbow job list --discarded")
	}
	return err
}

// workerConfig takes the concurrency from the settings. The log stays empty: a
// command says itself what matters.
func (s *session) workerConfig() worker.Config {
	return worker.Config{
		Write: s.conf.count("worker.write"), Maintenance: s.conf.count("worker.maintenance"),
		Synthesis: s.conf.count("worker.synthesis"), StopWithin: s.conf.period("worker.stop_within"),
	}
}

// judging is what settleJobs says for most commands.
func judging(left int) string { return fmt.Sprintf("judging: %s to do", number(left, "job", "jobs")) }

// pause waits, unless ctx ends first.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
