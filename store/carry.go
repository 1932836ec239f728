package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow"
)

// Dumper reads what an export needs and nothing else asks for. Called on the
// reader of Snapshot, everything that it gives is of one instant. A yield that
// gives an error ends the reading with it, and must not use the reader.
type Dumper interface {
	// DumpEvents gives a scope's log in the order of Seq, each event with the
	// words that it brought, as far as they are not erased.
	DumpEvents(ctx context.Context, s oxbow.Scope, yield func(Told) error) error
	// DumpMemories gives a page of a scope's memories, the oldest said first, then
	// by id; after is the last id of the page before.
	DumpMemories(ctx context.Context, s oxbow.Scope, after string, limit int) ([]oxbow.Memory, error)
	// DumpRuns gives a scope's runs by name, instant and id.
	DumpRuns(ctx context.Context, s oxbow.Scope, yield func(oxbow.Run) error) error
	// DumpJobs gives a tenant's jobs that are not finished, oldest first.
	DumpJobs(ctx context.Context, tenant string, yield func(Job) error) error
	// TurnsOf gives those of the turns that exist, by id.
	TurnsOf(ctx context.Context, tenant string, ids []string) ([]oxbow.Turn, error)
	// GraphOf gives what memories of a scope say in the graph, in the form in
	// which PutGraph takes it, by memory; those that say nothing are left out.
	GraphOf(ctx context.Context, s oxbow.Scope, ids []string) ([]GraphPart, error)
	// EmbeddersOf gives the embedders that a scope has vectors of, by name.
	EmbeddersOf(ctx context.Context, s oxbow.Scope) ([]string, error)
}

// Loader takes in what a Dumper of another database gave. It is no second way to
// change a memory: a memory comes as its events, and the row is what they lead
// to, so that the table is the replay of the log after each transaction.
type Loader interface {
	// LoadScope makes a scope as it is given. One that is there, and was set or
	// holds memories, stays; what stands then is given back. Idempotent.
	LoadScope(ctx context.Context, s oxbow.ScopeSettings) (oxbow.ScopeSettings, error)
	// LoadRuns stores the runs whose ids are new and gives how many. Idempotent.
	LoadRuns(ctx context.Context, rs []oxbow.Run) (int, error)
	// LoadEvents appends events of a scope to the log, in the order given, and
	// brings rows, contents, terms and links to where they lead. An event that
	// is there already is left alone; one that contradicts what is there, or
	// that the log of its memory does not lead up to, is a conflict, and nothing
	// of the call's events is appended to that memory. The events that one
	// call of Apply made must come in one call. Idempotent.
	LoadEvents(ctx context.Context, s oxbow.Scope, told []Told, now time.Time) (Loaded, error)
	// LoadUses raises the counters of memories to at least those given and gives
	// how many changed. Idempotent.
	LoadUses(ctx context.Context, s oxbow.Scope, uses []Uses) (int, error)
}

// Told is an event together with what the log only names.
type Told struct {
	Event     oxbow.Event
	Content   *SealedContent // the words that it brought; nil when there are none any more
	CreatedAt time.Time      // of a created memory, as the next two, which stand outside the log
	// AccessCount and LastUsedAt come with the memory, because one that was used
	// has not faded when it arrives.
	AccessCount int
	LastUsedAt  time.Time
}

// SealedContent is a content row with the salt that its digest was made with.
type SealedContent struct {
	oxbow.Content
	Salt string `json:"salt"`
}

// Uses is how often a memory was used, and when last.
type Uses struct {
	Memory      string
	AccessCount int
	LastUsedAt  time.Time
}

// Loaded is what a call of LoadEvents did.
type Loaded struct {
	Memories  int        // rows made
	Events    int        // appended
	Same      int        // events that were there
	Conflicts []Conflict // memories that were left as they are
}

