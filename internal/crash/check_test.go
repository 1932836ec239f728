package crash

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/llm/offline"
	"github.com/oxbow-memory/oxbow/store"
)

const tenant = "default"

// everything is a database read whole.
type everything struct {
	memories []oxbow.Memory
	byID     map[string]oxbow.Memory
	links    []oxbow.Link
	turns    []oxbow.Turn
	runs     []oxbow.Run
	events   []oxbow.Event
}

func readAll(t *testing.T, st store.Store) everything {
	t.Helper()
	ctx := t.Context()
	all := everything{byID: map[string]oxbow.Memory{}}
	scopes, err := st.ListScopes(ctx, tenant)
	must(t, err)
	seen := map[oxbow.Link]bool{}
	for _, s := range scopes {
		for after := ""; ; {
			ms, err := st.AllMemories(ctx, s.Scope, after, 500)
			must(t, err)
			ids := make([]string, len(ms))
			for i, m := range ms {
				all.byID[m.ID], ids[i], after = m, m.ID, m.ID
			}
			all.memories = append(all.memories, ms...)
			ls, err := st.Links(ctx, tenant, ids)
			must(t, err)
			for _, l := range ls {
				if !seen[l] {
					seen[l] = true
					all.links = append(all.links, l)
				}
			}
			if len(ms) < 500 {
				break
			}
		}
		for after := ""; ; {
			ts, err := st.ListTurns(ctx, store.TurnFilter{Tenant: tenant, Scope: s.Name, AfterID: after, Limit: 500})
			must(t, err)
			all.turns = append(all.turns, ts...)
			if len(ts) < 500 {
				break
			}
			after = ts[len(ts)-1].ID
		}
	}
	all.runs, err = st.ListRuns(ctx, store.RunFilter{Tenant: tenant, Limit: 100_000})
	must(t, err)
	for seq := int64(0); ; {
		es, err := st.Events(ctx, store.EventFilter{Tenant: tenant, AfterSeq: seq, Limit: 1000})
		must(t, err)
		all.events = append(all.events, es...)
		if len(es) < 1000 {
			return all
		}
		seq = es[len(es)-1].Seq
	}
}

// state says what is known, a line a thing, by content and without anything
// that tells how it came about.
func (all everything) state() []string {
	var out []string
	name := func(id string) string {
		if id == "" {
			return "nothing"
		}
		m := all.byID[id]
		return fmt.Sprintf("%q (%s, %s)", m.Content.Text, m.Scope.Name, m.SaidAt.Format("2006-01-02T15:04:05"))
	}
	for _, m := range all.memories {
		out = append(out, fmt.Sprintf("%s is %s by %s; %s %s/%s rated %v %.2f, confirmed %d until %s, importance %.2f, ends %s, review %s",
			name(m.ID), m.Status, name(m.ReplacedBy), m.Kind, m.Slot, m.Key, m.Rated, m.Rating, m.Confirmations,
			m.ConfirmedAt.Format("2006-01-02"), m.Importance, m.ExpiresAt.Format("2006-01-02T15"), m.ReviewAt.Format("2006-01-02T15")))
	}
	for _, l := range all.links {
		out = append(out, fmt.Sprintf("%s %s %s", name(l.From), l.Type, name(l.To)))
	}
	for _, t := range all.turns {
		out = append(out, fmt.Sprintf("turn %s is %s with %d memories: %s", t.ID, t.State, t.Memories, t.Reason))
	}
	slices.Sort(out)
	return out
}

// sameState fails with the first lines that only one of two states has.
func sameState(t *testing.T, want, got []string) {
	t.Helper()
	in := func(lines []string) map[string]bool {
		m := map[string]bool{}
		for _, l := range lines {
			m[l] = true
		}
		return m
	}
	differ := func(what string, lines []string, other map[string]bool) {
		n := 0
		for _, l := range lines {
			if !other[l] {
				if n++; n <= 8 {
					t.Errorf("%s: %s", what, l)
				}
			}
		}
		if n > 8 {
			t.Errorf("%s: %d more", what, n-8)
		}
	}
	differ("only when undisturbed", want, in(got))
	differ("only when disturbed", got, in(want))
}

// lost names what should have happened and did not.
func (all everything) lost(t *testing.T, st store.Store, turns int, asked ...string) []string {
	t.Helper()
	var out []string
	if len(all.turns) != turns {
		out = append(out, fmt.Sprintf("%d turns are stored and %d were ingested", len(all.turns), turns))
	}
	for _, turn := range all.turns {
		if turn.State != oxbow.TurnExtracted {
			out = append(out, fmt.Sprintf("the turn %s is %s", turn.ID, turn.State))
		}
	}
	var keys []string
	for _, m := range all.memories {
		if m.Derived {
			continue
		}
		if !m.Rated && m.Status != oxbow.Quarantined {
			out = append(out, "nobody rated "+m.ID)
		}
		for _, kind := range asked {
			keys = append(keys, kind+":"+m.ID+":1:")
		}
	}
	for _, k := range unclaimed(t, st, keys) {
		out = append(out, "no effect of "+k)
	}
	_, bare, err := st.CountVectors(t.Context(), oxbow.Scope{Tenant: tenant}, offline.NewEmbedder().ID())
	must(t, err)
	if bare > 0 {
		out = append(out, fmt.Sprintf("%d memories have no vector", bare))
	}
	gone, err := st.ListDiscarded(t.Context(), tenant, 100)
	must(t, err)
	for _, d := range gone {
		out = append(out, "a job was given up: "+d.Kind+": "+d.Error)
	}
	left, err := st.PendingJobs(t.Context(), "", "")
	must(t, err)
	if left > 0 {
		out = append(out, fmt.Sprintf("%d jobs are left", left))
	}
	return out
}

