package jobs

import (
	"context"
	"slices"
	"time"

	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// Prune archives the weakest claims of slots that hold more than the policy's
// cap. Newborns, pins and what is used stay, and no source can push out
// another's share; oxbow.PruneOrder has the rule.
type Prune struct{ PassArgs }

// Kind names the job.
func (Prune) Kind() string { return "prune" }

// InsertOpts keeps it to one job of a scope and instant.
func (Prune) InsertOpts() river.InsertOpts { return passOpts() }

type pruneWorker struct {
	river.WorkerDefaults[Prune]
	Deps
}

func (w *pruneWorker) Timeout(*river.Job[Prune]) time.Duration { return passTimeout }

func (w *pruneWorker) Work(ctx context.Context, job *river.Job[Prune]) error {
	return w.outcome(ctx, job.JobRow, job.Args.About, w.runPass(ctx, job.JobRow, job.Args.PassArgs, passes["prune"]))
}

// pruneMark begins a cursor, because the free slot's name is empty.
const pruneMark = "slot:"

// planPrune gives what the next full slot has too much of, slot by slot in the
// order of their names. The cursor is the slot that was looked at last.
func planPrune(ctx context.Context, r store.Reader, s oxbow.ScopeSettings, now time.Time, after string, _ int) ([]oxbow.Change, string, error) {
	held, err := r.Slots(ctx, s.Scope)
	if err != nil {
		return nil, "", err
	}
	var full []string
	for slot, n := range held {
		if n > s.Policy.SlotCap && pruneMark+slot > after {
			full = append(full, slot)
		}
	}
	if len(full) == 0 {
		return nil, "", nil
	}
	slices.Sort(full)
	ms, err := r.SlotMemories(ctx, s.Scope, full[0])
	if err != nil {
		return nil, "", err
	}
	var changes []oxbow.Change
	for _, m := range oxbow.PruneOrder(ms, s.Policy, now) {
		changes = append(changes, guarded(oxbow.ArchivedEvent, m, "its slot is full and it was used least"))
	}
	if len(full) == 1 {
		return changes, "", nil
	}
	return changes, pruneMark + full[0], nil
}
