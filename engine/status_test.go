package engine_test

import (
	"context"
	"fmt"
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

func TestNextOfStatus(t *testing.T) {
	tell(t, story{"names the schedules that come soonest, of those that are not paused", func(b *bench) {
		for _, name := range []string{"a", "b", "c"} {
			b.Remember(engine.Statement{Text: "tea: green", Scope: oxbow.Scope{Tenant: b.tenant(), Name: name}})
		}
		all, err := b.DB.ListSchedules(b.Ctx, oxbow.Scope{Tenant: b.tenant()})
		b.Must(err)
		b.Must(b.Engine.SetSchedulePaused(b.Ctx, oxbow.Scope{Tenant: b.tenant(), Name: "b"}, "expire", true))
		st, err := b.Engine.Status(b.Ctx, oxbow.Scope{Tenant: b.tenant()})
		b.Must(err)
		var names []string
		for i, s := range st.Next {
			names = append(names, s.Scope.Name+"/"+s.Name)
			if i > 0 && s.NextAt.Before(st.Next[i-1].NextAt) {
				b.Errorf("%s comes before the one that is named before it", s.Name)
			}
		}
		if len(all) < 9 || len(names) != 5 {
			b.Errorf("of %d schedules it names %v", len(all), names)
		}
		equal(b, "the hourly ones come first", fmt.Sprint(names[:2]), "[a/expire c/expire]")
	}})
}
