package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

const cues = `
	SELECT q.salt, q.digest, q.turn, q.at FROM cues q JOIN scopes s ON s.seq = q.scope
	WHERE s.tenant = $1 AND s.name = $2 AND q.conversation = $3 ORDER BY q.at DESC, q.digest LIMIT $4`

// Cues implements store.CueReader.
func (r reader) Cues(ctx context.Context, s oxbow.Scope, conversation string) ([]store.Cue, error) {
	return collect(ctx, r.of(s.Tenant), "read the cues", func(rows pgx.Rows) (store.Cue, error) {
		var c store.Cue
		err := rows.Scan(&c.Salt, &c.Digest, &c.Turn, &c.At)
		c.At = c.At.UTC()
		return c, err
	}, cues, s.Tenant, s.Name, conversation, store.MaxCues)
}

const putCue = `
	INSERT INTO cues (scope, conversation, salt, digest, turn, at) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`

// What is behind the newest goes, first of the conversation and then of the scope.
const (
	trimCues = `
	DELETE FROM cues WHERE scope = $1 AND conversation = $2 AND digest IN (
		SELECT digest FROM cues WHERE scope = $1 AND conversation = $2 ORDER BY at DESC, digest OFFSET $3)`
	trimScopeCues = `
	DELETE FROM cues WHERE scope = $1 AND at <= (SELECT at FROM cues WHERE scope = $1 ORDER BY at DESC LIMIT 1 OFFSET $2)`
)

// PutCue implements store.CueWriter.
func (t *tx) PutCue(ctx context.Context, s oxbow.Scope, conversation string, c store.Cue) error {
	seq, err := t.scopeSeq(ctx, s)
	if err != nil || seq == 0 {
		return err
	}
	b := &batch{}
	b.exec("keep the cue", putCue, seq, conversation, c.Salt, c.Digest, c.Turn, ts(c.At))
	b.exec("let old cues go", trimCues, seq, conversation, store.MaxCues)
	b.exec("let old cues go", trimScopeCues, seq, store.MaxScopeCues)
	t.later(b)
	return nil
}

const eraseCues = `DELETE FROM cues WHERE scope = $1 AND conversation = (SELECT conversation FROM turns WHERE id = $2 AND scope = $1)`
