package sqlite

import (
	"context"
	"database/sql"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// named tells whether a memory names the node n that may be shown.
const named = `EXISTS (SELECT 1 FROM (SELECT memory FROM graph_mentions WHERE node = n.seq ORDER BY memory DESC LIMIT 500) x
	CROSS JOIN memories m ON m.seq = x.memory WHERE ` + standing + `)`

// described is the latest description that a memory gives which may be shown: what
// was replaced is not said by way of a name.
const described = `coalesce((SELECT x.description
	FROM (SELECT memory, at, description FROM graph_mentions WHERE node = n.seq AND description <> '' ORDER BY at DESC, description LIMIT 500) x
	CROSS JOIN memories m ON m.seq = x.memory WHERE ` + standing + ` ORDER BY x.at DESC, x.description LIMIT 1), '')`

// matchNodes looks at the newest names of each word only: one that stands in
// more is no name to go by.
const matchNodes = `
	SELECT n.id, n.name, n.type, n.description, n.mentions, max(h.share)
	FROM (
		SELECT a.node, count(*) * 1.0 / a.words AS share, count(*) AS hits
		FROM json_each(?4) q CROSS JOIN graph_aliases a
			ON a.seq IN (SELECT w.alias FROM graph_words w WHERE w.scope = ?3 AND w.term = q.value ORDER BY w.alias DESC LIMIT 500)
		GROUP BY a.seq HAVING count(*) * 2 >= a.words
		UNION ALL
		SELECT node, 1.0, words + 1 FROM graph_aliases WHERE scope = ?3 AND norm = ?5) h
	CROSS JOIN graph_nodes n ON n.seq = h.node
	WHERE ` + named + `
	GROUP BY n.seq ORDER BY max(h.share) DESC, max(h.hits) DESC, n.mentions DESC, n.id LIMIT ?6`

// MatchNodes implements store.GraphReader.
func (r reader) MatchNodes(ctx context.Context, q store.NodeQuery) ([]store.GraphNode, error) {
	seq, err := r.scopeSeq(ctx, q.Scope)
	if err != nil || q.Limit < 1 {
		return nil, err
	}
	terms, norm := store.WordsOf(q.Words)
	return collect(ctx, r.q, "look for nodes", scanNode, matchNodes, jsonList(q.Statuses), q.Now.UnixMilli(), seq, jsonList(terms), norm, q.Limit)
}

func scanNode(rows *sql.Rows) (n store.GraphNode, err error) {
	err = rows.Scan(&n.ID, &n.Name, &n.Type, &n.Description, &n.Mentions, &n.Share)
	return n, err
}

// walk is one query: the ways of up to ?5 hops, the best way to each node, the
// memories of the best ?8 nodes, and whether a bound was met.
const walk = `
	WITH RECURSIVE walk (node, hops, weight, trail, seen, path) AS (
		SELECT n.seq, 0, 1.0, n.name, ',' || n.seq || ',', json_array(json_object('node', n.name))
		FROM json_each(?4) j CROSS JOIN graph_nodes n ON n.id = j.value WHERE n.scope = ?3
		UNION ALL
		SELECT o.seq, w.hops + 1, w.weight * e.mentions / (e.mentions + 1.0), w.trail || ' ' || e.type || ' ' || o.name,
			w.seen || o.seq || ',', json_insert(w.path, '$[#]', json_object('node', o.name, 'relation', e.type, 'back', e.to_node = w.node))
		FROM walk w
		CROSS JOIN graph_edges e ON e.seq IN (
			SELECT f.seq FROM (
				SELECT * FROM (SELECT seq, mentions FROM graph_edges WHERE from_node = w.node ORDER BY mentions DESC, seq DESC LIMIT ?7)
				UNION ALL
				SELECT * FROM (SELECT seq, mentions FROM graph_edges WHERE to_node = w.node ORDER BY mentions DESC, seq DESC LIMIT ?7)) f
			WHERE EXISTS (SELECT 1 FROM graph_edge_mentions x CROSS JOIN memories m ON m.seq = x.memory WHERE x.edge = f.seq AND ` + standing + `)
			ORDER BY f.mentions DESC, f.seq DESC LIMIT ?6)
		CROSS JOIN graph_nodes o ON o.seq = CASE WHEN e.from_node = w.node THEN e.to_node ELSE e.from_node END
		WHERE w.hops < ?5 AND instr(w.seen, ',' || o.seq || ',') = 0 AND o.id <> ?11),
	ways AS (SELECT *, row_number() OVER (PARTITION BY node ORDER BY hops, weight DESC, trail) AS place FROM walk),
	nodes AS (SELECT * FROM ways WHERE place = 1 ORDER BY hops, weight DESC, trail LIMIT ?8),
	found AS (
		SELECT m.id, m.seq AS number, n.hops, n.weight, n.path,
			row_number() OVER (PARTITION BY m.seq ORDER BY n.hops, n.weight DESC, n.trail) AS place
		FROM nodes n CROSS JOIN memories m
			ON m.seq IN (SELECT memory FROM graph_mentions WHERE node = n.node ORDER BY memory DESC LIMIT ?9)
		WHERE ` + standing + `),
	cut (yes) AS (
		SELECT (SELECT count(*) FROM ways WHERE place = 1) > ?8
			OR EXISTS (SELECT 1 FROM ways w WHERE w.place = 1 AND w.hops < ?5 AND
				(SELECT count(*) FROM (SELECT 1 FROM graph_edges WHERE from_node = w.node LIMIT ?7 + 1)) +
				(SELECT count(*) FROM (SELECT 1 FROM graph_edges WHERE to_node = w.node LIMIT ?7 + 1)) > ?6)
			OR EXISTS (SELECT 1 FROM nodes n WHERE (SELECT count(*) FROM (SELECT 1 FROM graph_mentions WHERE node = n.node LIMIT ?9 + 1)) > ?9))
	SELECT c.yes, f.id, f.hops, f.weight, f.path FROM cut c LEFT JOIN found f ON f.place = 1
	ORDER BY f.hops, f.weight DESC, f.number DESC LIMIT ?10`

// Walk implements store.GraphReader.
func (r reader) Walk(ctx context.Context, q store.WalkQuery) (store.Walked, error) {
	var out store.Walked
	seq, err := r.scopeSeq(ctx, q.Scope)
	if err != nil || len(q.From) == 0 {
		return out, err
	}
	q = q.Bounded()
	_, err = collect(ctx, r.q, "walk the graph", func(rows *sql.Rows) (struct{}, error) {
		var id, path sql.NullString
		var hops sql.NullInt64
		var weight sql.NullFloat64
		if err := rows.Scan(&out.Cut, &id, &hops, &weight, &path); err != nil || !id.Valid {
			return struct{}{}, err
		}
		way, err := store.ReadPath(path.String)
		out.Hits = append(out.Hits, store.Reached{ID: id.String, Hops: int(hops.Int64), Weight: weight.Float64, Path: way})
		return struct{}{}, err
	}, walk, jsonList(q.Statuses), q.Now.UnixMilli(), seq, jsonList(store.Sorted(q.From)), q.Hops, q.FanOut, q.Look(),
		store.WalkNodes, store.WalkMemories, q.Limit+1, q.Avoid)
	if len(out.Hits) > q.Limit {
		out.Hits, out.Cut = out.Hits[:q.Limit], true
	}
	return out, err
}

const countGraph = `
	SELECT (SELECT count(*) FROM graph_nodes WHERE scope = ?1),
		(SELECT count(*) FROM (SELECT DISTINCT from_node, to_node, type FROM graph_edges WHERE scope = ?1 AND from_node <> to_node))`

// CountGraph implements store.GraphReader.
func (r reader) CountGraph(ctx context.Context, s oxbow.Scope) (nodes, edges int, err error) {
	seq, err := r.scopeSeq(ctx, s)
	if err != nil {
		return 0, 0, err
	}
	err = r.q.row(ctx, countGraph, seq).Scan(&nodes, &edges)
	return nodes, edges, translate(err, "count the graph")
}

const (
	nodeCalled = `
		SELECT n.id, n.name, n.type, ` + described + `, n.mentions, 0.0 FROM graph_aliases a CROSS JOIN graph_nodes n ON n.seq = a.node
		WHERE a.scope = ?3 AND a.norm = ?4 AND ` + named
	aliasesOf = `
		SELECT a.norm FROM graph_nodes n CROSS JOIN graph_aliases a ON a.node = n.seq
		WHERE n.scope = ?1 AND n.id = ?2 AND a.norm <> n.norm ORDER BY a.norm LIMIT ?3`
)

// NodeCalled implements store.GraphReader.
func (r reader) NodeCalled(ctx context.Context, q store.NodeQuery) (store.GraphNode, error) {
	seq, err := r.scopeSeq(ctx, q.Scope)
	if err != nil {
		return store.GraphNode{}, err
	}
	found, err := collect(ctx, r.q, "look for a node", scanNode, nodeCalled, jsonList(q.Statuses), q.Now.UnixMilli(), seq, store.NormName(q.Words))
	if err != nil || len(found) == 0 {
		return store.GraphNode{}, store.NoNode(q, err)
	}
	n := found[0]
	n.Aliases, err = collect(ctx, r.q, "look for names", func(rows *sql.Rows) (s string, err error) {
		err = rows.Scan(&s)
		return s, err
	}, aliasesOf, seq, n.ID, store.NodeMemories)
	return n, err
}

const listNodes = `
	SELECT n.id, n.name, n.type, ` + described + `, n.mentions, 0.0 FROM graph_nodes n
	WHERE n.scope = ?3 AND (?4 = '' OR EXISTS (SELECT 1 FROM graph_aliases a WHERE a.node = n.seq AND instr(a.norm, ?4) > 0))
		AND ` + named + ` ORDER BY n.mentions DESC, n.id LIMIT ?5`

// ListNodes implements store.GraphReader.
func (r reader) ListNodes(ctx context.Context, q store.NodeQuery) ([]store.GraphNode, error) {
	seq, err := r.scopeSeq(ctx, q.Scope)
	if err != nil || q.Limit < 1 {
		return nil, err
	}
	return collect(ctx, r.q, "list nodes", scanNode, listNodes, jsonList(q.Statuses), q.Now.UnixMilli(), seq, store.NormName(q.Words), q.Limit)
}

const edgesAround = `
	SELECT DISTINCT e.seq, f.id, f.name, e.type, o.id, o.name, e.mentions,
		(SELECT json_group_array(id) FROM (SELECT m.id FROM graph_edge_mentions x CROSS JOIN memories m ON m.seq = x.memory
			WHERE x.edge = e.seq AND ` + standing + ` ORDER BY m.seq DESC LIMIT ?6)) AS said
	FROM json_each(?4) j CROSS JOIN graph_nodes n ON n.id = j.value
		CROSS JOIN graph_edges e ON e.seq IN (
			SELECT seq FROM (SELECT seq FROM graph_edges WHERE from_node = n.seq ORDER BY mentions DESC, seq DESC LIMIT ?5)
			UNION ALL
			SELECT seq FROM (SELECT seq FROM graph_edges WHERE to_node = n.seq ORDER BY mentions DESC, seq DESC LIMIT ?5))
		CROSS JOIN graph_nodes f ON f.seq = e.from_node CROSS JOIN graph_nodes o ON o.seq = e.to_node
	WHERE n.scope = ?3 AND e.from_node <> e.to_node ORDER BY e.mentions DESC, e.seq`

// EdgesOf implements store.GraphReader.
func (r reader) EdgesOf(ctx context.Context, q store.EdgeQuery) ([]store.GraphEdge, bool, error) {
	seq, err := r.scopeSeq(ctx, q.Scope)
	if err != nil || q.Limit < 1 || len(q.Nodes) == 0 {
		return nil, false, err
	}
	all, err := collect(ctx, r.q, "look for edges", func(rows *sql.Rows) (e store.GraphEdge, err error) {
		var seq int64
		var said string
		if err = rows.Scan(&seq, &e.From.ID, &e.From.Name, &e.Type, &e.To.ID, &e.To.Name, &e.Mentions, &said); err == nil {
			e.Memories, err = store.ReadIDs(said)
		}
		return e, err
	}, edgesAround, jsonList(q.Statuses), q.Now.UnixMilli(), seq, jsonList(q.Nodes), q.Limit+1, store.EdgeMemories)
	edges, cut := store.CutEdges(all, q.Limit)
	return edges, cut, err
}

const withoutGraph = selectMemory + `
	WHERE m.scope = ?2 AND m.id > ?3 AND ` + embeddable + ` AND NOT EXISTS (SELECT 1 FROM graph_read g WHERE g.memory = m.seq AND g.grapher IN (?1, '` + store.GraphImported + `'))
	ORDER BY m.id LIMIT ?4`

// WithoutGraph implements store.GraphReader.
func (r reader) WithoutGraph(ctx context.Context, s oxbow.Scope, grapher, after string, limit int) ([]oxbow.Memory, error) {
	seq, err := r.scopeSeq(ctx, s)
	if err != nil {
		return nil, err
	}
	return collect(ctx, r.q, "look for memories without a graph", scanMemory, withoutGraph, grapher, seq, after, limit)
}

const nodeVectorMark = `SELECT graph_vectors FROM scopes WHERE tenant = ? AND name = ?`

// NodeVectorMark implements store.NodeVectorReader.
func (r reader) NodeVectorMark(ctx context.Context, s oxbow.Scope) (int64, error) {
	var mark int64
	err := r.q.row(ctx, nodeVectorMark, s.Tenant, s.Name).Scan(&mark)
	if err != nil && err != sql.ErrNoRows {
		return 0, translate(err, "look for new vectors")
	}
	return mark, nil
}

const nodeVectorsSince = `
	SELECT mark, node, dimensions, vector FROM graph_vectors
	WHERE scope = ? AND embedder = ? AND (mark, node) > (?, ?) ORDER BY mark, node LIMIT ?`

// NodeVectorsSince implements store.NodeVectorReader.
func (r reader) NodeVectorsSince(ctx context.Context, s oxbow.Scope, embedder string, after store.VectorPlace, limit int) ([]store.PlacedVector, error) {
	seq, err := r.scopeSeq(ctx, s)
	if err != nil {
		return nil, err
	}
	return collect(ctx, r.q, "read vectors of nodes", func(rows *sql.Rows) (p store.PlacedVector, err error) {
		p.Values, err = scanVector(rows, &p.Mark, &p.Number)
		return p, err
	}, nodeVectorsSince, seq, embedder, after.Mark, after.Number, limit)
}

const (
	hasNodeVector    = `EXISTS (SELECT 1 FROM graph_vectors v WHERE v.node = n.seq AND v.embedder = ?1 AND v.dimensions > 0)`
	countNodeVectors = `SELECT coalesce(sum(` + hasNodeVector + `), 0), count(*) FROM graph_nodes n WHERE n.scope = ?2`
)

// CountNodeVectors implements store.NodeVectorReader.
func (r reader) CountNodeVectors(ctx context.Context, s oxbow.Scope, embedder string) (with, without int, err error) {
	seq, err := r.scopeSeq(ctx, s)
	if err != nil {
		return 0, 0, err
	}
	var all int
	err = r.q.row(ctx, countNodeVectors, embedder, seq).Scan(&with, &all)
	return with, all - with, translate(err, "count vectors of nodes")
}

const standingNodes = `
	SELECT n.seq, n.id FROM json_each(?3) j CROSS JOIN graph_nodes n ON n.seq = j.value
	WHERE n.scope = ?4 AND ` + named + ` ORDER BY j.key`

// StandingNodes implements store.NodeVectorReader.
func (r reader) StandingNodes(ctx context.Context, q store.StandingQuery) ([]store.Standing, error) {
	seq, err := r.scopeSeq(ctx, q.Scope)
	if err != nil || len(q.Numbers) == 0 {
		return nil, err
	}
	return collect(ctx, r.q, "look nodes up", func(rows *sql.Rows) (v store.Standing, err error) {
		err = rows.Scan(&v.Number, &v.ID)
		return v, err
	}, standingNodes, jsonList(q.Statuses), q.Now.UnixMilli(), jsonList(q.Numbers), seq)
}

const (
	bareNodes   = `SELECT n.id, n.name, n.type, n.description, n.mentions, 0.0 FROM graph_nodes n WHERE n.scope = ?2 AND n.id > ?3 AND NOT ` + hasNodeVector + ` ORDER BY n.id LIMIT ?4`
	bareNodesOf = `
		SELECT DISTINCT n.id, n.name, n.type, n.description, n.mentions, 0.0
		FROM json_each(?5) j CROSS JOIN memories m ON m.id = j.value CROSS JOIN graph_mentions x ON x.memory = m.seq
			CROSS JOIN graph_nodes n ON n.seq = x.node
		WHERE m.scope = ?2 AND n.id > ?3 AND NOT ` + hasNodeVector + ` ORDER BY n.id LIMIT ?4`
)

// WithoutNodeVector implements store.NodeVectorReader.
func (r reader) WithoutNodeVector(ctx context.Context, s oxbow.Scope, embedder string, memories []string, after string, limit int) ([]store.GraphNode, error) {
	seq, err := r.scopeSeq(ctx, s)
	if err != nil {
		return nil, err
	}
	if len(memories) == 0 {
		return collect(ctx, r.q, "look for nodes without a vector", scanNode, bareNodes, embedder, seq, after, limit)
	}
	return collect(ctx, r.q, "look for nodes without a vector", scanNode, bareNodesOf, embedder, seq, after, limit, jsonList(memories))
}
