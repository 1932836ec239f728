package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// matchNodes looks at the newest names of each word only: one that stands in
// more is no name to go by.
const matchNodes = `
	SELECT n.id, n.name, n.type, n.description, n.mentions, max(h.share)
	FROM (
		SELECT a.node, count(*)::float8 / a.words AS share, count(*) AS hits
		FROM unnest($2::bigint[]) q (term)
			CROSS JOIN LATERAL (SELECT w.alias FROM graph_words w WHERE w.scope = $1 AND w.term = q.term ORDER BY w.alias DESC LIMIT 500) w
			JOIN graph_aliases a ON a.seq = w.alias
		GROUP BY a.seq HAVING count(*) * 2 >= a.words
		UNION ALL
		SELECT node, 1.0, words + 1 FROM graph_aliases WHERE scope = $1 AND norm = $3) h
	JOIN graph_nodes n ON n.seq = h.node
	GROUP BY n.seq ORDER BY max(h.share) DESC, max(h.hits) DESC, n.mentions DESC, n.id LIMIT $4`

// MatchNodes implements store.GraphReader.
func (r reader) MatchNodes(ctx context.Context, s oxbow.Scope, words string, limit int) ([]store.GraphNode, error) {
	seq, err := r.scopeSeq(ctx, s)
	if err != nil || limit < 1 {
		return nil, err
	}
	terms, norm := store.WordsOf(words)
	return collect(ctx, r.in(s), "look for nodes", func(rows pgx.Rows) (n store.GraphNode, err error) {
		err = rows.Scan(&n.ID, &n.Name, &n.Type, &n.Description, &n.Mentions, &n.Share)
		return n, err
	}, matchNodes, seq, terms, norm, limit)
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
		WHERE w.hops < $5 AND o.seq <> ALL (w.seen)),
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
	}, walk, texts(q.Statuses), ts(q.Now), seq, q.From, q.Hops, q.FanOut, q.Look(), store.WalkNodes, store.WalkMemories, q.Limit+1)
	if len(out.Hits) > q.Limit {
		out.Hits, out.Cut = out.Hits[:q.Limit], true
	}
	return out, err
}

const countGraph = `SELECT (SELECT count(*) FROM graph_nodes WHERE scope = $1), (SELECT count(*) FROM graph_edges WHERE scope = $1)`

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
	holdScope   = `SELECT FROM scopes WHERE seq = $1 FOR NO KEY UPDATE`
	graphMemory = `
		SELECT seq FROM memories WHERE id = $1 AND scope = $2 AND content_version = $3 AND status NOT IN ('erased', 'quarantined')`
)

// PutGraph implements store.GraphWriter. The scope is held, so that what is
// edited meanwhile is seen and nobody else makes the same node.
func (t *tx) PutGraph(ctx context.Context, s oxbow.Scope, g store.GraphPart) (bool, error) {
	entities, relations, err := store.CleanGraph(g)
	if err != nil {
		return false, err
	}
	seq, err := t.knownScope(ctx, s)
	if err != nil {
		return false, err
	}
	t.write("hold the scope", holdScope, seq)
	var memory int64
	err = t.pipe.QueryRow(ctx, graphMemory, g.Memory, seq, g.ContentVersion).Scan(&memory)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, translate(err, "look the memory up")
	}
	if err := t.dropGraph(ctx, seq, []string{g.Memory}); err != nil {
		return false, err
	}
	known, err := t.nodesByName(ctx, seq, entities)
	if err != nil {
		return false, err
	}
	nodes := map[string]int64{} // by the norm of the entity's own name
	for _, e := range entities {
		if nodes[e.Names[0].Norm], err = t.putNode(ctx, s, seq, memory, g.Memory, e, known); err != nil {
			return false, err
		}
	}
	for _, r := range relations {
		if from, to := nodes[r.From], nodes[r.To]; from != to { // else two names of one thing
			t.write("store an edge", putEdge, seq, from, to, r.Type)
			t.write("store an edge", mentionEdge, from, to, r.Type, memory)
		}
	}
	return true, nil
}

