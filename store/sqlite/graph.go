package sqlite

import (
	"context"
	"database/sql"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// matchNodes looks at the newest names of each word only: one that stands in
// more is no name to go by.
const matchNodes = `
	SELECT n.id, n.name, n.type, n.description, n.mentions, max(h.share)
	FROM (
		SELECT a.node, count(*) * 1.0 / a.words AS share, count(*) AS hits
		FROM json_each(?2) q CROSS JOIN graph_aliases a
			ON a.seq IN (SELECT w.alias FROM graph_words w WHERE w.scope = ?1 AND w.term = q.value ORDER BY w.alias DESC LIMIT 500)
		GROUP BY a.seq HAVING count(*) * 2 >= a.words
		UNION ALL
		SELECT node, 1.0, words + 1 FROM graph_aliases WHERE scope = ?1 AND norm = ?3) h
	CROSS JOIN graph_nodes n ON n.seq = h.node
	GROUP BY n.seq ORDER BY max(h.share) DESC, max(h.hits) DESC, n.mentions DESC, n.id LIMIT ?4`

// MatchNodes implements store.GraphReader.
func (r reader) MatchNodes(ctx context.Context, s oxbow.Scope, words string, limit int) ([]store.GraphNode, error) {
	seq, err := r.scopeSeq(ctx, s)
	if err != nil || limit < 1 {
		return nil, err
	}
	terms, norm := store.WordsOf(words)
	return collect(ctx, r.q, "look for nodes", func(rows *sql.Rows) (n store.GraphNode, err error) {
		err = rows.Scan(&n.ID, &n.Name, &n.Type, &n.Description, &n.Mentions, &n.Share)
		return n, err
	}, matchNodes, seq, jsonList(terms), norm, limit)
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
		WHERE w.hops < ?5 AND instr(w.seen, ',' || o.seq || ',') = 0),
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
		store.WalkNodes, store.WalkMemories, q.Limit+1)
	if len(out.Hits) > q.Limit {
		out.Hits, out.Cut = out.Hits[:q.Limit], true
	}
	return out, err
}

const countGraph = `SELECT (SELECT count(*) FROM graph_nodes WHERE scope = ?1), (SELECT count(*) FROM graph_edges WHERE scope = ?1)`

// CountGraph implements store.GraphReader.
func (r reader) CountGraph(ctx context.Context, s oxbow.Scope) (nodes, edges int, err error) {
	seq, err := r.scopeSeq(ctx, s)
	if err != nil {
		return 0, 0, err
	}
	err = r.q.row(ctx, countGraph, seq).Scan(&nodes, &edges)
	return nodes, edges, translate(err, "count the graph")
}

const graphMemory = `
	SELECT seq FROM memories WHERE id = ? AND scope = ? AND content_version = ? AND status NOT IN ('erased', 'quarantined')`

// PutGraph implements store.GraphWriter.
func (t *tx) PutGraph(ctx context.Context, s oxbow.Scope, g store.GraphPart) (bool, error) {
	entities, relations, err := store.CleanGraph(g)
	if err != nil {
		return false, err
	}
	seq, err := t.knownScope(ctx, s)
	if err != nil {
		return false, err
	}
	var memory int64
	err = t.q.row(ctx, graphMemory, g.Memory, seq, g.ContentVersion).Scan(&memory)
	if err == sql.ErrNoRows {
		return false, nil
	}
	if err != nil {
		return false, translate(err, "look the memory up")
	}
	if err := t.dropGraph(ctx, seq, []string{g.Memory}); err != nil {
		return false, err
	}
	nodes := map[string]int64{} // by the norm of the entity's own name
	for _, e := range entities {
		node, err := t.putNode(ctx, s, seq, memory, g.Memory, e)
		if err != nil {
			return false, err
		}
		nodes[e.Names[0].Norm] = node
	}
	for _, r := range relations {
		if err := t.putEdge(ctx, seq, memory, nodes[r.From], nodes[r.To], r.Type); err != nil {
			return false, err
		}
	}
	return true, nil
}

