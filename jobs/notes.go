package jobs

import (
	"context"
	"slices"
	"strings"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/store"
)

// noteKinds are what conversations are condensed into.
var noteKinds = []oxbow.Kind{oxbow.Observation, oxbow.Reflection}

// maxListed bounds how many notes of a conversation are looked at.
const maxListed = 1000

// ListNotes gives the active notes of a conversation, oldest said first.
func (d Deps) ListNotes(ctx context.Context, r store.MemoryReader, s oxbow.Scope, conversation string) ([]oxbow.Memory, error) {
	ms, err := r.ListMemories(ctx, store.MemoryFilter{Tenant: s.Tenant, Scope: s.Name, Conversation: conversation, Kinds: noteKinds,
		Status: []oxbow.Status{oxbow.Active}, LiveAt: d.now(), Limit: maxListed})
	slices.Reverse(ms)
	return ms, err
}

// eachConversation calls fn for one conversation, or for every one of a scope that
// has turns to observe or, when noted, active notes.
func eachConversation(ctx context.Context, r store.NoteReader, s oxbow.Scope, only string, noted bool, fn func(string) error) error {
	if only != "" {
		return fn(only)
	}
	after := ""
	for {
		names, err := r.Conversations(ctx, s, store.ConversationFilter{Noted: noted, After: after, Limit: planPage})
		if err != nil {
			return err
		}
		for _, n := range names {
			if err := fn(n); err != nil {
				return err
			}
			after = n
		}
		if len(names) < planPage {
			return nil
		}
	}
}

func (d Deps) noteRun(name string, a About, counts map[string]int) oxbow.Run {
	run := d.writeRun(a, counts)
	run.Name, run.Trigger = name, a.Trigger
	return run
}

func turnIDs(ts []oxbow.Turn) []string {
	ids := make([]string, len(ts))
	for i, t := range ts {
		ids[i] = t.ID
	}
	return ids
}

// tokensOf estimates what memories take in a prompt.
func tokensOf(ms []oxbow.Memory) int {
	n := 0
	for _, m := range ms {
		n += llm.TokensOf(len(m.Content.Text) + 1)
	}
	return n
}

// observed is what of a stretch passed the gate.
type observed struct {
	kept            []oxbow.Memory
	turns           map[string][]string  // by memory: all that it rests on
	of              map[string]llm.Draft // by memory: its rating and its end
	refused, echoed int
	unread          int // turns whose words the judge refuses
}

func (o observed) counts(turns int) map[string]int {
	out := map[string]int{"turns": turns}
	for name, n := range map[string]int{"refused": o.refused, "echoed": o.echoed, "unread": o.unread, "quarantined": quarantined(o.kept)} {
		if n > 0 {
			out[name] = n
		}
	}
	return out
}

// observations asks about a stretch and gives what may be kept of the answer. Turns
// whose words the judge refuses count as observed, without an observation.
func (d Deps) observations(ctx context.Context, s oxbow.ScopeSettings, turns []oxbow.Turn, run string) (observed, error) {
	out := observed{turns: map[string][]string{}, of: map[string]llm.Draft{}}
	shown, err := d.shownIn(ctx, s.Scope, turns[0].Conversation)
	if err != nil {
		return out, err
	}
	asked := asking(ctx, "observe", s.Scope, run, turnIDs(turns)...)
	unread, err := divided(turns, func(part []oxbow.Turn) error {
		texts := make([]llm.TurnText, len(part))
		for i, t := range part {
			texts[i] = textOf(t)
			texts[i].At = t.At.In(s.Location())
		}
		notes, err := d.Observer.Observe(llm.WithOwners(asked, turnIDs(part)...), texts)
		if err == nil {
			d.gateNotes(&out, part, notes, shown)
		}
		return err
	})
	out.unread = len(unread)
	return out, err
}

// seen is what an agent was shown in a conversation.
type seen struct {
	oxbow.Memory
	shown oxbow.Shown
}

func (d Deps) shownIn(ctx context.Context, s oxbow.Scope, conversation string) ([]seen, error) {
	shown, err := d.Store.ShownIn(ctx, s, conversation)
	if err != nil || len(shown) == 0 {
		return nil, err
	}
	at, ids := map[string]oxbow.Shown{}, make([]string, len(shown))
	for i, v := range shown {
		at[v.Memory], ids[i] = v, v.Memory
	}
	ms, err := d.Store.Memories(ctx, s.Tenant, ids)
	out := make([]seen, len(ms))
	for i, m := range ms {
		out[i] = seen{m, at[m.ID]}
	}
	return out, err
}

// notesPerTurn is how many notes one turn of a stretch is worth on average at most.
const notesPerTurn = 6

