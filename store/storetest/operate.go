package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// statuses sums up what a piece of the log moved.
func statuses(counts []store.LogCount) map[oxbow.Status]int {
	out := map[oxbow.Status]int{}
	for _, c := range counts {
		from, to := oxbow.Moved(c.Type, c.Status)
		if from != to {
			out[from] -= int(c.N)
			out[to] += int(c.N)
		}
	}
	delete(out, "")
	for s, n := range out {
		if n == 0 {
			delete(out, s)
		}
	}
	return out
}

func testOperator(t *testing.T, s store.Store) {
	f := &fixture{T: t, ctx: t.Context(), s: s, scope: oxbow.Scope{Tenant: "t" + oxbow.NewID(t.Name()), Name: "user:ada"}}
	for _, told := range []struct {
		name string
		test func(*fixture)
	}{
		{"counts the log in pieces, and its moves give the statuses of the table", countedLog},
		{"counts the requests to models in pieces", countedCalls},
		{"gives the scope in which a pass stands worst, and leaves out what is paused", freshPasses},
		{"counts the budgets of a day and what was given up", countedRest},
	} {
		f.Run(told.name, func(t *testing.T) {
			g := *f
			g.T = t
			told.test(&g)
		})
	}
}

func countedLog(f *fixture) {
	ends := must(f.s.LogEnds(f.ctx))(f)
	f.wantSame([]int64{ends.Event, ends.LLMCall}, []int64{0, 0})
	f.create(f.memory("a"), f.memory("b"), f.memory("c"), f.memory("d"), f.memory("e"),
		f.memory("q", func(m *oxbow.Memory) { m.Status = oxbow.Quarantined }),
		f.memory("late", func(m *oxbow.Memory) { m.Status, m.ReplacedBy = oxbow.Superseded, f.id("a") }))
	first := must(f.s.LogEnds(f.ctx))(f).Event
	to := func(name string) func(*oxbow.Change) {
		return func(c *oxbow.Change) { c.Set.ReplacedBy = ptr(f.id(name)) }
	}
	f.apply(f.change(oxbow.SupersededBy, "a", to("b")), f.change(oxbow.CompressedTo, "c", to("b")), f.change(oxbow.ExpiredEvent, "d"),
		f.change(oxbow.ArchivedEvent, "e"), f.change(oxbow.Released, "q"), f.change(oxbow.Linked, "b"))
	f.apply(f.change(oxbow.Restored, "d"), f.change(oxbow.ErasedEvent, "late"))
	f.apply(f.change(oxbow.ErasedEvent, "b"))
	end := must(f.s.LogEnds(f.ctx))(f).Event
	all := must(f.s.CountLog(f.ctx, 0, end))(f)
	f.wantSame(statuses(all), must(f.s.CountMemories(f.ctx, oxbow.Scope{Tenant: f.scope.Tenant}))(f))
	f.wantSame(statuses(append(must(f.s.CountLog(f.ctx, 0, first))(f), must(f.s.CountLog(f.ctx, first, end))(f)...)), statuses(all))
	f.wantSame(statuses(must(f.s.CountLog(f.ctx, 0, first))(f)), map[oxbow.Status]int{oxbow.Active: 5, oxbow.Quarantined: 1, oxbow.Superseded: 1})
	f.wantSame(len(must(f.s.CountLog(f.ctx, end, end+1000))(f)), 0)
}

