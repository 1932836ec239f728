package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/oxbow-memory/oxbow"
)

// batch gathers statements that go to the server in one round trip and run in
// order. The first that fails ends it, and its error says what it was doing.
type batch struct{ statements []statement }

// statement is one of them, with what reads its answer.
type statement struct {
	query string
	args  []any
	read  func(pgx.BatchResults) error
}

func (b *batch) add(query string, args []any, read func(pgx.BatchResults) error) {
	b.statements = append(b.statements, statement{query, args, read})
}

// exec adds a statement whose count of rows is not asked for.
func (b *batch) exec(doing, query string, args ...any) {
	b.add(query, args, func(r pgx.BatchResults) error {
		_, err := r.Exec()
		return translate(err, doing)
	})
}

// divisionByZero is how a statement of must fails: the server itself has to
// refuse, because the commit may be on its way behind it.
const divisionByZero = "22012"

// must adds a statement of which anything but want rows ends the transaction
// with an error. It is a query that locks, or a change with a RETURNING.
func (b *batch) must(doing string, want int, otherwise error, query string, args ...any) {
	query = fmt.Sprintf("WITH done AS (%s) SELECT 1 / (count(*) = $%d)::int FROM done", query, len(args)+1)
	b.add(query, append(args, want), func(r pgx.BatchResults) error {
		_, err := r.Exec()
		if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == divisionByZero {
			return otherwise
		}
		return translate(err, doing)
	})
}

// update adds a change that must concern want rows; any other number says that
// somebody was there before.
func (b *batch) update(doing string, want int, query string, args ...any) {
	b.must(doing, want, oxbow.ErrStale, query+" RETURNING 1", args...)
}

// count adds a statement whose count of rows is added to n.
func (b *batch) count(doing string, n *int, query string, args ...any) {
	b.add(query, args, func(r pgx.BatchResults) error {
		tag, err := r.Exec()
		*n += int(tag.RowsAffected())
		return translate(err, doing)
	})
}

// rows adds a statement whose rows are read one by one.
func (b *batch) rows(doing string, scan func(pgx.Rows) error, query string, args ...any) {
	b.add(query, args, func(r pgx.BatchResults) error {
		rows, err := r.Query()
		if err != nil {
			return translate(err, doing)
		}
		defer rows.Close()
		for rows.Next() {
			if err := scan(rows); err != nil {
				return translate(err, doing)
			}
		}
		return translate(rows.Err(), doing)
	})
}

// later leaves the batch to go with the next answer that is needed, or with the
// commit. What it reads is there only after the transaction.
func (t *tx) later(b *batch) {
	t.pipe.waiting.statements = append(t.pipe.waiting.statements, b.statements...)
}

// write is later for one statement.
func (t *tx) write(doing, query string, args ...any) {
	t.pipe.waiting.exec(doing, query, args...)
}

// send runs the batch inside the transaction, behind what waits; an empty one
// does nothing.
func (t *tx) send(ctx context.Context, b *batch, doing string) error {
	if len(b.statements) == 0 {
		return nil
	}
	t.later(b)
	return translate(t.pipe.flush(ctx), doing)
}
