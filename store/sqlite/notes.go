package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// isNote is oxbow.Memory.IsNote of memories m.
const isNote = `(m.kind IN ('observation', 'reflection') AND m.conversation <> '')`

// The conditions name the partial index, which is not taken without them.
const (
	waitsToBeObserved = ` t.scope = ? AND t.conversation = ? AND t.conversation <> '' AND t.observed = '' AND t.state IN ('extracted', 'failed')`

	unobserved      = selectTurn + ` WHERE` + waitsToBeObserved + ` ORDER BY t.at, t.id LIMIT ?`
	countUnobserved = `SELECT count(*), coalesce(sum(t.tokens), 0) FROM turns t WHERE` + waitsToBeObserved
)

// Unobserved implements store.NoteReader.
func (r reader) Unobserved(ctx context.Context, s oxbow.Scope, conversation string, limit int) ([]oxbow.Turn, error) {
	seq, err := r.scopeSeq(ctx, s)
	if err != nil {
		return nil, err
	}
	return collect(ctx, r.q, "read unobserved turns", scanTurn, unobserved, seq, conversation, limit)
}

// CountUnobserved implements store.NoteReader.
func (r reader) CountUnobserved(ctx context.Context, s oxbow.Scope, conversation string) (turns, tokens int, err error) {
	seq, err := r.scopeSeq(ctx, s)
	if err != nil {
		return 0, 0, err
	}
	err = r.q.row(ctx, countUnobserved, seq, conversation).Scan(&turns, &tokens)
	return turns, tokens, translate(err, "count unobserved turns")
}

const (
	waitingConversations = `
		SELECT DISTINCT conversation FROM turns
		WHERE scope = ? AND conversation > ? AND conversation <> '' AND observed = '' AND state IN ('extracted', 'failed')
		ORDER BY conversation LIMIT ?`
	notedConversations = `
		SELECT DISTINCT conversation FROM memories
		WHERE scope = ? AND conversation > ? AND conversation <> '' AND status = 'active' AND kind IN ('observation', 'reflection')
		ORDER BY conversation LIMIT ?`
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
	return collect(ctx, r.q, "list conversations", scanString, query, seq, f.After, f.Limit)
}

const evidenceOf = `
	SELECT e.memory, e.turn FROM memory_turns e JOIN scopes s ON s.seq = e.scope JOIN turns t ON t.id = e.turn
	WHERE s.tenant = ? AND e.memory IN (SELECT value FROM json_each(?)) ORDER BY e.memory, t.at, t.id`

// EvidenceOf implements store.NoteReader.
func (r reader) EvidenceOf(ctx context.Context, tenant string, memories []string) ([]store.Evidence, error) {
	return collect(ctx, r.q, "read evidence", func(rows *sql.Rows) (store.Evidence, error) {
		var e store.Evidence
		err := rows.Scan(&e.Memory, &e.Turn)
		return e, err
	}, evidenceOf, tenant, jsonList(memories))
}

const hasNotes = `SELECT EXISTS (SELECT 1 FROM memory_turns WHERE scope = ?)`

// HasNotes implements store.NoteReader.
func (r reader) HasNotes(ctx context.Context, s oxbow.Scope) (bool, error) {
	seq, err := r.scopeSeq(ctx, s)
	if err != nil {
		return false, err
	}
	var has bool
	err = r.q.row(ctx, hasNotes, seq).Scan(&has)
	return has, translate(err, "look for observations")
}

const shownIn = `SELECT memory, conversation, at FROM shown WHERE scope = ? AND conversation = ? ORDER BY memory`

// ShownIn implements store.NoteReader.
func (r reader) ShownIn(ctx context.Context, s oxbow.Scope, conversation string) ([]oxbow.Shown, error) {
	seq, err := r.scopeSeq(ctx, s)
	if err != nil {
		return nil, err
	}
	return collect(ctx, r.q, "read what was shown", scanShown, shownIn, seq, conversation)
}

func scanShown(rows *sql.Rows) (oxbow.Shown, error) {
	var s oxbow.Shown
	var at int64
	err := rows.Scan(&s.Memory, &s.Conversation, &at)
	s.At = time.UnixMilli(at).UTC()
	return s, err
}

const observeTurns = `UPDATE turns SET observed = ? WHERE id IN (SELECT value FROM json_each(?)) AND scope = ?`

// ObserveTurns implements store.NoteWriter.
func (t *tx) ObserveTurns(ctx context.Context, s oxbow.Scope, turns []string, run string) error {
	seq, err := t.scopeSeq(ctx, s)
	if err != nil {
		return err
	}
	_, err = t.q.exec(ctx, observeTurns, run, jsonList(turns), seq)
	return translate(err, "mark observed turns")
}

const putEvidence = `
	INSERT INTO memory_turns (scope, memory, turn) SELECT ?1, json_extract(value, '$.memory'), json_extract(value, '$.turn') FROM json_each(?2)
	WHERE true ON CONFLICT DO NOTHING`

// PutEvidence implements store.NoteWriter.
func (t *tx) PutEvidence(ctx context.Context, s oxbow.Scope, es []store.Evidence) error {
	seq, err := t.scopeSeq(ctx, s)
	if err != nil {
		return err
	}
	_, err = t.q.exec(ctx, putEvidence, seq, jsonList(es))
	return translate(err, "keep evidence")
}