// Conflict is a thing that is here and in the file and not the same.
type Conflict struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// LoadBase is what a database has of what told events name.
type LoadBase struct {
	Scope   oxbow.Scope
	Policy  oxbow.Policy
	Rows    []oxbow.Memory     // with content, those of the told memories that are in the scope
	Had     []oxbow.Event      // the events of those rows that are told again
	Here    map[string]bool    // ids of the told memories and of link ends that are in the scope
	Taken   map[string]bool    // ids of the told memories that are somewhere else
	Holders map[Address]string // which active memory stands at an address
}

// Address is where a fact stands in a scope.
type Address struct{ Slot, Key string }

// LoadIDs gives the ids of the memories that events are about and those of the
// ends of their links, each once, sorted.
func LoadIDs(told []Told) (about, ends []string) {
	for _, t := range told {
		about = append(about, t.Event.Memory)
		for _, l := range slices.Concat(t.Event.Links, t.Event.Unlinks) {
			ends = append(ends, l.From, l.To)
		}
	}
	return Sorted(about), Sorted(append(ends, about...))
}

// LoadAgain gives the ids of those rows of which some event is told again.
func LoadAgain(told []Told, rows []oxbow.Memory) []string {
	have := map[string]int{}
	for _, m := range rows {
		have[m.ID] = m.Version
	}
	var out []string
	for _, t := range told {
		if t.Event.Version <= have[t.Event.Memory] {
			out = append(out, t.Event.Memory)
		}
	}
	return Sorted(out)
}

// LoadAddresses gives the slots and the keys at which told memories may come to
// stand, each once.
func LoadAddresses(told []Told, rows []oxbow.Memory) (slots, keys []string) {
	for _, t := range told {
		if k := t.Event.After.Key; k != nil && *k != "" {
			keys = append(keys, *k)
		}
		if s := t.Event.After.Slot; s != nil {
			slots = append(slots, *s)
		}
	}
	for _, m := range rows {
		if m.Key != "" {
			slots, keys = append(slots, m.Slot), append(keys, m.Key)
		}
	}
	return Sorted(slots), Sorted(keys)
}

// UsedIDs gives the ids of used memories, sorted.
func UsedIDs(uses []Uses) []string {
	out := make([]string, len(uses))
	for i, u := range uses {
		out[i] = u.Memory
	}
	return Sorted(out)
}

// RaiseUses gives those of the rows whose counters are below what is given, with
// the counters raised.
func RaiseUses(p oxbow.Policy, rows []oxbow.Memory, uses []Uses) []oxbow.Memory {
	of := make(map[string]Uses, len(uses))
	for _, u := range uses {
		of[u.Memory] = u
	}
	var out []oxbow.Memory
	for _, m := range rows {
		u := of[m.ID]
		if u.AccessCount <= m.AccessCount && !u.LastUsedAt.After(m.LastUsedAt) {
			continue
		}
		m.AccessCount = max(m.AccessCount, u.AccessCount)
		if u.LastUsedAt.After(m.LastUsedAt) {
			m.LastUsedAt = u.LastUsedAt.UTC().Truncate(time.Millisecond)
		}
		out = append(out, p.Derive(m))
	}
	return out
}

// NewLoad works out what events that were told lead to: a plan as NewPlan makes
// it, and the ids of memories whose words are to go.
func NewLoad(base LoadBase, told []Told) (*Plan, Loaded, []string) {
	l := loading{base: base, now: map[string]*loadState{}, had: map[string]string{}, out: Loaded{}}
	for _, m := range base.Rows {
		l.now[m.ID] = &loadState{m: m, was: m}
	}
	for _, e := range base.Had {
		l.had[versioned(e)] = sameEvent(e)
	}
	for _, t := range told {
		l.take(t)
	}
	for l.settle() {
	}
	return l.plan()
}

// loadState is a memory on its way.
type loadState struct {
	m, was  oxbow.Memory
	created bool
	told    []Told // to be appended
	bad     bool
}

type loading struct {
	base  LoadBase
	now   map[string]*loadState
	had   map[string]string
	order []*loadState
	told  []Told // in order, those of bad memories too
	out   Loaded
}

func versioned(e oxbow.Event) string { return fmt.Sprint(e.Memory, " ", e.Version) }

