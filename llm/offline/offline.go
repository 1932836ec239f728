package offline

import (
	"context"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm"
)

// name is judge@version. The version moves whenever an answer can differ.
const name = "offline@1"

// Judge answers by rules. It keeps nothing, so one may be shared by all.
type Judge struct{}

var (
	_ llm.Judge    = (*Judge)(nil)
	_ llm.Selector = (*Judge)(nil)
	_ llm.Observer = (*Judge)(nil)
	_ llm.Cuer     = (*Judge)(nil)
	_ llm.Reader   = (*Judge)(nil)
)

// New gives the judge.
func New() *Judge { return &Judge{} }

// Name gives offline@1.
func (*Judge) Name() string { return name }

// Extract gives the memories that a turn is worth keeping, sentence by
// sentence, or the reason why there are none. It fails only when ctx is done.
func (*Judge) Extract(ctx context.Context, t llm.TurnText) (llm.Extraction, error) {
	if err := ctx.Err(); err != nil {
		return llm.Extraction{}, err
	}
	return extract(t), nil
}

// Confidence rates a memory by the words of doubt in the sentence of the turn
// that it rests on: 1, 0.7, 0.5, 0.3 or 0.1. It fails only when ctx is done.
func (*Judge) Confidence(ctx context.Context, memory string, t llm.TurnText) (llm.Rating, error) {
	if err := ctx.Err(); err != nil {
		return llm.Rating{}, err
	}
	return llm.Rating{Confidence: rate(memory, t)}, nil
}

// Relate compares a statement with others, each pair read as the one said later
// against the one said earlier, whichever of the two s is. Unrelated ones are
// not named. It fails only when ctx is done.
func (*Judge) Relate(ctx context.Context, s llm.Statement, others []llm.Statement) ([]llm.Relation, error) {
	return relateAll(ctx, s, others)
}

// Expiry says whether a statement ends by itself: on a day of the zone, or with
// an event. It fails only when ctx is done.
func (*Judge) Expiry(ctx context.Context, s llm.Statement, zone *time.Location) (llm.Expiry, error) {
	if err := ctx.Err(); err != nil {
		return llm.Expiry{}, err
	}
	return expiry(s, zone), nil
}

// Cluster gives groups of labels, two or more each, of statements that say
// nearly the same. No label stands in two groups. It fails only when ctx is done.
func (*Judge) Cluster(ctx context.Context, items []llm.Statement) ([][]string, error) {
	return cluster(ctx, items)
}

// Observe gives notes of what a user asked, mentioned, decided and did, and of
// what the assistant found or did, turn by turn: the notes of a turn are shorter
// than the turn, and do not depend on the others. It fails only when ctx is done.
func (*Judge) Observe(ctx context.Context, turns []llm.TurnText) ([]llm.Observation, error) {
	return observe(ctx, turns)
}

// Reflect puts the clauses of notes together, leaving out those that bring no new
// word, and of questions those that bring no name, number or negation. The target
// decides nothing: no rule can tell what else may be lost. It fails only when ctx is done.
func (*Judge) Reflect(ctx context.Context, items []llm.Statement, _ int) ([]llm.Reflection, error) {
	return reflect(ctx, items)
}

// Synthesize joins the sentences of a group, leaving out those that bring no
// new word, so that every name, number, date and negation is kept. It fails only
// when ctx is done.
func (*Judge) Synthesize(ctx context.Context, items []llm.Statement) (llm.Synthesis, error) {
	if err := ctx.Err(); err != nil {
		return llm.Synthesis{}, err
	}
	return synthesize(items), nil
}

// Select gives the labels of the statements that share telling words with a cue,
// the tool or the thing that it asks for included, the likest first; none when
// nothing fits. Among equals the order of the statements stays. It fails only
// when ctx is done.
func (*Judge) Select(ctx context.Context, cue string, items []llm.Statement, limit int) ([]string, error) {
	return choose(ctx, cue, items, limit)
}

// Details gives the typed details of a statement (see ReadDetails).
func (*Judge) Details(text string, saidAt time.Time) []oxbow.Detail {
	return ReadDetails(text, saidAt)
}

// ReadDetails gives what a short statement says as subject, attribute and typed
// value, days being resolved against saidAt: at most oxbow.MaxDetails, and none
// of a question, a story of many words or another language. Whether a statement
// is meant is not read here.
func ReadDetails(text string, saidAt time.Time) []oxbow.Detail {
	if len(text) > longText || strings.Count(text, " ") > maxClause {
		return nil
	}
	return readDetails(parse(text, saidAt))
}

// Cue gives words that a search for the statement's candidates should look for
// beside its own: the other spellings of the tools it names, and, when it says
// that a tool took another's place, the rivals of the newcomer; for a home, an
// employer or a diet the words that others may have stated theirs by. A statement that
// says "we're on MySQL now" shares no word with the notes on PostgreSQL that it
// makes outdated.
func (*Judge) Cue(s llm.Statement) string { return cue(s) }
