package meter_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/lab"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/llm/llmtest"
	"github.com/oxbow-memory/oxbow/llm/meter"
	"github.com/oxbow-memory/oxbow/llm/openai"
	"github.com/oxbow-memory/oxbow/store"
)

// each runs a test on both databases, on a bench of its own.
func each(t *testing.T, test func(*lab.Bench)) {
	t.Helper()
	t.Parallel()
	lab.Each(t, func(t *testing.T, db *lab.DB) { test(lab.New(t, db)) })
}

func newMeter(b *lab.Bench, budget int64) *meter.Meter {
	return meter.New(meter.Config{Store: b.DB, Budget: budget, Clock: b.Clock.Now, Prices: meter.Prices{"small": {In: 1, Cached: 0.1, Out: 4}}})
}

func call(b *lab.Bench, purpose string, tokens int) llm.Call {
	return llm.Call{Caller: llm.Caller{Tenant: b.Scope.Tenant, Scope: b.Scope.Name, Run: "r", Job: purpose}, Purpose: purpose,
		Model: "small", In: tokens - 10, MaxOut: 10}
}

// day and nextDay are of the instant at which the bench stands.
func day(b *lab.Bench) string {
	d, _ := llm.BudgetDay(b.Clock.Now())
	return d
}

func nextDay(b *lab.Bench) time.Time {
	_, next := llm.BudgetDay(b.Clock.Now())
	return next
}

// wantDrawn checks what is drawn of the day on which the bench stands.
func wantDrawn(b *lab.Bench, want int64) {
	b.Helper()
	got, err := b.DB.TokensOf(b.Ctx, b.Scope.Tenant, day(b))
	b.Must(err)
	if got.Drawn != want {
		b.Fatalf("%d tokens are drawn, want %d", got.Drawn, want)
	}
}

// wantAway checks that a request was turned away until the next day.
func wantAway(b *lab.Bench, err error) {
	b.Helper()
	away, ok := err.(*llm.AwayError)
	if !ok || oxbow.CodeOf(err) != oxbow.CodeBudget || !b.Clock.Now().Add(away.RetryAfter).Equal(nextDay(b)) {
		b.Fatalf("got %v", err)
	}
}

