package jobs

import (
	"strings"

	"github.com/oxbow-memory/oxbow"
)

// Screen puts a new memory into quarantine when it reads like an order to the
// agent that no user gave. Nothing else about a memory can keep it from being
// stored; an operator who looks at it releases it.
func Screen(m oxbow.Memory) oxbow.Memory {
	if m.Status == oxbow.Active && Instruction(screened(m), m.Source) != "" {
		m.Status, m.Pinned = oxbow.Quarantined, false
	}
	return m
}

// screened is all that an agent would be shown of a memory.
func screened(m oxbow.Memory) string {
	return strings.Join(append([]string{m.Content.Text, m.Content.Summary, m.Content.Speaker}, m.Content.Tags...), "\n")
}

// screenQuoted is Screen for the words that a memory rests on.
func screenQuoted(t oxbow.Turn, m oxbow.Memory) oxbow.Memory {
	if m.Status == oxbow.Active && restsOnOrder(t, m) {
		m.Status = oxbow.Quarantined
	}
	return m
}

// restsOnOrder tells whether the sentence of a quote is an order that the memory
// only retells, or whether a memory that reads like an order, and rests on a few
// harmless words of the user's, says what another part of the turn orders.
func restsOnOrder(t oxbow.Turn, m oxbow.Memory) bool {
	whole := partOf(t, m.Quote.Part)
	if Instruction(sentenceAround(whole, m.Quote.Start, m.Quote.End), m.Source) != "" {
		return true
	}
	if m.Source != oxbow.FromUser || Instruction(m.Content.Text, oxbow.FromImport) == "" {
		return false
	}
	if Instruction(sentenceAround(whole, m.Quote.Start, m.Quote.End), oxbow.FromImport) != "" {
		return false // the user's own order
	}
	others := []string{t.Assistant}
	for _, p := range t.Parts {
		others = append(others, p.Text)
	}
	return Instruction(strings.Join(others, "\n"), oxbow.FromImport) != ""
}

// partOf gives the part of a turn that a quote names.
func partOf(t oxbow.Turn, name string) string {
	switch name {
	case "user":
		return t.User
	case "assistant":
		return t.Assistant
	}
	for i, p := range t.Parts {
		if name == "parts/"+itoa(i) {
			return p.Text
		}
	}
	return ""
}

// sentenceAround gives bytes [from, to) of a text, widened to the ends of the
// sentences or lines in which they stand.
func sentenceAround(s string, from, to int) string {
	if to > len(s) || from > to {
		return ""
	}
	from = strings.LastIndexAny(s[:from], ".!?\n") + 1
	if end := strings.IndexAny(s[to:], ".!?\n"); end >= 0 {
		return strings.TrimSpace(s[from : to+end+1])
	}
	return strings.TrimSpace(s[from:])
}
