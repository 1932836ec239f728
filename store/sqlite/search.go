package sqlite

import (
	"context"
	"database/sql"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/store"
)

const countPostings = `
	SELECT q.value, (SELECT count(*) FROM (SELECT 1 FROM memory_terms t WHERE t.scope = ? AND t.term = q.value LIMIT ?))
	FROM json_each(?) q`

const scopeTerms = `SELECT seq, memories, terms FROM scopes WHERE tenant = ? AND name = ?`

// scores sums BM25 over the postings; each weight is [term, idf], read once and
// first: left to itself the planner walks every posting of the scope. Rounding
// makes the order independent of the order in which a database adds. cut is the
// score under which nothing is looked up; none means that nothing is left out.
const scores = `
	WITH weights (term, idf) AS MATERIALIZED (
		SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?4)),
	hits (memory, score) AS MATERIALIZED (
		SELECT t.memory, round(sum(w.idf * t.tf * (?1 + 1) / (t.tf + ?1 * (1 - ?2 + ?2 * t.length / ?3))), 9)
		FROM weights w CROSS JOIN memory_terms t ON t.scope = ?5 AND t.term = w.term
		GROUP BY t.memory),
	cut (score) AS MATERIALIZED (SELECT score FROM hits ORDER BY score DESC LIMIT 1 OFFSET ?10)
	SELECT m.id, hit.score, (SELECT score FROM cut) IS NULL
	FROM hits hit CROSS JOIN memories m ON m.seq = hit.memory
	WHERE hit.score >= coalesce((SELECT score FROM cut), 0) AND m.status IN (SELECT value FROM json_each(?6)) AND m.id <> ?7
		AND (?11 = 0 OR ` + isNote + ` = (?11 = 2))
	ORDER BY hit.score DESC, m.id LIMIT ?8 OFFSET ?9`

// Search implements store.Searcher.
func (r reader) Search(ctx context.Context, q store.SearchQuery) ([]store.Hit, error) {
	var seq int64
	var n, total int
	err := r.q.row(ctx, scopeTerms, q.Scope.Tenant, q.Scope.Name).Scan(&seq, &n, &total)
	if err == sql.ErrNoRows {
		return nil, nil
	}
	if err != nil {
		return nil, translate(err, "search")
	}
	terms, _ := text.Analyse(q.Text)
	counts, err := collect(ctx, r.q, "search", func(rows *sql.Rows) (store.Posting, error) {
		var p store.Posting
		err := rows.Scan(&p.Term, &p.DF)
		return p, err
	}, countPostings, seq, store.PostingLimit(q), jsonList(store.Hashes(terms)))
	if err != nil {
		return nil, err
	}
	weights := store.Weigh(q, counts, n)
	if len(weights) == 0 {
		return nil, nil
	}
	avg := max(1, float64(total)/max(1, float64(n)))
	var hits []store.Hit
	for _, best := range store.Looks(q) {
		all := false
		hits, err = collect(ctx, r.q, "search", func(rows *sql.Rows) (store.Hit, error) {
			var h store.Hit
			err := rows.Scan(&h.ID, &h.Score, &all)
			return h, err
		}, scores, q.K1, q.B, avg, store.JSON(weights), seq, jsonList(q.Statuses), q.Exclude, q.Limit, q.Offset, best, q.Notes)
		if err != nil || store.Enough(q, len(hits), all) {
			return hits, err
		}
	}
	return hits, nil
}

// resolvers find up to two ids with a prefix. A CROSS JOIN keeps their order: the
// planner would rather walk all that a tenant has than a range of ids.
var resolvers = map[string]string{
	"memory": `SELECT m.id FROM memories m CROSS JOIN scopes s ON s.seq = m.scope WHERE s.tenant = ? AND m.id >= ? AND m.id < ? ORDER BY m.id LIMIT 2`,
	"turn":   `SELECT t.id FROM turns t CROSS JOIN scopes s ON s.seq = t.scope WHERE s.tenant = ? AND t.id >= ? AND t.id < ? ORDER BY t.id LIMIT 2`,
	"run":    `SELECT r.id FROM runs r CROSS JOIN scopes s ON s.seq = r.scope WHERE s.tenant = ? AND r.id >= ? AND r.id < ? ORDER BY r.id LIMIT 2`,
}

// Resolve implements store.Searcher.
func (r reader) Resolve(ctx context.Context, tenant, thing, prefix string) (string, error) {
	if resolvers[thing] == "" {
		return "", oxbow.Errorf(oxbow.CodeInvalid, "a %s has no id; look up a memory, a turn or a run", thing)
	}
	ids, err := collect(ctx, r.q, "look up "+thing, scanString, resolvers[thing], tenant, prefix, prefix+"\U0010ffff")
	if err != nil {
		return "", err
	}
	return store.OneOf(thing, prefix, ids)
}

func scanString(rows *sql.Rows) (string, error) {
	var s string
	err := rows.Scan(&s)
	return s, err
}

func scanInt(rows *sql.Rows) (int64, error) {
	var n int64
	err := rows.Scan(&n)
	return n, err
}