func TestBudget(t *testing.T) {
	t.Parallel()

	t.Run("puts what was taken in the place of what was set aside, and keeps a record with its cost", func(t *testing.T) {
		each(t, func(b *lab.Bench) {
			m := newMeter(b, 1000)
			c, err := m.Reserve(b.Ctx, call(b, "extract", 400))
			b.Must(err)
			wantDrawn(b, 400)
			ended, cancel := context.WithCancel(b.Ctx)
			cancel()
			b.Must(m.Settle(ended, c, llm.Spent{Reached: true, Outcome: llm.OutcomeOK, In: 120, Out: 30, Cached: 20, Latency: time.Second}))
			wantDrawn(b, 150)
			costs, err := b.DB.LLMCosts(b.Ctx, b.Scope.Tenant, time.Time{})
			b.Must(err)
			if len(costs) != 1 || costs[0].In != 120 || costs[0].Cost == nil || math.Abs(*costs[0].Cost-(100*1+20*0.1+30*4)/1e6) > 1e-12 {
				b.Fatalf("got %+v", costs)
			}
		})
	})

	t.Run("gives back what was set aside for a request that reached nobody, and keeps no record", func(t *testing.T) {
		each(t, func(b *lab.Bench) {
			m := newMeter(b, 1000)
			c, err := m.Reserve(b.Ctx, call(b, "extract", 400))
			b.Must(err)
			b.Must(m.Settle(b.Ctx, c, llm.Spent{Outcome: llm.OutcomeLost}))
			wantDrawn(b, 0)
			if costs, err := b.DB.LLMCosts(b.Ctx, b.Scope.Tenant, time.Time{}); err != nil || len(costs) != 0 {
				b.Fatalf("got %+v, %v", costs, err)
			}
		})
	})

	t.Run("keeps a quarter for new writes, and turns everything but a ping away behind it", func(t *testing.T) {
		each(t, func(b *lab.Bench) {
			m := newMeter(b, 1000)
			_, err := m.Reserve(b.Ctx, call(b, "synthesize", 700))
			b.Must(err)
			for _, pass := range []string{"cluster", "synthesize", "select"} {
				_, err = m.Reserve(b.Ctx, call(b, pass, 51))
				wantAway(b, err)
			}
			for _, write := range []string{"extract", "confidence", "relate", "expiry"} {
				_, err = m.Reserve(b.Ctx, call(b, write, 75))
				b.Must(err)
			}
			_, err = m.Reserve(b.Ctx, call(b, "extract", 11))
			wantAway(b, err)
			wantDrawn(b, 1000)
			_, err = m.Reserve(b.Ctx, call(b, llm.PurposePing, 20))
			b.Must(err)
		})
	})

	t.Run("begins anew with the day of UTC, and settles on the day that it was drawn from", func(t *testing.T) {
		each(t, func(b *lab.Bench) {
			m := newMeter(b, 1000)
			c, err := m.Reserve(b.Ctx, call(b, "extract", 1000))
			b.Must(err)
			b.Clock.Set(nextDay(b))
			_, err = m.Reserve(b.Ctx, call(b, "extract", 900))
			b.Must(err)
			b.Must(m.Settle(b.Ctx, c, llm.Spent{Reached: true, Outcome: llm.OutcomeOK, In: 10, Out: 1}))
			wantDrawn(b, 900)
		})
	})

	t.Run("cannot be overdrawn by workers that draw at once", func(t *testing.T) {
		each(t, func(b *lab.Bench) {
			var wg sync.WaitGroup
			var fitted atomic.Int64
			for range 16 {
				m := newMeter(b, 1000) // each its own, as in processes of their own
				wg.Go(func() {
					if _, err := m.Reserve(b.Ctx, call(b, "extract", 150)); err == nil {
						fitted.Add(1)
					}
				})
			}
			wg.Wait()
			if fitted.Load() != 6 {
				b.Fatalf("%d requests of 150 fitted into 1000", fitted.Load())
			}
			wantDrawn(b, 900)
		})
	})

	t.Run("has no limit below zero", func(t *testing.T) {
		each(t, func(b *lab.Bench) {
			_, err := newMeter(b, -1).Reserve(b.Ctx, call(b, "cluster", 1e9))
			b.Must(err)
		})
	})
}

// cache makes a cache around the bench's judge.
func cache(b *lab.Bench, identity string) *meter.Cache {
	return meter.NewCache(meter.CacheConfig{Store: b.DB, Judge: b.Judge, Identity: identity, Clock: b.Clock.Now})
}

// asks gives a context in which the owners' words are asked about.
func asks(b *lab.Bench, owners ...string) context.Context {
	return llm.WithCaller(b.Ctx, llm.Caller{Tenant: b.Scope.Tenant, Scope: b.Scope.Name, Job: "test", Owners: owners})
}

func said(label, text string, at time.Time) llm.Statement {
	return llm.Statement{Label: label, Text: text, Kind: oxbow.Semantic, Source: oxbow.FromUser, SaidAt: at}
}

