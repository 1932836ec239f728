package openai

import (
	"errors"
	"math"
	"testing"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm"
)

// FuzzVectors holds the reader of embeddings to what it promises, whatever an
// endpoint writes.
func FuzzVectors(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `[]`, `{"data":[{"index":0,"embedding":[1,2]},{"index":1,"embedding":[3,4]}],"usage":{"prompt_tokens":3}}`,
		`{"data":[{"embedding":"AACAPwAAAAA="},{"embedding":[1e-320,5e-324]}]}`, `{"data":[{"index":1,"embedding":[1e308,1e308]},{"index":0,"embedding":[-1,0]}]}`,
		`{"data":[{"index":0,"embedding":"AADAfwAAgD8="},{"index":1,"embedding":null}]}`, `{"data":[null,null]}`, `{"data":[{"index":1},{"index":1}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		vs, _, err := readVectors(body, 2, 2)
		if err != nil {
			if vs != nil || !errors.Is(err, llm.ErrUnparsable) && oxbow.CodeOf(err) != oxbow.CodeInvalid {
				t.Fatalf("got %v, %v", vs, err)
			}
			return
		}
		if len(vs) != 2 {
			t.Fatalf("%d vectors", len(vs))
		}
		for _, v := range vs {
			sum := 0.0
			for _, x := range v {
				sum += float64(x) * float64(x)
			}
			if len(v) != 2 || math.Abs(sum-1) > 1e-5 {
				t.Fatalf("the vector %v has %d numbers and the length %v", v, len(v), math.Sqrt(sum))
			}
		}
	})
}
