package engine

import (
	"context"

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
