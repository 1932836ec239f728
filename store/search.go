package store

import (
	"encoding/json"
	"slices"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
)

// Posting says in how many texts of a scope a term stands, up to a limit.
type Posting struct {
	Term int64
	DF   int
}

// Weight is a term with the weight that a query gives it.
type Weight struct {
	Term int64
	IDF  float64
}

// MarshalJSON gives [term, idf], the form in which a query takes weights.
func (w Weight) MarshalJSON() ([]byte, error) { return json.Marshal([2]any{w.Term, w.IDF}) }

// maxQueryTerms bounds the terms that a query searches by; a text of ten
// thousand words searches by its first ones.
const maxQueryTerms = 64

// Hashes gives the terms' hashes, as many as a query uses.
func Hashes(terms []text.Term) []int64 {
	out := make([]int64, 0, min(len(terms), maxQueryTerms))
	for _, t := range terms[:min(len(terms), maxQueryTerms)] {
		out = append(out, t.Hash)
	}
	return out
}

// Looks gives how many of the best scored texts are looked up, first and then:
// most searches find enough memories of the right status among a few, and to
// look up a row costs many times what it costs to score a posting.
func Looks(q SearchQuery) [2]int { return [2]int{4 * (q.Offset + q.Limit), unboundedPostings} }

// Enough tells whether what a look found is the answer. all says that it left
// nothing out.
func Enough(q SearchQuery, found int, all bool) bool { return found >= q.Limit || found > 0 && all }

// unboundedPostings stands for no bound where SQL wants a number.
const unboundedPostings = 1 << 40

// PostingLimit gives how far the postings of one term are to be counted.
func PostingLimit(q SearchQuery) int {
	if q.MaxPostings <= 0 {
		return unboundedPostings
	}
	return q.MaxPostings + 1
}

// Weigh gives the terms to search by. Those in more texts than MaxPostings are
// left out, unless every term is: then the first of them stands alone. n is the
// number of indexed texts of the scope.
func Weigh(q SearchQuery, counts []Posting, n int) []Weight {
	slices.SortFunc(counts, func(a, b Posting) int {
		if a.DF != b.DF {
			return a.DF - b.DF
		}
		if a.Term < b.Term {
			return -1
		}
		return 1
	})
	var out []Weight
	for _, c := range counts {
		if c.DF == 0 {
			continue
		}
		if c.DF >= PostingLimit(q) && len(out) > 0 {
			break
		}
		out = append(out, Weight{Term: c.Term, IDF: IDF(n, c.DF)})
		if c.DF >= PostingLimit(q) {
			break
		}
	}
	return out
}

// OneOf gives the one id that a prefix stands for. Nothing stands for nothing: a
// script's variable that was never set must not erase the only memory.
func OneOf(thing, prefix string, ids []string) (string, error) {
	if prefix == "" {
		return "", oxbow.Errorf(oxbow.CodeInvalid, "the id of the %s is empty; oxbow %s list shows those there are", thing, thing)
	}
	switch len(ids) {
	case 0:
		return "", oxbow.Errorf(oxbow.CodeNotFound, "there is no %s %s; oxbow %s list shows those there are", thing, prefix, thing)
	case 1:
		return ids[0], nil
	}
	if slices.Contains(ids, prefix) {
		return prefix, nil
	}
	return "", oxbow.Errorf(oxbow.CodeConflict, "several ids begin with %s; write more of it", prefix)
}
