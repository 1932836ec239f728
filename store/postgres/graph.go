package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// named tells whether a memory names the node n that may be shown.
const named = `EXISTS (SELECT FROM (SELECT memory FROM graph_mentions WHERE node = n.seq ORDER BY memory DESC LIMIT 500) x
	JOIN memories m ON m.seq = x.memory WHERE ` + standing + `)`

// described is the latest description that a memory gives which may be shown: what
// was replaced is not said by way of a name.
const described = `coalesce((SELECT x.description
	FROM (SELECT memory, at, description FROM graph_mentions WHERE node = n.seq AND description <> '' ORDER BY at DESC, description COLLATE "C" LIMIT 500) x
	JOIN memories m ON m.seq = x.memory WHERE ` + standing + ` ORDER BY x.at DESC, x.description COLLATE "C" LIMIT 1), '')`

// matchNodes looks at the newest names of each word only: one that stands in
// more is no name to go by.
const matchNodes = `
	SELECT n.id, n.name, n.type, n.description, n.mentions, max(h.share)
	FROM (
		SELECT a.node, count(*)::float8 / a.words AS share, count(*) AS hits
		FROM unnest($4::bigint[]) q (term)
			CROSS JOIN LATERAL (SELECT w.alias FROM graph_words w WHERE w.scope = $3 AND w.term = q.term ORDER BY w.alias DESC LIMIT 500) w
			JOIN graph_aliases a ON a.seq = w.alias
		GROUP BY a.seq HAVING count(*) * 2 >= a.words
		UNION ALL
		SELECT node, 1.0, words + 1 FROM graph_aliases WHERE scope = $3 AND norm = $5) h
	JOIN graph_nodes n ON n.seq = h.node
	WHERE ` + named + `
	GROUP BY n.seq ORDER BY max(h.share) DESC, max(h.hits) DESC, n.mentions DESC, n.id LIMIT $6`

// MatchNodes implements store.GraphReader.
func (r reader) MatchNodes(ctx context.Context, q store.NodeQuery) ([]store.GraphNode, error) {
	seq, err := r.scopeSeq(ctx, q.Scope)
	if err != nil || q.Limit < 1 {
		return nil, err
	}
	terms, norm := store.WordsOf(q.Words)
	return collect(ctx, r.in(q.Scope), "look for nodes", scanNode, matchNodes, texts(q.Statuses), ts(q.Now), seq, terms, norm, q.Limit)
}

func scanNode(rows pgx.Rows) (n store.GraphNode, err error) {
	err = rows.Scan(&n.ID, &n.Name, &n.Type, &n.Description, &n.Mentions, &n.Share)
	return n, err
}

// walk is one query: the ways of up to $5 hops, the best way to each node, the
// memories of the best $8 nodes, and whether a bound was met.
const walk = `
	WITH RECURSIVE walk (node, hops, weight, trail, seen, path) AS (
		SELECT n.seq, 0, 1.0::float8, n.name COLLATE "C", ARRAY[n.seq], jsonb_build_array(jsonb_build_object('node', n.name))
		FROM graph_nodes n WHERE n.scope = $3 AND n.id = ANY($4)
		UNION ALL
		SELECT o.seq, w.hops + 1, w.weight * e.mentions / (e.mentions + 1), w.trail || ' ' || e.type || ' ' || o.name, w.seen || o.seq,
			w.path || jsonb_build_object('node', o.name, 'relation', e.type, 'back', (e.to_node = w.node)::int)
		FROM walk w
		CROSS JOIN LATERAL (
			SELECT f.* FROM (
				(SELECT seq, from_node, to_node, type, mentions FROM graph_edges WHERE from_node = w.node ORDER BY mentions DESC, seq DESC LIMIT $7)
				UNION ALL
				(SELECT seq, from_node, to_node, type, mentions FROM graph_edges WHERE to_node = w.node ORDER BY mentions DESC, seq DESC LIMIT $7)) f
			WHERE EXISTS (SELECT FROM graph_edge_mentions x JOIN memories m ON m.seq = x.memory WHERE x.edge = f.seq AND ` + standing + `)
			ORDER BY f.mentions DESC, f.seq DESC LIMIT $6) e
		JOIN graph_nodes o ON o.seq = CASE WHEN e.from_node = w.node THEN e.to_node ELSE e.from_node END
		WHERE w.hops < $5 AND o.seq <> ALL (w.seen) AND o.id <> $11),
	ways AS (SELECT *, row_number() OVER (PARTITION BY node ORDER BY hops, weight DESC, trail) AS place FROM walk),
	nodes AS (SELECT * FROM ways WHERE place = 1 ORDER BY hops, weight DESC, trail LIMIT $8),
	found AS (
		SELECT m.id, m.seq AS number, n.hops, n.weight, n.path,
			row_number() OVER (PARTITION BY m.seq ORDER BY n.hops, n.weight DESC, n.trail) AS place
		FROM nodes n CROSS JOIN LATERAL (SELECT memory FROM graph_mentions WHERE node = n.node ORDER BY memory DESC LIMIT $9) x
			JOIN memories m ON m.seq = x.memory
		WHERE ` + standing + `),
	cut (yes) AS (
		SELECT (SELECT count(*) FROM ways WHERE place = 1) > $8
			OR EXISTS (SELECT FROM ways w WHERE w.place = 1 AND w.hops < $5 AND
				(SELECT count(*) FROM (SELECT FROM graph_edges WHERE from_node = w.node LIMIT $7 + 1) e) +
				(SELECT count(*) FROM (SELECT FROM graph_edges WHERE to_node = w.node LIMIT $7 + 1) e) > $6)
			OR EXISTS (SELECT FROM nodes n WHERE (SELECT count(*) FROM (SELECT FROM graph_mentions WHERE node = n.node LIMIT $9 + 1) e) > $9))
	SELECT c.yes, f.id, f.hops, f.weight, f.path::text FROM cut c LEFT JOIN found f ON f.place = 1
	ORDER BY f.hops, f.weight DESC, f.number DESC LIMIT $10`