const (
	nodesByName = `SELECT norm, node FROM graph_aliases WHERE scope = $1 AND norm = ANY($2)`
	newNode     = `
		INSERT INTO graph_nodes (id, scope, name, norm, type, description, mentions) VALUES ($1, $2, $3, $4, $5, $6, 0)
		ON CONFLICT DO NOTHING RETURNING seq`
	putMention = `
		WITH put AS (
			INSERT INTO graph_mentions (node, memory, name, norm, type, description) VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT DO NOTHING RETURNING node)
		UPDATE graph_nodes SET mentions = mentions + 1, type = CASE WHEN type = '' THEN $5 ELSE type END,
			description = CASE WHEN $6 = '' THEN description ELSE $6 END
		WHERE seq IN (SELECT node FROM put)`
	putAlias = `
		INSERT INTO graph_aliases (scope, node, name, norm, words, mentions) VALUES ($1, $2, $3, $4, $5, 0) ON CONFLICT (scope, norm) DO NOTHING`
	mentionAlias = `
		WITH put AS (
			INSERT INTO graph_alias_mentions (alias, memory)
			SELECT seq, $4 FROM graph_aliases WHERE scope = $1 AND norm = $2 AND node = $3 ON CONFLICT DO NOTHING RETURNING alias)
		UPDATE graph_aliases SET mentions = mentions + 1 WHERE seq IN (SELECT alias FROM put)`
	putWords = `
		INSERT INTO graph_words (scope, term, alias)
		SELECT $1, u.term, a.seq FROM unnest($3::bigint[]) u (term), graph_aliases a WHERE a.scope = $1 AND a.norm = $2 ON CONFLICT DO NOTHING`
)

// nodesByName gives the nodes that have the names of entities.
func (t *tx) nodesByName(ctx context.Context, scope int64, entities []store.CleanEntity) (map[string]int64, error) {
	var norms []string
	for _, e := range entities {
		for _, n := range e.Names {
			norms = append(norms, n.Norm)
		}
	}
	out := map[string]int64{}
	_, err := collect(ctx, t.pipe, "look for nodes", func(rows pgx.Rows) (struct{}, error) {
		var norm string
		var node int64
		err := rows.Scan(&norm, &node)
		out[norm] = node
		return struct{}{}, err
	}, nodesByName, scope, norms)
	return out, err
}

// putNode finds or makes the node of an entity and lets it rest on a memory.
func (t *tx) putNode(ctx context.Context, s oxbow.Scope, scope, memory int64, id string, e store.CleanEntity, known map[string]int64) (int64, error) {
	own := e.Names[0]
	node := known[own.Norm]
	for _, n := range e.Names {
		if k := known[n.Norm]; k != 0 && known[own.Norm] == 0 && (node == 0 || k < node) {
			node = k
		}
	}
	err := error(nil)
	if node == 0 {
		err = pgx.ErrNoRows
	}
	for _, nodeID := range []string{store.NodeID(s, own.Norm), store.NodeID(s, own.Norm, id)} {
		if errors.Is(err, pgx.ErrNoRows) {
			err = t.pipe.QueryRow(ctx, newNode, nodeID, scope, own.Name, own.Norm, e.Type, e.Description).Scan(&node)
		}
	}
	if err != nil {
		return 0, translate(err, "store a node")
	}
	t.write("store a node", putMention, node, memory, own.Name, own.Norm, e.Type, e.Description)
	for _, n := range e.Names {
		if known[n.Norm] == 0 {
			known[n.Norm] = node
		}
		t.write("store a name", putAlias, scope, node, n.Name, n.Norm, len(n.Terms))
		t.write("store a name", putWords, scope, n.Norm, n.Terms)
		t.write("store a name", mentionAlias, scope, n.Norm, node, memory)
	}
	return node, nil
}

