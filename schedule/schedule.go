// Package schedule says when passes run. A schedule is a row (scope, name, cron
// line, next instant) and not a timer: a minute tick enqueues what is due and
// moves the row on in the same transaction, so a worker that was off for a week
// runs what it missed once, and several workers never run a slot twice.
//
// Cron lines are read in the scope's time zone. It enqueues passes of package
// jobs and does nothing else; worker drives it.
package schedule

import (
	"context"
	"time"

	"github.com/riverqueue/river"
	"github.com/robfig/cron/v3"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/store"
)

// The ways to catch up with slots that were missed.
const (
	Latest = "latest" // only the last one
	All    = "all"    // each of them, at most maxCatchUp
)

// maxCatchUp bounds how many missed slots one tick enqueues.
const maxCatchUp = 100

// Defaults are the schedules of a new scope.
var Defaults = []store.Schedule{
	{Name: "decay", Spec: "0 3 * * *", CatchUp: Latest},
	{Name: "prune", Spec: "0 3 * * *", CatchUp: Latest},
	{Name: "expire", Spec: "0 * * * *", CatchUp: Latest},
	{Name: "cluster", Spec: "0 4 * * 0", CatchUp: Latest},
}

// Next gives the first slot of a cron line after an instant, in a zone; invalid
// for a line that is none, or that never comes.
func Next(spec string, zone *time.Location, after time.Time) (time.Time, error) {
	s, err := cron.ParseStandard(spec)
	if err != nil {
		return time.Time{}, oxbow.Errorf(oxbow.CodeInvalid, "the schedule %q is not a cron line such as \"0 3 * * *\"", spec)
	}
	next := s.Next(after.In(zone))
	if next.IsZero() {
		return time.Time{}, oxbow.Errorf(oxbow.CodeInvalid, "the schedule %q names a day that never comes", spec)
	}
	return next.UTC(), nil
}

// Ensure gives a new scope its schedules, from now on.
func Ensure(ctx context.Context, tx store.Tx, s oxbow.ScopeSettings, now time.Time) error {
	for _, d := range Defaults {
		next, err := Next(d.Spec, s.Location(), now)
		if err != nil {
			return err
		}
		d.Scope, d.NextAt = s.Scope, next
		if err := tx.PutSchedule(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// tickPage is how many schedules one transaction moves on.
const tickPage = 100

// Tick enqueues every slot that is due at now and gives how many. Idempotent:
// a slot is claimed in the ledger before it is enqueued.
func Tick(ctx context.Context, st store.Store, now time.Time) (int, error) {
	total := 0
	for {
		n, moved, err := tick(ctx, st, now)
		total += n
		if err != nil || moved < tickPage {
			return total, err
		}
	}
}

func tick(ctx context.Context, st store.Store, now time.Time) (enqueued, moved int, err error) {
	err = st.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
		enqueued, moved = 0, 0
		due, err := tx.DueSchedules(ctx, now, tickPage)
		if err != nil {
			return err
		}
		var next []river.InsertManyParams
		for _, d := range due {
			args, err := advance(ctx, tx, d, now)
			if err != nil {
				return err
			}
			next = append(next, args...)
		}
		enqueued, moved = len(next), len(due)
		return tx.Enqueue(ctx, next)
	})
	return enqueued, moved, err
}

// advance gives the jobs of a schedule's due slots and moves it past now.
func advance(ctx context.Context, tx store.Tx, d store.Schedule, now time.Time) ([]river.InsertManyParams, error) {
	s, err := tx.Scope(ctx, d.Scope)
	if err != nil {
		return nil, err
	}
	if d.LastAt.After(now) { // a clock was set back; what it ran too early is in the ledger
		d.LastAt = time.Time{}
		if d.NextAt, err = Next(d.Spec, s.Location(), now); err != nil {
			return nil, err
		}
		return nil, tx.PutSchedule(ctx, d)
	}
	slots, next, err := dueSlots(d, s.Location(), now)
	if err != nil {
		return nil, err
	}
	var out []river.InsertManyParams
	for _, slot := range slots {
		run := jobs.PassRun(d.Name, d.Scope, slot, "")
		first, err := tx.Claim(ctx, "slot:"+run, run, now)
		if err != nil {
			return nil, err
		}
		if !first {
			continue
		}
		args, err := jobs.NewPass(d.Name, jobs.PassArgs{About: jobs.About{Tenant: d.Scope.Tenant, Scope: d.Scope.Name,
			Run: run, Now: slot, Trigger: "schedule"}})
		if err != nil {
			return nil, err
		}
		out = append(out, river.InsertManyParams{Args: args})
	}
	d.LastAt, d.NextAt = slots[len(slots)-1], next
	return out, tx.PutSchedule(ctx, d)
}

// dueSlots gives the slots to run, at least one, and the next one after now.
func dueSlots(d store.Schedule, zone *time.Location, now time.Time) ([]time.Time, time.Time, error) {
	slots := []time.Time{d.NextAt}
	for {
		next, err := Next(d.Spec, zone, slots[len(slots)-1])
		if err != nil {
			return nil, time.Time{}, err
		}
		if next.After(now) {
			return slots, next, nil
		}
		if d.CatchUp != All {
			slots = slots[:0]
		}
		slots = append(slots, next)
		if len(slots) > maxCatchUp {
			slots = slots[1:]
		}
	}
}
