package offline

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm"
)

// Each verdict is to take less than a millisecond.

func BenchmarkExpiry(b *testing.B) {
	s := llm.Statement{Text: "The quarterly review meeting with the people from Leeds is on 25 November", Kind: oxbow.Episodic, SaidAt: wednesday}
	for b.Loop() {
		_, _ = New().Expiry(context.Background(), s, time.UTC)
	}
}

func BenchmarkConfidence(b *testing.B) {
	t := llm.TurnText{User: "I don't think that the landlord knows that the heating is broken. We will see.", At: wednesday}
	for b.Loop() {
		_, _ = New().Confidence(context.Background(), "The heating is broken", t)
	}
}

func BenchmarkSimilarity(b *testing.B) {
	for b.Loop() {
		_ = Similarity("The login page loads slowly on mobile", "On mobile the login page is slow to load")
	}
}

func BenchmarkRelatePassages(b *testing.B) {
	long := strings.Repeat("I have submitted the cover letter for the position to Petra, and I wonder whether 12 pages are too many for it. ", 6)
	s := llm.Statement{Text: "I've never submitted the cover letter to Petra. " + long, SaidAt: wednesday.AddDate(0, 0, 1)}
	o := []llm.Statement{{Label: "c1", Text: long, SaidAt: wednesday}}
	for b.Loop() {
		_, _ = New().Relate(context.Background(), s, o)
	}
}
