package engine

import (
	"context"
	"slices"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/internal/trace"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/store"
)

// Statement is a memory that is written directly, without a turn.
type Statement struct {
	Scope      oxbow.Scope
	Text       string
	Summary    string
	Slot, Key  string // both or neither; a key alone is one of slot user
	Kind       oxbow.Kind
	Importance *float64 // 0 to 10; defaults to 5
	Tags       []string
	Speaker    string       // who said it, when that is a person beside the user
	Source     oxbow.Source // defaults to user
	ExpiresAt  time.Time    // the instant, or zero
	SaidAt     time.Time    // defaults to now
	Pinned     bool
}

// Written says what a direct write or an edit did at once. Its jobs still run.
type Written struct {
	Memory   oxbow.Memory
	Run      string
	Redacted int // secret-shaped strings taken out of what was given
}

// directConfidence is how sure a direct write is, by its source (DESIGN 5).
func directConfidence(s oxbow.Source) float64 {
	switch s {
	case oxbow.FromUser:
		return 1
	case oxbow.FromAssistant:
		return 0.7
	}
	return 0.5
}

// maxAhead is how far ahead of the clock a statement may have been made: clocks
// differ, and zones are mixed up, but a year ahead is a mistake.
const maxAhead = 24 * time.Hour

// Remember stores a statement at once and enqueues the jobs that judge it. What
// reads like an order to the agent, and comes from anybody but the user, is stored
// in quarantine, unpinned, and judged when an operator releases it.
// Errors: invalid for a text that is empty or over 64 KiB, for a kind, slot,
// source or date that does not exist.
func (e *Engine) Remember(ctx context.Context, s Statement) (w Written, err error) {
	op := trace.CreateMemory
	if s.Key != "" { // at an address that may be taken
		op = trace.UpsertMemory
	}
	ctx, span := trace.Memory(ctx, op)
	defer func() { endWrite(span, w, err) }()
	m, err := e.memoryOf(s)
	if err != nil {
		return Written{}, err
	}
	run := e.newRun(s.Scope, "write", "write")
	run.About = m.SaidAt
	written := Written{Run: run.ID}
	var was served
	err = e.st.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
		settings, err := e.openScope(ctx, tx, s.Scope)
		if err != nil {
			return err
		}
		was = served{Memory: m.ID, Run: run.ID}
		if err := e.once(ctx, tx, s.Scope.Tenant, "", &was); err != nil {
			return err
		}
		if err := tx.PutRun(ctx, run); err != nil {
			return err
		}
		done, err := jobs.Put(ctx, tx, e.batch(run), settings, []oxbow.Memory{m}, string(m.Source), "")
		if err != nil {
			return err
		}
		written.Memory = replayed(m, done.Events, settings.Policy)
		return tx.Enqueue(ctx, e.deps.FollowUps(about(run), jobs.Created([]oxbow.Memory{m}, done)))
	})
	if err != nil {
		written, err = e.again(ctx, s.Scope.Tenant, was, err)
	}
	written.Redacted = secretsIn(append([]string{s.Text, s.Summary, s.Speaker}, s.Tags...)...)
	return written, err
}

// secretsIn counts what is taken out of words before they are stored.
func secretsIn(words ...string) int {
	total := 0
	for _, w := range words {
		_, n := text.Redact(text.Normalise(w))
		total += n
	}
	return total
}

// endWrite ends the span of a write of one memory.
func endWrite(span trace.Span, w Written, err error) {
	if err == nil {
		span.Records(1)
		span.Record(w.Memory.ID)
		span.Run(w.Run)
	}
	span.End(err)
}

// replayed gives a new memory as its events left it, which is how it is stored.
func replayed(m oxbow.Memory, events []oxbow.Event, p oxbow.Policy) oxbow.Memory {
	for _, e := range events {
		if e.Memory == m.ID {
			m = e.After.Apply(m)
			m.Version = e.Version
		}
	}
	return p.Derive(m)
}

