package engine

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/store"
)

// Restoration says how a memory is brought back.
type Restoration struct {
	// Replace sets aside what holds its place now. Without it, an occupied
	// address is a conflict, and what had superseded it conflicts with it.
	Replace bool
	// ExpiresAt is the new date, which a memory past its date needs.
	ExpiresAt time.Time
	// LastDay gives the new date as a day, such as 2027-03-31, of the scope's zone.
	LastDay string
}

// Restore makes a memory active again and starts its idle clock anew. The
// operator's word is kept as a verdict, so no judge undoes it.
func (e *Engine) Restore(ctx context.Context, tenant, id string, r Restoration) (Written, error) {
	return e.act(ctx, tenant, id, "restore", func(ctx context.Context, tx store.Tx, s oxbow.ScopeSettings, run oxbow.Run, m oxbow.Memory) error {
		if r.LastDay != "" {
			day, err := time.ParseInLocation(time.DateOnly, r.LastDay, s.Location())
			if err != nil {
				return oxbow.Errorf(oxbow.CodeInvalid, "%q is no date: write it as 2027-03-31", r.LastDay)
			}
			r.ExpiresAt = day.AddDate(0, 0, 1)
		}
		switch {
		case m.Status == oxbow.Active:
			return nil
		case m.Status == oxbow.Erased:
			return oxbow.Errorf(oxbow.CodeConflict, "the memory %s was erased; nothing of it is left", m.ID)
		case !m.ExpiresAt.IsZero() && !m.ExpiresAt.After(run.About) && r.ExpiresAt.IsZero():
			return oxbow.Errorf(oxbow.CodeConflict, "the memory %s ended by itself: give a new last day (--expires on the command line)", m.ID)
		case !r.ExpiresAt.IsZero() && !r.ExpiresAt.After(run.About):
			return oxbow.Errorf(oxbow.CodeInvalid, "the new date has passed already: give a later one")
		}
		if !r.Replace {
			if err := free(ctx, tx, m, ", or restore this one in its place (--replace on the command line)"); err != nil {
				return err
			}
		}
		if err := e.overrule(ctx, tx, run, m, r.Replace); err != nil {
			return err
		}
		changes, err := raise(ctx, tx, s, run, m, r)
		if err != nil {
			return err
		}
		if err := e.apply(ctx, tx, run, changes...); err != nil {
			return err
		}
		return tx.Enqueue(ctx, e.rejudged(run, m))
	})
}

// rejudged gives the jobs of what was restored. What nobody judged before has all
// of them. What time had put away is compared with what was said meanwhile. What
// a judge had retired is not: it must not undo the operator's word at once. Each
// gets a vector, which it may never have had.
func (e *Engine) rejudged(run oxbow.Run, m oxbow.Memory) []river.InsertManyParams {
	was := m.Status
	m.Status = oxbow.Active
	switch was {
	case oxbow.Quarantined:
		return e.deps.FollowUps(about(run), []oxbow.Memory{m})
	case oxbow.Archived, oxbow.Expired:
		return append(jobs.Comparison(about(run), m), e.deps.Embedding(about(run), []oxbow.Memory{m})...)
	}
	return e.deps.Embedding(about(run), []oxbow.Memory{m})
}

// overrule turns the verdicts that had retired m into the operator's.
func (e *Engine) overrule(ctx context.Context, tx store.Tx, run oxbow.Run, m oxbow.Memory, replace bool) error {
	had, err := tx.Verdicts(ctx, m.Scope.Tenant, []string{m.ID})
	if err != nil {
		return err
	}
	var vs []oxbow.Verdict
	decide := func(v oxbow.Verdict, r oxbow.Relation) {
		v.Relation, v.Judge, v.Run, v.At = r, oxbow.Operator, run.ID, run.StartedAt
		vs = append(vs, v)
	}
	for _, v := range had {
		switch {
		case v.Older == m.ID && (v.Relation == oxbow.Contradicts || v.Relation == oxbow.Replaces):
			decide(v, kept(replace))
		case v.Relation == oxbow.Equal:
			decide(v, oxbow.ConfirmsIt)
		case v.Newer == m.ID && v.Relation == oxbow.Rejected:
			decide(v, oxbow.Replaces)
		}
	}
	if m.IsFact() {
		same, err := tx.FactHistory(ctx, m.Scope, m.Slot, m.Key)
		if err != nil {
			return err
		}
		for _, o := range same {
			switch {
			case o.ID == m.ID:
			case m.Before(o):
				decide(oxbow.NewVerdict(m, o, ""), oxbow.Rejected)
			default:
				decide(oxbow.NewVerdict(m, o, ""), oxbow.Replaces)
			}
		}
	}
	return tx.PutVerdicts(ctx, m.Scope, vs)
}

func kept(replace bool) oxbow.Relation {
	if replace {
		return oxbow.Rejected
	}
	return oxbow.Unsure
}

// raise settles the group as if m could be active, and refuses when it cannot.
func raise(ctx context.Context, tx store.Tx, s oxbow.ScopeSettings, run oxbow.Run, m oxbow.Memory, r Restoration) ([]oxbow.Change, error) {
	g, err := jobs.Group(ctx, tx, s, nil, []string{m.ID}, jobs.Judged{})
	if err != nil {
		return nil, err
	}
	for i := range g.Members {
		if g.Members[i].ID == m.ID {
			g.Members[i].Status, g.Members[i].ReplacedBy = oxbow.Superseded, ""
		}
	}
	changes := oxbow.Settle(g)
	for i, c := range changes {
		if c.Memory != m.ID || c.Type != oxbow.Restored {
			continue
		}
		changes[i].Reason = "an operator restored it"
		changes[i].Set.TouchedAt = &oxbow.Instant{Time: run.About}
		if !r.ExpiresAt.IsZero() {
			changes[i].Set.ExpiresAt = &oxbow.Instant{Time: r.ExpiresAt}
		}
		return changes, nil
	}
	return nil, oxbow.Errorf(oxbow.CodeConflict, "the memory %s is still replaced by %s: restore it in its place (--replace on the command line), or unpin that one first", m.ID, m.ReplacedBy)
}