const (
	nodeByName = `
		SELECT a.node FROM json_each(?2) j CROSS JOIN graph_aliases a ON a.scope = ?1 AND a.norm = j.value
		ORDER BY j.key > 0, a.node LIMIT 1`
	newNode = `
		INSERT INTO graph_nodes (id, scope, name, norm, type, description, mentions) VALUES (?, ?, ?, ?, ?, ?, 0)
		ON CONFLICT DO NOTHING RETURNING seq`
	putMention = `
		INSERT INTO graph_mentions (node, memory, name, norm, type, description) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`
	mentionNode = `
		UPDATE graph_nodes SET mentions = mentions + 1, type = CASE WHEN type = '' THEN ?2 ELSE type END,
			description = CASE WHEN ?3 = '' THEN description ELSE ?3 END
		WHERE seq = ?1`
	putAlias = `
		INSERT INTO graph_aliases (scope, node, name, norm, words, mentions) VALUES (?, ?, ?, ?, ?, 0) ON CONFLICT (scope, norm) DO NOTHING`
	mentionAlias = `
		INSERT INTO graph_alias_mentions (alias, memory)
		SELECT seq, ?4 FROM graph_aliases WHERE scope = ?1 AND norm = ?2 AND node = ?3 ON CONFLICT DO NOTHING`
	countAlias = `UPDATE graph_aliases SET mentions = mentions + 1 WHERE scope = ? AND norm = ?`
	putWords   = `
		INSERT INTO graph_words (scope, term, alias)
		SELECT ?1, j.value, a.seq FROM json_each(?3) j CROSS JOIN graph_aliases a ON a.scope = ?1 AND a.norm = ?2 ON CONFLICT DO NOTHING`
)

// putNode finds or makes the node of an entity and lets it rest on a memory.
func (t *tx) putNode(ctx context.Context, s oxbow.Scope, scope, memory int64, id string, e store.CleanEntity) (int64, error) {
	var norms []string
	for _, n := range e.Names {
		norms = append(norms, n.Norm)
	}
	own := e.Names[0]
	var node int64
	err := t.q.row(ctx, nodeByName, scope, jsonList(norms)).Scan(&node)
	for _, nodeID := range []string{store.NodeID(s, own.Norm), store.NodeID(s, own.Norm, id)} {
		if err == sql.ErrNoRows {
			err = t.q.row(ctx, newNode, nodeID, scope, own.Name, own.Norm, e.Type, e.Description).Scan(&node)
		}
	}
	if err != nil {
		return 0, translate(err, "store a node")
	}
	first, err := t.did(ctx, "store a node", putMention, node, memory, own.Name, own.Norm, e.Type, e.Description)
	if err == nil && first {
		_, err = t.q.exec(ctx, mentionNode, node, e.Type, e.Description)
	}
	if err != nil {
		return 0, translate(err, "store a node")
	}
	for _, n := range e.Names {
		made, err := t.did(ctx, "store a name", putAlias, scope, node, n.Name, n.Norm, len(n.Terms))
		if err == nil && made {
			_, err = t.q.exec(ctx, putWords, scope, n.Norm, jsonList(n.Terms))
		}
		if err != nil {
			return 0, translate(err, "store a name")
		}
		if first, err = t.did(ctx, "store a name", mentionAlias, scope, n.Norm, node, memory); err == nil && first {
			_, err = t.q.exec(ctx, countAlias, scope, n.Norm)
		}
		if err != nil {
			return 0, translate(err, "store a name")
		}
	}
	return node, nil
}

// did runs a statement and tells whether it did anything.
func (t *tx) did(ctx context.Context, doing, query string, args ...any) (bool, error) {
	res, err := t.q.exec(ctx, query, args...)
	if err != nil {
		return false, translate(err, doing)
	}
	n, err := res.RowsAffected()
	return n > 0, err
}

const (
	putEdge = `
		INSERT INTO graph_edges (scope, from_node, to_node, type, mentions) VALUES (?, ?, ?, ?, 0)
		ON CONFLICT (from_node, to_node, type) DO NOTHING`
	mentionEdge = `
		INSERT INTO graph_edge_mentions (edge, memory)
		SELECT seq, ?4 FROM graph_edges WHERE from_node = ?1 AND to_node = ?2 AND type = ?3 ON CONFLICT DO NOTHING`
	countEdge = `UPDATE graph_edges SET mentions = mentions + 1 WHERE from_node = ? AND to_node = ? AND type = ?`
)

