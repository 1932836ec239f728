package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/carry"
	"github.com/oxbow-memory/oxbow/schedule"
	"github.com/oxbow-memory/oxbow/store"
)

// takeMemories compares memories with what their events have led to, and stores
// what stands outside the log or rests on them: counters, verdicts, what was
// shown, the graph, vectors. What is here stays.
func takeMemories(ctx context.Context, tx store.Tx, s oxbow.Scope, batch []carry.Line) (taken, error) {
	var got taken
	lines, all := make([]carry.Memory, 0, len(batch)), make([]carry.Memory, 0, len(batch))
	var ids []string
	for _, l := range batch {
		ids = append(ids, l.Memory.ID)
	}
	rows, err := tx.Memories(ctx, s.Tenant, ids)
	if err != nil {
		return got, err
	}
	here := make(map[string]oxbow.Memory, len(rows))
	for _, m := range rows {
		here[m.ID] = m
	}
	for _, l := range batch {
		m, known := here[l.Memory.ID]
		if why := differs(m, known, l.Memory.State()); why != "" {
			got.conflicts = append(got.conflicts, store.Conflict{ID: l.Memory.ID, Text: why})
			continue
		}
		all = append(all, *l.Memory)
		if m.Version > l.Memory.Version { // it went on here, and so did what rests on it
			continue
		}
		lines = append(lines, *l.Memory)
	}
	beside, err := besides(ctx, tx, s, rows)
	if err != nil {
		return got, err
	}
	changed := map[string]bool{}
	if err := putEvidence(ctx, tx, s, all, beside, changed); err != nil {
		return got, err
	}
	for _, put := range []func(context.Context, store.Tx, oxbow.Scope, []carry.Memory, map[string]*carry.Memory, map[string]bool) error{
		putUses, putVerdicts, putShown, putGraphs, putVectors,
	} {
		if err := put(ctx, tx, s, lines, beside, changed); err != nil {
			return got, err
		}
	}
	for _, l := range lines {
		why, err := linksDiffer(ctx, tx, s, l, beside[l.ID], here[l.ID])
		if err != nil {
			return got, err
		}
		if why != "" {
			got.conflicts = append(got.conflicts, store.Conflict{ID: l.ID, Text: why})
		}
	}
	got.same, got.beside = len(batch)-len(got.conflicts), len(changed)
	return got, nil
}

// differs compares a row with what a line says of it. A row that went on since is
// not compared: its events were.
func differs(m oxbow.Memory, known bool, want oxbow.Memory) string {
	switch {
	case !known || m.Scope != want.Scope:
		return "it is not here: its events are missing, or were left out"
	case m.Version > want.Version:
		return ""
	case m.Version < want.Version:
		return fmt.Sprintf("its event %d is missing", m.Version+1)
	}
	_, after := oxbow.Diff(m, want)
	fields := after.Fields()
	if !m.CreatedAt.Equal(want.CreatedAt) {
		fields = append(fields, "created_at")
	}
	if len(fields) == 0 {
		return ""
	}
	slices.Sort(fields)
	return "its log does not lead to what the file says of it: " + strings.Join(fields, ", ")
}

// linksDiffer compares the links of a memory that has not gone on since. One that an
// event took away, of either end, was there.
func linksDiffer(ctx context.Context, tx store.Tx, s oxbow.Scope, l carry.Memory, beside *carry.Memory, m oxbow.Memory) (string, error) {
	if beside == nil || m.Version != l.Version {
		return "", nil
	}
	for _, link := range l.Links {
		if slices.Contains(beside.Links, link) {
			continue
		}
		events, err := tx.EventsOf(ctx, s.Tenant, []string{link.From, link.To})
		if err != nil {
			return "", err
		}
		if !slices.ContainsFunc(events, func(e oxbow.Event) bool { return slices.Contains(e.Unlinks, link) }) {
			return "its link " + string(link.Type) + " " + link.To + " is not in its log", nil
		}
	}
	return "", nil
}

// besides gives what rests on memories here, as an export would have it.
func besides(ctx context.Context, tx store.Tx, s oxbow.Scope, rows []oxbow.Memory) (map[string]*carry.Memory, error) {
	lines, err := memoryLines(ctx, tx, s, rows, nil)
	out := make(map[string]*carry.Memory, len(lines))
	for i := range lines {
		out[lines[i].ID] = &lines[i]
	}
	return out, err
}

