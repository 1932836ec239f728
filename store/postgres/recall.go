package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/store"
)

// matchColumns are what scanMatch reads of memories m, before what else a query gives.
const matchColumns = `m.id, m.seq, m.status, m.kind, m.slot, m.key, m.source, m.conversation, m.said_at`

// matchScores sums BM25 over the postings of the leading terms, each with its
// weight and bit. Rounding and cut are as in Search.
const matchScores = `
	WITH hits (memory, score, mask, length) AS MATERIALIZED (
		SELECT t.memory,
			round(sum(w.weight * t.tf * ($1::float8 + 1) / (t.tf + $1::float8 * (1 - $2::float8 + $2::float8 * t.length / $3::float8)))::numeric, 9)::float8,
			bit_or(w.bit), max(t.length)
		FROM unnest($4::bigint[], $5::float8[], $6::bigint[]) w (term, weight, bit) JOIN memory_terms t ON t.scope = $7 AND t.term = w.term
		GROUP BY t.memory),
	cut (score) AS MATERIALIZED (SELECT score FROM hits ORDER BY score DESC LIMIT 1 OFFSET $9)
	SELECT ` + matchColumns + `, hit.score, hit.mask, hit.length, (SELECT score FROM cut) IS NULL
	FROM hits hit JOIN memories m ON m.seq = hit.memory
	WHERE hit.score >= coalesce((SELECT score FROM cut), 0) AND m.status = ANY($8)
		AND ($11::text[] IS NULL OR m.slot = ANY($11)) AND (NOT $12 OR m.key <> '') AND ($13 = '' OR m.kind = $13)
		AND (NOT $15 OR NOT ` + isNote + `)
		AND ($14::timestamptz IS NULL OR (m.fades_at IS NULL OR m.fades_at > $14) AND (m.expires_at IS NULL OR m.expires_at > $14))
	ORDER BY hit.score DESC, m.id LIMIT $10`

// restScores adds the terms that are too common to find candidates by: they
// are looked up for the candidates alone.
const restScores = `
	SELECT t.memory,
		round(sum(w.weight * t.tf * ($1::float8 + 1) / (t.tf + $1::float8 * (1 - $2::float8 + $2::float8 * t.length / $3::float8)))::numeric, 9)::float8,
		bit_or(w.bit)
	FROM unnest($8::bigint[]) c (memory) CROSS JOIN unnest($4::bigint[], $5::float8[], $6::bigint[]) w (term, weight, bit)
	JOIN memory_terms t ON t.scope = $7 AND t.term = w.term AND t.memory = c.memory
	GROUP BY t.memory`

// Match implements store.Recaller.
func (r reader) Match(ctx context.Context, q store.MatchQuery) (store.Matched, error) {
	var seq int64
	var n, total int
	err := r.in(q.Scope).QueryRow(ctx, scopeTerms, q.Scope.Tenant, q.Scope.Name).Scan(&seq, &n, &total)
	if errors.Is(err, pgx.ErrNoRows) {
		n, err = 0, nil
	}
	if err != nil {
		return store.Matched{}, translate(err, "match")
	}
	counts, err := collect(ctx, r.in(q.Scope), "match", func(rows pgx.Rows) (store.Posting, error) {
		var p store.Posting
		err := rows.Scan(&p.Term, &p.DF)
		return p, err
	}, countPostings, seq, q.CountLimit(), q.TermHashes())
	if err != nil {
		return store.Matched{}, err
	}
	plan := store.PlanMatch(q, counts, n, total)
	if len(plan.Lead) == 0 {
		return plan.Matched, nil
	}
	terms, weights, bits := termColumns(plan.Lead)
	var hits []store.Match
	for _, look := range store.MatchLooks(q) {
		all := false
		hits, err = collect(ctx, r.in(q.Scope), "match", func(rows pgx.Rows) (store.Match, error) {
			var m store.Match
			err := scanMatch(rows, &m, &m.Score, &m.Terms, &m.Length, &all)
			return m, err
		}, matchScores, q.K1, q.B, plan.Average, terms, weights, bits, seq, texts(q.Statuses), look, plan.Take(q),
			q.Slots, q.Keyed, string(q.Kind), orNull(q.LiveAt), q.NoNotes)
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
	terms, weights, bits := termColumns(plan.Rest)
	return collect(ctx, r.in(q.Scope), "match", func(rows pgx.Rows) (store.PostingScore, error) {
		var p store.PostingScore
		err := rows.Scan(&p.Seq, &p.Score, &p.Terms)
		return p, err
	}, restScores, q.K1, q.B, plan.Average, terms, weights, bits, seq, rows)
}

// termColumns gives terms as unnest takes them.
func termColumns(ts []store.TermBit) (terms []int64, weights []float64, bits []int64) {
	for _, t := range ts {
		terms, weights, bits = append(terms, t.Term), append(weights, t.Weight), append(bits, t.Bit)
	}
	return terms, weights, bits
}

func scanMatch(rows pgx.Rows, m *store.Match, more ...any) error {
	err := rows.Scan(append([]any{&m.ID, &m.Seq, &m.Status, &m.Kind, &m.Slot, &m.Key, &m.Source, &m.Conversation, &m.SaidAt}, more...)...)
	m.SaidAt = m.SaidAt.UTC()
	return err
}

// beside walks the index of conversations from each memory, once each way.
const beside = `
	SELECT ` + matchColumns + `, c.id, m.step
	FROM unnest($1::text[]) q (id) JOIN memories c ON c.id = q.id AND c.scope = $2 AND c.conversation <> '',
	LATERAL (
		(SELECT b.*, -1 AS step FROM memories b WHERE b.scope = $2 AND b.conversation = c.conversation AND b.conversation <> ''
			AND (b.said_at, b.id) < (c.said_at, c.id) AND b.kind NOT IN ('observation', 'reflection') AND b.status = ANY($4)
			AND ($5::timestamptz IS NULL OR (b.fades_at IS NULL OR b.fades_at > $5) AND (b.expires_at IS NULL OR b.expires_at > $5))
			ORDER BY b.said_at DESC, b.id DESC LIMIT $3)
		UNION ALL
		(SELECT b.*, 1 FROM memories b WHERE b.scope = $2 AND b.conversation = c.conversation AND b.conversation <> ''
			AND (b.said_at, b.id) > (c.said_at, c.id) AND b.kind NOT IN ('observation', 'reflection') AND b.status = ANY($4)
			AND ($5::timestamptz IS NULL OR (b.fades_at IS NULL OR b.fades_at > $5) AND (b.expires_at IS NULL OR b.expires_at > $5))
			ORDER BY b.said_at, b.id LIMIT $3)) m`

// Beside implements store.Recaller.
func (r reader) Beside(ctx context.Context, q store.BesideQuery) ([]store.Neighbour, error) {
	seq, err := r.scopeSeq(ctx, q.Scope)
	if err != nil || seq == 0 || len(q.IDs) == 0 {
		return nil, err
	}
	ns, err := collect(ctx, r.in(q.Scope), "look beside", func(rows pgx.Rows) (store.Neighbour, error) {
		var n store.Neighbour
		err := scanMatch(rows, &n.Match, &n.Of, &n.Step)
		return n, err
	}, beside, q.IDs, seq, q.Reach, texts(q.Statuses), orNull(q.LiveAt))
	return store.OrderNeighbours(q, ns), err
}
