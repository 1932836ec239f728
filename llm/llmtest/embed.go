package llmtest

import (
	"hash/fnv"
	"net/http"
	"strings"
)

// plainDimensions is how long the server's vectors are where none are asked for.
const plainDimensions = 256

// Dimensions is what Refuse forbids to an endpoint whose model cannot shorten
// its vectors.
const Dimensions = "dimensions"

// Vectors is a response of embeddings, in order, with numbers.
func Vectors(vs ...[]float32) Reply {
	data := []any{}
	for i, v := range vs {
		data = append(data, object{"object": "embedding", "index": i, "embedding": v})
	}
	return Reply{status: http.StatusOK, body: mustJSON(object{"object": "list", "model": "fake", "data": data,
		"usage": object{"prompt_tokens": len(vs), "total_tokens": len(vs)}})}
}

// embedded gives the vectors of a request's texts: each word, in lower case, is
// hashed into one place, so that texts which share words are alike.
func embedded(req Request) Reply {
	n := req.Dimensions
	if n == 0 {
		n = plainDimensions
	}
	data, tokens := []any{}, 0
	for i, s := range req.Input {
		v := make([]float32, n)
		v[0] = 0.1 // no text is zero
		for w := range strings.FieldsSeq(strings.ToLower(s)) {
			h := fnv.New64a()
			_, _ = h.Write([]byte(strings.Trim(w, ".,;:!?")))
			sum := h.Sum64()
			v[(sum^sum>>32)%uint64(n)]++
		}
		tokens += (len(s) + 3) / 4
		data = append(data, object{"object": "embedding", "index": i, "embedding": v})
	}
	return Status(http.StatusOK, mustJSON(object{"object": "list", "model": req.Model, "data": data,
		"usage": object{"prompt_tokens": tokens, "total_tokens": tokens}}))
}
