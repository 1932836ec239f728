package carry

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/oxbow-memory/oxbow"
)

// Reader reads an export, never more than a line at a time.
type Reader struct {
	lines  *lines
	Header Header
	hash   hash.Hash
	counts map[string]int
	ended  bool
}

// NewReader reads the header. Its errors are invalid: for what is no export, and
// for a form that a newer program wrote.
func NewReader(r io.Reader) (*Reader, error) {
	out := &Reader{lines: newLines(r), hash: sha256.New(), counts: map[string]int{}}
	raw, err := out.lines.next()
	if err == io.EOF {
		return nil, oxbow.Errorf(oxbow.CodeInvalid, "the file is empty: give one that oxbow export has written")
	}
	if err != nil {
		return nil, err
	}
	var l struct {
		Header *struct {
			Format int `json:"format"`
		} `json:"header"`
	}
	if err := json.Unmarshal(raw, &l); err != nil || l.Header == nil || l.Header.Format < 1 {
		return nil, out.lines.wrong("it is no header of an export: give the file from its beginning")
	}
	if l.Header.Format > Format {
		return nil, oxbow.Errorf(oxbow.CodeInvalid, "the file is of the format %d and this program reads up to %d: import it with a newer oxbow, or export it with this one", l.Header.Format, Format)
	}
	var head Line
	if err := decode(raw, &head); err != nil {
		return nil, out.lines.wrong("%s", describe(err))
	}
	out.Header = *head.Header
	return out, (oxbow.Scope{Tenant: out.Header.Tenant, Name: "user"}).Validate()
}

// Line gives the number of the line that was read last, from 1.
func (r *Reader) Line() int { return r.lines.n }

// Counts gives the lines read so far by kind.
func (r *Reader) Counts() map[string]int { return r.counts }

// Whole tells whether the trailer was read and says what the lines before it do.
func (r *Reader) Whole() bool { return r.ended }

// ErrCut says that a file ends without its trailer.
var ErrCut = errors.New("the file was cut off")

// Next gives the next line between header and trailer; io.EOF behind a trailer
// that agrees with them, ErrCut when the file ends before it, and invalid, with
// the number of the line, for what cannot be read.
func (r *Reader) Next() (Line, error) {
	if r.ended {
		return Line{}, io.EOF
	}
	raw, err := r.lines.next()
	if err == io.EOF {
		return Line{}, ErrCut
	}
	if err != nil {
		return Line{}, err
	}
	l, err := parse(raw, r.Header.Format)
	if err != nil && r.lines.last() {
		return Line{}, ErrCut // the end of the file is the end of half a line
	}
	if err != nil {
		return Line{}, r.lines.wrong("%s", describe(err))
	}
	if l.Trailer != nil {
		return Line{}, r.end(*l.Trailer)
	}
	if err := check(l, r.Header.Tenant); err != nil {
		return Line{}, r.lines.wrong("%s", err.Error())
	}
	_, _ = r.hash.Write(raw)
	_, _ = r.hash.Write([]byte{'\n'})
	r.counts[l.Kind()]++
	return l, nil
}

// end compares the trailer with what was read.
func (r *Reader) end(t Trailer) error {
	if sum := hex.EncodeToString(r.hash.Sum(nil)); sum != t.SHA256 || !maps.Equal(t.Counts, r.counts) {
		return oxbow.Errorf(oxbow.CodeInvalid, "the file was changed or damaged: its lines are not those that its last line counts and sums up; export it anew")
	}
	if _, err := r.lines.next(); err != io.EOF {
		return r.lines.wrong("there is something behind the last line of the export")
	}
	r.ended = true
	return io.EOF
}

// parse reads one line of a format. An earlier format would be brought to this
// one here, kind by kind; the first has none before it.
func parse(raw []byte, format int) (Line, error) {
	var l Line
	if format != Format {
		return l, oxbow.Errorf(oxbow.CodeInvalid, "there is no format %d", format)
	}
	if err := decode(raw, &l); err != nil {
		return l, err
	}
	if l.Kind() == "" && l.Trailer == nil || l.Header != nil {
		return l, oxbow.Errorf(oxbow.CodeInvalid, "it is none of the kinds that an export has")
	}
	return l, nil
}

// decode reads one JSON object and refuses names that it does not know: a word
// that is lost in silence is data that is lost.
func decode(raw []byte, into *Line) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return oxbow.Errorf(oxbow.CodeInvalid, "there is something behind the object")
	}
	return nil
}

// check refuses what no database could keep, before anything of it is stored.
func check(l Line, tenant string) error {
	in := l.In()
	if err := in.Validate(); err != nil {
		return err
	}
	if in.Tenant != tenant {
		return fmt.Errorf("it is of the tenant %q and the file is of %q", in.Tenant, tenant)
	}
	for _, t := range instants(l) {
		if !t.IsZero() && (t.Year() < 1 || t.Year() > 9999) {
			return errors.New("a date is out of range")
		}
	}
	switch {
	case l.Scope != nil:
		if err := l.Scope.Policy.Validate(); err != nil {
			return err
		}
		if _, err := time.LoadLocation(l.Scope.Zone); err != nil || l.Scope.Version < 1 {
			return errors.New("its zone is none, or its version is under 1")
		}
	case l.Turn != nil:
		if !slices.Contains([]oxbow.TurnState{oxbow.TurnWaiting, oxbow.TurnExtracted, oxbow.TurnFailed, oxbow.TurnErased}, l.Turn.State) {
			return fmt.Errorf("there is no state %q of a turn", clip(string(l.Turn.State)))
		}
	}
	for _, id := range ids(l) {
		if len(id) != 16 || !oxbow.IsID(id) {
			return fmt.Errorf("%q is no id", clip(id))
		}
	}
	for _, w := range words(l) {
		if strings.ContainsRune(w, 0) {
			return errors.New("a text holds a NUL, which no text has")
		}
	}
	return nil
}

