package meter

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/store"
)

// DefaultBudget is how many tokens a tenant may take in a day where nothing
// else is said: some five hundred turns, at three to four thousand tokens each.
const DefaultBudget = 2_000_000

// Config is what a meter works with.
type Config struct {
	Store store.Store
	// Budget is how many tokens a tenant may take in a day of UTC. Defaults to
	// DefaultBudget; below zero there is no limit.
	Budget int64
	// Prices say what tokens cost. Defaults to none, so that no cost is known.
	Prices Prices
	// Clock gives the present. Defaults to time.Now.
	Clock func() time.Time
}

// Meter is an llm.Meter over a store. It is safe for concurrent use.
type Meter struct{ cfg Config }

var _ llm.Meter = (*Meter)(nil)

// New makes a meter; it does no I/O.
func New(cfg Config) *Meter {
	if cfg.Budget == 0 {
		cfg.Budget = DefaultBudget
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	return &Meter{cfg: cfg}
}

// settleWithin bounds how long a request is settled for; its job may have ended.
const settleWithin = 30 * time.Second

// Reserve implements llm.Meter.
func (m *Meter) Reserve(ctx context.Context, c llm.Call) (llm.Call, error) {
	c.At = m.cfg.Clock().UTC().Truncate(time.Millisecond)
	day, next := llm.BudgetDay(c.At)
	limit := m.limit(c.Purpose)
	fits := false
	err := m.cfg.Store.InTx(ctx, func(ctx context.Context, tx store.Tx) (err error) {
		fits, err = tx.ReserveTokens(ctx, c.Caller.Tenant, day, reserved(c), limit)
		return err
	})
	if err != nil {
		return c, fmt.Errorf("draw on the budget: %w", err)
	}
	if !fits {
		return c, &llm.AwayError{RetryAfter: next.Sub(c.At), Err: oxbow.Errorf(oxbow.CodeBudget,
			"the tokens of %s are used up: %s asks for %d and the limit is %d; raise openai.budget, or wait for the next day of UTC",
			day, c.Purpose, reserved(c), limit)}
	}
	return c, nil
}

// unlimited is more than anybody takes.
const unlimited = int64(1) << 60

func (m *Meter) limit(purpose string) int64 {
	switch {
	case m.cfg.Budget < 0 || purpose == llm.PurposePing:
		return unlimited
	case !isWrite(purpose):
		return llm.PassLimit(m.cfg.Budget)
	}
	return m.cfg.Budget
}

// isWrite tells whether a question is about what was just written and has to be
// answered before others: no pass's, no recall's, and none for the graph, which the
// lifecycle does without.
func isWrite(purpose string) bool {
	return purpose != "cluster" && purpose != "synthesize" && purpose != "select" && purpose != "graph" && purpose != "reflect"
}

func reserved(c llm.Call) int64 { return int64(c.In) + int64(c.MaxOut) }

// Settle implements llm.Meter. The budget is that of the day on which the
// tokens were set aside.
func (m *Meter) Settle(ctx context.Context, c llm.Call, s llm.Spent) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleWithin)
	defer cancel()
	row := m.row(c, s)
	day, _ := llm.BudgetDay(c.At)
	err := m.cfg.Store.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
		if err := tx.SettleTokens(ctx, c.Caller.Tenant, day, int64(s.In)+int64(s.Out)-reserved(c)); err != nil || !s.Reached {
			return err
		}
		return tx.PutLLMCall(ctx, row)
	})
	if err != nil {
		return fmt.Errorf("settle what the judge took: %w", err)
	}
	return nil
}

func (m *Meter) row(c llm.Call, s llm.Spent) store.LLMCall {
	row := store.LLMCall{
		ID:    oxbow.NewID("llm_call", rand.Text()),
		Scope: oxbow.Scope{Tenant: c.Caller.Tenant, Name: c.Caller.Scope}, Run: c.Caller.Run, Job: c.Caller.Job,
		Purpose: c.Purpose, Model: c.Model, Outcome: string(s.Outcome),
		In: int64(s.In), Out: int64(s.Out), Cached: int64(s.Cached), Estimated: s.Estimated,
		Cost: m.cfg.Prices.Cost(c.Model, s.In, s.Cached, s.Out), Latency: s.Latency, At: c.At,
	}
	if row.Job == "" {
		row.Job = c.Purpose
	}
	return row
}
