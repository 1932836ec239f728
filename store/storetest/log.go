package storetest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// chronicle writes six events: about start, a, and b an hour later in another
// run, and c in the other scope.
func chronicle(f *fixture) {
	f.lock(f.other())
	write := func(scope oxbow.Scope, run string, at time.Time, changes ...oxbow.Change) {
		f.tx(func(ctx context.Context, tx store.Tx) error {
			_, err := tx.Apply(ctx, store.Batch{Scope: scope, Run: f.id(run), Now: at, RecordedAt: at.Add(day)}, changes)
			return err
		})
	}
	write(f.scope, "first", start, created(f.memory("a")))
	write(f.scope, "second", start.Add(time.Hour), created(f.memory("b")), f.change(oxbow.PinnedEvent, "b", func(c *oxbow.Change) { c.Set.Pinned = ptr(true) }))
	write(f.scope, "second", start.Add(2*time.Hour), f.change(oxbow.ArchivedEvent, "a"), f.change(oxbow.Restored, "a"))
	write(f.other(), "third", start, created(f.memory("c")))
}

func testLog(t *testing.T, s store.Store) {
	all := []string{"a created", "b created", "b pinned", "a archived", "a restored", "c created"}
	for _, c := range []struct {
		name   string
		filter func(f *fixture) store.EventFilter
		want   []string
	}{
		{"all of a tenant in order", func(*fixture) store.EventFilter { return store.EventFilter{} }, all},
		{"those of a scope", func(f *fixture) store.EventFilter { return store.EventFilter{Scope: f.scope.Name} }, all[:5]},
		{"those of a memory", func(f *fixture) store.EventFilter { return store.EventFilter{Memory: f.id("b")} }, all[1:3]},
		{"those of a run", func(f *fixture) store.EventFilter { return store.EventFilter{Run: f.id("second")} }, all[1:5]},
		{"those of some types", func(*fixture) store.EventFilter {
			return store.EventFilter{Types: []oxbow.EventType{oxbow.PinnedEvent, oxbow.Restored}}
		}, []string{all[2], all[4]}},
		{"those about an instant or later", func(*fixture) store.EventFilter { return store.EventFilter{Since: start.Add(time.Hour)} }, all[1:5]},
	} {
		t.Run("gives "+c.name+", from either end and in pages", func(t *testing.T) {
			f := setup(t, s)
			chronicle(f)
			filter := c.filter(f)
			filter.Tenant, filter.Limit = f.scope.Tenant, 2
			f.wantSame(f.pages(filter), c.want)
			filter.Newest = true
			backwards := slices.Clone(c.want)
			slices.Reverse(backwards)
			f.wantSame(f.pages(filter), backwards)
		})
	}

	t.Run("gives the events of memories by memory and version", func(t *testing.T) {
		f := setup(t, s)
		chronicle(f)
		got := must(f.s.EventsOf(f.ctx, f.scope.Tenant, f.ids("b", "a", "nobody")))(f)
		if len(got) != 5 || !slices.IsSortedFunc(got, func(a, b oxbow.Event) int {
			return slices.Compare([]string{a.Memory, fmt.Sprint(a.Version)}, []string{b.Memory, fmt.Sprint(b.Version)})
		}) {
			t.Fatalf("got %s", show(got))
		}
		if n := len(must(f.s.EventsOf(f.ctx, f.scope.Tenant, nil))(f)); n != 0 {
			t.Fatalf("no ids gave %d events", n)
		}
	})

	t.Run("says not_found for a content that is not there", func(t *testing.T) {
		f := setup(t, s)
		_, _, err := f.s.ContentBody(f.ctx, f.scope.Tenant, f.id("nothing"))
		f.wantCode(err, oxbow.CodeNotFound)
	})
}

// pages reads a filter's events two by two, each as its name and type.
func (f *fixture) pages(filter store.EventFilter) []string {
	f.Helper()
	var out []string
	for {
		page := must(f.s.Events(f.ctx, filter))(f)
		if len(page) == 0 {
			return out
		}
		for _, e := range page {
			for _, n := range []string{"a", "b", "c"} {
				if e.Memory == f.id(n) {
					out = append(out, n+" "+string(e.Type))
				}
			}
		}
		filter.AfterSeq = page[len(page)-1].Seq
	}
}
