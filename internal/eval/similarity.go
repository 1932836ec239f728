package eval

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/oxbow-memory/oxbow/llm"
)

// duplicateScore is the human score from which two sentences count as
// duplicates, on the scale from 0 to 5.
const duplicateScore = 4

type similarityExample struct {
	A     string  `json:"a"`
	B     string  `json:"b"`
	Score float64 `json:"score"`
}

// Likeness says how alike two texts are, from 0 to 1.
type Likeness func(ctx context.Context, a, b string) (float64, error)

// Cosine makes a likeness of an embedder.
func Cosine(e llm.Embedder) Likeness {
	return func(ctx context.Context, a, b string) (float64, error) {
		vs, err := e.Embed(ctx, []string{a, b})
		if err != nil {
			return 0, err
		}
		var dot, aa, bb float64
		for i := range vs[0] {
			x, y := float64(vs[0][i]), float64(vs[1][i])
			dot, aa, bb = dot+x*y, aa+x*x, bb+y*y
		}
		if aa == 0 || bb == 0 {
			return 0, nil
		}
		return dot / math.Sqrt(aa*bb), nil
	}
}

// Similarity are the figures of a likeness against human scores.
type Similarity struct {
	N          int     `json:"n"`
	Duplicates int     `json:"duplicates"` // by score
	Found      int     `json:"found"`      // at or above the threshold
	Right      int     `json:"right"`      // both
	Threshold  float64 `json:"threshold"`

	Spearman           float64 `json:"spearman"`
	DuplicatePrecision float64 `json:"duplicate_precision"`
	DuplicateRecall    float64 `json:"duplicate_recall"`
	DuplicateF1        float64 `json:"duplicate_f1"`

	Misses []Miss `json:"misses,omitempty"`
}

// RateSimilarity measures a likeness on pairs {a, b, score}. What is at or above
// threshold is called a duplicate.
func RateSimilarity(ctx context.Context, r io.Reader, like Likeness, threshold float64) (Similarity, error) {
	out := Similarity{Threshold: threshold}
	var scores, got []float64
	err := each(r, func(line int, e similarityExample) error {
		v, err := like(ctx, e.A, e.B)
		if err != nil {
			return err
		}
		out.N++
		scores, got = append(scores, e.Score), append(got, v)
		want, found := e.Score >= duplicateScore, v >= threshold
		if want {
			out.Duplicates++
		}
		if found {
			out.Found++
		}
		if want && found {
			out.Right++
		}
		if want != found {
			out.Misses = append(out.Misses, Miss{Line: line, Text: e.A + " | " + e.B, Want: fmt.Sprint(e.Score), Got: fmt.Sprintf("%.3f", v)})
		}
		return nil
	})
	out.Spearman = Spearman(scores, got)
	out.DuplicatePrecision, out.DuplicateRecall = share(out.Right, out.Found), share(out.Right, out.Duplicates)
	out.DuplicateF1 = f1(out.DuplicatePrecision, out.DuplicateRecall)
	return out, err
}
