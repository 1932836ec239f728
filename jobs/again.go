package jobs

import (
	"context"
	"errors"
	"maps"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/store"
)

// unknown leaves out memories that an earlier reading of the turn made.
func unknown(ctx context.Context, r store.MemoryReader, tenant string, ms []oxbow.Memory) ([]oxbow.Memory, error) {
	ids := idsOf(ms)
	have, err := r.Memories(ctx, tenant, ids)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, m := range have {
		known[m.ID] = true
	}
	var out []oxbow.Memory
	for _, m := range ms {
		if !known[m.ID] {
			out = append(out, m)
		}
	}
	return out, nil
}

// maxReread bounds how many memories of an earlier reading are compared.
const maxReread = 50

// unsaid leaves out what an earlier reading of the turn made already, in these
// words or, where the judge says so, in others: another judge words things
// differently, and what the earlier one made stays.
func (d Deps) unsaid(ctx context.Context, t oxbow.Turn, ms []oxbow.Memory) ([]oxbow.Memory, error) {
	ms, err := unknown(ctx, d.Store, t.Scope.Tenant, ms)
	if err != nil || t.Run == "" || len(ms) == 0 {
		return ms, err
	}
	made, err := d.Store.ListMemories(ctx, store.MemoryFilter{Tenant: t.Scope.Tenant, Scope: t.Scope.Name, Turn: t.ID, Limit: maxReread})
	if err != nil {
		return nil, err
	}
	var out []oxbow.Memory
	for _, m := range ms {
		said, err := d.saidBefore(ctx, m, made)
		if err != nil {
			return nil, err
		}
		if !said {
			out = append(out, m)
		}
	}
	return out, nil
}

// saidBefore tells whether one of a turn's earlier memories says what m says. A
// free memory does not stand for a fact: the fact's address would stay empty.
func (d Deps) saidBefore(ctx context.Context, m oxbow.Memory, made []oxbow.Memory) (bool, error) {
	offered := map[string]oxbow.Memory{}
	var others []llm.Statement
	owners := []string{m.Turn} // m is not stored yet
	for _, o := range made {
		if o.Status == oxbow.Erased || o.IsNote() || o.Source != m.Source || m.IsFact() && !o.IsFact() {
			continue
		}
		if text.Same(m.Content.Text, o.Content.Text) || rephrases(m, o) {
			return true, nil
		}
		if o.Status == oxbow.Quarantined {
			continue
		}
		label := "c" + itoa(len(others)+1)
		offered[label] = o
		others, owners = append(others, statement(label, o)), append(owners, o.ID)
	}
	// What is in quarantine is not shown to a judge; in other words it is stored
	// once more, as much out of sight as before.
	if len(others) == 0 || m.Status == oxbow.Quarantined {
		return false, nil
	}
	rs, err := d.Judge.Relate(llm.WithOwners(ctx, owners...), statement("new", m), others)
	if errors.Is(err, llm.ErrUnparsable) || errors.Is(err, llm.ErrRefused) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for _, r := range rs {
		if _, ok := offered[r.Label]; ok && r.Relation == oxbow.ConfirmsIt {
			return true, nil
		}
	}
	return false, nil
}

// rephrased is the share of their words that two wordings of one quote have in
// common. "The team uses Go for the jobs" and "We use Go for the jobs" share four
// of five; what a quote says of two things shares less than half.
const rephrased = 0.7

// rephrases tells whether two memories rest on the same words of the turn and say
// them alike: the same numbers, the same denials, and most of the other words.
func rephrases(m, o oxbow.Memory) bool {
	if m.Quote != o.Quote || m.IsFact() || o.IsFact() {
		return false
	}
	a, b := details(m.Content.Text), details(o.Content.Text)
	if !maps.Equal(a["number"], b["number"]) || !maps.Equal(a["negation"], b["negation"]) {
		return false
	}
	first, second := stems(m.Content.Text), stems(o.Content.Text)
	both := 0
	for w := range first {
		if second[w] {
			both++
		}
	}
	return both > 0 && float64(both) >= rephrased*float64(len(first)+len(second)-both)
}

func stems(s string) map[string]bool {
	out := map[string]bool{}
	terms, _ := text.Analyse(s)
	for _, t := range terms {
		out[t.Word] = true
	}
	return out
}