// Walk implements store.GraphReader.
func (r reader) Walk(ctx context.Context, q store.WalkQuery) (store.Walked, error) {
	var out store.Walked
	seq, err := r.scopeSeq(ctx, q.Scope)
	if err != nil || len(q.From) == 0 {
		return out, err
	}
	q = q.Bounded()
	_, err = collect(ctx, r.in(q.Scope), "walk the graph", func(rows pgx.Rows) (struct{}, error) {
		var id, path *string
		var hops *int
		var weight *float64
		if err := rows.Scan(&out.Cut, &id, &hops, &weight, &path); err != nil || id == nil {
			return struct{}{}, err
		}
		way, err := store.ReadPath(*path)
		out.Hits = append(out.Hits, store.Reached{ID: *id, Hops: *hops, Weight: *weight, Path: way})
		return struct{}{}, err
	}, walk, texts(q.Statuses), ts(q.Now), seq, q.From, q.Hops, q.FanOut, q.Look(), store.WalkNodes, store.WalkMemories, q.Limit+1, q.Avoid)
	if len(out.Hits) > q.Limit {
		out.Hits, out.Cut = out.Hits[:q.Limit], true
	}
	return out, err
}

const countGraph = `
	SELECT (SELECT count(*) FROM graph_nodes WHERE scope = $1),
		(SELECT count(*) FROM (SELECT DISTINCT from_node, to_node, type FROM graph_edges WHERE scope = $1 AND from_node <> to_node) e)`

// CountGraph implements store.GraphReader.
func (r reader) CountGraph(ctx context.Context, s oxbow.Scope) (nodes, edges int, err error) {
	seq, err := r.scopeSeq(ctx, s)
	if err != nil {
		return 0, 0, err
	}
	err = r.in(s).QueryRow(ctx, countGraph, seq).Scan(&nodes, &edges)
	return nodes, edges, translate(err, "count the graph")
}

const (
	nodeCalled = `
		SELECT n.id, n.name, n.type, ` + described + `, n.mentions, 0::float8 FROM graph_aliases a JOIN graph_nodes n ON n.seq = a.node
		WHERE a.scope = $3 AND a.norm = $4 AND ` + named
	aliasesOf = `
		SELECT a.norm FROM graph_nodes n JOIN graph_aliases a ON a.node = n.seq
		WHERE n.scope = $1 AND n.id = $2 AND a.norm <> n.norm ORDER BY a.norm LIMIT $3`
)

