package eval

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/store"
)

// Loaded is a store of a file as it stands in a database.
type Loaded struct {
	Scope oxbow.Scope
	// Now is a day after the last memory was said: the present of every query,
	// so that figures do not depend on the day on which they are taken.
	Now time.Time
	// Names gives the file's ids by those in the database, and IDs the other way
	// round, in the order of the file.
	Names map[string]string
	IDs   []string
	// Cut counts memories that were longer than a memory may be and were cut,
	// Left those without a word, which cannot be stored.
	Cut, Left int
}

// Loading says how a store is loaded.
type Loading struct {
	// Facts makes each memory a fact of the slot user with a key of its own, for
	// a strategy that knows nothing else. Defaults to false.
	Facts bool
	// Embedder fills the vectors, of the text that the job embed takes. Defaults
	// to nil: there are none.
	Embedder llm.Embedder
	// Details reads the details that are kept with a memory, by whose hints it is
	// found too. Defaults to nil: there are none.
	Details func(text string, saidAt time.Time) []oxbow.Detail
	// Progress is told how many memories stand so far, now and then. Defaults to
	// nil.
	Progress func(n int)
}

// loadBatch is how many memories stand in one transaction, embedBatch how many
// an embedder is given at a time.
const (
	loadBatch  = 500
	embedBatch = 64
)

// Load puts the memories of a store into a new scope, past the judge: one change
// and one event each. Line i is said i milliseconds after its time, because
// what is said at one instant has no order otherwise. Nothing fades in such a
// scope: its half-lives are a hundred years, so that strength is 1 all over and
// what is measured is recall and not the calendar. A name that is neither user nor
// assistant is kept as the speaker, whose words count as a user's.
func Load(ctx context.Context, st store.Store, scope oxbow.Scope, s RecallStore, how Loading) (Loaded, error) {
	out := Loaded{Scope: scope, Now: firstDay, Names: make(map[string]string, len(s.Memories))}
	var ms []oxbow.Memory
	for i, m := range s.Memories {
		made, cut := memoryOf(scope, i, m, how.Facts)
		if made.Content.Text == "" {
			out.Left++
			continue
		}
		if cut {
			out.Cut++
		}
		if how.Details != nil {
			made.Content.Details = how.Details(made.Content.Text, made.SaidAt)
		}
		if end := m.At.AddDate(0, 0, 1); end.After(out.Now) || i == 0 {
			out.Now = end
		}
		out.Names[made.ID] = m.ID
		out.IDs = append(out.IDs, made.ID)
		ms = append(ms, made)
	}
	if err := timeless(ctx, st, scope, out.Now); err != nil {
		return out, err
	}
	for from := 0; from < len(ms); from += loadBatch {
		part := ms[from:min(len(ms), from+loadBatch)]
		if err := put(ctx, st, scope, out.Now, part, how.Embedder); err != nil {
			return out, fmt.Errorf("load the store %s: %w", s.ID, err)
		}
		if how.Progress != nil {
			how.Progress(from + len(part))
		}
	}
	return out, nil
}

// timeless makes the scope, with a policy under which nothing fades.
func timeless(ctx context.Context, st store.Store, scope oxbow.Scope, now time.Time) error {
	return st.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
		settings, err := tx.LockScope(ctx, scope, now)
		if err != nil {
			return err
		}
		for _, k := range oxbow.Kinds {
			settings.Policy.HalfLifeDays[k] = 36500
		}
		settings.Version++
		settings.UpdatedAt = now
		return tx.PutScope(ctx, settings)
	})
}

// Weigh gives a loaded scope other weights of recall.
func Weigh(ctx context.Context, st store.Store, l Loaded, rules oxbow.RecallRules) error {
	return st.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
		settings, err := tx.LockScope(ctx, l.Scope, l.Now)
		if err != nil {
			return err
		}
		settings.Policy.Recall = rules
		settings.Version++
		return tx.PutScope(ctx, settings)
	})
}

func put(ctx context.Context, st store.Store, scope oxbow.Scope, now time.Time, ms []oxbow.Memory, e llm.Embedder) error {
	vectors, err := embedded(ctx, e, ms)
	if err != nil {
		return err
	}
	run := oxbow.Run{ID: oxbow.NewID("run", "eval", scope.String(), ms[0].ID), Scope: scope, Name: "write", Trigger: "operator",
		Status: oxbow.RunDone, About: now, StartedAt: now, FinishedAt: now}
	changes := make([]oxbow.Change, len(ms))
	for i := range ms {
		changes[i] = oxbow.Change{Type: oxbow.Created, Memory: ms[i].ID, New: &ms[i], Reason: "it was loaded", Actor: "operator"}
	}
	return st.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
		if _, err := tx.LockScope(ctx, scope, now); err != nil {
			return err
		}
		if err := tx.PutRun(ctx, run); err != nil {
			return err
		}
		if _, err := tx.Apply(ctx, store.Batch{Scope: scope, Run: run.ID, Now: now, RecordedAt: now}, changes); err != nil || e == nil {
			return err
		}
		_, err := tx.PutVectors(ctx, scope, e.ID(), vectors)
		return err
	})
}

func embedded(ctx context.Context, e llm.Embedder, ms []oxbow.Memory) ([]store.Vector, error) {
	if e == nil {
		return nil, nil
	}
	out := make([]store.Vector, 0, len(ms))
	for part := range slices.Chunk(ms, embedBatch) {
		texts := make([]string, len(part))
		for i, m := range part {
			texts[i] = store.SearchText(m)
		}
		values, err := e.Embed(ctx, texts)
		if err != nil {
			return nil, err
		}
		if len(values) != len(part) {
			return nil, oxbow.Errorf(oxbow.CodeInternal, "the embedder %s gave %d vectors for %d texts", e.ID(), len(values), len(part))
		}
		for i, m := range part {
			out = append(out, store.Vector{Memory: m.ID, ContentVersion: 1, Values: values[i]})
		}
	}
	return out, nil
}

func memoryOf(scope oxbow.Scope, line int, m RecallMemory, fact bool) (_ oxbow.Memory, cut bool) {
	words, _ := text.Redact(text.Normalise(m.Content))
	words, cut = bounded(words)
	said := m.At.Add(time.Duration(line) * time.Millisecond).UTC().Truncate(time.Millisecond)
	made := oxbow.Memory{
		ID: oxbow.NewID("eval", scope.String(), m.ID), Scope: scope, Status: oxbow.Active, Kind: oxbow.Semantic,
		Content: oxbow.Content{Text: words, Summary: text.Clip(words, 160)}, Conversation: m.Conversation,
		Importance: 5, Rating: 1, Rated: true, Source: oxbow.FromUser, SaidAt: said, CreatedAt: said,
	}
	switch strings.ToLower(m.Speaker) {
	case "", "user":
	case "assistant":
		made.Source, made.Rating = oxbow.FromAssistant, 0.7
	default:
		made.Content.Speaker = text.Clip(text.Normalise(m.Speaker), 80)
	}
	if fact {
		// The id is one word that no question has in it.
		made.Kind, made.Slot, made.Key = oxbow.Fact, "user", made.ID
	}
	return made, cut
}

// bounded cuts a text that is longer than a memory may be, at a rune's end.
func bounded(s string) (string, bool) {
	if len(s) <= text.MaxBytes {
		return s, false
	}
	end := text.MaxBytes
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return strings.TrimSpace(s[:end]), true
}
