package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/oxbow-memory/oxbow"
)

// pipe is the connection of one transaction. A statement whose answer nobody
// has to see waits in it, and goes to the server with the next one whose answer
// somebody does, or with the commit: a call that only writes is one round trip
// from begin to commit. The server runs them in their order, so a lock that
// waits here is held before anything is read.
//
// What a waiting statement fails with comes back from the call that sends it.
type pipe struct {
	conn    *pgx.Conn
	waiting batch
	begun   bool
	seen    oxbow.Scope // whose transaction it is, and the scope that it was last in
	roams   bool        // it may be one tenant's and then another's
	ended   error       // what the transaction failed with; the server takes no more
	missed  bool        // an assumption did not hold: run the transaction again without any
}

// errMissed says that something which was assumed is not so, such as that a
// scope has the settings that it had when it was last read.
var errMissed = oxbow.Errorf(oxbow.CodeUnavailable, "others were there first; repeat")

// errEnded answers statements that come after the one that failed.
var errEnded = errors.New("a statement had failed before, so nothing was written")

// send hands over what waits, with last behind it when it is given, and reads
// the answers, except that to last, which stands next in the result.
func (p *pipe) send(ctx context.Context, last *statement) (pgx.BatchResults, error) {
	if p.ended != nil {
		return nil, oxbow.WrapError(oxbow.CodeInternal, errEnded, "write")
	}
	statements := p.waiting.statements
	p.waiting.statements = nil
	out := &pgx.Batch{}
	if !p.begun {
		p.begun = true
		statements = append([]statement{begin()}, statements...)
	}
	for _, s := range statements {
		out.Queue(s.query, s.args...)
	}
	if last != nil {
		out.Queue(last.query, last.args...)
	}
	results := p.conn.SendBatch(ctx, out)
	for _, s := range statements {
		if err := s.read(results); err != nil {
			p.fail(err)
			_ = results.Close()
			return nil, err
		}
	}
	return results, nil
}

func begin() statement {
	b := &batch{}
	b.exec("begin a transaction", "BEGIN ISOLATION LEVEL READ COMMITTED")
	return b.statements[0]
}

func (p *pipe) fail(err error) {
	if p.ended == nil {
		p.ended = err
		p.missed = errors.Is(err, errMissed)
	}
}

// flush sends what waits.
func (p *pipe) flush(ctx context.Context) error {
	if p.ended == nil && len(p.waiting.statements) == 0 {
		return nil
	}
	results, err := p.send(ctx, nil)
	if err != nil {
		return err
	}
	return p.closed(results)
}

func (p *pipe) closed(results pgx.BatchResults) error {
	err := translate(results.Close(), "talk to the server")
	if err != nil {
		p.fail(err)
	}
	return err
}

// commit sends what waits with the end of the transaction. One that never said
// anything to the server has nothing to end.
func (p *pipe) commit(ctx context.Context) error {
	if p.ended != nil {
		return p.ended
	}
	if !p.begun && len(p.waiting.statements) == 0 {
		return nil
	}
	var done string
	p.waiting.add("COMMIT", nil, func(r pgx.BatchResults) error {
		tag, err := r.Exec()
		done = tag.String()
		return translate(err, "commit")
	})
	if err := p.flush(ctx); err != nil {
		return err
	}
	if done != "COMMIT" {
		return oxbow.WrapError(oxbow.CodeInternal, errEnded, "commit")
	}
	return nil
}

// rollback ends what was begun. One that fails leaves a connection that the pool
// does not take back, which rolls back too.
func (p *pipe) rollback(ctx context.Context) {
	if p.begun && !p.conn.IsClosed() && p.conn.PgConn().TxStatus() != 'I' {
		_, _ = p.conn.Exec(ctx, "ROLLBACK")
	}
}

// Exec implements querier.
func (p *pipe) Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error) {
	results, err := p.send(ctx, &statement{query: query, args: args})
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	tag, err := results.Exec()
	if err != nil {
		p.fail(err)
		_ = results.Close()
		return tag, err
	}
	return tag, p.closed(results)
}

// Query implements querier.
func (p *pipe) Query(ctx context.Context, query string, args ...any) (pgx.Rows, error) {
	results, err := p.send(ctx, &statement{query: query, args: args})
	if err != nil {
		return nil, err
	}
	rows, err := results.Query()
	if err != nil {
		p.fail(err)
		_ = results.Close()
		return nil, err
	}
	return &answer{Rows: rows, p: p, results: results}, nil
}

// QueryRow implements querier.
func (p *pipe) QueryRow(ctx context.Context, query string, args ...any) pgx.Row {
	rows, err := p.Query(ctx, query, args...)
	return firstRow{rows, err}
}

// answer is the rows of the last statement that was sent.
type answer struct {
	pgx.Rows
	p       *pipe // nil outside of a transaction
	results pgx.BatchResults
}

// Next frees the connection behind the last row.
func (a *answer) Next() bool {
	if a.Rows.Next() {
		return true
	}
	a.Close()
	return false
}

// Close frees the connection.
func (a *answer) Close() {
	a.Rows.Close()
	if a.results == nil {
		return
	}
	results := a.results
	a.results = nil
	switch err := a.Err(); {
	case a.p == nil:
		_ = results.Close()
	case err != nil:
		a.p.fail(err)
		_ = results.Close()
	default:
		_ = a.p.closed(results)
	}
}

type firstRow struct {
	rows pgx.Rows
	err  error
}

// Scan reads the row; pgx.ErrNoRows when there is none.
func (r firstRow) Scan(into ...any) error {
	if r.err != nil {
		return r.err
	}
	defer r.rows.Close()
	if !r.rows.Next() {
		if err := r.rows.Err(); err != nil {
			return err
		}
		return pgx.ErrNoRows
	}
	if err := r.rows.Scan(into...); err != nil {
		return err
	}
	r.rows.Close()
	return r.rows.Err()
}
