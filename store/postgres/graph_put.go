package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

const (
	holdScope   = `SELECT FROM scopes WHERE seq = $1 FOR NO KEY UPDATE`
	graphMemory = `
		SELECT seq FROM memories WHERE id = $1 AND scope = $2 AND content_version = $3 AND status NOT IN ('erased', 'quarantined')`
	readGraph = `INSERT INTO graph_read (memory, grapher) VALUES ($1, $2) ON CONFLICT (memory) DO UPDATE SET grapher = excluded.grapher`
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
	t.write("note that a memory was read", readGraph, memory, g.Grapher)
	if len(entities) == 0 {
		return true, nil
	}
	d := &store.Drawing{Memory: memory, Entities: entities, Relations: relations}
	if err := t.namesFor(ctx, seq, d); err != nil {
		return false, err
	}
	if err := t.joinNodes(ctx, seq, d); err != nil {
		return false, err
	}
	t.putMentions(d)
	t.putEdges(seq, d)
	return true, t.renameNodes(ctx, seq, d.Nodes())
}

const (
	putAlias = `
		INSERT INTO graph_aliases (scope, node, name, norm, words, mentions) VALUES ($1, 0, $2, $2, $3, 0) ON CONFLICT (scope, norm) DO NOTHING`
	putWords = `
		INSERT INTO graph_words (scope, term, alias)
		SELECT $1, u.term, a.seq FROM unnest($3::bigint[]) u (term), graph_aliases a WHERE a.scope = $1 AND a.norm = $2 ON CONFLICT DO NOTHING`
	namesFor = `SELECT norm, seq, node FROM graph_aliases WHERE scope = $1 AND norm = ANY($2)`
)

// namesFor finds the names of a drawing, or makes those that nobody said before.
func (t *tx) namesFor(ctx context.Context, scope int64, d *store.Drawing) error {
	read := func() error {
		_, err := collect(ctx, t.pipe, "look for names", func(rows pgx.Rows) (struct{}, error) {
			var norm string
			var seq, node int64
			err := rows.Scan(&norm, &seq, &node)
			d.Know(norm, seq, node)
			return struct{}{}, err
		}, namesFor, scope, d.Norms())
		return err
	}
	if err := read(); err != nil {
		return err
	}
	fresh := d.Fresh()
	for _, n := range fresh {
		t.write("store a name", putAlias, scope, n.Norm, len(n.Terms))
		t.write("store a name", putWords, scope, n.Norm, n.Terms)
	}
	if len(fresh) == 0 {
		return nil
	}
	return read()
}

const (
	newNode    = `INSERT INTO graph_nodes (id, scope, name, norm, type, description, mentions) VALUES ('', $1, '', '', '', '', 0) RETURNING seq`
	countNodes = `
		UPDATE graph_nodes SET mentions = (SELECT count(DISTINCT memory) FROM graph_mentions x WHERE x.node = graph_nodes.seq)
		WHERE seq = ANY($1)`
	largestNode = `SELECT seq FROM graph_nodes WHERE seq = ANY($1) ORDER BY mentions DESC, seq LIMIT 1`
)

// nodeMoves give names, and what rests on them, to the node $1: the names $2.
var nodeMoves = []string{
	`UPDATE graph_aliases SET node = $1 WHERE seq = ANY($2)`,
	`UPDATE graph_mentions SET node = $1 WHERE alias = ANY($2)`,
	`UPDATE graph_edges SET from_node = $1 WHERE from_alias = ANY($2)`,
	`UPDATE graph_edges SET to_node = $1 WHERE to_alias = ANY($2)`,
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
			err = t.pipe.QueryRow(ctx, newNode, scope).Scan(&keep)
		case 1:
			keep = nodes[0]
		default:
			err = t.pipe.QueryRow(ctx, largestNode, nodes).Scan(&keep)
		}
		if err != nil {
			return translate(err, "store a node")
		}
		if len(fresh) > 0 {
			t.write("store a node", nodeMoves[0], keep, fresh)
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
		names, err := t.numbers(ctx, `SELECT seq FROM graph_aliases WHERE node = $1`, n)
		if err != nil {
			return err
		}
		t.move(keep, names)
		t.dropNodeVectors(scope, []int64{n})
		t.write("join two nodes", `DELETE FROM graph_nodes WHERE seq = $1`, n)
	}
	t.write("count a node's memories", countNodes, []int64{keep})
	return nil
}

