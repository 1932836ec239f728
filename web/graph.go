package web

import (
	"context"
	"net/url"
	"slices"

	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/store"
)

// namesShown is how many names the page of the graph lists.
const namesShown = 200

type graphData struct {
	Scope, Words, Name string
	Scopes             choice
	Nodes              []store.GraphNode // the list, when no name is asked about
	Most               int               // of them; as many may not be all
	View               engine.GraphView
	Drawing            graph
	Texts              map[string]string // of memories, by id
}

// named shows what memories name: a list of names, or one of them with its
// relations, as a drawing and as a table, each with the memories that say it.
func (c *Console) named(ctx context.Context, a ask) (any, error) {
	q := a.URL.Query()
	d := graphData{Scope: a.value("scope"), Words: a.value("q"), Name: q.Get("name"), Most: namesShown, Texts: map[string]string{}}
	var err error
	if d.Scopes, err = a.choice(ctx, "scope", ""); err != nil {
		return nil, err
	}
	if d.Scope == "" && len(d.Scopes.Names) > 0 {
		d.Scope = d.Scopes.Names[0]
		d.Scopes = d.Scopes.as("scope", d.Scope)
	}
	if d.Name == "" {
		d.Nodes, err = a.e.GraphNodes(ctx, a.scope(d.Scope), d.Words, namesShown)
		return d, err
	}
	if d.View, err = a.e.Graph(ctx, engine.GraphQuery{Scope: a.scope(d.Scope), Name: d.Name}); err != nil {
		return nil, err
	}
	for _, m := range d.View.Memories {
		d.Texts[m.ID] = m.Text
	}
	d.Drawing = drawingOf(d.View, func(name string) string { return "graph?" + url.Values{"scope": {d.Scope}, "name": {name}}.Encode() })
	return d, nil
}

// drawingOf puts a node in the middle, what relates to it on the left and what it
// relates to on the right. A neighbour on one side is drawn once, with the first
// relation; the table has them all.
func drawingOf(v engine.GraphView, link func(name string) string) graph {
	var left, right []node
	var words []edge
	for _, r := range v.Relations {
		side, end := &right, r.To
		if r.To.ID == v.Node.ID {
			side, end = &left, r.From
		}
		if !slices.ContainsFunc(*side, func(n node) bool { return n.ID == end.Name }) {
			*side = append(*side, node{ID: end.Name, Text: end.Name, Label: r.Type})
		}
	}
	if len(left)+len(right) == 0 {
		return graph{}
	}
	g := graph{Width: 3*nodeWidth + 2*columnGap, About: "what it relates to; the table says the same", More: max(0, len(left)-mostNodes) + max(0, len(right)-mostNodes)}
	left, right = left[:min(len(left), mostNodes)], right[:min(len(right), mostNodes)]
	g.Height = max(len(left), len(right), 1)*(nodeHeight+nodeGap) + nodeGap
	at, middle := nodeWidth+columnGap, g.Height/2-nodeHeight/2
	g.Nodes = append(g.Nodes, node{X: at, Y: middle, ID: v.Node.Name, Link: link(v.Node.Name), Text: v.Node.Name, Here: true})
	for i, side := range [][]node{left, right} {
		top := (g.Height - len(side)*(nodeHeight+nodeGap) + nodeGap) / 2
		for k, n := range side {
			n.X, n.Y = 2*i*(nodeWidth+columnGap), top+k*(nodeHeight+nodeGap)
			words = append(words, edge{X1: n.X + (1-i)*nodeWidth, Y1: n.Y + nodeHeight/2, X2: at + i*nodeWidth, Y2: middle + nodeHeight/2, Label: n.Label})
			n.Label, n.Link = "", link(n.ID)
			g.Nodes = append(g.Nodes, n)
		}
	}
	g.Edges = words
	return g.trimmed(len(left), len(right))
}
