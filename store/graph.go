package store

import (
	"context"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
)

// GraphReader reads the graph: nodes that stand for what memories name, and
// edges for how they relate. All of it rests on memories; what rests only on
// memories that may not be shown is out of reach.
type GraphReader interface {
	// MatchNodes gives the nodes of a scope of whose name, or one other name of
	// theirs, at least half the words stand in a text: those with the greater
	// share first, then the longer names, the more often mentioned ones, then by
	// id. A node that only memories name which may not be shown is none. It never
	// fails for what the text says.
	MatchNodes(ctx context.Context, q NodeQuery) ([]GraphNode, error)
	// Walk goes from nodes along edges in either direction and gives the memories
	// of the nodes on the way, the nearest first, then those reached by edges that
	// more memories say, then the newest. It looks at a bounded part of the graph,
	// however large that is, and says when it left something out.
	Walk(ctx context.Context, q WalkQuery) (Walked, error)
	// CountGraph counts a scope's nodes and edges.
	CountGraph(ctx context.Context, s oxbow.Scope) (nodes, edges int, err error)
	// NodeCalled gives the node that has a name, with all its names; not_found
	// when nothing that may be shown is called so.
	NodeCalled(ctx context.Context, q NodeQuery) (GraphNode, error)
	// ListNodes gives the nodes of a scope in one of whose names the words of the
	// query stand as they are, all of them for no words: the most often mentioned
	// first, then by id.
	ListNodes(ctx context.Context, q NodeQuery) ([]GraphNode, error)
	// EdgesOf gives the edges of nodes with the memories that say them, the most
	// often said first, at most Limit, and tells whether there may be more.
	EdgesOf(ctx context.Context, q EdgeQuery) (edges []GraphEdge, cut bool, err error)
	// WithoutGraph gives a page, by id, of the memories of a scope, erased and
	// quarantined ones left out, that a grapher has not read and whose part did not
	// come with them (GraphImported).
	WithoutGraph(ctx context.Context, s oxbow.Scope, grapher, after string, limit int) ([]oxbow.Memory, error)
}

// GraphWriter keeps the graph.
type GraphWriter interface {
	// PutGraph stores what a memory names and how that relates, in place of what
	// the same memory said before. Names that are the same, or were given as other
	// names of one thing, are one node, whichever was there first: an alias that
	// names another node joins the two. The name that was said first stands, the
	// first type and the latest description, so that the graph does not depend on
	// the order in which memories come. False when the memory was edited, put into
	// quarantine or erased since it was read; then nothing changes. Idempotent.
	// invalid for a part that CleanGraph refuses. Apply takes away what rests on a
	// memory whose words change, and Erase what rests on an erased one, with every
	// name and description that nobody else said; what only that memory had joined
	// is apart again.
	//
	// Limit: two things that are called by one alias become one.
	PutGraph(ctx context.Context, s oxbow.Scope, g GraphPart) (bool, error)
}

// NodeVectorReader reads what embedders made of nodes. Its methods are those of
// VectorReader, with nodes for memories.
type NodeVectorReader interface {
	NodeVectorMark(ctx context.Context, s oxbow.Scope) (int64, error)
	NodeVectorsSince(ctx context.Context, s oxbow.Scope, embedder string, after VectorPlace, limit int) ([]PlacedVector, error)
	CountNodeVectors(ctx context.Context, s oxbow.Scope, embedder string) (with, without int, err error)
	// StandingNodes gives those of a scope's nodes, by their numbers, that a
	// memory names which may be shown, in the order of the numbers given.
	StandingNodes(ctx context.Context, q StandingQuery) ([]Standing, error)
	// WithoutNodeVector gives a page, by id, of the nodes that have none, among
	// those that memories name when some are given.
	WithoutNodeVector(ctx context.Context, s oxbow.Scope, embedder string, memories []string, after string, limit int) ([]GraphNode, error)
}

// NodeVectorWriter keeps vectors of nodes.
type NodeVectorWriter interface {
	// PutNodeVectors stores vectors, or replaces them, and gives how many were
	// stored: one whose node is gone, or has another name or description by now,
	// is left out. Idempotent. A node whose words change loses its vectors.
	PutNodeVectors(ctx context.Context, s oxbow.Scope, embedder string, vs []NodeVector) (int, error)
}

// NodeVector is what an embedder made of the words of a node.
type NodeVector struct {
	Node   GraphNode
	Values []float32
}