// sameEvent gives an event in a form that is equal where events are: without the
// number that a database gave it.
func sameEvent(e oxbow.Event) string {
	e.Seq = 0
	e.At, e.RecordedAt = e.At.UTC().Truncate(time.Millisecond), e.RecordedAt.UTC().Truncate(time.Millisecond)
	if len(e.Links) == 0 {
		e.Links = nil
	}
	if len(e.Unlinks) == 0 {
		e.Unlinks = nil
	}
	return JSON(e)
}

// What CompareEvents says of an event.
const (
	EventNew = iota
	EventSame
	EventOther
)

// CompareEvents tells of each told event whether it is here, is not, or another
// one is in its place.
func CompareEvents(had []oxbow.Event, told []Told) []int {
	have, last := map[string]string{}, map[string]int{}
	for _, e := range had {
		have[versioned(e)] = sameEvent(e)
		last[e.Memory] = max(last[e.Memory], e.Version)
	}
	out := make([]int, len(told))
	for i, t := range told {
		switch {
		case have[versioned(t.Event)] == sameEvent(t.Event):
			out[i] = EventSame
		case t.Event.Version <= last[t.Event.Memory]:
			out[i] = EventOther
		}
	}
	return out
}

// take lets one event follow what the ones before it led to.
func (l *loading) take(t Told) {
	e := t.Event
	s := l.now[e.Memory]
	if s == nil {
		s = &loadState{created: true}
		s.m.ID, s.m.Scope = e.Memory, l.base.Scope
		l.now[e.Memory] = s
		if l.base.Taken[e.Memory] {
			l.refuse(s, "its id belongs to a memory of another scope or tenant here")
		}
	}
	switch {
	case s.bad:
	case e.Version <= s.was.Version:
		if l.had[versioned(e)] == sameEvent(e) {
			l.out.Same++
			return
		}
		l.refuse(s, fmt.Sprintf("its event %d is another one here", e.Version))
	case e.Version != s.m.Version+1:
		l.refuse(s, fmt.Sprintf("its event %d is missing", s.m.Version+1))
	default:
		after, why := follow(s, t)
		if why != "" {
			l.refuse(s, why)
			return
		}
		if len(s.told) == 0 {
			l.order = append(l.order, s)
		}
		s.m, s.told = after, append(s.told, t)
		l.told = append(l.told, t)
	}
}

func (l *loading) refuse(s *loadState, why string) {
	s.bad = true
	l.out.Conflicts = append(l.out.Conflicts, Conflict{ID: s.m.ID, Text: why})
}

// follow gives the memory after an event, or why it cannot be.
func follow(s *loadState, t Told) (oxbow.Memory, string) {
	e := t.Event
	if why := impossible(s, e); why != "" {
		return s.m, why
	}
	after := e.After.Apply(s.m)
	after.Version = e.Version
	if e.Version == 1 {
		after.CreatedAt, after.AccessCount, after.LastUsedAt = t.CreatedAt, max(0, t.AccessCount), t.LastUsedAt
	}
	if e.After.ContentID != nil {
		after.Content = oxbow.Content{}
		if t.Content != nil {
			after.Content = t.Content.Content
			if oxbow.Digest(t.Content.Salt, after.Content) != after.Digest {
				return s.m, fmt.Sprintf("the words of its event %d are not those that the log names", e.Version)
			}
		}
	}
	if after.Status == oxbow.Erased {
		after.Content = oxbow.Content{}
	}
	return after, invalidState(after)
}

// impossible tells why an event cannot follow a state.
func impossible(s *loadState, e oxbow.Event) string {
	if e.Version == 1 {
		if e.Type != oxbow.Created || e.After.Status == nil || !oxbow.EnteringStatus(*e.After.Status) {
			return "its first event does not create it"
		}
		return ""
	}
	to, err := oxbow.Move(e.Type, s.m.Status)
	if err != nil {
		return fmt.Sprintf("its event %d is no legal move: %s", e.Version, err.Error())
	}
	if got := e.After.Apply(s.m).Status; got != to {
		return fmt.Sprintf("its event %d (%s) leads to %s", e.Version, e.Type, got)
	}
	if _, after := oxbow.Diff(s.m, e.Before.Apply(s.m)); len(after.Fields()) > 0 {
		fields := after.Fields()
		slices.Sort(fields)
		return fmt.Sprintf("the before of its event %d does not equal the state it met: %s", e.Version, strings.Join(fields, ", "))
	}
	return ""
}

