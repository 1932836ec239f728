package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

const cues = `
	SELECT q.salt, q.digest, q.turn, q.at FROM cues q JOIN scopes s ON s.seq = q.scope
	WHERE s.tenant = ? AND s.name = ? AND q.conversation = ? ORDER BY q.at DESC, q.digest LIMIT ?`

// Cues implements store.CueReader.
func (r reader) Cues(ctx context.Context, s oxbow.Scope, conversation string) ([]store.Cue, error) {
	return collect(ctx, r.q, "read the cues", func(rows *sql.Rows) (store.Cue, error) {
		var c store.Cue
		var at int64
		err := rows.Scan(&c.Salt, &c.Digest, &c.Turn, &at)
		c.At = time.UnixMilli(at).UTC()
		return c, err
	}, cues, s.Tenant, s.Name, conversation, store.MaxCues)
}

const putCue = `
	INSERT INTO cues (scope, conversation, salt, digest, turn, at) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`

// What is behind the newest goes, first of the conversation and then of the scope.
const (
	trimCues = `
	DELETE FROM cues WHERE scope = ?1 AND conversation = ?2 AND digest IN (
		SELECT digest FROM cues WHERE scope = ?1 AND conversation = ?2 ORDER BY at DESC, digest LIMIT -1 OFFSET ?3)`
	trimScopeCues = `
	DELETE FROM cues WHERE scope = ?1 AND at <= (SELECT at FROM cues WHERE scope = ?1 ORDER BY at DESC LIMIT 1 OFFSET ?2)`
)

// PutCue implements store.CueWriter.
func (t *tx) PutCue(ctx context.Context, s oxbow.Scope, conversation string, c store.Cue) error {
	seq, err := t.scopeSeq(ctx, s)
	if err != nil || seq == 0 {
		return err
	}
	if _, err := t.q.exec(ctx, putCue, seq, conversation, c.Salt, c.Digest, c.Turn, c.At.UnixMilli()); err != nil {
		return translate(err, "keep the cue")
	}
	if _, err := t.q.exec(ctx, trimCues, seq, conversation, store.MaxCues); err != nil {
		return translate(err, "let old cues go")
	}
	_, err = t.q.exec(ctx, trimScopeCues, seq, store.MaxScopeCues)
	return translate(err, "let old cues go")
}

const eraseCues = `DELETE FROM cues WHERE scope = ? AND conversation = (SELECT conversation FROM turns WHERE id = ? AND scope = ?)`
