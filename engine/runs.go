package engine

import (
	"context"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// maxCounted bounds how many events of one run are counted.
const maxCounted = 1000

// Runs gives the newest runs first. Passes keep their own counts; what a write,
// an edit or a restoration changed is counted here from its events.
func (e *Engine) Runs(ctx context.Context, f store.RunFilter) ([]oxbow.Run, error) {
	runs, err := e.st.ListRuns(ctx, f)
	if err != nil {
		return nil, err
	}
	for i := range runs {
		if runs[i], err = e.tallied(ctx, runs[i]); err != nil {
			return nil, err
		}
	}
	return runs, nil
}

// Run gives one run with its counts, by its id or a unique beginning of it.
func (e *Engine) Run(ctx context.Context, tenant, id string) (oxbow.Run, error) {
	id, err := e.st.Resolve(ctx, tenant, "run", id)
	if err != nil {
		return oxbow.Run{}, err
	}
	r, err := e.st.Run(ctx, tenant, id)
	if err != nil {
		return oxbow.Run{}, err
	}
	return e.tallied(ctx, r)
}

func (e *Engine) tallied(ctx context.Context, r oxbow.Run) (oxbow.Run, error) {
	if store.CountsItself(r.Name) {
		return r, nil
	}
	events, err := e.st.Events(ctx, store.EventFilter{Tenant: r.Scope.Tenant, Run: r.ID, Limit: maxCounted})
	if err != nil {
		return r, err
	}
	for _, ev := range events {
		if r.Counts == nil {
			r.Counts = map[string]int{}
		}
		r.Counts[string(ev.Type)]++
	}
	return r, nil
}

// refusals counts what the gate refused in what was processed since an instant:
// the events that say so, and what the runs counted that has no memory to carry an
// event. Limit: of the runs only the thousand about the latest instants are read.
func (e *Engine) refusals(ctx context.Context, s oxbow.Scope, since time.Time) (int, error) {
	n := 0
	f := store.EventFilter{Tenant: s.Tenant, Scope: s.Name, Types: []oxbow.EventType{oxbow.Refused}, Newest: true, Limit: maxCounted}
	for {
		events, err := e.st.Events(ctx, f)
		if err != nil {
			return 0, err
		}
		late := 0
		for _, ev := range events {
			if !ev.RecordedAt.Before(since) {
				late++
			}
			f.AfterSeq = ev.Seq
		}
		n += late
		if late < maxCounted {
			break
		}
	}
	runs, err := e.st.ListRuns(ctx, store.RunFilter{Tenant: s.Tenant, Scope: s.Name, Limit: maxCounted})
	for _, r := range runs {
		if r.Name != "synthesize" && !r.StartedAt.Before(since) { // a refused rewriting has events
			n += r.Counts["refused"]
		}
	}
	return n, err
}
