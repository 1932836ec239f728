package eval

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/oxbow-memory/oxbow/llm"
)

// levels of confidence, as the vocabulary has them, weakest first.
var levels = []float64{0.1, 0.3, 0.5, 0.7, 1}

// confidenceExample is either of two forms: {user, assistant, memory, level},
// or {context, text, claim, mean} with mean from -3 to 3.
type confidenceExample struct {
	User      string   `json:"user"`
	Assistant string   `json:"assistant"`
	Memory    string   `json:"memory"`
	Level     *float64 `json:"level"`

	Context string   `json:"context"`
	Text    string   `json:"text"`
	Claim   string   `json:"claim"`
	Mean    *float64 `json:"mean"`
}

// Confidence are the figures of a judge on how surely something was said. On
// the form with levels Exact and WithinOne are shares; on the form with means
// Spearman is the rank correlation; the others are 0.
type Confidence struct {
	N         int     `json:"n"`
	Exact     float64 `json:"exact"`
	WithinOne float64 `json:"within_one"`
	Spearman  float64 `json:"spearman"`

	Misses []Miss `json:"misses,omitempty"`
}

// RateConfidence asks the judge about each example.
func RateConfidence(ctx context.Context, r io.Reader, j llm.Judge) (Confidence, error) {
	var out Confidence
	exact, near, rated := 0, 0, 0
	var means, got []float64
	err := each(r, func(line int, e confidenceExample) error {
		out.N++
		memory, turn := e.Memory, llm.TurnText{User: e.User, Assistant: e.Assistant, At: said}
		if e.Mean != nil {
			memory, turn.User = e.Claim, e.Text
		}
		rating, err := j.Confidence(ctx, memory, turn)
		if err != nil {
			return err
		}
		if e.Mean != nil {
			means, got = append(means, *e.Mean), append(got, rating.Confidence)
			return nil
		}
		want := 0.0
		if e.Level != nil {
			want = *e.Level
		}
		rated++
		switch level(want) - level(rating.Confidence) {
		case 0:
			exact++
			near++
			return nil
		case 1, -1:
			near++
		}
		out.Misses = append(out.Misses, Miss{Line: line, Text: e.User + " ⇒ " + memory, Want: fmt.Sprint(want), Got: fmt.Sprint(rating.Confidence)})
		return nil
	})
	out.Exact, out.WithinOne, out.Spearman = share(exact, rated), share(near, rated), Spearman(means, got)
	return out, err
}

// level gives the place of the nearest level.
func level(v float64) int {
	best := 0
	for i, l := range levels {
		if math.Abs(l-v) < math.Abs(levels[best]-v) {
			best = i
		}
	}
	return best
}

// Spearman is the rank correlation of two lists of one length, ties sharing
// their mean rank; 0 for fewer than two values or when one list does not vary.
func Spearman(a, b []float64) float64 {
	if len(a) != len(b) || len(a) < 2 {
		return 0
	}
	return pearson(ranks(a), ranks(b))
}

func ranks(v []float64) []float64 {
	order := make([]int, len(v))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		switch {
		case v[i] < v[j]:
			return -1
		case v[i] > v[j]:
			return 1
		}
		return i - j
	})
	out := make([]float64, len(v))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && v[order[j]] == v[order[i]] {
			j++
		}
		for k := i; k < j; k++ {
			out[order[k]] = float64(i+j-1) / 2
		}
		i = j
	}
	return out
}

func pearson(a, b []float64) float64 {
	var ma, mb float64
	for i := range a {
		ma += a[i] / float64(len(a))
		mb += b[i] / float64(len(b))
	}
	var ab, aa, bb float64
	for i := range a {
		ab += (a[i] - ma) * (b[i] - mb)
		aa += (a[i] - ma) * (a[i] - ma)
		bb += (b[i] - mb) * (b[i] - mb)
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return ab / math.Sqrt(aa*bb)
}
