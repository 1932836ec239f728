package eval

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Difference is how much better one way of recalling does than another on the
// same queries, in the mean of a measure: positive is better.
type Difference struct {
	Mean      float64 `json:"mean"`
	Low       float64 `json:"low"` // of the 95 % interval
	High      float64 `json:"high"`
	Better    int     `json:"better"` // queries of which it did better
	Worse     int     `json:"worse"`
	SignTest  float64 `json:"p"`     // of the two-sided sign test of better against worse
	IsNothing bool    `json:"noise"` // the interval holds 0
}

// Resampling of the paired bootstrap (Efron and Tibshirani, 1993, ch. 13): the
// percentiles of the mean of as many differences, drawn with replacement.
const (
	resamples     = 2000
	resamplesSeed = 20260301
)

// Compare gives the difference between two ways of recalling by their values on
// the same queries, in the same order. Of no query it is nothing. The same
// values give the same interval.
func Compare(base, other []float64) Difference {
	d := Difference{SignTest: 1, IsNothing: true}
	n := min(len(base), len(other))
	if n == 0 {
		return d
	}
	diffs := make([]float64, n)
	for i := range diffs {
		diffs[i] = other[i] - base[i]
		d.Mean += diffs[i] / float64(n)
		switch {
		case diffs[i] > 1e-12:
			d.Better++
		case diffs[i] < -1e-12:
			d.Worse++
		}
	}
	rng := rand.New(rand.NewPCG(resamplesSeed, uint64(n)))
	means := make([]float64, resamples)
	for i := range means {
		sum := 0.0
		for range diffs {
			sum += diffs[rng.IntN(n)]
		}
		means[i] = sum / float64(n)
	}
	slices.Sort(means)
	d.Low, d.High = means[resamples*25/1000], means[resamples-1-resamples*25/1000]
	d.SignTest = signTest(d.Better, d.Worse)
	d.IsNothing = d.Low <= 0 && d.High >= 0
	return d
}

// signTest gives the chance of a split at least as uneven as better against
// worse, were both as likely (two-sided, ties left out).
func signTest(better, worse int) float64 {
	n, k := better+worse, min(better, worse)
	if n == 0 {
		return 1
	}
	p := 0.0
	for i := range k + 1 {
		p += math.Exp(logChoose(n, i) - float64(n)*math.Ln2)
	}
	return min(1, 2*p)
}

func logChoose(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}

// Values gives a measure of each query that has an answer, in the order of the
// queries.
func Values(all []Recalled, measure func(got, relevant []string) float64) []float64 {
	var out []float64
	for _, r := range all {
		if len(r.Query.Relevant) > 0 {
			out = append(out, measure(r.Got, r.Query.Relevant))
		}
	}
	return out
}

// SameTop counts the queries to which two ways of recalling gave the same first
// k in the same order.
func SameTop(a, b []Recalled, k int) int {
	same := 0
	for i := range a[:min(len(a), len(b))] {
		if slices.Equal(a[i].Got[:min(k, len(a[i].Got))], b[i].Got[:min(k, len(b[i].Got))]) {
			same++
		}
	}
	return same
}
