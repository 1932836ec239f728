package offline

import (
	"testing"

	"github.com/oxbow-memory/oxbow/llm"
)

func TestShortStatements(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"We use Redis.": 1, "I like cats": 1, "I love Go.": 1,
		"I love it!": 0, "I like that.": 0, "Sounds good.": 0, "Thanks a lot": 0, "We will see.": 0, "I am on it.": 0, "I am tired.": 0,
	} {
		t.Run("keeps what a short sentence states: "+text, func(t *testing.T) {
			t.Parallel()
			got, err := New().Extract(t.Context(), llm.TurnText{User: text, Assistant: "ok", At: wednesday})
			if err != nil || len(got.Drafts) != want {
				t.Errorf("%d memories (%q), want %d: %v", len(got.Drafts), got.Reason, want, err)
			}
		})
	}
}
