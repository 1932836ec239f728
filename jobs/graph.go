package jobs

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/store"
)

// Graph reads what memories name and how that relates, so that a memory can be
// found by what it has to do with. One job serves everything that one write
// stored, in one transaction; it is enqueued with the write, only where there is a
// grapher, and what changed meanwhile is not stored. Then the nodes that it named
// get their vectors, if there is an embedder.
//
// A job that names no memories goes through a whole scope and reads what the
// grapher that is configured now has not read: what was written while there was
// none, and, after it was changed, everything. Then it gives vectors to the nodes
// that have none. It leaves its cursor in the run, and hands on to another job after
// a while, so it can be watched, cancelled, and goes on where it was.
type Graph struct {
	About
	Memories []string `json:"memories,omitempty"`
	After    string   `json:"after,omitempty"` // where a run over a scope goes on
}

// Kind names the job.
func (Graph) Kind() string { return "graph" }

// InsertOpts puts the job of a write behind extract, and keeps a run over a scope
// to one job at a time.
func (g Graph) InsertOpts() river.InsertOpts {
	if len(g.Memories) == 0 {
		return passOpts()
	}
	return river.InsertOpts{Queue: QueueWrite, MaxAttempts: maxAttempts, Priority: 3}
}

// graphBatch is how many memories are put into the graph in one transaction.
const graphBatch = 64

type graphWorker struct {
	river.WorkerDefaults[Graph]
	Deps
}

func (w *graphWorker) Timeout(*river.Job[Graph]) time.Duration { return 3 * time.Minute }

func (w *graphWorker) Work(ctx context.Context, job *river.Job[Graph]) error {
	return w.outcome(ctx, job.JobRow, job.Args.About, w.graph(ctx, job))
}

func (w *graphWorker) graph(ctx context.Context, job *river.Job[Graph]) error {
	switch {
	case w.Grapher == nil: // it was switched off; a run over the scope makes up for it
		return w.complete(ctx, job.JobRow, nothing)
	case len(job.Args.Memories) == 0:
		return w.fill(ctx, job)
	}
	args := job.Args
	ms, err := w.Store.Memories(ctx, args.Tenant, args.Memories)
	if err != nil {
		return err
	}
	parts, _, err := w.parts(ctx, args.About, embeddable(ms))
	if err != nil {
		return err
	}
	key := "graph:" + args.Run + ":" + oxbow.NewID(args.Memories...) + ":" + w.grapher() + ":" + args.Again
	put := func(ctx context.Context, tx store.Tx) error {
		_, err := putParts(ctx, tx, args.scope(), parts)
		return err
	}
	if w.Embedder == nil {
		return w.commit(ctx, job.JobRow, key, args.Run, put)
	}
	if err := w.commitStep(ctx, job.JobRow, key, args.Run, put); err != nil {
		return err
	}
	vs, _, err := w.nodeVectors(ctx, args.About, args.Memories, "")
	if err != nil {
		return err
	}
	return w.complete(ctx, job.JobRow, func(ctx context.Context, tx store.Tx) error {
		_, err := tx.PutNodeVectors(ctx, args.scope(), w.Embedder.ID(), vs)
		return err
	})
}

// grapher names who reads.
func (d Deps) grapher() string {
	if s, ok := d.Grapher.(llm.Signer); ok {
		return s.NameOf("graph")
	}
	return d.Grapher.Name()
}

// parts asks the grapher, outside of any transaction, and lets its answers through
// the gate. Of words that it cannot read or refuses it keeps that they were read.
// What was refused is counted.
func (d Deps) parts(ctx context.Context, a About, ms []oxbow.Memory) (out []store.GraphPart, refused int, err error) {
	for _, m := range ms {
		g, err := d.Grapher.Graph(asking(ctx, "graph", a.scope(), a.Run, m.ID), statement("c1", m))
		if errors.Is(err, llm.ErrRefused) {
			d.countRefused(RefusedText, 1)
		}
		if errors.Is(err, llm.ErrUnparsable) || errors.Is(err, llm.ErrRefused) {
			g, err = llm.Graph{}, nil
			refused++
		}
		if err != nil {
			return nil, 0, err
		}
		part, n := gateGraph(m, g)
		d.countRefused(RefusedGraph, n)
		part.Grapher = d.grapher()
		out, refused = append(out, part), refused+n
	}
	return out, refused, nil
}