const (
	putEdge = `
		INSERT INTO graph_edges (scope, from_node, to_node, type, mentions) VALUES ($1, $2, $3, $4, 0)
		ON CONFLICT (from_node, to_node, type) DO NOTHING`
	mentionEdge = `
		WITH put AS (
			INSERT INTO graph_edge_mentions (edge, memory)
			SELECT seq, $4 FROM graph_edges WHERE from_node = $1 AND to_node = $2 AND type = $3 ON CONFLICT DO NOTHING RETURNING edge)
		UPDATE graph_edges SET mentions = mentions + 1 WHERE seq IN (SELECT edge FROM put)`
)

// numbered are the memories $2 of the scope $1.
const numbered = `(SELECT seq FROM memories WHERE id = ANY($2) AND scope = $1)`

const mentionedNodes = `SELECT DISTINCT node FROM graph_mentions WHERE memory IN ` + numbered

// graphDrops take away what rests on memories, in this order; each counts down
// what had rested on them and then takes what nothing is left of.
var graphDrops = []string{
	`UPDATE graph_edges SET mentions = mentions - (SELECT count(*) FROM graph_edge_mentions x WHERE x.edge = graph_edges.seq AND x.memory IN ` + numbered + `)
		WHERE seq IN (SELECT edge FROM graph_edge_mentions WHERE memory IN ` + numbered + `)`,
	`DELETE FROM graph_edge_mentions WHERE memory IN ` + numbered,
	`DELETE FROM graph_edges WHERE scope = $1 AND mentions = 0 AND $2::text[] IS NOT NULL`,
	`UPDATE graph_aliases SET mentions = mentions - (SELECT count(*) FROM graph_alias_mentions x WHERE x.alias = graph_aliases.seq AND x.memory IN ` + numbered + `)
		WHERE seq IN (SELECT alias FROM graph_alias_mentions WHERE memory IN ` + numbered + `)`,
	`DELETE FROM graph_alias_mentions WHERE memory IN ` + numbered,
	`DELETE FROM graph_words WHERE alias IN (SELECT seq FROM graph_aliases WHERE scope = $1 AND mentions = 0 AND $2::text[] IS NOT NULL)`,
	`DELETE FROM graph_aliases WHERE scope = $1 AND mentions = 0 AND $2::text[] IS NOT NULL`,
	`UPDATE graph_nodes SET mentions = mentions - (SELECT count(*) FROM graph_mentions x WHERE x.node = graph_nodes.seq AND x.memory IN ` + numbered + `)
		WHERE seq IN (SELECT node FROM graph_mentions WHERE memory IN ` + numbered + `)`,
	`DELETE FROM graph_mentions WHERE memory IN ` + numbered,
	`DELETE FROM graph_nodes WHERE scope = $1 AND mentions = 0 AND $2::text[] IS NOT NULL`,
}

// renameNodes gives nodes the words of the memories that are left.
const renameNodes = `
	UPDATE graph_nodes SET
		(name, norm) = (SELECT x.name, x.norm FROM graph_mentions x WHERE x.node = graph_nodes.seq ORDER BY x.memory LIMIT 1),
		type = coalesce((SELECT x.type FROM graph_mentions x WHERE x.node = graph_nodes.seq AND x.type <> '' ORDER BY x.memory LIMIT 1), ''),
		description = coalesce((SELECT x.description FROM graph_mentions x
			WHERE x.node = graph_nodes.seq AND x.description <> '' ORDER BY x.memory DESC LIMIT 1), '')
	WHERE seq IN (SELECT unnest($1::bigint[]))`

// dropGraph takes what rests on memories alone out of the graph.
func (t *tx) dropGraph(ctx context.Context, scope int64, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	nodes, err := collect(ctx, t.pipe, "look at the graph", func(rows pgx.Rows) (n int64, err error) {
		err = rows.Scan(&n)
		return n, err
	}, mentionedNodes, scope, ids)
	if err != nil || len(nodes) == 0 {
		return err
	}
	for _, query := range graphDrops {
		t.write("take a memory out of the graph", query, scope, ids)
	}
	t.write("take a memory out of the graph", renameNodes, nodes)
	return nil
}
