package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/store"
)

const tokensOf = `SELECT drawn, short FROM llm_budgets WHERE tenant = $1 AND day = $2`

// TokensOf implements store.LLMReader.
func (r reader) TokensOf(ctx context.Context, tenant, day string) (store.Tokens, error) {
	found, err := collect(ctx, r.of(tenant), "read the budget", func(rows pgx.Rows) (store.Tokens, error) {
		var t store.Tokens
		return t, rows.Scan(&t.Drawn, &t.Short)
	}, tokensOf, tenant, day)
	if err != nil || len(found) == 0 {
		return store.Tokens{}, err
	}
	return found[0], nil
}

const llmCosts = `
	SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, job, model, count(*), count(*) FILTER (WHERE outcome <> $1),
		sum(tokens_in)::bigint, sum(tokens_out)::bigint, sum(cached)::bigint, count(*) FILTER (WHERE estimated),
		CASE WHEN count(cost) = count(*) THEN sum(cost) END
	FROM llm_calls WHERE tenant = $2 AND at >= $3
	GROUP BY 1, 2, 3 ORDER BY 1 DESC, 2, 3`

// LLMCosts implements store.LLMReader.
func (r reader) LLMCosts(ctx context.Context, tenant string, from time.Time) ([]store.LLMCost, error) {
	return collect(ctx, r.of(tenant), "sum the calls", func(rows pgx.Rows) (store.LLMCost, error) {
		var c store.LLMCost
		err := rows.Scan(&c.Day, &c.Job, &c.Model, &c.Calls, &c.Failed, &c.In, &c.Out, &c.Cached, &c.Estimated, &c.Cost)
		return c, err
	}, llmCosts, store.LLMOK, tenant, since(from))
}

const llmAnswer = `SELECT answer FROM llm_answers WHERE tenant = $1 AND key = $2 AND expires_at > $3`

// LLMAnswer implements store.LLMReader.
func (r reader) LLMAnswer(ctx context.Context, tenant, key string, now time.Time) ([]byte, error) {
	var answer string
	err := r.of(tenant).QueryRow(ctx, llmAnswer, tenant, key, ts(now)).Scan(&answer)
	return []byte(answer), translate(err, "read the kept answer")
}

const (
	reserveTokens = `
		INSERT INTO llm_budgets AS b (tenant, day, drawn, short) SELECT $1::text, $2::text, $3::bigint, 0 WHERE $3::bigint <= $4::bigint
		ON CONFLICT (tenant, day) DO UPDATE SET drawn = b.drawn + excluded.drawn WHERE b.drawn + excluded.drawn <= $4::bigint`
	noteShort = `
		INSERT INTO llm_budgets (tenant, day, drawn, short) VALUES ($1, $2, 0, $3)
		ON CONFLICT (tenant, day) DO UPDATE SET short = excluded.short`
)

// ReserveTokens implements store.LLMWriter. The statement that draws locks the
// row and looks at what the one before it left.
func (t *tx) ReserveTokens(ctx context.Context, tenant, day string, n, limit int64) (bool, error) {
	tag, err := t.of(tenant).Exec(ctx, reserveTokens, tenant, day, n, limit)
	if err != nil || tag.RowsAffected() == 1 {
		return err == nil, translate(err, "draw on the budget")
	}
	_, err = t.of(tenant).Exec(ctx, noteShort, tenant, day, n)
	return false, translate(err, "draw on the budget")
}

const settleTokens = `
	INSERT INTO llm_budgets AS b (tenant, day, drawn, short) VALUES ($1, $2, greatest(0, $3::bigint), 0)
	ON CONFLICT (tenant, day) DO UPDATE SET drawn = greatest(0, b.drawn + $3::bigint)`

// SettleTokens implements store.LLMWriter.
func (t *tx) SettleTokens(ctx context.Context, tenant, day string, n int64) error {
	t.of(tenant)
	t.write("settle the budget", settleTokens, tenant, day, n)
	return nil
}

const putLLMCall = `
	INSERT INTO llm_calls (id, tenant, scope, run, job, purpose, model, outcome, tokens_in, tokens_out, cached, estimated, cost, latency, at)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`

// PutLLMCall implements store.LLMWriter.
func (t *tx) PutLLMCall(ctx context.Context, c store.LLMCall) error {
	t.of(c.Scope.Tenant)
	t.write("keep the call", putLLMCall, c.ID, c.Scope.Tenant, c.Scope.Name, c.Run, c.Job, c.Purpose, c.Model, c.Outcome,
		c.In, c.Out, c.Cached, c.Estimated, c.Cost, c.Latency.Milliseconds(), ts(c.At))
	return nil
}

const (
	dropLLMAnswers = `
		DELETE FROM llm_answers WHERE (tenant, key) IN (
			SELECT tenant, key FROM llm_answers WHERE expires_at <= $1 ORDER BY tenant, key FOR UPDATE SKIP LOCKED)`
	ownersThere = `
		SELECT c.owner FROM contents c JOIN scopes s ON s.seq = c.scope
		WHERE c.owner = ANY ($1) AND s.tenant = $2 ORDER BY c.id FOR KEY SHARE OF c`
	putLLMAnswer = `
		INSERT INTO llm_answers (tenant, key, answer, at, expires_at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (tenant, key) DO UPDATE SET answer = excluded.answer, at = excluded.at, expires_at = excluded.expires_at`
	putLLMOwners = `
		INSERT INTO llm_answer_owners (owner, tenant, key) SELECT unnest($1::text[]), $2, $3 ON CONFLICT DO NOTHING`
)

// PutLLMAnswer implements store.LLMWriter. The lock on the words keeps an
// erasure waiting until the answer is there for it to be taken away too.
func (t *tx) PutLLMAnswer(ctx context.Context, a store.LLMAnswer, now time.Time) error {
	q := t.of(a.Scope.Tenant)
	t.writeAcross(gone, "drop old answers", dropLLMAnswers, ts(now))
	owners := store.Sorted(a.Owners)
	found, err := collect(ctx, q, "look for the owners of an answer", scanString, ownersThere, owners, a.Scope.Tenant)
	if err != nil || len(found) == 0 || len(store.Sorted(found)) < len(owners) {
		return err
	}
	b := &batch{}
	b.exec("keep the answer", putLLMAnswer, a.Scope.Tenant, a.Key, string(a.Answer), ts(a.At), ts(a.ExpiresAt))
	b.exec("keep the answer", putLLMOwners, owners, a.Scope.Tenant, a.Key)
	t.later(b)
	return nil
}

const eraseLLMAnswers = `
	DELETE FROM llm_answers WHERE (tenant, key) IN (SELECT tenant, key FROM llm_answer_owners WHERE owner = $1 AND tenant = $2)`
