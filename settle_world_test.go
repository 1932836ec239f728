package oxbow_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/oxbow-memory/oxbow"
)

// failer is the part of testing.T and rapid.T that the world needs.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// world is a scope in memory: what a store does with the changes of Settle,
// in forty lines.
type world struct {
	policy   oxbow.Policy
	memories map[string]oxbow.Memory
	verdicts []oxbow.Verdict
	links    map[oxbow.Link]bool
	events   int
}

func newWorld(verdicts ...oxbow.Verdict) *world {
	return &world{
		policy: oxbow.DefaultPolicy(), memories: map[string]oxbow.Memory{},
		verdicts: verdicts, links: map[oxbow.Link]bool{},
	}
}

// settle brings in new memories and gives the changes that it made.
func (w *world) settle(t failer, arriving ...oxbow.Memory) []oxbow.Change {
	t.Helper()
	g := oxbow.Group{Verdicts: w.verdicts, Links: slices.Collect(maps.Keys(w.links))}
	g.Members = append(slices.Collect(maps.Values(w.memories)), arriving...)
	changes := oxbow.Settle(g)
	var created bool
	for _, c := range changes {
		if created = created || c.Type == oxbow.Created; created && (c.Type == oxbow.SupersededBy || c.Type == oxbow.CompressedTo) {
			t.Fatalf("%s leaves its address after another took it", c.Memory)
		}
		w.apply(t, c)
	}
	for _, m := range arriving {
		if w.memories[m.ID].Version == 0 {
			t.Fatalf("%s was not created", m.ID)
		}
	}
	return changes
}

func (w *world) apply(t failer, c oxbow.Change) {
	t.Helper()
	if _, stored := w.memories[c.Memory]; stored == (c.New != nil) {
		t.Fatalf("%s of %s, which is stored: %v", c.Type, c.Memory, stored)
	}
	m, _, err := c.Apply(w.memories[c.Memory], w.policy, epoch)
	if err != nil {
		t.Fatalf("%s of %s: %v", c.Type, c.Memory, err)
	}
	if c.Type != oxbow.Created && c.Reason == "" {
		t.Fatalf("%s of %s does not say why", c.Type, c.Memory)
	}
	w.memories[c.Memory] = m
	w.events++
	for _, l := range c.Links {
		if w.links[l] {
			t.Fatalf("the link %v is added twice", l)
		}
		w.links[l] = true
	}
	for _, l := range c.Unlinks {
		if !w.links[l] {
			t.Fatalf("the link %v is taken away and was not there", l)
		}
		delete(w.links, l)
	}
}

