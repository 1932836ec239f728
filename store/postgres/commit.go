package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow"
)

// maxAttempts bounds how often a transaction is run that the server breaks off
// because others hold what it needs.
const maxAttempts = 5

// maxPause bounds the pause before a transaction is run again; its random
// length keeps two that met from meeting again.
const maxPause = 20 * time.Millisecond

// errStopped answers transactions that come after Close.
var errStopped = oxbow.Errorf(oxbow.CodeUnavailable, "the database is closed")

// submit runs a transaction, and again when the server asks for it.
func (s *Store) submit(ctx context.Context, fn func(context.Context, *tx) error) error {
	var err error
	for range maxAttempts {
		if err = s.transact(ctx, fn); !repeatable(err) {
			return err
		}
		if e := pause(ctx); e != nil {
			return e
		}
	}
	return err
}

func pause(ctx context.Context) error {
	t := time.NewTimer(rand.N(maxPause))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// transact commits what fn does; fn's own error comes back as it is.
func (s *Store) transact(ctx context.Context, fn func(context.Context, *tx) error) error {
	pg, err := s.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		return translate(err, "begin a transaction")
	}
	if err := s.guarded(ctx, pg, fn); err != nil {
		// A rollback that fails closes the connection, which rolls back too.
		_ = pg.Rollback(context.WithoutCancel(ctx))
		return err
	}
	err = pg.Commit(ctx)
	if errors.Is(err, pgx.ErrTxCommitRollback) {
		return oxbow.Errorf(oxbow.CodeInternal, "commit: a statement had failed before, so nothing was written")
	}
	return translate(err, "commit")
}

// guarded turns a panic of the caller's function into its error, as the other
// database does, and so never leaves a transaction open.
func (s *Store) guarded(ctx context.Context, pg pgx.Tx, fn func(context.Context, *tx) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in a transaction: %v", p)
		}
	}()
	return fn(ctx, &tx{reader: reader{q: pg}, s: s, pg: pg})
}
