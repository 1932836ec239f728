package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/oxbow-memory/oxbow/store"
)

// matchColumns are what scanMatch reads of memories m, before what else a query gives.
const matchColumns = `m.id, m.seq, m.status, m.kind, m.slot, m.key, m.source, m.conversation, m.said_at`

// matchScores sums BM25 over the postings of the leading terms; each weight is
// [term, weight, bit], read once and first. Bits of distinct terms add up to a
// mask. Rounding and cut are as in Search.
const matchScores = `
	WITH weights (term, weight, bit) AS MATERIALIZED (
		SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]') FROM json_each(?4)),
	hits (memory, score, mask, length) AS MATERIALIZED (
		SELECT t.memory, round(sum(w.weight * t.tf * (?1 + 1) / (t.tf + ?1 * (1 - ?2 + ?2 * t.length / ?3))), 9), sum(w.bit), max(t.length)
		FROM weights w CROSS JOIN memory_terms t ON t.scope = ?5 AND t.term = w.term
		GROUP BY t.memory),
	cut (score) AS MATERIALIZED (SELECT score FROM hits ORDER BY score DESC LIMIT 1 OFFSET ?7)
	SELECT ` + matchColumns + `, hit.score, hit.mask, hit.length, (SELECT score FROM cut) IS NULL
	FROM hits hit CROSS JOIN memories m ON m.seq = hit.memory
	WHERE hit.score >= coalesce((SELECT score FROM cut), 0) AND m.status IN (SELECT value FROM json_each(?6))
		AND (?9 IS NULL OR m.slot IN (SELECT value FROM json_each(?9))) AND (?10 = 0 OR m.key <> '') AND (?11 = '' OR m.kind = ?11)
		AND (NOT ?13 OR NOT ` + isNote + `)
		AND (?12 IS NULL OR (m.fades_at IS NULL OR m.fades_at > ?12) AND (m.expires_at IS NULL OR m.expires_at > ?12))
	ORDER BY hit.score DESC, m.id LIMIT ?8`

// restScores adds the terms that are too common to find candidates by: they
// are looked up for the candidates alone.
const restScores = `
	WITH weights (term, weight, bit) AS MATERIALIZED (
		SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]') FROM json_each(?4))
	SELECT t.memory, round(sum(w.weight * t.tf * (?1 + 1) / (t.tf + ?1 * (1 - ?2 + ?2 * t.length / ?3))), 9), sum(w.bit)
	FROM json_each(?6) c CROSS JOIN weights w CROSS JOIN memory_terms t ON t.scope = ?5 AND t.term = w.term AND t.memory = c.value
	GROUP BY t.memory`

// Match implements store.Recaller.
func (r reader) Match(ctx context.Context, q store.MatchQuery) (store.Matched, error) {
	var seq int64
	var n, total int
	err := r.q.row(ctx, scopeTerms, q.Scope.Tenant, q.Scope.Name).Scan(&seq, &n, &total)
	if err == sql.ErrNoRows {
		n, err = 0, nil
	}
	if err != nil {
		return store.Matched{}, translate(err, "match")
	}
	counts, err := collect(ctx, r.q, "match", func(rows *sql.Rows) (store.Posting, error) {
		var p store.Posting
		err := rows.Scan(&p.Term, &p.DF)
		return p, err
	}, countPostings, seq, q.CountLimit(), jsonList(q.TermHashes()))
	if err != nil {
		return store.Matched{}, err
	}
	plan := store.PlanMatch(q, counts, n, total)
	if len(plan.Lead) == 0 {
		return plan.Matched, nil
	}
	var hits []store.Match
	for _, look := range store.MatchLooks(q) {
		all := false
		hits, err = collect(ctx, r.q, "match", func(rows *sql.Rows) (store.Match, error) {
			var m store.Match
			err := scanMatch(rows, &m, &m.Score, &m.Terms, &m.Length, &all)
			return m, err
		}, matchScores, q.K1, q.B, plan.Average, store.JSON(plan.Lead), seq, jsonList(q.Statuses), look, plan.Take(q),
			orNone(q.Slots), q.Keyed, q.Kind, ms(q.LiveAt), q.NoNotes)
		if err != nil {
			return store.Matched{}, err
		}
		if len(hits) >= q.Limit || len(hits) > 0 && all {
			break
		}
	}
	rest, err := r.restScores(ctx, q, plan, seq, hits)
	if err != nil {
		return store.Matched{}, err
	}
	return plan.Finish(q, hits, rest), nil
}

