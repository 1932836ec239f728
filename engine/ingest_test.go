package engine_test

import (
	"context"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/store"
)

// unstored is a store whose commits are lost.
type unstored struct{ store.Store }

func (s unstored) InTx(ctx context.Context, fn func(context.Context, store.Tx) error) error {
	return s.Store.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
		if err := fn(ctx, tx); err != nil {
			return err
		}
		return oxbow.Errorf(oxbow.CodeUnavailable, "the disk is full")
	})
}

func losesCommit(b *bench) {
	e := engine.New(engine.Config{Store: unstored{b.DB}, Judge: b.Judge, Clock: b.Clock.Now})
	done, err := e.Ingest(b.Ctx, []oxbow.Turn{{Scope: b.Bench.Scope, User: "tea: green", At: at(1)}})
	code(b, "the error", err, oxbow.CodeUnavailable)
	equal(b, "the new turns", done.New, 0)
	equal(b, "the ids that it gives", len(done.Added), 0)
}
