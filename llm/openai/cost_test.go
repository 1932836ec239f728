package openai_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/oxbow-memory/oxbow/llm"
)

// TestTokensPerWrite keeps the prompts from growing unseen: what one turn of a
// usual length costs, from its reading to the last verdict, by the estimate
// that budgets are drawn by. docs/operations.md repeats the figures.
func TestTokensPerWrite(t *testing.T) {
	t.Parallel()
	turn := llm.TurnText{At: said,
		User: "We had the planning call today. The checkout service moves from PostgreSQL to MySQL by the end of March, " +
			"because the hosting team only runs MySQL. I prefer small pull requests, and Ada is on call until Friday.",
		Assistant: strings.Repeat("I can draft the migration plan, list the queries that need another form, and split the work into small steps. ", 4)}
	memories := []string{"The checkout service moves from PostgreSQL to MySQL by the end of March.", "The user prefers small pull requests.", "Ada is on call until Friday."}
	var candidates []llm.Statement
	for i := range 10 { // a page, as many as are ever compared in one request
		candidates = append(candidates, statement(fmt.Sprint("c", i+1), "The billing service keeps its invoices in PostgreSQL 16."))
	}

	for _, c := range []struct{ facts, most int }{{1, 3500}, {3, 8000}} {
		t.Run(fmt.Sprintf("stays under its bound for %d new memories", c.facts), func(t *testing.T) {
			t.Parallel()
			m := &till{}
			_, j := setup(t, withMeter(m))
			ctx := t.Context()
			_, err := j.Extract(ctx, turn)
			for _, text := range memories[:c.facts] {
				s := statement("new", text)
				for _, ask := range []func() error{
					func() error { _, err := j.Confidence(ctx, text, turn); return err },
					func() error { _, err := j.Relate(ctx, s, candidates); return err },
					func() error { _, err := j.Expiry(ctx, s, nil); return err },
				} {
					if err == nil {
						err = ask()
					}
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			sum, by := 0, map[string]int{}
			for _, r := range m.reserved {
				sum += r.In
				by[r.Purpose] = max(by[r.Purpose], r.In)
			}
			t.Logf("%d new memories: %d tokens in, in %d requests; the largest of each: %v", c.facts, sum, len(m.reserved), by)
			if sum > c.most {
				t.Errorf("%d tokens go in, more than %d", sum, c.most)
			}
		})
	}
}
