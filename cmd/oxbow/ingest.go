package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/internal/text"
)

func ingestCommand(a *app) *cobra.Command {
	var scope string
	cmd := &cobra.Command{
		Use:   "ingest FILE|-",
		Short: "Take in turns, a JSON object a line, and have memories made from them",
		Long: `Take in turns from a file, or from standard input with "-", one JSON object a line:

  {"scope": "user:ada", "conversation": "c1", "at": "2026-05-01T09:30:00Z",
   "user": "We use PostgreSQL.", "assistant": "Noted."}

"id" is optional; without one a turn is what it says, when and where. "scope" may
be left out when --scope names one. "parts" holds text that neither side wrote:
[{"source": "tool", "text": "..."}], with the source tool, web or import.

A line that cannot be read is named and left out; the others go in. Taking in the
same file again, whole or from where it was interrupted, changes nothing.`,
		Args: exactly("a file, or - for standard input"),
		RunE: a.making(func(ctx context.Context, s *session, args []string) error { return s.ingestFile(ctx, args[0], scope) }),
	}
	cmd.Flags().StringVar(&scope, "scope", "", "the scope of lines that name none")
	return cmd
}

func (s *session) ingestFile(ctx context.Context, path, scope string) error {
	in := s.in
	if path != "-" {
		f, err := openInput(path)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	i := &ingest{s: s, scope: scope, bar: s.progress(), read: map[oxbow.Scope]*scopeTurns{}, seen: map[string]bool{}, added: map[string]bool{}}
	err := i.lines(ctx, in)
	i.bar.done()
	if err != nil {
		if i.line > 1 {
			s.say("stopped at line %d; the turns stored so far stay, and taking in the same file again goes on", i.line)
		}
		return err
	}
	return i.finish(ctx)
}

// batchTurns is how many turns are stored in one call.
const batchTurns = 200

// maxRefusals bounds how many bad lines are named one by one.
const maxRefusals = 100

// ingest is one file on its way into the store.
type ingest struct {
	s        *session
	scope    string // of lines that name none
	bar      *progress
	line     int
	batch    []oxbow.Turn
	stored   engine.Ingested
	repeated int // lines that say what an earlier line of the file said
	refused  []refusal
	bad      int
	seen     map[string]bool
	added    map[string]bool // the turns that were not known before
	read     map[oxbow.Scope]*scopeTurns
}

// scopeTurns remembers since when the file tells of a scope.
type scopeTurns struct{ since time.Time }

type refusal struct {
	Line  int    `json:"line"`
	Error string `json:"error"`
}

func (i *ingest) lines(ctx context.Context, in io.Reader) error {
	lines := newLineReader(in)
	if lines.compressed() {
		return oxbow.Errorf(oxbow.CodeInvalid, "what is to be taken in is compressed: unpack it first, as in gunzip -c FILE | oxbow ingest -")
	}
	for {
		raw, err := lines.next()
		if err == io.EOF {
			return i.flush(ctx)
		}
		i.line++
		switch {
		case errors.Is(err, errLongLine):
			i.refuse(err)
			continue
		case err != nil:
			return oxbow.WrapError(oxbow.CodeUnavailable, err, "cannot read line %d", i.line)
		case len(strings.TrimSpace(string(raw))) == 0:
			continue
		}
		t, err := i.turn(raw)
		if err != nil {
			i.refuse(err)
			continue
		}
		if i.batch = append(i.batch, t); len(i.batch) >= batchTurns {
			if err := i.flush(ctx); err != nil {
				return err
			}
		}
	}
}

// turn reads a line and checks it, so that a batch holds good turns only.
func (i *ingest) turn(raw []byte) (oxbow.Turn, error) {
	t, err := parseTurn(raw, i.s.tenant, i.scope)
	if err != nil {
		return t, err
	}
	clean, err := i.s.engine.CleanTurn(t)
	if err != nil {
		return t, err
	}
	if i.seen[clean.ID] {
		i.repeated++
	}
	i.seen[clean.ID] = true
	r := i.read[t.Scope]
	if r == nil {
		r = &scopeTurns{since: clean.At}
		i.read[t.Scope] = r
	}
	if clean.At.Before(r.since) {
		r.since = clean.At
	}
	return t, nil
}

func (i *ingest) refuse(err error) {
	i.bad++
	switch {
	case len(i.refused) < maxRefusals:
		i.refused = append(i.refused, refusal{i.line, err.Error()})
		i.bar.done()
		i.s.say("line %d: %s", i.line, text.Printable(err.Error()))
	case i.bad == maxRefusals+1:
		i.s.say("more lines cannot be read; they are only counted")
	}
}

func (i *ingest) flush(ctx context.Context) error {
	done, err := i.s.engine.Ingest(ctx, i.batch)
	i.batch = i.batch[:0]
	i.stored.New += done.New
	i.stored.Known += done.Known
	i.stored.Redacted += done.Redacted
	i.stored.Other += done.Other
	for _, id := range done.Added {
		i.added[id] = true
	}
	i.bar.show(func() string {
		return fmt.Sprintf("storing: %s so far", number(i.stored.New+i.stored.Known, "turn", "turns"))
	})
	return err
}

// ingestSummary is what an ingest ends with.
type ingestSummary struct {
	New     int            `json:"new"`
	Known   int            `json:"known"`
	Other   int            `json:"known_with_other_words"` // what is stored stays
	Refused int            `json:"refused"`
	Lines   []refusal      `json:"refused_lines"`
	Waiting bool           `json:"waiting"` // jobs wait, so the reading is not complete
	Reading engine.Reading `json:"reading"`
}

func (i *ingest) finish(ctx context.Context) error {
	left := func(jobs int) string {
		counts, err := i.s.st.CountTurns(ctx, oxbow.Scope{Tenant: i.s.tenant})
		if err != nil {
			return judging(jobs)
		}
		return fmt.Sprintf("reading: %s to go, %s", number(counts[oxbow.TurnWaiting], "turn", "turns"), number(jobs, "job", "jobs"))
	}
	if i.stored.New >= largeIngest {
		i.s.sayEstimate(i.stored.New)
	}
	done, err := i.s.settleJobs(ctx, "", false, left)
	if err != nil {
		i.s.say("all turns are stored; what is not read yet waits")
		return err
	}
	sum := ingestSummary{New: i.stored.New, Known: i.stored.Known - i.repeated, Other: i.stored.Other, Refused: i.bad, Lines: orEmpty(i.refused), Waiting: done.Pending > 0}
	if sum.Reading, err = i.reading(ctx); err != nil {
		return err
	}
	if err := i.s.show(sum, func(p *printer) { p.ingested(sum, i.repeated) }); err != nil {
		return err
	}
	if i.stored.Other > 0 {
		i.s.say("%s known by its id and says something else here: what is stored stays; give what is new an id of its own, or none",
			number(i.stored.Other, "turn is", "turns are"))
	}
	if i.bad > 0 {
		i.s.say("%s refused; correct the file and take it in again, what is known stays as it is", number(i.bad, "line was", "lines were"))
		return errSaid
	}
	return nil
}

func (i *ingest) reading(ctx context.Context) (engine.Reading, error) {
	sum := engine.Reading{Turns: map[oxbow.TurnState]int{}, Nothing: map[string]int{}, Events: map[string]int{}, Judges: []string{}}
	for scope, turns := range i.read {
		part, err := i.s.engine.Reading(ctx, scope, i.added, turns.since)
		if err != nil {
			return sum, err
		}
		sum.Merge(part)
	}
	slices.Sort(sum.Judges)
	return sum, nil
}

func (p *printer) ingested(s ingestSummary, repeated int) {
	turns := fmt.Sprintf("%d new", s.New)
	for _, part := range []struct {
		n    int
		what string
	}{{s.Known, "known already"}, {repeated, "twice in the file"}, {s.Refused, "refused"}} {
		if part.n > 0 {
			turns += fmt.Sprintf(", %d %s", part.n, part.what)
		}
	}
	p.pair("turns", turns)
	r := s.Reading
	if n := r.Turns[oxbow.TurnWaiting]; n > 0 {
		p.pair("waiting", number(n, "turn is not read yet", "turns are not read yet"))
	}
	if n := r.Turns[oxbow.TurnFailed]; n > 0 {
		p.pair("failed", number(n, "turn that the judge could not read", "turns that the judge could not read")+"; see: oxbow turn list --state failed")
	}
	p.pair("memories", number(r.Memories, "made", "made"))
	nothing := 0
	for _, n := range r.Nothing {
		nothing += n
	}
	if nothing > 0 {
		p.pair("nothing kept", "of "+number(nothing, "turn", "turns"))
	}
	for _, reason := range byCount(r.Nothing) {
		p.pair("", fmt.Sprintf("%6d  %s", r.Nothing[reason], reason))
	}
	p.pair("superseded", fmt.Sprint(r.Events[string(oxbow.SupersededBy)]))
	p.pair("confirmed", fmt.Sprint(r.Events[string(oxbow.Reinforced)]))
	p.pair("repeats", fmt.Sprint(r.Events[string(oxbow.CompressedTo)]))
	if r.Redacted > 0 {
		p.pair("redacted", number(r.Redacted, "string that looked like a secret", "strings that looked like secrets"))
	}
	p.pair("judge", strings.Join(r.Judges, ", "))
}

// byCount gives the keys of counts, the most frequent first.
func byCount(counts map[string]int) []string {
	var out []string
	for k := range counts {
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b string) int {
		if d := counts[b] - counts[a]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return out
}