func (t *tx) move(node int64, names []int64) {
	for _, query := range nodeMoves {
		t.write("move names to another node", query, node, names)
	}
}

func (t *tx) numbers(ctx context.Context, query string, args ...any) ([]int64, error) {
	return collect(ctx, t.pipe, "look at the graph", func(rows pgx.Rows) (n int64, err error) {
		err = rows.Scan(&n)
		return n, err
	}, query, args...)
}

const (
	putMention = `
		INSERT INTO graph_mentions (alias, memory, node, at, name, type, description)
		SELECT $1, $2, $3, m.said_at, $4, $5, $6 FROM memories m WHERE m.seq = $2`
	putSame      = `INSERT INTO graph_same (alias, other, memory, name) VALUES ($1, $2, $3, $4)`
	countAliases = `
		UPDATE graph_aliases SET mentions = mentions + (SELECT count(*) FROM unnest($1::bigint[]) j (value) WHERE j.value = graph_aliases.seq)
		WHERE seq = ANY($1)`
	countNewMention = `UPDATE graph_nodes SET mentions = mentions + 1 WHERE seq = ANY($1)`
)

// putMentions lets the nodes of a drawing rest on its memory.
func (t *tx) putMentions(d *store.Drawing) {
	var said []int64 // a name once for each time that it is given
	for _, e := range d.Entities {
		own := d.Alias(e.Names[0].Norm)
		said = append(said, own)
		t.write("store what a memory names", putMention, own, d.Memory, d.Node(own), e.Names[0].Name, e.Type, e.Description)
		for _, other := range d.Others(e) {
			said = append(said, other.Alias)
			t.write("store another name", putSame, own, other.Alias, d.Memory, other.Name)
		}
	}
	t.write("count names", countAliases, said)
	t.write("count nodes", countNewMention, d.Nodes())
}

const (
	putEdge = `
		INSERT INTO graph_edges (scope, from_alias, to_alias, from_node, to_node, type, mentions) VALUES ($1, $2, $3, $4, $5, $6, 0)
		ON CONFLICT (from_alias, to_alias, type) DO NOTHING`
	mentionEdge = `
		INSERT INTO graph_edge_mentions (edge, memory)
		SELECT seq, $4 FROM graph_edges WHERE from_alias = $1 AND to_alias = $2 AND type = $3`
	countEdge = `UPDATE graph_edges SET mentions = mentions + 1 WHERE from_alias = $1 AND to_alias = $2 AND type = $3`
)

// putEdges lets edges rest on a drawing's memory, each once.
func (t *tx) putEdges(scope int64, d *store.Drawing) {
	for _, r := range d.Edges() {
		t.write("store an edge", putEdge, scope, r.From, r.To, d.Node(r.From), d.Node(r.To), r.Type)
		t.write("store an edge", mentionEdge, r.From, r.To, r.Type, d.Memory)
		t.write("store an edge", countEdge, r.From, r.To, r.Type)
	}
}

const (
	wordsOfNodes = `
		SELECT n.seq, n.id, n.name, n.type, n.description,
			CASE WHEN EXISTS (SELECT FROM graph_aliases a WHERE a.scope = n.scope AND a.norm = 'user' AND a.node = n.seq) THEN 'user'
				ELSE coalesce((SELECT x.name FROM graph_mentions x WHERE x.node = n.seq ORDER BY x.at, x.name LIMIT 1), '') END,
			coalesce((SELECT x.type FROM graph_mentions x WHERE x.node = n.seq AND x.type <> '' ORDER BY x.at, x.type LIMIT 1), ''),
			coalesce((SELECT x.description FROM graph_mentions x WHERE x.node = n.seq AND x.description <> '' ORDER BY x.at DESC, x.description LIMIT 1), ''),
			s.tenant, s.name
		FROM graph_nodes n JOIN scopes s ON s.seq = n.scope WHERE n.seq = ANY($1)`
	renameNode = `UPDATE graph_nodes SET id = $1, name = $2, norm = $3, type = $4, description = $5 WHERE seq = $6`
)

