package postgres

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

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

// submit runs a transaction, and again when the server asks for it. The first
// time it assumes what mostly holds (tx.assume); when that was wrong, it is run
// again at once and asks.
func (s *Store) submit(ctx context.Context, fn func(context.Context, *tx) error) error {
	var err error
	assume := true
	for range maxAttempts {
		var missed bool
		if missed, err = s.transact(ctx, assume, fn); missed {
			assume = false
			continue
		}
		if !repeatable(err) {
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

// transact commits what fn does; fn's own error comes back as it is. It tells
// whether an assumption was missed.
func (s *Store) transact(ctx context.Context, assume bool, fn func(context.Context, *tx) error) (missed bool, err error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return false, translate(err, "begin a transaction")
	}
	defer conn.Release()
	p := &pipe{conn: conn.Conn()}
	if err = s.guarded(ctx, &tx{reader: reader{sights: p, known: s.known, index: s.index}, s: s, pipe: p, assume: assume}, fn); err == nil {
		err = p.commit(ctx)
	}
	if err != nil {
		p.rollback(context.WithoutCancel(ctx))
	}
	return p.missed, err
}

// guarded turns a panic of the caller's function into its error, as the other
// database does, and so never leaves a transaction open.
func (s *Store) guarded(ctx context.Context, t *tx, fn func(context.Context, *tx) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in a transaction: %v", p)
		}
	}()
	return fn(ctx, t)
}
