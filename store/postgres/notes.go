package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// isNote is oxbow.Memory.IsNote of memories m.
const isNote = `(m.kind IN ('observation', 'reflection') AND m.conversation <> '')`

// The conditions name the partial index, which is not taken without them.
const (
	waitsToBeObserved = ` t.scope = $1 AND t.conversation = $2 AND t.conversation <> '' AND t.observed = '' AND t.state IN ('extracted', 'failed')`

	unobserved      = selectTurn + ` WHERE` + waitsToBeObserved + ` ORDER BY t.at, t.id LIMIT $3`
	countUnobserved = `SELECT count(*), coalesce(sum(t.tokens), 0)::bigint FROM turns t WHERE` + waitsToBeObserved
)

// Unobserved implements store.NoteReader.
func (r reader) Unobserved(ctx context.Context, s oxbow.Scope, conversation string, limit int) ([]oxbow.Turn, error) {
	seq, err := r.scopeSeq(ctx, s)
	if err != nil {
		return nil, err
	}
	return collect(ctx, r.in(s), "read unobserved turns", scanTurn, unobserved, seq, conversation, limit)
}

// CountUnobserved implements store.NoteReader.
func (r reader) CountUnobserved(ctx context.Context, s oxbow.Scope, conversation string) (turns, tokens int, err error) {
	seq, err := r.scopeSeq(ctx, s)
	if err != nil {
		return 0, 0, err
	}
	err = r.in(s).QueryRow(ctx, countUnobserved, seq, conversation).Scan(&turns, &tokens)
	return turns, tokens, translate(err, "count unobserved turns")
}

const (
	waitingConversations = `
		SELECT DISTINCT conversation FROM turns
		WHERE scope = $1 AND conversation > $2 AND conversation <> '' AND observed = '' AND state IN ('extracted', 'failed')
		ORDER BY conversation LIMIT $3`
	notedConversations = `
		SELECT DISTINCT conversation FROM memories
		WHERE scope = $1 AND conversation > $2 AND conversation <> '' AND status = 'active' AND kind IN ('observation', 'reflection')
		ORDER BY conversation LIMIT $3`
)

// Conversations implements store.NoteReader.
func (r reader) Conversations(ctx context.Context, s oxbow.Scope, f store.ConversationFilter) ([]string, error) {
	seq, err := r.scopeSeq(ctx, s)
	if err != nil {
		return nil, err
	}
	query := waitingConversations
	if f.Noted {
		query = notedConversations
	}
	return collect(ctx, r.in(s), "list conversations", scanString, query, seq, f.After, f.Limit)
}

const evidenceOf = `
	SELECT e.memory, e.turn FROM memory_turns e JOIN scopes s ON s.seq = e.scope JOIN turns t ON t.id = e.turn
	WHERE s.tenant = $1 AND e.memory = ANY ($2) ORDER BY e.memory, t.at, t.id`

// EvidenceOf implements store.NoteReader.
func (r reader) EvidenceOf(ctx context.Context, tenant string, memories []string) ([]store.Evidence, error) {
	return collect(ctx, r.of(tenant), "read evidence", func(rows pgx.Rows) (store.Evidence, error) {
		var e store.Evidence
		err := rows.Scan(&e.Memory, &e.Turn)
		return e, err
	}, evidenceOf, tenant, texts(memories))
}

const hasNotes = `SELECT EXISTS (SELECT 1 FROM memory_turns WHERE scope = $1)`

// HasNotes implements store.NoteReader.
func (r reader) HasNotes(ctx context.Context, s oxbow.Scope) (bool, error) {
	seq, err := r.scopeSeq(ctx, s)
	if err != nil {
		return false, err
	}
	var has bool
	err = r.in(s).QueryRow(ctx, hasNotes, seq).Scan(&has)
	return has, translate(err, "look for observations")
}

const shownIn = `SELECT memory, conversation, at FROM shown WHERE scope = $1 AND conversation = $2 ORDER BY memory`

// ShownIn implements store.NoteReader.
func (r reader) ShownIn(ctx context.Context, s oxbow.Scope, conversation string) ([]oxbow.Shown, error) {
	seq, err := r.scopeSeq(ctx, s)
	if err != nil {
		return nil, err
	}
	return collect(ctx, r.in(s), "read what was shown", scanShown, shownIn, seq, conversation)
}

func scanShown(rows pgx.Rows) (oxbow.Shown, error) {
	var s oxbow.Shown
	err := rows.Scan(&s.Memory, &s.Conversation, &s.At)
	s.At = s.At.UTC()
	return s, err
}

const observeTurns = `UPDATE turns SET observed = $1 WHERE id = ANY ($2) AND scope = $3`

// ObserveTurns implements store.NoteWriter.
func (t *tx) ObserveTurns(ctx context.Context, s oxbow.Scope, turns []string, run string) error {
	seq, err := t.scopeSeq(ctx, s)
	if err != nil {
		return err
	}
	t.write("mark observed turns", observeTurns, run, texts(turns), seq)
	return nil
}

const putEvidence = `
	INSERT INTO memory_turns (scope, memory, turn) SELECT $1, m, t FROM unnest($2::text[], $3::text[]) AS e (m, t) ON CONFLICT DO NOTHING`

// PutEvidence implements store.NoteWriter.
func (t *tx) PutEvidence(ctx context.Context, s oxbow.Scope, es []store.Evidence) error {
	seq, err := t.scopeSeq(ctx, s)
	if err != nil {
		return err
	}
	memories, turns := make([]string, len(es)), make([]string, len(es))
	for i, e := range es {
		memories[i], turns[i] = e.Memory, e.Turn
	}
	t.write("keep evidence", putEvidence, seq, memories, turns)
	return nil
}
