package offline

import (
	"slices"
	"strings"

	"github.com/oxbow-memory/oxbow/llm"
)

// verbOf gives the base form of a verb, "" for what is none.
func verbOf(w string) string {
	if l := verbs[w]; l != "" {
		return l
	}
	return relationVerbs[w]
}

var relationVerbs = makeRelationVerbs("introduce found invite befriend mentor co-found acquire")

// makeRelationVerbs gives base forms by regular form.
func makeRelationVerbs(list string) map[string]string {
	m := map[string]string{}
	for v := range strings.FieldsSeq(list) {
		stem := strings.TrimSuffix(v, "e")
		for _, form := range []string{v, third(v), stem + "ed", stem + "ing"} {
			m[form] = v
		}
	}
	return m
}

// third gives the third person of a verb.
func third(v string) string {
	switch {
	case v == "be":
		return "is"
	case v == "have":
		return "has"
	case strings.HasSuffix(v, "y") && len(v) > 1 && !strings.ContainsRune("aeiou", rune(v[len(v)-2])):
		return v[:len(v)-1] + "ies"
	case strings.HasSuffix(v, "s"), strings.HasSuffix(v, "sh"), strings.HasSuffix(v, "ch"), strings.HasSuffix(v, "x"), strings.HasSuffix(v, "o"):
		return v + "es"
	}
	return v + "s"
}

// professions are people by what they do for somebody.
var professions = set("dentist", "doctor", "gp", "therapist", "physiotherapist", "optician", "vet", "lawyer", "solicitor", "accountant", "barber", "hairdresser", "teacher", "tutor", "coach", "trainer",
	"boss", "manager", "assistant", "mentor", "professor", "supervisor", "nanny", "babysitter", "plumber", "electrician", "gardener", "cleaner", "mechanic", "architect", "builder", "tailor", "editor",
	"agent", "chef", "baker", "surgeon", "nurse", "psychologist", "designer", "developer", "engineer", "contractor", "client", "customer", "tenant", "guide", "classmate", "housemate", "buddy", "ex")

// person tells whether a word is somebody.
func person(w string) bool {
	return kin[w] && w != "dog" && w != "cat" && w != "team" || professions[w]
}

func kindOfRole(role string) string {
	ws := strings.Fields(strings.ToLower(role))
	if person(ws[len(ws)-1]) {
		return "person"
	}
	return ""
}

// clause reads the relations of one clause: its subject, its verb with the
// preposition before each thing that follows, and what it says the subject is.
func (p *parsed) clause(ws []word, said string) {
	from := p.place(ws)
	to := from + len(ws)
	before := p.drawing.last
	v := p.verb(from, to)
	if v < 0 { // Ben, a baker, …: what follows is said of the first
		for i := to - 1; i >= from; i-- {
			if t := p.thingAt(i); t != nil {
				p.drawing.last = t
				if p.drawing.tail == nil || t.to == to {
					p.drawing.tail = t
				}
			}
		}
		return
	}
	if p.denied(from, to) {
		return
	}
	subjects := p.subjects(from, v, before)
	if len(subjects) == 0 {
		return
	}
	p.drawing.last = &subjects[len(subjects)-1]
	verb, next := p.phrase(v, to)
	if p.claim.words[v].low != "be" && verbOf(p.claim.words[v].low) == "be" {
		p.complement(subjects, next, to, said)
	}
	p.objects(subjects, verb, next, to, said)
}

// place gives where the words of a clause stand in the sentence.
func (p *parsed) place(ws []word) int {
	for i, w := range p.claim.words {
		if w.start == ws[0].start && w.low == ws[0].low {
			return i
		}
	}
	return 0
}

// verb gives the place of the clause's finite verb, -1 for none.
func (p *parsed) verb(from, to int) int {
	for i := from; i < to; i++ {
		w := p.claim.words[i].low
		if p.thingAt(i) != nil || verbOf(w) == "" || strings.HasSuffix(w, "ing") || i > from && determiners[p.lowAt(i-1)] {
			continue
		}
		if auxiliary := w == "have" || w == "has" || w == "had" || w == "do" || w == "does" || w == "did"; auxiliary && i+1 < to && verbOf(p.lowAt(i+1)) != "" {
			continue
		}
		return i
	}
	return -1
}

func (p *parsed) denied(from, to int) bool { return negations(p.claim.words[from:to]) > 0 }

