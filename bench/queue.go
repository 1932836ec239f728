package main

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river"
	"golang.org/x/sync/errgroup"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/llm/offline"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/worker"
)

// writers is how many goroutines write at once.
const writers = 8

// rounds is how often each side is measured.
const rounds = 5

// remember compares the rate of remembered statements, each with its memory,
// event, terms, run and jobs, with that of transactions which only insert as
// many jobs through River.
func remember(ctx context.Context, l *lab) ([]result, error) {
	d, err := l.fresh(ctx, "remember")
	if err != nil {
		return nil, err
	}
	other, err := l.fresh(ctx, "inserts")
	if err != nil {
		return nil, err
	}
	r, err := l.rival(ctx, other)
	if err != nil {
		return nil, err
	}
	// The clock goes: with one that stands still every scope would look new.
	e, w := engine.New(engine.Config{Store: d.st, Judge: offline.New()}), newWriter(4)
	var ours, bare []float64
	for range rounds + 1 {
		texts := make([]string, 1600)
		for i := range texts {
			texts[i] = w.sentence()
		}
		a, err := rate(ctx, len(texts), func(ctx context.Context, i int) error {
			_, err := e.Remember(ctx, engine.Statement{Scope: scopeOf(i % 64), Text: texts[i]})
			return err
		})
		if err != nil {
			return nil, err
		}
		b, err := rate(ctx, len(texts), func(ctx context.Context, i int) error {
			return r.insert(ctx, followUps(i))
		})
		if err != nil {
			return nil, err
		}
		ours, bare = append(ours, a), append(bare, b)
	}
	ours, bare = ours[1:], bare[1:] // the first round makes scopes and statements
	ratio := median(ours) / median(bare)
	return []result{{
		what: fmt.Sprintf("remember with its two jobs, %d at once, against a transaction that inserts the same two jobs", writers), goal: "≥ 1/2",
		measured: fmt.Sprintf("%.2f", ratio), ours: perSecond(median(ours)), other: perSecond(median(bare)), pass: ratio >= 0.5,
	}}, r.stop(ctx)
}

// followUps gives the jobs of a remembered statement, as the engine does.
func followUps(i int) []river.InsertManyParams {
	s := scopeOf(i % 64)
	a := jobs.About{Tenant: s.Tenant, Scope: s.Name, Run: memoryID(-i), Now: present, Trigger: "write"}
	return jobs.FollowUps(a, []oxbow.Memory{{ID: memoryID(i), Status: oxbow.Active}})
}

