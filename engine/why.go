package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
)

// Story is why a memory is what it is: one sentence for each thing that
// happened to it, oldest first, and where it stands now.
type Story struct {
	Memory oxbow.Memory `json:"memory"`
	Lines  []StoryLine  `json:"lines"`
	Now    []string     `json:"now"`
	// Turns are those that an observation rests on, by when they were said.
	Turns []string `json:"turns,omitempty"`
}

// StoryLine is one event told as a sentence.
type StoryLine struct {
	At    time.Time   `json:"at"`
	Text  string      `json:"text"`
	Event oxbow.Event `json:"event"`
}

// Why tells the story of a memory from its events, with the words of the
// memories that it touches.
func (e *Engine) Why(ctx context.Context, tenant, id string) (Story, error) {
	m, err := e.Memory(ctx, tenant, id)
	if err != nil {
		return Story{}, err
	}
	events, err := e.st.EventsOf(ctx, tenant, []string{m.ID})
	if err != nil {
		return Story{}, err
	}
	links, err := e.st.Links(ctx, tenant, []string{m.ID})
	if err != nil {
		return Story{}, err
	}
	settings, err := e.st.Scope(ctx, m.Scope)
	if err != nil {
		return Story{}, err
	}
	t := teller{m: m, others: map[string]oxbow.Memory{}, zone: settings.Location()}
	others, err := e.st.Memories(ctx, tenant, touched(m, events, links))
	if err != nil {
		return Story{}, err
	}
	for _, o := range others {
		t.others[o.ID] = o
	}
	if m.Turn != "" {
		if turn, err := e.st.Turn(ctx, tenant, m.Turn); err == nil {
			t.turn = &turn
		}
	}
	if t.former, err = e.formerWords(ctx, tenant, events); err != nil {
		return Story{}, err
	}
	s := Story{Memory: m}
	for _, ev := range events {
		s.Lines = append(s.Lines, StoryLine{At: ev.At, Text: t.tell(ev), Event: ev})
	}
	s.Now = t.present(settings, links, e.now())
	rests, err := e.st.EvidenceOf(ctx, tenant, []string{m.ID})
	if err != nil {
		return Story{}, err
	}
	for _, r := range rests {
		s.Turns = append(s.Turns, r.Turn)
	}
	if len(s.Turns) > 0 {
		short := make([]string, len(s.Turns))
		for i, id := range s.Turns {
			short[i] = Short(id)
		}
		s.Now = append(s.Now, "It condenses the turns "+strings.Join(short, ", ")+".")
	}
	return s, nil
}

// formerWords gives the texts that edits replaced and that were not erased since.
func (e *Engine) formerWords(ctx context.Context, tenant string, events []oxbow.Event) (map[string]string, error) {
	out := map[string]string{}
	for _, ev := range events {
		if ev.Type != oxbow.Edited || ev.Before.ContentID == nil {
			continue
		}
		c, _, err := e.st.ContentBody(ctx, tenant, *ev.Before.ContentID)
		switch {
		case err == nil:
			out[*ev.Before.ContentID] = c.Text
		case oxbow.CodeOf(err) != oxbow.CodeNotFound:
			return nil, err
		}
	}
	return out, nil
}

func touched(m oxbow.Memory, events []oxbow.Event, links []oxbow.Link) []string {
	ids := []string{m.ReplacedBy}
	for _, ev := range events {
		if ev.After.ReplacedBy != nil {
			ids = append(ids, *ev.After.ReplacedBy)
		}
		for _, l := range slices.Concat(ev.Links, ev.Unlinks) {
			ids = append(ids, l.From, l.To)
		}
	}
	for _, l := range links {
		ids = append(ids, l.From, l.To)
	}
	return ids
}

type teller struct {
	m      oxbow.Memory
	others map[string]oxbow.Memory
	turn   *oxbow.Turn
	former map[string]string // what it said before it was edited, by content
	zone   *time.Location    // of the scope: days are said in it
}

func (t teller) day(at time.Time) string { return Day(at.In(t.zone)) }

// named quotes another memory with its id.
func (t teller) named(id string) string {
	o, ok := t.others[id]
	switch {
	case !ok:
		return Short(id)
	case o.Status == oxbow.Erased:
		return Short(id) + " (erased)"
	}
	return fmt.Sprintf("%s “%s” (said %s)", Short(id), text.Printable(text.Clip(o.Content.Summary, 90)), t.day(o.SaidAt))
}

// Short gives the beginning of an id that people read.
func Short(id string) string { return id[:min(len(id), 8)] }

// Day gives a day as people read it.
func Day(t time.Time) string { return t.Format("2 January 2006") }