func TestCache(t *testing.T) {
	t.Parallel()

	t.Run("asks once about the same thing, whatever the question", func(t *testing.T) {
		each(t, func(b *lab.Bench) {
			m := b.Remember(lab.Statement{Text: "tea: green"})
			until := time.Date(2026, 6, 1, 23, 59, 59, 0, time.UTC)
			b.Judge.OnExpiry = func(llm.Statement, *time.Location) (llm.Expiry, error) {
				return llm.Expiry{Date: until, Phrase: "June"}, nil
			}
			c, ctx := cache(b, "v1"), asks(b, m.ID)
			one, two := said("new", "tea: green", lab.Start), said("c1", "tea: black", lab.Start)
			for range 3 {
				x, err := c.Extract(ctx, llm.TurnText{User: "tea: green", At: lab.Start})
				b.Must(err)
				_, err = c.Confidence(ctx, "tea: green", llm.TurnText{User: "tea: green"})
				b.Must(err)
				r, err := c.Relate(ctx, one, []llm.Statement{two})
				b.Must(err)
				e, err := c.Expiry(ctx, one, time.UTC)
				b.Must(err)
				_, err = c.Cluster(ctx, []llm.Statement{one, two})
				b.Must(err)
				s, err := c.Synthesize(ctx, []llm.Statement{one, two})
				b.Must(err)
				if len(x.Drafts) != 1 || len(r) != 1 || !e.Date.Equal(until) || e.Phrase != "June" || s.Text == "" {
					b.Fatalf("the answer came back as %+v, %+v, %+v, %+v", x, r, e, s)
				}
			}
			for _, q := range []string{"extract", "confidence", "relate", "expiry", "cluster", "synthesize"} {
				if n := b.Judge.Calls(q); n != 1 {
					b.Errorf("%s was asked %d times", q, n)
				}
			}
		})
	})

	t.Run("asks once which memories fit a cue, and says when its judge cannot tell", func(t *testing.T) {
		each(t, func(b *lab.Bench) {
			m := b.Remember(lab.Statement{Text: "tea: green"})
			server := llmtest.New(b.T)
			judge, err := openai.New(openai.Config{BaseURL: server.URL(), Model: "small", Meter: newMeter(b, 100_000)})
			b.Must(err)
			b.Cleanup(judge.Close)
			c := meter.NewCache(meter.CacheConfig{Store: b.DB, Judge: judge, Clock: b.Clock.Now})
			items := []llm.Statement{said("c1", "black coffee", lab.Start), said("c2", "green grapes", lab.Start)}
			for _, ask := range []struct {
				cue      string
				limit    int
				requests int
			}{{"something green", 6, 1}, {"something green", 6, 1}, {"something green", 5, 2}, {"anything green", 6, 3}} {
				got, err := c.Select(asks(b, m.ID), ask.cue, items, ask.limit)
				b.Must(err)
				if !slices.Equal(got, []string{"c2"}) || len(server.Requests()) != ask.requests {
					b.Errorf("selected %v with %d requests for %+v", got, len(server.Requests()), ask)
				}
			}
			costs, err := b.DB.LLMCosts(b.Ctx, b.Scope.Tenant, time.Time{})
			b.Must(err)
			if len(costs) != 1 || costs[0].Calls != 3 || costs[0].In == 0 {
				b.Errorf("the ledger has %+v", costs)
			}
			if _, err := cache(b, "v1").Select(asks(b, m.ID), "green", items, 6); oxbow.CodeOf(err) != oxbow.CodeUnsupported {
				b.Errorf("a judge that cannot select gave %v", err)
			}
		})
	})

	t.Run("asks again when anything is another", func(t *testing.T) {
		each(t, func(b *lab.Bench) {
			m := b.Remember(lab.Statement{Text: "tea: green"})
			ctx, c := asks(b, m.ID), cache(b, "v1")
			one, two := said("new", "tea: green", lab.Start), said("c1", "tea: black", lab.Start)
			oslo, err := time.LoadLocation("Europe/Oslo")
			b.Must(err)
			relates := func(ctx context.Context, c *meter.Cache, s llm.Statement, others ...llm.Statement) {
				b.Helper()
				before := b.Judge.Calls("relate")
				_, err := c.Relate(ctx, s, others)
				b.Must(err)
				if b.Judge.Calls("relate") != before+1 {
					b.Error("an answer to something else was given")
				}
			}
			relates(ctx, c, one, two)
			relates(ctx, cache(b, "v2"), one, two)                                  // another model, prompt or schema
			relates(ctx, c, one, two, said("c2", "tea: white", lab.Start))          // other candidates
			relates(ctx, c, one, said("c2", "tea: black", lab.Start))               // other labels
			relates(ctx, c, said("new", "tea: green", lab.Start.Add(lab.Day)), two) // another day
			relates(ctx, c, said("new", "tea: greener", lab.Start), two)            // other words
			relates(llm.WithCaller(ctx, llm.Caller{Tenant: "other"}), c, one, two)  // nobody to erase it by
			relates(llm.WithCaller(ctx, llm.Caller{Tenant: "other", Owners: []string{m.ID}}), c, one, two)
			anew := llm.CallerOf(ctx)
			anew.Anew = "a second look"
			relates(llm.WithCaller(ctx, anew), c, one, two)
			before := b.Judge.Calls("relate")
			for _, again := range []context.Context{llm.WithCaller(ctx, anew), ctx} { // each look pays once, and the first is kept
				_, err = c.Relate(again, one, []llm.Statement{two})
				b.Must(err)
			}
			if b.Judge.Calls("relate") != before {
				b.Error("a look that was paid for was paid for again")
			}
			b.Clock.Add(meter.KeepFor)
			relates(ctx, c, one, two)
			for _, zone := range []*time.Location{time.UTC, oslo} {
				_, err = c.Expiry(ctx, one, zone)
				b.Must(err)
			}
			if b.Judge.Calls("expiry") != 2 {
				b.Error("another zone got the same day")
			}
		})
	})

	t.Run("keeps no error", func(t *testing.T) {
		each(t, func(b *lab.Bench) {
			m := b.Remember(lab.Statement{Text: "tea: green"})
			b.Judge.OnConfidence = func(string) (llm.Rating, error) { return llm.Rating{}, llm.ErrUnparsable }
			for range 2 {
				if _, err := cache(b, "v1").Confidence(asks(b, m.ID), "tea: green", llm.TurnText{}); err != llm.ErrUnparsable {
					b.Fatalf("got %v", err)
				}
			}
			if n := b.Judge.Calls("confidence"); n != 2 {
				b.Fatalf("asked %d times", n)
			}
		})
	})
}

