package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/oxbow-memory/oxbow"
)

const shown = `
	SELECT w.memory, w.conversation, w.at FROM shown w JOIN scopes s ON s.seq = w.scope
	WHERE w.memory = ANY ($1) AND s.tenant = $2 ORDER BY w.memory, w.conversation`

// Shown implements store.ShownReader.
func (r reader) Shown(ctx context.Context, tenant string, ids []string) ([]oxbow.Shown, error) {
	return collect(ctx, r.of(tenant), "read what was shown", scanShown, shown, ids, tenant)
}

const putShown = `
	INSERT INTO shown (memory, conversation, scope, at)
	SELECT m.id, $1, m.scope, $2 FROM memories m JOIN scopes s ON s.seq = m.scope
	WHERE m.id = ANY ($3) AND s.tenant = $4 AND s.name = $5 ORDER BY m.id ON CONFLICT DO NOTHING`

// PutShown implements store.ShownWriter.
func (t *tx) PutShown(ctx context.Context, s oxbow.Scope, conversation string, ids []string, at time.Time) error {
	_, err := t.in(s).Exec(ctx, putShown, conversation, ts(at), slices.Clone(ids), s.Tenant, s.Name)
	return translate(err, "keep what was shown")
}
