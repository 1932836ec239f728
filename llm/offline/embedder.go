package offline

import (
	"context"
	"hash/fnv"
	"math"

	"github.com/oxbow-memory/oxbow/llm"
)

const (
	// embedderID is name/dimensions/version. The version moves whenever a vector
	// can differ; vectors of different ids are never compared.
	embedderID = "lexical/512/1"
	dimensions = 512

	// pieceWeight is what a run of three letters counts beside a whole word. It
	// forgives misspellings and keeps them from making strangers alike.
	pieceWeight = 0.25
	// kindWeight is what the kind of a word counts: dog for puppy.
	kindWeight = 0.5
)

// Embedder makes vectors of words without a model: each stem, its kind and its
// pieces of three letters are hashed into one of 512 signed places. A vector
// depends on its own text alone, not on what else is stored. It keeps nothing.
//
// Limit: it knows what words are spelled like, not what they mean; of 1,500
// sentence pairs its order agrees with people's less well than Similarity.
type Embedder struct{}

var _ llm.Embedder = (*Embedder)(nil)

// NewEmbedder gives the embedder.
func NewEmbedder() *Embedder { return &Embedder{} }

// ID gives lexical/512/1.
func (*Embedder) ID() string { return embedderID }

// Dimensions gives 512.
func (*Embedder) Dimensions() int { return dimensions }

// Embed gives the vectors of texts, of length one, or zero for a text without a
// word. It fails only when ctx is done.
func (*Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, t := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out[i] = embed(t)
	}
	return out, nil
}

func embed(s string) []float32 {
	p := profileOf(s)
	v := make([]float64, dimensions)
	for i, st := range p.stems {
		place(v, "s"+st, p.weights[i])
		for _, k := range kindList[st] {
			place(v, "s"+k, p.weights[i]*kindWeight)
		}
		for _, g := range pieces(st) {
			place(v, "g"+g, p.weights[i]*pieceWeight)
		}
	}
	sum := 0.0
	for _, x := range v {
		sum += x * x
	}
	out := make([]float32, dimensions)
	if sum == 0 {
		return out
	}
	length := math.Sqrt(sum)
	for i, x := range v {
		out[i] = float32(x / length)
	}
	return out
}

// place adds a weight to a term's place, with the sign that its hash says, so
// that terms that fall together do not always add up.
func place(v []float64, term string, weight float64) {
	h := fnv.New64a()
	_, _ = h.Write([]byte(term))
	sum := h.Sum64()
	// The low bits of FNV depend on too few letters to be used as they are.
	sum ^= sum >> 32
	if sum>>31&1 == 1 {
		weight = -weight
	}
	v[sum%dimensions] += weight
}