// Words gives the words of a node as they are embedded.
func (n GraphNode) Words() string {
	if n.Description == "" {
		return n.Name
	}
	return n.Name + ": " + n.Description
}

// UserNode is the name of the node that is the user.
const UserNode = "user"

// NodeQuery asks for nodes by their names.
type NodeQuery struct {
	Scope    oxbow.Scope
	Words    string
	Statuses []oxbow.Status
	Now      time.Time // active memories that have faded or ended by then are not there
	Limit    int       // 1 to 1000
}

// EdgeQuery asks for the edges of nodes.
type EdgeQuery struct {
	Scope    oxbow.Scope
	Nodes    []string // ids
	Statuses []oxbow.Status
	Now      time.Time
	Limit    int // 1 to 1000
}

// GraphEdge says how two nodes relate, and which memories say so, the newest
// first, at most EdgeMemories.
type GraphEdge struct {
	From     GraphEnd `json:"from"`
	Type     string   `json:"type"`
	To       GraphEnd `json:"to"`
	Mentions int      `json:"mentions"` // memories that say it, whatever their status
	Memories []string `json:"memories"`
}

// GraphEnd is a node at the end of an edge.
type GraphEnd struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// EdgeMemories is how many of its memories an edge is given with.
const EdgeMemories = 8

// GraphImported stands for the reader of a part that came with a memory from
// another program: it knows better than any grapher.
const GraphImported = "import"

// GraphPart is what one memory says.
type GraphPart struct {
	Memory         string
	ContentVersion int
	Grapher        string // by what the memory was read
	Entities       []GraphEntity
	Relations      []GraphRelation // between names of Entities
}

// GraphEntity is something that a memory names.
type GraphEntity struct {
	Name        string
	Type        string // such as person, place, tool; may be empty
	Description string
	Aliases     []string
}

// GraphRelation says how one thing relates to another.
type GraphRelation struct{ From, Type, To string }

// GraphNode is a node as it is found.
type GraphNode struct {
	ID          string  `json:"id"`
	Name        string  `json:"name"`
	Type        string  `json:"type,omitempty"`
	Description string  `json:"description,omitempty"`
	Mentions    int     `json:"mentions"`        // memories that name it
	Share       float64 `json:"share,omitempty"` // of the words of its name, those that stand in the text
	// Aliases are its other names as they are compared; NodeCalled gives them.
	Aliases []string `json:"aliases,omitempty"`
}

// WalkQuery asks for what can be reached from nodes.
type WalkQuery struct {
	Scope    oxbow.Scope
	From     []string // ids of nodes
	Hops     int      // 1 or 2; 0 stays where it is
	FanOut   int      // edges followed from one node, 1 to 64; 0 is 16
	Statuses []oxbow.Status
	Now      time.Time // active memories that have faded or ended by then are not there
	Limit    int       // memories, 1 to 1000
	// Avoid is the id of a node through which no way leads, "" for none: everything
	// has to do with the user.
	Avoid string
}

// Walked is what a walk found.
type Walked struct {
	Hits []Reached
	Cut  bool // there may be more: a bound was met on the way
}

// Reached is a memory at the end of a way.
type Reached struct {
	ID     string
	Hops   int
	Weight float64     // 1 for the nodes asked from, less for each edge, least for edges that one memory says
	Path   []GraphStep // from the node asked from to the one that the memory names
}

// GraphStep is a node on a way and the edge that led to it.
type GraphStep struct {
	Node     string `json:"node"`
	Relation string `json:"relation,omitempty"` // empty for the first
	Back     int    `json:"back,omitempty"`     // 1 when the edge points the other way
}

// The bounds of a part and of a walk.
const (
	maxGraphName        = 200 // runes
	maxGraphDescription = 1000
	maxGraphParts       = 200 // entities, and relations, of one memory

	// WalkNodes bounds the nodes whose memories a walk reads, WalkMemories the
	// memories of one of them, the newest first.
	WalkNodes    = 128
	WalkMemories = 24
	// NodeMemories is how many memories of a node, the newest, are looked at for
	// one that may be shown.
	NodeMemories = 500
	defaultFan   = 16
	maxFan       = 64
	maxHops      = 2
)

// Bounded gives the query with its numbers inside their ranges.
func (q WalkQuery) Bounded() WalkQuery {
	if q.FanOut <= 0 {
		q.FanOut = defaultFan
	}
	q.FanOut, q.Hops, q.Limit = min(q.FanOut, maxFan), max(0, min(q.Hops, maxHops)), max(1, min(q.Limit, 1000))
	return q
}