// renameNodes gives nodes the words that their memories say by now. Those whose
// name or description changes lose their vectors.
func (t *tx) renameNodes(ctx context.Context, scope int64, nodes []int64) error {
	if len(nodes) == 0 {
		return nil
	}
	found, err := collect(ctx, t.pipe, "look at nodes", func(rows pgx.Rows) (n store.NodeWords, err error) {
		err = rows.Scan(&n.Seq, &n.ID, &n.Had.Name, &n.Had.Type, &n.Had.Description, &n.Has.Name, &n.Has.Type, &n.Has.Description, &n.Scope.Tenant, &n.Scope.Name)
		return n, err
	}, wordsOfNodes, nodes)
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
		t.write("name a node", renameNode, store.NodeID(n.Scope, norm), n.Has.Name, norm, n.Has.Type, n.Has.Description, n.Seq)
	}
	t.dropNodeVectors(scope, reworded)
	return nil
}

const (
	markGraph       = `UPDATE scopes SET graph_vectors = graph_vectors + 1 WHERE seq = $1`
	dropNodeVectors = `
		UPDATE graph_vectors SET mark = (SELECT graph_vectors FROM scopes WHERE seq = $1), dimensions = 0, vector = ''
		WHERE node = ANY($2) AND dimensions > 0`
)

func (t *tx) dropNodeVectors(scope int64, nodes []int64) {
	if len(nodes) == 0 {
		return
	}
	t.write("mark the scope", markGraph, scope)
	t.write("drop vectors of nodes", dropNodeVectors, scope, nodes)
}

const putNodeVectors = `
	INSERT INTO graph_vectors (node, embedder, scope, mark, dimensions, vector)
	SELECT n.seq, $1, $2, s.graph_vectors, $3, u.vector
	FROM unnest($4::text[], $5::text[], $6::text[], $7::bytea[]) u (id, name, description, vector)
		JOIN graph_nodes n ON n.id = u.id JOIN scopes s ON s.seq = n.scope
	WHERE n.scope = $2 AND n.name = u.name AND n.description = u.description
	ORDER BY n.seq
	ON CONFLICT (node, embedder) DO UPDATE SET scope = excluded.scope, mark = excluded.mark, dimensions = excluded.dimensions, vector = excluded.vector`

// PutNodeVectors implements store.NodeVectorWriter. Marking the scope locks it.
func (t *tx) PutNodeVectors(ctx context.Context, s oxbow.Scope, embedder string, vs []store.NodeVector) (int, error) {
	dimensions, err := store.CheckNodeVectors(vs)
	if err != nil || len(vs) == 0 {
		return 0, err
	}
	seq, err := t.knownScope(ctx, s)
	if err != nil {
		return 0, err
	}
	var ids, names, descriptions []string
	var packed [][]byte
	for _, v := range vs {
		ids, names, descriptions = append(ids, v.Node.ID), append(names, v.Node.Name), append(descriptions, v.Node.Description)
		packed = append(packed, store.PackVector(v.Values))
	}
	n := 0
	b := &batch{}
	b.exec("mark the scope", markGraph, seq)
	b.count("store vectors of nodes", &n, putNodeVectors, embedder, seq, dimensions, ids, names, descriptions, packed)
	err = t.send(ctx, b, "store vectors of nodes")
	return n, err
}

// numbered are the memories $2 of the scope $1.
const numbered = `(SELECT seq FROM memories WHERE id = ANY($2) AND scope = $1)`

const (
	mentionedNodes = `SELECT DISTINCT node FROM graph_mentions WHERE memory IN ` + numbered
	joinedNodes    = `SELECT DISTINCT a.node FROM graph_same x JOIN graph_aliases a ON a.seq = x.alias WHERE x.memory IN ` + numbered
	unreadGraph    = `DELETE FROM graph_read WHERE memory IN ` + numbered
	unsaidNodes    = `SELECT seq FROM graph_nodes WHERE scope = $1 AND mentions = 0`
)

