package engine_test

import (
	"strings"
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

func TestSpeaker(t *testing.T) {
	tell(t,
		story{"is kept, found by and told apart", func(b *bench) {
			mine := b.Remember(engine.Statement{Text: "I live in Oslo"})
			bens := b.Remember(engine.Statement{Text: "I live in Oslo", Speaker: " Ben\x00 Berg "})
			equal(b, "the speaker", b.Get(bens.ID).Content.Speaker, "Ben Berg")
			found := b.recall(engine.Recall{Text: "where is Ben?"})
			equal(b, "found by name", len(found.Results), 1)
			equal(b, "who", found.Results[0].Memory.ID, bens.ID)
			b.drain()
			equal(b, "what the user said", b.Get(mine.ID).Status, oxbow.Active)
			equal(b, "what Ben said", b.Get(bens.ID).Status, oxbow.Active)
			words := "I live in Bergen"
			_, err := b.Engine.Edit(b.Ctx, b.tenant(), bens.ID, engine.Change{Text: &words})
			b.Must(err)
			equal(b, "the speaker after an edit", b.Get(bens.ID).Content.Speaker, "Ben Berg")
			b.Clean()
		}},
		story{"is cut to eighty characters", func(b *bench) {
			m := b.Remember(engine.Statement{Text: "Hello there", Speaker: strings.Repeat("ab ", 60)})
			if n := len(b.Get(m.ID).Content.Speaker); n > 82 || n < 40 {
				b.Errorf("%d bytes", n)
			}
		}},
	)
}
