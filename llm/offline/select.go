package offline

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/llm"
)

// The weights of a choice. Lengths count little, because memories are short
// (the same reason for which store searches with a small b).
const (
	chooseK1 = 1.2
	chooseB  = 0.1

	// kindOnly is what it counts that a statement names one of what the cue asks
	// for (a database; PostgreSQL), beside the word itself.
	kindOnly = 0.6
	// farBehind is the part of the best score under which a statement fits by
	// accident: it shares one common word where another shares what is asked.
	farBehind = 0.25
)

// terms are what of a text is laid beside a cue, with how much each counts.
type terms map[string]float64

func termsOf(s string) (t terms, length float64) {
	t = terms{}
	add := func(term string, weight float64) { t[term] = max(t[term], weight) }
	found, n := text.Analyse(s)
	for _, f := range found {
		if lightWords[f.Word] {
			add(f.Word, lightWeight)
		} else {
			add(f.Word, 1)
		}
		for _, k := range kindList[f.Word] {
			add(k, kindOnly)
		}
	}
	words := read(s).words
	for i := range words {
		named, _ := toolAt(words, i)
		if named.id == "" {
			continue
		}
		add("tool "+named.id, 1)
		for w := range strings.FieldsSeq(named.class) {
			if st := text.Stem(w); st != "" && exclusive[named.class] {
				add(st, kindOnly)
			}
		}
	}
	return t, float64(n)
}

// choose gives the labels of the statements that share telling words with a
// cue, by BM25 over the statements. A word that counts in half of them is worth
// little, and a share in light words alone is none.
func choose(ctx context.Context, cue string, items []llm.Statement, limit int) ([]string, error) {
	asked, _ := termsOf(cue)
	of, lengths := make([]terms, len(items)), make([]float64, len(items))
	in, sum := map[string]int{}, 0.0
	for i, s := range items {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		of[i], lengths[i] = termsOf(s.Text + " " + strings.ReplaceAll(s.Key, "_", " "))
		sum += lengths[i]
		for t := range of[i] {
			in[t]++
		}
	}
	type scored struct {
		label string
		score float64
	}
	var found []scored
	for i, s := range items {
		norm := 1 - chooseB + chooseB*lengths[i]*float64(len(items))/max(1, sum)
		score, telling := 0.0, false
		for _, t := range slices.Sorted(maps.Keys(asked)) { // in order, so that sums are the same every time
			weight := asked[t] * of[i][t]
			idf := math.Log(1 + (float64(len(items)-in[t])+0.5)/(float64(in[t])+0.5))
			score += weight * idf * (chooseK1 + 1) / (1 + chooseK1*norm)
			telling = telling || weight > lightWeight
		}
		if telling {
			found = append(found, scored{s.Label, score})
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	var out []string
	for _, f := range found {
		if len(out) < limit && f.score >= farBehind*found[0].score {
			out = append(out, f.label)
		}
	}
	return out, nil
}
