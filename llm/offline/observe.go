package offline

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/llm"
)

// maxNotes is how many notes one turn is worth at most, and maxClause from how
// many bytes on a clause loses its reasons and asides.
const (
	maxNotes   = 4
	longClause = 110
)

// observe notes each turn alone, so that the notes of a turn are the same
// whatever stretch it is observed in.
func observe(ctx context.Context, turns []llm.TurnText) ([]llm.Observation, error) {
	var out []llm.Observation
	for i, t := range turns {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for _, n := range notesOf(t) {
			out = append(out, n.observation(t, llm.TurnLabel(i)))
		}
	}
	return out, nil
}

// note is what one sentence is worth noting.
type note struct {
	saying
	quote      string
	kind       oxbow.Kind
	importance float64
	user       bool
	at         int // its place in the turn
}

func (n note) text() string { return n.head + ": " + n.words }

func (n note) observation(t llm.TurnText, label string) llm.Observation {
	out := llm.Observation{Text: n.text(), Turns: []string{label}, Quote: n.quote, Importance: n.importance,
		Rating: &llm.Rating{Confidence: explicit}, Expiry: &llm.Expiry{}}
	if n.head == "" {
		out.Text = n.words
	}
	if n.head == wanted {
		return out // that it was asked is sure, and does not end
	}
	source := oxbow.FromUser
	if !n.user {
		source = oxbow.FromAssistant
	}
	out.Rating.Confidence = rate(n.quote, t)
	*out.Expiry = expiry(llm.Statement{Text: n.quote, Kind: n.kind, Source: source, SaidAt: t.At}, t.At.Location())
	return out
}

// notesOf gives the notes of a turn in the order of its words: the most important
// ones, as many as are together shorter than the turn.
func notesOf(t llm.TurnText) []note {
	var all []note
	read := func(part string, user bool) {
		code := false
		for _, s := range split(part) {
			if strings.HasPrefix(s, "```") {
				code = !code
				continue
			}
			n, ok := noteOf(s, t, user)
			if same := func(o note) bool { return text.Same(o.words, n.words) }; code || !ok || slices.ContainsFunc(all, same) {
				continue
			}
			n.at = len(all)
			all = append(all, n)
		}
	}
	read(t.User, true)
	read(t.Assistant, false)
	whole := len(t.User) + len(t.Assistant)
	for _, p := range t.Parts {
		whole += len(p.Text)
	}
	slices.SortStableFunc(all, func(a, b note) int { return cmp.Compare(b.importance, a.importance) })
	return within(all, whole)
}

// within gives the first notes that are together shorter than so many bytes, in
// the order of the turn. The first one does without its head when only that fits.
func within(all []note, whole int) []note {
	var out []note
	left := whole
	for _, n := range all {
		switch size := len(n.text()); {
		case len(out) == maxNotes:
		case size < left:
			out, left = append(out, n), left-size
		case len(out) == 0 && n.head == mentioned && len(n.words) < left:
			n.head = ""
			n.words = sentenceCase(n.words)
			out, left = append(out, n), left-len(n.words)
		}
	}
	slices.SortFunc(out, func(a, b note) int { return a.at - b.at })
	return out
}

// done finds what somebody says that they did.
var done = regexp.MustCompile(`^ (?:i|we) (?:have |just |finally |also |already )*(?:fixed|finished|shipped|deployed|merged|wrote|added|removed|renamed|released|tested|updated|upgraded|created|sent|booked|bought|ordered|signed|cancelled|closed|opened|paid|called|met|filed|published|installed|configured|set up|refactored|rewrote|split|moved the|cleaned|ran|tried|reviewed|approved) `)

// noteOf says what a sentence is worth noting, if anything.
func noteOf(s string, t llm.TurnText, user bool) (note, bool) {
	if strings.Contains(s, "[redacted") || len(s) > maxSentence {
		return note{}, false
	}
	body := clean(s)
	c := parse(body, t.At)
	if len(c.words) == 0 || greeting(c) {
		return note{}, false
	}
	n := note{quote: s, user: user, kind: oxbow.Episodic}
	n.saying = saying{mentioned, shortened(c, body)}
	kind, importance, keeps := classify(c)
	switch {
	case !user:
		if !otherForms.MatchString(s) && !done.MatchString(c.norm) || c.asked || c.conditional || c.planned || c.hedged || len(c.stems) < 2 {
			return note{}, false
		}
		n.head, n.importance = finds, 4
		if done.MatchString(c.norm) {
			n.head, n.importance = did, 3
		}
	case c.asked || request(c):
		if len(c.stems) == 0 {
			return note{}, false
		}
		n.head, n.importance = wanted, 2
	case (isDecision(c) || isChange(c)) && c.settled():
		n.head, n.kind, n.importance = decided, oxbow.Semantic, 6
	case done.MatchString(c.norm) && c.settled():
		n.head, n.importance = did, 4
	case keeps:
		n.kind, n.importance = kind, max(1, importance-1)
	case len(c.stems) < 3: // small talk
		return note{}, false
	default:
		n.importance = 3
	}
	return n, true
}

var (
	// colour says nothing of its own.
	colour = regexp.MustCompile(`(?i)\b(?:just|really|actually|basically|simply|quite|pretty much|obviously|of course|to be honest|kind of|sort of) `)
	// aside is what a long clause can do without.
	aside = regexp.MustCompile(`(?i)(?:,? (?:because|since|so that|which|in order to)\b|, so\b| – | — )`)
	inset = regexp.MustCompile(` ?\([^)]*\)`)
)

// shortened gives a sentence as the clause of a note: without colour and its last
// stop, and, when it is long, without its reasons. The clause itself stays whole.
func shortened(c *claim, s string) string {
	s = strings.ReplaceAll(strings.TrimRight(s, ".! "), "; ", ", ")
	s = colour.ReplaceAllString(s, "")
	if len(s) > longClause {
		s = inset.ReplaceAllString(s, "")
	}
	if at := aside.FindStringIndex(s); len(s) > longClause && at != nil && at[0] > 30 && !c.has("not because", "only because") {
		s = s[:at[0]]
	}
	return lowerFirst(strings.Join(strings.Fields(s), " "))
}

// beginners are words that are written small inside a sentence.
var beginners = set("we", "the", "our", "my", "it", "this", "that", "they", "there", "you", "he", "she", "what", "how", "why", "when", "where", "which", "who", "can", "could", "would", "should",
	"do", "does", "did", "is", "are", "will", "a", "an", "please", "explain", "show", "give", "tell", "help", "write", "draft", "let", "all", "from", "in", "on", "for", "everything", "nobody", "always", "never")

func lowerFirst(s string) string {
	first, _, _ := strings.Cut(s, " ")
	r, n := utf8.DecodeRuneInString(s)
	word, _, _ := strings.Cut(strings.ToLower(first), "'")
	if !beginners[word] {
		return s
	}
	return string(unicode.ToLower(r)) + s[n:]
}
