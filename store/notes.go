package store

import (
	"context"

	"github.com/oxbow-memory/oxbow"
)

// NoteReader reads what of conversations was condensed, and what waits for it.
type NoteReader interface {
	// Unobserved gives the turns of a conversation that were read (extracted or
	// failed) and not observed yet, in the order in which they were said, then by id.
	Unobserved(ctx context.Context, s oxbow.Scope, conversation string, limit int) ([]oxbow.Turn, error)
	// CountUnobserved counts them and their tokens, by TurnTokens.
	CountUnobserved(ctx context.Context, s oxbow.Scope, conversation string) (turns, tokens int, err error)
	// Conversations gives names in the order of their bytes, those behind after.
	Conversations(ctx context.Context, s oxbow.Scope, f ConversationFilter) ([]string, error)
	// EvidenceOf gives the turns that observations rest on, by memory, then by when
	// the turn was said, then by its id. Other memories have none here: their turn
	// stands in their row.
	EvidenceOf(ctx context.Context, tenant string, memories []string) ([]Evidence, error)
	// HasNotes tells whether a scope has ever had an observation. It is one look
	// into an index, because it stands in the way of writes.
	HasNotes(ctx context.Context, s oxbow.Scope) (bool, error)
	// ShownIn gives what the agent of a conversation was shown, by memory.
	ShownIn(ctx context.Context, s oxbow.Scope, conversation string) ([]oxbow.Shown, error)
}

// NoteWriter remembers it.
type NoteWriter interface {
	// ObserveTurns marks turns of a scope as observed in a run; "" takes the mark
	// away. Unknown ids and those of other scopes are left out. Idempotent.
	ObserveTurns(ctx context.Context, s oxbow.Scope, turns []string, run string) error
	// PutEvidence remembers which turns observations of a scope rest on. Idempotent.
	PutEvidence(ctx context.Context, s oxbow.Scope, es []Evidence) error
}

// Evidence is one turn that an observation rests on.
type Evidence struct {
	Memory string `json:"memory"`
	Turn   string `json:"turn"`
}

// ConversationFilter selects conversations of a scope: those with turns that wait
// to be observed, or those with active observations and reflections.
type ConversationFilter struct {
	Noted bool   // those with active notes
	After string // the last name of the page before
	Limit int
}

// NoteRule says what of a scope a search looks at.
type NoteRule int

// The rules. A note is what oxbow.Memory.IsNote says.
const (
	WithNotes NoteRule = iota
	WithoutNotes
	OnlyNotes
)

// TurnTokens estimates the tokens of a turn's words, a token for every four bytes,
// as llm.TokensOf does.
func TurnTokens(t oxbow.Turn) int {
	n := len(t.User) + len(t.Assistant)
	for _, p := range t.Parts {
		n += len(p.Text)
	}
	return (n + 3) / 4
}