// NodeCalled implements store.GraphReader.
func (r reader) NodeCalled(ctx context.Context, q store.NodeQuery) (store.GraphNode, error) {
	seq, err := r.scopeSeq(ctx, q.Scope)
	if err != nil {
		return store.GraphNode{}, err
	}
	found, err := collect(ctx, r.in(q.Scope), "look for a node", scanNode, nodeCalled, texts(q.Statuses), ts(q.Now), seq, store.NormName(q.Words))
	if err != nil || len(found) == 0 {
		return store.GraphNode{}, store.NoNode(q, err)
	}
	n := found[0]
	n.Aliases, err = collect(ctx, r.in(q.Scope), "look for names", func(rows pgx.Rows) (s string, err error) {
		err = rows.Scan(&s)
		return s, err
	}, aliasesOf, seq, n.ID, store.NodeMemories)
	return n, err
}

const listNodes = `
	SELECT n.id, n.name, n.type, ` + described + `, n.mentions, 0::float8 FROM graph_nodes n
	WHERE n.scope = $3 AND ($4::text = '' OR EXISTS (SELECT FROM graph_aliases a WHERE a.node = n.seq AND strpos(a.norm, $4) > 0))
		AND ` + named + ` ORDER BY n.mentions DESC, n.id LIMIT $5`

// ListNodes implements store.GraphReader.
func (r reader) ListNodes(ctx context.Context, q store.NodeQuery) ([]store.GraphNode, error) {
	seq, err := r.scopeSeq(ctx, q.Scope)
	if err != nil || q.Limit < 1 {
		return nil, err
	}
	return collect(ctx, r.in(q.Scope), "list nodes", scanNode, listNodes, texts(q.Statuses), ts(q.Now), seq, store.NormName(q.Words), q.Limit)
}

const edgesAround = `
	SELECT e.seq, f.id, f.name, e.type, o.id, o.name, e.mentions, e.said
	FROM (
		SELECT DISTINCT e.*, ARRAY(SELECT m.id FROM graph_edge_mentions x JOIN memories m ON m.seq = x.memory
			WHERE x.edge = e.seq AND ` + standing + ` ORDER BY m.seq DESC LIMIT $6) AS said
		FROM graph_nodes n CROSS JOIN LATERAL (
			(SELECT * FROM graph_edges WHERE from_node = n.seq ORDER BY mentions DESC, seq DESC LIMIT $5)
			UNION ALL
			(SELECT * FROM graph_edges WHERE to_node = n.seq ORDER BY mentions DESC, seq DESC LIMIT $5)) e
		WHERE n.scope = $3 AND n.id = ANY($4) AND e.from_node <> e.to_node) e
		JOIN graph_nodes f ON f.seq = e.from_node JOIN graph_nodes o ON o.seq = e.to_node
	ORDER BY e.mentions DESC, e.seq`

// EdgesOf implements store.GraphReader.
func (r reader) EdgesOf(ctx context.Context, q store.EdgeQuery) ([]store.GraphEdge, bool, error) {
	seq, err := r.scopeSeq(ctx, q.Scope)
	if err != nil || q.Limit < 1 || len(q.Nodes) == 0 {
		return nil, false, err
	}
	all, err := collect(ctx, r.in(q.Scope), "look for edges", func(rows pgx.Rows) (e store.GraphEdge, err error) {
		var seq int64
		err = rows.Scan(&seq, &e.From.ID, &e.From.Name, &e.Type, &e.To.ID, &e.To.Name, &e.Mentions, &e.Memories)
		return e, err
	}, edgesAround, texts(q.Statuses), ts(q.Now), seq, q.Nodes, q.Limit+1, store.EdgeMemories)
	edges, cut := store.CutEdges(all, q.Limit)
	return edges, cut, err
}

const withoutGraph = selectMemory + `
	WHERE m.scope = $2 AND m.id > $3 AND ` + embeddable + ` AND NOT EXISTS (SELECT FROM graph_read g WHERE g.memory = m.seq AND g.grapher IN ($1, '` + store.GraphImported + `'))
	ORDER BY m.id LIMIT $4`

// WithoutGraph implements store.GraphReader.
func (r reader) WithoutGraph(ctx context.Context, s oxbow.Scope, grapher, after string, limit int) ([]oxbow.Memory, error) {
	seq, err := r.scopeSeq(ctx, s)
	if err != nil {
		return nil, err
	}
	return collect(ctx, r.in(s), "look for memories without a graph", scanMemory, withoutGraph, grapher, seq, after, limit)
}

const nodeVectorMark = `SELECT graph_vectors FROM scopes WHERE tenant = $1 AND name = $2`

