package main

import (
	"strings"

	"github.com/oxbow-memory/oxbow/llm"
)

// modelVectors is what a cosine counts in recall when a model makes the vectors.
//
// Limit: an estimate. No model's vectors were at hand to measure it with.
const modelVectors = 0.5

// vectorWeight gives what an embedder's vectors count beside the words: nothing
// for the one that knows spelling alone.
func vectorWeight(e llm.Embedder) float64 {
	if e == nil || strings.HasPrefix(e.ID(), "lexical/") {
		return 0
	}
	return modelVectors
}
