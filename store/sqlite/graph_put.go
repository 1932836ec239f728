package sqlite

import (
	"context"
	"database/sql"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

const (
	graphMemory = `
		SELECT seq FROM memories WHERE id = ? AND scope = ? AND content_version = ? AND status NOT IN ('erased', 'quarantined')`
	readGraph = `INSERT INTO graph_read (memory, grapher) VALUES (?, ?) ON CONFLICT (memory) DO UPDATE SET grapher = excluded.grapher`
)

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
	if _, err := t.q.exec(ctx, readGraph, memory, g.Grapher); err != nil || len(entities) == 0 {
		return err == nil, translate(err, "note that a memory was read")
	}
	d := &store.Drawing{Memory: memory, Entities: entities, Relations: relations}
	if err := t.namesFor(ctx, seq, d); err != nil {
		return false, err
	}
	if err := t.joinNodes(ctx, seq, d); err != nil {
		return false, err
	}
	if err := t.putMentions(ctx, d); err != nil {
		return false, err
	}
	if err := t.putEdges(ctx, seq, d); err != nil {
		return false, err
	}
	return true, t.renameNodes(ctx, seq, d.Nodes())
}

const (
	putAlias = `
		INSERT INTO graph_aliases (scope, node, name, norm, words, mentions) VALUES (?1, 0, ?2, ?2, ?3, 0) ON CONFLICT (scope, norm) DO NOTHING`
	putWords = `
		INSERT INTO graph_words (scope, term, alias)
		SELECT ?1, j.value, a.seq FROM json_each(?3) j CROSS JOIN graph_aliases a ON a.scope = ?1 AND a.norm = ?2 ON CONFLICT DO NOTHING`
	namesFor = `SELECT norm, seq, node FROM graph_aliases WHERE scope = ?1 AND norm IN (SELECT value FROM json_each(?2))`
)

