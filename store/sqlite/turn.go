package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

const turnColumns = `
	t.id, s.tenant, s.name, t.conversation, coalesce(c.body, '{}'), t.at, t.state, t.reason, t.memories, t.judge, t.run,
		t.observed, t.redacted, t.created_at`

const selectTurn = `
	SELECT` + turnColumns + `
	FROM turns t JOIN scopes s ON s.seq = t.scope LEFT JOIN contents c ON c.id = t.content_id`

func scanTurn(rows *sql.Rows) (oxbow.Turn, error) {
	var t oxbow.Turn
	var body string
	var at, created int64
	err := rows.Scan(&t.ID, &t.Scope.Tenant, &t.Scope.Name, &t.Conversation, &body, &at, &t.State, &t.Reason, &t.Memories,
		&t.Judge, &t.Run, &t.Observed, &t.Redacted, &created)
	if err != nil {
		return t, err
	}
	t.At, t.CreatedAt = time.UnixMilli(at).UTC(), time.UnixMilli(created).UTC()
	var words store.TurnWords
	if err := json.Unmarshal([]byte(body), &words); err != nil {
		return t, err
	}
	t.User, t.Assistant, t.Parts = words.User, words.Assistant, words.Parts
	return t, nil
}

const turnByID = selectTurn + ` WHERE s.tenant = ? AND t.id = ?`

// Turn implements store.TurnReader.
func (r reader) Turn(ctx context.Context, tenant, id string) (oxbow.Turn, error) {
	found, err := collect(ctx, r.q, "read the turn", scanTurn, turnByID, tenant, id)
	if err != nil {
		return oxbow.Turn{}, err
	}
	if len(found) == 0 {
		return oxbow.Turn{}, oxbow.Errorf(oxbow.CodeNotFound, "there is no turn %s; oxbow turn list shows those there are", id)
	}
	return found[0], nil
}

const latestTurns = ` ORDER BY t.at DESC, t.id DESC`

// ListTurns implements store.TurnReader.
func (r reader) ListTurns(ctx context.Context, f store.TurnFilter) ([]oxbow.Turn, error) {
	w := where{}
	if f.Scope == "" {
		w.add("t.scope = s.seq")
		w.turns(f)
		query := overScopes(turnColumns, `turns t LEFT JOIN contents c ON c.id = t.content_id`, "t", "seq", latestTurns, w.String())
		return collect(ctx, r.q, "list turns", scanTurn, query, w.overScopesArgs(f.Tenant, f.Limit)...)
	}
	seq, err := r.scopeSeq(ctx, oxbow.Scope{Tenant: f.Tenant, Name: f.Scope})
	if err != nil {
		return nil, err
	}
	w.add("t.scope = ?", seq)
	w.turns(f)
	return collect(ctx, r.q, "list turns", scanTurn, selectTurn+w.String()+latestTurns+` LIMIT ?`, append(w.args, f.Limit)...)
}

// turns adds what a filter asks of a turn beside its tenant and scope.
func (w *where) turns(f store.TurnFilter) {
	w.addIf(f.Conversation != "", "t.conversation = ?", f.Conversation)
	w.addIf(f.State != "", "t.state = ?", f.State)
	w.addIf(!f.Since.IsZero(), "t.at >= ?", f.Since.UnixMilli())
	w.addIf(f.AfterID != "", "(t.at, t.id) < (SELECT at, id FROM turns WHERE id = ?)", f.AfterID)
}

const nextTurns = selectTurn + ` WHERE t.scope = ? AND t.state = 'waiting' ORDER BY t.at, t.id LIMIT ?`

// NextTurns implements store.TurnReader.
func (r reader) NextTurns(ctx context.Context, s oxbow.Scope, limit int) ([]oxbow.Turn, error) {
	seq, err := r.scopeSeq(ctx, s)
	if err != nil {
		return nil, err
	}
	return collect(ctx, r.q, "read the next turns", scanTurn, nextTurns, seq, limit)
}

