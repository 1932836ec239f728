package engine

import (
	"context"
	"maps"
	"slices"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/trace"
	"github.com/oxbow-memory/oxbow/store"
)

// Erasure says what an erasure took away, counted after the fact.
type Erasure struct {
	Memories []string `json:"memories"` // tombstones now
	Turns    []string `json:"turns"`    // whose text is gone
	Restored []string `json:"restored"` // sources that came back when a merge that held the words was erased
	Run      string   `json:"run"`
	// Note says what is left to do, where the words may stand in the database's
	// files until the owner of its tables rewrites them.
	Note string `json:"note,omitempty"`
}

// EraseMemory takes a memory's words away for good: its content in every
// version, its terms, the turn that it was said in with the observations that rest
// on it, its equal restatements, and every memory that was merged from it; the
// other sources of such a merge come back. Tombstones, links and events stay, without the words. Erasing twice is
// harmless. Limit: copies of the database made before are not reached.
func (e *Engine) EraseMemory(ctx context.Context, tenant, id string) (Erasure, error) {
	m, err := e.Memory(ctx, tenant, id)
	if err != nil {
		return Erasure{}, err
	}
	return e.erase(ctx, m.Scope, []string{m.ID}, "")
}

// EraseTurn takes a turn's text away, and every memory that was made from it as
// EraseMemory does.
func (e *Engine) EraseTurn(ctx context.Context, tenant, id string) (Erasure, error) {
	id, err := e.st.Resolve(ctx, tenant, "turn", id)
	if err != nil {
		return Erasure{}, err
	}
	t, err := e.st.Turn(ctx, tenant, id)
	if err != nil {
		return Erasure{}, err
	}
	return e.erase(ctx, t.Scope, nil, t.ID)
}

func (e *Engine) erase(ctx context.Context, scope oxbow.Scope, ids []string, turn string) (done Erasure, err error) {
	ctx, span := trace.Memory(ctx, trace.DeleteMemory)
	defer func() {
		span.Records(len(done.Memories))
		span.Run(done.Run)
		span.End(err)
	}()
	run := e.newRun(scope, "erase", "operator")
	err = e.st.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
		done = Erasure{Memories: []string{}, Turns: []string{}, Restored: []string{}, Run: run.ID}
		if _, err := tx.LockScope(ctx, scope, e.now()); err != nil {
			return err
		}
		if err := tx.PutRun(ctx, run); err != nil {
			return err
		}
		c, err := closeOver(ctx, tx, scope, ids, turn)
		if err != nil {
			return err
		}
		if err := e.tombstone(ctx, tx, run, c, &done); err != nil {
			return err
		}
		for _, t := range c.turns {
			if err := tx.EraseTurn(ctx, scope, t); err != nil {
				return err
			}
		}
		done.Turns = append(done.Turns, c.turns...)
		return e.bringBack(ctx, tx, run, c, &done)
	})
	if err != nil {
		return Erasure{}, err
	}
	err = e.st.Vacuum(ctx)
	if oxbow.CodeOf(err) == oxbow.CodeUnsupported { // it is done, but for what is not this user's to do
		done.Note, err = err.Error(), nil
	}
	return done, err
}

// closure is everything that holds the words that are to go.
type closure struct {
	memories []oxbow.Memory
	turns    []string
	orphans  []string // sources of erased merges that are not erased themselves
}

// closeOver follows turns, merges and equal restatements until nothing is added.
// What was observed of a turn goes with it, and takes no further turn along: of one
// conversation all would go.
func closeOver(ctx context.Context, tx store.Tx, scope oxbow.Scope, ids []string, turn string) (closure, error) {
	var c closure
	seen, turns := map[string]bool{}, map[string]bool{}
	sources := map[string]bool{}
	frontier := ids
	rests, err := tx.EvidenceOf(ctx, scope.Tenant, ids)
	if err != nil {
		return c, err
	}
	for _, e := range rests {
		turns[e.Turn] = true
	}
	if turn != "" {
		turns[turn] = true
		if frontier, err = madeOf(ctx, tx, scope, turn); err != nil {
			return c, err
		}
	}
	followed := map[string]bool{turn: true}
	for len(frontier) > 0 {
		ms, err := tx.Memories(ctx, scope.Tenant, frontier)
		if err != nil {
			return c, err
		}
		for _, m := range ms {
			seen[m.ID] = true
			c.memories = append(c.memories, m)
			if m.Turn != "" && (!m.IsNote() || slices.Contains(ids, m.ID)) {
				turns[m.Turn] = true
			}
		}
		next, from, err := holders(ctx, tx, scope.Tenant, ms)
		if err != nil {
			return c, err
		}
		for _, s := range from {
			sources[s] = true
		}
		for t := range turns {
			if followed[t] {
				continue
			}
			followed[t] = true
			notes, err := madeOf(ctx, tx, scope, t, oxbow.Observation)
			if err != nil {
				return c, err
			}
			next = append(next, notes...)
		}
		frontier = slices.DeleteFunc(store.Sorted(next), func(id string) bool { return seen[id] })
	}
	for id := range sources {
		if !seen[id] {
			c.orphans = append(c.orphans, id)
		}
	}
	c.orphans, c.turns = store.Sorted(c.orphans), slices.Sorted(maps.Keys(turns))
	return c, nil
}

