package jobs

import (
	"context"

	"github.com/riverqueue/river/rivertype"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// commit gives a job its effect, once, and completes it, in one transaction.
// fn is left out when the ledger says that the effect was had before.
func (d Deps) commit(ctx context.Context, row *rivertype.JobRow, key, run string, fn func(context.Context, store.Tx) error) error {
	if d.Unguarded {
		return d.Store.InTx(ctx, fn)
	}
	return d.Store.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
		if err := d.step(ctx, tx, row, key, run, fn); err != nil {
			return err
		}
		return tx.CompleteJob(ctx, row)
	})
}

// commitStep gives a job one of several effects, without completing it.
func (d Deps) commitStep(ctx context.Context, row *rivertype.JobRow, key, run string, fn func(context.Context, store.Tx) error) error {
	return d.Store.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
		return d.step(ctx, tx, row, key, run, fn)
	})
}

func (d Deps) step(ctx context.Context, tx store.Tx, row *rivertype.JobRow, key, run string, fn func(context.Context, store.Tx) error) error {
	if d.Unguarded {
		return fn(ctx, tx)
	}
	if err := tx.Fence(ctx, row); err != nil {
		return err
	}
	first, err := tx.Claim(ctx, key, run, d.now())
	if err != nil || !first {
		return err
	}
	return fn(ctx, tx)
}

// complete ends a job that has nothing (more) to do.
func (d Deps) complete(ctx context.Context, row *rivertype.JobRow, fn func(context.Context, store.Tx) error) error {
	return d.Store.InTx(ctx, func(ctx context.Context, tx store.Tx) error { return d.end(ctx, tx, row, fn) })
}

// stepIn is commitStep under the lock of a scope, and completeIn complete. The
// lock comes first because Ingest holds it when it meets the job's row: the other
// way round each could wait for the other.
func (d Deps) stepIn(ctx context.Context, scope oxbow.Scope, row *rivertype.JobRow, key, run string, fn func(context.Context, store.Tx, oxbow.ScopeSettings) error) error {
	return d.Store.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
		s, err := tx.LockScope(ctx, scope, d.now())
		if err != nil {
			return err
		}
		return d.step(ctx, tx, row, key, run, func(ctx context.Context, tx store.Tx) error { return fn(ctx, tx, s) })
	})
}

func (d Deps) completeIn(ctx context.Context, scope oxbow.Scope, row *rivertype.JobRow, fn func(context.Context, store.Tx) error) error {
	return d.Store.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
		if _, err := tx.LockScope(ctx, scope, d.now()); err != nil {
			return err
		}
		return d.end(ctx, tx, row, fn)
	})
}

func (d Deps) end(ctx context.Context, tx store.Tx, row *rivertype.JobRow, fn func(context.Context, store.Tx) error) error {
	if d.Unguarded {
		return fn(ctx, tx)
	}
	if err := tx.Fence(ctx, row); err != nil {
		return err
	}
	if err := tx.CompleteJob(ctx, row); err != nil {
		return err
	}
	return fn(ctx, tx)
}

func nothing(context.Context, store.Tx) error { return nil }
