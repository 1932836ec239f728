package lab

import (
	"time"

	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/llm/offline"
	"github.com/oxbow-memory/oxbow/recall"
)

// Days and Classes read a question as the program does, by the offline rules.
func Days(text string, ref time.Time, zone *time.Location) []recall.Span {
	var out []recall.Span
	for _, d := range offline.Dates(text, ref.In(zone)) {
		out = append(out, recall.Span{From: d.Start, To: d.End})
	}
	return out
}

// Classes is described at Days.
func Classes(question string) []recall.Class {
	var out []recall.Class
	for _, c := range offline.Classes(question) {
		out = append(out, recall.Class{Name: c.Name, Names: c.Names, Holds: c.Named})
	}
	return out
}

// Reads gives the bench an engine that reads questions by the offline rules; what
// judges stays the bench's.
func (b *Bench) Reads() {
	b.Helper()
	b.Engine = engine.New(engine.Config{Store: b.DB, Judge: b.Judge, Clock: b.Clock.Now, ReadDetails: offline.ReadDetails, Days: Days, Classes: Classes})
}
