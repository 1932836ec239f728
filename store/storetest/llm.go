package storetest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// today is the day of start.
const today = "2024-03-01"

// reserve draws on the sub-test's budget and tells whether it fitted.
func (f *fixture) reserve(n, limit int64) (ok bool) {
	f.Helper()
	f.tx(func(ctx context.Context, tx store.Tx) (err error) {
		ok, err = tx.ReserveTokens(ctx, f.scope.Tenant, today, n, limit)
		return err
	})
	return ok
}

func (f *fixture) settle(n int64) {
	f.Helper()
	f.tx(func(ctx context.Context, tx store.Tx) error { return tx.SettleTokens(ctx, f.scope.Tenant, today, n) })
}

func (f *fixture) wantTokens(drawn, short int64) {
	f.Helper()
	if got := must(f.s.TokensOf(f.ctx, f.scope.Tenant, today))(f); got != (store.Tokens{Drawn: drawn, Short: short}) {
		f.Fatalf("the budget is %+v, want %d drawn and %d short", got, drawn, short)
	}
}

func testBudgets(t *testing.T, s store.Store) {
	t.Run("draws what fits, to the last token, and remembers what did not", func(t *testing.T) {
		f := setup(t, s)
		f.wantTokens(0, 0)
		if f.reserve(101, 100) {
			t.Fatal("more than the whole budget was drawn")
		}
		f.wantTokens(0, 101)
		if !f.reserve(60, 100) || f.reserve(41, 100) || !f.reserve(40, 100) {
			t.Fatal("the limit is not where it was set")
		}
		f.wantTokens(100, 41)
	})

	t.Run("settles up and down, and never below nothing", func(t *testing.T) {
		f := setup(t, s)
		f.reserve(60, 100)
		f.settle(-50)
		f.wantTokens(10, 0)
		f.settle(500)
		f.wantTokens(510, 0)
		f.settle(-9999)
		f.wantTokens(0, 0)
	})

	t.Run("keeps days and tenants apart", func(t *testing.T) {
		f := setup(t, s)
		f.reserve(60, 100)
		for _, of := range [][2]string{{f.scope.Tenant, "2024-03-02"}, {f.scope.Tenant + "x", today}} {
			f.tx(func(ctx context.Context, tx store.Tx) error {
				ok, err := tx.ReserveTokens(ctx, of[0], of[1], 100, 100)
				if !ok {
					t.Errorf("the budget of %v was drawn on by another one: %v", of, err)
				}
				return err
			})
		}
		f.wantTokens(60, 0)
	})

	t.Run("is never overdrawn, however many draw at once", func(t *testing.T) {
		f := setup(t, s)
		var wg sync.WaitGroup
		var drawn atomic.Int64
		for range 20 {
			wg.Go(func() {
				err := f.s.InTx(f.ctx, func(ctx context.Context, tx store.Tx) error {
					ok, err := tx.ReserveTokens(ctx, f.scope.Tenant, today, 7, 50)
					if ok && err == nil {
						drawn.Add(7)
					}
					return err
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if drawn.Load() != 49 {
			t.Fatalf("%d tokens were drawn, want 49", drawn.Load())
		}
		f.wantTokens(49, 7)
	})
}

// call gives a request of the sub-test that set may change.
func (f *fixture) call(name string, set ...func(*store.LLMCall)) store.LLMCall {
	cost := 0.25
	c := store.LLMCall{ID: f.id(name), Scope: f.scope, Run: f.id("run"), Job: "extract", Purpose: "extract", Model: "small",
		Outcome: store.LLMOK, In: 1000, Out: 100, Cached: 10, Cost: &cost, Latency: 1500 * time.Millisecond, At: start}
	for _, s := range set {
		s(&c)
	}
	return c
}

func (f *fixture) putCalls(calls ...store.LLMCall) {
	f.Helper()
	f.tx(func(ctx context.Context, tx store.Tx) error {
		for _, c := range calls {
			if err := tx.PutLLMCall(ctx, c); err != nil {
				return err
			}
		}
		return nil
	})
}

func testCalls(t *testing.T, s store.Store) {
	t.Run("sums the calls by day, job and model, the newest day first", func(t *testing.T) {
		f := setup(t, s)
		later := func(c *store.LLMCall) { c.At = start.Add(12 * time.Hour) } // midnight
		f.putCalls(f.call("a"), f.call("b", func(c *store.LLMCall) { c.Outcome, c.Estimated = "away", true }),
			f.call("c", func(c *store.LLMCall) { c.Model, c.Cost = "local", nil }),
			f.call("d", func(c *store.LLMCall) { c.Job = "confidence" }), f.call("e", later))
		half, quarter := 0.5, 0.25
		f.wantSame(must(s.LLMCosts(f.ctx, f.scope.Tenant, time.Time{}))(f), []store.LLMCost{
			{Day: "2024-03-02", Job: "extract", Model: "small", Calls: 1, In: 1000, Out: 100, Cached: 10, Cost: &quarter},
			{Day: today, Job: "confidence", Model: "small", Calls: 1, In: 1000, Out: 100, Cached: 10, Cost: &quarter},
			{Day: today, Job: "extract", Model: "local", Calls: 1, In: 1000, Out: 100, Cached: 10},
			{Day: today, Job: "extract", Model: "small", Calls: 2, Failed: 1, In: 2000, Out: 200, Cached: 20, Estimated: 1, Cost: &half},
		})
		if got := must(s.LLMCosts(f.ctx, f.scope.Tenant, start.Add(time.Hour)))(f); len(got) != 1 {
			t.Fatalf("since an hour later there are %d sums, want 1", len(got))
		}
	})

	t.Run("knows no sum of costs when the price of one call is not known", func(t *testing.T) {
		f := setup(t, s)
		f.putCalls(f.call("a"), f.call("b", func(c *store.LLMCall) { c.Cost = nil }))
		if got := must(s.LLMCosts(f.ctx, f.scope.Tenant, time.Time{}))(f); len(got) != 1 || got[0].Cost != nil {
			t.Fatalf("got %s", show(got))
		}
	})

	t.Run("keeps a call once, and shows it to its tenant only", func(t *testing.T) {
		f := setup(t, s)
		f.putCalls(f.call("a"))
		err := s.InTx(f.ctx, func(ctx context.Context, tx store.Tx) error { return tx.PutLLMCall(ctx, f.call("a")) })
		f.wantCode(err, oxbow.CodeConflict)
		if got := must(s.LLMCosts(f.ctx, f.scope.Tenant+"x", time.Time{}))(f); len(got) != 0 {
			t.Fatalf("a stranger sees %s", show(got))
		}
	})
}

func (f *fixture) keep(key string, now time.Time, owners ...string) {
	f.Helper()
	f.tx(func(ctx context.Context, tx store.Tx) error {
		return tx.PutLLMAnswer(ctx, store.LLMAnswer{Scope: f.scope, Key: key, Owners: f.ids(owners...),
			Answer: []byte(`{"said":"` + key + `"}`), At: now, ExpiresAt: now.Add(7 * day)}, now)
	})
}

// kept tells whether an answer is there.
func (f *fixture) kept(key string, now time.Time) bool {
	f.Helper()
	got, err := f.s.LLMAnswer(f.ctx, f.scope.Tenant, key, now)
	if err != nil {
		f.wantCode(err, oxbow.CodeNotFound)
	} else if string(got) != `{"said":"`+key+`"}` {
		f.Fatalf("the answer came back as %s", got)
	}
	return err == nil
}

func testAnswers(t *testing.T, s store.Store) {
	t.Run("keeps an answer for its tenant until its time is over", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a"))
		f.keep("k", start, "a")
		f.keep("k", start, "a")
		if !f.kept("k", start.Add(7*day-time.Millisecond)) || f.kept("k", start.Add(7*day)) || f.kept("other", start) {
			t.Fatal("the answer is not there for just its time")
		}
		_, err := s.LLMAnswer(f.ctx, f.scope.Tenant+"x", "k", start)
		f.wantCode(err, oxbow.CodeNotFound)
		f.keep("later", start.Add(8*day), "a")
		if f.kept("k", start) {
			t.Fatal("an answer whose time was over is still in the table")
		}
	})

	t.Run("keeps no answer about words that are not there", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a"))
		f.keep("none", start)
		f.keep("half", start, "a", "nobody")
		if f.kept("none", start) || f.kept("half", start) {
			t.Fatal("an answer was kept that nobody could erase")
		}
	})

	t.Run("takes an answer away with any of its owners, and no other", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a"), f.memory("b"), f.memory("c"))
		f.addTurns(f.turn("t", 0))
		f.keep("ab", start, "a", "b")
		f.keep("c", start, "c")
		f.keep("t", start, "t")
		f.erase("b")
		if f.kept("ab", start) || !f.kept("c", start) || !f.kept("t", start) {
			t.Fatal("the erasure of a memory took the wrong answers")
		}
		f.tx(func(ctx context.Context, tx store.Tx) error { return tx.EraseTurn(ctx, f.scope, f.id("t")) })
		if f.kept("t", start) || !f.kept("c", start) {
			t.Fatal("the erasure of a turn took the wrong answers")
		}
		f.keep("ab", start, "a", "b") // an answer that comes late
		if f.kept("ab", start) {
			t.Fatal("an answer came back after its words were erased")
		}
	})

	t.Run("takes nothing away for a stranger", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a"))
		f.addTurns(f.turn("t", 0))
		f.keep("a", start, "a")
		f.keep("t", start, "t")
		stranger := oxbow.Scope{Tenant: f.scope.Tenant + "x", Name: f.scope.Name}
		f.lock(stranger)
		f.tx(func(ctx context.Context, tx store.Tx) error {
			if err := tx.EraseTurn(ctx, stranger, f.id("t")); err != nil {
				return err
			}
			return tx.Erase(ctx, stranger, f.ids("a"))
		})
		if !f.kept("a", start) || !f.kept("t", start) {
			t.Fatal("a stranger took an answer away")
		}
	})
}