// rate gives how many calls of fn a second the writers make together.
func rate(ctx context.Context, n int, fn func(context.Context, int) error) (float64, error) {
	var next atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	t0 := time.Now()
	for range writers {
		g.Go(func() error {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := fn(ctx, i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := g.Wait()
	return float64(n) / time.Since(t0).Seconds(), err
}

func scopeOf(i int) oxbow.Scope {
	return oxbow.Scope{Tenant: home.Tenant, Name: "project:" + strconv.Itoa(i)}
}

func perSecond(v float64) string { return count(int(v)) + "/s" }

// writeJobs compares the three jobs of a memory, judged offline, with River's
// own jobs without an effect that are fenced and completed in a transaction.
func writeJobs(ctx context.Context, l *lab) ([]result, error) {
	d, err := l.fresh(ctx, "jobs")
	if err != nil {
		return nil, err
	}
	other, err := l.fresh(ctx, "noops")
	if err != nil {
		return nil, err
	}
	const turns = 4
	memories := min(10_000, l.cfg.rows/5)
	w := newWriter(5)
	var ours, bare []float64
	for round := range turns {
		from, to := round*memories/turns, (round+1)*memories/turns
		if err := d.remembered(ctx, w, from, to); err != nil {
			return nil, err
		}
		a, err := l.workOurs(ctx, d, 3*(to-from))
		if err != nil {
			return nil, err
		}
		b, err := l.workNoops(ctx, other, 2*(to-from))
		if err != nil {
			return nil, err
		}
		l.say("jobs %s, no-ops %s", perSecond(a), perSecond(b))
		ours, bare = append(ours, a), append(bare, b)
	}
	ratio := median(ours) / median(bare)
	return []result{{
		what: fmt.Sprintf("confidence, contradiction and expiry over %s memories, %d at once, against River's own no-op jobs", count(memories), concurrency),
		goal: "≥ 1/3", measured: fmt.Sprintf("%.2f", ratio), ours: perSecond(median(ours)), other: perSecond(median(bare)), pass: ratio >= 1.0/3,
	}}, nil
}

// remembered stores memories with a turn each, in twenty scopes that take
// turns, with their jobs.
func (d *db) remembered(ctx context.Context, w *writer, from, to int) error {
	for i := from; i < to; i += 100 {
		err := d.st.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
			for j := i; j < min(to, i+100); j += 2 {
				if err := w.twoTurns(ctx, tx, scopeOf(j/2%20), j, min(to, j+2)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) twoTurns(ctx context.Context, tx store.Tx, s oxbow.Scope, from, to int) error {
	a := jobs.About{Tenant: s.Tenant, Scope: s.Name, Run: oxbow.NewID("run", strconv.Itoa(from)), Now: present}
	if _, err := tx.LockScope(ctx, s, present); err != nil {
		return err
	}
	turns, ms, changes := w.turns(s, from, to)
	if _, err := tx.AddTurns(ctx, turns); err != nil {
		return err
	}
	b := store.Batch{Scope: s, Run: a.Run, Now: present, RecordedAt: present}
	if _, err := tx.Apply(ctx, b, changes); err != nil {
		return err
	}
	return tx.Enqueue(ctx, jobs.FollowUps(a, ms))
}

func (w *writer) turns(s oxbow.Scope, from, to int) (turns []oxbow.Turn, ms []oxbow.Memory, changes []oxbow.Change) {
	for i := from; i < to; i++ {
		text := w.sentence()
		said := present.Add(time.Duration(i-100_000) * time.Minute)
		t := oxbow.Turn{ID: oxbow.NewID("turn", strconv.Itoa(i)), Scope: s, Conversation: "c" + strconv.Itoa(i/10), User: "I think " + text + ".",
			At: said, State: oxbow.TurnExtracted, CreatedAt: present}
		m := oxbow.Memory{ID: memoryID(i), Scope: s, Status: oxbow.Active, Kind: oxbow.Semantic, Content: oxbow.Content{Text: text},
			Importance: 5, Rating: 0.5, Source: oxbow.FromUser, SaidAt: said, Turn: t.ID, Conversation: t.Conversation, CreatedAt: present}
		turns, ms = append(turns, t), append(ms, m)
		changes = append(changes, oxbow.Change{Type: oxbow.Created, Memory: m.ID, New: &m, Reason: "it was said", Actor: "user"})
	}
	return turns, ms, changes
}

// workOurs starts a worker on the jobs that wait and gives its rate.
func (l *lab) workOurs(ctx context.Context, d *db, n int) (float64, error) {
	w, err := worker.New(d.deps(), worker.Config{Write: concurrency, FetchCooldown: fetchCooldown})
	if err != nil {
		return 0, err
	}
	return d.drained(ctx, n, w.Start, w.Stop)
}

func (l *lab) workNoops(ctx context.Context, d *db, n int) (float64, error) {
	r, err := l.rival(ctx, d)
	if err != nil {
		return 0, err
	}
	for from := 0; from < n; from += 500 {
		var batch []river.InsertManyParams
		for i := from; i < min(n, from+500); i++ {
			batch = append(batch, river.InsertManyParams{Args: noop{i}})
		}
		if err := r.insert(ctx, batch); err != nil {
			return 0, err
		}
	}
	return d.drained(ctx, n, r.start, r.stop)
}

const (
	anyReady  = `SELECT count(*) FROM (SELECT 1 FROM river_job WHERE state IN ('available', 'running') LIMIT 1) j`
	completed = `SELECT count(*) FROM river_job WHERE state = 'completed'`
)

// drained starts a worker, waits until no job is left, and gives the rate at
// which n jobs were completed.
func (d *db) drained(ctx context.Context, n int, start, stop func(context.Context) error) (float64, error) {
	had, err := d.number(ctx, completed)
	if err != nil {
		return 0, err
	}
	t0 := time.Now()
	if err := start(ctx); err != nil {
		return 0, err
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for left := 1; left > 0; {
		<-tick.C
		if left, err = d.number(ctx, anyReady); err != nil {
			return 0, err
		}
	}
	took := time.Since(t0)
	if err := stop(ctx); err != nil {
		return 0, err
	}
	have, err := d.number(ctx, completed)
	if err == nil && have-had != n {
		err = fmt.Errorf("%d of %d jobs were completed", have-had, n)
	}
	return float64(n) / took.Seconds(), err
}

func (d *db) number(ctx context.Context, q string) (n int, err error) {
	err = d.sql.QueryRowContext(ctx, q).Scan(&n)
	return n, err
}
