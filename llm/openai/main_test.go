package openai_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/llm/llmtest"
	"github.com/oxbow-memory/oxbow/llm/openai"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The words that must never stand in an error.
const (
	testKey = "sk-heron-5512-quartz-lantern"
	canary  = "marmalade"
)

func newJudge(t *testing.T, url string, change ...func(*openai.Config)) *openai.Judge {
	t.Helper()
	cfg := openai.Config{BaseURL: url, Key: testKey, Model: "small", SynthesisModel: "large"}
	for _, f := range change {
		f(&cfg)
	}
	j, err := openai.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(j.Close)
	return j
}

func setup(t *testing.T, change ...func(*openai.Config)) (*llmtest.Server, *openai.Judge) {
	t.Helper()
	s := llmtest.New(t)
	return s, newJudge(t, s.URL(), change...)
}

var said = time.Date(2026, 11, 18, 9, 30, 0, 250e6, time.UTC) // a Wednesday

func statement(label, text string) llm.Statement {
	return llm.Statement{Label: label, Text: text, Kind: oxbow.Semantic, Source: oxbow.FromUser, SaidAt: said}
}

func two() []llm.Statement {
	return []llm.Statement{statement("c1", "The project uses PostgreSQL."), statement("c2", "Ada likes "+canary+".")}
}

var aTurn = llm.TurnText{User: "I like " + canary + " on toast.", Assistant: "Noted.", At: said}

// formats gives the formats of the requests so far.
func formats(s *llmtest.Server) []string {
	var out []string
	for _, r := range s.Requests() {
		out = append(out, r.Format)
	}
	return out
}
