package offline

import (
	"context"
	"slices"
	"strings"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm"
)

var _ llm.Grapher = (*Judge)(nil)

// Bounds of what is read of one statement.
const (
	graphSentences = 12
	graphThings    = 24
	graphTies      = 32
)

// Graph gives what a statement names: proper names, tools, the people whom
// somebody has (my dentist Dr. Lind), and what a thing is said to be (Nightshade is
// a restaurant), with the relations that its clauses state between them. What is
// asked, denied, planned or over relates nothing. It fails only when ctx is done.
//
// Limit: English alone, by the shape of words. A common noun at the beginning of a
// sentence may be taken for a name, and one name for two that are called so.
func (*Judge) Graph(ctx context.Context, s llm.Statement) (llm.Graph, error) {
	if err := ctx.Err(); err != nil {
		return llm.Graph{}, err
	}
	d := &drawing{text: s.Text, user: s.Source == oxbow.FromUser || s.Source == "", at: map[string]int{}}
	sentences := wholeSentences(s.Text)
	for _, sent := range sentences[:min(len(sentences), graphSentences)] {
		d.sentence(sent)
	}
	return d.out, nil
}

// wholeSentences is split, but that a title ends no sentence: Dr. Lind is one name.
func wholeSentences(s string) []string {
	var out []string
	for _, part := range split(s) {
		if n := len(out); n > 0 {
			before := out[n-1]
			if last := before[strings.LastIndexByte(before, ' ')+1:]; strings.HasSuffix(last, ".") && titles[strings.ToLower(strings.TrimSuffix(last, "."))] && !strings.EqualFold(last, "no.") {
				out[n-1] += " " + part
				continue
			}
		}
		out = append(out, part)
	}
	return out
}

// drawing is a graph while it is read.
type drawing struct {
	text string
	user bool // who says I is the user
	out  llm.Graph
	at   map[string]int // entities by their names in lower case
	last *thing         // the subject of the clause before
	tail *thing         // the last thing of the clause before
}

// thing is something that a sentence names, words [from, to) of it.
type thing struct {
	from, to    int
	name        string
	kind        string // its type
	description string
	owner, role string // whose it is, and what to them
}

// sentence reads one sentence.
func (d *drawing) sentence(s string) {
	if len(s) > maxSentence {
		return
	}
	c := &claim{sentence: read(s)}
	c.readMood()
	if c.asked || len(c.words) == 0 {
		return
	}
	p := &parsed{claim: c, drawing: d}
	p.findThings()
	for i := range p.things {
		t := &p.things[i]
		d.add(t.name, t.kind, t.description)
		if t.role != "" && t.owner != "" {
			d.add(t.owner, "", "")
			d.tie(t.owner, t.role, t.name, s)
		}
	}
	p.otherNames()
	if c.conditional || c.planned || c.past || c.has("no longer", "not any more", "anymore", "used to") {
		return
	}
	p.appositions(s)
	for _, k := range splitClauses(c.words) {
		p.clause(k, s)
	}
}

// add notes an entity; what is known of it already stands.
func (d *drawing) add(name, kind, description string) {
	key := strings.ToLower(name)
	i, known := d.at[key]
	if !known {
		if len(d.out.Entities) == graphThings || key == "" {
			return
		}
		i = len(d.out.Entities)
		d.at[key] = i
		d.out.Entities = append(d.out.Entities, llm.Entity{Name: name})
		if key == llm.UserEntity {
			d.out.Entities[i].Name, kind = llm.UserEntity, "person"
		}
	}
	e := &d.out.Entities[i]
	if e.Type == "" {
		e.Type = kind
	}
	if e.Description == "" {
		e.Description = description
	}
}

// alias notes another name of an entity.
func (d *drawing) alias(name, other string) {
	i, known := d.at[strings.ToLower(name)]
	if known && !strings.EqualFold(name, other) && !slices.Contains(d.out.Entities[i].Aliases, other) {
		d.out.Entities[i].Aliases = append(d.out.Entities[i].Aliases, other)
	}
}

// drop forgets an entity and what it relates to.
func (d *drawing) drop(name string) {
	key := strings.ToLower(name)
	if _, known := d.at[key]; !known {
		return
	}
	d.out.Entities = slices.DeleteFunc(d.out.Entities, func(e llm.Entity) bool { return strings.EqualFold(e.Name, name) })
	d.out.Relations = slices.DeleteFunc(d.out.Relations, func(r llm.EntityRelation) bool {
		return strings.EqualFold(r.From, name) || strings.EqualFold(r.To, name)
	})
	clear(d.at)
	for i, e := range d.out.Entities {
		d.at[strings.ToLower(e.Name)] = i
	}
}

