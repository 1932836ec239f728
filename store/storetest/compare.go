package storetest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// Replay fails unless every one of the memories is the replay of its events:
// numbered from 1 without a gap, each beginning where the one before it ended,
// and ending in the row and in the links that are stored. The counters stand
// outside the log and are not compared.
func Replay(t testing.TB, r store.Reader, tenant string, ids ...string) {
	t.Helper()
	ms, err := r.Memories(t.Context(), tenant, ids)
	if err != nil {
		t.Fatalf("read the memories: %v", err)
	}
	events, err := r.EventsOf(t.Context(), tenant, ids)
	if err != nil {
		t.Fatalf("read the events: %v", err)
	}
	links := map[oxbow.Link]bool{}
	state := map[string]oxbow.Memory{}
	for _, e := range events {
		m := state[e.Memory]
		if e.Version != m.Version+1 {
			t.Errorf("memory %s: event %d follows version %d", e.Memory, e.Version, m.Version)
		}
		if was := e.Before.Apply(m); m.Version > 0 && !sameState(was, m) {
			t.Errorf("memory %s: event %d (%s) begins with\n%s\nand the one before it ended with\n%s",
				e.Memory, e.Version, e.Type, show(was), show(m))
		}
		m = e.After.Apply(m)
		m.Version = e.Version
		state[e.Memory] = m
		for _, l := range e.Unlinks {
			delete(links, l)
		}
		for _, l := range e.Links {
			links[l] = true
		}
	}
	for _, m := range ms {
		if !sameState(state[m.ID], m) {
			t.Errorf("memory %s: the log replays to\n%s\nand the row is\n%s", m.ID, show(state[m.ID]), show(m))
		}
	}
	if len(state) != len(ms) {
		t.Errorf("the log knows %d memories and the table %d", len(state), len(ms))
	}
	replayLinks(t, r, tenant, ids, links)
}

// replayLinks compares the edges that the memories' events left with those
// that are stored. An edge may be carried by an event of either end.
func replayLinks(t testing.TB, r store.Reader, tenant string, ids []string, links map[oxbow.Link]bool) {
	t.Helper()
	stored, err := r.Links(t.Context(), tenant, ids)
	if err != nil {
		t.Fatalf("read the links: %v", err)
	}
	inside := func(id string) bool { return slices.Contains(ids, id) }
	for _, l := range stored {
		if inside(l.From) && inside(l.To) && !links[l] {
			t.Errorf("the link %v has no event", l)
		}
		delete(links, l)
	}
	for l := range links {
		t.Errorf("the log has the link %v and the table has not", l)
	}
}

// sameState compares what the log replays to.
func sameState(a, b oxbow.Memory) bool {
	before, after := oxbow.Diff(a, b)
	return len(before.Fields()) == 0 && len(after.Fields()) == 0 && a.Version == b.Version
}

// show gives a value in a form that differences can be seen in.
func show(v any) string {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// wantSame fails unless two values are the same when written as JSON. That
// looks through pointers, and asks both databases for times in UTC.
func (f *fixture) wantSame(got, want any) {
	f.Helper()
	if g, w := show(got), show(want); g != w {
		f.Fatalf("got\n%s\nwant\n%s", g, w)
	}
}

// wantIDs fails unless memories come with these names in this order.
func (f *fixture) wantIDs(got []oxbow.Memory, names ...string) {
	f.Helper()
	ids := make([]string, len(got))
	for i, m := range got {
		ids[i] = m.ID
	}
	f.wantOrder(ids, names...)
}

// wantOrder fails unless ids are those of names, in order.
func (f *fixture) wantOrder(ids []string, names ...string) {
	f.Helper()
	if !slices.Equal(ids, f.ids(names...)) {
		for i, id := range ids {
			for _, n := range names {
				if f.id(n) == id {
					ids[i] = n
				}
			}
		}
		f.Fatalf("got %q, want %q", ids, names)
	}
}

// later orders names by what they are called, the greatest first, as lists order
// what stands at one instant.
func (f *fixture) later(names ...string) []string {
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(f.id(b), f.id(a)) })
	return names
}

// hitIDs gives the ids of hits.
func hitIDs(hits []store.Hit) []string {
	out := make([]string, len(hits))
	for i, h := range hits {
		out[i] = h.ID
	}
	return out
}
