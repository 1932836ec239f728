package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/store"
)

const (
	// cueTurns is how far back a conversation is looked at for what came since a
	// cue was made.
	cueTurns = 20
	// repeatWords is how many words a message must have to be taken for a repeated
	// one: people say yes and go on more than once.
	repeatWords = 3
)

// staleness tells whether the cue was asked before and the conversation has gone
// on since, or is a message from further back in it, and gives the cue to be kept
// when it is new.
//
// Limit: what is stale is told by turns that were ingested. A caller that never
// ingests has no conversation that could go on.
func (e *Engine) staleness(ctx context.Context, q ContextQuery, out *ContextBlock) (*store.Cue, error) {
	turns, err := e.st.ListTurns(ctx, store.TurnFilter{Tenant: q.Scope.Tenant, Scope: q.Scope.Name, Conversation: q.Conversation, Limit: cueTurns})
	if err != nil {
		return nil, err
	}
	newest := ""
	if len(turns) > 0 {
		newest = turns[0].ID
	}
	words := cueWords(q)
	cues, err := e.st.Cues(ctx, q.Scope, q.Conversation)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(cues, func(c store.Cue) bool { return c.Is(words) })
	if i < 0 {
		out.saidBefore(q, turns)
		cue := store.NewCue(words, newest, e.now())
		return &cue, nil
	}
	if cues[i].Turn != newest && newest != "" {
		since := slices.IndexFunc(turns, func(t oxbow.Turn) bool { return t.ID == cues[i].Turn })
		if since < 0 {
			since = len(turns)
		}
		if since > 0 { // a turn that is said to be older than the one then came late, and is no going on
			out.stale(StaleReason{Since: cues[i].At, Turns: since, Last: turns[0].At})
		}
	}
	return nil, nil
}

// saidBefore notices a message that was said before the newest turn, when nothing
// else makes the cue another one.
func (b *ContextBlock) saidBefore(q ContextQuery, turns []oxbow.Turn) {
	words, _ := text.Redact(text.Normalise(q.Text))
	if cueOf(q.State) != "" || len(strings.Fields(words)) < repeatWords {
		return
	}
	for i, t := range turns {
		if i > 0 && text.Same(t.User, words) {
			b.stale(StaleReason{Since: t.At, Turns: i, Last: turns[0].At, Said: true})
			return
		}
	}
}

func (b *ContextBlock) stale(s StaleReason) {
	b.StaleCue, b.Stale = true, &s
	turns := fmt.Sprintf("%d turns came", s.Turns)
	if s.Turns == 1 {
		turns = "1 turn came"
	}
	said := "the same cue was asked"
	if s.Said {
		said = "the same words were said"
	}
	b.Notes = append(b.Notes, fmt.Sprintf("stale cue: %s at %s, and %s since; build the goal and the step anew at each turn",
		said, s.Since.UTC().Format("2006-01-02 15:04 UTC"), turns))
}

// cueWords are what makes a cue the same: the message and each part of the state,
// each told from the next.
func cueWords(q ContextQuery) string {
	parts := append([]string{q.Text, q.State.Goal, q.State.Step}, q.State.Open...)
	for i, p := range parts {
		parts[i] = strings.ToLower(strings.Join(strings.Fields(text.Normalise(p)), " "))
	}
	return strings.Join(parts, "\n")
}

// recordContext remembers what the conversation is shown, and its cue, in one
// transaction; under recall.use=classic it counts use. A block about another
// instant records nothing.
func (e *Engine) recordContext(ctx context.Context, q ContextQuery, b ContextBlock, cue *store.Cue) error {
	if !q.At.IsZero() || !q.AsOf.IsZero() {
		return nil
	}
	now := e.now()
	shown, unused := linesOf(b, now)
	settings, err := e.st.Scope(ctx, q.Scope)
	if oxbow.CodeOf(err) == oxbow.CodeNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	if settings.Policy.Recall.Use != oxbow.UseClassic {
		unused = nil
	}
	if q.Conversation == "" {
		shown = nil
	}
	if len(shown) == 0 && len(unused) == 0 && cue == nil {
		return nil
	}
	return e.st.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
		if len(unused) > 0 {
			if _, err := tx.Use(ctx, q.Scope.Tenant, unused, now); err != nil {
				return err
			}
		}
		if len(shown) > 0 {
			if err := tx.PutShown(ctx, q.Scope, q.Conversation, shown, now); err != nil {
				return err
			}
		}
		if cue == nil {
			return nil
		}
		return tx.PutCue(ctx, q.Scope, q.Conversation, *cue)
	})
}

// linesOf gives the memories of a block's lines, and those of them whose use would
// count.
func linesOf(b ContextBlock, now time.Time) (shown, unused []string) {
	for _, p := range b.Parts {
		for _, l := range p.Lines {
			shown = append(shown, l.ID)
			if _, counts := l.Memory.Use(now); counts && l.Memory.Status == oxbow.Active {
				unused = append(unused, l.ID)
			}
		}
	}
	return shown, unused
}
