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
// lacks: vectors, hints. They can be watched (so many of so many), stopped between
// two batches, and go on at their cursor after a kill. What is filled already is
// not met again, so a new run goes on where a stopped one was, too.
type filling struct {
	name    string // of the job
	done    string // what a memory is then: embedded
	version string // of what is filled in
	left    func(ctx context.Context) (int, error)
	page    func(ctx context.Context, after string) ([]oxbow.Memory, error)
	make    func(ctx context.Context, ms []oxbow.Memory) (putting, error)
	next    func(after string) river.JobArgs // the job that goes on
	finish  putting                          // once nothing lacks it, before the run is done; nil is nothing
	undone  string                           // what finish counts
}

// putting stores what was made, and gives of how many memories.
type putting func(ctx context.Context, tx store.Tx) (int, error)

const (
	// fillBatch is how many memories are filled in one transaction.
	fillBatch = 256
	// Due is the count of a run that says how many memories it began with.
	Due = "due"
)

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
		ms, err := f.page(ctx, run.Cursor)
		if err != nil {
			return err
		}
		if len(ms) == 0 {
			if err := d.finishFilling(ctx, row, run, f); err != nil {
				return err
			}
			return d.endRun(ctx, row, run, false)
		}
		if run, err = d.fillPage(ctx, row, run, f, ms); err != nil {
			return err
		}
		if run.Status != oxbow.RunRunning {
			return d.complete(ctx, row, nothing)
		}
		if time.Now().After(until) {
			break
		}
	}
	return d.complete(ctx, row, func(ctx context.Context, tx store.Tx) error {
		return tx.Enqueue(ctx, []river.InsertManyParams{{Args: f.next(run.Cursor)}})
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
	left, err := f.left(ctx)
	if err != nil {
		return run, err
	}
	run = oxbow.Run{ID: a.Run, Scope: a.scope(), Name: f.name, Trigger: a.Trigger, Status: oxbow.RunRunning,
		About: Milli(a.Now), StartedAt: d.now()}
	counted := run
	if left > 0 {
		counted.Counts = map[string]int{Due: left}
	}
	return run, d.Store.InTx(ctx, func(ctx context.Context, tx store.Tx) error { return tx.PutRun(ctx, counted) })
}

// fillPage fills one page, unless the run was stopped meanwhile.
func (d Deps) fillPage(ctx context.Context, row *rivertype.JobRow, run oxbow.Run, f filling, ms []oxbow.Memory) (oxbow.Run, error) {
	put, err := f.make(ctx, ms)
	if err != nil {
		return run, err
	}
	next := run
	next.Cursor = ms[len(ms)-1].ID
	key := f.name + ":" + run.ID + ":" + f.version + ":" + next.Cursor
	err = d.commitStep(ctx, row, key, run.ID, func(ctx context.Context, tx store.Tx) error {
		now, err := tx.Run(ctx, run.Scope.Tenant, run.ID)
		if err != nil || now.Status != oxbow.RunRunning {
			next.Status = now.Status
			return err
		}
		n, err := put(ctx, tx)
		if err != nil {
			return err
		}
		counted := next
		counted.Counts = map[string]int{f.done: n}
		return tx.PutRun(ctx, counted)
	})
	return next, err
}

func (d Deps) finishFilling(ctx context.Context, row *rivertype.JobRow, run oxbow.Run, f filling) error {
	if f.finish == nil {
		return nil
	}
	return d.commitStep(ctx, row, f.name+":"+run.ID+":"+f.version+":finish", run.ID, func(ctx context.Context, tx store.Tx) error {
		n, err := f.finish(ctx, tx)
		if err != nil || n == 0 {
			return err
		}
		counted := run
		counted.Counts = map[string]int{f.undone: n}
		return tx.PutRun(ctx, counted)
	})
}