const countTurns = `
	SELECT t.state, count(*) FROM turns t JOIN scopes s ON s.seq = t.scope
	WHERE s.tenant = ? AND (? = '' OR s.name = ?) GROUP BY t.state`

// CountTurns implements store.TurnReader.
func (r reader) CountTurns(ctx context.Context, s oxbow.Scope) (map[oxbow.TurnState]int, error) {
	return countBy[oxbow.TurnState](ctx, r.q, countTurns, s.Tenant, s.Name, s.Name)
}

const insertTurn = `
	INSERT INTO turns (id, scope, conversation, content_id, at, state, reason, memories, judge, run, redacted, created_at, tokens)
	VALUES (?, ?, ?, ?, ?, 'waiting', '', 0, '', ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`

// AddTurns implements store.TurnWriter.
func (t *tx) AddTurns(ctx context.Context, turns []oxbow.Turn) (int, error) {
	added := 0
	for _, turn := range turns {
		seq, err := t.knownScope(ctx, turn.Scope)
		if err != nil {
			return added, err
		}
		contentID := oxbow.NewID("content", turn.ID)
		res, err := t.q.exec(ctx, insertTurn, turn.ID, seq, turn.Conversation, contentID, turn.At.UnixMilli(), turn.Run,
			turn.Redacted, turn.CreatedAt.UnixMilli(), store.TurnTokens(turn))
		if err != nil {
			return added, translate(err, "store the turn")
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			continue
		}
		words := store.TurnWords{User: turn.User, Assistant: turn.Assistant, Parts: turn.Parts}
		if _, err := t.q.exec(ctx, insertContent, contentID, seq, turn.ID, "", store.JSON(words)); err != nil {
			return added, translate(err, "store the turn")
		}
		added++
	}
	return added, nil
}

const finishTurn = `
	UPDATE turns SET state = ?, reason = ?, memories = ?, judge = ?, run = ?
	WHERE id = ? AND state <> 'erased' AND scope = (SELECT seq FROM scopes WHERE tenant = ? AND name = ?)`

// FinishTurn implements store.TurnWriter.
func (t *tx) FinishTurn(ctx context.Context, turn oxbow.Turn) error {
	_, err := t.q.exec(ctx, finishTurn, turn.State, turn.Reason, turn.Memories, turn.Judge, turn.Run, turn.ID,
		turn.Scope.Tenant, turn.Scope.Name)
	return translate(err, "finish the turn")
}

const reopenTurns = `
	UPDATE turns SET state = 'waiting' WHERE scope = ? AND at >= ? AND (state = 'failed' OR (NOT ? AND state = 'extracted'))`

// ReopenTurns implements store.TurnWriter.
func (t *tx) ReopenTurns(ctx context.Context, s oxbow.Scope, since time.Time, failedOnly bool) (int, error) {
	seq, err := t.scopeSeq(ctx, s)
	if err != nil {
		return 0, err
	}
	from := int64(-1 << 62)
	if !since.IsZero() {
		from = since.UnixMilli()
	}
	res, err := t.q.exec(ctx, reopenTurns, seq, from, failedOnly)
	if err != nil {
		return 0, translate(err, "reopen turns")
	}
	n, err := res.RowsAffected()
	return int(n), translate(err, "reopen turns")
}

const eraseTurn = `UPDATE turns SET state = 'erased', reason = '' WHERE id = ? AND scope = ?`

// EraseTurn implements store.TurnWriter.
func (t *tx) EraseTurn(ctx context.Context, s oxbow.Scope, id string) error {
	seq, err := t.scopeSeq(ctx, s)
	if err != nil {
		return err
	}
	if _, err := t.q.exec(ctx, eraseTurn, id, seq); err != nil {
		return translate(err, "erase the turn")
	}
	if _, err := t.q.exec(ctx, deleteContents, id, seq); err != nil {
		return translate(err, "erase the turn")
	}
	if _, err := t.q.exec(ctx, eraseCues, seq, id, seq); err != nil {
		return translate(err, "erase the cues")
	}
	_, err = t.q.exec(ctx, eraseLLMAnswers, id, s.Tenant)
	return translate(err, "erase kept answers")
}