// String gives what must not depend on the order of arrival, a line a memory
// and a line a link.
func (w *world) String() string {
	var lines []string
	for _, m := range w.memories {
		lines = append(lines, fmt.Sprintf("%s %s by %q, %d confirmations, last %s", m.ID, m.Status, m.ReplacedBy,
			m.Confirmations, m.ConfirmedAt.Format(time.DateTime)))
	}
	for l := range w.links {
		lines = append(lines, fmt.Sprintf("%s %s %s", l.From, l.Type, l.To))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// status gives the statuses of memories, for tables.
func (w *world) status(ids ...string) string {
	var out []string
	for _, id := range ids {
		m := w.memories[id]
		s := string(m.Status)
		if m.ReplacedBy != "" {
			s += ">" + m.ReplacedBy
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

// check says which promise of Settle the world breaks.
func (w *world) check(t failer) {
	t.Helper()
	holder := map[string]string{}
	for _, m := range w.memories {
		w.checkMemory(t, m)
		if !m.IsFact() || m.Status != oxbow.Active {
			continue
		}
		if other := holder[m.Slot+"/"+m.Key]; other != "" {
			t.Fatalf("%s and %s are both active at %s/%s\n%s", other, m.ID, m.Slot, m.Key, w)
		}
		holder[m.Slot+"/"+m.Key] = m.ID
	}
	for l := range w.links {
		from, to := w.memories[l.From], w.memories[l.To]
		if from.IsNote() && !to.IsNote() || to.IsNote() && l.Type == oxbow.Confirms {
			t.Fatalf("the link %v is one that a note may not have", l)
		}
		if from.Version == 0 || to.Version == 0 || l.Type != oxbow.DerivedFrom && !to.Before(from) {
			t.Fatalf("the link %v does not lead from a newer memory to an older one", l)
		}
	}
}

func (w *world) checkMemory(t failer, m oxbow.Memory) {
	t.Helper()
	retired := m.Status == oxbow.Superseded || m.Status == oxbow.Compressed
	if retired != (m.ReplacedBy != "") && m.Status != oxbow.Archived && m.Status != oxbow.Expired && m.Status != oxbow.Erased {
		t.Fatalf("%s is %s by %q", m.ID, m.Status, m.ReplacedBy)
	}
	if !retired {
		return
	}
	if m.Pinned {
		t.Fatalf("the pinned %s is %s\n%s", m.ID, m.Status, w)
	}
	by := w.memories[m.ReplacedBy]
	if by.IsNote() && !m.IsNote() || m.Status == oxbow.Compressed && (by.IsNote() || m.IsNote()) {
		t.Fatalf("%s (%s) is %s by %s (%s)\n%s", m.ID, m.Kind, m.Status, by.ID, by.Kind, w)
	}
	if by.Version == 0 || by.ID == m.ID {
		t.Fatalf("%s is replaced by %q\n%s", m.ID, m.ReplacedBy, w)
	}
	if by.Source.Trust() < m.Source.Trust() && !by.Pinned && !w.operatorJudged(by.ID, m.ID) {
		t.Fatalf("%s (%s) is replaced by the less trusted %s (%s)\n%s", m.ID, m.Source, by.ID, by.Source, w)
	}
}

func (w *world) operatorJudged(a, b string) bool {
	return slices.ContainsFunc(w.verdicts, func(v oxbow.Verdict) bool {
		return v.Judge == oxbow.Operator && (v.Older == a && v.Newer == b || v.Older == b && v.Newer == a)
	})
}

// drawStatements gives new memories of one scope: some facts at two addresses,
// some free, few pinned, said at few instants so that ties are common.
func drawStatements(t *rapid.T) []oxbow.Memory {
	var out []oxbow.Memory
	pinned := map[string]bool{}
	for i := range rapid.IntRange(2, 7).Draw(t, "statements") {
		m := oxbow.Memory{
			ID: string(rune('a' + i)), Scope: ada, Status: oxbow.Active, Kind: oxbow.Semantic,
			Rating:       0.5,
			Content:      oxbow.Content{Text: rapid.SampledFrom([]string{"tea", "Tea.", "coffee", "water"}).Draw(t, "text")},
			Source:       rapid.SampledFrom([]oxbow.Source{oxbow.FromUser, oxbow.FromUser, oxbow.FromAssistant, oxbow.FromWeb}).Draw(t, "source"),
			Conversation: rapid.SampledFrom([]string{"", "one", "two", "three"}).Draw(t, "conversation"),
			SaidAt:       epoch.Add(time.Duration(rapid.IntRange(0, 8).Draw(t, "said_at")) * 7 * time.Hour),
		}
		if key := rapid.SampledFrom([]string{"", "", "city", "drink"}).Draw(t, "key"); key != "" {
			m.Kind, m.Slot, m.Key = oxbow.Fact, "user", key
		}
		if m.Conversation != "" && m.Key == "" && rapid.IntRange(0, 3).Draw(t, "note") == 0 {
			m.Kind, m.Turn = oxbow.Observation, rapid.SampledFrom([]string{"t1", "t2"}).Draw(t, "turn")
		}
		if rapid.IntRange(0, 7).Draw(t, "pinned") == 0 && !pinned[m.Key] {
			m.Pinned = true
			pinned[m.Key] = m.Key != ""
		}
		if rapid.IntRange(0, 9).Draw(t, "quarantined") == 0 {
			m.Status = oxbow.Quarantined
		}
		out = append(out, m)
	}
	return out
}

// drawVerdicts gives any verdicts on the pairs, or none.
func drawVerdicts(t *rapid.T, ms []oxbow.Memory) []oxbow.Verdict {
	relations := []oxbow.Relation{"", "", oxbow.Contradicts, oxbow.Replaces, oxbow.ConfirmsIt, oxbow.ConfirmsIt,
		oxbow.Equal, oxbow.Unsure, oxbow.Unrelated, oxbow.Rejected, oxbow.Both}
	var out []oxbow.Verdict
	for i, a := range ms {
		for _, b := range ms[:i] {
			r := rapid.SampledFrom(relations).Draw(t, a.ID+b.ID)
			if r == "" {
				continue
			}
			v := oxbow.NewVerdict(a, b, r)
			v.Judge = "offline@1"
			if r == oxbow.Rejected || r == oxbow.Both || rapid.IntRange(0, 5).Draw(t, "by operator") == 0 {
				v.Judge = oxbow.Operator
			}
			out = append(out, v)
		}
	}
	return out
}
