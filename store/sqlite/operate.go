package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/oxbow-memory/oxbow/store"
)

const logEnds = `SELECT coalesce((SELECT max(seq) FROM memory_events), 0), coalesce((SELECT max(seq) FROM llm_calls), 0)`

// LogEnds implements store.OperatorReader.
func (r reader) LogEnds(ctx context.Context) (store.LogEnds, error) {
	e := store.LogEnds{InOrder: true}
	err := r.q.row(ctx, logEnds).Scan(&e.Event, &e.LLMCall)
	return e, translate(err, "find the ends of the logs")
}

// movedStatus tells apart the events whose type does not say all about the move.
const movedStatus = `CASE e.type WHEN 'created' THEN coalesce(json_extract(e.after, '$.status'), '')
		WHEN 'restored' THEN coalesce(json_extract(e.before, '$.status'), '')
		WHEN 'erased' THEN coalesce(json_extract(e.before, '$.status'), '') ELSE '' END`

const countLog = `
	SELECT e.type, ` + movedStatus + ` AS status, count(*) FROM memory_events e
	WHERE e.seq > ? AND e.seq <= ? GROUP BY e.type, 2`

// CountLog implements store.OperatorReader.
func (r reader) CountLog(ctx context.Context, after, upto int64) ([]store.LogCount, error) {
	return collect(ctx, r.q, "count the log", func(rows *sql.Rows) (store.LogCount, error) {
		var c store.LogCount
		return c, rows.Scan(&c.Type, &c.Status, &c.N)
	}, countLog, after, upto)
}

const countLLMCalls = `
	SELECT model, outcome, count(*), sum(tokens_in), sum(tokens_out), sum(cached), coalesce(sum(cost), 0.0), count(*) - count(cost)
	FROM llm_calls WHERE seq > ? AND seq <= ? GROUP BY model, outcome`

// CountLLMCalls implements store.OperatorReader.
func (r reader) CountLLMCalls(ctx context.Context, after, upto int64) ([]store.LLMCount, error) {
	return collect(ctx, r.q, "count the calls", func(rows *sql.Rows) (store.LLMCount, error) {
		var c store.LLMCount
		return c, rows.Scan(&c.Model, &c.Outcome, &c.Calls, &c.In, &c.Out, &c.Cached, &c.Cost, &c.Unpriced)
	}, countLLMCalls, after, upto)
}

const freshness = `
	SELECT p.name, min(coalesce((SELECT r.finished_at FROM runs r
			WHERE r.scope = p.scope AND r.name = p.name AND r.status = 'done' ORDER BY r.about DESC LIMIT 1), s.created_at)), min(p.next_at)
	FROM schedules p JOIN scopes s ON s.seq = p.scope WHERE p.paused = 0 GROUP BY p.name ORDER BY p.name`

// Freshness implements store.OperatorReader.
func (r reader) Freshness(ctx context.Context) ([]store.Freshness, error) {
	return collect(ctx, r.q, "look at the schedules", func(rows *sql.Rows) (store.Freshness, error) {
		var f store.Freshness
		var last, next int64
		err := rows.Scan(&f.Pass, &last, &next)
		f.LastSuccess, f.NextSlot = time.UnixMilli(last).UTC(), time.UnixMilli(next).UTC()
		return f, err
	}, freshness)
}

const countBudgets = `SELECT coalesce(max(drawn), 0), coalesce(sum(short > 0), 0) FROM llm_budgets WHERE day = ?`

// CountBudgets implements store.OperatorReader.
func (r reader) CountBudgets(ctx context.Context, day string) (store.Budgets, error) {
	var b store.Budgets
	err := r.q.row(ctx, countBudgets, day).Scan(&b.Most, &b.Short)
	return b, translate(err, "count the budgets")
}

const countDiscarded = `SELECT kind, count(*) FROM discarded GROUP BY kind`

// CountDiscarded implements store.OperatorReader.
func (r reader) CountDiscarded(ctx context.Context) (map[string]int, error) {
	return countBy[string](ctx, r.q, countDiscarded)
}
