package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/llm/offline"
	"github.com/oxbow-memory/oxbow/recall/asked"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/worker"
)

// player plays turns at the times at which they were said: it moves a clock of
// its own, enqueues the slots that were due, and lets a real worker work real
// jobs until nothing is left. Only the clock is not real.
type player struct {
	st     store.Store
	tenant string
	engine *engine.Engine
	worker *worker.Worker
	now    time.Time
	out    io.Writer
	seen   int64 // the last event that was told
}

// demoWorker is how many jobs the demo's worker runs at once.
const demoWorker = 8

func newPlayer(st store.Store, judge llm.Judge, tenant string, start time.Time, out io.Writer) (*player, error) {
	p := &player{st: st, tenant: tenant, now: start, out: out}
	clock := func() time.Time { return p.now }
	p.engine = engine.New(engine.Config{Store: st, Judge: judge, ReadDate: offline.ReadDate, ReadDetails: offline.ReadDetails, Embedder: offline.NewEmbedder(), Grapher: offline.New(), Days: asked.Days, Classes: asked.Classes, Clock: clock})
	w, err := worker.New(jobs.Deps{Store: st, Judge: judge, Observer: llm.CanObserve(judge), Embedder: offline.NewEmbedder(), Grapher: offline.New(), ReadDate: offline.ReadDate, ReadDetails: offline.ReadDetails, Clock: clock},
		worker.Config{Write: demoWorker, Maintenance: demoWorker, FetchCooldown: time.Millisecond, PollEvery: 5 * time.Millisecond})
	p.worker = w
	return p, err
}

// play tells the months as they go by. The clock stands still while jobs run.
func (p *player) play(ctx context.Context, turns []oxbow.Turn, today time.Time) error {
	if err := p.worker.Start(ctx); err != nil {
		return err
	}
	err := p.months(ctx, turns, today)
	if stopErr := p.worker.Stop(context.WithoutCancel(ctx)); err == nil {
		err = stopErr
	}
	return err
}

func (p *player) months(ctx context.Context, turns []oxbow.Turn, today time.Time) error {
	for len(turns) > 0 {
		month := turns[0].At.UTC().Format("January 2006")
		n := 0
		for n < len(turns) && turns[n].At.UTC().Format("January 2006") == month {
			n++
		}
		for _, t := range turns[:n] {
			if err := p.until(ctx, t.At); err != nil {
				return err
			}
			if err := p.say(ctx, t); err != nil {
				return err
			}
		}
		turns = turns[n:]
		end := today
		if len(turns) > 0 {
			end = firstOfMonth(turns[0].At)
		}
		if err := p.until(ctx, end); err != nil {
			return err
		}
		if err := p.tellMonth(ctx, month, n); err != nil {
			return err
		}
	}
	return nil
}

func firstOfMonth(t time.Time) time.Time {
	y, m, _ := t.UTC().Date()
	return time.Date(y, m, 1, 0, 0, 0, 0, time.UTC)
}

// until moves the clock on day by day and works what was due.
func (p *player) until(ctx context.Context, t time.Time) error {
	for p.now.Before(t) {
		p.now = p.now.Add(24 * time.Hour)
		if p.now.After(t) {
			p.now = t
		}
		n, err := p.engine.Tick(ctx)
		if err != nil {
			return err
		}
		if n == 0 {
			continue
		}
		if err := p.worker.Drain(ctx, "", nil); err != nil {
			return err
		}
	}
	return nil
}

func (p *player) say(ctx context.Context, t oxbow.Turn) error {
	t.Scope.Tenant = p.tenant
	if _, err := p.engine.Ingest(ctx, []oxbow.Turn{t}); err != nil {
		return fmt.Errorf("ingest the turn of %s: %w", t.At.Format(time.RFC3339), err)
	}
	return p.worker.Drain(ctx, "", nil)
}