// gateNotes gives the memories that proposed notes may become. A note rests on
// offered turns only, its quote stands in one of them, it is shorter than they are,
// and it names nothing that they do not. It is as trusted as the least trusted part
// that it takes a name or a number from, and what reads like an order to the agent,
// and no user's, is kept in quarantine.
func (d Deps) gateNotes(out *observed, turns []oxbow.Turn, notes []llm.Observation, shown []seen) {
	byLabel := map[string]oxbow.Turn{}
	for i, t := range turns {
		byLabel[llm.TurnLabel(i)] = t
	}
	for i, n := range notes {
		m, rests, ok := gateNote(byLabel, n)
		switch {
		case !ok || i >= notesPerTurn*len(turns):
			out.refused++
			continue
		case out.turns[m.ID] != nil:
			continue // said twice
		case echoes(m, n.Quote, shown):
			out.echoed++
			continue
		}
		m.CreatedAt = d.now()
		out.kept = append(out.kept, m)
		out.turns[m.ID] = turnIDs(rests)
		out.of[m.ID] = llm.Draft{Rating: n.Rating, Expiry: n.Expiry}
	}
}

func gateNote(byLabel map[string]oxbow.Turn, n llm.Observation) (m oxbow.Memory, rests []oxbow.Turn, ok bool) {
	words := 0
	for _, l := range n.Turns {
		t, offered := byLabel[l]
		if !offered {
			return m, nil, false
		}
		rests, words = append(rests, t), words+turnBytes(t)
	}
	body, _ := text.Redact(text.Normalise(n.Text))
	if body == "" || len([]rune(body)) > maxDraftRunes || len(body) >= words {
		return m, nil, false
	}
	at := slices.IndexFunc(rests, func(t oxbow.Turn) bool { _, _, found := locate(t, n.Quote); return found })
	if at < 0 {
		return m, nil, false
	}
	t := rests[at]
	source, quote, _ := locate(t, n.Quote)
	if source, ok = leastOf(rests, body, source); !ok {
		return m, nil, false
	}
	m = oxbow.Memory{
		ID:    oxbow.NewID("observation", t.Scope.Tenant, t.Scope.Name, t.ID, body),
		Scope: t.Scope, Status: oxbow.Active, Kind: oxbow.Observation, Source: source,
		Content:    CleanContent(oxbow.Content{Text: body}),
		Importance: max(0, min(10, n.Importance)),
		Rating:     0.5, SaidAt: Milli(t.At), Turn: t.ID, Conversation: t.Conversation, Quote: quote,
	}
	return screenQuoted(t, Screen(m)), rests, true
}

func turnBytes(t oxbow.Turn) int {
	n := len(t.User) + len(t.Assistant)
	for _, p := range t.Parts {
		n += len(p.Text)
	}
	return n
}

// leastOf gives the least trusted source that a note takes a name or a number from,
// beginning with that of its quote; false when it names what no turn says.
func leastOf(turns []oxbow.Turn, note string, source oxbow.Source) (oxbow.Source, bool) {
	words := map[oxbow.Source]string{}
	for _, t := range turns {
		words[oxbow.FromUser] += "\n" + t.User
		words[oxbow.FromAssistant] += "\n" + t.Assistant
		for _, p := range t.Parts {
			words[p.Source] += "\n" + p.Text
		}
	}
	has := map[oxbow.Source]func(kind, word string) bool{}
	for s, w := range words {
		has[s] = saying(w)
	}
	for kind, names := range details(note) {
		for w := range names {
			from := oxbow.Source("")
			for _, s := range oxbow.Sources { // the most trusted that has it
				if has[s] != nil && has[s](kind, w) {
					from = s
					break
				}
			}
			switch {
			case from != "":
				source = oxbow.LeastTrusted(source, from)
			case kind != "negation": // "declined" is a denial in other words
				return source, false
			}
		}
	}
	return source, true
}

// saying tells of what details a text has, whatever the case of its words.
func saying(s string) func(kind, word string) bool {
	have := details(s)
	for _, w := range wordForm.FindAllString(s, -1) {
		for _, piece := range append(strings.FieldsFunc(w, isJoint), w) {
			have["name"][bare(piece)] = true
		}
	}
	return func(kind, word string) bool {
		if have[kind][word] || kind != "name" {
			return have[kind][word]
		}
		pieces := strings.FieldsFunc(word, isJoint)
		return len(pieces) > 0 && !slices.ContainsFunc(pieces, func(p string) bool { return !have["name"][p] })
	}
}

// echoes tells whether a note says what the agent had been shown before in the
// conversation: the same numbers and denials, and most of the other words. A
// question about it is none.
func echoes(m oxbow.Memory, quote string, shown []seen) bool {
	if strings.HasSuffix(strings.TrimSpace(quote), "?") {
		return false
	}
	said := stems(quote)
	mine := details(quote)
	for _, v := range shown {
		if v.shown.At.After(m.SaidAt) || v.IsNote() && v.Turn == m.Turn {
			continue
		}
		theirs := details(v.Content.Text)
		if len(lacking(mine["number"], theirs["number"]))+len(lacking(mine["negation"], theirs["negation"])) > 0 || len(theirs["negation"]) > len(mine["negation"]) {
			continue
		}
		known := stems(v.Content.Text)
		if both := len(said) - len(lacking(said, known)); both > 0 && float64(both) >= rephrased*float64(len(said)+len(known)-both) {
			return true
		}
	}
	return false
}

// lacking gives what of a set another one does not have.
func lacking(a, b map[string]bool) []string {
	var out []string
	for w := range a {
		if !b[w] {
			out = append(out, w)
		}
	}
	return out
}