// subjects gives what the verb at v is said of: the things before it that are
// joined by and, or those of the clause before.
func (p *parsed) subjects(from, v int, before *thing) []thing {
	var out []thing
	for i := v - 1; i >= from; i-- {
		t := p.thingAt(i)
		switch {
		case t != nil && (len(out) == 0 || out[0].from != t.from):
			if len(out) > 0 && p.lowAt(out[0].from-1) != "and" && p.lowAt(out[0].from-1) != "," {
				return out
			}
			if prep := p.lowAt(t.from - 1); prepositions[prep] && t.from-1 >= from {
				continue // the head stands before the preposition
			}
			out = slices.Insert(out, 0, *t)
		case t == nil && len(out) > 0 && p.claim.words[i].low != "and" && p.claim.words[i].low != ",":
			return out
		}
	}
	if len(out) > 0 {
		return out
	}
	first := p.lowAt(from)
	switch {
	case (first == "which" || first == "that" || first == "who" || first == "it" || first == "where") && p.drawing.tail != nil:
		return []thing{*p.drawing.tail}
	case before != nil && (v == from || first == "and" || first == "he" || first == "she" || first == "they"):
		return []thing{*before}
	}
	return nil
}

// phrase gives the verb group at v as a relation is called by it, and where it ends.
func (p *parsed) phrase(v, to int) (string, int) {
	w := p.claim.words[v].low
	lemma := verbOf(w)
	next := v + 1
	if lemma == "be" {
		for next < to && adverbs[p.lowAt(next)] {
			next++
		}
		if l := verbOf(p.lowAt(next)); next < to && l != "" && l != "be" && p.thingAt(next) == nil && (strings.HasSuffix(p.lowAt(next), "ed") || l != p.lowAt(next)) {
			return p.lowAt(next), next + 1 // is based in, was founded by
		}
		return "is", next
	}
	form := third(lemma)
	if w != lemma && w != form {
		form = w // introduced, took: it was done once
	}
	if next < to && particles[p.lowAt(next)] && next+1 < to {
		form += " " + p.lowAt(next)
		next++
	}
	return form, next
}

// complement reads what the subjects are said to be: a restaurant, my dentist.
func (p *parsed) complement(subjects []thing, from, to int, said string) {
	if from >= to {
		return
	}
	s := subjects[len(subjects)-1]
	if t := p.thingAt(from); t != nil {
		if t.role != "" && t.name != s.name && t.kind == "person" && p.lowAt(from) != s.name { // Igor is my dentist
			p.is(s.name, t.owner, t.role, t.description, said)
		} else if s.role != "" && t.from == from && strings.HasSuffix(strings.ToLower(s.name), s.role) && t.name != llm.UserEntity { // my dentist is Igor
			p.drawing.drop(s.name)
			p.is(t.name, s.owner, s.role, s.description, said)
		}
		return
	}
	if w := p.lowAt(from); w != "a" && w != "an" && w != "the" {
		return
	}
	for _, s := range subjects {
		p.kindOf(s.name, from+1, to, said)
	}
}

// is says of a thing what it is to somebody.
func (p *parsed) is(name, owner, role, description, said string) {
	p.drawing.add(name, "person", description)
	p.drawing.add(owner, "", "")
	p.drawing.tie(owner, role, name, said)
}

// kindOf relates a thing to the noun that begins at a word, and to the noun with
// the word before it: a wine bar is a bar.
func (p *parsed) kindOf(name string, from, to int, said string) bool {
	end := p.noun(from, to)
	if end < 0 || name == llm.UserEntity && !person(p.lowAt(end-1)) && !strings.HasSuffix(p.lowAt(end-1), "r") {
		return false
	}
	head := p.written(end-1, end)
	p.drawing.add(name, "", strings.TrimSpace(p.written(from-1, end)))
	p.drawing.add(head, "kind", "")
	p.drawing.tie(name, "is a", head, said)
	if end-2 >= from && !plainAdjectives[p.lowAt(end-2)] && !capitalised(p.claim.words[end-2].raw) {
		both := p.written(end-2, end)
		p.drawing.add(both, "kind", "")
		p.drawing.tie(name, "is a", both, said)
	}
	return true
}

// plainAdjectives colour a noun and are no part of what it is.
var plainAdjectives = set("good", "great", "nice", "new", "old", "small", "little", "big", "large", "cosy", "cozy", "lovely", "fine", "famous", "popular", "local", "cheap", "expensive", "favourite", "favorite",
	"best", "real", "young", "wonderful", "tiny", "huge", "quiet", "busy", "beautiful", "excellent", "decent", "fancy", "friendly", "close", "very", "really", "quite", "more", "hidden", "charming", "amazing")

// dullNouns say nothing of what a thing is.
var dullNouns = set("thing", "lot", "bit", "way", "one", "time", "day", "few", "kind", "sort", "couple", "number", "fact", "idea", "problem", "reason", "example", "matter", "part", "mess", "pity", "shame",
	"pain", "must", "week", "month", "year", "hour", "minute", "piece", "pair", "good", "best", "same", "first", "last", "only", "most", "rest", "case", "point", "deal", "joke", "disaster", "while")