func countedCalls(f *fixture) {
	f.putCalls(f.call("a"), f.call("b"))
	first := must(f.s.LogEnds(f.ctx))(f).LLMCall
	f.putCalls(f.call("c", func(c *store.LLMCall) { c.Outcome, c.Cost = "lost", nil }))
	f.putCalls(f.call("d", func(c *store.LLMCall) { c.Scope.Tenant, c.Model = f.scope.Tenant+"x", "large" }))
	f.putCalls(f.call("e"))
	end := must(f.s.LogEnds(f.ctx))(f).LLMCall
	sum := map[string]store.LLMCount{}
	for _, c := range must(f.s.CountLLMCalls(f.ctx, first, end))(f) {
		sum[c.Model+" "+c.Outcome] = c
	}
	f.wantSame(sum, map[string]store.LLMCount{
		"small ok":   {Model: "small", Outcome: "ok", Calls: 1, In: 1000, Out: 100, Cached: 10, Cost: 0.25},
		"small lost": {Model: "small", Outcome: "lost", Calls: 1, In: 1000, Out: 100, Cached: 10, Unpriced: 1},
		"large ok":   {Model: "large", Outcome: "ok", Calls: 1, In: 1000, Out: 100, Cached: 10, Cost: 0.25},
	})
	f.wantSame(must(f.s.CountLLMCalls(f.ctx, 0, first))(f), []store.LLMCount{{Model: "small", Outcome: "ok", Calls: 2, In: 2000, Out: 200, Cached: 20, Cost: 0.5}})
}

func freshPasses(f *fixture) {
	f.wantSame(len(must(f.s.Freshness(f.ctx))(f)), 0)
	plan := func(scope oxbow.Scope, name string, next time.Time, paused bool) {
		f.lock(scope)
		f.tx(func(ctx context.Context, tx store.Tx) error {
			return tx.PutSchedule(ctx, store.Schedule{Scope: scope, Name: name, Spec: "0 3 * * *", NextAt: next, CatchUp: "latest", Paused: paused})
		})
	}
	ran := func(scope oxbow.Scope, name, id string, about, finished time.Time, st oxbow.RunStatus) {
		f.tx(func(ctx context.Context, tx store.Tx) error {
			return tx.PutRun(ctx, oxbow.Run{ID: f.id(id), Scope: scope, Name: name, Trigger: "schedule", Status: st, About: about, StartedAt: about, FinishedAt: finished})
		})
	}
	one, two, third := f.scope, f.other(), oxbow.Scope{Tenant: f.scope.Tenant + "x", Name: "agent"}
	plan(one, "decay", start.Add(3*day), false)
	plan(two, "decay", start.Add(2*day), false)
	plan(third, "decay", start.Add(-9*day), true)
	plan(one, "prune", start.Add(5*day), false)
	ran(one, "decay", "r1", start.Add(day), start.Add(day+time.Minute), oxbow.RunDone)
	ran(two, "decay", "r2", start.Add(day), start.Add(day+time.Second), oxbow.RunDone)
	ran(two, "decay", "r3", start.Add(2*day), start.Add(2*day+time.Second), oxbow.RunFailed)
	f.wantSame(must(f.s.Freshness(f.ctx))(f), []store.Freshness{
		{Pass: "decay", LastSuccess: start.Add(day + time.Second), NextSlot: start.Add(2 * day)},
		{Pass: "prune", LastSuccess: start.Add(2 * time.Hour), NextSlot: start.Add(5 * day)}, // never ran: since the scope was made
	})
}

func countedRest(f *fixture) {
	f.wantSame(must(f.s.CountBudgets(f.ctx, today))(f), store.Budgets{})
	f.reserve(60, 100)
	f.reserve(60, 100)
	f.tx(func(ctx context.Context, tx store.Tx) error {
		_, err := tx.ReserveTokens(ctx, f.scope.Tenant+"x", today, 70, 100)
		return err
	})
	f.wantSame(must(f.s.CountBudgets(f.ctx, today))(f), store.Budgets{Most: 70, Short: 1})
	f.wantSame(must(f.s.CountBudgets(f.ctx, "2024-03-02"))(f), store.Budgets{})
	f.wantSame(len(must(f.s.CountDiscarded(f.ctx))(f)), 0)
	f.tx(func(ctx context.Context, tx store.Tx) error {
		for _, id := range []string{"a", "b"} {
			if err := tx.PutDiscarded(ctx, store.Discarded{ID: f.id(id), Tenant: f.scope.Tenant, Scope: f.scope.Name, Kind: "expiry", Args: []byte("{}"), At: start}); err != nil {
				return err
			}
		}
		return nil
	})
	f.wantSame(must(f.s.CountDiscarded(f.ctx))(f), map[string]int{"expiry": 2})
}
