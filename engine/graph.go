package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// The bounds of what is shown of the graph.
const (
	graphShown     = 64 // edges of the node that is asked about, and memories
	graphBeyond    = 64 // edges of its neighbours
	graphNeighbour = 32 // neighbours that are looked beyond
)

// GraphQuery asks what is known around a name.
type GraphQuery struct {
	Scope oxbow.Scope
	Name  string // of the node, or another name of it; I and me are the user
	Hops  int    // 1 or 2; 0 is 1
}

// GraphView is a node, how it relates to others, and the memories that say so,
// of which each can be asked why.
type GraphView struct {
	Node      store.GraphNode   `json:"node"`
	Relations []store.GraphEdge `json:"relations"`
	Memories  []GraphMemory     `json:"memories"`
	Cut       bool              `json:"cut"` // there is more than is shown
}

// GraphMemory is a memory that the graph rests on.
type GraphMemory struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// Graph gives what is known around a name, as far as active memories say it.
// Errors: not_found when nothing is called so, invalid for hops out of range.
func (e *Engine) Graph(ctx context.Context, q GraphQuery) (GraphView, error) {
	if q.Hops == 0 {
		q.Hops = 1
	}
	if q.Hops < 1 || q.Hops > 2 {
		return GraphView{}, oxbow.Errorf(oxbow.CodeInvalid, "%d hops cannot be shown: use 1 or 2", q.Hops)
	}
	nq := store.NodeQuery{Scope: q.Scope, Words: self(q.Name), Statuses: []oxbow.Status{oxbow.Active}, Now: e.now(), Limit: 1}
	n, err := e.st.NodeCalled(ctx, nq)
	if err != nil {
		return GraphView{}, err
	}
	v := GraphView{Node: n}
	eq := store.EdgeQuery{Scope: q.Scope, Nodes: []string{n.ID}, Statuses: nq.Statuses, Now: nq.Now, Limit: graphShown}
	if v.Relations, v.Cut, err = e.st.EdgesOf(ctx, eq); err != nil {
		return GraphView{}, err
	}
	if q.Hops == 2 {
		if err := e.beyond(ctx, eq, &v); err != nil {
			return GraphView{}, err
		}
	}
	w, err := e.st.Walk(ctx, store.WalkQuery{Scope: q.Scope, From: []string{n.ID}, Statuses: nq.Statuses, Now: nq.Now, Limit: graphShown})
	if err != nil {
		return GraphView{}, err
	}
	v.Cut = v.Cut || w.Cut
	return v, e.graphMemories(ctx, q.Scope.Tenant, &v, w)
}

// self gives the name by which a node is known, of one by which a person speaks.
func self(name string) string {
	switch strings.ToLower(strings.TrimSpace(name)) {
	case "i", "me", "my", "myself", "the user":
		return store.UserNode
	}
	return name
}

// beyond adds how the neighbours of a node relate. The user, to whom everything is
// related, is no neighbour to look beyond.
func (e *Engine) beyond(ctx context.Context, q store.EdgeQuery, v *GraphView) error {
	user := store.NodeID(q.Scope, store.UserNode)
	var near []string
	for _, r := range v.Relations {
		for _, id := range []string{r.From.ID, r.To.ID} {
			if id != v.Node.ID && id != user && !slices.Contains(near, id) {
				near = append(near, id)
			}
		}
	}
	v.Cut = v.Cut || len(near) > graphNeighbour
	q.Nodes, q.Limit = near[:min(len(near), graphNeighbour)], graphBeyond
	more, cut, err := e.st.EdgesOf(ctx, q)
	v.Cut = v.Cut || cut
	for _, r := range more {
		if r.From.ID != v.Node.ID && r.To.ID != v.Node.ID {
			v.Relations = append(v.Relations, r)
		}
	}
	return err
}

// graphMemories reads the memories that name the node or say one of the relations.
func (e *Engine) graphMemories(ctx context.Context, tenant string, v *GraphView, w store.Walked) error {
	var ids []string
	add := func(id string) {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	for _, h := range w.Hits {
		add(h.ID)
	}
	for _, r := range v.Relations {
		for _, id := range r.Memories {
			add(id)
		}
	}
	v.Memories = []GraphMemory{}
	if v.Relations == nil {
		v.Relations = []store.GraphEdge{}
	}
	if len(ids) == 0 {
		return nil
	}
	ms, err := e.st.Memories(ctx, tenant, ids)
	for _, m := range ms {
		v.Memories = append(v.Memories, GraphMemory{ID: m.ID, Text: m.Content.Text})
	}
	return err
}

// GraphNodes lists the nodes of a scope in one of whose names some words stand, all
// of them for none: the most often mentioned first, at most limit, 1 to 1000; 0 is
// 50. Only those that an active memory names.
func (e *Engine) GraphNodes(ctx context.Context, s oxbow.Scope, words string, limit int) ([]store.GraphNode, error) {
	if limit == 0 {
		limit = 50
	}
	if limit < 1 || limit > 1000 {
		return nil, oxbow.Errorf(oxbow.CodeInvalid, "%d nodes cannot be listed: use a number from 1 to 1000", limit)
	}
	return e.st.ListNodes(ctx, store.NodeQuery{Scope: s, Words: words, Statuses: []oxbow.Status{oxbow.Active}, Now: e.now(), Limit: limit})
}