// namesFor finds the names of a drawing, or makes those that nobody said before.
func (t *tx) namesFor(ctx context.Context, scope int64, d *store.Drawing) error {
	read := func() error {
		_, err := collect(ctx, t.q, "look for names", func(rows *sql.Rows) (struct{}, error) {
			var norm string
			var seq, node int64
			err := rows.Scan(&norm, &seq, &node)
			d.Know(norm, seq, node)
			return struct{}{}, err
		}, namesFor, scope, jsonList(d.Norms()))
		return err
	}
	if err := read(); err != nil {
		return err
	}
	fresh := d.Fresh()
	for _, n := range fresh {
		if _, err := t.q.exec(ctx, putAlias, scope, n.Norm, len(n.Terms)); err != nil {
			return translate(err, "store a name")
		}
		if _, err := t.q.exec(ctx, putWords, scope, n.Norm, jsonList(n.Terms)); err != nil {
			return translate(err, "store a name")
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	return read()
}

const (
	newNode    = `INSERT INTO graph_nodes (id, scope, name, norm, type, description, mentions) VALUES ('', ?, '', '', '', '', 0) RETURNING seq`
	countNodes = `
		UPDATE graph_nodes SET mentions = (SELECT count(DISTINCT memory) FROM graph_mentions x WHERE x.node = graph_nodes.seq)
		WHERE seq IN (SELECT value FROM json_each(?1))`
	largestNode = `SELECT seq FROM graph_nodes WHERE seq IN (SELECT value FROM json_each(?1)) ORDER BY mentions DESC, seq LIMIT 1`
)

// nodeMoves give names, and what rests on them, to the node ?1: the names ?2.
var nodeMoves = []string{
	`UPDATE graph_aliases SET node = ?1 WHERE seq IN (SELECT value FROM json_each(?2))`,
	`UPDATE graph_mentions SET node = ?1 WHERE alias IN (SELECT value FROM json_each(?2))`,
	`UPDATE graph_edges SET from_node = ?1 WHERE from_alias IN (SELECT value FROM json_each(?2))`,
	`UPDATE graph_edges SET to_node = ?1 WHERE to_alias IN (SELECT value FROM json_each(?2))`,
}

// joinNodes gives every entity of a drawing one node, and joins those that its
// names show to be one.
func (t *tx) joinNodes(ctx context.Context, scope int64, d *store.Drawing) error {
	for i := range d.Entities {
		nodes, fresh := d.NodesOf(i)
		var keep int64
		var err error
		switch len(nodes) {
		case 0:
			err = t.q.row(ctx, newNode, scope).Scan(&keep)
		case 1:
			keep = nodes[0]
		default:
			err = t.q.row(ctx, largestNode, jsonList(nodes)).Scan(&keep)
		}
		if err != nil {
			return translate(err, "store a node")
		}
		if len(fresh) > 0 {
			if _, err := t.q.exec(ctx, nodeMoves[0], keep, jsonList(fresh)); err != nil {
				return translate(err, "store a node")
			}
		}
		if len(nodes) > 1 {
			if err := t.mergeNodes(ctx, scope, keep, nodes); err != nil {
				return err
			}
		}
		d.Join(i, keep, nodes)
	}
	return nil
}

// mergeNodes moves all that others of some nodes have to one of them.
func (t *tx) mergeNodes(ctx context.Context, scope, keep int64, nodes []int64) error {
	for _, n := range nodes {
		if n == keep {
			continue
		}
		names, err := t.numbers(ctx, `SELECT seq FROM graph_aliases WHERE node = ?`, n)
		if err != nil {
			return err
		}
		if err := t.move(ctx, keep, names); err != nil {
			return err
		}
		if err := t.dropNodeVectors(ctx, scope, []int64{n}); err != nil {
			return err
		}
		if _, err := t.q.exec(ctx, `DELETE FROM graph_nodes WHERE seq = ?`, n); err != nil {
			return translate(err, "join two nodes")
		}
	}
	_, err := t.q.exec(ctx, countNodes, jsonList([]int64{keep}))
	return translate(err, "count a node's memories")
}

func (t *tx) move(ctx context.Context, node int64, names []int64) error {
	for _, query := range nodeMoves {
		if _, err := t.q.exec(ctx, query, node, jsonList(names)); err != nil {
			return translate(err, "move names to another node")
		}
	}
	return nil
}

func (t *tx) numbers(ctx context.Context, query string, args ...any) ([]int64, error) {
	return collect(ctx, t.q, "look at the graph", func(rows *sql.Rows) (n int64, err error) {
		err = rows.Scan(&n)
		return n, err
	}, query, args...)
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
	putMention = `
		INSERT INTO graph_mentions (alias, memory, node, at, name, type, description)
		SELECT ?1, ?2, ?3, m.said_at, ?4, ?5, ?6 FROM memories m WHERE m.seq = ?2`
	putSame      = `INSERT INTO graph_same (alias, other, memory, name) VALUES (?, ?, ?, ?)`
	countAliases = `
		UPDATE graph_aliases SET mentions = mentions + (SELECT count(*) FROM json_each(?1) j WHERE j.value = graph_aliases.seq)
		WHERE seq IN (SELECT value FROM json_each(?1))`
	countNewMention = `UPDATE graph_nodes SET mentions = mentions + 1 WHERE seq IN (SELECT value FROM json_each(?1))`
)

// putMentions lets the nodes of a drawing rest on its memory.
func (t *tx) putMentions(ctx context.Context, d *store.Drawing) error {
	var said []int64 // a name once for each time that it is given
	for _, e := range d.Entities {
		own := d.Alias(e.Names[0].Norm)
		said = append(said, own)
		if _, err := t.q.exec(ctx, putMention, own, d.Memory, d.Node(own), e.Names[0].Name, e.Type, e.Description); err != nil {
			return translate(err, "store what a memory names")
		}
		for _, other := range d.Others(e) {
			said = append(said, other.Alias)
			if _, err := t.q.exec(ctx, putSame, own, other.Alias, d.Memory, other.Name); err != nil {
				return translate(err, "store another name")
			}
		}
	}
	if _, err := t.q.exec(ctx, countAliases, jsonList(said)); err != nil {
		return translate(err, "count names")
	}
	_, err := t.q.exec(ctx, countNewMention, jsonList(d.Nodes()))
	return translate(err, "count nodes")
}

const (
	putEdge = `
		INSERT INTO graph_edges (scope, from_alias, to_alias, from_node, to_node, type, mentions) VALUES (?, ?, ?, ?, ?, ?, 0)
		ON CONFLICT (from_alias, to_alias, type) DO NOTHING`
	mentionEdge = `
		INSERT INTO graph_edge_mentions (edge, memory)
		SELECT seq, ?4 FROM graph_edges WHERE from_alias = ?1 AND to_alias = ?2 AND type = ?3`
	countEdge = `UPDATE graph_edges SET mentions = mentions + 1 WHERE from_alias = ? AND to_alias = ? AND type = ?`
)

// putEdges lets edges rest on a drawing's memory, each once.
func (t *tx) putEdges(ctx context.Context, scope int64, d *store.Drawing) error {
	for _, r := range d.Edges() {
		if _, err := t.q.exec(ctx, putEdge, scope, r.From, r.To, d.Node(r.From), d.Node(r.To), r.Type); err != nil {
			return translate(err, "store an edge")
		}
		if _, err := t.q.exec(ctx, mentionEdge, r.From, r.To, r.Type, d.Memory); err != nil {
			return translate(err, "store an edge")
		}
		if _, err := t.q.exec(ctx, countEdge, r.From, r.To, r.Type); err != nil {
			return translate(err, "store an edge")
		}
	}
	return nil
}

const (
	wordsOfNodes = `
		SELECT n.seq, n.id, n.name, n.type, n.description,
			CASE WHEN EXISTS (SELECT 1 FROM graph_aliases a WHERE a.scope = n.scope AND a.norm = 'user' AND a.node = n.seq) THEN 'user'
				ELSE coalesce((SELECT x.name FROM graph_mentions x INDEXED BY graph_mentions_first WHERE x.node = n.seq ORDER BY x.at, x.name LIMIT 1), '') END,
			coalesce((SELECT x.type FROM graph_mentions x INDEXED BY graph_mentions_typed WHERE x.node = n.seq AND x.type <> '' ORDER BY x.at, x.type LIMIT 1), ''),
			coalesce((SELECT x.description FROM graph_mentions x INDEXED BY graph_mentions_described WHERE x.node = n.seq AND x.description <> '' ORDER BY x.at DESC, x.description LIMIT 1), ''),
			s.tenant, s.name
		FROM json_each(?) j CROSS JOIN graph_nodes n ON n.seq = j.value CROSS JOIN scopes s ON s.seq = n.scope`
	renameNode = `UPDATE graph_nodes SET id = ?, name = ?, norm = ?, type = ?, description = ? WHERE seq = ?`
)

// renameNodes gives nodes the words that their memories say by now. Those whose
// name or description changes lose their vectors.
func (t *tx) renameNodes(ctx context.Context, scope int64, nodes []int64) error {
	if len(nodes) == 0 {
		return nil
	}
	found, err := collect(ctx, t.q, "look at nodes", func(rows *sql.Rows) (n store.NodeWords, err error) {
		err = rows.Scan(&n.Seq, &n.ID, &n.Had.Name, &n.Had.Type, &n.Had.Description, &n.Has.Name, &n.Has.Type, &n.Has.Description, &n.Scope.Tenant, &n.Scope.Name)
		return n, err
	}, wordsOfNodes, jsonList(nodes))
	if err != nil {
		return err
	}
	var reworded []int64
	for _, n := range found {
		if !n.Changed() {
			continue
		}
		if n.Reworded() {
			reworded = append(reworded, n.Seq)
		}
		norm := store.NormName(n.Has.Name)
		if _, err := t.q.exec(ctx, renameNode, store.NodeID(n.Scope, norm), n.Has.Name, norm, n.Has.Type, n.Has.Description, n.Seq); err != nil {
			return translate(err, "name a node")
		}
	}
	return t.dropNodeVectors(ctx, scope, reworded)
}

const (
	markGraph       = `UPDATE scopes SET graph_vectors = graph_vectors + 1 WHERE seq = ?`
	dropNodeVectors = `
		UPDATE graph_vectors SET mark = (SELECT graph_vectors FROM scopes WHERE seq = ?1), dimensions = 0, vector = x''
		WHERE node IN (SELECT value FROM json_each(?2)) AND dimensions > 0`
)

func (t *tx) dropNodeVectors(ctx context.Context, scope int64, nodes []int64) error {
	if len(nodes) == 0 {
		return nil
	}
	if _, err := t.q.exec(ctx, markGraph, scope); err != nil {
		return translate(err, "mark the scope")
	}
	_, err := t.q.exec(ctx, dropNodeVectors, scope, jsonList(nodes))
	return translate(err, "drop vectors of nodes")
}

const putNodeVector = `
	INSERT INTO graph_vectors (node, embedder, scope, mark, dimensions, vector)
	SELECT n.seq, ?1, ?2, s.graph_vectors, ?3, ?4 FROM graph_nodes n CROSS JOIN scopes s ON s.seq = n.scope
	WHERE n.id = ?5 AND n.scope = ?2 AND n.name = ?6 AND n.description = ?7
	ON CONFLICT (node, embedder) DO UPDATE SET scope = excluded.scope, mark = excluded.mark, dimensions = excluded.dimensions, vector = excluded.vector`

// PutNodeVectors implements store.NodeVectorWriter.
func (t *tx) PutNodeVectors(ctx context.Context, s oxbow.Scope, embedder string, vs []store.NodeVector) (int, error) {
	dimensions, err := store.CheckNodeVectors(vs)
	if err != nil || len(vs) == 0 {
		return 0, err
	}
	seq, err := t.knownScope(ctx, s)
	if err != nil {
		return 0, err
	}
	if _, err := t.q.exec(ctx, markGraph, seq); err != nil {
		return 0, translate(err, "mark the scope")
	}
	n := 0
	for _, v := range vs {
		res, err := t.q.exec(ctx, putNodeVector, embedder, seq, dimensions, store.PackVector(v.Values), v.Node.ID, v.Node.Name, v.Node.Description)
		if err != nil {
			return 0, translate(err, "store the vector of a node")
		}
		if k, err := res.RowsAffected(); err == nil && k == 1 {
			n++
		}
	}
	return n, nil
}

// numbered are the memories ?2 of the scope ?1.
const numbered = `(SELECT seq FROM memories WHERE id IN (SELECT value FROM json_each(?2)) AND scope = ?1)`

const (
	mentionedNodes = `SELECT DISTINCT node FROM graph_mentions WHERE memory IN ` + numbered
	joinedNodes    = `SELECT DISTINCT a.node FROM graph_same x CROSS JOIN graph_aliases a ON a.seq = x.alias WHERE x.memory IN ` + numbered
	unreadGraph    = `DELETE FROM graph_read WHERE memory IN ` + numbered
	unsaidNodes    = `SELECT seq FROM graph_nodes WHERE scope = ? AND mentions = 0`
)

// graphDrops take away what rests on memories, in this order; each counts down
// what had rested on them and then takes what nothing is left of.
var graphDrops = []string{
	`UPDATE graph_edges SET mentions = mentions - (SELECT count(*) FROM graph_edge_mentions x WHERE x.edge = graph_edges.seq AND x.memory IN ` + numbered + `)
		WHERE seq IN (SELECT edge FROM graph_edge_mentions WHERE memory IN ` + numbered + `)`,
	`DELETE FROM graph_edge_mentions WHERE memory IN ` + numbered,
	`DELETE FROM graph_edges WHERE scope = ?1 AND mentions = 0`,
	`UPDATE graph_aliases SET mentions = mentions
			- (SELECT count(*) FROM graph_mentions x WHERE x.alias = graph_aliases.seq AND x.memory IN ` + numbered + `)
			- (SELECT count(*) FROM graph_same x WHERE x.other = graph_aliases.seq AND x.memory IN ` + numbered + `)
		WHERE seq IN (SELECT alias FROM graph_mentions WHERE memory IN ` + numbered + ` UNION SELECT other FROM graph_same WHERE memory IN ` + numbered + `)`,
	`UPDATE graph_nodes SET mentions = mentions
			- (SELECT count(DISTINCT x.memory) FROM graph_mentions x WHERE x.node = graph_nodes.seq AND x.memory IN ` + numbered + `)
		WHERE seq IN (SELECT node FROM graph_mentions WHERE memory IN ` + numbered + `)`,
	`DELETE FROM graph_mentions WHERE memory IN ` + numbered,
	`DELETE FROM graph_same WHERE memory IN ` + numbered,
	`DELETE FROM graph_words WHERE alias IN (SELECT seq FROM graph_aliases WHERE scope = ?1 AND mentions = 0)`,
	`DELETE FROM graph_aliases WHERE scope = ?1 AND mentions = 0`,
}

// dropGraph takes what rests on memories alone out of the graph.
func (t *tx) dropGraph(ctx context.Context, scope int64, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	list := jsonList(ids)
	if _, err := t.q.exec(ctx, unreadGraph, scope, list); err != nil {
		return translate(err, "take a memory out of the graph")
	}
	nodes, err := t.numbers(ctx, mentionedNodes, scope, list)
	if err != nil || len(nodes) == 0 {
		return err
	}
	joined, err := t.numbers(ctx, joinedNodes, scope, list)
	if err != nil {
		return err
	}
	for _, query := range graphDrops {
		if _, err := t.q.exec(ctx, query, scope, list); err != nil {
			return translate(err, "take a memory out of the graph")
		}
	}
	gone, err := t.numbers(ctx, unsaidNodes, scope)
	if err != nil {
		return err
	}
	if err := t.dropNodeVectors(ctx, scope, gone); err != nil {
		return err
	}
	if _, err := t.q.exec(ctx, `DELETE FROM graph_nodes WHERE scope = ? AND mentions = 0`, scope); err != nil {
		return translate(err, "take a node out of the graph")
	}
	for _, n := range joined {
		parted, err := t.partNode(ctx, scope, n)
		if err != nil {
			return err
		}
		nodes = append(nodes, parted...)
	}
	return t.renameNodes(ctx, scope, nodes)
}

const (
	namesOfNode = `SELECT seq FROM graph_aliases WHERE node = ? ORDER BY mentions DESC, seq`
	sameInNode  = `SELECT DISTINCT alias, other FROM graph_same WHERE alias IN (SELECT seq FROM graph_aliases WHERE node = ?)`
)

// partNode makes nodes of their own of names that no memory joins any more, and
// gives those nodes.
func (t *tx) partNode(ctx context.Context, scope, node int64) ([]int64, error) {
	names, err := t.numbers(ctx, namesOfNode, node)
	if err != nil || len(names) < 2 {
		return nil, err
	}
	same, err := collect(ctx, t.q, "look at names", func(rows *sql.Rows) (p [2]int64, err error) {
		err = rows.Scan(&p[0], &p[1])
		return p, err
	}, sameInNode, node)
	if err != nil {
		return nil, err
	}
	var out []int64
	for _, part := range store.Parts(names, same)[1:] {
		var own int64
		if err := t.q.row(ctx, newNode, scope).Scan(&own); err != nil {
			return nil, translate(err, "part a node")
		}
		if err := t.move(ctx, own, part); err != nil {
			return nil, err
		}
		out = append(out, own)
	}
	if len(out) == 0 {
		return nil, nil
	}
	_, err = t.q.exec(ctx, countNodes, jsonList(append(out, node)))
	return out, translate(err, "count a node's memories")
}
