package engine

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// Finding is one thing that is not as it should be.
type Finding struct {
	Memory string `json:"memory,omitempty"`
	Text   string `json:"text"`
}

// doctorPage is how many memories are replayed at a time.
const doctorPage = 500

// Doctor looks for what is wrong. The shallow look is what the database can say
// of itself; deep replays the log of every memory of every tenant and compares
// each row, its links, its content and its derived fields with what follows.
func (e *Engine) Doctor(ctx context.Context, deep bool, progress func(done int)) ([]Finding, error) {
	var out []Finding
	lines, err := e.st.Check(ctx)
	if err != nil {
		return nil, err
	}
	for _, l := range lines {
		out = append(out, Finding{Text: l})
	}
	if !deep {
		return out, nil
	}
	scopes, err := e.st.ListScopes(ctx, "")
	if err != nil {
		return nil, err
	}
	done := 0
	for _, s := range scopes {
		after := ""
		for {
			ms, err := e.st.AllMemories(ctx, s.Scope, after, doctorPage)
			if err != nil {
				return nil, err
			}
			found, err := e.replayPage(ctx, s, ms)
			if err != nil {
				return nil, err
			}
			out = append(out, found...)
			if done += len(ms); progress != nil {
				progress(done)
			}
			if len(ms) < doctorPage {
				break
			}
			after = ms[len(ms)-1].ID
		}
	}
	return out, nil
}

// looks is how often a page with findings is read: rows, events and links come
// from reads of their own, and a worker may have written in between.
const looks = 4

// replayPage gives the findings of a page that stay however often it is read.
func (e *Engine) replayPage(ctx context.Context, s oxbow.ScopeSettings, ms []oxbow.Memory) ([]Finding, error) {
	found, err := e.replayAll(ctx, s, ms)
	ids := make([]string, len(ms))
	for i, m := range ms {
		ids[i] = m.ID
	}
	for look := 1; look < looks && len(found) > 0 && err == nil; look++ {
		var again []Finding
		if s, err = e.st.Scope(ctx, s.Scope); err != nil {
			break
		}
		if ms, err = e.st.Memories(ctx, s.Tenant, ids); err != nil {
			break
		}
		again, err = e.replayAll(ctx, s, ms)
		found = slices.DeleteFunc(found, func(f Finding) bool { return !slices.Contains(again, f) })
	}
	return found, err
}

func (e *Engine) replayAll(ctx context.Context, s oxbow.ScopeSettings, ms []oxbow.Memory) ([]Finding, error) {
	if len(ms) == 0 {
		return nil, nil
	}
	ids := make([]string, len(ms))
	for i, m := range ms {
		ids[i] = m.ID
	}
	events, err := e.st.EventsOf(ctx, s.Tenant, ids)
	if err != nil {
		return nil, err
	}
	links, err := e.replayedLinks(ctx, s.Tenant, ids, events)
	if err != nil {
		return nil, err
	}
	byMemory := map[string][]oxbow.Event{}
	for _, ev := range events {
		byMemory[ev.Memory] = append(byMemory[ev.Memory], ev)
	}
	applying, err := e.st.ListRuns(ctx, store.RunFilter{Tenant: s.Tenant, Scope: s.Name, Name: "apply_policy", Status: oxbow.RunRunning, Limit: 1})
	if err != nil {
		return nil, err
	}
	out := links
	for _, m := range ms {
		for _, text := range Replay(m, byMemory[m.ID]) {
			out = append(out, Finding{Memory: m.ID, Text: text})
		}
		if len(applying) == 0 {
			out = append(out, derivedFindings(s, m)...)
		}
		f, err := e.contentFinding(ctx, m)
		if err != nil {
			return nil, err
		}
		out = append(out, f...)
	}
	return out, nil
}

