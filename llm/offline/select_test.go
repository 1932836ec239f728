package offline_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/llm/offline"
)

func TestSelect(t *testing.T) {
	t.Parallel()
	store := []string{
		"The project uses PostgreSQL for its data.",    // c1
		"Ada prefers short pull requests.",             // c2
		"The user's dog is called Biscuit.",            // c3
		"The billing service runs on Hetzner.",         // c4
		"The user works from Lisbon in the winter.",    // c5
		"Deployments of the billing service are slow.", // c6
		"我住在东京。",                                       // c7
	}
	var items []llm.Statement
	for i, s := range store {
		items = append(items, llm.Statement{Label: fmt.Sprint("c", i+1), Text: s})
	}
	items = append(items, llm.Statement{Label: "c8", Text: "Europe/Lisbon", Key: "time_zone"})
	for _, tt := range []struct {
		name, cue string
		limit     int
		want      []string
	}{
		{"ranks by how telling the shared words are", "deployments of billing", 6, []string{"c6", "c4"}},
		{"knows a tool by its class", "Which database do we have?", 6, []string{"c1"}},
		{"knows a tool by its other names", "tune postgres", 6, []string{"c1"}},
		{"reads the key of a fact", "time zone of the user", 1, []string{"c8"}},
		{"gives at most as many as asked for", "billing", 1, []string{"c4"}},
		{"keeps the order of the statements among equals", "Lisbon and Ada", 6, []string{"c2", "c5", "c8"}},
		{"compares pairs of characters where words have no spaces", "东京天气", 6, []string{"c7"}},
		{"chooses nothing when nothing fits", "How tall is Kilimanjaro?", 6, nil},
		{"chooses nothing for light words alone", "what does the user like to do", 6, nil},
		{"chooses nothing for a cue without a word", "  ?! ", 6, nil},
		{"chooses nothing when there is no room", "billing", 0, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for range 3 { // the same every time
				got, err := offline.New().Select(t.Context(), tt.cue, items, tt.limit)
				if err != nil || !slices.Equal(got, tt.want) {
					t.Fatalf("chose %v, %v, want %v", got, err, tt.want)
				}
			}
		})
	}
	t.Run("heeds the end of a context", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := offline.New().Select(ctx, "billing", items, 6); err == nil {
			t.Error("went on")
		}
	})
}
