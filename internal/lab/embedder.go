package lab

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"sync"

	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/llm/offline"
)

// dimensions is the length of a scripted embedder's vectors.
const dimensions = 8

// Embedder makes vectors that depend on nothing but its name and the text: equal
// texts have equal vectors, and others have nothing in common.
type Embedder struct {
	Name string // its id; plain/8/1 when it is empty
	// Down, when it is set, is the answer to everything.
	Down func() error
	// Wait, when it is set, is called before each answer.
	Wait func(texts []string)

	mu    sync.Mutex
	texts []string
}

var _ llm.Embedder = (*Embedder)(nil)

// ID implements llm.Embedder.
func (e *Embedder) ID() string {
	if e.Name == "" {
		return "plain/8/1"
	}
	return e.Name
}

// Dimensions implements llm.Embedder.
func (*Embedder) Dimensions() int { return dimensions }

// Embed implements llm.Embedder.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if e.Wait != nil {
		e.Wait(texts)
	}
	if e.Down != nil {
		if err := e.Down(); err != nil {
			return nil, err
		}
	}
	e.mu.Lock()
	e.texts = append(e.texts, texts...)
	e.mu.Unlock()
	out := make([][]float32, len(texts))
	for i, t := range texts {
		out[i] = e.Vector(t)
	}
	return out, nil
}

// Vector gives the vector of a text.
func (e *Embedder) Vector(text string) []float32 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(e.ID() + "\x00" + text))
	r := rand.New(rand.NewPCG(h.Sum64(), 1))
	v := make([]float32, dimensions)
	for i := range v {
		v[i] = r.Float32()
	}
	return v
}

// Texts gives what was embedded, in order.
func (e *Embedder) Texts() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string(nil), e.texts...)
}

// Embed gives the bench an embedder, for all that is written from now on.
func (b *Bench) Embed(e llm.Embedder) {
	b.Helper()
	b.Embedder = e
	b.equip()
}

// Draw gives the bench what reads memories for the graph, from now on.
func (b *Bench) Draw(g llm.Grapher) {
	b.Helper()
	b.Grapher = g
	b.equip()
}

// Observe gives the bench an observer, for all that is worked from now on.
func (b *Bench) Observe(o llm.Observer) {
	b.Helper()
	b.Observer = o
	b.equip()
}

func (b *Bench) equip() {
	b.Engine = engine.New(engine.Config{Store: b.DB, Judge: b.Judge, Observer: b.Observer, Embedder: b.Embedder, Grapher: b.Grapher, Clock: b.Clock.Now, ReadDetails: offline.ReadDetails})
}
