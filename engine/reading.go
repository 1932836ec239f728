package engine

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// Reading says what became of turns that were ingested.
type Reading struct {
	Turns    map[oxbow.TurnState]int `json:"turns"`
	Memories int                     `json:"memories"`     // made from them
	Nothing  map[string]int          `json:"nothing_kept"` // turns of which nothing was kept, by reason
	Events   map[string]int          `json:"events"`       // what their memories did, by type
	Judges   []string                `json:"judges"`       // who read them
	Redacted int                     `json:"redacted"`     // secret-shaped strings taken out
}

// readingPage is how many turns or runs are looked at in one query.
const readingPage = 1000

// Reading tells what became of the turns of a scope, of those that ids names,
// all of them said at or after since. What still waits is counted as waiting.
func (e *Engine) Reading(ctx context.Context, s oxbow.Scope, ids map[string]bool, since time.Time) (Reading, error) {
	out := Reading{Turns: map[oxbow.TurnState]int{}, Nothing: map[string]int{}, Events: map[string]int{}, Judges: []string{}}
	runs := map[string]bool{}
	filter := store.TurnFilter{Tenant: s.Tenant, Scope: s.Name, Since: since, Limit: readingPage}
	for {
		turns, err := e.st.ListTurns(ctx, filter)
		if err != nil {
			return out, err
		}
		for _, t := range turns {
			filter.AfterID = t.ID
			if ids[t.ID] {
				out.add(t)
				if t.Run != "" {
					runs[t.Run] = true
				}
			}
		}
		if len(turns) < readingPage {
			return out, e.countEvents(ctx, s.Tenant, runs, out.Events)
		}
	}
}

func (r *Reading) add(t oxbow.Turn) {
	r.Turns[t.State]++
	r.Memories += t.Memories
	r.Redacted += t.Redacted
	if t.State == oxbow.TurnExtracted && t.Memories == 0 {
		r.Nothing[t.Reason]++
	}
	if t.Judge != "" && !slices.Contains(r.Judges, t.Judge) {
		r.Judges = append(r.Judges, t.Judge)
	}
}

// countEvents adds up what runs of a tenant did.
func (e *Engine) countEvents(ctx context.Context, tenant string, runs map[string]bool, into map[string]int) error {
	for ids := range slices.Chunk(slices.Collect(maps.Keys(runs)), readingPage) {
		by, err := e.st.CountRunEvents(ctx, tenant, ids)
		if err != nil {
			return err
		}
		for _, counts := range by {
			for t, n := range counts {
				into[t] += n
			}
		}
	}
	return nil
}

// Merge adds another reading, of another scope.
func (r *Reading) Merge(o Reading) {
	for k, n := range o.Turns {
		r.Turns[k] += n
	}
	for k, n := range o.Nothing {
		r.Nothing[k] += n
	}
	for k, n := range o.Events {
		r.Events[k] += n
	}
	r.Memories += o.Memories
	r.Redacted += o.Redacted
	for _, j := range o.Judges {
		if !slices.Contains(r.Judges, j) {
			r.Judges = append(r.Judges, j)
		}
	}
}
