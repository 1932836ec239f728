package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// filling is what runs over a scope have in common that give each memory what it
// lacks: vectors, hints, a place in the graph. They can be watched (so many of so
// many), stopped between two batches, and go on at their cursor after a kill. What
// is filled already is not met again, so a new run goes on where a stopped one was,
// too.
type filling struct {
	name    string                                 // of the job
	version string                                 // of what is filled in
	left    func(ctx context.Context) (int, error) // nil where nobody counts it
	// step makes what is lacking behind a cursor, outside of any transaction, and
	// says where it came to; an empty next says that nothing is lacking.
	step   func(ctx context.Context, cursor string) (next string, put putting, err error)
	goesOn func(cursor string) river.JobArgs // the job that goes on
	finish putting                           // once nothing is lacking, before the run is done; nil is nothing
}

// putting stores what was made, and gives what it adds to the run's counts.
type putting func(ctx context.Context, tx store.Tx) (map[string]int, error)

// storing stores what was made, and gives of how many memories.
type storing func(ctx context.Context, tx store.Tx) (int, error)

const (
	// fillBatch is how many memories are filled in one transaction.
	fillBatch = 256
	// Due is the count of a run that says how many memories it began with.
	Due = "due"
)

// byMemories gives the steps of a filling that goes through memories by id; what
// it has stored is counted as done.
func byMemories(done string, page func(ctx context.Context, after string) ([]oxbow.Memory, error),
	made func(ctx context.Context, ms []oxbow.Memory) (storing, error)) func(context.Context, string) (string, putting, error) {
	return func(ctx context.Context, cursor string) (string, putting, error) {
		ms, err := page(ctx, cursor)
		if err != nil || len(ms) == 0 {
			return "", nil, err
		}
		put, err := made(ctx, ms)
		if err != nil {
			return "", nil, err
		}
		return ms[len(ms)-1].ID, func(ctx context.Context, tx store.Tx) (map[string]int, error) {
			n, err := put(ctx, tx)
			return map[string]int{done: n}, err
		}, nil
	}
}

// fill goes on with a run over a scope, for a while; then another job does, so
// that no job is as long as the scope.
func (d Deps) fill(ctx context.Context, row *rivertype.JobRow, a About, f filling) error {
	run, err := d.beginFilling(ctx, a, f)
	if err != nil || run.Status != oxbow.RunRunning {
		return d.orComplete(ctx, row, err)
	}
	limit := d.EmbedFor
	if limit <= 0 {
		limit = 30 * time.Second
	}
	for until := time.Now().Add(limit); ; {
		next, put, err := f.step(ctx, run.Cursor)
		if err != nil {
			return err
		}
		if next == "" {
			return d.endFilling(ctx, row, run, f)
		}
		if run, err = d.fillStep(ctx, row, run, f, next, put); err != nil || run.Status != oxbow.RunRunning {
			return d.orComplete(ctx, row, err)
		}
		if time.Now().After(until) {
			break
		}
	}
	return d.complete(ctx, row, func(ctx context.Context, tx store.Tx) error {
		return tx.Enqueue(ctx, []river.InsertManyParams{{Args: f.goesOn(run.Cursor)}})
	})
}

// beginFilling gives the run as an earlier job left it, or a new one that knows
// how much there is.
func (d Deps) beginFilling(ctx context.Context, a About, f filling) (oxbow.Run, error) {
	run, err := d.Store.Run(ctx, a.Tenant, a.Run)
	if oxbow.CodeOf(err) != oxbow.CodeNotFound {
		run.Counts = nil
		return run, err
	}
	left := 0
	if f.left != nil {
		if left, err = f.left(ctx); err != nil {
			return run, err
		}
	}
	run = oxbow.Run{ID: a.Run, Scope: a.scope(), Name: f.name, Trigger: a.Trigger, Status: oxbow.RunRunning,
		About: Milli(a.Now), StartedAt: d.now()}
	counted := run
	if left > 0 {
		counted.Counts = map[string]int{Due: left}
	}
	return run, d.Store.InTx(ctx, func(ctx context.Context, tx store.Tx) error { return tx.PutRun(ctx, counted) })
}

// fillStep stores what a step made, and moves the run's cursor with it, unless the
// run was stopped meanwhile.
func (d Deps) fillStep(ctx context.Context, row *rivertype.JobRow, run oxbow.Run, f filling, cursor string, put putting) (oxbow.Run, error) {
	err := d.commitStep(ctx, row, f.name+":"+run.ID+":"+f.version+":"+cursor, run.ID, func(ctx context.Context, tx store.Tx) error {
		now, err := tx.Run(ctx, run.Scope.Tenant, run.ID)
		if err != nil || now.Status != oxbow.RunRunning {
			run.Status = now.Status
			return err
		}
		counts, err := put(ctx, tx)
		if err != nil {
			return err
		}
		counted := run
		counted.Cursor, counted.Counts = cursor, counts
		return tx.PutRun(ctx, counted)
	})
	run.Cursor = cursor
	return run, err
}

// endFilling ends a run that has nothing left to fill.
func (d Deps) endFilling(ctx context.Context, row *rivertype.JobRow, run oxbow.Run, f filling) error {
	if f.finish != nil {
		err := d.commitStep(ctx, row, f.name+":"+run.ID+":"+f.version+":finish", run.ID, func(ctx context.Context, tx store.Tx) error {
			counted := run
			var err error
			if counted.Counts, err = f.finish(ctx, tx); err != nil || len(counted.Counts) == 0 {
				return err
			}
			return tx.PutRun(ctx, counted)
		})
		if err != nil {
			return err
		}
	}
	return d.endRun(ctx, row, run, false)
}
