package main

import (
	"encoding/json"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/llm/meter"
	"github.com/oxbow-memory/oxbow/llm/offline"
	"github.com/oxbow-memory/oxbow/llm/openai"
	"github.com/oxbow-memory/oxbow/store"
)

// newJudge makes the judge that the settings choose; it does no I/O.
func newJudge(c settings) (llm.Judge, error) {
	if c.text("judge") == "offline" {
		return offline.New(), nil
	}
	j, err := newModel(c, nil)
	if err != nil {
		return nil, err
	}
	return j, nil
}

// newModel makes the judge that asks a model; m counts what it takes.
func newModel(c settings, m llm.Meter) (*openai.Judge, error) {
	extra, err := parseExtra(c.text("openai.extra_body"))
	if err != nil {
		return nil, err
	}
	j, err := openai.New(openai.Config{
		BaseURL: c.text("openai.base_url"), Key: openai.Secret(c.text("openai.key")), AzureVersion: c.text("openai.azure_version"),
		Model: c.text("openai.model"), SynthesisModel: c.text("openai.synthesis_model"),
		Timeout: c.period("openai.timeout"), SynthesisTimeout: c.period("openai.synthesis_timeout"),
		MaxTextBytes: int(c.tokens("openai.max_text")), MaxOutputTokens: int(c.tokens("openai.max_output_tokens")),
		RequestsPerSecond: c.number("openai.requests_per_second"), BreakFor: c.period("openai.break_for"), ExtraBody: extra, Meter: m,
	})
	if err != nil {
		return nil, oxbow.WrapError(oxbow.CodeInvalid, err, "the judge openai cannot be used; see openai.* in oxbow config show")
	}
	return j, nil
}

// countedJudge is newJudge for work on a database, which keeps count of what a
// model takes and remembers what it said.
func countedJudge(c settings, st store.Store) (llm.Judge, error) {
	if c.text("judge") == "offline" {
		return newJudge(c)
	}
	j, err := newModel(c, newMeter(c, st))
	if err != nil {
		return nil, err
	}
	return meter.NewCache(meter.CacheConfig{Store: st, Judge: j, Identity: j.Identity()}), nil
}

// newEmbedder makes the embedder that the settings choose; m counts what it
// takes. None is nil. It does no I/O. The judge's key goes to the judge's endpoint only.
func newEmbedder(c settings, m llm.Meter) (llm.Embedder, error) {
	switch c.text("embedder") {
	case "none":
		return nil, nil
	case "offline":
		return offline.NewEmbedder(), nil
	}
	base, key, version := c.text("openai.embedding_base_url"), c.text("openai.embedding_key"), ""
	if base == "" {
		base, version = c.text("openai.base_url"), c.text("openai.azure_version")
		if key == "" {
			key = c.text("openai.key")
		}
	}
	e, err := openai.NewEmbedder(openai.EmbedderConfig{
		BaseURL: base, Key: openai.Secret(key), AzureVersion: version,
		Model: c.text("openai.embedding_model"), Dimensions: int(c.tokens("openai.embedding_dimensions")), Timeout: c.period("openai.timeout"),
		RequestsPerSecond: c.number("openai.requests_per_second"), BreakFor: c.period("openai.break_for"), Meter: m,
	})
	if err != nil {
		return nil, oxbow.WrapError(oxbow.CodeInvalid, err, "the embedder openai cannot be used; see openai.embedding_* in oxbow config show")
	}
	return e, nil
}

// newGrapher gives what reads memories for the graph, nil for nothing.
func newGrapher(c settings, judge llm.Judge) llm.Grapher {
	switch c.text("graph") {
	case "none":
		return nil
	case "judge":
		if g, ok := judge.(llm.Grapher); ok {
			return g
		}
	}
	return offline.New()
}

// vectorBytes is the room for vectors; none is below 0.
func (s settings) vectorBytes() int64 {
	if n := s.tokens("recall.vector_mib"); n > 0 {
		return n << 20
	}
	return -1
}

// checkModels tells whether the settings make a judge and an embedder.
func checkModels(c settings) error {
	if _, err := newJudge(c); err != nil {
		return err
	}
	_, err := newEmbedder(c, nil)
	return err
}

// parseExtra reads the further fields of a request: a JSON object, or nothing.
func parseExtra(s string) (map[string]any, error) {
	if s == "" {
		return nil, nil
	}
	var out map[string]any
	if err := json.Unmarshal([]byte(s), &out); err != nil {
		return nil, usage(`openai.extra_body is no JSON object: write it such as {"reasoning_effort": "low"}`)
	}
	return out, nil
}

func newMeter(c settings, st store.Store) *meter.Meter {
	return meter.New(meter.Config{Store: st, Budget: c.tokens("openai.budget"), Prices: c.prices()})
}

// prices are the known ones under those that are configured.
func (s settings) prices() meter.Prices {
	known, _ := meter.KnownPrices()
	own, _ := meter.ParsePrices(s.text("openai.prices")) // check has let it through
	return known.With(own)
}

// budget is what the status measures a day's tokens against: 0 when no model
// is asked or there is no limit.
func (s settings) budget() int64 {
	if s.text("judge") == "offline" && s.text("embedder") != "openai" {
		return 0
	}
	return max(0, s.tokens("openai.budget"))
}
