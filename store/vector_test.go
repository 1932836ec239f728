package store_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

func TestPackVector(t *testing.T) {
	t.Parallel()

	t.Run("gives back every vector, whatever share of it is zero", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			v := make([]float32, rapid.IntRange(1, 600).Draw(t, "dimensions"))
			for _, at := range rapid.SliceOf(rapid.IntRange(0, len(v)-1)).Draw(t, "places") {
				v[at] = rapid.Float32().Draw(t, "value")
			}
			b := store.PackVector(v)
			if len(b) > 4*len(v) {
				t.Fatalf("%d values take %d bytes", len(v), len(b))
			}
			got, err := store.UnpackVector(b, len(v))
			if err != nil || !slices.Equal(got, v) {
				t.Fatalf("got %v, error %v, want %v", got, err, v)
			}
		})
	})

	t.Run("makes a vector that is mostly zero small", func(t *testing.T) {
		t.Parallel()
		v := make([]float32, 512)
		v[0], v[300], v[511] = 1, -2, 3
		if n := len(store.PackVector(v)); n != 18 {
			t.Fatalf("it takes %d bytes, want 18", n)
		}
		for i := range v {
			v[i] = 1
		}
		if n := len(store.PackVector(v)); n != 2048 {
			t.Fatalf("a full one takes %d bytes, want 2048", n)
		}
	})

	t.Run("refuses bytes that are no vector of the dimensions", func(t *testing.T) {
		t.Parallel()
		for _, c := range []struct {
			b          []byte
			dimensions int
		}{{[]byte{1}, 4}, {make([]byte, 18), 4}, {[]byte{9, 0, 0, 0, 0, 0}, 4}, {nil, -1}, {nil, store.MaxDimensions + 1}} {
			if v, err := store.UnpackVector(c.b, c.dimensions); err == nil {
				t.Errorf("%v became %v", c, v)
			}
		}
	})
}

func FuzzUnpackVector(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 128, 63}, 4)
	f.Add(make([]byte, 16), 4)
	f.Fuzz(func(t *testing.T, b []byte, dimensions int) {
		v, err := store.UnpackVector(b, dimensions)
		if err == nil && len(v) != dimensions {
			t.Fatalf("%d bytes of %d dimensions became %d values", len(b), dimensions, len(v))
		}
	})
}

func TestCheckVectors(t *testing.T) {
	t.Parallel()
	nan := float32(math.NaN())
	inf := float32(math.Inf(1))
	for name, vs := range map[string][]store.Vector{
		"without values":          {{Memory: "a"}},
		"of different lengths":    {{Memory: "a", Values: []float32{1}}, {Memory: "b", Values: []float32{1, 2}}},
		"that are too long":       {{Memory: "a", Values: make([]float32, store.MaxDimensions+1)}},
		"with what is no number":  {{Memory: "a", Values: []float32{1, nan}}},
		"with what is infinite":   {{Memory: "a", Values: []float32{inf}}},
		"two of them of a memory": {{Memory: "a", Values: []float32{1}}, {Memory: "a", Values: []float32{1}}},
	} {
		t.Run("refuses vectors "+name, func(t *testing.T) {
			t.Parallel()
			if _, err := store.CheckVectors(vs); oxbow.CodeOf(err) != oxbow.CodeInvalid {
				t.Fatalf("the error is %v", err)
			}
		})
	}
}
