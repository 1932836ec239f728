package jobs

import (
	"context"
	"math"
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
	// retires is set where whatever is due is retired. Such a batch is chosen
	// where it is written, as a set, and the plan only says what it would be.
	retires oxbow.EventType
	reason  string
}

// passes are those that a plan describes, by name.
var passes = map[string]pass{
	"decay":  {name: "decay", braked: true, plan: planDecay, retires: oxbow.ArchivedEvent, reason: fadedReason},
	"expire": {name: "expire", plan: planExpire, retires: oxbow.ExpiredEvent, reason: expiredReason},
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
		changes, cursor, err := p.plan(ctx, d.Store, s, Milli(args.Now), run.Cursor, d.ahead(p))
		if err != nil {
			return err
		}
		if len(changes) == 0 && (cursor == "" || p.retires != "") {
			return d.endRun(ctx, row, run, false)
		}
		if len(changes) == 0 {
			run.Cursor = cursor
			continue
		}
		moved, cut, err := d.writeBatch(ctx, row, args, p, run, changes, cursor)
		if err != nil {
			return err
		}
		if cut || moved == run.Cursor || cursor == "" && p.retires == "" {
			return d.endRun(ctx, row, run, cut)
		}
		run.Cursor = moved
	}
}

// ahead is how much of a pass is planned before a batch: all of it, or, where
// the batch is chosen as it is written, whether there is any.
func (d Deps) ahead(p pass) int {
	if p.retires != "" {
		return 1
	}
	return d.passBatch()
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

// brake cuts a plan to what the pass may still change in this scope today.
func (d Deps) brake(ctx context.Context, s oxbow.ScopeSettings, args PassArgs, p pass, changes []oxbow.Change) ([]oxbow.Change, bool, error) {
	left, err := p.allowance(ctx, d.Store, s, args)
	if err != nil || left >= len(changes) {
		return changes, false, err
	}
	return changes[:left], true, nil
}

// allowance gives how many memories the pass may still change.
func (p pass) allowance(ctx context.Context, r store.PassReader, s oxbow.ScopeSettings, args PassArgs) (int, error) {
	if !p.braked {
		return math.MaxInt, nil
	}
	return allowance(ctx, r, s, args.Now, args.MaxShare)
}

// allowance gives how many memories passes may still change in a scope.
func allowance(ctx context.Context, r store.PassReader, s oxbow.ScopeSettings, now time.Time, maxShare float64) (int, error) {
	if maxShare <= 0 {
		maxShare = s.Policy.MaxShare
	}
	changed, err := r.PassChanges(ctx, s.Scope, now.Add(-24*time.Hour), now)
	return oxbow.Brake(s.Memories, changed, maxShare), err
}

// writeBatch writes what comes after the run's cursor, once, and gives the
// cursor after it and whether the brake cut it. How much may be changed is read
// under the lock of the scope: two passes at one hour share the allowance. What
// another attempt wrote before is skipped.
func (d Deps) writeBatch(ctx context.Context, row *rivertype.JobRow, args PassArgs, p pass, run oxbow.Run, changes []oxbow.Change, cursor string) (moved string, cut bool, err error) {
	first := false
	err = d.Store.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
		first, moved, cut = false, run.Cursor, false
		if _, err := tx.LockScope(ctx, args.scope(), d.now()); err != nil {
			return err
		}
		s, err := tx.Scope(ctx, args.scope()) // the lock may know an older count of memories
		if err != nil {
			return err
		}
		left, err := p.allowance(ctx, tx, s, args)
		if err != nil {
			return err
		}
		if cut = left == 0; cut {
			return nil // without a ledger key, so that the run can go on here
		}
		return d.step(ctx, tx, row, p.name+":"+run.ID+":"+run.Cursor, run.ID, func(ctx context.Context, tx store.Tx) error {
			first = true
			r := run
			if p.retires != "" {
				r.Cursor, r.Counts, err = d.retire(ctx, tx, args, p, run.Cursor, min(left, d.passBatch()))
			} else {
				cut = left < len(changes)
				r.Cursor = cursor
				r.Counts, err = d.applyBatch(ctx, tx, args, changes[:min(left, len(changes))])
			}
			if err != nil {
				return err
			}
			moved = r.Cursor
			return tx.PutRun(ctx, r)
		})
	})
	if err == nil && !first && !cut {
		run, err = d.Store.Run(ctx, args.Tenant, run.ID)
		moved = run.Cursor
	}
	return moved, cut, err
}

func (d Deps) retire(ctx context.Context, tx store.Tx, args PassArgs, p pass, after string, limit int) (string, map[string]int, error) {
	done, err := tx.Retire(ctx, d.batch(args.About), store.Retirement{Type: p.retires, Reason: p.reason,
		Actor: actor(args.About), After: after, Limit: limit})
	if err != nil || done.Count == 0 {
		return done.Last, nil, err // past what was used meanwhile: more may be due behind it
	}
	return done.Last, map[string]int{string(p.retires): done.Count}, nil
}

func (d Deps) applyBatch(ctx context.Context, tx store.Tx, args PassArgs, changes []oxbow.Change) (map[string]int, error) {
	done, err := tx.Apply(ctx, d.batch(args.About), sign(changes, actor(args.About), ""))
	return counted(done.Events, 0), err
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

// nextCursor gives the place after which a full page goes on, "" after the last.
func nextCursor(ms []oxbow.Memory, limit int, due func(oxbow.Memory) time.Time) string {
	if len(ms) < limit {
		return ""
	}
	last := ms[len(ms)-1]
	return store.Place(due(last), last.ID)
}
