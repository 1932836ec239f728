package jobs

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/llm"
)

// The gate stands between what a judge says and what changes. It is the same
// for every judge, it only ever takes away, and what it refuses is counted.

// Bounds of what a judge may propose.
const (
	maxDrafts       = 20   // memories from one turn
	maxDraftRunes   = 2000 // in one of them
	maxTags         = 12
	maxTagRunes     = 40
	maxSummaryRunes = 160
	maxSpeakerRunes = 80
	furthestExpiry  = 10 * 366 * 24 * time.Hour
)

// Slots are the slots that facts stand in.
var Slots = []string{"user", "project", "agent"}

// gateDrafts gives the memories that a turn's drafts may become, the draft of
// each by its id, and how many drafts were refused. A draft needs a quote that
// stands in the turn; the side where it stands decides the source. What reads like
// an order to the agent, and no user's, is kept in quarantine.
func gateDrafts(t oxbow.Turn, drafts []llm.Draft, now time.Time) (kept []oxbow.Memory, of map[string]llm.Draft, refused int) {
	of = map[string]llm.Draft{}
	for i, d := range drafts {
		m, ok := gateDraft(t, d, now)
		if _, seen := of[m.ID]; !ok || i >= maxDrafts || seen {
			refused++
			continue
		}
		of[m.ID] = d
		kept = append(kept, m)
	}
	return kept, of, refused
}

func gateDraft(t oxbow.Turn, d llm.Draft, now time.Time) (oxbow.Memory, bool) {
	body, _ := text.Redact(text.Normalise(d.Text))
	source, quote, found := locate(t, d.Quote)
	if body == "" || len([]rune(body)) > maxDraftRunes || !found || !slices.Contains(oxbow.Kinds, d.Kind) {
		return oxbow.Memory{}, false
	}
	m := oxbow.Memory{
		Scope: t.Scope, Status: oxbow.Active, Kind: d.Kind, Source: source,
		Content:    CleanContent(oxbow.Content{Text: body, Summary: d.Summary, Tags: d.Tags}),
		Importance: max(0, min(10, d.Importance)),
		Rating:     0.5, SaidAt: Milli(t.At), Turn: t.ID, Conversation: t.Conversation,
		Quote: quote, CreatedAt: now,
	}
	if d.Key != "" {
		m.Slot, m.Key = d.Slot, CleanKey(d.Key)
		if !slices.Contains(Slots, m.Slot) || m.Key == "" {
			return oxbow.Memory{}, false
		}
		m.Kind = oxbow.Fact
	} else if m.Kind == oxbow.Fact || slices.Contains(noteKinds, m.Kind) { // notes are made by observe alone
		m.Kind = oxbow.Semantic
	}
	m.ID = oxbow.NewID("memory", t.Scope.Tenant, t.Scope.Name, t.ID, m.Slot, m.Key, m.Content.Text)
	return screenQuoted(t, Screen(m)), true
}

// locate finds a quote in the part of the turn where it stands.
func locate(t oxbow.Turn, quote string) (oxbow.Source, oxbow.Quote, bool) {
	quote = text.Normalise(quote)
	if quote == "" {
		return "", oxbow.Quote{}, false
	}
	in := func(part, whole string, s oxbow.Source) (oxbow.Source, oxbow.Quote, bool) {
		i := strings.Index(whole, quote)
		return s, oxbow.Quote{Part: part, Start: i, End: i + len(quote)}, i >= 0
	}
	if s, q, ok := in("user", t.User, oxbow.FromUser); ok {
		return s, q, true
	}
	if s, q, ok := in("assistant", t.Assistant, oxbow.FromAssistant); ok {
		return s, q, true
	}
	for i, p := range t.Parts {
		if s, q, ok := in("parts/"+itoa(i), p.Text, p.Source); ok {
			return s, q, true
		}
	}
	return "", oxbow.Quote{}, false
}

// CleanContent brings a content to the bounds of DESIGN 1: a summary of at most
// 160 characters, made from the text when there is none, and sorted tags.
func CleanContent(c oxbow.Content) oxbow.Content {
	c.Text = text.Normalise(c.Text)
	c.Speaker = brief(c.Speaker, maxSpeakerRunes)
	if c.Summary == "" {
		c.Summary = text.Clip(c.Text, maxSummaryRunes)
	}
	c.Summary = brief(c.Summary, maxSummaryRunes)
	var tags []string
	for _, t := range c.Tags {
		t, _ = text.Redact(strings.ToLower(brief(t, maxTagRunes)))
		if t != "" {
			tags = append(tags, t)
		}
	}
	tags = unite(tags)
	c.Tags = tags[:min(len(tags), maxTags)]
	return c
}

