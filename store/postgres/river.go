package postgres

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/oxbow-memory/oxbow"
)

// riverTx is the transaction as River sees it: it asks, and is answered.
type riverTx struct{ *pipe }

var _ pgx.Tx = riverTx{}

// errNotRivers answers what River has no reason to ask of a transaction that is
// not its own.
var errNotRivers = oxbow.Errorf(oxbow.CodeUnsupported, "the queue asked for what a transaction of the store does not give")

// Begin refuses: nothing here needs a transaction inside a transaction.
func (riverTx) Begin(context.Context) (pgx.Tx, error) { return nil, errNotRivers }

// Commit refuses: the store commits.
func (riverTx) Commit(context.Context) error { return errNotRivers }

// Rollback refuses: the store rolls back.
func (riverTx) Rollback(context.Context) error { return errNotRivers }

// CopyFrom refuses; inserter has one.
func (riverTx) CopyFrom(context.Context, pgx.Identifier, []string, pgx.CopyFromSource) (int64, error) {
	return 0, errNotRivers
}

// SendBatch sends what waits and then the batch.
func (t riverTx) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	if err := t.flush(ctx); err != nil {
		b = &pgx.Batch{} // the server refuses whatever comes in the failed transaction
	}
	return t.conn.SendBatch(ctx, b)
}

// LargeObjects gives what nothing uses.
func (t riverTx) LargeObjects() pgx.LargeObjects { return pgx.LargeObjects{} }

// Prepare refuses: the driver prepares by itself.
func (riverTx) Prepare(context.Context, string, string) (*pgconn.StatementDescription, error) {
	return nil, errNotRivers
}

// Conn gives the connection, of which River reads the configuration.
func (t riverTx) Conn() *pgx.Conn { return t.conn }

// inserter is the transaction as River sees it when it inserts jobs. It does not
// read what comes back, so nothing has to be sent yet.
type inserter struct{ riverTx }

// Exec leaves River's notification waiting.
func (i inserter) Exec(_ context.Context, query string, args ...any) (pgconn.CommandTag, error) {
	i.waiting.exec("enqueue", query, args...)
	return pgconn.CommandTag{}, nil
}

// CopyFrom leaves the rows that River would copy waiting as an INSERT, which can
// pass over unique jobs that are there, as a copy cannot.
func (i inserter) CopyFrom(_ context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error) {
	var n int64
	var args []any
	var values []string
	for rows.Next() {
		row, err := rows.Values()
		if err != nil {
			return 0, err
		}
		var places []string
		for c, v := range row {
			args = append(args, v)
			place := "$" + strconv.Itoa(len(args))
			if columns[c] == "state" {
				args[len(args)-1], place = fmt.Sprint(v), place+"::text::river_job_state"
			}
			places = append(places, place)
		}
		values = append(values, "("+strings.Join(places, ", ")+")")
		if n++; len(values) == maxRows {
			i.insert(table, columns, values, args)
			args, values = nil, nil
		}
	}
	if len(values) > 0 {
		i.insert(table, columns, values, args)
	}
	return n, rows.Err()
}

// maxRows bounds the jobs of one statement, and with it how many such statements
// a connection has prepared.
const maxRows = 16

func (i inserter) insert(table pgx.Identifier, columns, values []string, args []any) {
	i.waiting.exec("enqueue", "INSERT INTO "+table.Sanitize()+" ("+strings.Join(columns, ", ")+") VALUES "+
		strings.Join(values, ", ")+" ON CONFLICT DO NOTHING", args...)
}