// graphDrops take away what rests on memories, in this order; each counts down
// what had rested on them and then takes what nothing is left of.
var graphDrops = []string{
	`UPDATE graph_edges SET mentions = mentions - (SELECT count(*) FROM graph_edge_mentions x WHERE x.edge = graph_edges.seq AND x.memory IN ` + numbered + `)
		WHERE seq IN (SELECT edge FROM graph_edge_mentions WHERE memory IN ` + numbered + `)`,
	`DELETE FROM graph_edge_mentions WHERE memory IN ` + numbered,
	`DELETE FROM graph_edges WHERE scope = $1 AND mentions = 0 AND $2::text[] IS NOT NULL`,
	`UPDATE graph_aliases SET mentions = mentions
			- (SELECT count(*) FROM graph_mentions x WHERE x.alias = graph_aliases.seq AND x.memory IN ` + numbered + `)
			- (SELECT count(*) FROM graph_same x WHERE x.other = graph_aliases.seq AND x.memory IN ` + numbered + `)
		WHERE seq IN (SELECT alias FROM graph_mentions WHERE memory IN ` + numbered + ` UNION SELECT other FROM graph_same WHERE memory IN ` + numbered + `)`,
	`UPDATE graph_nodes SET mentions = mentions
			- (SELECT count(DISTINCT x.memory) FROM graph_mentions x WHERE x.node = graph_nodes.seq AND x.memory IN ` + numbered + `)
		WHERE seq IN (SELECT node FROM graph_mentions WHERE memory IN ` + numbered + `)`,
	`DELETE FROM graph_mentions WHERE memory IN ` + numbered,
	`DELETE FROM graph_same WHERE memory IN ` + numbered,
	`DELETE FROM graph_words WHERE alias IN (SELECT seq FROM graph_aliases WHERE scope = $1 AND mentions = 0 AND $2::text[] IS NOT NULL)`,
	`DELETE FROM graph_aliases WHERE scope = $1 AND mentions = 0 AND $2::text[] IS NOT NULL`,
}

// dropGraph takes what rests on memories alone out of the graph.
func (t *tx) dropGraph(ctx context.Context, scope int64, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	t.write("take a memory out of the graph", unreadGraph, scope, ids)
	nodes, err := t.numbers(ctx, mentionedNodes, scope, ids)
	if err != nil || len(nodes) == 0 {
		return err
	}
	joined, err := t.numbers(ctx, joinedNodes, scope, ids)
	if err != nil {
		return err
	}
	for _, query := range graphDrops {
		t.write("take a memory out of the graph", query, scope, ids)
	}
	gone, err := t.numbers(ctx, unsaidNodes, scope)
	if err != nil {
		return err
	}
	t.dropNodeVectors(scope, gone)
	t.write("take a node out of the graph", `DELETE FROM graph_nodes WHERE scope = $1 AND mentions = 0`, scope)
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
	namesOfNode = `SELECT seq FROM graph_aliases WHERE node = $1 ORDER BY mentions DESC, seq`
	sameInNode  = `SELECT DISTINCT alias, other FROM graph_same WHERE alias IN (SELECT seq FROM graph_aliases WHERE node = $1)`
)

// partNode makes nodes of their own of names that no memory joins any more, and
// gives those nodes.
func (t *tx) partNode(ctx context.Context, scope, node int64) ([]int64, error) {
	names, err := t.numbers(ctx, namesOfNode, node)
	if err != nil || len(names) < 2 {
		return nil, err
	}
	same, err := collect(ctx, t.pipe, "look at names", func(rows pgx.Rows) (p [2]int64, err error) {
		err = rows.Scan(&p[0], &p[1])
		return p, err
	}, sameInNode, node)
	if err != nil {
		return nil, err
	}
	var out []int64
	for _, part := range store.Parts(names, same)[1:] {
		var own int64
		if err := t.pipe.QueryRow(ctx, newNode, scope).Scan(&own); err != nil {
			return nil, translate(err, "part a node")
		}
		t.move(own, part)
		out = append(out, own)
	}
	if len(out) == 0 {
		return nil, nil
	}
	t.write("count a node's memories", countNodes, append(out, node))
	return out, nil
}
