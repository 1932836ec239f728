package store

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/oxbow-memory/oxbow"
)

// Drawing is a part on its way into the graph: what CleanGraph gives, and the
// numbers under which a database knows its names and their nodes. Both databases
// put a part by it, so that they join and part nodes alike.
type Drawing struct {
	Memory    int64
	Entities  []CleanEntity
	Relations []GraphRelation

	names map[string]int64 // the number of a name, by norm
	nodes map[int64]int64  // the node of a name, by number; 0 while it has none
}

// DrawnEdge is a relation between the numbers of names.
type DrawnEdge struct {
	From int64
	Type string
	To   int64
}

// Know notes under which number a name is known, and its node.
func (d *Drawing) Know(norm string, name, node int64) {
	if d.names == nil {
		d.names, d.nodes = map[string]int64{}, map[int64]int64{}
	}
	d.names[norm], d.nodes[name] = name, node
}

// Norms gives every name of the drawing once.
func (d *Drawing) Norms() []string {
	var out []string
	for _, e := range d.Entities {
		for _, n := range e.Names {
			out = append(out, n.Norm)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Fresh gives the names that are not known yet, each once, in order.
func (d *Drawing) Fresh() []Name {
	var out []Name
	for _, e := range d.Entities {
		for _, n := range e.Names {
			if d.names[n.Norm] == 0 {
				out = append(out, n)
			}
		}
	}
	slices.SortFunc(out, func(a, b Name) int { return strings.Compare(a.Norm, b.Norm) })
	return slices.CompactFunc(out, func(a, b Name) bool { return a.Norm == b.Norm })
}

// NodesOf gives the nodes that the names of an entity stand for, and the names
// that have none.
func (d *Drawing) NodesOf(entity int) (nodes, fresh []int64) {
	for _, n := range d.Entities[entity].Names {
		name := d.names[n.Norm]
		if node := d.nodes[name]; node != 0 {
			nodes = append(nodes, node)
		} else {
			fresh = append(fresh, name)
		}
	}
	slices.Sort(nodes)
	slices.Sort(fresh)
	return slices.Compact(nodes), slices.Compact(fresh)
}

// Join notes that an entity, and all nodes that were joined, are one node.
func (d *Drawing) Join(entity int, keep int64, joined []int64) {
	for name, node := range d.nodes {
		if slices.Contains(joined, node) {
			d.nodes[name] = keep
		}
	}
	for _, n := range d.Entities[entity].Names {
		d.nodes[d.names[n.Norm]] = keep
	}
}

// Alias gives the number of a name, and Node the node of one.
func (d *Drawing) Alias(norm string) int64 { return d.names[norm] }

// Node gives the node of a name.
func (d *Drawing) Node(name int64) int64 { return d.nodes[name] }

// OtherName is another name of an entity, by its number and as it is written.
type OtherName struct {
	Alias int64
	Name  string
}

// Others gives the other names of an entity, each once.
func (d *Drawing) Others(e CleanEntity) []OtherName {
	var out []OtherName
	for _, n := range e.Names[1:] {
		alias := d.names[n.Norm]
		if n.Norm != e.Names[0].Norm && !slices.ContainsFunc(out, func(o OtherName) bool { return o.Alias == alias }) {
			out = append(out, OtherName{alias, n.Name})
		}
	}
	return out
}

// Nodes gives the nodes of the drawing, each once.
func (d *Drawing) Nodes() []int64 {
	var out []int64
	for _, e := range d.Entities {
		out = append(out, d.nodes[d.names[e.Names[0].Norm]])
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Edges gives the relations of the drawing, each once.
func (d *Drawing) Edges() []DrawnEdge {
	var out []DrawnEdge
	for _, r := range d.Relations {
		e := DrawnEdge{From: d.names[r.From], Type: r.Type, To: d.names[r.To]}
		if !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	return out
}

// Parts gives the sets into which names fall when pairs of them are one, in the
// order of the names.
func Parts(names []int64, same [][2]int64) [][]int64 {
	of := map[int64]int64{}
	for _, n := range names {
		of[n] = n
	}
	root := func(n int64) int64 {
		for of[n] != n {
			of[n] = of[of[n]]
			n = of[n]
		}
		return n
	}
	for _, p := range same {
		_, a := of[p[0]]
		_, b := of[p[1]]
		if a && b {
			of[root(p[1])] = root(p[0])
		}
	}
	at := map[int64]int{}
	var out [][]int64
	for _, n := range names {
		r := root(n)
		i, known := at[r]
		if !known {
			i = len(out)
			at[r] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], n)
	}
	return out
}

// NodeWords are the words that a node had, and those that its memories say.
type NodeWords struct {
	Seq      int64
	ID       string
	Scope    oxbow.Scope
	Had, Has GraphNode
}

// Changed tells whether the node has to be written.
func (n NodeWords) Changed() bool {
	return n.ID == "" || n.Reworded() || n.Had.Type != n.Has.Type
}

// Reworded tells whether the node's vectors are of other words.
func (n NodeWords) Reworded() bool {
	return n.Had.Name != n.Has.Name || n.Had.Description != n.Has.Description
}

// CheckNodeVectors is CheckVectors for nodes.
func CheckNodeVectors(vs []NodeVector) (dimensions int, err error) {
	as := make([]Vector, len(vs))
	for i, v := range vs {
		as[i] = Vector{Memory: v.Node.ID, Values: v.Values}
	}
	return CheckVectors(as)
}

// NoNode gives the error of a node that was not found, or the one that kept it
// from being looked for.
func NoNode(q NodeQuery, err error) error {
	if err != nil {
		return err
	}
	return oxbow.Errorf(oxbow.CodeNotFound, "nothing in the graph of %s is called so: look for names with oxbow graph list", q.Scope.Name)
}

// ReadIDs reads a list of ids as a database gives it.
func ReadIDs(stored string) ([]string, error) {
	var out []string
	if err := json.Unmarshal([]byte(stored), &out); err != nil {
		return nil, oxbow.WrapError(oxbow.CodeInternal, err, "read ids")
	}
	return out, nil
}

// CutEdges leaves out edges that no memory says any more which may be shown, and
// those over a limit; it tells whether there may be more.
func CutEdges(all []GraphEdge, limit int) ([]GraphEdge, bool) {
	cut := len(all) > limit
	out := slices.DeleteFunc(all, func(e GraphEdge) bool { return len(e.Memories) == 0 })
	return out[:min(len(out), limit)], cut
}
