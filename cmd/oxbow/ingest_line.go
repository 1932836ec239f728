package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow"
)

// maxLine bounds a line of an ingest file.
const maxLine = 1 << 20

var errLongLine = usage("it is longer than 1 MiB: split the turn")

// lineReader gives the lines of a file without ever holding more than one, and
// no more of one than maxLine.
type lineReader struct {
	r     *bufio.Reader
	first bool
}

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, maxLine+2), first: true}
}

// compressed tells whether the text begins as gzip does, of which no line is one.
func (l *lineReader) compressed() bool {
	head, err := l.r.Peek(2)
	return err == nil && head[0] == 0x1f && head[1] == 0x8b
}

// next gives a line without its end, errLongLine for one that is too long, and
// io.EOF after the last. What it gives is good until the next call.
func (l *lineReader) next() ([]byte, error) {
	line, err := l.r.ReadSlice('\n')
	for long := false; ; long = true {
		if !errors.Is(err, bufio.ErrBufferFull) {
			if long || len(bytes.TrimSuffix(line, []byte("\n"))) > maxLine {
				return nil, errLongLine
			}
			break
		}
		line, err = l.r.ReadSlice('\n')
	}
	if err == io.EOF && len(line) == 0 || err != nil && err != io.EOF {
		return nil, err
	}
	if l.first {
		l.first = false
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	return bytes.TrimRight(line, "\r\n"), nil
}

// turnLine is a turn as a line writes it.
type turnLine struct {
	ID           string       `json:"id"`
	Scope        string       `json:"scope"`
	Conversation string       `json:"conversation"`
	User         string       `json:"user"`
	Assistant    string       `json:"assistant"`
	At           string       `json:"at"`
	Parts        []oxbow.Part `json:"parts"`
}

// parseTurn reads one line. It refuses names that it does not know, so that a
// word that is spelt wrong is not lost in silence.
func parseTurn(raw []byte, tenant, scope string) (oxbow.Turn, error) {
	var l turnLine
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&l); err != nil {
		return oxbow.Turn{}, usage("%s", describeJSON(err))
	}
	if _, err := d.Token(); err != io.EOF {
		return oxbow.Turn{}, usage("there is something behind the object: write one object a line")
	}
	if l.Scope == "" {
		l.Scope = scope
	}
	if l.Scope == "" {
		return oxbow.Turn{}, usage("it names no scope: add \"scope\", or give --scope")
	}
	if l.At == "" {
		return oxbow.Turn{}, usage("it does not say when: add \"at\", such as \"2026-05-01T09:30:00Z\"")
	}
	at, err := time.Parse(time.RFC3339, l.At)
	if err != nil {
		return oxbow.Turn{}, usage("\"at\" is %q: write it as 2026-05-01T09:30:00Z", l.At)
	}
	return oxbow.Turn{ID: l.ID, Scope: oxbow.Scope{Tenant: tenant, Name: l.Scope}, Conversation: l.Conversation,
		User: l.User, Assistant: l.Assistant, Parts: l.Parts, At: at}, nil
}

// describeJSON puts the decoder's words into ours.
func describeJSON(err error) string {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return "it is not JSON: " + syntax.Error()
	}
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if kind.Field == "" {
			return "it is a JSON " + kind.Value + ", not an object"
		}
		return "\"" + kind.Field + "\" is a " + kind.Value + ", which it cannot be"
	}
	if field, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return "there is no field " + field + ": use id, scope, conversation, user, assistant, at and parts"
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return "it is not JSON: it ends in the middle"
	}
	return "it is not JSON: " + err.Error()
}

// readTurns reads a whole file of such lines, each of which names its scope. The
// first line that cannot be read is an error that names it.
func (a *app) readTurns(path, tenant string) ([]oxbow.Turn, error) {
	f, err := openInput(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	var out []oxbow.Turn
	lines := newLineReader(f)
	for n := 1; ; n++ {
		raw, err := lines.next()
		if err == io.EOF {
			return out, nil
		}
		if err == nil && len(bytes.TrimSpace(raw)) == 0 {
			continue
		}
		if err != nil {
			return nil, usage("line %d of %s: %s", n, path, err.Error())
		}
		t, err := parseTurn(raw, tenant, "")
		if err != nil {
			return nil, usage("line %d of %s: %s", n, path, err.Error())
		}
		out = append(out, t)
	}
}

// openInput opens a file of turns.
func openInput(path string) (*os.File, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, oxbow.Errorf(oxbow.CodeNotFound, "there is no file %s; check its name", path)
	}
	if err != nil {
		return nil, oxbow.WrapError(oxbow.CodeUnavailable, err, "cannot read the turns")
	}
	return f, nil
}
