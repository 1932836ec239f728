package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/oxbow-memory/oxbow"
)

// maxGroup bounds how many transactions share one commit.
const maxGroup = 64

// request is one transaction that waits for its turn.
type request struct {
	ctx  context.Context
	fn   func(context.Context, *tx) error
	err  error
	done chan struct{}
}

// errStopped answers transactions that come after Close.
var errStopped = oxbow.Errorf(oxbow.CodeUnavailable, "the database is closed")

// submit hands a transaction to the commit goroutine and waits for the commit.
// A context that ends while it waits takes it back; one that ends while it runs
// does not, because SQLite would roll back the whole group.
func (s *Store) submit(ctx context.Context, fn func(context.Context, *tx) error) error {
	r := &request{ctx: ctx, fn: fn, done: make(chan struct{})}
	select {
	case s.requests <- r:
		<-r.done
		return r.err
	case <-ctx.Done():
		return ctx.Err()
	case <-s.closing:
		return errStopped
	}
}

func (s *Store) commitLoop() {
	defer close(s.closed)
	for {
		select {
		case r := <-s.requests:
			s.commitGroup(r)
		case <-s.closing:
			return
		}
	}
}

// commitGroup runs the first request and those that are waiting behind it in
// one transaction, and answers them when it is committed. When the group as a
// whole cannot be committed, each is run again by itself, so that one that
// breaks the transaction takes no other with it.
func (s *Store) commitGroup(first *request) {
	group := []*request{first}
	err := s.transact(func(sqlTx *sql.Tx) error {
		for r := first; r != nil; r = s.next(&group) {
			if err := s.inSavepoint(r, sqlTx); err != nil {
				return err
			}
		}
		return nil
	})
	for _, r := range group {
		switch {
		case err == nil || len(group) == 1 && r.err != nil:
		case len(group) == 1:
			r.err = err
		default:
			r.err = nil
			if e := s.transact(func(sqlTx *sql.Tx) error { return s.inSavepoint(r, sqlTx) }); e != nil && r.err == nil {
				r.err = e
			}
		}
		close(r.done)
	}
}

func (s *Store) next(group *[]*request) *request {
	if len(*group) >= maxGroup {
		return nil
	}
	select {
	case r := <-s.requests:
		*group = append(*group, r)
		return r
	default:
		return nil
	}
}

// transact commits what fn does; its error is about the transaction itself.
func (s *Store) transact(fn func(*sql.Tx) error) error {
	sqlTx, err := s.write.BeginTx(context.Background(), nil)
	if err != nil {
		return translate(err, "begin a transaction")
	}
	if err := fn(sqlTx); err != nil {
		return errors.Join(err, ignoreDone(sqlTx.Rollback()))
	}
	if err := sqlTx.Commit(); err != nil {
		return translate(errors.Join(err, ignoreDone(sqlTx.Rollback())), "commit")
	}
	return nil
}

func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) || err != nil && isNoTransaction(err) {
		return nil
	}
	return err
}

// inSavepoint runs one request; what it fails with stays its own. The error it
// gives says that the surrounding transaction is lost.
func (s *Store) inSavepoint(r *request, sqlTx *sql.Tx) error {
	if r.err = r.ctx.Err(); r.err != nil {
		return nil
	}
	ctx := context.WithoutCancel(r.ctx)
	if _, err := sqlTx.ExecContext(ctx, "SAVEPOINT one"); err != nil {
		return translate(err, "begin a transaction")
	}
	r.err = s.guarded(ctx, r, sqlTx)
	if r.err != nil {
		if _, err := sqlTx.ExecContext(ctx, "ROLLBACK TO one"); err != nil {
			return translate(errors.Join(r.err, err), "roll back")
		}
	}
	if _, err := sqlTx.ExecContext(ctx, "RELEASE one"); err != nil {
		return translate(err, "commit")
	}
	return nil
}

// guarded turns a panic of the caller's function into its error, because the
// goroutine it runs on serves everybody.
func (s *Store) guarded(ctx context.Context, r *request, sqlTx *sql.Tx) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in a transaction: %v", p)
		}
	}()
	return r.fn(ctx, &tx{reader: reader{q: direct{sqlTx}, policies: s.policies}, s: s, sql: sqlTx})
}
