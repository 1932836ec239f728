package engine_test

import (
	"testing"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/recall"
)

// recall asks the bench's scope.
func (b *bench) recall(q engine.Recall) recall.Answer {
	b.Helper()
	if q.Scope.Name == "" {
		q.Scope = b.Bench.Scope
	}
	answer, err := b.Engine.Recall(b.Ctx, q)
	b.Must(err)
	return answer
}

// texts gives what an answer says, best first.
func texts(a recall.Answer) []string {
	var out []string
	for _, r := range a.Results {
		out = append(out, r.Memory.Content.Text)
	}
	return out
}

func TestRecall(t *testing.T) {
	tell(t,
		story{"finds what shares words with the question, and counts it as used once a day", func(b *bench) {
			m := b.Remember(engine.Statement{Text: "We use PostgreSQL for the orders"})
			b.Remember(engine.Statement{Text: "Ada plays the cello"})
			for range 2 {
				got := texts(b.recall(engine.Recall{Text: "which database keeps the orders?"}))
				equal(b, "results", len(got), 1)
			}
			equal(b, "uses", b.Get(m.ID).AccessCount, 1)
		}},
		story{"does not count what nobody asked for", func(b *bench) {
			m := b.Remember(engine.Statement{Text: "We use PostgreSQL for the orders"})
			equal(b, "results", len(b.recall(engine.Recall{Text: "orders", Passive: true}).Results), 1)
			equal(b, "uses", b.Get(m.ID).AccessCount, 0)
		}},
		story{"gives an empty answer of a scope that nobody knows and of words that nothing has", func(b *bench) {
			b.Remember(engine.Statement{Text: "We use PostgreSQL for the orders"})
			equal(b, "of another scope", len(b.recall(engine.Recall{Text: "orders", Scope: oxbow.Scope{Tenant: b.tenant(), Name: "nobody"}}).Results), 0)
			equal(b, "of other words", len(b.recall(engine.Recall{Text: "zebra"}).Results), 0)
		}},
	)
}
