package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow"
)

// batch gathers statements that go to the server in one round trip and run in
// order. The first that fails ends it, and its error says what it was doing.
type batch struct{ pgx.Batch }

// exec adds a statement whose count of rows is not asked for.
func (b *batch) exec(doing, query string, args ...any) {
	b.Queue(query, args...).Fn = func(br pgx.BatchResults) error {
		_, err := br.Exec()
		return translate(err, doing)
	}
}

// update adds a statement that must change want rows; any other number says
// that somebody was there before.
func (b *batch) update(doing string, want int, query string, args ...any) {
	b.Queue(query, args...).Fn = func(br pgx.BatchResults) error {
		tag, err := br.Exec()
		if err != nil {
			return translate(err, doing)
		}
		if tag.RowsAffected() != int64(want) {
			return oxbow.ErrStale
		}
		return nil
	}
}

// count adds a statement whose count of rows is added to n.
func (b *batch) count(doing string, n *int, query string, args ...any) {
	b.Queue(query, args...).Fn = func(br pgx.BatchResults) error {
		tag, err := br.Exec()
		*n += int(tag.RowsAffected())
		return translate(err, doing)
	}
}

// rows adds a statement whose rows are read one by one.
func (b *batch) rows(doing string, scan func(pgx.Rows) error, query string, args ...any) {
	b.Queue(query, args...).Fn = func(br pgx.BatchResults) error {
		rows, err := br.Query()
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
	}
}

// send runs the batch inside the transaction; an empty one does nothing.
func (t *tx) send(ctx context.Context, b *batch, doing string) error {
	if b.Len() == 0 {
		return nil
	}
	return translate(t.pg.SendBatch(ctx, &b.Batch).Close(), doing)
}
