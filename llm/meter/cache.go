package meter

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/store"
)

// KeepFor is how long an answer is kept.
const KeepFor = 7 * 24 * time.Hour

// CacheConfig is what a cache works with.
type CacheConfig struct {
	Store store.Store
	Judge llm.Judge
	// Identity says everything that the judge's answers depend on beside the
	// question: model, prompts, schemas. Defaults to the judge's name.
	Identity string
	// Clock gives the present. Defaults to time.Now.
	Clock func() time.Time
}

// Cache is a judge that remembers what another one answered. It is safe for
// concurrent use. Only answers are kept, no errors, and only those of questions
// whose caller names the owners of the words.
type Cache struct{ cfg CacheConfig }

var (
	_ llm.Judge = (*Cache)(nil)
	_ llm.Cuer  = (*Cache)(nil)

	_ llm.Selector = (*Cache)(nil)
	_ llm.Grapher  = (*Cache)(nil)
	_ llm.Observer = (*Cache)(nil)
)

// NewCache makes a cache; it does no I/O.
func NewCache(cfg CacheConfig) *Cache {
	if cfg.Identity == "" {
		cfg.Identity = cfg.Judge.Name()
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	return &Cache{cfg: cfg}
}

// Name implements llm.Judge: the answers are the judge's.
func (c *Cache) Name() string { return c.cfg.Judge.Name() }

// NameOf implements llm.Signer.
func (c *Cache) NameOf(question string) string { return llm.NameOf(c.cfg.Judge, question) }

// Cue implements llm.Cuer; a judge without cues has none.
func (c *Cache) Cue(s llm.Statement) string {
	if cuer, ok := c.cfg.Judge.(llm.Cuer); ok {
		return cuer.Cue(s)
	}
	return ""
}

// Extract implements llm.Judge.
func (c *Cache) Extract(ctx context.Context, t llm.TurnText) (llm.Extraction, error) {
	return remember(ctx, c, "extract", t, func() (llm.Extraction, error) { return c.cfg.Judge.Extract(ctx, t) })
}

// Confidence implements llm.Judge.
func (c *Cache) Confidence(ctx context.Context, memory string, t llm.TurnText) (llm.Rating, error) {
	return remember(ctx, c, "confidence", []any{memory, t}, func() (llm.Rating, error) { return c.cfg.Judge.Confidence(ctx, memory, t) })
}

// Relate implements llm.Judge.
func (c *Cache) Relate(ctx context.Context, s llm.Statement, others []llm.Statement) ([]llm.Relation, error) {
	return remember(ctx, c, "relate", []any{s, others}, func() ([]llm.Relation, error) { return c.cfg.Judge.Relate(ctx, s, others) })
}

// Expiry implements llm.Judge. The same words end on another day in another zone.
func (c *Cache) Expiry(ctx context.Context, s llm.Statement, zone *time.Location) (llm.Expiry, error) {
	out, err := remember(ctx, c, "expiry", []any{s, zone.String()}, func() (llm.Expiry, error) { return c.cfg.Judge.Expiry(ctx, s, zone) })
	if !out.Date.IsZero() && zone != nil {
		out.Date = out.Date.In(zone) // JSON keeps the offset and not the zone
	}
	return out, err
}

// Cluster implements llm.Judge.
func (c *Cache) Cluster(ctx context.Context, items []llm.Statement) ([][]string, error) {
	return remember(ctx, c, "cluster", items, func() ([][]string, error) { return c.cfg.Judge.Cluster(ctx, items) })
}

// Synthesize implements llm.Judge.
func (c *Cache) Synthesize(ctx context.Context, items []llm.Statement) (llm.Synthesis, error) {
	return remember(ctx, c, "synthesize", items, func() (llm.Synthesis, error) { return c.cfg.Judge.Synthesize(ctx, items) })
}

// Select implements llm.Selector; a judge that cannot select is unsupported.
func (c *Cache) Select(ctx context.Context, cue string, items []llm.Statement, limit int) ([]string, error) {
	s, ok := c.cfg.Judge.(llm.Selector)
	if !ok {
		return nil, oxbow.Errorf(oxbow.CodeUnsupported, "the judge %s cannot select: recall by another strategy", c.Name())
	}
	return remember(ctx, c, "select", []any{cue, items, limit}, func() ([]string, error) { return s.Select(ctx, cue, items, limit) })
}

// Graph implements llm.Grapher; a judge that cannot read for the graph is unsupported.
func (c *Cache) Graph(ctx context.Context, s llm.Statement) (llm.Graph, error) {
	g, ok := c.cfg.Judge.(llm.Grapher)
	if !ok {
		return llm.Graph{}, oxbow.Errorf(oxbow.CodeUnsupported, "the judge %s does not read for the graph: set graph to offline", c.Name())
	}
	return remember(ctx, c, "graph", s, func() (llm.Graph, error) { return g.Graph(ctx, s) })
}

// Observes tells whether the judge condenses conversations.
func (c *Cache) Observes() bool { return llm.CanObserve(c.cfg.Judge) != nil }

// Observe implements llm.Observer; a judge that cannot observe is unsupported.
func (c *Cache) Observe(ctx context.Context, turns []llm.TurnText) ([]llm.Observation, error) {
	o, err := llm.ObserverOf(c.cfg.Judge)
	if err != nil {
		return nil, err
	}
	out, err := remember(ctx, c, "observe", turns, func() ([]llm.Observation, error) { return o.Observe(ctx, turns) })
	for i, n := range out {
		if len(turns) > 0 && n.Expiry != nil && !n.Expiry.Date.IsZero() {
			out[i].Expiry.Date = n.Expiry.Date.In(turns[0].At.Location()) // JSON keeps the offset and not the zone
		}
	}
	return out, err
}

// Reflect implements llm.Observer.
func (c *Cache) Reflect(ctx context.Context, items []llm.Statement, target int) ([]llm.Reflection, error) {
	o, err := llm.ObserverOf(c.cfg.Judge)
	if err != nil {
		return nil, err
	}
	return remember(ctx, c, "reflect", []any{items, target}, func() ([]llm.Reflection, error) { return o.Reflect(ctx, items, target) })
}

// remember gives the kept answer to a question, else asks and keeps the answer.
func remember[T any](ctx context.Context, c *Cache, purpose string, question any, ask func() (T, error)) (T, error) {
	caller := llm.CallerOf(ctx)
	if caller.Tenant == "" || len(caller.Owners) == 0 {
		return ask()
	}
	var out T
	key, err := c.key(caller, purpose, question)
	if err != nil {
		return out, err
	}
	kept, err := c.cfg.Store.LLMAnswer(ctx, caller.Tenant, key, c.now())
	if err == nil && json.Unmarshal(kept, &out) == nil {
		return out, nil
	}
	if err != nil && oxbow.CodeOf(err) != oxbow.CodeNotFound {
		return out, fmt.Errorf("look for a kept answer: %w", err)
	}
	if out, err = ask(); err != nil {
		return out, err
	}
	return out, c.keep(ctx, caller, key, out)
}

// key says what was asked, of whom. Statements carry the words of candidates
// and the instants at which they were said, so both are part of it.
func (c *Cache) key(caller llm.Caller, purpose string, question any) (string, error) {
	b, err := json.Marshal(question)
	if err != nil {
		return "", fmt.Errorf("name the question: %w", err)
	}
	h := sha256.New()
	for _, part := range []string{caller.Tenant, purpose, c.cfg.Identity, c.cfg.Judge.Name(), caller.Anew} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	h.Write(b)
	return hex.EncodeToString(h.Sum(nil)), nil
}

func (c *Cache) keep(ctx context.Context, caller llm.Caller, key string, answer any) error {
	b, err := json.Marshal(answer)
	if err != nil {
		return fmt.Errorf("keep the answer: %w", err)
	}
	now := c.now()
	a := store.LLMAnswer{Scope: oxbow.Scope{Tenant: caller.Tenant, Name: caller.Scope}, Key: key, Owners: caller.Owners, Answer: b,
		At: now, ExpiresAt: now.Add(KeepFor)}
	err = c.cfg.Store.InTx(ctx, func(ctx context.Context, tx store.Tx) error { return tx.PutLLMAnswer(ctx, a, now) })
	if err != nil {
		return fmt.Errorf("keep the answer: %w", err)
	}
	return nil
}

func (c *Cache) now() time.Time { return c.cfg.Clock().UTC().Truncate(time.Millisecond) }