var tellers = map[oxbow.EventType]func(teller, oxbow.Event) string{
	oxbow.Created:       teller.created,
	oxbow.Rated:         teller.rated,
	oxbow.Reinforced:    teller.reinforced,
	oxbow.Dated:         teller.dated,
	oxbow.Linked:        teller.linked,
	oxbow.Refused:       func(_ teller, e oxbow.Event) string { return "The gate refused a verdict: " + e.Reason + "." },
	oxbow.SupersededBy:  func(t teller, e oxbow.Event) string { return t.replaced(e, "It was superseded by ") },
	oxbow.CompressedTo:  func(t teller, e oxbow.Event) string { return t.replaced(e, "It was compressed into ") },
	oxbow.Edited:        teller.edited,
	oxbow.PinnedEvent:   func(_ teller, e oxbow.Event) string { return "It was pinned" + by(e) + "." },
	oxbow.UnpinnedEvent: func(_ teller, e oxbow.Event) string { return "It was unpinned" + by(e) + "." },
}

func (t teller) tell(e oxbow.Event) string {
	if f, ok := tellers[e.Type]; ok {
		return f(t, e)
	}
	if by(e) != "" && strings.HasPrefix(e.Reason, "an operator ") {
		return fmt.Sprintf("It was %s%s.", e.Type, by(e))
	}
	return fmt.Sprintf("It was %s%s: %s.", e.Type, by(e), e.Reason)
}

// edited tells what was changed, and the words from before while they are there.
func (t teller) edited(e oxbow.Event) string {
	line := "It was edited (" + changedFields(e) + ")" + by(e)
	if e.Before.ContentID != nil {
		if was, ok := t.former[*e.Before.ContentID]; ok {
			line += "; before it said: “" + text.Printable(text.Clip(was, 160)) + "”"
		}
	}
	return line + "."
}

func (t teller) created(e oxbow.Event) string {
	who := map[oxbow.Source]string{oxbow.FromUser: "The user", oxbow.FromAssistant: "The assistant", oxbow.FromTool: "A tool",
		oxbow.FromWeb: "A web page", oxbow.FromImport: "An import"}[t.m.Source]
	switch {
	case t.m.Derived:
		return fmt.Sprintf("It was written by %s from the memories it merges.", e.Judge)
	case t.turn == nil && t.m.Turn == "":
		return fmt.Sprintf("%s wrote it directly.", who)
	case t.turn == nil || t.turn.State == oxbow.TurnErased:
		return fmt.Sprintf("%s said it, in a turn whose text was erased.", who)
	}
	said := fmt.Sprintf("%s said it in conversation %s", who, text.Printable(orNone(t.m.Conversation)))
	if q := quoteOf(*t.turn, t.m.Quote); q != "" {
		said += ": “" + text.Printable(text.Clip(q, 160)) + "”"
	}
	return said + fmt.Sprintf("; %s kept it.", e.Judge)
}

func orNone(s string) string {
	if s == "" {
		return "(none)"
	}
	return s
}

func quoteOf(t oxbow.Turn, q oxbow.Quote) string {
	whole := map[string]string{"user": t.User, "assistant": t.Assistant}[q.Part]
	for i, p := range t.Parts {
		if q.Part == fmt.Sprintf("parts/%d", i) {
			whole = p.Text
		}
	}
	if q.Start < 0 || q.End > len(whole) || q.Start >= q.End {
		return ""
	}
	return whole[q.Start:q.End]
}

func (t teller) rated(e oxbow.Event) string {
	if e.After.Rated == nil || !*e.After.Rated {
		return fmt.Sprintf("%s was asked how surely it was said: %s.", e.Judge, e.Reason)
	}
	rating := 0.5
	if e.After.Rating != nil {
		rating = *e.After.Rating
	}
	return fmt.Sprintf("%s rated it %.1f: %s.", e.Judge, rating, sureness(rating))
}

// sureness puts a rating into the words of DESIGN 1.
func sureness(r float64) string {
	switch {
	case r >= 0.95:
		return "stated explicitly"
	case r >= 0.65:
		return "clearly implied"
	case r >= 0.45:
		return "a reasonable inference"
	case r >= 0.25:
		return "a weak inference"
	}
	return "speculation"
}

func (t teller) reinforced(e oxbow.Event) string {
	for _, l := range e.Links {
		if l.Type == oxbow.Confirms && l.To == t.m.ID {
			return "It was confirmed by " + t.named(l.From) + ", which raises its confidence by 0.1, up to 1."
		}
	}
	return "It was reinforced: " + e.Reason + "."
}

