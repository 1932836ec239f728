package recall

import (
	"regexp"
	"strings"

	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/store"
)

// question is a cue as hybrid reads it: its terms with what each counts, and
// what sort of answer it wants.
//
// Limit: frames, sorts and proper names are those of English. A cue in another
// language is ranked by its terms, neighbours and conversation alone.
type question struct {
	terms  []store.Weighted
	known  []float64  // of each term: what it counts for how well the question is covered
	named  []bool     // of each term: it is a proper name
	asked  int        // how many of the terms were asked; the others were added
	hints  []hintTerm // the last of the terms: what memories may have as hints
	spans  []Span     // the time that it names
	asks   answerSort
	asksMe bool // it is about what the assistant said
	now    bool // it asks for one thing as it is today
}

// answerSort is what an answer must hold: a time, a number, or nothing special.
type answerSort int

const (
	anything answerSort = iota
	aTime
	aNumber
)

const (
	// frameWeight is what a word counts that belongs to the asking and not to
	// what is asked about: kind, many, tell, conversation. 0.3 to 0.7 rank alike within noise;
	// 1 costs BEAM a point of R@10 and 0.1 costs LoCoMo one.
	frameWeight = 0.3
	// frameKnown is what such a word counts for the cover of a question.
	frameKnown = 0.05
	// nameWeight is what a proper name counts: in a scope of several people it is
	// what tells them apart.
	nameWeight = 1.3
	// strangeName and strangeWord are what words count for the cover of a
	// question when nothing that was found has them: a question about a stranger
	// has no answer. With 1 and 1 a floor that costs two points of R@10 turns
	// half as many questions away.
	strangeName, strangeWord = 2.0, 1.5
	// standingWeight is what always and prefer count in a question that asks for
	// help: instructions and preferences stand in other words than what they
	// apply to. Without them BEAM loses 4 points of R@10; 0.3 to 0.8 rank alike.
	standingWeight = 0.5
)

var (
	frames = stems(`kind type sort many much often long total different aspect various list brought mention conversation chat discuss
		discussion say said tell told remind remember know summary summarize summarise overview comprehensive clear walk throughout across
		question ask thing something anything way able would could should might may please give show provide explain describe
		consider considering suggest recommend specific specifically exactly ever item only previously get got name likely make made use`)
	dateWords = stems(`january february march april may june july august september october november december monday tuesday wednesday thursday
		friday saturday sunday yesterday today tonight tomorrow last next ago week weekend month year day morning evening since`)
	// orders are the words of standing instructions and preferences.
	orders = []string{"always", "prefer"}
)

var (
	asksTime   = regexp.MustCompile(`(?i)^\W*(when|how long|since when|what (date|day|month|year|time))\b`)
	asksNumber = regexp.MustCompile(`(?i)\bhow (many|much|old|often|long)\b`)
	// inOrderOf is the order of a list, and not one that a customer gives.
	inOrderOf = regexp.MustCompile(`(?i)\border in which\b|\bin (the )?order\b`)
	// asksAssistant is what was said by the one who is asked, which his own words answer.
	asksAssistant = regexp.MustCompile(`(?i)\b(did|have|had) you\b|\b(you|your) (recommended|suggested|advised|proposed|explained|mentioned|said|told|described|offered|gave|advice|suggestions?|recommendations?|answer)\b`)
	asksHelp      = regexp.MustCompile(`(?i)\b(how (should|do|can|could|would) i|(can|could|would) you|do you (think|recommend|suggest)|what (steps|tools|should)|suggest|recommend|which (library|libraries|tools?)|(show|help) me)\b`)
	// A question for a value as it is today: none of the past, and of a sort that
	// one statement answers.
	asksState = regexp.MustCompile(`(?i)\b(is|are|am|do|does|have|has|currently|now|latest)\b|'s\b`)
	asksPast  = regexp.MustCompile(`(?i)\b(did|was|were|had|first|originally|initially|used to|before|previously|ago|in (19|20)\d\d|happened)\b`)
	asksValue = regexp.MustCompile(`(?i)\b(how (many|much|long|often|old|far)|when|where|who|what (time|date|day|percentage|number)|which|what('s| is| are| does| do))\b`)
)

