package main

import (
	"context"
	"fmt"
	"time"

	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/worker"
)

// rewrite is how the published design decays: its formula, written into every
// active row, where an index holds it.
var rewrite = map[string]string{
	"sqlite": `UPDATE memories SET score = min(1.0, exp(-0.6931471805599453 * (?1 - ref_time) / 86400000.0 / 30.0)
		+ min(0.3, 0.03 * access_count)) WHERE status = 'active'`,
	"postgres": `UPDATE memories SET score = least(1.0, exp(-0.6931471805599453 * extract(epoch FROM ($1 - ref_time))::float8 / 86400.0 / 30.0)
		+ least(0.3, 0.03 * access_count)) WHERE status = 'active'`,
}

// decay compares the pass, as a worker runs it and with its events, with one
// UPDATE that rewrites an indexed score in every row of a copy of the database.
// The copy has that index in the place of the two that the pass needs.
func decay(ctx context.Context, l *lab) ([]result, error) {
	n := l.cfg.rows
	d, err := l.with(ctx, n)
	if err != nil {
		return nil, err
	}
	c, err := l.bareTwin(ctx, d)
	if err != nil {
		return nil, err
	}
	column := map[string]string{"sqlite": "REAL", "postgres": "double precision"}[c.dialect]
	err = c.exec(ctx, "ALTER TABLE memories ADD COLUMN score "+column, "CREATE INDEX memories_score ON memories (scope, score) WHERE status = 'active'")
	if err != nil {
		return nil, err
	}
	if _, err := l.rewriteAll(ctx, c, present); err != nil { // fills the column
		return nil, err
	}
	w, err := worker.New(d.deps(), worker.Config{})
	if err != nil {
		return nil, err
	}
	if err := w.Start(ctx); err != nil {
		return nil, err
	}
	var times, otherTimes []time.Duration
	var bytes, otherBytes []int64
	for round := range 3 {
		pass, err := l.pass(ctx, d, n/100)
		if err != nil {
			return nil, err
		}
		other, err := l.rewriteAll(ctx, c, present.AddDate(0, 0, round+1))
		if err != nil {
			return nil, err
		}
		l.say("decay %s and %s, rewrite %s and %s", millis(pass.time), megabytes(pass.bytes), millis(other.time), megabytes(other.bytes))
		times, otherTimes = append(times, pass.time), append(otherTimes, other.time)
		bytes, otherBytes = append(bytes, pass.bytes), append(otherBytes, other.bytes)
	}
	if err := w.Stop(ctx); err != nil {
		return nil, err
	}
	t, b := float64(median(otherTimes))/float64(median(times)), float64(median(otherBytes))/float64(median(bytes))
	what := fmt.Sprintf("decay %s memories of which 1 %% fade, with events, against rewriting every score: ", count(n))
	return []result{
		{what: what + "time", goal: "≤ 1/20", measured: fmt.Sprintf("1/%.0f", t),
			ours: millis(median(times)), other: millis(median(otherTimes)), pass: t >= 20},
		{what: what + "bytes written", goal: "≤ 1/4", measured: fmt.Sprintf("1/%.1f", b),
			ours: megabytes(median(bytes)), other: megabytes(median(otherBytes)), pass: b >= 4},
	}, nil
}

type cost struct {
	time  time.Duration
	bytes int64
}

func (l *lab) rewriteAll(ctx context.Context, c *db, now time.Time) (cost, error) {
	if c.dialect == "postgres" {
		if err := c.exec(ctx, "VACUUM memories"); err != nil {
			return cost{}, err
		}
	}
	var t time.Duration
	b, err := l.written(ctx, c, func() (err error) {
		t, err = timed(func() error {
			_, err := c.sql.ExecContext(ctx, rewrite[c.dialect], c.at(now))
			return err
		})
		return err
	})
	return cost{t, b}, err
}

// fading is the instant at which n active memories have faded.
const fading = `SELECT fades_at FROM memories WHERE status = 'active' AND fades_at IS NOT NULL ORDER BY fades_at LIMIT 1 OFFSET ?`

// pass enqueues one decay, at the instant at which n memories have faded, and
// waits until a worker has done it.
func (l *lab) pass(ctx context.Context, d *db, n int) (cost, error) {
	now, err := d.instant(ctx, fading, n-1)
	if err != nil {
		return cost{}, err
	}
	var t time.Duration
	b, err := l.written(ctx, d, func() (err error) {
		t, err = timed(func() error { return d.runPass(ctx, "decay", now, n) })
		return err
	})
	return cost{t, b}, err
}

func (d *db) instant(ctx context.Context, q string, args ...any) (time.Time, error) {
	if d.dialect == "sqlite" {
		var ms int64
		err := d.sql.QueryRowContext(ctx, q, args...).Scan(&ms)
		return time.UnixMilli(ms).UTC(), err
	}
	var t time.Time
	err := d.sql.QueryRowContext(ctx, d.query(q), args...).Scan(&t)
	return t.UTC(), err
}

// runPass has a pass run over the scope and waits for its end. want is how many
// memories it must change at least.
func (d *db) runPass(ctx context.Context, name string, now time.Time, want int) error {
	run := jobs.PassRun(name, home, now, "")
	about := jobs.About{Tenant: home.Tenant, Scope: home.Name, Run: run, Now: now, Trigger: "bench"}
	job, err := jobs.NewPass(name, jobs.PassArgs{About: about, MaxShare: 1})
	if err != nil {
		return err
	}
	err = d.st.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
		return tx.Enqueue(ctx, []river.InsertManyParams{{Args: job}})
	})
	if err != nil {
		return err
	}
	done, err := d.ended(ctx, run)
	if err != nil {
		return err
	}
	if done.Counts["archived"]+done.Counts["expired"] < want {
		return fmt.Errorf("the pass %s changed %v and not %d", name, done.Counts, want)
	}
	return nil
}

// ended waits for the end of a run.
func (d *db) ended(ctx context.Context, run string) (oxbow.Run, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return oxbow.Run{}, fmt.Errorf("wait for the run %s: %w", run, ctx.Err())
		case <-tick.C:
		}
		r, err := d.st.Run(ctx, home.Tenant, run)
		if oxbow.CodeOf(err) == oxbow.CodeNotFound || err == nil && r.Status == oxbow.RunRunning {
			continue
		}
		return r, err
	}
}