// brief cuts words to at most so many runes. Secrets are taken out before that,
// because half of one has not its form, and after it, so that nothing is left to
// take out.
func brief(s string, most int) string {
	s, _ = text.Redact(text.Normalise(s))
	s, _ = text.Redact(text.Clip(s, most))
	return s
}

var keySigns = regexp.MustCompile(`[^\p{L}\p{N}]+`)

// CleanKey gives a key in the form under which it is an address: lower case,
// words joined by _, at most 64 characters.
func CleanKey(k string) string {
	k = strings.Trim(keySigns.ReplaceAllString(strings.ToLower(text.Normalise(k)), "_"), "_")
	r := []rune(k)
	return strings.Trim(string(r[:min(len(r), 64)]), "_")
}

// gateRelations gives the verdicts that a judge's relations make, over offered
// labels only, and how many were refused.
func gateRelations(m oxbow.Memory, offered map[string]oxbow.Memory, rs []llm.Relation) (vs []oxbow.Verdict, refused int) {
	seen := map[string]bool{}
	for _, r := range rs {
		o, ok := offered[r.Label]
		if !ok || seen[r.Label] || o.Scope != m.Scope {
			refused++
			continue
		}
		seen[r.Label] = true
		switch r.Relation {
		case oxbow.Contradicts, oxbow.Replaces, oxbow.ConfirmsIt, oxbow.Unsure:
			vs = append(vs, oxbow.NewVerdict(m, o, r.Relation))
		case oxbow.Unrelated:
		default:
			refused++
		}
	}
	return vs, refused
}

// gateExpiry gives the instant at which a memory ends, or the one at which it is
// to be reviewed, or why the judge's answer is refused. A date must lie after the
// statement and not too far off, and the rules of the code, when they read a day
// in the words that the judge names, must read the same.
func gateExpiry(m oxbow.Memory, turn oxbow.Turn, e llm.Expiry, s oxbow.ScopeSettings, read DateReader) (expires, review time.Time, why string) {
	if e.Date.IsZero() {
		if e.Event {
			review = m.SaidAt.Add(time.Duration(s.Policy.ReviewAfterDays * float64(24*time.Hour)))
		}
		return time.Time{}, Milli(review), ""
	}
	end := endOfDay(e.Date, s.Location())
	if !end.After(m.SaidAt) || !end.Before(m.SaidAt.Add(furthestExpiry)) {
		return time.Time{}, time.Time{}, "the date found does not lie after the statement, or too far off"
	}
	if read == nil {
		return end, time.Time{}, ""
	}
	if !standsIn(e.Phrase, m, turn) {
		return time.Time{}, time.Time{}, "the words said to name the day stand neither in the memory nor in its turn"
	}
	if day, ok := read(e.Phrase, m.SaidAt, s.Location()); ok && !endOfDay(day, s.Location()).Equal(end) {
		return time.Time{}, time.Time{}, "the words that name the day name another one"
	}
	return end, time.Time{}, ""
}

// standsIn tells whether a phrase stands in a memory's text or in its turn,
// whatever the case and the white space.
func standsIn(phrase string, m oxbow.Memory, t oxbow.Turn) bool {
	fold := func(s string) string { return strings.Join(strings.Fields(strings.ToLower(text.Normalise(s))), " ") }
	phrase = strings.Trim(fold(phrase), `"'“”‘’.,;:!?… `)
	if phrase == "" {
		return false
	}
	whole := []string{m.Content.Text, t.User, t.Assistant}
	for _, p := range t.Parts {
		whole = append(whole, p.Text)
	}
	return slices.ContainsFunc(whole, func(s string) bool { return strings.Contains(fold(s), phrase) })
}

// endOfDay gives the first instant after a day in a zone.
func endOfDay(t time.Time, zone *time.Location) time.Time {
	y, m, d := t.In(zone).Date()
	return Milli(time.Date(y, m, d+1, 0, 0, 0, 0, zone))
}

// gateClusters gives groups over offered labels, each label in one group, each
// with two members or more of one scope. A merged memory merges again only together with two
// that are not.
func gateClusters(offered map[string]oxbow.Memory, groups [][]string) (kept [][]oxbow.Memory, refused int) {
	taken := map[string]bool{}
	for _, g := range groups {
		var ms []oxbow.Memory
		leaves, ok := 0, len(g) >= 2
		for _, label := range g {
			m, known := offered[label]
			ok = ok && known && !taken[label] && (len(ms) == 0 || m.Scope == ms[0].Scope && m.Content.Speaker == ms[0].Content.Speaker)
			taken[label] = true
			if !m.Derived {
				leaves++
			}
			ms = append(ms, m)
		}
		if !ok || leaves < len(ms) && leaves < 2 {
			refused++
			continue
		}
		kept = append(kept, ms)
	}
	return kept, refused
}