func (t *tx) putEdge(ctx context.Context, scope, memory, from, to int64, kind string) error {
	if from == to { // two names of one thing
		return nil
	}
	if _, err := t.q.exec(ctx, putEdge, scope, from, to, kind); err != nil {
		return translate(err, "store an edge")
	}
	first, err := t.did(ctx, "store an edge", mentionEdge, from, to, kind, memory)
	if err == nil && first {
		_, err = t.q.exec(ctx, countEdge, from, to, kind)
	}
	return translate(err, "store an edge")
}

// numbered are the memories ?2 of the scope ?1.
const numbered = `(SELECT seq FROM memories WHERE id IN (SELECT value FROM json_each(?2)) AND scope = ?1)`

const mentionedNodes = `SELECT DISTINCT node FROM graph_mentions WHERE memory IN ` + numbered

// graphDrops take away what rests on memories, in this order; each counts down
// what had rested on them and then takes what nothing is left of.
var graphDrops = []string{
	`UPDATE graph_edges SET mentions = mentions - (SELECT count(*) FROM graph_edge_mentions x WHERE x.edge = graph_edges.seq AND x.memory IN ` + numbered + `)
		WHERE seq IN (SELECT edge FROM graph_edge_mentions WHERE memory IN ` + numbered + `)`,
	`DELETE FROM graph_edge_mentions WHERE memory IN ` + numbered,
	`DELETE FROM graph_edges WHERE scope = ?1 AND mentions = 0`,
	`UPDATE graph_aliases SET mentions = mentions - (SELECT count(*) FROM graph_alias_mentions x WHERE x.alias = graph_aliases.seq AND x.memory IN ` + numbered + `)
		WHERE seq IN (SELECT alias FROM graph_alias_mentions WHERE memory IN ` + numbered + `)`,
	`DELETE FROM graph_alias_mentions WHERE memory IN ` + numbered,
	`DELETE FROM graph_words WHERE alias IN (SELECT seq FROM graph_aliases WHERE scope = ?1 AND mentions = 0)`,
	`DELETE FROM graph_aliases WHERE scope = ?1 AND mentions = 0`,
	`UPDATE graph_nodes SET mentions = mentions - (SELECT count(*) FROM graph_mentions x WHERE x.node = graph_nodes.seq AND x.memory IN ` + numbered + `)
		WHERE seq IN (SELECT node FROM graph_mentions WHERE memory IN ` + numbered + `)`,
	`DELETE FROM graph_mentions WHERE memory IN ` + numbered,
	`DELETE FROM graph_nodes WHERE scope = ?1 AND mentions = 0`,
}

// renameNodes gives nodes the words of the memories that are left.
const renameNodes = `
	UPDATE graph_nodes SET
		(name, norm) = (SELECT x.name, x.norm FROM graph_mentions x WHERE x.node = graph_nodes.seq ORDER BY x.memory LIMIT 1),
		type = coalesce((SELECT x.type FROM graph_mentions x WHERE x.node = graph_nodes.seq AND x.type <> '' ORDER BY x.memory LIMIT 1), ''),
		description = coalesce((SELECT x.description FROM graph_mentions x
			WHERE x.node = graph_nodes.seq AND x.description <> '' ORDER BY x.memory DESC LIMIT 1), '')
	WHERE seq IN (SELECT value FROM json_each(?))`

// dropGraph takes what rests on memories alone out of the graph.
func (t *tx) dropGraph(ctx context.Context, scope int64, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	list := jsonList(ids)
	nodes, err := collect(ctx, t.q, "look at the graph", func(rows *sql.Rows) (n int64, err error) {
		err = rows.Scan(&n)
		return n, err
	}, mentionedNodes, scope, list)
	if err != nil || len(nodes) == 0 {
		return err
	}
	for _, query := range graphDrops {
		if _, err := t.q.exec(ctx, query, scope, list); err != nil {
			return translate(err, "take a memory out of the graph")
		}
	}
	_, err = t.q.exec(ctx, renameNodes, jsonList(nodes))
	return translate(err, "take a memory out of the graph")
}