func (r reader) restScores(ctx context.Context, q store.MatchQuery, plan store.MatchPlan, seq int64, hits []store.Match) ([]store.PostingScore, error) {
	if len(plan.Rest) == 0 || len(hits) == 0 {
		return nil, nil
	}
	rows := make([]int64, len(hits))
	for i, h := range hits {
		rows[i] = h.Seq
	}
	return collect(ctx, r.q, "match", func(rows *sql.Rows) (store.PostingScore, error) {
		var p store.PostingScore
		err := rows.Scan(&p.Seq, &p.Score, &p.Terms)
		return p, err
	}, restScores, q.K1, q.B, plan.Average, store.JSON(plan.Rest), seq, jsonList(rows))
}

// orNone gives a list for json_each, or NULL for one that restricts nothing.
func orNone(vs []string) any {
	if vs == nil {
		return nil
	}
	return jsonList(vs)
}

func scanMatch(rows *sql.Rows, m *store.Match, more ...any) error {
	var said int64
	err := rows.Scan(append([]any{&m.ID, &m.Seq, &m.Status, &m.Kind, &m.Slot, &m.Key, &m.Source, &m.Conversation, &said}, more...)...)
	m.SaidAt = time.UnixMilli(said).UTC()
	return err
}

// beside walks the index of conversations from each memory, once each way.
const beside = `
	SELECT ` + matchColumns + `, c.id,
		CASE WHEN (m.said_at, m.id) < (c.said_at, c.id) THEN -1 ELSE 1 END
	FROM json_each(?1) q CROSS JOIN memories c ON c.id = q.value AND c.scope = ?2 AND c.conversation <> ''
	CROSS JOIN memories m ON m.seq IN (
		SELECT seq FROM (SELECT b.seq FROM memories b WHERE b.scope = ?2 AND b.conversation = c.conversation AND b.conversation <> ''
			AND (b.said_at, b.id) < (c.said_at, c.id) AND b.kind NOT IN ('observation', 'reflection') AND b.status IN (SELECT value FROM json_each(?4))
			AND (?5 IS NULL OR (b.fades_at IS NULL OR b.fades_at > ?5) AND (b.expires_at IS NULL OR b.expires_at > ?5))
			ORDER BY b.said_at DESC, b.id DESC LIMIT ?3)
		UNION ALL
		SELECT seq FROM (SELECT a.seq FROM memories a WHERE a.scope = ?2 AND a.conversation = c.conversation AND a.conversation <> ''
			AND (a.said_at, a.id) > (c.said_at, c.id) AND a.kind NOT IN ('observation', 'reflection') AND a.status IN (SELECT value FROM json_each(?4))
			AND (?5 IS NULL OR (a.fades_at IS NULL OR a.fades_at > ?5) AND (a.expires_at IS NULL OR a.expires_at > ?5))
			ORDER BY a.said_at, a.id LIMIT ?3))`

// Beside implements store.Recaller.
func (r reader) Beside(ctx context.Context, q store.BesideQuery) ([]store.Neighbour, error) {
	seq, err := r.scopeSeq(ctx, q.Scope)
	if err != nil || seq == 0 || len(q.IDs) == 0 {
		return nil, err
	}
	ns, err := collect(ctx, r.q, "look beside", func(rows *sql.Rows) (store.Neighbour, error) {
		var n store.Neighbour
		err := scanMatch(rows, &n.Match, &n.Of, &n.Step)
		return n, err
	}, beside, jsonList(q.IDs), seq, q.Reach, jsonList(q.Statuses), ms(q.LiveAt))
	return store.OrderNeighbours(q, ns), err
}
