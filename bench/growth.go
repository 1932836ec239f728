package main

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/store"
)

// noise is how far a ratio may lie over its goal before it counts as a miss,
// where the goal is about growth and the machine is shared.
const noise = 1.1

// operations whose cost must grow no faster than log n.
var operations = []string{"remember", "list the 60 strongest", "judge one contradiction"}

// growth measures three operations in scopes of 1,000 to a million memories, in
// turns.
func growth(ctx context.Context, l *lab) ([]result, error) {
	var sizes []int
	for n := 1000; n < l.cfg.rows; n *= 10 {
		sizes = append(sizes, n)
	}
	sizes = append(sizes, l.cfg.rows)
	times := make([]map[int][]time.Duration, len(operations))
	for i := range times {
		times[i] = map[int][]time.Duration{}
	}
	w := newWriter(6)
	for range 80 {
		text := w.sentence()
		for _, n := range sizes {
			d, err := l.with(ctx, n)
			if err != nil {
				return nil, err
			}
			took, err := d.operate(ctx, text)
			if err != nil {
				return nil, err
			}
			for i, t := range took {
				times[i][n] = append(times[i][n], t)
			}
		}
	}
	goal := math.Log(float64(l.cfg.rows)) / math.Log(1000)
	var out []result
	for i, what := range operations {
		var each []string
		for _, n := range sizes {
			each = append(each, strings.TrimSuffix(millis(median(times[i][n][10:])), " ms"))
		}
		ratio := float64(median(times[i][l.cfg.rows][10:])) / float64(median(times[i][1000][10:]))
		out = append(out, result{
			what: fmt.Sprintf("%s among %s, against among 1,000 (log n, 10 %% for noise)", what, count(l.cfg.rows)),
			goal: fmt.Sprintf("≤ %.1f ×", goal), measured: fmt.Sprintf("%.2f ×", ratio),
			ours: millis(median(times[i][l.cfg.rows][10:])), other: strings.Join(each, " / ") + " ms by size", pass: ratio <= goal*noise,
		})
	}
	return out, nil
}

// operate times each operation once.
func (d *db) operate(ctx context.Context, text string) (took [3]time.Duration, err error) {
	var written engine.Written
	took[0], err = timed(func() (err error) {
		written, err = d.engine().Remember(ctx, engine.Statement{Scope: home, Text: text})
		return err
	})
	if err != nil {
		return took, err
	}
	s, err := d.st.Scope(ctx, home)
	if err != nil {
		return took, err
	}
	took[1], err = timed(func() error {
		ms, err := d.st.StrongestMemories(ctx, s, present, limit)
		return wantRows(len(ms), err)
	})
	if err != nil {
		return took, err
	}
	took[2], err = timed(func() error { return d.contradiction(ctx, written.Memory.ID) })
	return took, err
}

// contradiction does what the job does, without the queue, whose latency would
// hide growth: search, judge and settle, then lock, claim and apply.
func (d *db) contradiction(ctx context.Context, memory string) error {
	deps := d.deps()
	changes, err := deps.PlanContradiction(ctx, home.Tenant, memory)
	if err != nil {
		return err
	}
	return d.st.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
		if _, err := tx.LockScope(ctx, home, present); err != nil {
			return err
		}
		if _, err := tx.Claim(ctx, "contradiction:"+memory, jobs.PassRun("contradiction", home, present, memory), present); err != nil {
			return err
		}
		if _, err := tx.Memory(ctx, home.Tenant, memory); err != nil {
			return err
		}
		if _, err := tx.Verdicts(ctx, home.Tenant, []string{memory}); err != nil {
			return err
		}
		_, err := tx.Apply(ctx, store.Batch{Scope: home, Run: "bench", Now: present, RecordedAt: present}, changes)
		return err
	})
}