// lastYear bounds the dates that both databases keep.
const lastYear = 9999

// invalidState tells what of a memory no rule can work with.
func invalidState(m oxbow.Memory) string {
	for _, t := range []time.Time{m.SaidAt, m.CreatedAt} {
		if t.IsZero() {
			return "it does not say when it was said and stored"
		}
	}
	for _, t := range []time.Time{m.SaidAt, m.CreatedAt, m.ConfirmedAt, m.TouchedAt, m.ExpiresAt, m.ReviewAt, m.LastUsedAt} {
		if !t.IsZero() && (t.Year() < 1 || t.Year() > lastYear) {
			return "a date of it is out of range"
		}
	}
	switch {
	case !slices.Contains(oxbow.Kinds, m.Kind):
		return fmt.Sprintf("there is no kind %q", m.Kind)
	case m.Source.Trust() == 0:
		return fmt.Sprintf("there is no source %q", m.Source)
	case !(m.Importance >= 0 && m.Importance <= 10), !(m.Rating >= 0 && m.Rating <= 1):
		return "its importance or its rating is out of range"
	case m.ContentID == "" || m.Digest == "":
		return "its words have no id or no digest"
	}
	return ""
}

// settle leaves out what cannot stand with what is here, and tells whether it
// found something: leaving one out may leave a link of another without its end.
func (l *loading) settle() bool {
	found := false
	held := map[Address]string{}
	for _, s := range l.order {
		if s.bad {
			continue
		}
		a := Address{s.m.Slot, s.m.Key}
		why := l.missingEnd(s)
		if s.m.Status == oxbow.Active && s.m.Key != "" && why == "" {
			if other := l.holder(a, held); other != "" && other != s.m.ID {
				why = "another active memory stands at its address: " + other
			}
			held[a] = s.m.ID
		}
		if why != "" {
			l.refuse(s, why)
			found = true
		}
	}
	return found
}

// holder gives who else stands at an address when this load is done.
func (l *loading) holder(a Address, held map[Address]string) string {
	if id := held[a]; id != "" {
		return id
	}
	id := l.base.Holders[a]
	if s := l.now[id]; s != nil && !s.bad && (s.m.Status != oxbow.Active || (Address{s.m.Slot, s.m.Key}) != a) {
		return ""
	}
	return id
}

func (l *loading) missingEnd(s *loadState) string {
	for _, t := range s.told {
		for _, link := range t.Event.Links {
			for _, id := range []string{link.From, link.To} {
				if l.base.Here[id] {
					continue
				}
				if other := l.now[id]; other == nil || other.bad {
					return "it is linked to " + id + ", which is not here"
				}
			}
		}
	}
	return ""
}

