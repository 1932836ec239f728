package recall

import (
	"context"
	"slices"
	"strings"
)

const (
	// RelevantFloor is the least Cover of what is put before a user's turn without
	// having been asked for. The published design takes a cosine of 0.4; of the
	// offline embedder that leaves out 85 of 100 answers of LoCoMo, and hybrid has no
	// cosines. Measured on what hybrid puts among the first five: 0.4 lets pass 98,
	// 64 and 69 of 100 answers of our updates, LoCoMo and BEAM, 27, 42 and 45 of 100
	// others there (of our updates those are the older statements), and of our 100
	// questions without an answer none; 0.3 lets pass 99, 78 and 82, and 28, 56 and 63.
	RelevantFloor = 0.4
	// RelevantLimit is how many memories that is at most.
	RelevantLimit = 5
	// ownCover is the stage of hybrid that Cover gives.
	ownCover = "own_cover"
)

// Cover gives, of a result of hybrid, how much of the question stands in the
// memory's own words, and in part in what they are about, 0 to 1: in parts of the
// weight of the question's informative words, or the square of its cosine where
// that is more. Hybrid's score says it of
// the best answers together and of what was said around them. Of any other
// strategy Cover gives the score.
func (r Result) Cover() float64 {
	for _, s := range r.Stages {
		if s.Name == ownCover {
			return s.Value
		}
	}
	return r.Score
}

// Relevant gives what fits a message and the state of whoever reads it: each
// clause of the message is asked for itself, and the state once, and the answers
// are taken in turns, so that neither half of a question crowds out the other.
// What has less Cover than the floor is left out (RelevantFloor where the query
// has none and the strategy is hybrid), and at most the query's limit, or
// RelevantLimit, is given. The score of each is its Cover.
func (r *Recaller) Relevant(ctx context.Context, q Query) (Answer, error) {
	limit, floor := q.Limit, q.Floor
	if limit == 0 {
		limit = RelevantLimit
	}
	if q.Strategy == "" || q.Strategy == Hybrid {
		if floor == nil {
			least := RelevantFloor
			floor = &least
		}
		if *floor >= 0 && *floor <= 1 { // what is not, Ask refuses
			q.Floor = new(float64)
		}
	}
	var out Answer
	var found [][]Result
	queries, cutOff := asks(q)
	for i, one := range queries {
		a, err := r.Ask(ctx, one)
		if err != nil {
			return a, err
		}
		if i == 0 {
			out = a
		}
		for _, n := range a.Notes {
			if !slices.Contains(out.Notes, n) {
				out.Notes = append(out.Notes, n)
			}
		}
		kept := a.Results[:0:0]
		for _, res := range a.Results {
			if res.Score = res.Cover(); floor == nil || res.Score >= *floor {
				kept = append(kept, res)
			}
		}
		found = append(found, kept)
	}
	if cutOff && !slices.Contains(out.Notes, tooLong) {
		out.Notes = append(out.Notes, tooLong)
	}
	out.Results, out.Rest = InTurns(limit, found...), nil
	return out, nil
}

// asks gives the queries that a message and a state are, and whether the message
// was too long.
func asks(q Query) (out []Query, cutOff bool) {
	state := stateOf(q.State)
	words, cutOff := bounded(q.Text)
	if strings.TrimSpace(words) == "" {
		q.Text, q.State = state, State{}
		return []Query{q}, false
	}
	clauses := Clauses(words)
	if len(clauses) < 2 {
		clauses = []string{words}
	}
	for _, c := range clauses {
		one := q
		one.Text = c
		out = append(out, one)
	}
	if state != "" {
		q.Text, q.State = state, State{}
		out = append(out, q)
	}
	return out, cutOff
}

// InTurns takes the first of each list, then the second of each, up to n different
// memories.
func InTurns(n int, lists ...[]Result) []Result {
	out, seen := []Result{}, map[string]int{}
	for i := 0; len(out) < n; i++ {
		more := false
		for _, l := range lists {
			if i >= len(l) {
				continue
			}
			more = true
			if at, there := seen[l[i].Memory.ID]; there {
				e := &entry{result: out[at]}
				e.merge(l[i])
				out[at] = e.result
			} else if len(out) < n {
				seen[l[i].Memory.ID] = len(out)
				out = append(out, l[i])
			}
		}
		if !more {
			break
		}
	}
	return out
}
