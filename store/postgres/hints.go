package postgres

import (
	"context"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/store"
)

const lacksHints = `m.hint_rules < $1 AND ` + embeddable

const withoutHints = selectMemory + ` WHERE m.scope = $2 AND m.id > $3 AND ` + lacksHints + ` ORDER BY m.id LIMIT $4`

// WithoutHints implements store.HintReader.
func (r reader) WithoutHints(ctx context.Context, s oxbow.Scope, after string, limit int) ([]oxbow.Memory, error) {
	seq, err := r.scopeSeq(ctx, s)
	if err != nil {
		return nil, err
	}
	return collect(ctx, r.in(s), "look for memories without hints", scanMemory, withoutHints, text.HintRules, seq, after, limit)
}

const countWithoutHints = `
	SELECT count(*) FROM memories m JOIN scopes s ON s.seq = m.scope
	WHERE s.tenant = $2 AND ($3 = '' OR s.name = $3) AND ` + lacksHints

// CountWithoutHints implements store.HintReader.
func (r reader) CountWithoutHints(ctx context.Context, s oxbow.Scope) (int, error) {
	n := 0
	err := r.in(s).QueryRow(ctx, countWithoutHints, text.HintRules, s.Tenant, s.Name).Scan(&n)
	return n, translate(err, "count memories without hints")
}

const (
	insertHints = `
		INSERT INTO memory_terms (scope, term, memory, tf, length)
		SELECT $1, u.term, m.seq, 1, $4 FROM memories m, unnest($3::bigint[]) u (term) WHERE m.id = $2`
	deleteHints = `
		DELETE FROM memory_terms WHERE scope = $1 AND memory = (SELECT seq FROM memories WHERE id = $2)
		AND term = ANY((SELECT hints FROM memories WHERE id = $2)::bigint[])`
	noteHints = `UPDATE memories SET hints = $1, hint_rules = $2 WHERE id = $3`
)

// PutHints implements store.HintWriter.
func (t *tx) PutHints(ctx context.Context, s oxbow.Scope, ms []oxbow.Memory) (int, error) {
	seq, err := t.knownScope(ctx, s)
	if err != nil {
		return 0, err
	}
	if _, _, err := t.lockScope(ctx, s); err != nil {
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
	b := &batch{}
	for _, m := range ms {
		if v, ok := versions[m.ID]; !ok || v != m.ContentVersion {
			continue
		}
		dropHints(b, seq, m.ID)
		putHints(b, seq, m.ID, store.IndexOf(m))
		n++
	}
	t.later(b)
	return n, nil
}

func putHints(b *batch, scope int64, id string, in store.Indexed) {
	if len(in.Hints) > 0 {
		b.exec("index memory "+id, insertHints, scope, id, in.Hints, in.Length)
	}
	b.exec("index memory "+id, noteHints, in.Hints, text.HintRules, id)
}

// dropHints takes a memory's hints out of the index.
func dropHints(b *batch, scope int64, id string) {
	b.exec("take memory out of the index", deleteHints, scope, id)
	b.exec("take memory out of the index", noteHints, []int64{}, 0, id)
}
