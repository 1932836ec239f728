package engine

import (
	"context"
	"slices"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/store"
)

// Decide keeps one of two active memories of a scope that cannot both be right,
// and sets the other one aside. The operator's word is kept as a verdict, so no
// judge undoes it. Errors: conflict when one of them is not active or the one to
// be set aside is pinned, invalid when they are of two scopes.
func (e *Engine) Decide(ctx context.Context, tenant, keep, drop string) error {
	other, err := e.Memory(ctx, tenant, drop)
	if err != nil {
		return err
	}
	_, err = e.act(ctx, tenant, keep, "decide", func(ctx context.Context, tx store.Tx, s oxbow.ScopeSettings, run oxbow.Run, m oxbow.Memory) error {
		o, err := tx.Memory(ctx, tenant, other.ID)
		switch {
		case err != nil:
			return err
		case o.Scope != m.Scope || o.ID == m.ID:
			return oxbow.Errorf(oxbow.CodeInvalid, "only two memories of one scope can be weighed against each other")
		case m.Status != oxbow.Active || o.Status != oxbow.Active:
			return oxbow.Errorf(oxbow.CodeConflict, "one of the two is not active any more: look at them again")
		case o.Pinned:
			return oxbow.Errorf(oxbow.CodeConflict, "the memory %s is pinned: unpin it first", o.ID)
		}
		v := oxbow.NewVerdict(m, o, oxbow.Rejected)
		if v.Newer == m.ID {
			v.Relation = oxbow.Replaces
		}
		v.Judge, v.Run, v.At = oxbow.Operator, run.ID, run.StartedAt
		if err := tx.PutVerdicts(ctx, m.Scope, []oxbow.Verdict{v}); err != nil {
			return err
		}
		g, err := jobs.Group(ctx, tx, s, nil, []string{m.ID, o.ID}, jobs.Judged{})
		if err != nil {
			return err
		}
		changes := oxbow.Settle(g)
		i := slices.IndexFunc(changes, func(c oxbow.Change) bool { return c.Memory == o.ID && c.Type == oxbow.SupersededBy })
		if i < 0 {
			return oxbow.Errorf(oxbow.CodeConflict, "the memory %s stays for another reason; oxbow memory why tells it", o.ID)
		}
		changes[i].Reason = "an operator kept the other one"
		return e.apply(ctx, tx, run, changes...)
	})
	return err
}
