package jobs

import (
	"context"
	"slices"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// maxGroup bounds the group that is settled together. Limit: in a larger one
// the members farthest from the new statement are left as they stand.
const maxGroup = 1000

// Judged are fresh verdicts about one memory. What a judge said before of the
// pairs that were looked at no longer counts; an operator's word does, and so
// does what another job found meanwhile about a pair that this one did not see.
type Judged struct {
	Memory   string
	Verdicts []oxbow.Verdict
	Seen     map[string]int // the content version of each memory it was judged against
	Unread   int            // how many it was not compared with, because the judge refuses their words or its own
	Refused  int            // what the gate refused
}

// replaces tells whether a stored verdict gives way.
func (j Judged) replaces(v oxbow.Verdict) bool {
	if j.Memory == "" || v.Judge == oxbow.Operator {
		return false
	}
	_, seen := j.Seen[j.other(v)]
	return seen
}

// other gives the memory that a verdict compares the judged one with, "" for a
// verdict about others.
func (j Judged) other(v oxbow.Verdict) string {
	switch j.Memory {
	case v.Older:
		return v.Newer
	case v.Newer:
		return v.Older
	}
	return ""
}

// Group gathers everything that verdicts and addresses connect to the seeds and
// to new memories that are not stored yet. judged, which may be empty, is taken
// into account as if it were stored.
func Group(ctx context.Context, r store.Reader, s oxbow.ScopeSettings, fresh []oxbow.Memory, seeds []string, judged Judged) (oxbow.Group, error) {
	g := oxbow.Group{Zone: s.Location()}
	w := walk{r: r, s: s, known: map[string]bool{}, addresses: map[[2]string]bool{}}
	for _, m := range fresh {
		w.known[m.ID] = true
		g.Members = append(g.Members, m)
		if err := w.address(ctx, m); err != nil {
			return g, err
		}
	}
	w.add(seeds...)
	for _, v := range judged.Verdicts {
		w.add(v.Older, v.Newer)
	}
	for len(w.frontier) > 0 && len(g.Members) < maxGroup {
		ids := w.frontier
		w.frontier = nil
		ms, err := r.Memories(ctx, s.Tenant, ids)
		if err != nil {
			return g, err
		}
		g.Members = append(g.Members, ms...)
		if err := w.follow(ctx, ids, ms); err != nil {
			return g, err
		}
	}
	g.Verdicts = replaceVerdicts(w.verdicts, judged)
	ids := idsOf(g.Members)
	links, err := r.Links(ctx, s.Tenant, ids)
	g.Links = links
	if err != nil || !slices.ContainsFunc(g.Verdicts, mayConfirm) && len(w.addresses) == 0 {
		return g, err
	}
	g.Shown, err = r.Shown(ctx, s.Tenant, ids)
	return g, err
}

// mayConfirm tells whether a verdict may raise a confidence, so that it matters
// what was shown to whom.
func mayConfirm(v oxbow.Verdict) bool {
	return v.Relation == oxbow.ConfirmsIt || v.Relation == oxbow.Equal
}

// replaceVerdicts gives the stored verdicts, each once, with those about a
// memory that was judged anew in the place of what judges said of it before.
func replaceVerdicts(stored []oxbow.Verdict, judged Judged) []oxbow.Verdict {
	type pair struct{ older, newer string }
	have := map[pair]bool{}
	var out []oxbow.Verdict
	for _, v := range stored {
		if judged.replaces(v) || have[pair{v.Older, v.Newer}] {
			continue
		}
		have[pair{v.Older, v.Newer}] = true
		out = append(out, v)
	}
	for _, v := range judged.Verdicts {
		if !have[pair{v.Older, v.Newer}] {
			have[pair{v.Older, v.Newer}] = true
			out = append(out, v)
		}
	}
	return out
}

type walk struct {
	r         store.Reader
	s         oxbow.ScopeSettings
	known     map[string]bool
	addresses map[[2]string]bool
	frontier  []string
	verdicts  []oxbow.Verdict
}

func (w *walk) add(ids ...string) {
	for _, id := range ids {
		if !w.known[id] {
			w.known[id] = true
			w.frontier = append(w.frontier, id)
		}
	}
}

// follow finds the neighbours of the members just read.
func (w *walk) follow(ctx context.Context, ids []string, ms []oxbow.Memory) error {
	vs, err := w.r.Verdicts(ctx, w.s.Tenant, ids)
	if err != nil {
		return err
	}
	w.verdicts = append(w.verdicts, vs...)
	for _, v := range vs {
		w.add(v.Older, v.Newer)
	}
	for _, m := range ms {
		if err := w.address(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) address(ctx context.Context, m oxbow.Memory) error {
	at := [2]string{m.Slot, m.Key}
	if !m.IsFact() || w.addresses[at] {
		return nil
	}
	w.addresses[at] = true
	same, err := w.r.FactHistory(ctx, m.Scope, m.Slot, m.Key)
	if err != nil {
		return err
	}
	for _, o := range same {
		w.add(o.ID)
	}
	return nil
}

// settled works out the changes that bring a group to where its statements lead.
func settled(ctx context.Context, r store.Reader, s oxbow.ScopeSettings, fresh []oxbow.Memory, seeds []string, judged Judged) ([]oxbow.Change, error) {
	g, err := Group(ctx, r, s, fresh, seeds, judged)
	if err != nil {
		return nil, err
	}
	return oxbow.Settle(g), nil
}

// sign says in whose name changes are made. That words are equal is found by
// code, so no judge stands for a compression that is not a merge.
func sign(changes []oxbow.Change, actor, judge string) []oxbow.Change {
	for i := range changes {
		changes[i].Actor = actor
		changes[i].Judge = judge
		if changes[i].Type == oxbow.CompressedTo && !isMerge(changes[i]) {
			changes[i].Judge = ""
		}
	}
	return changes
}

func isMerge(c oxbow.Change) bool {
	return len(c.Links) > 0 && c.Links[0].Type == oxbow.DerivedFrom
}

// retires counts the memories that changes take out of the active ones.
func retires(changes []oxbow.Change) int {
	n := 0
	for _, c := range changes {
		if c.Type == oxbow.SupersededBy {
			n++
		}
	}
	return n
}

// Put stores new memories in a locked scope, facts with what they do to their
// address, and gives the events and the jobs that follow. The same call serves
// extraction and direct writes.
func Put(ctx context.Context, tx store.Tx, b store.Batch, s oxbow.ScopeSettings, ms []oxbow.Memory, actor, judge string) (store.Applied, error) {
	var all store.Applied
	for _, m := range ms {
		var changes []oxbow.Change
		var err error
		if m.IsFact() && m.Status == oxbow.Active {
			changes, err = settled(ctx, tx, s, []oxbow.Memory{m}, nil, Judged{})
		} else {
			changes = []oxbow.Change{{Type: oxbow.Created, Memory: m.ID, New: &m}}
		}
		if err != nil {
			return all, err
		}
		for i := range changes {
			if changes[i].New != nil && changes[i].Reason == "" {
				changes[i].Reason = entering(*changes[i].New)
			}
		}
		for i := range sign(changes, actor, judge) {
			if changes[i].Type != oxbow.Created {
				changes[i].Judge = "" // an address needs no judge
			}
		}
		done, err := tx.Apply(ctx, b, changes)
		if err != nil {
			return all, err
		}
		all.Events = append(all.Events, done.Events...)
	}
	return all, nil
}

// entering says why a new memory is stored as it is.
func entering(m oxbow.Memory) string {
	switch {
	case m.Status == oxbow.Quarantined:
	case m.IsNote():
		return "it was observed in its conversation"
	default:
		return "it was said"
	}
	why := Instruction(screened(m), m.Source)
	if why == "" {
		why = "it rests on an order to the agent"
	}
	return "quarantined, for no user said it and " + why
}

// latest gives the later of two instants.
func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// unite gives the sorted union of tags.
func unite(tags ...[]string) []string {
	all := slices.Concat(tags...)
	slices.Sort(all)
	return slices.Compact(all)
}
