package store

import (
	"context"
	"encoding/binary"
	"math"
	"time"

	"github.com/oxbow-memory/oxbow"
)

// VectorReader reads what embedders made of memories. An embedder is named by
// its id, name/dimensions/version, and no method mixes two of them.
type VectorReader interface {
	// VectorsOf gives the vectors that memories of a scope have, by memory; those
	// that have none are left out.
	VectorsOf(ctx context.Context, s oxbow.Scope, embedder string, ids []string) (map[string][]float32, error)
	// VectorMark gives a number that grows whenever a vector of the scope is put
	// or dropped, in one look at an index; 0 for a scope that has none.
	VectorMark(ctx context.Context, s oxbow.Scope) (int64, error)
	// VectorsSince gives a page of what was put and dropped after a place, in the
	// order in which it became visible. Reading all pages from the zero place
	// gives every vector; going on from the last place gives what changed since.
	VectorsSince(ctx context.Context, s oxbow.Scope, embedder string, after VectorPlace, limit int) ([]PlacedVector, error)
	// CountVectors counts the memories of a scope, erased and quarantined ones
	// left out, that have a vector and that have none; an empty scope name counts
	// the tenant's.
	CountVectors(ctx context.Context, s oxbow.Scope, embedder string) (with, without int, err error)
	// WithoutVector gives a page, by id, of those that have none.
	WithoutVector(ctx context.Context, s oxbow.Scope, embedder, after string, limit int) ([]oxbow.Memory, error)
	// Standing gives those of a scope's memories, by their numbers, that a recall
	// may show, in the order of the numbers given.
	Standing(ctx context.Context, q StandingQuery) ([]Standing, error)
	// NearestVectors asks an index of vectors that the database has itself, best
	// first, ties by id; ok is false when it has none. What it gives is nearly,
	// not surely, the best.
	NearestVectors(ctx context.Context, q NearestQuery) (hits []Hit, ok bool, err error)
}

// VectorWriter keeps vectors.
type VectorWriter interface {
	// PutVectors stores vectors, or replaces them, and gives how many were stored:
	// one whose memory was edited, moved or erased since it was read is left out.
	// Idempotent. Apply drops the vectors of a memory whose content or key
	// changes, and Erase those of an erased one, in the same transaction.
	PutVectors(ctx context.Context, s oxbow.Scope, embedder string, vs []Vector) (int, error)
	// DropOtherVectors takes away what every other embedder made of a scope's
	// memories, and gives how many vectors that was. Nothing of it is left, so a
	// process that still asks by such an embedder finds by words. Idempotent.
	DropOtherVectors(ctx context.Context, s oxbow.Scope, embedder string) (int, error)
}

// Vector is what an embedder made of a memory's words of a version.
type Vector struct {
	Memory         string
	ContentVersion int
	Values         []float32 // up to MaxDimensions
}

// VectorPlace is where a reader of VectorsSince stands; the zero place is
// before everything.
type VectorPlace struct {
	Mark   int64 // what VectorMark was when it was put or dropped
	Number int64 // the memory's number, which says nothing outside of one database
}

// PlacedVector is a vector that was put, or, without values, dropped.
type PlacedVector struct {
	VectorPlace
	Values []float32
}

// StandingQuery asks which memories a recall may show.
type StandingQuery struct {
	Scope    oxbow.Scope
	Numbers  []int64
	Statuses []oxbow.Status
	Now      time.Time // active ones that have faded or ended by then are left out
}

// Standing is a memory's number with its id.
type Standing struct {
	Number int64
	ID     string
}

// NearestQuery asks for the memories whose vectors have the greatest dot
// product with a vector.
type NearestQuery struct {
	Scope    oxbow.Scope
	Embedder string
	Vector   []float32
	Statuses []oxbow.Status
	Now      time.Time
	Limit    int
}

// MaxDimensions bounds the length of a vector.
const MaxDimensions = 1 << 14

// pair is the size in bytes of one place that is not zero, and its number.
const pair = 2 + 4

// PackVector gives a vector as it is stored, little endian: every value as a
// float32, or, where that is shorter, the values that are not zero, each behind
// its place as a uint16. A lexical vector of a sentence is zero in nine places of
// ten. The length tells the two forms apart.
func PackVector(v []float32) []byte {
	full := 0
	for _, x := range v {
		if x != 0 {
			full++
		}
	}
	if full*pair >= 4*len(v) {
		out := make([]byte, 0, 4*len(v))
		for _, x := range v {
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
		}
		return out
	}
	out := make([]byte, 0, full*pair)
	for i, x := range v {
		if x != 0 {
			out = binary.LittleEndian.AppendUint16(out, uint16(i))
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
		}
	}
	return out
}

// UnpackVector gives a stored vector, nil for one that was dropped.
func UnpackVector(b []byte, dimensions int) ([]float32, error) {
	if dimensions == 0 {
		return nil, nil
	}
	if dimensions < 0 || dimensions > MaxDimensions {
		return nil, oxbow.Errorf(oxbow.CodeInternal, "a stored vector has %d dimensions; look at it with: oxbow doctor", dimensions)
	}
	out := make([]float32, dimensions)
	if len(b) == 4*dimensions {
		for i := range out {
			out[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		}
		return out, nil
	}
	if len(b)%pair != 0 || len(b) > 4*dimensions {
		return nil, oxbow.Errorf(oxbow.CodeInternal, "a stored vector of %d dimensions has %d bytes; look at it with: oxbow doctor", dimensions, len(b))
	}
	for ; len(b) > 0; b = b[pair:] {
		at := int(binary.LittleEndian.Uint16(b))
		if at >= dimensions {
			return nil, oxbow.Errorf(oxbow.CodeInternal, "a stored vector of %d dimensions has a place %d; look at it with: oxbow doctor", dimensions, at)
		}
		out[at] = math.Float32frombits(binary.LittleEndian.Uint32(b[2:]))
	}
	return out, nil
}

// CheckVectors refuses vectors that cannot be stored together: of different
// lengths, too long or empty, with values that are no numbers, or two of one
// memory.
func CheckVectors(vs []Vector) (dimensions int, err error) {
	seen := make(map[string]bool, len(vs))
	for _, v := range vs {
		if seen[v.Memory] {
			return 0, oxbow.Errorf(oxbow.CodeInvalid, "the memory %s has two vectors in one call: give one", v.Memory)
		}
		seen[v.Memory] = true
		if dimensions == 0 {
			dimensions = len(v.Values)
		}
		if n := len(v.Values); n == 0 || n > MaxDimensions || n != dimensions {
			return 0, oxbow.Errorf(oxbow.CodeInvalid, "a vector has %d dimensions and another %d: an embedder gives from 1 to %d, always the same", n, dimensions, MaxDimensions)
		}
		for _, x := range v.Values {
			if x-x != 0 { // not a number, or infinite
				return 0, oxbow.Errorf(oxbow.CodeInvalid, "a vector holds a value that is no number: look at the embedder")
			}
		}
	}
	return dimensions, nil
}
