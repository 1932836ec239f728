package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// Embed gives memories their vectors, so that they can be found by what their
// words are like. One job serves everything that one write stored; it is enqueued
// with the write, only where there is an embedder, and runs after it, so a memory
// is found by its words at once and by its vector a moment later. Words that
// change lose their vector with the change, and a vector of words that changed
// meanwhile is not stored.
//
// A job that names no memories goes through a whole scope and gives a vector to
// each memory that has none of the embedder that is configured now: what was
// written while there was none, and, after the embedder was changed, everything.
// It leaves its cursor in the run, and hands on to another job after a while, so
// it can be watched, cancelled, and goes on where it was. Vectors of different
// embedders stand beside each other and are never compared; those of an embedder
// that is not used any more stay until their memories change or are erased, or a
// run is told to drop them.
type Embed struct {
	About
	Memories []string `json:"memories,omitempty"`
	After    string   `json:"after,omitempty"` // the id behind which a run over a scope goes on
	// DropOthers takes the vectors of every other embedder away at the end of a
	// run over a scope, when each memory has one of this embedder.
	DropOthers bool `json:"drop_others,omitempty"`
}

// Kind names the job.
func (Embed) Kind() string { return "embed" }

// InsertOpts puts the job of a write behind extract, and keeps a run over a scope
// to one job at a time.
func (e Embed) InsertOpts() river.InsertOpts {
	if len(e.Memories) == 0 {
		return passOpts()
	}
	return river.InsertOpts{Queue: QueueWrite, MaxAttempts: maxAttempts, Priority: 2}
}

// embedBatch is how many memories are embedded in one call.
const embedBatch = fillBatch

type embedWorker struct {
	river.WorkerDefaults[Embed]
	Deps
}

func (w *embedWorker) Timeout(*river.Job[Embed]) time.Duration { return 3 * time.Minute }

func (w *embedWorker) Work(ctx context.Context, job *river.Job[Embed]) error {
	return w.outcome(ctx, job.JobRow, job.Args.About, w.embed(ctx, job))
}

func (w *embedWorker) embed(ctx context.Context, job *river.Job[Embed]) error {
	switch {
	case w.Embedder == nil: // it was switched off; a run over the scope makes up for it
		return w.complete(ctx, job.JobRow, nothing)
	case len(job.Args.Memories) == 0:
		return w.fill(ctx, job)
	}
	args := job.Args
	ms, err := w.Store.Memories(ctx, args.Tenant, args.Memories)
	if err != nil {
		return err
	}
	vs, err := w.vectors(ctx, args.About, embeddable(ms))
	if err != nil {
		return err
	}
	key := "embed:" + args.Run + ":" + oxbow.NewID(args.Memories...) + ":" + w.Embedder.ID() + ":" + args.Again
	return w.commit(ctx, job.JobRow, key, args.Run, func(ctx context.Context, tx store.Tx) error {
		_, err := w.put(ctx, tx, args.scope(), vs)
		return err
	})
}

// fill goes on with a run over a scope.
func (w *embedWorker) fill(ctx context.Context, job *river.Job[Embed]) error {
	a, id := job.Args.About, w.Embedder.ID()
	var drop putting
	if job.Args.DropOthers {
		drop = func(ctx context.Context, tx store.Tx) (map[string]int, error) {
			if _, missing, err := tx.CountVectors(ctx, a.scope(), id); err != nil || missing > 0 {
				return nil, err // some were not embedded: what others made of them is of use still
			}
			n, err := tx.DropOtherVectors(ctx, a.scope(), id)
			if n == 0 {
				return nil, err
			}
			return map[string]int{"vectors of other embedders dropped": n}, err
		}
	}
	return w.Deps.fill(ctx, job.JobRow, a, filling{
		name: "embed", version: id, finish: drop,
		left: func(ctx context.Context) (int, error) {
			_, without, err := w.Store.CountVectors(ctx, a.scope(), id)
			return without, err
		},
		step: byMemories("embedded", func(ctx context.Context, after string) ([]oxbow.Memory, error) {
			return w.Store.WithoutVector(ctx, a.scope(), id, after, fillBatch)
		}, func(ctx context.Context, ms []oxbow.Memory) (storing, error) {
			vs, err := w.vectors(ctx, a, ms)
			return func(ctx context.Context, tx store.Tx) (int, error) { return w.put(ctx, tx, a.scope(), vs) }, err
		}),
		goesOn: func(cursor string) river.JobArgs {
			next := job.Args
			next.After = cursor
			return next
		},
	})
}

// vectors asks the embedder, outside of any transaction.
func (w *embedWorker) vectors(ctx context.Context, a About, ms []oxbow.Memory) ([]store.Vector, error) {
	out := make([]store.Vector, 0, len(ms))
	for len(ms) > 0 {
		batch := ms[:min(len(ms), embedBatch)]
		ms = ms[len(batch):]
		texts := make([]string, len(batch))
		for i, m := range batch {
			texts[i] = store.SearchText(m)
		}
		made, err := w.Embedder.Embed(asking(ctx, "embed", a.scope(), a.Run, idsOf(batch)...), texts)
		if err != nil {
			return nil, err
		}
		if len(made) != len(batch) {
			return nil, oxbow.Errorf(oxbow.CodeInternal, "the embedder %s gave %d vectors for %d texts", w.Embedder.ID(), len(made), len(batch))
		}
		for i, m := range batch {
			if n := len(made[i]); n != w.Embedder.Dimensions() {
				return nil, oxbow.Errorf(oxbow.CodeInternal, "the embedder %s gave a vector of %d dimensions", w.Embedder.ID(), n)
			}
			out = append(out, store.Vector{Memory: m.ID, ContentVersion: m.ContentVersion, Values: made[i]})
		}
	}
	return out, nil
}

func (w *embedWorker) put(ctx context.Context, tx store.Tx, s oxbow.Scope, vs []store.Vector) (int, error) {
	if len(vs) == 0 {
		return 0, nil
	}
	return tx.PutVectors(ctx, s, w.Embedder.ID(), vs)
}

// embeddable leaves out what recall never shows, and notes, which it finds by their
// words and only when they are asked for.
func embeddable(ms []oxbow.Memory) []oxbow.Memory {
	var out []oxbow.Memory
	for _, m := range ms {
		if m.Status != oxbow.Erased && m.Status != oxbow.Quarantined && !m.IsNote() {
			out = append(out, m)
		}
	}
	return out
}

// Embedding gives the job that gives memories of one write their vectors; none
// without an embedder, or when all of them are in quarantine.
func (d Deps) Embedding(a About, ms []oxbow.Memory) []river.InsertManyParams {
	ms = embeddable(ms)
	if d.Embedder == nil || len(ms) == 0 {
		return nil
	}
	return []river.InsertManyParams{{Args: Embed{About: a, Memories: idsOf(ms)}}}
}

// FollowUps is the function of that name, the embedding, and the graph.
func (d Deps) FollowUps(a About, ms []oxbow.Memory) []river.InsertManyParams {
	return append(append(FollowUps(a, ms), d.Embedding(a, ms)...), d.Drawing(a, ms)...)
}