func (t teller) dated(e oxbow.Event) string {
	switch {
	case e.After.ExpiresAt != nil && !e.After.ExpiresAt.IsZero():
		return fmt.Sprintf("It ends by itself on %s%s.", t.day(e.After.ExpiresAt.Add(-time.Second)), by(e))
	case e.After.ReviewAt != nil:
		return fmt.Sprintf("It ends with an event that has no date; it is to be reviewed on %s.", t.day(e.After.ReviewAt.Time))
	}
	return "Its date was taken away" + by(e) + "."
}

func (t teller) linked(e oxbow.Event) string {
	var parts []string
	for _, l := range e.Unlinks {
		if l.Type == oxbow.ConflictsWith {
			parts = append(parts, "It no longer conflicts with "+t.named(farEnd(l, t.m.ID))+": "+e.Reason)
		}
	}
	for _, l := range e.Links {
		other := farEnd(l, t.m.ID)
		verb := map[oxbow.LinkType]string{oxbow.ConflictsWith: "It conflicts with ", oxbow.Confirms: "It was said again in other words by ",
			oxbow.Supersedes: "It is linked with ", oxbow.DerivedFrom: "It is linked with "}[l.Type]
		parts = append(parts, verb+t.named(other))
	}
	if len(parts) == 0 {
		return "A link was taken away: " + e.Reason + "."
	}
	return strings.Join(parts, ". ") + "."
}

// farEnd gives the end of a link that is not the memory.
func farEnd(l oxbow.Link, memory string) string {
	if l.From == memory {
		return l.To
	}
	return l.From
}

func (t teller) replaced(e oxbow.Event, verb string) string {
	to := t.m.ReplacedBy
	if e.After.ReplacedBy != nil {
		to = *e.After.ReplacedBy
	}
	return verb + t.named(to) + by(e) + ": " + e.Reason + "."
}

func by(e oxbow.Event) string {
	if e.Judge != "" {
		return ", on the word of " + e.Judge
	}
	if e.Actor == "operator" {
		return " by an operator"
	}
	return ""
}

func changedFields(e oxbow.Event) string {
	var out []string
	for _, f := range []struct {
		on   bool
		name string
	}{{e.After.ContentID != nil, "text"}, {e.After.Key != nil || e.After.Slot != nil, "address"},
		{e.After.Importance != nil, "importance"}, {e.After.ExpiresAt != nil, "date"}} {
		if f.on {
			out = append(out, f.name)
		}
	}
	return strings.Join(out, ", ")
}

// present says where the memory stands now.
func (t teller) present(s oxbow.ScopeSettings, links []oxbow.Link, now time.Time) []string {
	var out []string
	for _, l := range links {
		if l.From != t.m.ID {
			continue
		}
		switch l.Type {
		case oxbow.Supersedes:
			out = append(out, "It replaced "+t.named(l.To)+".")
		case oxbow.DerivedFrom:
			out = append(out, "It was merged from "+t.named(l.To)+".")
		case oxbow.Confirms:
			out = append(out, "It confirms "+t.named(l.To)+".")
		case oxbow.ConflictsWith:
			open := ""
			if t.m.Status == oxbow.Active && t.others[l.To].Status == oxbow.Active { // as Conflicts lists them
				open = "; nobody has decided which is right"
			}
			out = append(out, "It conflicts with "+t.named(l.To)+open+".")
		}
	}
	strength := s.Policy.StrengthOf(t.m, now)
	switch {
	case t.m.Status != oxbow.Active:
		out = append(out, fmt.Sprintf("Now it is %s and is not recalled.", t.m.Status))
	case t.m.Pinned:
		out = append(out, fmt.Sprintf("Now it is active, confidence %.2f, pinned: it does not fade.", t.m.Confidence()))
	case !t.m.Live(now) && t.m.FadesFirst():
		out = append(out, "Now it is active by name, but faded: it is not recalled, and the next pass archives it.")
	case !t.m.Live(now):
		out = append(out, "Now it is active by name, but past its end: it is not recalled, and the next pass retires it.")
	default:
		fades := "it never fades"
		switch {
		case !t.m.ExpiresAt.IsZero() && !t.m.FadesFirst():
			fades = "it ends by itself on " + t.day(t.m.ExpiresAt.Add(-time.Second))
		case !t.m.FadesAt.IsZero():
			fades = "unused, it fades on " + t.day(t.m.FadesAt)
		}
		out = append(out, fmt.Sprintf("Now it is active, confidence %.2f, strength %.2f; %s.", t.m.Confidence(), strength, fades))
	}
	return out
}