// NodeVectorMark implements store.NodeVectorReader.
func (r reader) NodeVectorMark(ctx context.Context, s oxbow.Scope) (int64, error) {
	var mark int64
	err := r.in(s).QueryRow(ctx, nodeVectorMark, s.Tenant, s.Name).Scan(&mark)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return 0, translate(err, "look for new vectors")
	}
	return mark, nil
}

const nodeVectorsSince = `
	SELECT mark, node, dimensions, vector FROM graph_vectors
	WHERE scope = $1 AND embedder = $2 AND (mark, node) > ($3, $4) ORDER BY mark, node LIMIT $5`

// NodeVectorsSince implements store.NodeVectorReader.
func (r reader) NodeVectorsSince(ctx context.Context, s oxbow.Scope, embedder string, after store.VectorPlace, limit int) ([]store.PlacedVector, error) {
	seq, err := r.scopeSeq(ctx, s)
	if err != nil {
		return nil, err
	}
	return collect(ctx, r.in(s), "read vectors of nodes", func(rows pgx.Rows) (p store.PlacedVector, err error) {
		p.Values, err = scanVector(rows, &p.Mark, &p.Number)
		return p, err
	}, nodeVectorsSince, seq, embedder, after.Mark, after.Number, limit)
}

const (
	hasNodeVector    = `EXISTS (SELECT FROM graph_vectors v WHERE v.node = n.seq AND v.embedder = $1 AND v.dimensions > 0)`
	countNodeVectors = `SELECT count(*) FILTER (WHERE ` + hasNodeVector + `), count(*) FROM graph_nodes n WHERE n.scope = $2`
)

// CountNodeVectors implements store.NodeVectorReader.
func (r reader) CountNodeVectors(ctx context.Context, s oxbow.Scope, embedder string) (with, without int, err error) {
	seq, err := r.scopeSeq(ctx, s)
	if err != nil {
		return 0, 0, err
	}
	var all int
	err = r.in(s).QueryRow(ctx, countNodeVectors, embedder, seq).Scan(&with, &all)
	return with, all - with, translate(err, "count vectors of nodes")
}

const standingNodes = `
	SELECT n.seq, n.id FROM unnest($3::bigint[]) WITH ORDINALITY j (seq, place) JOIN graph_nodes n ON n.seq = j.seq
	WHERE n.scope = $4 AND ` + named + ` ORDER BY j.place`

// StandingNodes implements store.NodeVectorReader.
func (r reader) StandingNodes(ctx context.Context, q store.StandingQuery) ([]store.Standing, error) {
	seq, err := r.scopeSeq(ctx, q.Scope)
	if err != nil || len(q.Numbers) == 0 {
		return nil, err
	}
	return collect(ctx, r.in(q.Scope), "look nodes up", func(rows pgx.Rows) (v store.Standing, err error) {
		err = rows.Scan(&v.Number, &v.ID)
		return v, err
	}, standingNodes, texts(q.Statuses), ts(q.Now), q.Numbers, seq)
}

const (
	bareNodes   = `SELECT n.id, n.name, n.type, n.description, n.mentions, 0::float8 FROM graph_nodes n WHERE n.scope = $2 AND n.id > $3 AND NOT ` + hasNodeVector + ` ORDER BY n.id LIMIT $4`
	bareNodesOf = `
		SELECT DISTINCT n.id, n.name, n.type, n.description, n.mentions, 0::float8
		FROM memories m JOIN graph_mentions x ON x.memory = m.seq JOIN graph_nodes n ON n.seq = x.node
		WHERE m.id = ANY($5) AND m.scope = $2 AND n.id > $3 AND NOT ` + hasNodeVector + ` ORDER BY n.id LIMIT $4`
)

// WithoutNodeVector implements store.NodeVectorReader.
func (r reader) WithoutNodeVector(ctx context.Context, s oxbow.Scope, embedder string, memories []string, after string, limit int) ([]store.GraphNode, error) {
	seq, err := r.scopeSeq(ctx, s)
	if err != nil {
		return nil, err
	}
	if len(memories) == 0 {
		return collect(ctx, r.in(s), "look for nodes without a vector", scanNode, bareNodes, embedder, seq, after, limit)
	}
	return collect(ctx, r.in(s), "look for nodes without a vector", scanNode, bareNodesOf, embedder, seq, after, limit, memories)
}
