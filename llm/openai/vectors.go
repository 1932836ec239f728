package openai

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"

	chat "github.com/sashabaranov/go-openai"

	"github.com/oxbow-memory/oxbow/llm"
)

type vectorAnswer struct {
	Data []struct {
		Index     *int            `json:"index"`
		Embedding json.RawMessage `json:"embedding"`
	} `json:"data"`
	Usage chat.Usage `json:"usage"`
}

// readVectors reads an answer of n vectors: each index once, in whatever order,
// each vector of the dimensions asked for, finite and not zero, as numbers or as
// base64, and brings them to length one. An answer that is off in any of it is
// llm.ErrUnparsable; vectors of another length are invalid, because the
// configuration is what can be mended.
func readVectors(body []byte, n, dimensions int) ([][]float32, chat.Usage, error) {
	var a vectorAnswer
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, a.Usage, fmt.Errorf("%w: the response holds no embeddings; check the base URL", llm.ErrUnparsable)
	}
	if len(a.Data) != n {
		return nil, a.Usage, fmt.Errorf("%w: there are %d vectors for %d texts", llm.ErrUnparsable, len(a.Data), n)
	}
	out := make([][]float32, n)
	for place, d := range a.Data {
		i := place // some servers leave the index out, of all of them
		if d.Index != nil {
			i = *d.Index
		}
		if i < 0 || i >= n || out[i] != nil {
			return nil, a.Usage, fmt.Errorf("%w: the vectors' indexes are not those of the texts", llm.ErrUnparsable)
		}
		v, err := readVector(d.Embedding)
		if err != nil {
			return nil, a.Usage, err
		}
		if len(v) != dimensions {
			return nil, a.Usage, invalid("the embedding model gives vectors of %d numbers and not of %d: set the dimensions to it", len(v), dimensions)
		}
		if out[i], err = unit(v); err != nil {
			return nil, a.Usage, err
		}
	}
	return out, a.Usage, nil
}

// readVector reads a vector written as numbers or, as some servers do unasked,
// as base64 of 32-bit floats, the least significant byte first.
func readVector(raw json.RawMessage) ([]float64, error) {
	off := fmt.Errorf("%w: a vector is neither numbers nor base64", llm.ErrUnparsable)
	if len(raw) == 0 || raw[0] != '"' {
		var v []float64
		if json.Unmarshal(raw, &v) != nil || v == nil {
			return nil, off
		}
		return v, nil
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return nil, off
	}
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(b)%4 != 0 {
		return nil, off
	}
	v := make([]float64, len(b)/4)
	for i := range v {
		v[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(b[i*4:])))
	}
	return v, nil
}

// unit gives a vector of length one.
func unit(v []float64) ([]float32, error) {
	biggest := 0.0
	for _, x := range v {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, fmt.Errorf("%w: a vector holds what is no number", llm.ErrUnparsable)
		}
		biggest = max(biggest, math.Abs(x))
	}
	if biggest == 0 {
		return nil, fmt.Errorf("%w: a vector is zero", llm.ErrUnparsable)
	}
	sum := 0.0
	for _, x := range v { // scaled, since the square of what fits need not fit
		sum += x / biggest * (x / biggest)
	}
	length := math.Sqrt(sum)
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(x / biggest / length)
	}
	return out, nil
}
