package engine

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// Forget puts an active memory away in the name of an agent; an operator can
// restore it. What is pinned, or was said by somebody whom more trust is due than
// by, stays, and there is nothing to put away where a memory is not recalled
// anyhow: conflict. Of one scope agents put away at most perHour memories in an
// hour, however many of them there are and in however many processes: budget.
// Forgetting what is put away already is harmless, and is not counted.
func (e *Engine) Forget(ctx context.Context, tenant, id string, by oxbow.Source, perHour int) (Written, error) {
	m, err := e.Memory(ctx, tenant, id)
	if err != nil || m.Status == oxbow.Archived {
		return Written{Memory: m}, err
	}
	return e.act(ctx, tenant, m.ID, forgetting, func(ctx context.Context, tx store.Tx, _ oxbow.ScopeSettings, run oxbow.Run, m oxbow.Memory) error {
		switch {
		case m.Status == oxbow.Archived:
			return nil
		case m.Status != oxbow.Active:
			return oxbow.Errorf(oxbow.CodeConflict, "the memory %s is %s and not recalled anyhow: there is nothing to put away", m.ID, m.Status)
		case m.Pinned:
			return oxbow.Errorf(oxbow.CodeConflict, "the memory %s is pinned and stays: ask the user, who can unpin it", m.ID)
		case m.Source.Trust() > by.Trust():
			return oxbow.Errorf(oxbow.CodeConflict, "the memory %s was said by the %s and stays: ask the user, who can archive it", m.ID, m.Source)
		}
		// This run is the newest of those that are listed.
		rs, err := tx.ListRuns(ctx, store.RunFilter{Tenant: tenant, Scope: m.Scope.Name, Name: forgetting, Limit: perHour + 1})
		if err != nil {
			return err
		}
		if len(rs) > perHour && run.About.Sub(rs[perHour].About) < time.Hour {
			return oxbow.Errorf(oxbow.CodeBudget, "%d memories were put away within an hour, which is the limit: ask the user", perHour)
		}
		return e.apply(ctx, tx, run, oxbow.Change{Type: oxbow.ArchivedEvent, Memory: m.ID, Reason: "an agent asked to forget it"})
	})
}

// forgetting is the name of its runs.
const forgetting = "forget"

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
