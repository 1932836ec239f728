package offline

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/llm"
)

// Bounds of what one turn may bring.
const (
	maxDrafts  = 12
	maxTags    = 6
	maxSummary = 100
)

// extract reads a turn sentence by sentence. What the assistant and tools say
// counts only when it is plainly a finding or a decision.
func extract(t llm.TurnText) llm.Extraction {
	x := &extraction{turn: t}
	x.read(t.User, true)
	x.read(t.Assistant, false)
	for _, p := range t.Parts {
		if p.Source == oxbow.FromTool {
			x.read(p.Text, false)
		}
	}
	if len(x.drafts) == 0 {
		return llm.Extraction{Reason: x.reason()}
	}
	return llm.Extraction{Drafts: x.drafts}
}

type extraction struct {
	turn    llm.TurnText
	drafts  []llm.Draft
	skipped map[string]bool
}

// reason says why nothing was kept, the plainest reason first.
func (x *extraction) reason() string {
	for _, r := range []string{"a question", "a request", "a secret was taken out", "small talk", "a greeting"} {
		if x.skipped[r] {
			return r
		}
	}
	return "nothing was said"
}

func (x *extraction) skip(why string) {
	if x.skipped == nil {
		x.skipped = map[string]bool{}
	}
	x.skipped[why] = true
}

func (x *extraction) read(part string, user bool) {
	lead := ""
	code := false
	for _, s := range split(part) {
		if strings.HasPrefix(s, "```") {
			code = !code
			continue
		}
		if code {
			continue
		}
		whole := s
		if user && leans(s) && lead != "" {
			if i := strings.Index(part, lead); i >= 0 {
				if joined, ok := span(part, i, s, len(lead)); ok {
					whole = joined
				}
			}
		}
		lead = s
		if user {
			x.fromUser(s, whole)
		} else {
			x.fromOther(s)
		}
	}
}

// span gives the part of a text from i to the end of s, which comes soon after.
func span(part string, i int, s string, lead int) (string, bool) {
	j := strings.Index(part[i:], s)
	if j < 0 || j > lead+8 {
		return "", false
	}
	return part[i : i+j+len(s)], true
}

// leans tells whether a sentence begins with a word that points back, so that
// it says nothing without the sentence before it.
func leans(s string) bool {
	return read(s).starts("it", "that", "this", "they", "he", "she", "those", "these", "which", "because", "so we", "same")
}

// presupposed finds what a question or request takes for granted: "now that we
// are on MySQL, can you …".
var presupposed = regexp.MustCompile(`(?i)\b(?:now that|since|given that|seeing as|because) ((?:i|we|my|our)\b[^,?;]{6,}?),`)

func (x *extraction) fromUser(s, whole string) {
	body := clean(s)
	c := parse(body, x.turn.At)
	switch {
	case strings.Contains(s, "[redacted"):
		x.skip("a secret was taken out")
		return
	case greeting(c):
		x.skip("a greeting")
		return
	}
	if x.addresses(c, body, s) {
		return
	}
	if c.asked || request(c) {
		if m := presupposed.FindStringSubmatchIndex(s); m != nil {
			clause := s[m[2]:m[3]]
			if k, imp, ok := classify(parse("now "+clause, x.turn.At)); ok {
				x.add(sentenceCase(clause), clause, k, imp)
				return
			}
		}
		why := "a request"
		if c.asked {
			why = "a question"
		}
		x.skip(why)
		return
	}
	k, imp, ok := classify(c)
	if !ok {
		x.skip("small talk")
		return
	}
	if whole != s {
		body = clean(whole)
	}
	x.add(body, whole, k, imp)
}

// unreal are the words of a game, an example or a quotation.
var unreal = []string{"pretend", "pretending", "imagine", "let us say", "say that", "for example", "for instance", "suppose", "in the story", "in the game", "in my dream", "role play", "roleplay", "as if", "the sentence", "the phrase", "the string", "the example", "joking", "just kidding", "wish", "test sentence", "not true"}

// addresses keeps what is unmistakably a value at an address, and tells whether
// that was all that the sentence says.
func (x *extraction) addresses(c *claim, body, s string) bool {
	if c.asked || c.conditional || c.reported || c.hedged || c.past || c.passing() || c.has(unreal...) || strings.ContainsAny(body, "\"“”«»") {
		return false
	}
	fs := facts(body)
	if c.planned { // "I'll call you" is none
		fs = slices.DeleteFunc(fs, func(f fact) bool { return f.slot != "agent" })
	}
	if len(fs) > 0 {
		for _, f := range fs {
			x.addFact(f, s)
		}
		return !beside(body, fs)
	}
	f, ok := saidFact(c, body)
	if !ok || c.planned && f.slot != "agent" {
		return false
	}
	f.text, f.quote = body, s
	x.addFact(f, s)
	return true
}

// otherForms are what the assistant or a tool must plainly report for it to be
// kept.
var otherForms = regexp.MustCompile(`(?i)\b(?:root cause|the bug (?:was|is)|turned out|the culprit|the problem was|the fix (?:was|is)|we (?:decided|agreed|ruled out|settled on)|i (?:fixed|found that)|ruled out)\b`)

func (x *extraction) fromOther(s string) {
	c := parse(s, x.turn.At)
	if strings.Contains(s, "[redacted") || c.asked || c.conditional || c.planned || c.hedged || c.has("you could", "you can", "try", "for example") || !otherForms.MatchString(s) || len(c.stems) < 4 {
		return
	}
	kind := oxbow.Semantic
	if c.has("fixed", "the fix") {
		kind = oxbow.Procedural
	}
	x.add(clean(s), s, kind, 5)
}

