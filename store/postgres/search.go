package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/store"
)

const countPostings = `
	SELECT q.term, n.df FROM unnest($3::bigint[]) q (term),
		LATERAL (SELECT count(*) AS df FROM (SELECT 1 FROM memory_terms t WHERE t.scope = $1 AND t.term = q.term LIMIT $2) p) n`

const scopeTerms = `SELECT seq, memories, terms FROM scopes WHERE tenant = $1 AND name = $2`

// scopePostings is both at once.
const scopePostings = `
	SELECT s.seq, s.memories, s.terms, q.term, n.df FROM scopes s, unnest($4::bigint[]) q (term),
		LATERAL (SELECT count(*) AS df FROM (SELECT 1 FROM memory_terms t WHERE t.scope = s.seq AND t.term = q.term LIMIT $3) p) n
	WHERE s.tenant = $1 AND s.name = $2`

// scores sums BM25 over the postings; each weight is a term with its idf.
// Rounding makes the order independent of the order in which a database adds. cut is the
// score under which nothing is looked up; none means that nothing is left out.
const scores = `
	WITH hits (memory, score) AS MATERIALIZED (
		SELECT t.memory,
			round(sum(w.idf * t.tf * ($1::float8 + 1) / (t.tf + $1::float8 * (1 - $2::float8 + $2::float8 * t.length / $3::float8)))::numeric, 9)::float8
		FROM unnest($4::bigint[], $5::float8[]) w (term, idf) JOIN memory_terms t ON t.scope = $6 AND t.term = w.term
		GROUP BY t.memory),
	cut (score) AS MATERIALIZED (SELECT score FROM hits ORDER BY score DESC LIMIT 1 OFFSET $11)
	SELECT m.id, hit.score, (SELECT score FROM cut) IS NULL
	FROM hits hit JOIN memories m ON m.seq = hit.memory
	WHERE hit.score >= coalesce((SELECT score FROM cut), 0) AND m.status = ANY($7) AND m.id <> $8
		AND ($12 = 0 OR ` + isNote + ` = ($12 = 2))
	ORDER BY hit.score DESC, m.id LIMIT $9 OFFSET $10`

// Search implements store.Searcher.
func (r reader) Search(ctx context.Context, q store.SearchQuery) ([]store.Hit, error) {
	var seq int64
	var n, total int
	terms, _ := text.Analyse(q.Text)
	counts, err := collect(ctx, r.in(q.Scope), "search", func(rows pgx.Rows) (store.Posting, error) {
		var p store.Posting
		err := rows.Scan(&seq, &n, &total, &p.Term, &p.DF)
		return p, err
	}, scopePostings, q.Scope.Tenant, q.Scope.Name, store.PostingLimit(q), store.Hashes(terms))
	if err != nil {
		return nil, err
	}
	weights := store.Weigh(q, counts, n)
	if len(weights) == 0 {
		return nil, nil
	}
	avg := max(1, float64(total)/max(1, float64(n)))
	ids, idfs := make([]int64, len(weights)), make([]float64, len(weights))
	for i, w := range weights {
		ids[i], idfs[i] = w.Term, w.IDF
	}
	var hits []store.Hit
	for _, best := range store.Looks(q) {
		all := false
		hits, err = collect(ctx, r.in(q.Scope), "search", func(rows pgx.Rows) (store.Hit, error) {
			var h store.Hit
			err := rows.Scan(&h.ID, &h.Score, &all)
			return h, err
		}, scores, q.K1, q.B, avg, ids, idfs, seq, texts(q.Statuses), q.Exclude, q.Limit, q.Offset, best, int(q.Notes))
		if err != nil || store.Enough(q, len(hits), all) {
			return hits, err
		}
	}
	return hits, nil
}

// resolvers find up to two ids with a prefix, by a range of the ids and not by
// the index of scopes (see scopeOf).
var resolvers = map[string]string{
	"memory": `SELECT m.id FROM memories m JOIN scopes s ON s.seq = greatest(m.scope, m.scope) WHERE s.tenant = $1 AND m.id >= $2 AND m.id < $3 ORDER BY m.id LIMIT 2`,
	"turn":   `SELECT t.id FROM turns t JOIN scopes s ON s.seq = greatest(t.scope, t.scope) WHERE s.tenant = $1 AND t.id >= $2 AND t.id < $3 ORDER BY t.id LIMIT 2`,
	"run":    `SELECT r.id FROM runs r JOIN scopes s ON s.seq = greatest(r.scope, r.scope) WHERE s.tenant = $1 AND r.id >= $2 AND r.id < $3 ORDER BY r.id LIMIT 2`,
}

// Resolve implements store.Searcher.
func (r reader) Resolve(ctx context.Context, tenant, thing, prefix string) (string, error) {
	if resolvers[thing] == "" {
		return "", oxbow.Errorf(oxbow.CodeInvalid, "a %s has no id; look up a memory, a turn or a run", thing)
	}
	ids, err := collect(ctx, r.of(tenant), "look up "+thing, scanString, resolvers[thing], tenant, prefix, prefix+"\U0010ffff")
	if err != nil {
		return "", err
	}
	return store.OneOf(thing, prefix, ids)
}

func scanString(rows pgx.Rows) (string, error) {
	var s string
	err := rows.Scan(&s)
	return s, err
}

func scanInt(rows pgx.Rows) (int64, error) {
	var n int64
	err := rows.Scan(&n)
	return n, err
}
