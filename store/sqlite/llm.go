package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/oxbow-memory/oxbow/store"
)

const tokensOf = `SELECT drawn, short FROM llm_budgets WHERE tenant = ? AND day = ?`

// TokensOf implements store.LLMReader.
func (r reader) TokensOf(ctx context.Context, tenant, day string) (store.Tokens, error) {
	found, err := collect(ctx, r.q, "read the budget", func(rows *sql.Rows) (store.Tokens, error) {
		var t store.Tokens
		return t, rows.Scan(&t.Drawn, &t.Short)
	}, tokensOf, tenant, day)
	if err != nil || len(found) == 0 {
		return store.Tokens{}, err
	}
	return found[0], nil
}

const llmCosts = `
	SELECT strftime('%Y-%m-%d', at / 1000, 'unixepoch') AS day, job, model, count(*), sum(outcome <> ?1),
		sum(tokens_in), sum(tokens_out), sum(cached), sum(estimated), CASE WHEN count(cost) = count(*) THEN sum(cost) END
	FROM llm_calls WHERE tenant = ?2 AND at >= ?3
	GROUP BY day, job, model ORDER BY day DESC, job, model`

// LLMCosts implements store.LLMReader.
func (r reader) LLMCosts(ctx context.Context, tenant string, since time.Time) ([]store.LLMCost, error) {
	from := int64(-1 << 62)
	if !since.IsZero() {
		from = since.UnixMilli()
	}
	return collect(ctx, r.q, "sum the calls", func(rows *sql.Rows) (store.LLMCost, error) {
		var c store.LLMCost
		err := rows.Scan(&c.Day, &c.Job, &c.Model, &c.Calls, &c.Failed, &c.In, &c.Out, &c.Cached, &c.Estimated, &c.Cost)
		return c, err
	}, llmCosts, store.LLMOK, tenant, from)
}

const llmAnswer = `SELECT answer FROM llm_answers WHERE tenant = ? AND key = ? AND expires_at > ?`

// LLMAnswer implements store.LLMReader.
func (r reader) LLMAnswer(ctx context.Context, tenant, key string, now time.Time) ([]byte, error) {
	var answer string
	err := r.q.row(ctx, llmAnswer, tenant, key, now.UnixMilli()).Scan(&answer)
	return []byte(answer), translate(err, "read the kept answer")
}

const (
	reserveTokens = `
		INSERT INTO llm_budgets (tenant, day, drawn, short) SELECT ?1, ?2, ?3, 0 WHERE ?3 <= ?4
		ON CONFLICT (tenant, day) DO UPDATE SET drawn = drawn + excluded.drawn WHERE drawn + excluded.drawn <= ?4`
	noteShort = `
		INSERT INTO llm_budgets (tenant, day, drawn, short) VALUES (?, ?, 0, ?)
		ON CONFLICT (tenant, day) DO UPDATE SET short = excluded.short`
)

// ReserveTokens implements store.LLMWriter.
func (t *tx) ReserveTokens(ctx context.Context, tenant, day string, n, limit int64) (bool, error) {
	res, err := t.q.exec(ctx, reserveTokens, tenant, day, n, limit)
	if err != nil {
		return false, translate(err, "draw on the budget")
	}
	if rows, err := res.RowsAffected(); err != nil || rows == 1 {
		return rows == 1, translate(err, "draw on the budget")
	}
	_, err = t.q.exec(ctx, noteShort, tenant, day, n)
	return false, translate(err, "draw on the budget")
}

const settleTokens = `
	INSERT INTO llm_budgets (tenant, day, drawn, short) VALUES (?1, ?2, max(0, ?3), 0)
	ON CONFLICT (tenant, day) DO UPDATE SET drawn = max(0, drawn + ?3)`

// SettleTokens implements store.LLMWriter.
func (t *tx) SettleTokens(ctx context.Context, tenant, day string, n int64) error {
	_, err := t.q.exec(ctx, settleTokens, tenant, day, n)
	return translate(err, "settle the budget")
}

const putLLMCall = `
	INSERT INTO llm_calls (id, tenant, scope, run, job, purpose, model, outcome, tokens_in, tokens_out, cached, estimated, cost, latency, at)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

// PutLLMCall implements store.LLMWriter.
func (t *tx) PutLLMCall(ctx context.Context, c store.LLMCall) error {
	_, err := t.q.exec(ctx, putLLMCall, c.ID, c.Scope.Tenant, c.Scope.Name, c.Run, c.Job, c.Purpose, c.Model, c.Outcome,
		c.In, c.Out, c.Cached, c.Estimated, c.Cost, c.Latency.Milliseconds(), c.At.UnixMilli())
	return translate(err, "keep the call")
}

const (
	dropLLMAnswers = `DELETE FROM llm_answers WHERE expires_at <= ?`
	ownersThere    = `
		SELECT count(DISTINCT c.owner) FROM contents c JOIN scopes s ON s.seq = c.scope
		WHERE c.owner IN (SELECT value FROM json_each(?)) AND s.tenant = ?`
	putLLMAnswer = `
		INSERT INTO llm_answers (tenant, key, answer, at, expires_at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (tenant, key) DO UPDATE SET answer = excluded.answer, at = excluded.at, expires_at = excluded.expires_at`
	putLLMOwners = `
		INSERT INTO llm_answer_owners (owner, tenant, key) SELECT value, ?2, ?3 FROM json_each(?1) WHERE true ON CONFLICT DO NOTHING`
)

// PutLLMAnswer implements store.LLMWriter.
func (t *tx) PutLLMAnswer(ctx context.Context, a store.LLMAnswer, now time.Time) error {
	if _, err := t.q.exec(ctx, dropLLMAnswers, now.UnixMilli()); err != nil {
		return translate(err, "drop old answers")
	}
	owners := store.Sorted(a.Owners)
	var there int
	if err := t.q.row(ctx, ownersThere, jsonList(owners), a.Scope.Tenant).Scan(&there); err != nil {
		return translate(err, "look for the owners of an answer")
	}
	if there < len(owners) || there == 0 {
		return nil
	}
	if _, err := t.q.exec(ctx, putLLMAnswer, a.Scope.Tenant, a.Key, string(a.Answer), a.At.UnixMilli(), a.ExpiresAt.UnixMilli()); err != nil {
		return translate(err, "keep the answer")
	}
	_, err := t.q.exec(ctx, putLLMOwners, jsonList(owners), a.Scope.Tenant, a.Key)
	return translate(err, "keep the answer")
}

const eraseLLMAnswers = `
	DELETE FROM llm_answers WHERE (tenant, key) IN (SELECT tenant, key FROM llm_answer_owners WHERE owner = ? AND tenant = ?)`
