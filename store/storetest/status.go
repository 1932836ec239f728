package storetest

import (
	"testing"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

func testStatuses(t *testing.T, s store.Store) {
	t.Run("counts by scope and status, and gives as late what was moved after a number", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a"), f.memory("b"), f.memory("q", func(m *oxbow.Memory) { m.Status = oxbow.Quarantined }))
		mark := must(f.s.LogMark(f.ctx))(f)
		f.apply(f.change(oxbow.ArchivedEvent, "a"), f.change(oxbow.Released, "q"), f.change(oxbow.Linked, "b"))
		got := must(f.s.CountStatuses(f.ctx, f.scope.Tenant, mark.End))(f)
		f.wantSame(got.Counts, store.StatusCounts{f.scope.Name: {oxbow.Active: 2, oxbow.Archived: 1}})
		f.wantSame(got.Late, store.StatusCounts{f.scope.Name: {oxbow.Active: 0, oxbow.Archived: 1, oxbow.Quarantined: -1}})
		f.wantSame(len(got.Early), 0)
	})

	t.Run("tells what was moved up to a number from what was moved later", func(t *testing.T) {
		f := setup(t, s)
		first := must(f.s.LogMark(f.ctx))(f)
		f.create(f.memory("a"), f.memory("b"))
		second := must(f.s.LogMark(f.ctx))(f)
		if second.End <= first.End {
			t.Fatalf("the log ends at %d, and after two events at %d", first.End, second.End)
		}
		f.apply(f.change(oxbow.ErasedEvent, "b"))
		got := must(f.s.MovedStatuses(f.ctx, f.scope.Tenant, first.End, second.End))(f)
		f.wantSame(got.Early, store.StatusCounts{f.scope.Name: {oxbow.Active: 2}})
		f.wantSame(got.Late, store.StatusCounts{f.scope.Name: {oxbow.Active: -1, oxbow.Erased: 1}})
		f.wantSame(len(got.Counts), 0)
	})

	t.Run("shows another tenant none of it", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a"))
		stranger := f.scope.Tenant + "x"
		counted := must(f.s.CountStatuses(f.ctx, stranger, 0))(f)
		moved := must(f.s.MovedStatuses(f.ctx, stranger, 0, 1<<40))(f)
		for _, c := range []store.StatusCounts{counted.Counts, counted.Late, moved.Early, moved.Late} {
			f.wantSame(len(c), 0)
		}
	})
}
