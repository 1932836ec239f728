package engine

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// Forget puts an active memory away in the name of an agent; an operator can
// restore it. What is pinned, or was said by somebody whom more trust is due
// than by, stays: conflict. Forgetting what is put away already is harmless.
func (e *Engine) Forget(ctx context.Context, tenant, id string, by oxbow.Source) (Written, error) {
	return e.act(ctx, tenant, id, "forget", func(ctx context.Context, tx store.Tx, _ oxbow.ScopeSettings, run oxbow.Run, m oxbow.Memory) error {
		switch {
		case m.Status == oxbow.Archived:
			return nil
		case m.Pinned:
			return oxbow.Errorf(oxbow.CodeConflict, "the memory %s is pinned and stays: ask the user, who can unpin it", m.ID)
		case m.Source.Trust() > by.Trust():
			return oxbow.Errorf(oxbow.CodeConflict, "the memory %s was said by the %s and stays: ask the user, who can archive it", m.ID, m.Source)
		}
		return e.apply(ctx, tx, run, oxbow.Change{Type: oxbow.ArchivedEvent, Memory: m.ID, Reason: "an agent asked to forget it"})
	})
}

// pendingPage bounds how many waiting jobs of a tenant are looked through.
const pendingPage = 500

// Pending tells which of the memories jobs still wait for or work on. Limit:
// only the newest 500 jobs of a state are looked through; under such a backlog
// a memory may count as settled that is not.
func (e *Engine) Pending(ctx context.Context, tenant string, ids []string) (map[string]bool, error) {
	out := map[string]bool{}
	for _, state := range []string{"available", "running", "scheduled", "retryable"} {
		js, err := e.st.ListJobs(ctx, store.JobFilter{Tenant: tenant, State: state, Limit: pendingPage})
		if err != nil {
			return nil, err
		}
		for _, j := range js {
			var about struct {
				Memory   string   `json:"memory"`
				Memories []string `json:"memories"`
			}
			if json.Unmarshal(j.Args, &about) != nil {
				continue
			}
			for _, id := range append(about.Memories, about.Memory) {
				out[id] = true
			}
		}
	}
	for id := range out {
		if !slices.Contains(ids, id) {
			delete(out, id)
		}
	}
	return out, nil
}
