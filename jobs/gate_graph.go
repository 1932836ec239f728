package jobs

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/store"
)

// Bounds of what one memory may put into the graph.
const (
	maxEntities    = 24
	maxRelations   = 48
	maxAliases     = 4
	maxNameRunes   = 100
	maxKindRunes   = 40 // of the type of an entity or a relation
	maxAboutRunes  = 200
	maxGraphOffers = 2000 // entities and relations of an answer that are looked at
)

// selfNames are what whoever asks is called.
var selfNames = map[string]bool{"user": true, "the user": true, "i": true, "me": true, "my": true, "myself": true, "we": true, "us": true, "our": true}

// graphGate is what a memory's answer is held against.
type graphGate struct {
	m       oxbow.Memory
	words   string // the memory's, folded
	self    string // the entity for whoever says I
	part    store.GraphPart
	at      map[string]int // places of the entities that were kept, by the folded names in the answer
	refused int
}

// gateGraph gives what a memory may put into the graph, and how much of an answer
// was refused. Every name has to stand in the memory's words, or be the user; so
// has what a relation rests on. Other names join nodes, and are taken from the user
// and the assistant alone. A description may say anything but what reads like an
// order. A thing that relates to itself relates to nothing.
func gateGraph(m oxbow.Memory, g llm.Graph) (store.GraphPart, int) {
	k := &graphGate{m: m, words: foldName(m.Content.Text), self: store.UserNode, at: map[string]int{},
		part: store.GraphPart{Memory: m.ID, ContentVersion: m.ContentVersion}}
	if m.Content.Speaker != "" {
		k.self = m.Content.Speaker // who says I is not the user
	}
	entities, relations := g.Entities[:min(len(g.Entities), maxGraphOffers)], g.Relations[:min(len(g.Relations), maxGraphOffers)]
	k.refused = len(g.Entities) - len(entities) + len(g.Relations) - len(relations)
	for _, e := range entities {
		if !k.entity(e) {
			k.refused++
		}
	}
	for _, r := range relations {
		if !k.relation(r) {
			k.refused++
		}
	}
	return k.part, k.refused
}

func (k *graphGate) entity(e llm.Entity) bool {
	name, ok := k.name(e.Name)
	if !ok || len(k.part.Entities) == maxEntities {
		return false
	}
	folded := foldName(e.Name)
	if _, twice := k.at[folded]; twice {
		return true
	}
	if i := slices.IndexFunc(k.part.Entities, func(o store.GraphEntity) bool { return foldName(o.Name) == foldName(name) }); i >= 0 {
		k.at[folded] = i
		return true
	}
	out := store.GraphEntity{Name: name, Type: short(e.Type), Description: about(e.Description)}
	for _, a := range e.Aliases {
		alias, ok := k.name(a)
		if !ok || alias == k.self || foldName(alias) == foldName(name) || len(out.Aliases) == maxAliases || !k.mayJoin() {
			k.refused++
			continue
		}
		out.Aliases = append(out.Aliases, alias)
	}
	k.at[folded], k.at[foldName(name)] = len(k.part.Entities), len(k.part.Entities)
	k.part.Entities = append(k.part.Entities, out)
	return true
}

// mayJoin tells whether the memory may say that two names are one thing.
func (k *graphGate) mayJoin() bool {
	return k.m.Source == oxbow.FromUser || k.m.Source == oxbow.FromAssistant
}

func (k *graphGate) relation(r llm.EntityRelation) bool {
	from, okFrom := k.at[foldName(r.From)]
	to, okTo := k.at[foldName(r.To)]
	kind := short(r.Type)
	if !okFrom || !okTo || from == to || kind == "" || len(k.part.Relations) == maxRelations || !stands(foldName(r.Words), k.words) {
		return false
	}
	k.part.Relations = append(k.part.Relations, store.GraphRelation{From: k.part.Entities[from].Name, Type: kind, To: k.part.Entities[to].Name})
	return true
}

// name gives a name as it is kept, when it may be: the user, who speaks, or what
// stands in the memory as words of their own.
func (k *graphGate) name(s string) (string, bool) {
	if len(s) > 8*maxNameRunes {
		return "", false
	}
	s = strings.Join(strings.Fields(text.Normalise(s)), " ")
	folded := foldName(s)
	switch {
	case selfNames[folded]:
		return k.self, true
	case folded == "" || utf8.RuneCountInString(s) > maxNameRunes || !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }):
		return "", false
	case k.m.Content.Speaker != "" && folded == foldName(k.m.Content.Speaker):
		return s, true
	}
	if redacted, _ := text.Redact(s); redacted != s {
		return "", false
	}
	return s, stands(folded, k.words)
}

// stands tells whether words stand in others and not inside of one.
func stands(part, whole string) bool {
	if part == "" {
		return false
	}
	for from := 0; ; {
		i := strings.Index(whole[from:], part)
		if i < 0 {
			return false
		}
		i += from
		before, _ := utf8.DecodeLastRuneInString(whole[:i])
		after, _ := utf8.DecodeRuneInString(whole[i+len(part):])
		first, _ := utf8.DecodeRuneInString(part)
		last, _ := utf8.DecodeLastRuneInString(part)
		if !(wordy(before) && wordy(first)) && !(wordy(after) && wordy(last)) {
			return true
		}
		from = i + 1
	}
}

// wordy tells whether a rune is part of a word. Scripts without spaces between
// words have none by this measure.
func wordy(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsDigit(r)) && !unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai)
}

func foldName(s string) string { return store.NormName(s) }

// short gives a type as it is kept: in lower case, in a few words.
func short(s string) string {
	s = strings.ToLower(strings.Join(strings.Fields(text.Normalise(clipBytes(s, 8*maxKindRunes))), " "))
	if utf8.RuneCountInString(s) > maxKindRunes || Instruction(s, oxbow.FromWeb) != "" {
		return ""
	}
	return s
}

// about gives a description as it is kept, "" for one that reads like an order.
func about(s string) string {
	s = strings.Join(strings.Fields(text.Normalise(clipBytes(s, 8*maxAboutRunes))), " ")
	if Instruction(s, oxbow.FromWeb) != "" {
		return ""
	}
	s, _ = text.Redact(text.Clip(s, maxAboutRunes))
	return s
}

func clipBytes(s string, n int) string { return s[:min(len(s), n)] }