// tie notes a relation between entities.
func (d *drawing) tie(from, kind, to, words string) {
	_, a := d.at[strings.ToLower(from)]
	_, b := d.at[strings.ToLower(to)]
	r := llm.EntityRelation{From: from, Type: kind, To: to, Words: words}
	if a && b && !strings.EqualFold(from, to) && len(d.out.Relations) < graphTies && !slices.Contains(d.out.Relations, r) {
		d.out.Relations = append(d.out.Relations, r)
	}
}

// parsed is a sentence with its things, in their order.
type parsed struct {
	*claim
	*drawing
	things []thing
}

// thingAt gives the thing that word i is part of.
func (p *parsed) thingAt(i int) *thing {
	for k := range p.things {
		if i >= p.things[k].from && i < p.things[k].to {
			return &p.things[k]
		}
	}
	return nil
}

// findThings finds what the sentence names.
func (p *parsed) findThings() {
	ws := p.claim.words
	for i := 0; i < len(ws); {
		t, ok := p.thingFrom(i)
		if !ok {
			i++
			continue
		}
		p.things = append(p.things, t)
		i = t.to
	}
}

func (p *parsed) thingFrom(i int) (thing, bool) {
	ws := p.claim.words
	if t, n := toolAt(ws, i); n > 0 && (n > 1 || len([]rune(ws[i].low)) > 1) {
		return thing{from: i, to: i + n, name: p.written(i, i+n), kind: "tool", description: t.class}, true
	}
	switch w := ws[i].low; {
	case (w == "i" || w == "me" || w == "we" || w == "us" || w == "mine" || w == "myself") && p.user:
		return thing{from: i, to: i + 1, name: llm.UserEntity}, true
	case (w == "my" || w == "our") && p.user:
		return p.possessed(i, i+1, llm.UserEntity, "the user's ")
	case w == "user" || w == "users":
		if p.lowAt(i+1) == "'s" {
			return p.possessed(i, i+2, llm.UserEntity, "the user's ")
		}
		return thing{from: i, to: i + 1, name: llm.UserEntity}, true
	}
	if n := p.nameAt(i); n > 0 {
		t := thing{from: i, to: i + n, name: p.written(i, i+n)}
		if titles[ws[i].low] {
			t.kind = "person"
		}
		if t.to < len(ws) && ws[t.to].low == "'s" {
			if mine, ok := p.possessed(i, t.to+1, t.name, t.name+"'s "); ok {
				p.drawing.add(t.name, t.kind, "")
				return mine, true
			}
			t.to++
		}
		return t, true
	}
	return thing{}, false
}

// possessed reads whom or what somebody has, from word j on: my dentist Dr. Lind,
// Ben's sister. Without a name of its own it is called by the whole phrase, and only
// when it is somebody.
func (p *parsed) possessed(i, j int, owner, of string) (thing, bool) {
	ws := p.claim.words
	k := j
	for k < len(ws) && k < j+3 && p.roleWord(k) {
		k++
	}
	if k == j {
		if owner == llm.UserEntity && ws[i].low == "user" {
			return thing{from: i, to: j, name: owner}, true
		}
		return thing{}, false
	}
	role := p.written(j, k)
	n := k
	if n < len(ws) && ws[n].low == "," {
		n++
	}
	if m := p.nameAt(n); m > 0 && (n == k || n+m < len(ws) && punctuation(ws[n+m].low)) {
		return thing{from: i, to: n + m, name: p.written(n, n+m), kind: kindOfRole(role), description: of + role, owner: owner, role: strings.ToLower(role)}, true
	}
	if !person(ws[k-1].low) {
		return thing{}, false
	}
	return thing{from: i, to: k, name: p.written(i, k), kind: "person", description: of + role, owner: owner, role: strings.ToLower(role)}, true
}

// roleWord tells whether a word can be part of what somebody is to somebody.
func (p *parsed) roleWord(i int) bool {
	w := p.claim.words[i]
	if w.raw == "" || capitalised(w.raw) || punctuation(w.low) || hasDigit(w.low) || prepositions[w.low] || determiners[w.low] || w.low == "is" || w.low == "and" {
		return false
	}
	return person(w.low) || verbOf(w.low) == "" || verbOf(w.low) == w.low && !(i > 0 && person(p.claim.words[i-1].low))
}

// nameAt gives how many words the proper name that begins at word i has, 0 when
// none does.
func (p *parsed) nameAt(i int) int {
	ws := p.claim.words
	if i >= len(ws) || !p.nameWord(i) {
		return 0
	}
	n := 1
	for i+n < len(ws) {
		switch w := ws[i+n]; {
		case w.low == "." && titles[ws[i+n-1].low] && i+n+1 < len(ws) && capitalised(ws[i+n+1].raw):
			n++
		case p.nameWord(i+n) && ws[i+n-1].end+1 >= w.start-1:
			n++
		case nameJoints[w.low] && i+n+1 < len(ws) && p.nameWord(i+n+1) && !startsNew(p, i+n+1):
			n += 2
		default:
			if n == 1 && (titles[ws[i].low] || p.first(i) && !p.telling(i)) {
				return 0
			}
			return n
		}
	}
	if n == 1 && (titles[ws[i].low] || p.first(i) && !p.telling(i)) {
		return 0
	}
	return n
}

