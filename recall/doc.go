// Package recall finds what an agent needs to know again. A question goes
// through a pipeline of small stages:
//
//	analyse the cue → arms (lexical, vector, graph) → fuse → score → floor → budget → render
//
// Each published design that was worth learning from is a strategy with a name
// of its own over the same stages, so that they can be compared on one's own
// data; hybrid is the default. A strategy is one file that reads like its rule,
// and docs/recall.md says where each rule comes from.
//
//	r := recall.New(recall.Config{Store: st, Embedder: offline.NewEmbedder()})
//	answer, err := r.Ask(ctx, recall.Query{Scope: scope, Text: "do we use PostgreSQL or MySQL?"})
//	preamble := recall.Render(answer, now, zone)
//
// Only memories that are active, unexpired and unfaded are recalled, unless the
// query names an instant of the past or further statuses. What is rendered is
// evidence and not policy: it belongs into the user's turn, never into a system
// prompt.
//
// The package reads and never writes; whoever calls it says whether recalling
// was use. It works with any embedder and any selector of package llm, and with
// none. It may be imported by jobs, engine and the doors.
package recall
