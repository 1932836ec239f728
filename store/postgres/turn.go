package postgres

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

const turnColumns = `
	t.id, s.tenant, s.name, t.conversation, coalesce(c.body, '{}'), t.at, t.state, t.reason, t.memories, t.judge, t.run,
		t.observed, t.redacted, t.created_at`

const selectTurn = `
	SELECT` + turnColumns + `
	FROM turns t JOIN scopes s ON s.seq = t.scope LEFT JOIN contents c ON c.id = t.content_id`

func scanTurn(rows pgx.Rows) (oxbow.Turn, error) {
	var t oxbow.Turn
	var body string
	err := rows.Scan(&t.ID, &t.Scope.Tenant, &t.Scope.Name, &t.Conversation, &body, &t.At, &t.State, &t.Reason, &t.Memories,
		&t.Judge, &t.Run, &t.Observed, &t.Redacted, &t.CreatedAt)
	if err != nil {
		return t, err
	}
	t.At, t.CreatedAt = t.At.UTC(), t.CreatedAt.UTC()
	var words store.TurnWords
	if err := json.Unmarshal([]byte(body), &words); err != nil {
		return t, err
	}
	t.User, t.Assistant, t.Parts = words.User, words.Assistant, words.Parts
	return t, nil
}

const turnByID = selectTurn + ` WHERE s.tenant = $1 AND t.id = $2`

// Turn implements store.TurnReader.
func (r reader) Turn(ctx context.Context, tenant, id string) (oxbow.Turn, error) {
	found, err := collect(ctx, r.of(tenant), "read the turn", scanTurn, turnByID, tenant, id)
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
		w.conds = append(w.conds, "t.scope = s.seq")
		w.turns(f)
		query := overScopes(turnColumns, `turns t`, "t", w.String()+latestTurns, latestTurns, w.arg(f.Tenant), w.limit(f.Limit)) +
			` LEFT JOIN contents c ON c.id = t.content_id` + latestTurns
		return collect(ctx, r.of(f.Tenant), "list turns", scanTurn, query, w.args...)
	}
	s := oxbow.Scope{Tenant: f.Tenant, Name: f.Scope}
	seq, err := r.scopeSeq(ctx, s)
	if err != nil {
		return nil, err
	}
	w.add("t.scope = $", seq)
	w.turns(f)
	return collect(ctx, r.in(s), "list turns", scanTurn, selectTurn+w.String()+latestTurns+w.limit(f.Limit), w.args...)
}

// turns adds what a filter asks of a turn beside its tenant and scope.
func (w *where) turns(f store.TurnFilter) {
	w.addIf(f.Conversation != "", "t.conversation = $", f.Conversation)
	w.addIf(f.State != "", "t.state = $", f.State)
	w.addIf(!f.Since.IsZero(), "t.at >= $", ts(f.Since))
	w.addIf(f.AfterID != "", "(t.at, t.id) < (SELECT at, id FROM turns WHERE id = $)", f.AfterID)
}

const nextTurns = selectTurn + ` WHERE t.scope = $1 AND t.state = 'waiting' ORDER BY t.at, t.id LIMIT $2`

// NextTurns implements store.TurnReader.
func (r reader) NextTurns(ctx context.Context, s oxbow.Scope, limit int) ([]oxbow.Turn, error) {
	seq, err := r.scopeSeq(ctx, s)
	if err != nil {
		return nil, err
	}
	return collect(ctx, r.in(s), "read the next turns", scanTurn, nextTurns, seq, limit)
}

const countTurns = `
	SELECT t.state, count(*) FROM turns t JOIN scopes s ON s.seq = t.scope
	WHERE s.tenant = $1 AND ($2 = '' OR s.name = $2) GROUP BY t.state`

// CountTurns implements store.TurnReader.
func (r reader) CountTurns(ctx context.Context, s oxbow.Scope) (map[oxbow.TurnState]int, error) {
	return countBy[oxbow.TurnState](ctx, r.in(s), countTurns, s.Tenant, s.Name)
}

// insertTurn stores a turn that is new together with its text.
const insertTurn = `
	WITH new AS (
		INSERT INTO turns (id, scope, conversation, content_id, at, state, reason, memories, judge, run, redacted, created_at, tokens)
		VALUES ($1, $2, $3, $4, $5, 'waiting', '', 0, '', $6, $7, $8, $10) ON CONFLICT (id) DO NOTHING RETURNING content_id, scope, id)
	INSERT INTO contents (id, scope, owner, salt, body) SELECT content_id, scope, id, '', $9 FROM new`

// AddTurns implements store.TurnWriter.
func (t *tx) AddTurns(ctx context.Context, turns []oxbow.Turn) (int, error) {
	added := 0
	seqs := map[oxbow.Scope]int64{}
	b := &batch{}
	for _, turn := range turns {
		seq, known := seqs[turn.Scope]
		if !known {
			var err error
			if seq, err = t.knownScope(ctx, turn.Scope); err != nil {
				return 0, err
			}
			seqs[turn.Scope] = seq
		}
		words := store.TurnWords{User: turn.User, Assistant: turn.Assistant, Parts: turn.Parts}
		b.count("store the turn", &added, insertTurn, turn.ID, seq, turn.Conversation, oxbow.NewID("content", turn.ID), ts(turn.At),
			turn.Run, turn.Redacted, ts(turn.CreatedAt), store.JSON(words), store.TurnTokens(turn))
	}
	err := t.send(ctx, b, "store turns")
	return added, err
}

const finishTurn = `
	UPDATE turns SET state = $1, reason = $2, memories = $3, judge = $4, run = $5
	WHERE id = $6 AND state <> 'erased' AND scope = (SELECT seq FROM scopes WHERE tenant = $7 AND name = $8)`

// FinishTurn implements store.TurnWriter.
func (t *tx) FinishTurn(ctx context.Context, turn oxbow.Turn) error {
	t.in(turn.Scope)
	t.write("finish the turn", finishTurn, turn.State, turn.Reason, turn.Memories, turn.Judge, turn.Run, turn.ID,
		turn.Scope.Tenant, turn.Scope.Name)
	return nil
}

const reopenTurns = `
	UPDATE turns SET state = 'waiting'
	WHERE scope = $1 AND at >= $2 AND (state = 'failed' OR (NOT $3::boolean AND state = 'extracted'))`

// ReopenTurns implements store.TurnWriter.
func (t *tx) ReopenTurns(ctx context.Context, s oxbow.Scope, from time.Time, failedOnly bool) (int, error) {
	seq, err := t.scopeSeq(ctx, s)
	if err != nil {
		return 0, err
	}
	tag, err := t.pipe.Exec(ctx, reopenTurns, seq, since(from), failedOnly)
	return int(tag.RowsAffected()), translate(err, "reopen turns")
}

const eraseTurn = `UPDATE turns SET state = 'erased', reason = '' WHERE id = $1 AND scope = $2`

// EraseTurn implements store.TurnWriter.
func (t *tx) EraseTurn(ctx context.Context, s oxbow.Scope, id string) error {
	seq, err := t.scopeSeq(ctx, s)
	if err != nil {
		return err
	}
	b := &batch{}
	b.exec("erase the turn", eraseTurn, id, seq)
	b.exec("erase the turn", deleteContents, id, seq)
	b.exec("erase the cues", eraseCues, seq, id)
	b.exec("erase kept answers", eraseLLMAnswers, id, s.Tenant)
	t.later(b)
	return nil
}
