package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/llm/offline"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/worker"
)

// The sizes of the graph that is walked.
const (
	hubEdges   = 10_000
	walkRounds = 60
	walkWarm   = 10
)

// walking compares two hops from a node with 10,000 edges with two hops from one
// that meets no bound: what a walk looks at is bounded, so the hub may cost no more
// than the bounds allow, and says that it was cut.
func walking(ctx context.Context, l *lab) ([]result, error) {
	d, err := l.fresh(ctx, "graph")
	if err != nil {
		return nil, err
	}
	if err := d.hub(ctx); err != nil {
		return nil, err
	}
	walk := func(name string) (w store.Walked, err error) {
		n, err := d.st.NodeCalled(ctx, store.NodeQuery{Scope: home, Words: name, Statuses: oxbow.Statuses, Now: present})
		if err != nil {
			return w, err
		}
		return d.st.Walk(ctx, store.WalkQuery{Scope: home, From: []string{n.ID}, Hops: 2, Statuses: []oxbow.Status{oxbow.Active}, Now: present, Limit: 100})
	}
	var hub, small []time.Duration
	var cut, whole store.Walked
	for round := range walkRounds {
		a, err := timed(func() (err error) { cut, err = walk("hub"); return err })
		if err != nil {
			return nil, err
		}
		b, err := timed(func() (err error) { whole, err = walk("rim 0"); return err })
		if err != nil {
			return nil, err
		}
		if round >= walkWarm {
			hub, small = append(hub, a), append(small, b)
		}
	}
	ratio := float64(median(hub)) / float64(median(small))
	out := []result{{
		what: fmt.Sprintf("two hops from a node with %s edges (cut: %t, %d memories), p50, against two from one of %d (cut: %t)", count(hubEdges), cut.Cut, len(cut.Hits), len(whole.Hits), whole.Cut),
		goal: "≤ 20 ×", measured: fmt.Sprintf("%.1f ×", ratio), ours: millis(median(hub)), other: millis(median(small)), pass: ratio <= 20 && cut.Cut && !whole.Cut,
	}}
	more, err := l.drawing(ctx)
	return append(out, more...), err
}

// hub stores 100 memories that relate a hub to 100 things each, and, away from it,
// one that relates four.
func (d *db) hub(ctx context.Context) error {
	put := func(i int, g store.GraphPart) error {
		m := oxbow.Memory{ID: memoryID(i), Scope: home, Status: oxbow.Active, Kind: oxbow.Semantic, Content: oxbow.Content{Text: "memory " + strconv.Itoa(i)},
			Importance: 5, Rating: 0.5, Source: oxbow.FromUser, SaidAt: present.Add(-time.Hour), CreatedAt: present}
		return d.st.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
			if _, err := tx.LockScope(ctx, home, present); err != nil {
				return err
			}
			b := store.Batch{Scope: home, Run: memoryID(-1), Now: present, RecordedAt: present}
			if _, err := tx.Apply(ctx, b, []oxbow.Change{{Type: oxbow.Created, Memory: m.ID, New: &m, Reason: "it was said", Actor: "user"}}); err != nil {
				return err
			}
			g.Memory, g.ContentVersion = m.ID, 1
			_, err := tx.PutGraph(ctx, home, g)
			return err
		})
	}
	for i := range hubEdges / 100 {
		g := store.GraphPart{Entities: []store.GraphEntity{{Name: "hub"}}}
		for k := range 100 {
			spoke := "spoke " + strconv.Itoa(100*i+k)
			g.Entities = append(g.Entities, store.GraphEntity{Name: spoke})
			g.Relations = append(g.Relations, store.GraphRelation{From: "hub", Type: "has", To: spoke})
		}
		if err := put(i, g); err != nil {
			return err
		}
	}
	var g store.GraphPart
	for i := range 5 {
		g.Entities = append(g.Entities, store.GraphEntity{Name: "rim " + strconv.Itoa(i)})
		if i > 0 {
			g.Relations = append(g.Relations, store.GraphRelation{From: "rim " + strconv.Itoa(i-1), Type: "leads to", To: "rim " + strconv.Itoa(i)})
		}
	}
	return put(hubEdges, g)
}

// drawing compares the jobs of written memories with the graph among them, read by
// the rules, with the same jobs without it.
func (l *lab) drawing(ctx context.Context) ([]result, error) {
	const turns = 4
	memories := min(4_000, l.cfg.rows/5)
	var with, without []float64
	for _, drawn := range []bool{true, false} {
		d, err := l.fresh(ctx, "drawing"+strconv.FormatBool(drawn))
		if err != nil {
			return nil, err
		}
		w := newWriter(11)
		for round := range turns {
			from, to := round*memories/turns, (round+1)*memories/turns
			if err := d.remembered(ctx, w, from, to); err != nil {
				return nil, err
			}
			n := 3 * (to - from)
			deps := d.deps()
			if drawn {
				deps.Grapher = offline.New()
				if err := d.drawJobs(ctx, deps, from, to); err != nil {
					return nil, err
				}
				n += (to - from) / 2
			}
			k, err := worker.New(deps, worker.Config{Write: concurrency, FetchCooldown: fetchCooldown})
			if err != nil {
				return nil, err
			}
			jobsRate, err := d.drained(ctx, n, k.Start, k.Stop)
			if err != nil {
				return nil, err
			}
			rate := jobsRate * float64(to-from) / float64(n) // memories a second
			if drawn {
				with = append(with, rate)
			} else {
				without = append(without, rate)
			}
		}
	}
	ratio := median(with) / median(without)
	return []result{{
		what: fmt.Sprintf("the jobs of %s memories with the graph among them, two memories a write, against those without", count(memories)),
		goal: "≥ 1/2", measured: fmt.Sprintf("%.2f", ratio), ours: perSecond(median(with)), other: perSecond(median(without)), pass: ratio >= 0.5,
	}}, nil
}

// drawJobs enqueues the graph job of each write of d.remembered.
func (d *db) drawJobs(ctx context.Context, deps jobs.Deps, from, to int) error {
	return d.st.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
		var all []river.InsertManyParams
		for j := from; j < to; j += 2 {
			s := scopeOf(j / 2 % 20)
			a := jobs.About{Tenant: s.Tenant, Scope: s.Name, Run: oxbow.NewID("run", strconv.Itoa(j)), Now: present}
			all = append(all, deps.Drawing(a, []oxbow.Memory{{ID: memoryID(j), Status: oxbow.Active}, {ID: memoryID(j + 1), Status: oxbow.Active}})...)
		}
		return tx.Enqueue(ctx, all)
	})
}
