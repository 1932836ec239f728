package eval

import (
	"math"
	"slices"
	"time"
)

// Recalled is one query with what recall answered, best first, by the ids of the
// file.
type Recalled struct {
	Store string
	Query RecallQuery
	Got   []string
	Took  time.Duration
}

// RecallAt is the share of the relevant memories that stand among the first k of
// what was answered: 0 to 1; 0 when nothing is relevant.
func RecallAt(got, relevant []string, k int) float64 {
	found, want := marks(got, relevant, k)
	n := 0
	for _, hit := range found {
		if hit {
			n++
		}
	}
	return share(n, want)
}

// HitAt is 1 when a relevant memory stands among the first k, else 0.
func HitAt(got, relevant []string, k int) float64 {
	if found, _ := marks(got, relevant, k); slices.Contains(found, true) {
		return 1
	}
	return 0
}

// ReciprocalRank is 1 by the rank of the first relevant memory among the first
// k, 0 when there is none (its mean over queries is the MRR).
func ReciprocalRank(got, relevant []string, k int) float64 {
	found, _ := marks(got, relevant, k)
	if i := slices.Index(found, true); i >= 0 {
		return 1 / float64(i+1)
	}
	return 0
}

// NDCG is the discounted gain of the first k, each relevant memory at rank r
// giving 1/log2(1+r), by that of the best order there could be (Järvelin and
// Kekäläinen, 2002, with gains of 0 and 1): 0 to 1.
func NDCG(got, relevant []string, k int) float64 {
	found, want := marks(got, relevant, k)
	gain, best := 0.0, 0.0
	for i, hit := range found {
		if hit {
			gain += 1 / math.Log2(float64(i+2))
		}
	}
	for i := range min(k, want) {
		best += 1 / math.Log2(float64(i+2))
	}
	if best == 0 {
		return 0
	}
	return gain / best
}

// marks tells which of the first k answers are relevant, and how many distinct
// ones there are to find. A repeat takes a place and finds nothing.
func marks(got, relevant []string, k int) (found []bool, want int) {
	left := distinct(relevant)
	want = len(left)
	for _, id := range got[:min(k, len(got))] {
		found = append(found, left[id])
		delete(left, id)
	}
	return found, want
}

// updateDepth is how far down the new statement of an update may stand.
const updateDepth = 5

// Updated tells whether one of the new memories stands among the first five and
// above every old one.
func Updated(got, old, now []string) bool {
	was, is := distinct(old), distinct(now)
	for _, id := range got[:min(updateDepth, len(got))] {
		switch {
		case was[id]:
			return false
		case is[id]:
			return true
		}
	}
	return false
}

func distinct(ids []string) map[string]bool {
	out := make(map[string]bool, len(ids))
	for _, id := range ids {
		out[id] = true
	}
	return out
}

// RecallFigures are means over queries, 0 to 1, and times in milliseconds. A
// query that nothing stored can answer has no place in the means: it counts as
// Unanswerable, and right when the answer was empty. Cold queries, the first of
// each scope, are among the times.
type RecallFigures struct {
	Queries  int     `json:"queries"` // that have an answer
	Recall5  float64 `json:"recall@5"`
	Recall10 float64 `json:"recall@10"`
	Hit10    float64 `json:"hit@10"`
	MRR      float64 `json:"mrr"`
	NDCG10   float64 `json:"ndcg@10"`
	P50      float64 `json:"p50_ms"`
	P95      float64 `json:"p95_ms"`

	Unanswerable int      `json:"unanswerable,omitempty"`
	Empty        *float64 `json:"empty,omitempty"` // the share of those answered with nothing
	Updates      int      `json:"updates,omitempty"`
	Updated      *float64 `json:"updated,omitempty"` // the share of those with the new above the old, in the top 5

	ByCategory map[string]RecallFigures `json:"by_category,omitempty"`
	Misses     []RecallMiss             `json:"misses,omitempty"`
}

// RecallMiss is a query of which not everything relevant was found, or that was
// answered though nothing can answer it.
type RecallMiss struct {
	Store    string   `json:"store"`
	Query    string   `json:"query"` // its id
	Category string   `json:"category"`
	Text     string   `json:"text"`
	Want     []string `json:"want"`
	Got      []string `json:"got"`
}

// Measure gives the figures of all queries and of each category.
func Measure(all []Recalled) RecallFigures {
	out := figuresOf(all)
	parts := map[string][]Recalled{}
	for _, r := range all {
		parts[r.Query.Category] = append(parts[r.Query.Category], r)
	}
	out.ByCategory = map[string]RecallFigures{}
	for name, part := range parts {
		out.ByCategory[name] = figuresOf(part)
	}
	for _, r := range all {
		if missed(r) {
			out.Misses = append(out.Misses, RecallMiss{Store: r.Store, Query: r.Query.ID, Category: r.Query.Category, Text: r.Query.Text,
				Want: r.Query.Relevant, Got: r.Got})
		}
	}
	return out
}

func missed(r Recalled) bool {
	if len(r.Query.Relevant) == 0 && len(r.Query.New) == 0 {
		return len(r.Got) > 0
	}
	if len(r.Query.Relevant) > 0 && RecallAt(r.Got, r.Query.Relevant, 10) < 1 {
		return true
	}
	return len(r.Query.New) > 0 && !Updated(r.Got, r.Query.Old, r.Query.New)
}

func figuresOf(all []Recalled) RecallFigures {
	var f RecallFigures
	var took []time.Duration
	empty, updated := 0, 0
	for _, r := range all {
		took = append(took, r.Took)
		if len(r.Query.New) > 0 {
			f.Updates++
			if Updated(r.Got, r.Query.Old, r.Query.New) {
				updated++
			}
		}
		switch want := r.Query.Relevant; {
		case len(want) > 0:
			f.Queries++
			f.Recall5 += RecallAt(r.Got, want, 5)
			f.Recall10 += RecallAt(r.Got, want, 10)
			f.Hit10 += HitAt(r.Got, want, 10)
			f.MRR += ReciprocalRank(r.Got, want, 10)
			f.NDCG10 += NDCG(r.Got, want, 10)
		case len(r.Query.New) == 0:
			f.Unanswerable++
			if len(r.Got) == 0 {
				empty++
			}
		}
	}
	if f.Queries > 0 {
		for _, v := range []*float64{&f.Recall5, &f.Recall10, &f.Hit10, &f.MRR, &f.NDCG10} {
			*v /= float64(f.Queries)
		}
	}
	if f.Unanswerable > 0 {
		v := share(empty, f.Unanswerable)
		f.Empty = &v
	}
	if f.Updates > 0 {
		v := share(updated, f.Updates)
		f.Updated = &v
	}
	f.P50, f.P95 = Percentile(took, .5), Percentile(took, .95)
	return f
}

// Percentile gives the smallest duration, in milliseconds, that a share p of
// all does not exceed (the nearest rank); 0 of none.
func Percentile(all []time.Duration, p float64) float64 {
	if len(all) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(all))
	rank := min(max(int(math.Ceil(p*float64(len(s)))), 1), len(s))
	return math.Round(float64(s[rank-1])/float64(time.Microsecond)) / 1000
}