func putParts(ctx context.Context, tx store.Tx, s oxbow.Scope, parts []store.GraphPart) (stored int, err error) {
	for _, p := range parts {
		ok, err := tx.PutGraph(ctx, s, p)
		if err != nil {
			return stored, err
		}
		if ok {
			stored++
		}
	}
	return stored, nil
}

// nodeVectors makes the vectors of nodes that have none, of those that memories
// name, or of a page of the scope's after an id; last is the page's last one.
func (d Deps) nodeVectors(ctx context.Context, a About, memories []string, after string) (vs []store.NodeVector, last string, err error) {
	nodes, err := d.Store.WithoutNodeVector(ctx, a.scope(), d.Embedder.ID(), memories, after, embedBatch)
	if err != nil || len(nodes) == 0 {
		return nil, "", err
	}
	words := make([]string, len(nodes))
	for i, n := range nodes {
		words[i] = n.Words()
	}
	made, err := d.Embedder.Embed(asking(ctx, "graph", a.scope(), a.Run, memories...), words)
	if err != nil {
		return nil, "", err
	}
	if len(made) != len(nodes) {
		return nil, "", oxbow.Errorf(oxbow.CodeInternal, "the embedder %s gave %d vectors for %d names", d.Embedder.ID(), len(made), len(nodes))
	}
	for i, n := range nodes {
		vs = append(vs, store.NodeVector{Node: n, Values: made[i]})
	}
	return vs, nodes[len(nodes)-1].ID, nil
}

// The parts of a run over a scope, as its cursor begins.
const (
	atMemories = "memory:"
	atNodes    = "node:"
)

// fill goes on with a run over a scope.
func (w *graphWorker) fill(ctx context.Context, job *river.Job[Graph]) error {
	a := job.Args.About
	return w.Deps.fill(ctx, job.JobRow, a, filling{
		name: "graph", version: w.grapher(),
		step: func(ctx context.Context, cursor string) (string, putting, error) { return w.fillNext(ctx, a, cursor) },
		goesOn: func(cursor string) river.JobArgs {
			next := job.Args
			next.After = cursor
			return next
		},
	})
}

// fillNext reads a page of memories, or, when none is left, gives a page of nodes
// their vectors.
func (w *graphWorker) fillNext(ctx context.Context, a About, cursor string) (next string, put putting, err error) {
	if after, nodes := strings.CutPrefix(cursor, atNodes); nodes {
		return w.fillNodes(ctx, a, after)
	}
	ms, err := w.Store.WithoutGraph(ctx, a.scope(), w.grapher(), strings.TrimPrefix(cursor, atMemories), graphBatch)
	if err != nil {
		return "", nil, err
	}
	if len(ms) == 0 {
		return w.fillNodes(ctx, a, "")
	}
	parts, refused, err := w.parts(ctx, a, ms)
	return atMemories + ms[len(ms)-1].ID, func(ctx context.Context, tx store.Tx) (map[string]int, error) {
		n, err := putParts(ctx, tx, a.scope(), parts)
		counts := map[string]int{"read": n}
		if refused > 0 {
			counts["refused"] = refused
		}
		return counts, err
	}, err
}

func (w *graphWorker) fillNodes(ctx context.Context, a About, after string) (next string, put putting, err error) {
	if w.Embedder == nil {
		return "", nil, nil
	}
	vs, last, err := w.nodeVectors(ctx, a, nil, after)
	if err != nil || len(vs) == 0 {
		return "", nil, err
	}
	return atNodes + last, func(ctx context.Context, tx store.Tx) (map[string]int, error) {
		n, err := tx.PutNodeVectors(ctx, a.scope(), w.Embedder.ID(), vs)
		return map[string]int{"embedded": n}, err
	}, nil
}

// Drawing gives the job that puts memories of one write into the graph; none
// without a grapher, or when all of them are in quarantine.
func (d Deps) Drawing(a About, ms []oxbow.Memory) []river.InsertManyParams {
	ms = embeddable(ms)
	if d.Grapher == nil || len(ms) == 0 {
		return nil
	}
	return []river.InsertManyParams{{Args: Graph{About: a, Memories: idsOf(ms)}}}
}
