// Package offline is a judge made of rules: no network, no model, no state, and
// the same answer to the same question every time.
//
// It reads a statement into a claim (claim.go): who it speaks of, which tools
// and values it names, whether it asserts, plans, asks or reports, and what it
// says has changed. Two statements are then compared by their typed parts, not
// by how alike their words are: similarity cannot tell a contradiction from an
// addition (cosine .59 against .46 in what was measured), and a slot rule without
// value types took "the manager is Indian" for a contradiction of "the manager
// is Priya". Being unsure is an answer: then both statements stay, as a conflict,
// or nothing is said at all. English only; other languages are left alone.
//
// Everything but a fact keeps the user's own words, first person included, so
// that a memory can be laid beside its quotation.
//
// The files follow the questions of llm.Judge: extract.go and facts.go;
// confidence.go with the verbs of confidence_verbs.go; relate.go with
// relate_details.go (the typed details that details.go reads, details_slots.go by
// the verb, and details_words.go lists), relate_slots.go (older typed values), relate_frames.go (the same words around another
// value), relate_denial.go (what is denied, and opposites) and relate_prose.go
// (long passages, which only ever conflict); expiry.go over the dates files;
// cluster.go over similarity.go; synthesize.go. select.go chooses for a recall; embedder.go is the llm.Embedder.
// words.go and lexicon.go are what they stand on: a new tool or a new class of
// tools is one line in lexicon.go.
//
// Limit: the rules know about a hundred and fifty tools by name (lexicon.go), and
// few things by what they mean. Of 259 unseen pairs at first sight two were
// replaced wrongly, and 99 of 125 contradictions were found; docs/judge.md has
// the figures and how to measure. That is why the gate exists, and why every
// replacement can be taken back.
//
// Anything that needs a judge may be given this one; it imports the root
// package, llm, internal/text, and word segmentation only.
package offline
