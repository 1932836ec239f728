package sqlite

import (
	"context"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/store"
)

const lacksHints = `m.hint_rules < ?1 AND ` + embeddable

const withoutHints = selectMemory + ` WHERE m.scope = ?2 AND m.id > ?3 AND ` + lacksHints + ` ORDER BY m.id LIMIT ?4`

// WithoutHints implements store.HintReader.
func (r reader) WithoutHints(ctx context.Context, s oxbow.Scope, after string, limit int) ([]oxbow.Memory, error) {
	seq, err := r.scopeSeq(ctx, s)
	if err != nil {
		return nil, err
	}
	return collect(ctx, r.q, "look for memories without hints", scanMemory, withoutHints, text.HintRules, seq, after, limit)
}

const countWithoutHints = `
	SELECT count(*) FROM memories m JOIN scopes s ON s.seq = m.scope
	WHERE s.tenant = ?2 AND (?3 = '' OR s.name = ?3) AND ` + lacksHints

// CountWithoutHints implements store.HintReader.
func (r reader) CountWithoutHints(ctx context.Context, s oxbow.Scope) (int, error) {
	n := 0
	err := r.q.row(ctx, countWithoutHints, text.HintRules, s.Tenant, s.Name).Scan(&n)
	return n, translate(err, "count memories without hints")
}

const (
	insertHints = `
		INSERT INTO memory_terms (scope, term, memory, tf, length)
		SELECT ?, e.value, (SELECT seq FROM memories WHERE id = ?), 1, ? FROM json_each(?) e`
	deleteHints = `
		DELETE FROM memory_terms WHERE scope = ?1 AND memory = (SELECT seq FROM memories WHERE id = ?2)
		AND term IN (SELECT value FROM json_each((SELECT hints FROM memories WHERE id = ?2)))`
	noteHints = `UPDATE memories SET hints = ?, hint_rules = ? WHERE id = ?`
)

// PutHints implements store.HintWriter.
func (t *tx) PutHints(ctx context.Context, s oxbow.Scope, ms []oxbow.Memory) (int, error) {
	seq, err := t.knownScope(ctx, s)
	if err != nil {
		return 0, err
	}
	versions := map[string]int{}
	stored, err := t.lockMemories(ctx, s, store.Sorted(store.IDsOf(ms)), lockedMemories)
	if err != nil {
		return 0, err
	}
	for _, m := range stored {
		if m.Status != oxbow.Erased {
			versions[m.ID] = m.ContentVersion
		}
	}
	n := 0
	for _, m := range ms {
		if v, ok := versions[m.ID]; !ok || v != m.ContentVersion {
			continue
		}
		if err := t.dropHints(ctx, seq, m.ID); err != nil {
			return n, err
		}
		if err := t.putHints(ctx, seq, m.ID, store.IndexOf(m)); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func (t *tx) putHints(ctx context.Context, scope int64, id string, in store.Indexed) error {
	hints := jsonList(in.Hints)
	if len(in.Hints) > 0 {
		if _, err := t.q.exec(ctx, insertHints, scope, id, in.Length, hints); err != nil {
			return translate(err, "index memory "+id)
		}
	}
	_, err := t.q.exec(ctx, noteHints, hints, text.HintRules, id)
	return translate(err, "index memory "+id)
}

// dropHints takes a memory's hints out of the index.
func (t *tx) dropHints(ctx context.Context, scope int64, id string) error {
	if _, err := t.q.exec(ctx, deleteHints, scope, id); err != nil {
		return translate(err, "take memory out of the index")
	}
	_, err := t.q.exec(ctx, noteHints, "[]", 0, id)
	return translate(err, "take memory out of the index")
}
