package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/oxbow-memory/oxbow"
)

// querier asks the pool or a transaction. The driver prepares statements and
// keeps them, per connection.
type querier interface {
	Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, query string, args ...any) pgx.Row
}

// cause is what is kept of a server's error. Its detail and its context may
// quote values, which may be content, so they go no further than here.
type cause struct {
	code string // SQLSTATE
	text string
}

// Error gives the server's message, but for errors about values.
func (c *cause) Error() string {
	if strings.HasPrefix(c.code, "22") {
		return "SQLSTATE " + c.code
	}
	return c.text + " (SQLSTATE " + c.code + ")"
}

// Codes of SQLSTATE that are told apart; see the appendix "PostgreSQL Error
// Codes" of its manual.
const (
	serializationFailure  = "40001"
	deadlockDetected      = "40P01"
	uniqueViolation       = "23505"
	foreignKeyViolation   = "23503"
	cardinalityViolation  = "21000"
	insufficientPrivilege = "42501"
	undefinedTable        = "42P01"
	invalidSchema         = "3F000"
)

// remedies give the other codes, and classes of codes, Oxbow's code and the
// next thing to do.
var remedies = map[string]struct{ code, say string }{
	"53100": {oxbow.CodeUnavailable, "the server's disk is full; nothing was written, make room and repeat"},
	"58030": {oxbow.CodeUnavailable, "the server's disk is failing; nothing was written, look at the server's log"},
	"53":    {oxbow.CodeUnavailable, "the server has no room for more; lower the number of connections and repeat"},
	"08":    {oxbow.CodeUnavailable, "the connection to the database was lost; check that its server runs and repeat"},
	"57":    {oxbow.CodeUnavailable, "the server ended the call; repeat when it runs again"},
	"55P03": {oxbow.CodeUnavailable, "another process holds a lock; repeat"},
	"25006": {oxbow.CodeUnavailable, "the server takes no writes; give the URL of the primary"},
	"42501": {oxbow.CodeUnavailable, "the database's user may not do this; as the owner of the tables run: oxbow db grant USER"},
	"28":    {oxbow.CodeUnavailable, "the server refuses the user; check the URL"},
	"XX001": {oxbow.CodeUnavailable, "the database is damaged; look at the server's log and restore a backup"},
	"XX002": {oxbow.CodeUnavailable, "an index is damaged; look at the server's log and rebuild it"},
	"22021": {oxbow.CodeInvalid, "the text has bytes that no text has; send valid UTF-8 without NUL"},
	"22P05": {oxbow.CodeInvalid, "the text has bytes that no text has; send valid UTF-8 without NUL"},
}

// translate gives a driver's error Oxbow's code and the next thing to do.
func translate(err error, doing string) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		if _, ok := errors.AsType[*pgconn.ConnectError](err); ok { // a try to connect has a time of its own
			return oxbow.WrapError(oxbow.CodeUnavailable, fmt.Errorf("no connection: %w", context.DeadlineExceeded), "%s: the database does not answer; check that its server runs and repeat", doing)
		}
		return err
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return oxbow.WrapError(oxbow.CodeNotFound, nil, "%s: not found", doing)
	}
	if _, ok := errors.AsType[*oxbow.Error](err); ok {
		return err
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return translateCode(&cause{e.Code, e.Message}, doing)
	}
	if isClosed(err) {
		return errStopped
	}
	if isConnection(err) {
		return oxbow.WrapError(oxbow.CodeUnavailable, errors.New("no connection"), "%s: %s", doing, remedies["08"].say)
	}
	return oxbow.WrapError(oxbow.CodeInternal, err, "%s", doing)
}

func translateCode(c *cause, doing string) error {
	switch c.code {
	case serializationFailure, deadlockDetected:
		return oxbow.WrapError(oxbow.CodeUnavailable, c, "%s: others changed the same rows; repeat", doing)
	case uniqueViolation:
		return oxbow.WrapError(oxbow.CodeConflict, c, "%s: it is there already", doing)
	case foreignKeyViolation:
		return oxbow.WrapError(oxbow.CodeConflict, c, "%s: what it belongs to is not there", doing)
	case insufficientPrivilege:
		if strings.Contains(c.text, "row-level security") {
			return oxbow.WrapError(oxbow.CodeInternal, c, "%s: the row is another tenant's", doing)
		}
	case cardinalityViolation:
		return oxbow.WrapError(oxbow.CodeConflict, c, "%s: the same thing stands in one call twice; leave the repeats out", doing)
	}
	for _, key := range []string{c.code, c.code[:min(2, len(c.code))]} {
		if r, ok := remedies[key]; ok {
			return oxbow.WrapError(r.code, c, "%s: %s", doing, r.say)
		}
	}
	return oxbow.WrapError(oxbow.CodeInternal, c, "%s", doing)
}

// isClosed tells whether the pool was closed; its error is another module's.
func isClosed(err error) bool { return err.Error() == "closed pool" }

// isConnection tells whether the connection broke, or could not be made.
func isConnection(err error) bool {
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	_, network := errors.AsType[net.Error](err)
	return network || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// repeatable tells whether the server asks to run the transaction again.
func repeatable(err error) bool {
	c, ok := errors.AsType[*cause](err)
	return ok && (c.code == serializationFailure || c.code == deadlockDetected)
}

// quiet is a logger for the client that only inserts.
func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }
