package llmtest

import (
	"context"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm"
)

// Plain is the judge of a server that nobody told what to say: what a user
// says in four words or more is worth keeping and was said outright; nothing
// contradicts, ends or resembles anything; a group becomes its sentences, once
// each; what shares a word of four letters or more with a cue is selected; the
// first five words of what a user says are a note, and notes become one line.
type Plain struct{}

var (
	_ llm.Judge    = Plain{}
	_ llm.Selector = Plain{}
	_ llm.Grapher  = Plain{}
	_ llm.Observer = Plain{}
)

// Name is plain@1.
func (Plain) Name() string { return "plain@1" }

// Extract keeps the user's words as they are.
func (Plain) Extract(_ context.Context, t llm.TurnText) (llm.Extraction, error) {
	said := strings.TrimSpace(t.User)
	if len(strings.Fields(said)) < 4 || strings.HasSuffix(said, "?") {
		return llm.Extraction{Reason: "nothing was said"}, nil
	}
	return llm.Extraction{Drafts: []llm.Draft{{
		Text: said, Kind: oxbow.Semantic, Importance: 5, Quote: said,
	}}}, nil
}

// Confidence is 1.
func (Plain) Confidence(context.Context, string, llm.TurnText) (llm.Rating, error) {
	return llm.Rating{Confidence: 1}, nil
}

// Relate finds nothing related.
func (Plain) Relate(context.Context, llm.Statement, []llm.Statement) ([]llm.Relation, error) {
	return nil, nil
}

// Expiry finds that nothing ends.
func (Plain) Expiry(context.Context, llm.Statement, *time.Location) (llm.Expiry, error) {
	return llm.Expiry{}, nil
}

// Cluster finds no groups.
func (Plain) Cluster(context.Context, []llm.Statement) ([][]string, error) { return nil, nil }

// Synthesize puts the sentences one after another, without repeats.
func (Plain) Synthesize(_ context.Context, items []llm.Statement) (llm.Synthesis, error) {
	var out []string
	seen := map[string]bool{}
	for _, s := range items {
		if !seen[s.Text] {
			seen[s.Text] = true
			out = append(out, s.Text)
		}
	}
	return llm.Synthesis{Text: strings.Join(out, " ")}, nil
}

// Graph finds nothing that has a name.
func (Plain) Graph(context.Context, llm.Statement) (llm.Graph, error) { return llm.Graph{}, nil }

// Select gives the first statements that share a word with the cue.
func (Plain) Select(_ context.Context, cue string, items []llm.Statement, limit int) ([]string, error) {
	words := map[string]bool{}
	for w := range strings.FieldsSeq(strings.ToLower(cue)) {
		words[strings.Trim(w, ".,;:!?")] = true
	}
	var out []string
	for _, s := range items {
		for w := range strings.FieldsSeq(strings.ToLower(s.Text)) {
			if w = strings.Trim(w, ".,;:!?"); len(w) > 3 && words[w] && len(out) < limit {
				out = append(out, s.Label)
				break
			}
		}
	}
	return out, nil
}