// Look is how many edges of a node are looked at, in either direction, for those
// that may be followed.
func (q WalkQuery) Look() int { return 4 * q.FanOut }

// Name is one name of a node as it is stored.
type Name struct {
	Name, Norm string
	Terms      []int64
}

// CleanEntity is an entity as it is stored. Names holds its own name first.
type CleanEntity struct {
	GraphEntity
	Names []Name
}

// CleanGraph gives a part as it is stored: names normalised, things named twice
// once, relations between the norms of names. What relates a thing to itself is
// left out. invalid for a name that is empty or over 200 runes, for more than 200
// entities or relations, and for a relation whose end is not among the entities.
func CleanGraph(g GraphPart) ([]CleanEntity, []GraphRelation, error) {
	if len(g.Entities) > maxGraphParts || len(g.Relations) > maxGraphParts {
		return nil, nil, oxbow.Errorf(oxbow.CodeInvalid, "a memory names %d things and %d relations: at most %d are kept of one", len(g.Entities), len(g.Relations), maxGraphParts)
	}
	var out []CleanEntity
	at := map[string]int{} // by norm
	for _, e := range g.Entities {
		c := CleanEntity{GraphEntity: e}
		c.Type, c.Description = text.Clip(text.Normalise(e.Type), maxGraphName), text.Clip(text.Normalise(e.Description), maxGraphDescription)
		for _, name := range append([]string{e.Name}, e.Aliases...) {
			n, err := cleanName(name)
			if err != nil {
				return nil, nil, err
			}
			c.Names = append(c.Names, n)
		}
		c.Name = c.Names[0].Name
		if i, known := at[c.Names[0].Norm]; known {
			out[i].Names = append(out[i].Names, c.Names[1:]...)
		} else {
			out = append(out, c)
			i = len(out) - 1
			at[c.Names[0].Norm] = i
		}
	}
	for i, e := range out { // a name of its own goes before another's alias
		for _, n := range e.Names[1:] {
			if _, known := at[n.Norm]; !known {
				at[n.Norm] = i
			}
		}
	}
	var relations []GraphRelation
	for _, r := range g.Relations {
		from, okFrom := at[NormName(r.From)]
		to, okTo := at[NormName(r.To)]
		kind := text.Clip(text.Normalise(r.Type), maxGraphName)
		if !okFrom || !okTo || kind == "" {
			return nil, nil, oxbow.Errorf(oxbow.CodeInvalid, "a relation has no type, or an end that is not among the things that the memory names")
		}
		if from != to {
			relations = append(relations, GraphRelation{From: out[from].Names[0].Norm, Type: kind, To: out[to].Names[0].Norm})
		}
	}
	return out, relations, nil
}

func cleanName(s string) (Name, error) {
	n := Name{Name: strings.Join(strings.Fields(text.Normalise(s)), " "), Norm: NormName(s)}
	if n.Norm == "" || utf8.RuneCountInString(n.Name) > maxGraphName {
		return n, oxbow.Errorf(oxbow.CodeInvalid, "the name of a thing is empty or over %d characters: give a short one", maxGraphName)
	}
	terms, _ := text.Analyse(n.Name)
	n.Terms = Hashes(terms)
	return n, nil
}

// NormName gives a name as names are compared: normalised, in lower case, with
// one space between words.
func NormName(s string) string {
	return strings.ToLower(strings.Join(strings.Fields(text.Normalise(s)), " "))
}

// NodeID gives the id of a new node; more tells apart those that had the same
// name one after the other.
func NodeID(s oxbow.Scope, norm string, more ...string) string {
	return oxbow.NewID(append([]string{"node", s.Tenant, s.Name, norm}, more...)...)
}

// ReadPath reads a path as a walk builds it.
func ReadPath(stored string) ([]GraphStep, error) {
	var out []GraphStep
	if err := json.Unmarshal([]byte(stored), &out); err != nil {
		return nil, oxbow.WrapError(oxbow.CodeInternal, err, "read the way through the graph")
	}
	return out, nil
}

// WordsOf gives the terms of a text to match nodes by, and the text as a name.
func WordsOf(words string) (terms []int64, norm string) {
	found, _ := text.Analyse(words)
	return Hashes(found), NormName(text.Clip(words, maxGraphName))
}
