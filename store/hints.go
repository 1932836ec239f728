package store

import (
	"context"
	"slices"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
)

// HintReader finds memories that are not indexed by the hints of their details:
// what was stored before there were any, or by older rules (text.HintRules).
type HintReader interface {
	// WithoutHints gives a page of them, by id, erased and quarantined ones left out.
	WithoutHints(ctx context.Context, s oxbow.Scope, after string, limit int) ([]oxbow.Memory, error)
	// CountWithoutHints counts them; an empty scope name counts the tenant's.
	CountWithoutHints(ctx context.Context, s oxbow.Scope) (int, error)
}

// HintWriter indexes memories by hints. Apply does it for what it stores.
type HintWriter interface {
	// PutHints indexes memories by the hints of the details that are given with
	// them, in the place of those that they had, and gives how many it indexed:
	// one that was edited or erased since it was read is left out. Their content
	// does not change, and nothing is written to the log. Idempotent.
	PutHints(ctx context.Context, s oxbow.Scope, ms []oxbow.Memory) (int, error)
}

// Indexed is what of a memory stands in the index.
type Indexed struct {
	Terms  []text.Term // of its words
	Hints  []int64     // of its details; they add nothing to its length
	Length int         // in terms
}

// IndexOf gives the terms and hints of a memory.
func IndexOf(m oxbow.Memory) Indexed {
	out := Indexed{Hints: []int64{}}
	out.Terms, out.Length = TermsOf(m)
	for _, c := range text.Hints(m.Content.Details, out.Terms) {
		out.Hints = append(out.Hints, text.HintHash(c))
	}
	return out
}

// TermsOf gives the terms of a memory's words, and how many words those are. Tags
// stand last and are found however many words stand before them.
func TermsOf(m oxbow.Memory) (terms []text.Term, length int) {
	terms, length = text.Analyse(SearchText(m))
	if len(terms) < text.MaxTerms {
		return terms, length
	}
	for _, tag := range m.Content.Tags {
		for _, h := range TagTerms(tag) {
			if !slices.ContainsFunc(terms, func(t text.Term) bool { return t.Hash == h }) {
				terms = append(terms, text.Term{Hash: h, TF: 1})
			}
		}
	}
	return terms, length
}

// FewTagged is how many memories, found in the index by the terms of a tag, are
// looked at one by one for it: beyond that a list finds enough in its own order.
const FewTagged = 2000

// TagTerms gives the hashes of the terms that whatever has a tag is indexed by, so
// that the content of what does not have them need not be read. A tag without a word
// has none. Limit: a text of more than text.MaxTerms that an older program indexed has
// not those of its tags before it is edited.
func TagTerms(tag string) []int64 {
	terms, _ := text.Analyse(tag)
	hashes := make([]int64, len(terms))
	for i, t := range terms {
		hashes[i] = t.Hash
	}
	return hashes
}

type indexKey struct {
	id      string
	version int
}

// IndexOf is the function of that name, which asks once for each content.
func (p *Plan) IndexOf(m oxbow.Memory) Indexed {
	k := indexKey{m.ID, m.ContentVersion}
	in, ok := p.index[k]
	if !ok {
		in = IndexOf(m)
		if p.index == nil {
			p.index = map[indexKey]Indexed{}
		}
		p.index[k] = in
	}
	return in
}

// Pairs gives the rows of the index, each a hash and how often it occurs.
func (in Indexed) Pairs() [][2]int64 {
	out := make([][2]int64, 0, len(in.Terms)+len(in.Hints))
	for _, t := range in.Terms {
		out = append(out, [2]int64{t.Hash, int64(t.TF)})
	}
	for _, c := range in.Hints {
		out = append(out, [2]int64{c, 1})
	}
	return out
}
