package engine_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/recall"
)

func TestSearch(t *testing.T) {
	tell(t,
		story{"finds in every scope of a tenant, the best first, and uses nothing", func(b *bench) {
			for i := range 22 {
				b.Remember(engine.Statement{Text: fmt.Sprintf("the orders of shop number %d are in PostgreSQL", i), Scope: oxbow.Scope{Tenant: b.tenant(), Name: fmt.Sprintf("shop:%02d", i)}})
			}
			// The one with the most memories is asked though its name comes last.
			last := oxbow.Scope{Tenant: b.tenant(), Name: "zoo"}
			m := b.Remember(engine.Statement{Text: "the zoo has its orders in PostgreSQL", Scope: last})
			b.Remember(engine.Statement{Text: "the zoo opens at nine", Scope: last})
			answer, err := b.Engine.Search(b.Ctx, engine.Recall{Scope: oxbow.Scope{Tenant: b.tenant()}, Text: "orders of the zoo in PostgreSQL", Limit: 10})
			b.Must(err)
			equal(b, "how many", len(answer.Results), 10)
			equal(b, "what covers the whole question", answer.Results[0].Memory.ID, m.ID)
			if !slices.IsSortedFunc(answer.Results, func(x, y recall.Result) int { return int(1e6 * (y.Score - x.Score)) }) {
				b.Error("the best do not come first")
			}
			equal(b, "notes", fmt.Sprint(answer.Notes), "[looked in the 20 scopes with the most memories of 23: choose a scope to look in another]")
			equal(b, "uses", b.Get(m.ID).AccessCount, 0)
		}},
		story{"of nothing is empty", func(b *bench) {
			answer, err := b.Engine.Search(b.Ctx, engine.Recall{Scope: oxbow.Scope{Tenant: "nobody"}, Text: "orders"})
			b.Must(err)
			equal(b, "results", len(answer.Results), 0)
		}},
	)
}
