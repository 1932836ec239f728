package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/llm"
)

// The exit codes of the program.
const (
	exitOK       = 0
	exitError    = 1
	exitUsage    = 2
	exitNotFound = 3
	exitConflict = 4
)

// exits maps the codes of errors; what it does not name is exitError.
var exits = map[string]int{
	oxbow.CodeInvalid:  exitUsage,
	oxbow.CodeNotFound: exitNotFound,
	oxbow.CodeConflict: exitConflict,
}

// errSaid ends a command with exitError when everything is said already: a
// finding of the doctor, a refused line of an ingest.
var errSaid = errors.New("said already")

// exitCode says what went wrong and gives the code to exit with. The text of an
// internal error goes to a log line, because nobody wrote it for people.
func (a *app) exitCode(err error) int {
	code := oxbow.CodeOf(err)
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errSaid):
		return exitError
	case errors.Is(err, context.Canceled):
		a.say("oxbow: stopped before it was done; what was done stays")
		return exitError
	case isAway(err):
		a.say("oxbow: %s", text.Printable(err.Error()))
		return exitError
	case code == oxbow.CodeInternal:
		a.logger(slog.LevelInfo).LogAttrs(context.Background(), slog.LevelError, "internal error",
			slog.String("error", text.Printable(err.Error())))
		a.say("oxbow: something went wrong inside the program; the line above names it. oxbow doctor looks for damage")
		return exitError
	}
	a.say("oxbow: %s", text.Printable(explain(err)))
	if to, ok := exits[code]; ok {
		return to
	}
	return exitError
}

// isAway tells whether a judge could not be asked, which is nobody's defect.
func isAway(err error) bool {
	_, ok := errors.AsType[*llm.AwayError](err)
	return ok
}

// explain puts the cause of an error behind its advice.
func explain(err error) string {
	e, ok := err.(*oxbow.Error) // of a wrapped one, Error says the verb phrase too
	if !ok || e.Err == nil {
		return err.Error()
	}
	return e.Message + " (" + e.Err.Error() + ")"
}

// usage makes an error of the caller's words.
func usage(format string, args ...any) error {
	return oxbow.Errorf(oxbow.CodeInvalid, format, args...)
}