func (e *Engine) memoryOf(s Statement) (oxbow.Memory, error) {
	now := e.now()
	if err := s.Scope.Validate(); err != nil {
		return oxbow.Memory{}, err
	}
	body, err := cleanText(s.Text, "the text")
	if err != nil {
		return oxbow.Memory{}, err
	}
	if s.Source == "" {
		s.Source = oxbow.FromUser
	}
	if s.SaidAt.IsZero() {
		s.SaidAt = now
	}
	m := oxbow.Memory{
		ID: randomID("memory", s.Scope.String()), Scope: s.Scope, Status: oxbow.Active, Kind: s.Kind, Slot: s.Slot, Key: jobs.CleanKey(s.Key),
		Content:    jobs.CleanContent(oxbow.Content{Text: body, Summary: s.Summary, Tags: s.Tags, Speaker: s.Speaker}),
		Importance: 5, Rating: directConfidence(s.Source), Rated: true, Source: s.Source, Pinned: s.Pinned,
		SaidAt: jobs.Milli(s.SaidAt), ExpiresAt: jobs.Milli(s.ExpiresAt), CreatedAt: now,
	}
	if s.Importance != nil {
		m.Importance = *s.Importance
	}
	if s.ExpiresAt.IsZero() {
		m.ExpiresAt = time.Time{}
	}
	m, err = withAddress(m, s, now)
	return jobs.Screen(e.deps.Detailed(m)), err
}

// withAddress checks what only makes sense together.
func withAddress(m oxbow.Memory, s Statement, now time.Time) (oxbow.Memory, error) {
	if s.Key != "" && m.Key == "" {
		return m, oxbow.Errorf(oxbow.CodeInvalid, "the key %q holds no letters or digits", s.Key)
	}
	if m.Key != "" && m.Slot == "" {
		m.Slot = "user"
	}
	if m.Kind == "" {
		m.Kind = oxbow.Semantic
		if m.Key != "" {
			m.Kind = oxbow.Fact
		}
	}
	switch {
	case !slices.Contains(oxbow.Kinds, m.Kind):
		return m, oxbow.Errorf(oxbow.CodeInvalid, "there is no kind %q: use %s", m.Kind, text.OneOf(oxbow.Kinds))
	case (m.Kind == oxbow.Fact) != (m.Key != "") || m.Slot != "" && m.Key == "":
		return m, oxbow.Errorf(oxbow.CodeInvalid, "a fact has a slot and a key, and nothing else has either: give both with kind fact, or leave them out")
	case m.Slot != "" && !slices.Contains(Slots, m.Slot):
		return m, oxbow.Errorf(oxbow.CodeInvalid, "there is no slot %q: use %s", m.Slot, text.OneOf(Slots))
	case m.Source.Trust() == 0:
		return m, oxbow.Errorf(oxbow.CodeInvalid, "there is no source %q: use %s", m.Source, text.OneOf(oxbow.Sources))
	case !(m.Importance >= 0 && m.Importance <= 10): // a NaN passes no comparison
		return m, oxbow.Errorf(oxbow.CodeInvalid, "the importance is %v: use a number from 0 to 10", m.Importance)
	case !m.ExpiresAt.IsZero() && !m.ExpiresAt.After(m.SaidAt):
		return m, oxbow.Errorf(oxbow.CodeInvalid, "it would expire before it was said: give a later date")
	case m.SaidAt.After(now.Add(maxAhead)):
		return m, oxbow.Errorf(oxbow.CodeInvalid, "it was said more than a day ahead of this machine's clock: check the date")
	}
	return m, nil
}

// Slots are the slots that facts stand in.
var Slots = jobs.Slots

// cleanText normalises a text, takes secrets out and checks its size.
func cleanText(s, what string) (string, error) {
	if len(s) > text.MaxBytes {
		return "", oxbow.Errorf(oxbow.CodeInvalid, "%s is %d bytes long and the limit is %d: shorten it or split it", what, len(s), text.MaxBytes)
	}
	s, _ = text.Redact(text.Normalise(s))
	if s == "" {
		return "", oxbow.Errorf(oxbow.CodeInvalid, "%s is empty: say what is to be remembered", what)
	}
	return s, nil
}