func (x *extraction) addFact(f fact, s string) {
	d := llm.Draft{
		Text: f.text, Summary: f.text, Kind: oxbow.Fact, Slot: f.slot, Key: f.key,
		Importance: 8, Quote: f.quote, Tags: []string{strings.ReplaceAll(f.key, "_", "-")},
	}
	if f.text == s || f.from == f.to { // it keeps its words, and what they are found by
		d.Summary, d.Tags = text.Clip(f.text, maxSummary), tags(parse(f.text, x.turn.At))
	}
	if !strings.Contains(s, d.Quote) {
		d.Quote = s
	}
	x.push(d)
}

func (x *extraction) add(body, quote string, k oxbow.Kind, importance float64) {
	c := parse(body, x.turn.At)
	if c.has("important", "crucial", "critical", "must") || strings.HasSuffix(body, "!") {
		importance++
	}
	if c.hedged || c.planned && len(c.dates) == 0 && !c.instruct {
		importance--
	}
	x.push(llm.Draft{
		Text: body, Summary: text.Clip(body, maxSummary), Tags: tags(c), Kind: k,
		Importance: min(10, max(1, importance)), Quote: quote,
	})
}

func (x *extraction) push(d llm.Draft) {
	same := func(o llm.Draft) bool { return text.Same(o.Text, d.Text) || o.Key != "" && o.Key == d.Key }
	if len(x.drafts) < maxDrafts && !slices.ContainsFunc(x.drafts, same) {
		x.drafts = append(x.drafts, d)
	}
}

// openers are what people say before they say something.
var openers = regexp.MustCompile(`(?i)^(?:(?:oh|hey|hi|hello|ok|okay|so|well|ah|hm+|yeah|yes|no|right|alright|sure|thanks|thank you|great|nice|perfect|cool|btw|by the way|also|and|but|anyway|one more thing|quick note|note|fyi|for the record|for context|just so you know|heads up|small update|update|good morning|morning|reminder|for your notes|before i forget|unrelated|side note|to be clear|remember this|as i said|like i said|as i told you|as mentioned|as you know|please note|good news|bad news)[,:!.;]? +(?:that )?)`)

// clean takes the openers off a sentence and writes it with a capital.
func clean(s string) string {
	s = strings.TrimSpace(strings.TrimLeft(s, "-*•> "))
	for range 4 {
		m := openers.FindStringIndex(s)
		if m == nil {
			break
		}
		head := strings.ToLower(strings.TrimRight(s[:m[1]], " "))
		// Without a comma these words carry the sentence: "no meetings on
		// Fridays", "note the port", "right now".
		if bare := strings.TrimRight(head, ",:!.;"); bare == head && carries[bare] {
			break
		}
		s = s[m[1]:]
	}
	return sentenceCase(s)
}

var carries = set("no", "right", "note", "update", "well", "sure", "great", "nice", "perfect", "cool", "reminder", "morning", "thanks", "thank you", "unrelated", "hi", "hello")

func sentenceCase(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	first, _, _ := strings.Cut(s, " ")
	if _, isTool := tools[strings.ToLower(first)]; isTool || !unicode.IsLower(r) {
		return s
	}
	return string(unicode.ToUpper(r)) + s[n:]
}

var greetings = set("hi", "hello", "hey", "morning", "thanks", "thank", "cheers", "bye", "goodbye", "ok", "okay", "yes", "no", "yep", "nope", "sure", "great", "nice", "cool", "perfect", "lol",
	"haha", "awesome", "lot", "bit", "nothing", "else", "good", "night", "evening", "afternoon", "you", "there", "again", "welcome", "see", "later", "tomorrow", "weekend", "have", "a", "very", "much", "for", "the", "help",
	"happy", "monday", "friday", "works", "done", "got", "it", "that", "so", "and", "all", "everyone", "back", "i", "am", "'m", "to", "well", "right", "alright", "brilliant", "lovely", "enjoy", "your", "day", "new", "year")

// greeting tells whether a sentence is made of pleasantries alone.
func greeting(c *claim) bool {
	for _, w := range c.words {
		if !greetings[w.low] && isWordRune([]rune(w.low)[0]) {
			return false
		}
	}
	return true
}

// requestStarts begin what is asked of the assistant for now, which is not worth
// keeping; a lasting instruction begins with always, never and their like.
var requestStarts = []string{"explain", "show", "show me", "give", "give me", "tell me", "help", "help me", "write me", "write a", "write an", "write the", "write some", "write up", "generate", "draft", "summarise", "summarize", "translate", "convert", "refactor",
	"fix this", "fix the", "check", "look at", "find", "list", "create", "make a", "make me", "add", "rewrite", "review", "compare", "remind me how", "suggest", "read", "run", "paste", "please explain", "please write a", "please write me", "please write the", "please show",
	"please fix", "please review", "please check", "please help", "please give", "please add", "please rewrite", "please draft", "please summarise", "please summarize", "i need help", "i need a", "i want a", "let us", "walk me", "sort", "rename this", "debug", "proofread", "turn this", "shorten", "please shorten", "please look", "have a look", "tell", "let me know", "do it"}

func request(c *claim) bool { return c.starts(requestStarts...) }

// tags gives the tools and names of a statement, lower case.
func tags(c *claim) []string {
	var out []string
	for _, m := range c.mentions {
		out = append(out, strings.ReplaceAll(m.id, " ", "-"))
	}
	for i, w := range c.words {
		if (i > 0 || actVerbs[c.lowAt(1)] && !abstract.MatchString(w.low)) && c.lowAt(i-1) != "." && c.isName(i) && text.Stem(w.low) != "" {
			out = append(out, w.low)
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return out[:min(len(out), maxTags)]
}
