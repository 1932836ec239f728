package offline

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/llm"
)

// People do not talk in facts: they ask for help, and mention on the way that
// something is not as it was. A passage is such a text, of many words. What is
// found between two passages is a conflict and never more: the rules cannot
// tell which part of either is the point.
const (
	leastPassage = 15 // words
	// mostConflicts bounds how many passages one passage conflicts with: a text
	// that seems to conflict with many is about their subject, and no more.
	mostConflicts = 1

	leastShared  = 0.54 // of the weight of what is denied
	leastDenied  = 2.0  // that share, times the words it is made of, four at most
	leastContext = 1.4  // the weight of the words shared around two values
	fewShared    = 2    // of such words
)

// passage is what of a longer text is compared.
type passage struct {
	weights map[string]float64 // stems of the whole
	denials []map[string]float64
	values  []placed
}

// placed is a number or a day with the words around it.
type placed struct {
	value   string
	kind    string // day, share, time, or the stem of what is counted
	context map[string]float64
	changed bool // words of change stand before it
}

var (
	codeStart = regexp.MustCompile("(?s)```.*|\n\n.*")
	clauseEnd = regexp.MustCompile(`[.;!?]+(?:\s|$)|, (?:and|but|so|can|could|should|would|will|do|does|is|are|which|since|especially|considering|what|how|who|where|i|i'm|it|if)\b| - | but |, but `)
	neverDone = regexp.MustCompile(`(?i)\b(?:i've|i have|we've|we have|i|we) never (?:actually |really |once |even )?(.+)`)
	// changeWords say that a value is not what it was.
	changeWords = regexp.MustCompile(`(?i)\b(?:recently|now|increased|improved|reached|extended|updated?|new|added|moved|moving|grown|growth|grew|total|dropped|reduced|rescheduled|pushed|changed|raised|lowered|expanded|boosted|secured|final|noticed|already|latest)\b`)
)

func passageOf(s string) (passage, bool) {
	s = codeStart.ReplaceAllString(s, "")
	r := read(s)
	if len(r.words) < leastPassage {
		return passage{}, false
	}
	p := passage{weights: weigh(r.words)}
	for _, clause := range clauseEnd.Split(s, -1) {
		if m := neverDone.FindStringSubmatch(clause); m != nil {
			if d := weigh(read(m[1]).words); len(d) >= 2 {
				p.denials = append(p.denials, d)
			}
		}
	}
	for i, w := range r.words {
		if !hasDigit(w.low) || i+1 >= len(r.words) {
			continue
		}
		near := read(s[max(0, w.start-60):w.start] + " .")
		p.values = append(p.values, placed{changed: changeWords.MatchString(near.text), value: w.low, kind: countedAt(r.words, i), context: weigh(r.words[max(0, i-10):min(len(r.words), i+10)])})
	}
	return p, true
}

// countedAt names the kind of the number at i.
func countedAt(words []word, i int) string {
	w := words[i].low
	if i > 0 && months[words[i-1].low] > 0 {
		return "day"
	}
	if strings.HasSuffix(w, "%") {
		return "share"
	}
	if unit := strings.TrimLeft(w, "0123456789.,:"); unit != "" {
		return unit
	}
	for j := i + 1; j < min(len(words), i+5); j++ {
		if st := text.Stem(words[j].low); st != "" && strings.HasSuffix(words[j].low, "s") && len(st) > 2 {
			return st
		}
	}
	return text.Stem(words[i+1].low)
}

// weigh gives the telling stems of some words.
func weigh(words []word) map[string]float64 {
	out := map[string]float64{}
	for _, w := range words {
		st := text.Stem(w.low)
		if st == "" || lightWords[st] || thinPassage[st] || hasDigit(st) || len(st) < 3 {
			continue
		}
		out[st] = plainWeight + longWeight*float64(min(len(st), longWord))/longWord
	}
	return out
}

// thinPassage are words of asking and telling, which every passage holds.
var thinPassage = stems("help", "try", "trying", "sure", "want", "like", "feel", "never", "ever", "any", "actually", "really", "recently", "kinda", "struggling", "trouble", "having", "before", "project", "already", "start", "starting", "scratch",
	"understand", "example", "provide", "also", "been", "ensure", "using", "current", "code", "following", "march", "april", "may", "june", "july", "january", "february", "august", "september", "october", "november", "december", "related", "how",
	"can", "could", "would", "should", "i'm", "i've", "next", "best", "different", "first", "more", "issue", "problem", "question", "thank", "think", "look", "working", "implement", "create", "add", "update", "improve", "make")

// conflicting gives how much speaks for a conflict of two passages; 0 for none.
func conflicting(n, o passage) float64 {
	best := 0.0
	for _, pair := range [][2]passage{{n, o}, {o, n}} {
		for _, d := range pair[0].denials {
			if len(pair[1].denials) > 0 {
				continue
			}
			best = max(best, covering(d, pair[1].weights))
		}
	}
	for _, v := range n.values {
		if !v.changed {
			continue
		}
		for _, w := range o.values {
			if v.kind == "" || v.kind != w.kind || v.value == w.value || o.has(v) || n.has(w) {
				continue
			}
			if s, n := overlap(v.context, w.context); s >= leastContext && (n > fewShared || n == fewShared && v.kind != "share") {
				best = max(best, s)
			}
		}
	}
	return best
}

// has tells whether a passage names a value too: both values in both passages
// are a story told, not a change.
func (p passage) has(v placed) bool {
	return slices.ContainsFunc(p.values, func(w placed) bool { return w.value == v.value && w.kind == v.kind })
}

// covering gives the share of a denial's weight that a passage holds, when it is
// enough.
func covering(denied, have map[string]float64) float64 {
	all, hit, n := 0.0, 0.0, 0
	for _, s := range sorted(denied) {
		all += denied[s]
		if have[s] > 0 {
			hit += denied[s]
			n++
		}
	}
	if n < fewShared || hit < leastShared*all {
		return 0
	}
	if score := hit / all * float64(min(n, 4)); score >= leastDenied {
		return score
	}
	return 0
}

func overlap(a, b map[string]float64) (weight float64, n int) {
	for _, s := range sorted(a) {
		if b[s] > 0 {
			weight += a[s]
			n++
		}
	}
	return weight / 2, n
}

func sorted(m map[string]float64) []string {
	out := make([]string, 0, len(m))
	for s := range m {
		out = append(out, s)
	}
	slices.Sort(out)
	return out
}

// longText is from how many bytes on a text is a passage and nothing else: the
// rules for statements would take long over it, and find little.
const longText = 600

// passages finds the conflicts of one passage with others, the strongest.
func passages(s llm.Statement, others []llm.Statement) []llm.Relation {
	own, ok := passageOf(s.Text)
	if !ok || s.Key != "" {
		return nil
	}
	type candidate struct {
		label string
		score float64
	}
	var found []candidate
	for _, o := range others {
		p, ok := passageOf(o.Text)
		if !ok || o.Key != "" {
			continue
		}
		n, old := own, p
		if s.SaidAt.Before(o.SaidAt) {
			n, old = p, own
		}
		if score := conflicting(n, old); score > 0 {
			found = append(found, candidate{o.Label, score})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(b.score, a.score) })
	var out []llm.Relation
	for _, c := range found[:min(len(found), mostConflicts)] {
		out = append(out, llm.Relation{Label: c.label, Relation: oxbow.Unsure})
	}
	return out
}
