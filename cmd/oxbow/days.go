package main

import (
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/llm/offline"
	"github.com/oxbow-memory/oxbow/recall"
)

// days gives recall the times that a question names, as the offline rules read
// them.
func days(text string, ref time.Time, zone *time.Location) []recall.Span {
	var out []recall.Span
	for _, d := range offline.Dates(text, ref.In(zone)) {
		out = append(out, recall.Span{From: d.Start, To: d.End})
	}
	return out
}

// classes gives recall the sorts of tools that a question asks for, as the offline
// rules know them.
func classes(question string) []recall.Class {
	var out []recall.Class
	for _, c := range offline.Classes(question) {
		out = append(out, recall.Class{Name: c.Name, Names: c.Names, Holds: c.Named})
	}
	return out
}

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
