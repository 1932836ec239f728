package openai_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/llm/offline"
)

// TestTokensPerObservedTurn counts what observing takes in for each turn of a
// stretch, by the estimate that budgets are drawn by:
//
//	go test ./llm/openai -run TestTokensPerObservedTurn -v
func TestTokensPerObservedTurn(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 4, 12} {
		t.Run(fmt.Sprintf("is less the longer the stretch is, at %d turns", n), func(t *testing.T) {
			t.Parallel()
			m := &till{}
			_, j := setup(t, withMeter(m))
			var turns []llm.TurnText
			whole := 0
			for i := range n {
				turns = append(turns, llm.TurnText{At: said.Add(time.Duration(i) * time.Minute),
					User:      fmt.Sprintf("We decided to keep the invoices of region %d in PostgreSQL 16, because the auditors ask for ten years.", i),
					Assistant: strings.Repeat("I can write the migration and list the queries that need another index. ", 4)})
				whole += llm.TokensOf(len(turns[i].User) + len(turns[i].Assistant))
			}
			if _, err := j.Observe(t.Context(), turns); err != nil {
				t.Fatal(err)
			}
			if len(m.reserved) != 1 {
				t.Fatalf("it took %d requests", len(m.reserved))
			}
			notes, err := offline.New().Observe(t.Context(), turns)
			if err != nil {
				t.Fatal(err)
			}
			short := 0
			for _, o := range notes {
				short += llm.TokensOf(len(o.Text))
			}
			per := m.reserved[0].In / n
			t.Logf("%d turns of %d tokens: %d tokens in for each; the rules' notes have %d tokens", n, whole, per, short)
			if short == 0 || short >= whole || per > 1500/n+250 {
				t.Errorf("%d tokens go in for each turn, %d tokens of notes for %d", per, short, whole)
			}
		})
	}
}