// madeOf gives the memories of some kinds, or of all, that were made of a turn or
// rest on it.
func madeOf(ctx context.Context, r store.MemoryReader, s oxbow.Scope, turn string, kinds ...oxbow.Kind) ([]string, error) {
	ms, err := r.ListMemories(ctx, store.MemoryFilter{Tenant: s.Tenant, Turn: turn, Kinds: kinds, Limit: 1000})
	return store.IDsOf(ms), err
}

// holders gives the memories that hold the same words as ms: merges of them and
// equal restatements; and the sources of the merges among ms.
func holders(ctx context.Context, tx store.Tx, tenant string, ms []oxbow.Memory) (same, sources []string, err error) {
	ids := make([]string, len(ms))
	mine := map[string]bool{}
	for i, m := range ms {
		ids[i] = m.ID
		mine[m.ID] = true
	}
	links, err := tx.Links(ctx, tenant, ids)
	if err != nil {
		return nil, nil, err
	}
	for _, l := range links {
		switch {
		case l.Type == oxbow.DerivedFrom && mine[l.To]:
			same = append(same, l.From)
		case l.Type == oxbow.DerivedFrom && mine[l.From]:
			sources = append(sources, l.To)
		}
	}
	vs, err := tx.Verdicts(ctx, tenant, ids)
	if err != nil {
		return nil, nil, err
	}
	for _, v := range vs {
		if v.Relation == oxbow.Equal {
			same = append(same, v.Older, v.Newer)
		}
	}
	facts, err := equalFacts(ctx, tx, ms)
	return append(same, facts...), sources, err
}

// equalFacts gives the facts with the values of ms at the addresses of ms: no
// verdict says that they are equal.
func equalFacts(ctx context.Context, tx store.Tx, ms []oxbow.Memory) ([]string, error) {
	var out []string
	for _, m := range ms {
		if !m.IsFact() || m.Status == oxbow.Erased {
			continue
		}
		held, err := tx.FactHistory(ctx, m.Scope, m.Slot, m.Key)
		if err != nil {
			return nil, err
		}
		for _, o := range held {
			if oxbow.SameText(o.Content.Text, m.Content.Text) {
				out = append(out, o.ID)
			}
		}
	}
	return out, nil
}

func (e *Engine) tombstone(ctx context.Context, tx store.Tx, run oxbow.Run, c closure, done *Erasure) error {
	for _, m := range c.memories {
		if m.Status == oxbow.Erased {
			continue
		}
		if err := e.apply(ctx, tx, run, oxbow.Change{Type: oxbow.ErasedEvent, Memory: m.ID, Reason: "an operator erased it"}); err != nil {
			return err
		}
		done.Memories = append(done.Memories, m.ID)
	}
	return tx.Erase(ctx, run.Scope, done.Memories)
}

// bringBack restores the sources that only an erased merge had replaced.
func (e *Engine) bringBack(ctx context.Context, tx store.Tx, run oxbow.Run, c closure, done *Erasure) error {
	ms, err := tx.Memories(ctx, run.Scope.Tenant, c.orphans)
	if err != nil {
		return err
	}
	gone := map[string]bool{}
	for _, id := range done.Memories {
		gone[id] = true
	}
	for _, m := range ms {
		if m.Status != oxbow.Compressed || !gone[m.ReplacedBy] {
			continue
		}
		c := oxbow.Change{Type: oxbow.Restored, Memory: m.ID, Reason: "the memory it was merged into was erased"}
		c.Set.TouchedAt = &oxbow.Instant{Time: run.About}
		if err := e.apply(ctx, tx, run, c); err != nil {
			return err
		}
		done.Restored = append(done.Restored, m.ID)
	}
	return nil
}