// stems gives the terms of words.
func stems(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		if s := text.Stem(w); s != "" {
			out[s] = true
		}
	}
	return out
}

// ask reads the cue of a query.
func (a *asking) ask() question {
	words := a.cue.words
	if words == "" {
		words = a.cue.state
	}
	var q question
	if a.cfg.Days != nil {
		q.spans = a.cfg.Days(words, a.at, a.settings.Location())
	}
	switch {
	case asksTime.MatchString(words):
		q.asks = aTime
	case asksNumber.MatchString(words):
		q.asks = aNumber
	}
	q.asksMe = asksAssistant.MatchString(words)
	q.now = asksState.MatchString(words) && asksValue.MatchString(words) && !asksPast.MatchString(words)
	names := properNames(words)
	for _, t := range a.cue.terms[:min(len(a.cue.terms), store.MaxTerms-len(orders))] {
		w, known := 1.0, 1.0
		switch {
		case frames[t.Word], t.Word == "order" && inOrderOf.MatchString(words):
			w, known = frameWeight, frameKnown
		case len(q.spans) > 0 && isDateWord(t.Word):
			known = 0 // when it was said covers it, not what was said
		case names[t.Word]:
			w = nameWeight
		}
		q.terms, q.known = append(q.terms, store.Weighted{Hash: t.Hash, Weight: w}), append(q.known, known)
		q.named = append(q.named, names[t.Word])
	}
	q.asked = len(q.terms)
	if asksHelp.MatchString(words) {
		q.addOrders()
	}
	q.addHints(a.cue.terms)
	return q
}

// hintTerm is a term that stands for a word that was asked.
type hintTerm struct{ at, of int }

// addHints adds the words that were asked as hints: what memories are about though
// nobody said it.
func (q *question) addHints(terms []text.Term) {
	for i, t := range terms[:q.asked] {
		if !text.IsHint(t.Word) || len(q.terms) >= store.MaxTerms {
			continue
		}
		q.hints = append(q.hints, hintTerm{at: len(q.terms), of: i})
		q.terms = append(q.terms, store.Weighted{Hash: text.HintHash(t.Word), Weight: hintWeight * q.terms[i].Weight})
		q.known, q.named = append(q.known, 0), append(q.named, false)
	}
}

// fold gives a mask of terms in which hints stand as the words that were asked.
func (q *question) fold(mask uint64) uint64 {
	for _, c := range q.hints {
		if mask>>c.at&1 == 1 {
			mask = mask&^(1<<c.at) | 1<<c.of
		}
	}
	return mask
}

// addOrders adds the words of standing instructions, unless they are there.
func (q *question) addOrders() {
	for _, w := range orders {
		h := text.Hash(text.Stem(w))
		there := false
		for _, t := range q.terms {
			there = there || t.Hash == h
		}
		if !there {
			q.terms, q.known = append(q.terms, store.Weighted{Hash: h, Weight: standingWeight}), append(q.known, 0)
			q.named = append(q.named, false)
		}
	}
}

func isDateWord(stem string) bool {
	return dateWords[stem] || stem[0] >= '0' && stem[0] <= '9'
}

// properNames gives the terms of the words that are written with a capital
// inside the text.
func properNames(s string) map[string]bool {
	out := map[string]bool{}
	begins := true
	for _, w := range strings.Fields(s) {
		if c := strings.TrimLeft(w, `"'(“‘`); !begins && c != "" && c[0] >= 'A' && c[0] <= 'Z' {
			terms, _ := text.Analyse(c)
			for _, t := range terms {
				out[t.Word] = true
			}
		}
		begins = strings.HasSuffix(w, ".") || strings.HasSuffix(w, "?") || strings.HasSuffix(w, "!")
	}
	return out
}
