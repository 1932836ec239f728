package oxbow

import (
	"errors"
	"fmt"
)

// The codes of Oxbow's errors. Doors (CLI, HTTP, MCP) map them in one table
// each; an error without a code is internal and its text is not shown.
const (
	CodeInvalid      = "invalid"      // the caller's input is wrong
	CodeNotFound     = "not_found"    // nothing has that id or name
	CodeConflict     = "conflict"     // the thing is in another state than the call needs
	CodeUnauthorized = "unauthorized" // the caller may not do this
	CodeUnavailable  = "unavailable"  // something outside is away; try later
	CodeBudget       = "budget"       // a limit of cost or change is reached
	CodeUnsupported  = "unsupported"  // this build or database cannot do it
	CodeInternal     = "internal"     // a defect or a broken machine
)

// Error is an error with a code that callers act on and a message for people.
// The message of an operator-facing error ends with the next thing to do.
type Error struct {
	Code    string
	Message string
	Err     error // the cause, when there is one
}

// Error gives the message, followed by the cause.
func (e *Error) Error() string {
	if e.Err != nil {
		return e.Message + ": " + e.Err.Error()
	}
	return e.Message
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error of a code from a format. Use WrapError to keep a cause.
func Errorf(code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// WrapError gives a cause a code and a message that says what was being done.
func WrapError(code string, err error, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Err: err}
}

// CodeOf gives the code of an error, "" for nil and "internal" when it has none.
func CodeOf(err error) string {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return CodeInternal
}
