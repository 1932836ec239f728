package offline

import (
	"context"
	"testing"

	"github.com/oxbow-memory/oxbow/llm"
)

func TestConfidenceOfTheVerbThatGoverns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		said, memory string
		low, high    float64
	}{
		{"Did you know that the library closes at six?", "The library closes at six", 1, 1},
		{"I forgot that the shop is closed on Mondays.", "The shop is closed on Mondays", 1, 1},
		{"I don't think the shop is closed on Mondays.", "The shop is closed on Mondays", 0, 0.1},
		{"I managed to reach the plumber.", "The user reached the plumber", 1, 1},
		{"I failed to reach the plumber.", "The user reached the plumber", 0, 0.1},
		{"Do you think the plumber charges by the hour?", "The plumber charges by the hour", 0, 0.2},
		{"Ines says the plumber charges by the hour.", "The plumber charges by the hour", 0.5, 0.5},
		{"I'm certain the plumber charges by the hour.", "The plumber charges by the hour", 1, 1},
		{"I'm not certain the plumber charges by the hour.", "The plumber charges by the hour", 0.1, 0.3},
		{"I wish the plumber charged by the hour.", "The plumber charges by the hour", 0, 0.1},
		{"The plumber charges by the hour.", "The plumber charges by the hour", 1, 1},
	} {
		t.Run(c.said, func(t *testing.T) {
			t.Parallel()
			got, err := New().Confidence(context.Background(), c.memory, llm.TurnText{User: c.said, At: wednesday})
			if err != nil {
				t.Fatal(err)
			}
			if got.Confidence < c.low || got.Confidence > c.high {
				t.Errorf("got %v, want %v to %v", got.Confidence, c.low, c.high)
			}
		})
	}
}
