package store

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow"
)

// Recaller finds the candidates that recall ranks. Both methods give rows
// without content, so that a ranking may look at hundreds and read the words of
// a few. Both are reads of one scope and never fail for what a query says.
type Recaller interface {
	// Match scores a scope's memories by BM25 over weighted terms, best first,
	// ties by id, and tells which of the terms stand in each.
	Match(ctx context.Context, q MatchQuery) (Matched, error)
	// Beside gives what was said just before and just after memories in their
	// conversations, but for observations and reflections: for every id the nearest ones first, earlier before later.
	// A memory without a conversation has nothing beside it.
	Beside(ctx context.Context, q BesideQuery) ([]Neighbour, error)
}

// Weighted is one term of a query, by its hash, and what it counts: 1 for a
// word as it was asked, less for one that was added.
type Weighted struct {
	Hash   int64
	Weight float64
}

// MaxTerms is how many terms a MatchQuery may have; what stands behind them is
// left out. Two bits of Match.Terms stay free.
const MaxTerms = 62

// MatchQuery asks for the memories of a scope that share terms with a cue.
type MatchQuery struct {
	Scope    oxbow.Scope
	Terms    []Weighted // distinct
	Statuses []oxbow.Status
	Slots    []string   // nil is any
	Keyed    bool       // only memories with an address
	NoNotes  bool       // leave out observations and reflections
	Kind     oxbow.Kind // "" is any
	LiveAt   time.Time  // leave out what has faded or expired by then; zero leaves nothing out
	K1, B    float64
	// Postings bounds the work. Candidates are found by the rarest terms,
	// whose postings together are at most this many, and by the rarest in any
	// case; the other terms still count for the candidates. A term that stands
	// in more texts is weighed as if it stood in this many. 0 is no bound.
	Postings int
	Limit    int // 1 to 1000
}

// Matched is what a MatchQuery found.
type Matched struct {
	Hits  []Match
	Bound float64   // the best score that any text could have: the sum of weight * idf * (k1 + 1)
	Texts int       // that the scope has indexed, in any status
	IDF   []float64 // of each term of the query; that of a term that stands nowhere is the highest
}

// Match is a memory as far as a ranking needs it before its words are read.
type Match struct {
	ID           string
	Score        float64
	Terms        uint64 // bit i is set when term i of the query stands in it
	Length       int    // of its text, in terms; 0 when none of the terms stands in it
	Status       oxbow.Status
	Kind         oxbow.Kind
	Slot, Key    string
	Source       oxbow.Source
	Conversation string
	SaidAt       time.Time
	Seq          int64 // the row; of no meaning outside the store
}

// BesideQuery asks what was said around memories.
type BesideQuery struct {
	Scope    oxbow.Scope
	IDs      []string       // distinct
	Statuses []oxbow.Status // of the neighbours
	LiveAt   time.Time      // as in MatchQuery
	Reach    int            // how many on either side, 1 to 10
}

// Neighbour is a memory beside another. Its Score, Terms and Length are zero.
type Neighbour struct {
	Match
	Of   string // the memory that it stands beside
	Step int    // -1 is just before, 1 just after
}

// MatchPlan is a MatchQuery as SQL takes it: Lead finds the candidates, and
// Rest only adds to their scores.
type MatchPlan struct {
	Lead, Rest []TermBit
	Average    float64 // length of the scope's texts, in terms, at least 1
	Matched    Matched // without hits
}

// TermBit is a term with what it counts (weight * idf) and its bit.
type TermBit struct {
	Term   int64
	Weight float64
	Bit    int64
	df     int
}

// MarshalJSON gives [term, weight, bit], the form in which a query takes it.
func (t TermBit) MarshalJSON() ([]byte, error) { return json.Marshal([3]any{t.Term, t.Weight, t.Bit}) }

// used gives the terms that a query searches by.
func (q MatchQuery) used() []Weighted { return q.Terms[:min(len(q.Terms), MaxTerms)] }