// errLook ends a transaction that only looked.
var errLook = errors.New("only looked")

// unclaimed gives the ledger keys that no effect has written.
func unclaimed(t *testing.T, st store.Store, keys []string) []string {
	t.Helper()
	var out []string
	err := st.InTx(t.Context(), func(ctx context.Context, tx store.Tx) error {
		out = nil
		for _, k := range keys {
			first, err := tx.Claim(ctx, k, "look", Ends)
			if err != nil {
				return err
			}
			if first {
				out = append(out, k)
			}
		}
		// A claim may be taken for new until the transaction reads; then it is
		// run again.
		if _, err := tx.PendingJobs(ctx, "", ""); err != nil {
			return err
		}
		return errLook
	})
	if !errors.Is(err, errLook) {
		t.Fatal(err)
	}
	return out
}

// doubled names what happened more often than once.
func (all everything) doubled() []string {
	var out []string
	once := map[string]int{}
	inRun := map[string]map[string]int{}
	version := map[string]int{}
	for _, e := range all.events {
		if e.After.ContentVersion != nil {
			version[e.Memory] = *e.After.ContentVersion
		}
		switch e.Type {
		case oxbow.Created, oxbow.Rated, oxbow.Dated:
			once[fmt.Sprintf("%s was %s (content version %d)", e.Memory, e.Type, version[e.Memory])]++
		}
		if inRun[e.Run] == nil {
			inRun[e.Run] = map[string]int{}
		}
		inRun[e.Run][string(e.Type)]++
	}
	for what, n := range once {
		if n > 1 {
			out = append(out, fmt.Sprintf("%s %d times", what, n))
		}
	}
	out = append(out, all.doubledMerges()...)
	groups, merges := 0, 0
	for _, r := range all.runs {
		switch r.Name {
		case "cluster":
			groups += r.Counts["groups"]
		case "synthesize":
			merges++
		}
		if r.Name == "write" {
			continue // its counts hold what was refused, and nothing else
		}
		for _, typ := range []oxbow.EventType{oxbow.Created, oxbow.CompressedTo, oxbow.ArchivedEvent, oxbow.ExpiredEvent} {
			if r.Counts[string(typ)] != inRun[r.ID][string(typ)] {
				out = append(out, fmt.Sprintf("run %s (%s) counts %d %s and the log has %d", r.ID, r.Name, r.Counts[string(typ)], typ, inRun[r.ID][string(typ)]))
			}
		}
	}
	if groups != merges {
		out = append(out, fmt.Sprintf("cluster counts %d groups and %d were worked on", groups, merges))
	}
	for _, turn := range all.turns {
		if n := inRun[turn.Run][string(oxbow.Created)]; n != turn.Memories {
			out = append(out, fmt.Sprintf("the turn %s counts %d memories and its run made %d", turn.ID, turn.Memories, n))
		}
	}
	return out
}

// doubledMerges names memories that stand in two merged ones, and merged ones
// that say the same.
func (all everything) doubledMerges() []string {
	var out []string
	into := map[string]string{}
	sources := map[string][]string{}
	for _, l := range all.links {
		if l.Type != oxbow.DerivedFrom {
			continue
		}
		if into[l.To] != "" {
			out = append(out, fmt.Sprintf("%s was compressed into %s and %s", l.To, into[l.To], l.From))
		}
		into[l.To] = l.From
		sources[l.From] = append(sources[l.From], l.To)
		if m := all.byID[l.To]; m.Status != oxbow.Compressed || m.ReplacedBy != l.From {
			out = append(out, fmt.Sprintf("%s is a source of %s and is %s by %s", l.To, l.From, m.Status, m.ReplacedBy))
		}
	}
	same := map[string]string{}
	for id, from := range sources {
		slices.Sort(from)
		key := strings.Join(from, " ")
		if same[key] != "" {
			out = append(out, fmt.Sprintf("%s and %s are the same merge", id, same[key]))
		}
		same[key] = id
	}
	for _, m := range all.memories {
		if m.Derived && len(sources[m.ID]) < 2 {
			out = append(out, fmt.Sprintf("%s was merged from %d memories", m.ID, len(sources[m.ID])))
		}
	}
	return out
}

// whole fails when anything is lost, doubled, or not what the log says.
func whole(t *testing.T, st store.Store, turns int) everything {
	t.Helper()
	return wholeBy(t, st, turns, "confidence", "contradiction", "expiry")
}

// wholeBy is whole for a judge whose reading of a turn answers some of the jobs'
// questions: asked are the kinds of those that are left.
func wholeBy(t *testing.T, st store.Store, turns int, asked ...string) everything {
	t.Helper()
	all := readAll(t, st)
	for what, found := range map[string][]string{"lost": all.lost(t, st, turns, asked...), "doubled": all.doubled()} {
		for i, f := range found {
			if i == 10 {
				t.Errorf("%s: %d more", what, len(found)-i)
				break
			}
			t.Errorf("%s: %s", what, f)
		}
	}
	healthy(t, st)
	return all
}

// healthy fails when the table is not the replay of the log.
func healthy(t *testing.T, st store.Store) {
	t.Helper()
	found, err := engine.New(engine.Config{Store: st}).Doctor(t.Context(), true, nil)
	must(t, err)
	for i, f := range found {
		if i == 10 {
			t.Errorf("doctor: %d more", len(found)-i)
			break
		}
		t.Errorf("doctor: %s %s", f.Memory, f.Text)
	}
}

func (all everything) count(status oxbow.Status) int {
	n := 0
	for _, m := range all.memories {
		if m.Status == status {
			n++
		}
	}
	return n
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
