package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
)

// openPool gives a pool whose connections keep the statements that they run. SQLite
// takes longer to read a statement than to run most of them, and River's, which
// are long, come as text each time.
func openPool(dsn string) (*sql.DB, error) {
	plain, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	d := plain.Driver()
	return sql.OpenDB(connector{d, dsn}), plain.Close() // which had no connection yet
}

type connector struct {
	driver driver.Driver
	dsn    string
}

// Connect opens a connection.
func (c connector) Connect(context.Context) (driver.Conn, error) {
	inner, err := c.driver.Open(c.dsn)
	if err != nil {
		return nil, err
	}
	full, ok := inner.(fullConn)
	if !ok { // the driver is one and the same, so this is a mistake in this package
		return nil, errors.Join(errors.New("the driver lacks a method"), inner.Close())
	}
	return &conn{fullConn: full, kept: map[string]*kept{}}, nil
}

// Driver gives the driver beneath.
func (c connector) Driver() driver.Driver { return c.driver }

// fullConn is what database/sql uses of the driver's connections.
type fullConn interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.ConnBeginTx
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// conn is a connection with its statements. database/sql lets one goroutine at a
// time use it.
type conn struct {
	fullConn
	kept  map[string]*kept
	turns int64
}

// kept is a statement that is ready to run again.
type kept struct {
	stmt interface {
		driver.Stmt
		driver.StmtExecContext
		driver.StmtQueryContext
	}
	busy bool  // its rows are being read
	used int64 // the turn in which it ran last
}

// Bounds of what a connection keeps. Longer texts are migrations, which run once.
const (
	maxKept      = 256
	maxKeptBytes = 8 << 10
)

// ready gives the statement of a query, unless it is to be run as it is: it is
// too long, or its rows are being read at this moment.
func (c *conn) ready(ctx context.Context, query string) (*kept, error) {
	c.turns++
	if k := c.kept[query]; k != nil {
		if k.busy {
			return nil, nil
		}
		k.used = c.turns
		return k, nil
	}
	if len(query) > maxKeptBytes {
		return nil, nil
	}
	stmt, err := c.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	k := &kept{used: c.turns}
	var ok bool
	if k.stmt, ok = stmt.(interface {
		driver.Stmt
		driver.StmtExecContext
		driver.StmtQueryContext
	}); !ok {
		return nil, stmt.Close()
	}
	c.makeRoom()
	c.kept[query] = k
	return k, nil
}

// makeRoom gives up the statement that was not used for longest.
func (c *conn) makeRoom() {
	if len(c.kept) < maxKept {
		return
	}
	oldest := ""
	for query, k := range c.kept {
		if !k.busy && (oldest == "" || k.used < c.kept[oldest].used) {
			oldest = query
		}
	}
	if k := c.kept[oldest]; k != nil {
		_ = k.stmt.Close()
		delete(c.kept, oldest)
	}
}

// ExecContext implements driver.ExecerContext.
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	k, err := c.ready(ctx, query)
	if err != nil {
		return nil, err
	}
	if k == nil {
		return c.fullConn.ExecContext(ctx, query, args)
	}
	return k.stmt.ExecContext(ctx, args)
}

// QueryContext implements driver.QueryerContext.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	k, err := c.ready(ctx, query)
	if err != nil {
		return nil, err
	}
	if k == nil {
		return c.fullConn.QueryContext(ctx, query, args)
	}
	rows, err := k.stmt.QueryContext(ctx, args)
	if err != nil {
		return nil, err
	}
	k.busy = true
	return &keptRows{rows, k}, nil
}

// keptRows gives the statement back when they are closed.
type keptRows struct {
	driver.Rows
	k *kept
}

// Close ends the reading.
func (r *keptRows) Close() error {
	r.k.busy = false
	return r.Rows.Close()
}

// Close gives the statements up and closes the connection.
func (c *conn) Close() error {
	for _, k := range c.kept {
		_ = k.stmt.Close()
	}
	clear(c.kept)
	return c.fullConn.Close()
}