// noun gives the end of a noun phrase that begins at a word, -1 for none.
func (p *parsed) noun(from, to int) int {
	end := from
	for end < to && end < from+5 {
		w := p.claim.words[end]
		if w.raw == "" || punctuation(w.low) || prepositions[w.low] || determiners[w.low] || w.low == "and" || w.low == "or" || hasDigit(w.low) || end > from && finite(w.low) {
			break
		}
		end++
	}
	if end == from || dullNouns[p.lowAt(end-1)] || adverbs[p.lowAt(end-1)] || plainAdjectives[p.lowAt(end-1)] || len(p.lowAt(end-1)) < 3 || p.thingAt(end-1) != nil || capitalised(p.claim.words[end-1].raw) {
		return -1
	}
	return end
}

// objectNouns are the verbs whose object is worth a node though it is no name.
var objectNouns = set("own", "run", "open", "found", "manage", "play", "teach", "study", "drive", "like", "love", "enjoy", "have", "adopt", "buy", "co-found")

// objects relates the subjects to the things behind the verb.
func (p *parsed) objects(subjects []thing, verb string, from, to int, said string) {
	prep, joined := "", ""
	for i := from; i < to; i++ {
		w := p.lowAt(i)
		t := p.thingAt(i)
		switch {
		case t != nil && t.from == i:
			kind := strings.TrimSpace(verb + " " + prep)
			if joined != "" && (p.lowAt(i-1) == "and" || p.lowAt(i-1) == ",") {
				kind = joined
			}
			if kind != "is" {
				p.object(subjects, kind, *t, said)
				joined = kind
			} else if p.thingAt(i).role == "" && i == from && len(subjects) == 1 {
				joined = ""
			}
			p.drawing.tail = t
			i = t.to - 1
			prep = ""
		case prepositions[w] && w != "that" && w != "which" && w != "who" && w != "where" && w != "because" && w != "if":
			prep = w
		case (w == "a" || w == "an") && prep == "" && i == from && objectNouns[verbOf(strings.Fields(verb)[0])]:
			if end := p.noun(i+1, to); end > 0 {
				head := p.written(end-1, end)
				p.drawing.add(head, "kind", "")
				for _, s := range subjects {
					p.drawing.tie(s.name, verb, head, said)
				}
				i = end - 1
			}
		case punctuation(w) && w != ",":
			return
		}
	}
}

// object relates the subjects to one thing, and tells from the relation what sort
// of thing it is.
func (p *parsed) object(subjects []thing, kind string, t thing, said string) {
	if of := objectKinds[kind]; of != "" && t.name != llm.UserEntity {
		p.drawing.add(t.name, of, "")
	}
	for _, s := range subjects {
		if subjectKinds[kind] && s.name != llm.UserEntity {
			p.drawing.add(s.name, "person", "")
		}
		p.drawing.tie(s.name, kind, t.name, said)
	}
}

// objectKinds are the types of what stands behind a relation; subjectKinds are the
// relations of people.
var (
	objectKinds = map[string]string{"works at": "organisation", "works for": "organisation", "lives in": "place", "moved to": "place", "comes from": "place", "is in": "place", "is from": "place",
		"based in": "place", "located in": "place", "visited": "place", "married to": "person", "met": "person", "studies at": "organisation", "joined": "organisation"}
	subjectKinds = set("works at", "works for", "lives in", "moved to", "comes from", "studies at", "introduced", "introduced to", "met", "married to", "likes", "loves")
)

// appositions reads what is said of a thing beside it: Ben, a baker; the restaurant
// Nightshade; a bar called Luna.
func (p *parsed) appositions(said string) {
	ws := p.claim.words
	for i := range p.things {
		t := p.things[i]
		if t.name == llm.UserEntity {
			continue
		}
		if p.lowAt(t.to) == "," && (p.lowAt(t.to+1) == "a" || p.lowAt(t.to+1) == "an" || p.lowAt(t.to+1) == "the") {
			if end := p.noun(t.to+2, len(ws)); end > 0 && (end == len(ws) || punctuation(ws[end].low) || prepositions[ws[end].low]) {
				p.kindOf(t.name, t.to+2, end, said)
			}
		}
		at := t.from
		if before := p.lowAt(at - 1); before == "called" || before == "named" {
			at--
		}
		for n := 1; n <= 3; n++ {
			if d := p.lowAt(at - n - 1); d != "the" && d != "a" && d != "an" {
				continue
			}
			if end := p.noun(at-n, at); end == at {
				p.kindOf(t.name, at-n, at, said)
			}
			break
		}
	}
}
