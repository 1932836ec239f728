package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"

	"golang.org/x/term"

	"github.com/oxbow-memory/oxbow/internal/trace"
)

// app is one invocation of the program: where it reads and writes, and for whom.
type app struct {
	in       io.Reader
	out      io.Writer // data
	messages io.Writer // everything else
	env      func(string) (string, bool)

	format       string // table or json
	outTerminal  bool
	saysTerminal bool
	colour       bool
	width        int // columns of the terminal; 0 when out is none
}

func newApp(in io.Reader, out, messages io.Writer, env func(string) (string, bool)) *app {
	a := &app{in: in, out: out, messages: messages, env: env}
	a.outTerminal, a.width = terminal(out)
	a.saysTerminal, _ = terminal(messages)
	noColour, _ := env("NO_COLOR")
	kind, _ := env("TERM")
	a.colour = a.outTerminal && noColour == "" && kind != "dumb"
	return a
}

// terminal tells whether a stream is a terminal, and how wide.
func terminal(stream any) (bool, int) {
	f, ok := stream.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return false, 0
	}
	w, _, err := term.GetSize(int(f.Fd()))
	if err != nil || w < 20 {
		w = 80
	}
	return true, w
}

// columns is how wide prose is wrapped: the terminal, else $COLUMNS, else 100.
func (a *app) columns() int {
	if a.width > 0 {
		return a.width
	}
	if v, ok := a.env("COLUMNS"); ok {
		if n, err := strconv.Atoi(v); err == nil && n >= 20 {
			return n
		}
	}
	return 100
}

// say prints a message for people.
func (a *app) say(format string, args ...any) {
	_, _ = fmt.Fprintf(a.messages, format+"\n", args...)
}

// logger logs to the messages: text for people, JSON for machines.
func (a *app) logger(level slog.Level) *slog.Logger {
	opts := &slog.HandlerOptions{Level: level}
	if a.saysTerminal {
		return slog.New(trace.Logs(slog.NewTextHandler(a.messages, opts)))
	}
	return slog.New(trace.Logs(slog.NewJSONHandler(a.messages, opts)))
}
