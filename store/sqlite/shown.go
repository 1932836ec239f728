package sqlite

import (
	"context"
	"time"

	"github.com/oxbow-memory/oxbow"
)

const shown = `
	SELECT w.memory, w.conversation, w.at FROM shown w JOIN scopes s ON s.seq = w.scope
	WHERE w.memory IN (SELECT value FROM json_each(?)) AND s.tenant = ? ORDER BY w.memory, w.conversation`

// Shown implements store.ShownReader.
func (r reader) Shown(ctx context.Context, tenant string, ids []string) ([]oxbow.Shown, error) {
	return collect(ctx, r.q, "read what was shown", scanShown, shown, jsonList(ids), tenant)
}

const putShown = `
	INSERT INTO shown (memory, conversation, scope, at)
	SELECT m.id, ?, m.scope, ? FROM memories m JOIN scopes s ON s.seq = m.scope
	WHERE m.id IN (SELECT value FROM json_each(?)) AND s.tenant = ? AND s.name = ? ON CONFLICT DO NOTHING`

// PutShown implements store.ShownWriter.
func (t *tx) PutShown(ctx context.Context, s oxbow.Scope, conversation string, ids []string, at time.Time) error {
	_, err := t.q.exec(ctx, putShown, conversation, at.UnixMilli(), jsonList(ids), s.Tenant, s.Name)
	return translate(err, "keep what was shown")
}
