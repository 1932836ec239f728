package crash

import (
	"context"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/llm/offline"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/worker"
)

// world is an engine and a worker whose clock can be moved.
type world struct {
	*testing.T
	clock *hands
	st    store.Store
	e     *engine.Engine
}

// newWorld starts them in a place, with a history judged.
func newWorld(t *testing.T, p place, turns []oxbow.Turn) *world {
	x := &world{T: t, clock: &hands{now: Ends}, st: p.opened(t)}
	x.e = engine.New(engine.Config{Store: x.st, Judge: offline.New(), Clock: x.clock.time})
	d := deps(x.st, false)
	d.Clock = x.clock.time
	w, err := worker.New(d, worker.Config{})
	must(t, err)
	must(t, w.Start(t.Context()))
	t.Cleanup(func() { must(t, w.Stop(context.WithoutCancel(t.Context()))) })
	must(t, ingest(t.Context(), x.st, turns))
	x.drain()
	return x
}

func (x *world) drain() {
	x.Helper()
	eventually(x.T, "the queue is empty", func() bool { return drained(x.T, x.st) })
}

// tick sets the clock, enqueues what is due, works it, and gives how many slots
// there were.
func (x *world) tick(at time.Time) int {
	x.Helper()
	x.clock.move(at)
	n, err := x.e.Tick(x.Context())
	must(x.T, err)
	x.drain()
	return n
}

func (x *world) archived() map[string]int {
	n := map[string]int{}
	for _, m := range readAll(x.T, x.st).memories {
		if m.Status == oxbow.Archived {
			n[m.Scope.Name]++
		}
	}
	return n
}

func TestClockJumps(t *testing.T) {
	const scopes = 3
	turns := History(crashSeed+3, tenant, 300, scopes)
	const brake = 20 // the least that the policy's share allows, and all of it here
	heavy(t, func(t *testing.T, p place) {
		x := newWorld(t, p, turns)
		before := readAll(t, x.st)
		year := Ends.AddDate(1, 0, 0)
		if n := x.tick(year); n != 4*scopes {
			t.Errorf("after a year %d slots ran, want the last one of each of %d schedules", n, 4*scopes)
		}
		for _, hour := range []time.Duration{1, 2, 3} {
			x.tick(year.Add(hour * time.Hour))
		}
		for scope, n := range x.archived() {
			if n > brake {
				t.Errorf("a jump of the clock archived %d memories of %s; the brake is at %d", n, scope, brake)
			}
		}

		if n := x.tick(Ends.Add(2 * time.Hour)); n != 0 {
			t.Errorf("after the jump back %d slots ran", n)
		}
		if n := x.tick(year.Add(3 * time.Hour)); n != 0 {
			t.Errorf("%d slots ran a second time", n)
		}
		x.clock.move(Ends.Add(2 * time.Hour))
		after := whole(t, x.st, len(turns))
		if len(after.memories) < len(before.memories) {
			t.Errorf("%d memories are left of %d", len(after.memories), len(before.memories))
		}
		x.restore(after)
		must(t, ingest(t.Context(), x.st, []oxbow.Turn{{Scope: turns[0].Scope, Conversation: "later",
			User: "The newt upload limit is 5 MB.", At: Ends}}))
		x.drain()
		whole(t, x.st, len(turns)+1)
	})
}

// restore brings back what the wrong clock put away.
func (x *world) restore(all everything) {
	x.Helper()
	for _, m := range all.memories {
		r := engine.Restoration{}
		switch {
		case m.Status == oxbow.Archived:
		case m.Status == oxbow.Expired && m.ExpiresAt.After(x.clock.time()):
			r.ExpiresAt = m.ExpiresAt
		default:
			continue
		}
		if _, err := x.e.Restore(x.Context(), tenant, m.ID, r); err != nil {
			x.Errorf("the %s memory cannot be restored: %v", m.Status, err)
		}
	}
	if n := len(x.archived()); n > 0 {
		x.Errorf("in %d scopes something is still archived", n)
	}
}