// plan gives what is to be written.
func (l *loading) plan() (*Plan, Loaded, []string) {
	p := &Plan{}
	var erased []string
	for _, t := range l.told {
		s := l.now[t.Event.Memory]
		if s.bad {
			continue
		}
		l.out.Events++
		p.Events = append(p.Events, t.Event)
		if t.Content != nil && s.m.Status != oxbow.Erased {
			seal := oxbow.Seal{ContentID: *t.Event.After.ContentID, Salt: t.Content.Salt}
			p.Contents = append(p.Contents, NewContent{Seal: seal, Owner: s.m.ID, Content: t.Content.Content})
		}
	}
	for _, s := range l.order {
		if s.bad {
			continue
		}
		s.m = l.base.Policy.Derive(s.m)
		words := s.m.Content.Text != ""
		if s.created {
			l.out.Memories++
			p.Created = append(p.Created, s.m)
			if words {
				p.Indexed = append(p.Indexed, s.m)
			}
			continue
		}
		if s.m.ContentID != s.was.ContentID || s.m.Key != s.was.Key || s.m.Status == oxbow.Erased && s.was.Status != oxbow.Erased {
			if s.was.Content.Text != "" {
				p.Reworded = append(p.Reworded, s.was)
			}
			if words {
				p.Indexed = append(p.Indexed, s.m)
			}
		}
		if s.m.Status == oxbow.Erased && s.was.Status != oxbow.Erased {
			erased = append(erased, s.m.ID)
		}
		p.Updated = append(p.Updated, Update{Memory: s.m, Was: s.was.Version, Narrow: narrow(s.was, s.m)})
	}
	slices.SortStableFunc(p.Updated, func(a, b Update) int { return activeLast(a.Status) - activeLast(b.Status) })
	return p, l.out, erased
}

// ReadTold puts beside an event the words that it brought, as they are stored; of
// a created memory it keeps what stands outside the log.
func ReadTold(t Told, salt, body string) (Told, error) {
	if t.CreatedAt = t.CreatedAt.UTC(); t.Event.Type != oxbow.Created {
		t.CreatedAt, t.AccessCount, t.LastUsedAt = time.Time{}, 0, time.Time{}
	}
	if body == "" {
		return t, nil
	}
	t.Content = &SealedContent{Salt: salt}
	if err := json.Unmarshal([]byte(body), &t.Content.Content); err != nil {
		return t, oxbow.WrapError(oxbow.CodeInternal, err, "read the words of an event of memory %s", t.Event.Memory)
	}
	return t, nil
}

// Mentioned is a name that a memory says of a node; Own marks the node's own, the
// others are other names of it.
type Mentioned struct {
	Memory, Name, Type, Description string
	Node                            int64
	Own                             bool
}

// Related is an edge that a memory says.
type Related struct {
	Memory, Type string
	From, To     int64
}

// GatherGraph puts together what memories say. reads are the memories that were
// read for the graph, with nothing in them yet; the names come by memory, a node's
// own before its others.
func GatherGraph(reads []GraphPart, names []Mentioned, edges []Related) []GraphPart {
	out := slices.Clone(reads)
	at := map[string]int{} // memory to part
	for i, p := range out {
		at[p.Memory] = i
	}
	entity := map[string]int{} // memory and node to entity
	place := func(memory string, node int64) string { return fmt.Sprint(memory, " ", node) }
	for _, n := range names {
		i, ok := at[n.Memory]
		if !ok {
			continue
		}
		p := &out[i]
		j, known := entity[place(n.Memory, n.Node)]
		switch {
		case n.Own:
			entity[place(n.Memory, n.Node)] = len(p.Entities)
			p.Entities = append(p.Entities, GraphEntity{Name: n.Name, Type: n.Type, Description: n.Description})
		case known && NormName(n.Name) != NormName(p.Entities[j].Name):
			p.Entities[j].Aliases = append(p.Entities[j].Aliases, n.Name)
		}
	}
	for _, e := range edges {
		i, ok := at[e.Memory]
		from, okFrom := entity[place(e.Memory, e.From)]
		to, okTo := entity[place(e.Memory, e.To)]
		if ok && okFrom && okTo {
			p := &out[i]
			p.Relations = append(p.Relations, GraphRelation{From: p.Entities[from].Name, Type: e.Type, To: p.Entities[to].Name})
		}
	}
	for i := range out {
		slices.SortFunc(out[i].Entities, func(a, b GraphEntity) int { return strings.Compare(NormName(a.Name), NormName(b.Name)) })
		for j := range out[i].Entities {
			slices.Sort(out[i].Entities[j].Aliases)
		}
		slices.SortFunc(out[i].Relations, func(a, b GraphRelation) int {
			return strings.Compare(a.From+"\x00"+a.Type+"\x00"+a.To, b.From+"\x00"+b.Type+"\x00"+b.To)
		})
	}
	return out
}