// TermHashes gives the terms whose postings are to be counted.
func (q MatchQuery) TermHashes() []int64 {
	terms := q.used()
	out := make([]int64, len(terms))
	for i, t := range terms {
		out[i] = t.Hash
	}
	return out
}

// CountLimit gives how far the postings of one term are to be counted.
func (q MatchQuery) CountLimit() int {
	if q.Postings <= 0 {
		return unboundedPostings
	}
	return q.Postings
}

// PlanMatch decides which terms find the candidates. n is how many texts the
// scope has, total the sum of their lengths.
func PlanMatch(q MatchQuery, counts []Posting, n, total int) MatchPlan {
	df := make(map[int64]int, len(counts))
	for _, c := range counts {
		df[c.Term] = c.DF
	}
	p := MatchPlan{Average: max(1, float64(total)/max(1, float64(n)))}
	p.Matched.Texts = n
	var known []TermBit
	for i, t := range q.used() {
		idf := IDF(n, df[t.Hash])
		p.Matched.IDF = append(p.Matched.IDF, idf)
		p.Matched.Bound += t.Weight * idf * (q.K1 + 1)
		if df[t.Hash] > 0 {
			known = append(known, TermBit{Term: t.Hash, Weight: t.Weight * idf, Bit: 1 << i, df: df[t.Hash]})
		}
	}
	slices.SortStableFunc(known, func(a, b TermBit) int { return a.df - b.df })
	walked, lead := 0, 0
	for _, t := range known {
		if walked += t.df; lead > 0 && walked > q.CountLimit() {
			break
		}
		lead++
	}
	p.Lead, p.Rest = known[:lead], known[lead:]
	return p
}

// MatchLooks gives how many of the best scored texts are looked up, first and
// then, as Looks does for Search.
func MatchLooks(q MatchQuery) [2]int { return [2]int{3 * q.Limit, unboundedPostings} }

// Take gives how many rows a look reads: as many as are asked for, and some
// more when the rest of the terms can still change the order.
func (p MatchPlan) Take(q MatchQuery) int {
	if len(p.Rest) == 0 {
		return q.Limit
	}
	return 2 * q.Limit
}

// PostingScore is what the rest of the terms adds to a row.
type PostingScore struct {
	Seq   int64
	Score float64
	Terms uint64
}

// Finish adds what the rest of the terms found, orders the hits and cuts them.
func (p MatchPlan) Finish(q MatchQuery, hits []Match, rest []PostingScore) Matched {
	more := make(map[int64]PostingScore, len(rest))
	for _, r := range rest {
		more[r.Seq] = r
	}
	for i := range hits {
		r := more[hits[i].Seq]
		hits[i].Score += r.Score
		hits[i].Terms |= r.Terms
	}
	slices.SortFunc(hits, func(a, b Match) int {
		if c := cmp.Compare(b.Score, a.Score); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	p.Matched.Hits = hits[:min(len(hits), q.Limit)]
	return p.Matched
}

// OrderNeighbours numbers neighbours, whose Step says only on which side they
// stand, by their distance, and puts them into the order of the ids that they
// stand beside, the nearest first, earlier before later.
func OrderNeighbours(q BesideQuery, ns []Neighbour) []Neighbour {
	at := make(map[string]int, len(q.IDs))
	for i, id := range q.IDs {
		at[id] = i
	}
	// Away from its memory: each side begins with what is nearest.
	slices.SortFunc(ns, func(a, b Neighbour) int {
		away := cmp.Or(a.SaidAt.Compare(b.SaidAt), strings.Compare(a.ID, b.ID))
		return cmp.Or(at[a.Of]-at[b.Of], a.Step-b.Step, away*a.Step)
	})
	for i := range ns {
		if i > 0 && ns[i].Of == ns[i-1].Of && (ns[i].Step < 0) == (ns[i-1].Step < 0) {
			ns[i].Step += ns[i-1].Step
		}
	}
	slices.SortStableFunc(ns, func(a, b Neighbour) int {
		return cmp.Or(at[a.Of]-at[b.Of], max(a.Step, -a.Step)-max(b.Step, -b.Step), a.Step-b.Step)
	})
	return ns
}
