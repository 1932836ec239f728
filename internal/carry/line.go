// Package carry is the file that oxbow export writes and oxbow import reads, and
// the files of other programs that oxbow import reads too.
//
// An export is JSON lines. The first is the header, the last the trailer, and
// each between them is an object with one key, which says what the line is:
// scope, run, turn, event, memory, schedule, job or discarded. A scope's lines
// stand together, in the order in which a database can take them in: runs and
// turns, then the log, whose events carry the words that they brought, then the
// memories, as what the log led to and with everything that rests on them, then
// the schedules. The trailer counts the lines of each kind and holds the SHA-256
// of all lines between the two, so that two exports of the same memory end in
// the same trailer, whatever database they are of.
//
// Nothing here knows a database. Package engine uses it, and nobody else should.
package carry

import (
	"encoding/json"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// Format is the version of the form of the lines that this program writes. It
// reads every earlier one.
const Format = 1

// The kinds of line between header and trailer.
const (
	KindScope     = "scope"
	KindRun       = "run"
	KindTurn      = "turn"
	KindEvent     = "event"
	KindMemory    = "memory"
	KindSchedule  = "schedule"
	KindJob       = "job"
	KindDiscarded = "discarded"
)

// Kinds lists them in the order in which an import takes them in.
var Kinds = []string{KindScope, KindRun, KindTurn, KindEvent, KindMemory, KindSchedule, KindJob, KindDiscarded}

// Line is one line: exactly one of its fields is set.
type Line struct {
	Header    *Header          `json:"header,omitempty"`
	Scope     *Scope           `json:"scope,omitempty"`
	Run       *oxbow.Run       `json:"run,omitempty"`
	Turn      *oxbow.Turn      `json:"turn,omitempty"`
	Event     *Event           `json:"event,omitempty"`
	Memory    *Memory          `json:"memory,omitempty"`
	Schedule  *store.Schedule  `json:"schedule,omitempty"`
	Job       *Job             `json:"job,omitempty"`
	Discarded *store.Discarded `json:"discarded,omitempty"`
	Trailer   *Trailer         `json:"trailer,omitempty"`
}

// Header says what the file is of. The counts are of the whole, for progress and
// to say what a file that was cut off lacks.
type Header struct {
	Format     int       `json:"format"`
	Schema     int64     `json:"schema"`  // version of the database's tables
	Program    string    `json:"program"` // version of the program that wrote it
	Tenant     string    `json:"tenant"`
	Scopes     []string  `json:"scopes"`
	Memories   int       `json:"memories"`
	Turns      int       `json:"turns"`
	ExportedAt time.Time `json:"exported_at"`
}

// Trailer says what stood before it.
type Trailer struct {
	Counts map[string]int `json:"counts"` // lines by kind
	SHA256 string         `json:"sha256"` // of the lines between header and trailer, each with its newline
}

// Scope is a scope's settings without the count of its memories.
type Scope struct {
	oxbow.ScopeSettings
	Memories int `json:"memories,omitempty"` // stays empty
}

// Event is an event with the words that it brought and, of a created one, what of
// the memory stands outside the log. Its place in the file is its place in the log.
type Event struct {
	oxbow.Event
	Seq         int64                `json:"seq,omitempty"` // stays empty
	Content     *store.SealedContent `json:"content,omitempty"`
	CreatedAt   time.Time            `json:"created_at,omitzero"`
	AccessCount int                  `json:"access_count,omitempty"`
	LastUsedAt  time.Time            `json:"last_used_at,omitzero"`
}

// EventOf gives an event as a line has it.
func EventOf(t store.Told) *Event {
	return &Event{Event: t.Event, Content: t.Content, CreatedAt: t.CreatedAt, AccessCount: t.AccessCount, LastUsedAt: t.LastUsedAt}
}

// Told gives the event of a line as the store takes it.
func (e *Event) Told() store.Told {
	return store.Told{Event: e.Event, Content: e.Content, CreatedAt: e.CreatedAt, AccessCount: e.AccessCount, LastUsedAt: e.LastUsedAt}
}

// Memory is what the log led to, to be compared, with the counters, which stand
// outside the log, and with what rests on the memory. Its words stand in its
// events.
type Memory struct {
	oxbow.Memory
	Content  *oxbow.Content  `json:"content,omitempty"`        // stays empty
	HalfLife float64         `json:"half_life_days,omitempty"` // this and the next two follow from the scope's policy
	FadesAt  time.Time       `json:"fades_at,omitzero"`
	RankKey  float64         `json:"rank_key,omitempty"`
	Turns    []string        `json:"turns,omitempty"`    // that an observation rests on, by when they were said; its own among them
	Links    []oxbow.Link    `json:"links,omitempty"`    // from this memory
	Verdicts []oxbow.Verdict `json:"verdicts,omitempty"` // of which it is the newer end
	Shown    []oxbow.Shown   `json:"shown,omitempty"`
	Graph    *Graph          `json:"graph,omitempty"`
	Vectors  []Vector        `json:"vectors,omitempty"`
}

// Graph is what a memory says in the graph; without entities it says that it was
// read, and names nothing.
type Graph struct {
	By        string     `json:"by,omitempty"` // who read it
	Entities  []Entity   `json:"entities,omitempty"`
	Relations []Relation `json:"relations,omitempty"`
}

// Entity is something that a memory names.
type Entity struct {
	Name        string   `json:"name"`
	Type        string   `json:"type,omitempty"`
	Description string   `json:"description,omitempty"`
	Aliases     []string `json:"aliases,omitempty"`
}

// Relation says how one thing relates to another.
type Relation struct {
	From string `json:"from"`
	Type string `json:"type"`
	To   string `json:"to"`
}

// Vector is what an embedder made of the memory's words of now.
type Vector struct {
	Embedder   string `json:"embedder"`
	Dimensions int    `json:"dimensions"`
	Packed     []byte `json:"packed"` // as store.PackVector has it
}

// Job is a job that was not finished. It holds ids and instants only.
type Job struct {
	Tenant string          `json:"tenant"`
	Scope  string          `json:"scope"`
	Kind   string          `json:"kind"`
	Args   json.RawMessage `json:"args"`
}

// Kind gives which of the kinds between header and trailer a line is of, "" for
// those two.
func (l Line) Kind() string {
	switch {
	case l.Scope != nil:
		return KindScope
	case l.Run != nil:
		return KindRun
	case l.Turn != nil:
		return KindTurn
	case l.Event != nil:
		return KindEvent
	case l.Memory != nil:
		return KindMemory
	case l.Schedule != nil:
		return KindSchedule
	case l.Job != nil:
		return KindJob
	case l.Discarded != nil:
		return KindDiscarded
	}
	return ""
}

// In gives the scope that a line belongs to; the header and the trailer belong to
// none.
func (l Line) In() oxbow.Scope {
	switch {
	case l.Scope != nil:
		return l.Scope.Scope
	case l.Run != nil:
		return l.Run.Scope
	case l.Turn != nil:
		return l.Turn.Scope
	case l.Event != nil:
		return l.Event.Scope
	case l.Memory != nil:
		return l.Memory.Scope
	case l.Schedule != nil:
		return l.Schedule.Scope
	case l.Job != nil:
		return oxbow.Scope{Tenant: l.Job.Tenant, Name: l.Job.Scope}
	case l.Discarded != nil:
		return oxbow.Scope{Tenant: l.Discarded.Tenant, Name: l.Discarded.Scope}
	}
	return oxbow.Scope{}
}

// GraphOf gives a part of the graph as a line has it.
func GraphOf(p store.GraphPart) *Graph {
	g := &Graph{By: p.Grapher}
	for _, e := range p.Entities {
		g.Entities = append(g.Entities, Entity(e))
	}
	for _, r := range p.Relations {
		g.Relations = append(g.Relations, Relation(r))
	}
	return g
}

// Part gives what a line says of the graph as the store takes it.
func (g *Graph) Part(memory string, contentVersion int) store.GraphPart {
	p := store.GraphPart{Memory: memory, ContentVersion: contentVersion, Grapher: g.By}
	for _, e := range g.Entities {
		p.Entities = append(p.Entities, store.GraphEntity(e))
	}
	for _, r := range g.Relations {
		p.Relations = append(p.Relations, store.GraphRelation(r))
	}
	return p
}

// State gives the memory of a line as what the log led to: its counters and what
// rests on it left out.
func (m Memory) State() oxbow.Memory {
	s := m.Memory
	s.AccessCount, s.LastUsedAt = 0, time.Time{}
	return s
}