// putEvidence stores which turns observations rest on. That never changes, so it
// is stored of a memory that went on since, too.
func putEvidence(ctx context.Context, tx store.Tx, s oxbow.Scope, lines []carry.Memory, beside map[string]*carry.Memory, changed map[string]bool) error {
	var fresh []store.Evidence
	var ends []string
	for _, l := range lines {
		for _, turn := range l.Turns {
			if !slices.Contains(beside[l.ID].Turns, turn) {
				fresh, ends = append(fresh, store.Evidence{Memory: l.ID, Turn: turn}), append(ends, turn)
			}
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	here, err := turnsHere(ctx, tx, s, store.Sorted(ends))
	if err != nil {
		return err
	}
	fresh = slices.DeleteFunc(fresh, func(e store.Evidence) bool { return here[e.Turn].Scope != s })
	for _, e := range fresh {
		changed[e.Memory] = true
	}
	return tx.PutEvidence(ctx, s, fresh)
}

func putUses(ctx context.Context, tx store.Tx, s oxbow.Scope, lines []carry.Memory, beside map[string]*carry.Memory, changed map[string]bool) error {
	var uses []store.Uses
	for _, l := range lines {
		b := beside[l.ID]
		if l.AccessCount > b.AccessCount || l.LastUsedAt.After(b.LastUsedAt) {
			uses = append(uses, store.Uses{Memory: l.ID, AccessCount: l.AccessCount, LastUsedAt: l.LastUsedAt})
			changed[l.ID] = true
		}
	}
	if len(uses) == 0 {
		return nil
	}
	_, err := tx.LoadUses(ctx, s, uses)
	return err
}

// putVerdicts stores the verdicts on pairs whose other end is here, where there is
// none or one that has since given way: of that log and this verdict the next
// settling would undo what the log says.
func putVerdicts(ctx context.Context, tx store.Tx, s oxbow.Scope, lines []carry.Memory, beside map[string]*carry.Memory, changed map[string]bool) error {
	var fresh []oxbow.Verdict
	var ends []string
	for _, l := range lines {
		for _, v := range l.Verdicts {
			holds := slices.ContainsFunc(beside[l.ID].Verdicts, func(h oxbow.Verdict) bool { return h.Older == v.Older && !givesWay(h, v) })
			if v.Newer == l.ID && !holds {
				fresh, ends = append(fresh, v), append(ends, v.Older)
			}
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	rows, err := tx.Memories(ctx, s.Tenant, store.Sorted(ends))
	if err != nil {
		return err
	}
	here := map[string]bool{}
	for _, m := range rows {
		here[m.ID] = m.Scope == s
	}
	fresh = slices.DeleteFunc(fresh, func(v oxbow.Verdict) bool { return !here[v.Older] })
	for _, v := range fresh {
		changed[v.Newer] = true
	}
	return tx.PutVerdicts(ctx, s, fresh)
}

// givesWay tells whether a verdict has been replaced by another one on its pair: by
// a later one, and a judge's by an operator's, which never gives way to a judge.
func givesWay(had, v oxbow.Verdict) bool {
	if byOperator := v.Judge == oxbow.Operator; byOperator != (had.Judge == oxbow.Operator) {
		return byOperator
	}
	return v.At.After(had.At)
}

func putShown(ctx context.Context, tx store.Tx, s oxbow.Scope, lines []carry.Memory, beside map[string]*carry.Memory, changed map[string]bool) error {
	type show struct {
		conversation string
		at           time.Time
	}
	together := map[show][]string{}
	var order []show
	for _, l := range lines {
		for _, v := range l.Shown {
			if slices.ContainsFunc(beside[l.ID].Shown, func(h oxbow.Shown) bool { return h.Conversation == v.Conversation }) {
				continue
			}
			at := show{v.Conversation, v.At}
			if together[at] == nil {
				order = append(order, at)
			}
			together[at] = append(together[at], l.ID)
			changed[l.ID] = true
		}
	}
	for _, at := range order {
		if err := tx.PutShown(ctx, s, at.conversation, together[at], at.at); err != nil {
			return err
		}
	}
	return nil
}

// putGraphs stores what memories say in the graph, where they say nothing here.
func putGraphs(ctx context.Context, tx store.Tx, s oxbow.Scope, lines []carry.Memory, beside map[string]*carry.Memory, changed map[string]bool) error {
	for _, l := range lines {
		if l.Graph == nil || beside[l.ID].Graph != nil {
			continue
		}
		put, err := tx.PutGraph(ctx, s, l.Graph.Part(l.ID, l.ContentVersion))
		if err != nil {
			return err
		}
		if put {
			changed[l.ID] = true
		}
	}
	return nil
}

// putVectors stores the vectors that are not here.
func putVectors(ctx context.Context, tx store.Tx, s oxbow.Scope, lines []carry.Memory, beside map[string]*carry.Memory, changed map[string]bool) error {
	type kind struct {
		embedder   string
		dimensions int
	}
	of := map[kind][]store.Vector{}
	var order []kind
	for _, l := range lines {
		for _, v := range l.Vectors {
			if v.Dimensions < 1 || v.Embedder == "" {
				return oxbow.Errorf(oxbow.CodeInvalid, "a vector of the memory %s has no embedder or no dimensions: export it anew", l.ID)
			}
			values, err := store.UnpackVector(v.Packed, v.Dimensions)
			if err != nil {
				return oxbow.Errorf(oxbow.CodeInvalid, "a vector of the memory %s cannot be read: export it anew", l.ID)
			}
			if beside[l.ID].Status == oxbow.Erased {
				continue
			}
			k := kind{v.Embedder, v.Dimensions}
			if of[k] == nil {
				order = append(order, k)
			}
			of[k] = append(of[k], store.Vector{Memory: l.ID, ContentVersion: l.ContentVersion, Values: values})
		}
	}
	for _, k := range order {
		ids := make([]string, len(of[k]))
		for i, v := range of[k] {
			ids[i] = v.Memory
		}
		have, err := tx.VectorsOf(ctx, s, k.embedder, ids)
		if err != nil {
			return err
		}
		fresh := slices.DeleteFunc(of[k], func(v store.Vector) bool { return have[v.Memory] != nil })
		for _, v := range fresh {
			changed[v.Memory] = true
		}
		if _, err := tx.PutVectors(ctx, s, k.embedder, fresh); err != nil {
			return err
		}
	}
	return nil
}

// checkSpec refuses a schedule that no tick could read.
func checkSpec(d store.Schedule) error {
	if _, err := schedule.Next(d.Spec, time.UTC, d.NextAt); err != nil {
		return err
	}
	if d.Name == "" || d.NextAt.IsZero() {
		return oxbow.Errorf(oxbow.CodeInvalid, "a schedule of the scope %s has no name or no next slot: export it anew", d.Scope.Name)
	}
	return nil
}

// plan counts what a batch of an export would do, and writes nothing.
func (i *importer) plan(ctx context.Context, batch []carry.Line) error {
	var got taken
	var err error
	s, kind := batch[0].In(), batch[0].Kind()
	switch kind {
	case carry.KindEvent:
		got, err = i.planEvents(ctx, s, batch)
	case carry.KindTurn:
		var ids []string
		for _, l := range batch {
			ids = append(ids, l.Turn.ID)
		}
		here, e := turnsHere(ctx, i.e.st, s, ids)
		err = e
		for _, l := range batch {
			have, known := here[l.Turn.ID]
			switch {
			case !known:
				got.fresh++
			case sameTurn(have, *l.Turn):
				got.same++
			default:
				got.conflicts = append(got.conflicts, store.Conflict{ID: l.Turn.ID, Text: "the turn says something else here"})
			}
		}
	case carry.KindScope:
		if _, err = i.e.st.Scope(ctx, s); oxbow.CodeOf(err) == oxbow.CodeNotFound {
			got.fresh, err = 1, nil
		} else {
			got.same = 1
		}
	case carry.KindMemory: // its events say more
		got.same = len(batch)
	default: // they go with what the others say
	}
	if err == nil {
		i.count(kind, got)
	}
	return err
}

// planEvents compares events with those here.
func (i *importer) planEvents(ctx context.Context, s oxbow.Scope, batch []carry.Line) (taken, error) {
	var got taken
	told := make([]store.Told, len(batch))
	for n, l := range batch {
		told[n] = l.Event.Told()
	}
	ids, _ := store.LoadIDs(told)
	had, err := i.e.st.EventsOf(ctx, s.Tenant, ids)
	if err != nil {
		return got, err
	}
	differing := store.CompareEvents(had, told)
	for n, t := range told {
		switch differing[n] {
		case store.EventNew:
			got.fresh++
			if t.Event.Version == 1 {
				got.memories++
			}
		case store.EventSame:
			got.same++
		default:
			got.conflicts = append(got.conflicts, store.Conflict{ID: t.Event.Memory, Text: fmt.Sprintf("its event %d is another one here", t.Event.Version)})
		}
	}
	return got, nil
}