func clip(s string) string { return s[:min(len(s), 40)] }

func instants(l Line) []time.Time {
	switch {
	case l.Scope != nil:
		return []time.Time{l.Scope.CreatedAt, l.Scope.UpdatedAt}
	case l.Run != nil:
		return []time.Time{l.Run.About, l.Run.StartedAt, l.Run.FinishedAt}
	case l.Turn != nil:
		return []time.Time{l.Turn.At, l.Turn.CreatedAt}
	case l.Event != nil:
		return []time.Time{l.Event.At, l.Event.RecordedAt, l.Event.CreatedAt, l.Event.LastUsedAt}
	case l.Memory != nil:
		out := []time.Time{l.Memory.LastUsedAt}
		for _, s := range l.Memory.Shown {
			out = append(out, s.At)
		}
		for _, v := range l.Memory.Verdicts {
			out = append(out, v.At)
		}
		return out
	case l.Schedule != nil:
		return []time.Time{l.Schedule.NextAt, l.Schedule.LastAt}
	case l.Discarded != nil:
		return []time.Time{l.Discarded.At}
	}
	return nil
}

func ids(l Line) []string {
	switch {
	case l.Turn != nil:
		return []string{l.Turn.ID}
	case l.Event != nil:
		out := []string{l.Event.Memory}
		if id := l.Event.After.ContentID; id != nil {
			out = append(out, *id)
		}
		return out
	case l.Memory != nil:
		return append([]string{l.Memory.ID}, l.Memory.Turns...)
	case l.Run != nil:
		return []string{l.Run.ID}
	}
	return nil
}

func words(l Line) []string {
	switch {
	case l.Turn != nil:
		out := []string{l.Turn.User, l.Turn.Assistant, l.Turn.Conversation, l.Turn.Reason, l.Turn.Judge, l.Turn.Run, l.Turn.Observed}
		for _, p := range l.Turn.Parts {
			out = append(out, p.Text)
		}
		return out
	case l.Event != nil:
		out := []string{l.Event.Reason, l.Event.Actor, l.Event.Judge, l.Event.Run}
		for _, p := range []*string{l.Event.After.Slot, l.Event.After.Key, l.Event.After.Turn, l.Event.After.Conversation, l.Event.After.Digest} {
			if p != nil {
				out = append(out, *p)
			}
		}
		if c := l.Event.Content; c != nil {
			out = append(append(out, c.Text, c.Summary, c.Speaker, c.Salt), c.Tags...)
		}
		return out
	case l.Run != nil:
		return []string{l.Run.Name, l.Run.Trigger, l.Run.Cursor, l.Run.Note}
	case l.Scope != nil:
		return []string{l.Scope.Zone}
	case l.Schedule != nil:
		return []string{l.Schedule.Name, l.Schedule.Spec, l.Schedule.CatchUp}
	case l.Discarded != nil:
		return []string{l.Discarded.ID, l.Discarded.Kind, l.Discarded.Error}
	case l.Memory != nil:
		var out []string
		for _, s := range l.Memory.Shown {
			out = append(out, s.Conversation)
		}
		for _, v := range l.Memory.Verdicts {
			out = append(out, v.Judge, v.Run)
		}
		return out
	}
	return nil
}

// lines gives the lines of a file without ever holding more than one.
type lines struct {
	r       *bufio.Reader
	n       int
	buf     []byte
	newline bool // the line that was read last had its end
}

func newLines(r io.Reader) *lines { return &lines{r: bufio.NewReaderSize(r, 1<<16)} }

// wrong makes an error about the line that was read last.
func (l *lines) wrong(format string, args ...any) error {
	return oxbow.Errorf(oxbow.CodeInvalid, "line %d: %s", l.n, fmt.Sprintf(format, args...))
}

// last tells whether the line that was read last is one that does not end.
func (l *lines) last() bool { return !l.newline }

// next gives a line without its end; what it gives is good until the next call.
func (l *lines) next() ([]byte, error) {
	l.buf, l.newline = l.buf[:0], false
	l.n++
	for {
		part, err := l.r.ReadSlice('\n')
		l.buf = append(l.buf, part...)
		if len(l.buf) > MaxLine {
			return nil, l.wrong("it is longer than %d MiB, the most that an import reads; everything before it is taken in", MaxLine>>20)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err == io.EOF && len(l.buf) == 0 {
			l.n--
			return nil, io.EOF
		}
		if err != nil && err != io.EOF {
			return nil, oxbow.WrapError(oxbow.CodeUnavailable, err, "cannot read line %d of the file", l.n)
		}
		l.newline = err == nil
		break
	}
	line := bytes.TrimSuffix(bytes.TrimSuffix(l.buf, []byte("\n")), []byte("\r"))
	if l.n == 1 {
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	if !utf8.Valid(line) && l.newline {
		return nil, l.wrong("it holds bytes that are no UTF-8: the file is damaged, or of another kind")
	}
	return line, nil
}

// describe puts a decoder's words into ours; none of them quotes a value.
func describe(err error) string {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return "it is not JSON: " + syntax.Error()
	}
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Sprintf("%q is a %s, which it cannot be", kind.Field, kind.Value)
	}
	if field, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return "there is no field " + field + " in this format: a newer oxbow may read it"
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return "it is not JSON: it ends in the middle"
	}
	if _, ok := errors.AsType[*time.ParseError](err); ok {
		return "a date in it is none: write it as 2026-05-01T09:30:00Z"
	}
	if e, ok := errors.AsType[*oxbow.Error](err); ok {
		return e.Message
	}
	return "it cannot be read"
}
