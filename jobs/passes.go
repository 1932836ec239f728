package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// pass is what decay, expire and prune have in common: a plan that reads, and
// changes that are applied batch by batch. plan gives the changes due at the
// instant after a cursor, and the cursor after them, "" when there are no more.
type pass struct {
	name   string
	braked bool
	plan   func(ctx context.Context, r store.Reader, s oxbow.ScopeSettings, now time.Time, after string, limit int) ([]oxbow.Change, string, error)
}

// passes are those that a plan describes, by name.
var passes = map[string]pass{
	"decay":  {name: "decay", braked: true, plan: planDecay},
	"expire": {name: "expire", plan: planExpire},
	"prune":  {name: "prune", braked: true, plan: planPrune},
}

// PassArgs is what the passes over a scope take.
type PassArgs struct {
	About
	// MaxShare replaces the policy's brake when it is over 0.
	MaxShare float64 `json:"max_share,omitempty"`
}

// passOpts keeps a pass to one job of a scope and instant.
func passOpts() river.InsertOpts {
	return river.InsertOpts{Queue: QueueMaintenance, MaxAttempts: maxAttempts, UniqueOpts: river.UniqueOpts{
		ByArgs: true,
		ByState: []rivertype.JobState{rivertype.JobStateAvailable, rivertype.JobStatePending,
			rivertype.JobStateRetryable, rivertype.JobStateRunning, rivertype.JobStateScheduled},
	}}
}

// passTimeout bounds one job of a pass.
const passTimeout = 5 * time.Minute

// runPass applies a pass to a scope. Each batch is one transaction with a
// ledger key of its own and leaves its cursor in the run, so a pass that was
// killed goes on where it was.
func (d Deps) runPass(ctx context.Context, row *rivertype.JobRow, args PassArgs, p pass) error {
	s, err := d.Store.Scope(ctx, args.scope())
	if oxbow.CodeOf(err) == oxbow.CodeNotFound {
		return d.complete(ctx, row, nothing)
	}
	if err != nil {
		return err
	}
	run, err := d.beginRun(ctx, args.About, p.name)
	if err != nil || run.Status == oxbow.RunDone {
		return d.orComplete(ctx, row, err)
	}
	for {
		changes, cursor, err := p.plan(ctx, d.Store, s, Milli(args.Now), run.Cursor, d.passBatch())
		if err != nil {
			return err
		}
		changes, cut, err := d.brake(ctx, s, args, p, changes)
		if err != nil {
			return err
		}
		if len(changes) > 0 {
			if err := d.applyBatch(ctx, row, args, p, &run, changes, cursor); err != nil {
				return err
			}
		}
		if cut || cursor == "" {
			return d.endRun(ctx, row, run, cut)
		}
		run.Cursor = cursor
	}
}

func (d Deps) orComplete(ctx context.Context, row *rivertype.JobRow, err error) error {
	if err != nil {
		return err
	}
	return d.complete(ctx, row, nothing)
}

// beginRun gives the run as an earlier attempt left it, or a new one.
func (d Deps) beginRun(ctx context.Context, a About, name string) (oxbow.Run, error) {
	run, err := d.Store.Run(ctx, a.Tenant, a.Run)
	if oxbow.CodeOf(err) != oxbow.CodeNotFound {
		run.Counts = nil
		return run, err
	}
	run = oxbow.Run{ID: a.Run, Scope: a.scope(), Name: name, Trigger: a.Trigger, Status: oxbow.RunRunning,
		About: Milli(a.Now), StartedAt: d.now()}
	return run, d.Store.InTx(ctx, func(ctx context.Context, tx store.Tx) error { return tx.PutRun(ctx, run) })
}

// brake cuts a batch to what the pass may still change in this scope today.
func (d Deps) brake(ctx context.Context, s oxbow.ScopeSettings, args PassArgs, p pass, changes []oxbow.Change) ([]oxbow.Change, bool, error) {
	if !p.braked || len(changes) == 0 {
		return changes, false, nil
	}
	left, err := allowance(ctx, d.Store, s, args.Now, args.MaxShare)
	if err != nil || left >= len(changes) {
		return changes, false, err
	}
	return changes[:left], true, nil
}

// allowance gives how many memories passes may still change in a scope.
func allowance(ctx context.Context, r store.PassReader, s oxbow.ScopeSettings, now time.Time, maxShare float64) (int, error) {
	if maxShare <= 0 {
		maxShare = s.Policy.MaxShare
	}
	changed, err := r.PassChanges(ctx, s.Scope, now.Add(-24*time.Hour), now)
	return oxbow.Brake(s.Memories, changed, maxShare), err
}

func (d Deps) applyBatch(ctx context.Context, row *rivertype.JobRow, args PassArgs, p pass, run *oxbow.Run, changes []oxbow.Change, cursor string) error {
	key := p.name + ":" + run.ID + ":" + run.Cursor
	return d.commitStep(ctx, row, key, run.ID, func(ctx context.Context, tx store.Tx) error {
		done, err := tx.Apply(ctx, d.batch(args.About), sign(changes, actor(args.About), ""))
		if err != nil {
			return err
		}
		r := *run
		r.Cursor, r.Counts = cursor, counted(done.Events, 0)
		return tx.PutRun(ctx, r)
	})
}

// actor names who set a pass going.
func actor(a About) string {
	if a.Trigger == "" {
		return "schedule"
	}
	return a.Trigger
}

func (d Deps) endRun(ctx context.Context, row *rivertype.JobRow, run oxbow.Run, cut bool) error {
	run.Status, run.FinishedAt, run.Counts = oxbow.RunDone, d.now(), nil
	if cut {
		run.Status = oxbow.RunStopped
		run.Note = "the brake stopped it: it would have changed too much of the scope in a day; go on with: oxbow job run " +
			run.Name + " --scope " + run.Scope.Name + " --max-share 1"
	}
	return d.complete(ctx, row, func(ctx context.Context, tx store.Tx) error { return tx.PutRun(ctx, run) })
}

// guarded gives a change that holds only while the memory stands as it was read.
func guarded(t oxbow.EventType, m oxbow.Memory, reason string) oxbow.Change {
	return oxbow.Change{Type: t, Memory: m.ID, Reason: reason,
		Guard: &oxbow.Guard{Status: m.Status, ContentVersion: m.ContentVersion}}
}

// nextCursor gives the id after which a full page goes on, "" after the last.
func nextCursor(ms []oxbow.Memory, limit int) string {
	if len(ms) < limit {
		return ""
	}
	return ms[len(ms)-1].ID
}