// startsNew tells whether a tool begins at a word, which no name swallows.
func startsNew(p *parsed, i int) bool {
	_, n := toolAt(p.claim.words, i)
	return n > 0
}

// nameJoints stand inside names.
var nameJoints = set("of", "de", "van", "von", "der", "la", "le", "di", "del", "da", "du", "al", "bin")

func (p *parsed) nameWord(i int) bool {
	w := p.claim.words[i]
	if w.raw == "" || !capitalised(w.raw) || noNames[w.low] || neverNames[w.low] || determiners[w.low] {
		return false
	}
	if _, month := months[w.low]; month {
		return false
	}
	if _, day := weekdays[strings.TrimSuffix(w.low, "s")]; day {
		return false
	}
	_, tool := toolAt(p.claim.words, i)
	return tool == 0 && (len([]rune(w.low)) > 1 || i+1 < len(p.claim.words) && capitalised(p.claim.words[i+1].raw))
}

// neverNames begin with a capital for other reasons.
var neverNames = set("yes", "no", "ok", "okay", "hi", "hello", "hey", "thanks", "please", "remember", "note", "mr", "mrs", "dear", "when", "if", "because", "since", "while", "after", "before",
	"although", "though", "however", "maybe", "perhaps", "actually", "not", "never", "always", "for", "in", "on", "at", "from", "with", "by", "as", "to", "of", "so", "last", "next", "every", "people",
	"someone", "somebody", "anyone", "nobody", "dinner", "lunch", "breakfast", "morning", "evening", "once", "why", "how", "where", "which", "me", "us", "him", "them", "its", "or", "am", "pm", "i")

// first tells whether a word begins a sentence or a quotation, where everything
// has a capital.
func (p *parsed) first(i int) bool {
	before := p.lowAt(i - 1)
	return i == 0 || before == "\"" || before == ":" || before == "." || before == ";"
}

// telling tells whether what follows a word at the beginning shows it to be a name:
// a verb that tells of it, or what belongs to it. A word that the text also has in
// small letters is none.
func (p *parsed) telling(i int) bool {
	w, next := p.claim.words[i], p.lowAt(i+1)
	if strings.Contains(p.text, " "+w.low+" ") || abstract.MatchString(w.low) || verbOf(w.low) == w.low {
		return false
	}
	return next == "'s" || next == "," || next == "(" || next == "and" && p.nameWordAt(i+2) || finite(next) || verbOf(next) != "" && verbOf(next) != next
}

func (p *parsed) nameWordAt(i int) bool { return i < len(p.claim.words) && p.nameWord(i) }

// written gives the words [from, to) as they stand in the text.
func (p *parsed) written(from, to int) string {
	s := p.claim.text[p.claim.words[from].start:p.claim.words[to-1].end]
	return strings.TrimSuffix(strings.TrimSuffix(s, "'s"), "’s")
}

// otherNames reads what says that a thing has another name too.
func (p *parsed) otherNames() {
	for i := 0; i+1 < len(p.things); i++ {
		a, b := p.things[i], p.things[i+1]
		between := lowWords(p.claim.words[a.to:b.from])
		switch {
		case sameNames[strings.Trim(between, " ,")]:
			p.drawing.alias(a.name, b.name)
		case between == "(" && b.to < len(p.claim.words) && p.claim.words[b.to].low == ")" && initials(a.name) == strings.ToUpper(b.name):
			p.drawing.alias(a.name, b.name)
		}
	}
	for _, phrase := range []string{" my name is ", " call me ", " user 's name is ", " i am called "} {
		if at := strings.Index(p.claim.norm, phrase); at >= 0 && (p.user || strings.Contains(phrase, "user")) {
			n := strings.Count(p.claim.norm[:at+len(phrase)-1], " ") // words before it
			if t := p.thingAt(n); t != nil && t.name != llm.UserEntity && t.from == n {
				p.drawing.add(llm.UserEntity, "person", "")
				p.drawing.alias(llm.UserEntity, t.name)
			}
		}
	}
}

// sameNames stand between two names of one thing.
var sameNames = set("also known as", "known as", "aka", "a.k.a", "a.k.a.", "also called", "is also called", "is also known as", "nicknamed", "is nicknamed", "goes by", "is short for", "short for",
	"is called", "is another name for")

func lowWords(ws []word) string {
	var out []string
	for _, w := range ws {
		out = append(out, w.low)
	}
	return strings.Join(out, " ")
}

// initials gives the first letters of a name's words.
func initials(name string) string {
	out := ""
	for w := range strings.FieldsSeq(name) {
		out += strings.ToUpper(string([]rune(w)[:1]))
	}
	return out
}