// The canary is a word that only the judge says.
func TestErasure(t *testing.T) {
	t.Parallel()
	const canary = "quetzalcoatlus"

	t.Run("takes what a model said about the words too", func(t *testing.T) {
		t.Parallel()
		lab.Each(t, func(t *testing.T, db *lab.DB) {
			b := lab.New(t, db)
			b.Ingest(oxbow.Turn{ID: "one", Conversation: "c", User: "pet: a bird", At: lab.Start})
			turns, err := db.ListTurns(b.Ctx, store.TurnFilter{Tenant: b.Scope.Tenant, Scope: b.Scope.Name, Limit: 1})
			b.Must(err)
			m := b.Remember(lab.Statement{Text: "pet: a cat"})
			b.Judge.OnExtract = func(llm.TurnText) (llm.Extraction, error) {
				return llm.Extraction{Drafts: []llm.Draft{lab.DraftOf("pet: a " + canary)}}, nil
			}
			b.Judge.OnSynthesize = func([]llm.Statement) (llm.Synthesis, error) { return llm.Synthesis{Text: "pet: a " + canary}, nil }
			c := cache(b, "v1")
			_, err = c.Extract(asks(b, turns[0].ID), llm.TurnText{User: "pet: a bird"})
			b.Must(err)
			_, err = c.Synthesize(asks(b, m.ID), nil)
			b.Must(err)
			if !strings.Contains(db.Dump(t), canary) {
				t.Fatal("the word is nowhere, so this test could not fail")
			}
			_, err = b.Engine.EraseTurn(b.Ctx, b.Scope.Tenant, turns[0].ID)
			b.Must(err)
			_, err = b.Engine.EraseMemory(b.Ctx, b.Scope.Tenant, m.ID)
			b.Must(err)
			if strings.Contains(db.Dump(t), canary) {
				t.Fatal("what the model said is still there")
			}
		})
	})
}

func TestRetriedJob(t *testing.T) {
	t.Parallel()

	t.Run("pays once for what it asks a model twice", func(t *testing.T) {
		each(t, func(b *lab.Bench) {
			server := llmtest.New(b.T)
			judge, err := openai.New(openai.Config{BaseURL: server.URL(), Model: "small", Meter: newMeter(b, 100_000)})
			b.Must(err)
			b.Cleanup(judge.Close)
			c := meter.NewCache(meter.CacheConfig{Store: b.DB, Judge: judge, Identity: judge.Identity(), Clock: b.Clock.Now})
			m := b.Remember(lab.Statement{Text: "I like tea."})
			var drawn [2]int64
			for i := range drawn {
				_, err := c.Confidence(asks(b, m.ID), "I like tea.", llm.TurnText{User: "I like tea."})
				b.Must(err)
				got, err := b.DB.TokensOf(b.Ctx, b.Scope.Tenant, day(b))
				b.Must(err)
				drawn[i] = got.Drawn
			}
			if len(server.Requests()) != 1 || drawn[0] == 0 || drawn[1] != drawn[0] {
				b.Fatalf("%d requests, drawn %v", len(server.Requests()), drawn)
			}
		})
	})
}
