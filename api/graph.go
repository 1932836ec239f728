package api

import (
	"context"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/store"
)

type graphInput struct {
	Scope string `query:"scope" required:"true" doc:"such as user:ada"`
	Name  string `query:"name" required:"true" minLength:"1" maxLength:"800" doc:"a name, in any case, or another name of the same thing; me is the user"`
	Hops  int    `query:"hops" minimum:"1" maximum:"2" default:"1" doc:"how far to look"`
}

type nodesInput struct {
	Scope string `query:"scope" required:"true" doc:"such as user:ada"`
	Words string `query:"words" maxLength:"800" doc:"words that stand in a name; none lists all"`
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"50"`
}

// nodes are what memories name.
type nodes struct {
	Nodes []store.GraphNode `json:"nodes" doc:"the most often mentioned first"`
}

func (a *API) graph() {
	route(a, op{"GET", "/v1/graph", "get-graph", "graph", "What is known around a name: its relations and the memories that say so", oxbow.MayRead, 0}, getGraph)
	route(a, op{"GET", "/v1/graph/nodes", "list-graph-nodes", "graph", "What memories name", oxbow.MayRead, 0}, listNodes)
}

func getGraph(ctx context.Context, c call, in *graphInput) (engine.GraphView, error) {
	return c.e.Graph(ctx, engine.GraphQuery{Scope: c.scope(in.Scope), Name: in.Name, Hops: in.Hops})
}

func listNodes(ctx context.Context, c call, in *nodesInput) (nodes, error) {
	ns, err := c.e.GraphNodes(ctx, c.scope(in.Scope), in.Words, in.Limit)
	if ns == nil {
		ns = []store.GraphNode{}
	}
	return nodes{ns}, err
}