// Replay compares a row with what its events lead to and names what differs: a
// gap in the versions, a before that is not the previous after, a field that no
// event explains.
func Replay(row oxbow.Memory, events []oxbow.Event) []string {
	var out []string
	var m oxbow.Memory
	for i, ev := range events {
		if want := m.Version + 1; ev.Version != want {
			out = append(out, fmt.Sprintf("event %d is missing", want))
		}
		if i > 0 {
			if fields := disagree(m, ev); len(fields) > 0 {
				out = append(out, fmt.Sprintf("event %d (%s): its before does not equal the state it met: %s", ev.Version, ev.Type, strings.Join(fields, ", ")))
			}
		}
		m = ev.After.Apply(m)
		m.Version = ev.Version
	}
	if m.Version < row.Version {
		out = append(out, fmt.Sprintf("event %d is missing", m.Version+1))
	}
	_, after := oxbow.Diff(m, row)
	if fields := after.Fields(); len(fields) > 0 {
		slices.Sort(fields)
		out = append(out, "the row was changed without an event: "+strings.Join(fields, ", "))
	}
	return out
}

// disagree names the fields in which an event's before differs from a state.
func disagree(m oxbow.Memory, ev oxbow.Event) []string {
	_, after := oxbow.Diff(m, ev.Before.Apply(m))
	fields := after.Fields()
	slices.Sort(fields)
	return fields
}

// derivedFindings checks what follows from the row and the scope's policy.
func derivedFindings(s oxbow.ScopeSettings, m oxbow.Memory) []Finding {
	want := s.Policy.Derive(m)
	if m.Status == oxbow.Erased || want.HalfLife == m.HalfLife && want.FadesAt.Equal(m.FadesAt) && math.Abs(want.RankKey-m.RankKey) < 1e-6 {
		return nil
	}
	return []Finding{{Memory: m.ID, Text: "half_life, fades_at or rank_key do not follow from the row and the scope's policy"}}
}

// contentFinding checks that the words are those that the log names.
func (e *Engine) contentFinding(ctx context.Context, m oxbow.Memory) ([]Finding, error) {
	_, seal, err := e.st.ContentBody(ctx, m.Scope.Tenant, m.ContentID)
	switch {
	case oxbow.CodeOf(err) == oxbow.CodeNotFound:
		return nil, nil // Check names missing content
	case err != nil:
		return nil, err
	case m.Status != oxbow.Erased && seal.Digest != m.Digest:
		return []Finding{{Memory: m.ID, Text: "its content was changed without an event"}}, nil
	}
	return nil, nil
}

// replayedLinks compares the links of memories with those that events made.
func (e *Engine) replayedLinks(ctx context.Context, tenant string, ids []string, events []oxbow.Event) ([]Finding, error) {
	stored, err := e.st.Links(ctx, tenant, ids)
	if err != nil {
		return nil, err
	}
	mine := map[string]bool{}
	for _, id := range ids {
		mine[id] = true
	}
	slices.SortFunc(events, func(a, b oxbow.Event) int { return int(a.Seq - b.Seq) })
	follows := map[oxbow.Link]bool{}
	for _, ev := range events {
		for _, l := range ev.Unlinks {
			delete(follows, l)
		}
		for _, l := range ev.Links {
			follows[l] = true
		}
	}
	slices.SortFunc(events, func(a, b oxbow.Event) int {
		if d := strings.Compare(a.Memory, b.Memory); d != 0 {
			return d
		}
		return a.Version - b.Version
	})
	var out []Finding
	for _, l := range stored {
		// The event that made a link is one of either end's; both are known
		// when both ends are on this page.
		if mine[l.From] && mine[l.To] && !follows[l] {
			out = append(out, Finding{Memory: l.To, Text: fmt.Sprintf("the link %s %s has no event", l.Type, l.From)})
		}
		delete(follows, l)
	}
	for l := range follows {
		out = append(out, Finding{Memory: l.To, Text: fmt.Sprintf("the link %s %s is in the log and not in the table", l.Type, l.From)})
	}
	return out, nil
}
