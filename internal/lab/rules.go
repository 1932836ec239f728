package lab

import (
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/llm/offline"
	"github.com/oxbow-memory/oxbow/recall/asked"
)

// Reads gives the bench an engine that reads questions by the offline rules; what
// judges stays the bench's.
func (b *Bench) Reads() {
	b.Helper()
	b.Engine = engine.New(engine.Config{Store: b.DB, Judge: b.Judge, Clock: b.Clock.Now, ReadDetails: offline.ReadDetails, Days: asked.Days, Classes: asked.Classes})
}
