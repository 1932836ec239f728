package engine

import (
	"context"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/internal/trace"
	"github.com/oxbow-memory/oxbow/recall"
	"github.com/oxbow-memory/oxbow/store"
)

// Recall is a question to a scope, as a door takes it.
type Recall struct {
	Scope    oxbow.Scope
	Text     string
	State    recall.State   // what the agent is doing
	Strategy string         // "" is hybrid
	Limit    int            // 1 to 100; 0 is the strategy's own
	Floor    *float64       // 0 to 1; nil is the strategy's own
	Budget   int            // tokens; 0 is none
	AsOf     time.Time      // zero is now
	Include  []oxbow.Status // statuses beside active
	Slot     string
	Kind     oxbow.Kind
	Tag      string
	// Conversation is the one that the results are shown in: what is said there
	// of them afterwards confirms nothing. "" when nobody is shown them.
	Conversation string
	// Passive says that nobody asked: the results are put into a prompt by
	// themselves. Being shown is not use, so nothing is counted, unless the
	// scope's policy says recall.use=classic.
	Passive bool
}

// Recall finds what answers a question; recall.Render makes it a block for a
// prompt. What was asked for counts as use, at most once a day and memory; what
// is recalled of the past, and what is not active, does not. That use could not
// be counted is a note of the answer and no error.
// Errors: invalid for a value that is out of its range, naming the range; for the
// strategy index also those of the judge.
func (e *Engine) Recall(ctx context.Context, q Recall) (answer recall.Answer, err error) {
	ctx, span := trace.Memory(ctx, trace.SearchMemory)
	defer func() {
		span.Records(len(answer.Results))
		span.End(err)
	}()
	now := e.now()
	answer, err = e.ask(ctx, q, now)
	if err != nil || !q.AsOf.IsZero() {
		return answer, err
	}
	if err := e.show(ctx, q, answer, now); err != nil {
		return answer, err
	}
	unused := unusedToday(answer, now)
	if len(unused) == 0 {
		return answer, nil
	}
	if q.Passive {
		s, err := e.st.Scope(ctx, q.Scope)
		if err != nil || s.Policy.Recall.Use != oxbow.UseClassic {
			return answer, err
		}
	}
	err = e.st.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
		_, err := tx.Use(ctx, q.Scope.Tenant, unused, now)
		return err
	})
	if err != nil && ctx.Err() == nil {
		answer.Notes = append(answer.Notes, "the use of these memories could not be counted")
		err = nil
	}
	return answer, err
}

// ask finds, and writes nothing.
func (e *Engine) ask(ctx context.Context, q Recall, now time.Time) (recall.Answer, error) {
	return e.recaller.Ask(ctx, recall.Query{Scope: q.Scope, Text: q.Text, State: q.State, Strategy: q.Strategy, Limit: q.Limit,
		Floor: q.Floor, Budget: q.Budget, AsOf: q.AsOf, Include: q.Include, Slot: q.Slot, Kind: q.Kind, Tag: q.Tag, Now: now})
}

// unusedToday gives the active memories of an answer whose use would count, so
// that asking again writes nothing.
func unusedToday(a recall.Answer, now time.Time) []string {
	var out []string
	for _, r := range a.Results {
		if _, counts := r.Memory.Use(now); counts && r.Memory.Status == oxbow.Active {
			out = append(out, r.Memory.ID)
		}
	}
	return out
}

// show remembers what a conversation's agent is shown, before it is.
func (e *Engine) show(ctx context.Context, q Recall, a recall.Answer, now time.Time) error {
	conversation := text.Normalise(q.Conversation)
	if conversation == "" || len(a.Results) == 0 {
		return nil
	}
	if len(conversation) > maxConversation {
		return oxbow.Errorf(oxbow.CodeInvalid, "the conversation's name is %d bytes long and the limit is %d", len(conversation), maxConversation)
	}
	ids := make([]string, len(a.Results))
	for i, r := range a.Results {
		ids[i] = r.Memory.ID
	}
	if a.Rest != nil {
		ids = append(ids, a.Rest.IDs...)
	}
	return e.st.InTx(ctx, func(ctx context.Context, tx store.Tx) error { return tx.PutShown(ctx, q.Scope, conversation, ids, now) })
}

// maxConversation bounds the name of a conversation in bytes.
const maxConversation = 1 << 10
