package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/store"
)

// Conflict is two active memories of a scope that cannot both be right, and of
// which nothing but a person may say which one is.
type Conflict struct {
	Older View `json:"older"` // what was said first
	Newer View `json:"newer"`
}

// Name stands for a conflict among others: both ids, the newer one's first.
func (c Conflict) Name() string { return c.Newer.ID + "." + c.Older.ID }

// ConflictNamed gives the edge of a conflict by its name, whether or not it was
// decided meanwhile: not_found when one of its memories is not there.
func (e *Engine) ConflictNamed(ctx context.Context, tenant, name string) (oxbow.Link, error) {
	newer, older, _ := strings.Cut(name, ".")
	two, err := e.st.Memories(ctx, tenant, []string{newer, older})
	if err == nil && len(two) < 2 {
		err = oxbow.Errorf(oxbow.CodeNotFound, "there is no conflict %q: oxbow memory conflicts lists those there are", name)
	}
	return oxbow.Link{From: newer, To: older, Type: oxbow.ConflictsWith}, err
}

// Conflicts lists what waits for a decision (Decide), the newest first.
func (e *Engine) Conflicts(ctx context.Context, f store.ConflictFilter) ([]Conflict, error) {
	links, err := e.st.Conflicts(ctx, f)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, l := range links {
		ids = append(ids, l.From, l.To)
	}
	ms, err := e.st.Memories(ctx, f.Tenant, ids)
	if err != nil {
		return nil, err
	}
	views, err := e.Views(ctx, ms)
	if err != nil {
		return nil, err
	}
	byID := make(map[string]View, len(views))
	for _, v := range views {
		byID[v.ID] = v
	}
	out := make([]Conflict, len(links))
	for i, l := range links {
		out[i] = Conflict{Older: byID[l.To], Newer: byID[l.From]}
	}
	return out, nil
}

// Ruling is what a person says of a memory that conflicts with another one: that
// it holds over the other one, which is set aside, or beside it. Just one is given.
type Ruling struct{ Over, Beside string }

// Decide decides a conflict. The operator's word is kept as a verdict, so no judge
// undoes it. Errors: invalid when the ruling names no memory or two, or one of
// another scope; conflict when one of the two is not active, the one to be set
// aside is pinned, or those that are both to hold do not conflict.
func (e *Engine) Decide(ctx context.Context, tenant, id string, r Ruling) (Written, error) {
	switch {
	case (r.Over == "") == (r.Beside == ""):
		return Written{}, oxbow.Errorf(oxbow.CodeInvalid, "name the other memory once: over it, which sets it aside, or beside it, which keeps both")
	case r.Over != "":
		return e.decide(ctx, tenant, id, r.Over, keepOver, setAside)
	}
	return e.decide(ctx, tenant, id, r.Beside, keepBoth, freed)
}

func keepOver(m, o oxbow.Memory) (oxbow.Relation, error) {
	switch {
	case o.Pinned:
		return "", oxbow.Errorf(oxbow.CodeConflict, "the memory %s is pinned: unpin it first", o.ID)
	case o.Before(m):
		return oxbow.Replaces, nil
	}
	return oxbow.Rejected, nil
}

// setAside says why o is retired, which it has to be.
func setAside(_, o oxbow.Memory, changes []oxbow.Change) error {
	i := slices.IndexFunc(changes, func(c oxbow.Change) bool { return c.Memory == o.ID && c.Type == oxbow.SupersededBy })
	if i < 0 {
		return oxbow.Errorf(oxbow.CodeConflict, "the memory %s stays for another reason, which its history tells (oxbow memory why)", o.ID)
	}
	changes[i].Reason = "an operator kept the other one"
	return nil
}

func keepBoth(_, _ oxbow.Memory) (oxbow.Relation, error) { return oxbow.Both, nil }

// freed says why two memories conflict no more, which they have to have done.
func freed(m, o oxbow.Memory, changes []oxbow.Change) error {
	between := func(l oxbow.Link) bool {
		return l.Type == oxbow.ConflictsWith && (l.From == m.ID && l.To == o.ID || l.From == o.ID && l.To == m.ID)
	}
	i := slices.IndexFunc(changes, func(c oxbow.Change) bool { return slices.ContainsFunc(c.Unlinks, between) })
	if i < 0 {
		return oxbow.Errorf(oxbow.CodeConflict, "the memories %s and %s do not conflict: there is nothing to decide", m.ID, o.ID)
	}
	changes[i].Reason = "an operator says that both hold"
	return nil
}

// decide puts an operator's word about two memories down as a verdict, and
// settles what follows from it, which check looks at first.
func (e *Engine) decide(ctx context.Context, tenant, id, about string, word func(m, o oxbow.Memory) (oxbow.Relation, error),
	check func(m, o oxbow.Memory, changes []oxbow.Change) error) (Written, error) {
	kept, err := e.Memory(ctx, tenant, id)
	if err != nil {
		return Written{}, err
	}
	other, err := e.Memory(ctx, tenant, about)
	if err != nil {
		return Written{}, err
	}
	return e.act(ctx, tenant, kept.ID, "decide", func(ctx context.Context, tx store.Tx, s oxbow.ScopeSettings, run oxbow.Run, m oxbow.Memory) error {
		o, err := tx.Memory(ctx, tenant, other.ID)
		switch {
		case err != nil:
			return err
		case o.Scope != m.Scope || o.ID == m.ID:
			return oxbow.Errorf(oxbow.CodeInvalid, "only two memories of one scope can be weighed against each other")
		case m.Status != oxbow.Active || o.Status != oxbow.Active:
			return oxbow.Errorf(oxbow.CodeConflict, "one of the two is not active any more: look at them again")
		}
		relation, err := word(m, o)
		if err != nil {
			return err
		}
		v := oxbow.NewVerdict(m, o, relation)
		v.Judge, v.Run, v.At = oxbow.Operator, run.ID, run.StartedAt
		if err := tx.PutVerdicts(ctx, m.Scope, []oxbow.Verdict{v}); err != nil {
			return err
		}
		g, err := jobs.Group(ctx, tx, s, nil, []string{m.ID, o.ID}, jobs.Judged{})
		if err != nil {
			return err
		}
		changes := oxbow.Settle(g)
		if err := check(m, o, changes); err != nil {
			return err
		}
		return e.apply(ctx, tx, run, changes...)
	})
}
