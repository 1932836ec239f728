// Package asked reads a question for recall by the offline rules: which days it
// names, and which sorts of tools it asks for.
//
// recall itself takes such readers and knows no rules of language. Whoever makes
// an engine may import this package: the program, benchmarks, and agents that use
// Oxbow as a library.
package asked

import (
	"time"

	"github.com/oxbow-memory/oxbow/llm/offline"
	"github.com/oxbow-memory/oxbow/recall"
)

// Days gives the spans of time that a text names, seen from ref in a zone.
func Days(text string, ref time.Time, zone *time.Location) []recall.Span {
	var out []recall.Span
	for _, d := range offline.Dates(text, ref.In(zone)) {
		out = append(out, recall.Span{From: d.Start, To: d.End})
	}
	return out
}

// Classes gives the sorts of tools that a question asks for.
func Classes(question string) []recall.Class {
	var out []recall.Class
	for _, c := range offline.Classes(question) {
		out = append(out, recall.Class{Name: c.Name, Names: c.Names, Holds: c.Named})
	}
	return out
}
