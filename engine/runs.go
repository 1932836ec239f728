package engine

import (
	"context"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// Runs gives the newest runs first. Passes keep their own counts; what a write,
// an edit or a restoration changed is counted here from its events.
func (e *Engine) Runs(ctx context.Context, f store.RunFilter) ([]oxbow.Run, error) {
	runs, err := e.st.ListRuns(ctx, f)
	if err != nil {
		return nil, err
	}
	return runs, e.addEvents(ctx, f.Tenant, runs)
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
	one := []oxbow.Run{r}
	err = e.addEvents(ctx, tenant, one)
	return one[0], err
}

// addEvents counts the events of those runs that do not count themselves.
func (e *Engine) addEvents(ctx context.Context, tenant string, runs []oxbow.Run) error {
	var ids []string
	for _, r := range runs {
		if !store.CountsItself(r.Name) {
			ids = append(ids, r.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	by, err := e.st.CountRunEvents(ctx, tenant, ids)
	if err != nil {
		return err
	}
	for i, r := range runs {
		if store.CountsItself(r.Name) {
			continue
		}
		for t, n := range by[r.ID] {
			if runs[i].Counts == nil {
				runs[i].Counts = map[string]int{}
			}
			runs[i].Counts[t] += n
		}
	}
	return nil
}
