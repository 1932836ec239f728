package llm

import "context"

// Embedder turns texts into vectors whose cosine says how alike the texts are.
// Implementations must be safe for concurrent use, must heed ctx, and must not
// keep or log what they are shown. Their errors are those of a Judge.
type Embedder interface {
	// ID is name/dimensions/version, such as lexical/512/1. It is stored beside
	// every vector, and vectors of different ids are never compared.
	ID() string
	// Dimensions is the length of every vector.
	Dimensions() int
	// Embed gives one vector per text, in the order of the texts, each of length
	// one, or all zero when a text has nothing to go by, or is refused among
	// others that are not. When all of them are refused it gives ErrRefused.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}
