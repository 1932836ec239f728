package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/llm/offline"
	"github.com/oxbow-memory/oxbow/recall"
	"github.com/oxbow-memory/oxbow/recall/asked"
)

// contextRounds are fewer than recall's, because every other one writes.
const contextRounds = 150

// contexting compares the context block with one recall by hybrid of the same
// words among as many memories. The block is what a program asks for at every
// turn: in a conversation of its own, so that what is shown and the cue are
// written each time, which is the dearest it can be.
func contexting(ctx context.Context, l *lab) ([]result, error) {
	n := min(recallLarge, l.cfg.rows)
	b, err := l.recallBed(ctx, n)
	if err != nil {
		return nil, err
	}
	defer func() { _ = b.bare.Close() }()
	e := engine.New(engine.Config{Store: b.st, Judge: offline.New(), ReadDate: offline.ReadDate, ReadDetails: offline.ReadDetails, Embedder: offline.NewEmbedder(),
		Days: asked.Days, Classes: asked.Classes, Clock: clock})
	if err := b.converse(ctx, e); err != nil {
		return nil, err
	}
	var out []result
	rng := rand.New(rand.NewPCG(7, 7))
	for _, kind := range []struct {
		what string
		ask  func(string) engine.ContextQuery
	}{
		{what: "the context block", ask: func(q string) engine.ContextQuery { return engine.ContextQuery{Text: q} }},
		{what: "the same for a question of two halves that asks what is due, in a conversation that it is shown in",
			ask: func(q string) engine.ContextQuery {
				return engine.ContextQuery{Text: "which " + q + ", and what is due this week?", Conversation: running}
			}},
	} {
		var block, one []time.Duration
		for round := range contextRounds {
			words := b.question(rng)
			took, err := timed(func() error { return b.compose(ctx, e, kind.ask(words)) })
			if err != nil {
				return nil, err
			}
			bare, err := timed(func() error {
				_, err := b.recaller.Ask(ctx, recall.Query{Scope: home, Text: words, Limit: recallLimit, Now: present, Floor: new(float64)})
				return err
			})
			if err != nil {
				return nil, err
			}
			if round >= recallWarm {
				block, one = append(block, took), append(one, bare)
			}
		}
		ratio := float64(median(block)) / float64(median(one))
		out = append(out, result{what: fmt.Sprintf("%s among %s, p50, against one recall by hybrid", kind.what, count(n)), goal: "≤ 4 ×",
			measured: fmt.Sprintf("%.1f ×", ratio), ours: millis(median(block)), other: millis(median(one)), pass: ratio <= 4})
	}
	return out, nil
}

// running is the conversation that the block is asked for.
const running = "running"

// converse gives the running conversation some turns.
func (b *recallBed) converse(ctx context.Context, e *engine.Engine) error {
	turns := make([]oxbow.Turn, 30)
	for i := range turns {
		turns[i] = oxbow.Turn{Scope: home, Conversation: running, User: fmt.Sprintf("turn %d", i), At: present.Add(time.Duration(i-40) * time.Minute)}
	}
	_, err := e.Ingest(ctx, turns)
	return err
}

func (b *recallBed) compose(ctx context.Context, e *engine.Engine, q engine.ContextQuery) error {
	q.Scope = home
	got, err := e.Context(ctx, q)
	if err == nil && len(got.Parts) == 0 {
		err = fmt.Errorf("the block of %d memories is empty", b.n)
	}
	return err
}
