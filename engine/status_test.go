package engine_test

import (
	"context"
	"testing"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/store"
)

func TestBudgetOfStatus(t *testing.T) {
	tell(t, story{"says who waits for tokens, and until when", saysWhoWaits})
}

func saysWhoWaits(b *bench) {
	day, next := llm.BudgetDay(b.Clock.Now())
	draw := func(n, limit int64) {
		b.Must(b.DB.InTx(b.Ctx, func(ctx context.Context, tx store.Tx) error {
			_, err := tx.ReserveTokens(ctx, b.tenant(), day, n, limit)
			return err
		}))
	}
	budget := func(limit int64) *engine.Budget {
		e := engine.New(engine.Config{Store: b.DB, Judge: b.Judge, Clock: b.Clock.Now, Budget: limit})
		st, err := e.Status(b.Ctx, oxbow.Scope{Tenant: b.tenant()})
		b.Must(err)
		return st.Budget
	}
	if budget(0) != nil {
		b.Error("a budget is shown where there is none")
	}
	draw(700, llm.PassLimit(1000))
	equal(b, "before anybody is turned away", *budget(1000), engine.Budget{Day: day, Taken: 700, Limit: 1000, Until: next})
	draw(60, llm.PassLimit(1000))
	equal(b, "when a pass is", budget(1000).Waiting, "passes")
	draw(301, 1000)
	equal(b, "when a write is", budget(1000).Waiting, "jobs")
	equal(b, "when the limit is raised", budget(9000).Waiting, "")
}
