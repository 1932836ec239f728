package engine

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/internal/trace"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/store"
)

// Ingested says what a call of Ingest stored.
type Ingested struct {
	New      int // turns that were not known
	Known    int // turns that were there already
	Other    int // of those, the ones that say something else than what is stored
	Redacted int // secret-shaped strings taken out of the new ones

	Added []string // the ids of the new ones
	Turns []string // the ids of all, in the order in which they were given
	Runs  []string // beside Turns: the run of what reading each changes
}

// Ingest stores turns, each at most once, and enqueues their extraction. The
// turns of one call are stored scope by scope, each scope in one transaction;
// when it fails, what is not stored can be given again. The same request twice
// (WithRequest) gives what the first one gave, and stores nothing, also where
// turns got their time from the clock. Errors: invalid for a
// turn that CleanTurn refuses; then nothing is stored.
func (e *Engine) Ingest(ctx context.Context, turns []oxbow.Turn) (done Ingested, err error) {
	ctx, span := trace.Memory(ctx, trace.UpsertMemory) // which memories, extract decides later
	defer func() { span.End(err) }()
	byScope, places := map[oxbow.Scope][]oxbow.Turn{}, map[oxbow.Scope][]int{}
	var scopes []oxbow.Scope
	for i, t := range turns {
		t, err := e.CleanTurn(t)
		if err != nil {
			return done, err
		}
		if byScope[t.Scope] == nil {
			scopes = append(scopes, t.Scope)
		}
		byScope[t.Scope], places[t.Scope] = append(byScope[t.Scope], t), append(places[t.Scope], i)
	}
	done.Turns, done.Runs = make([]string, len(turns)), make([]string, len(turns))
	for _, s := range scopes {
		part, err := e.ingestScope(ctx, s, byScope[s])
		done.New += part.New
		done.Known += part.Known
		done.Redacted += part.Redacted
		done.Other += part.Other
		done.Added = append(done.Added, part.Added...)
		if err != nil {
			return done, err
		}
		for i, at := range places[s] {
			done.Turns[at], done.Runs[at] = part.Turns[i], part.Runs[i]
		}
	}
	return done, nil
}

func (e *Engine) ingestScope(ctx context.Context, s oxbow.Scope, turns []oxbow.Turn) (Ingested, error) {
	var was served
	err := e.st.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
		done := Ingested{}
		if _, err := e.openScope(ctx, tx, s); err != nil {
			return err
		}
		for _, t := range turns {
			if err := e.addTurn(ctx, tx, t, &done); err != nil {
				return err
			}
		}
		was = served{Ingested: &done}
		if err := e.once(ctx, tx, s.Tenant, s.Name, &was); err != nil || done.New == 0 {
			return err
		}
		return tx.Enqueue(ctx, []river.InsertManyParams{insert(jobs.Extract{Tenant: s.Tenant, Scope: s.Name})})
	})
	if err != nil && !errors.Is(err, errServed) || was.Ingested == nil { // also the commit's: then nothing of it is stored
		return Ingested{}, err
	}
	return *was.Ingested, nil
}

// addTurn stores one turn that was not known, with the run that reading it will
// be, so that whoever sent it can ask for that at once.
func (e *Engine) addTurn(ctx context.Context, tx store.Tx, t oxbow.Turn, done *Ingested) error {
	n, err := tx.AddTurns(ctx, []oxbow.Turn{t})
	if err != nil {
		return err
	}
	done.New += n
	done.Known += 1 - n
	done.Redacted += n * t.Redacted
	done.Turns = append(done.Turns, t.ID)
	if n > 0 {
		done.Added = append(done.Added, t.ID)
		run := e.newRun(t.Scope, "write", "write")
		run.ID, run.About = jobs.RunOf(t), t.At
		done.Runs = append(done.Runs, run.ID)
		return tx.PutRun(ctx, run)
	}
	stored, err := tx.Turn(ctx, t.Scope.Tenant, t.ID)
	if err != nil {
		return err
	}
	done.Other += saysOther(stored, t)
	run := stored.Run
	if run == "" {
		run = jobs.RunOf(stored)
	}
	done.Runs = append(done.Runs, run)
	return nil
}

// saysOther gives 1 when a turn that is known already has other words than those
// stored, which stay. What was erased has none to compare.
func saysOther(stored, t oxbow.Turn) int {
	if stored.State == oxbow.TurnErased || stored.User == t.User && stored.Assistant == t.Assistant && slices.Equal(stored.Parts, t.Parts) {
		return 0
	}
	return 1
}

// CleanTurn gives a turn as it is stored: normalised, without secrets, with an
// id. Without one of its own, a turn is what it says, when and where, so the
// same line ingested twice is one turn. Errors: invalid for an empty turn, a
// text over 64 KiB, a missing or impossible time, a part with no source.
func (e *Engine) CleanTurn(t oxbow.Turn) (oxbow.Turn, error) {
	if err := t.Scope.Validate(); err != nil {
		return t, err
	}
	now := e.now()
	if t.At.IsZero() || t.At.Year() < 1970 || t.At.After(now.Add(maxAhead)) {
		return t, oxbow.Errorf(oxbow.CodeInvalid, "the turn's time (at) is missing, before 1970 or ahead of this machine's clock: give it as 2026-05-01T09:30:00Z")
	}
	t.At, t.CreatedAt = jobs.Milli(t.At), now
	t.Redacted = 0
	words := []*string{&t.User, &t.Assistant, &t.Conversation}
	t.Parts = slices.Clone(t.Parts)
	for i := range t.Parts {
		if s := t.Parts[i].Source; s != oxbow.FromTool && s != oxbow.FromWeb && s != oxbow.FromImport {
			return t, oxbow.Errorf(oxbow.CodeInvalid, "part %d of the turn has the source %q: use tool, web or import", i+1, s)
		}
		words = append(words, &t.Parts[i].Text)
	}
	empty := true
	for i, w := range words {
		if len(*w) > text.MaxBytes {
			return t, oxbow.Errorf(oxbow.CodeInvalid, "a text of the turn is %d bytes long and the limit is %d: split it", len(*w), text.MaxBytes)
		}
		clean, n := text.Redact(text.Normalise(*w))
		*w = clean
		t.Redacted += n
		empty = empty && (clean == "" || i == 2)
	}
	if empty {
		return t, oxbow.Errorf(oxbow.CodeInvalid, "the turn says nothing: give user or assistant")
	}
	t.ID = turnID(t)
	return t, nil
}

func turnID(t oxbow.Turn) string {
	if t.ID != "" {
		if len(t.ID) == 16 && oxbow.IsID(t.ID) {
			return t.ID
		}
		return oxbow.NewID("turn", t.Scope.Tenant, t.Scope.Name, t.ID)
	}
	parts := []string{"turn", t.Scope.Tenant, t.Scope.Name, t.Conversation, t.At.Format(time.RFC3339Nano), t.User, t.Assistant}
	for i, p := range t.Parts {
		parts = append(parts, strconv.Itoa(i), string(p.Source), p.Text)
	}
	return oxbow.NewID(parts...)
}
