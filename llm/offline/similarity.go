package offline

import (
	"math"
	"slices"
	"strings"

	"github.com/oxbow-memory/oxbow/internal/text"
)

// DuplicateSimilarity is the likeness from which two texts count as duplicates:
// where precision and recall on sentence pairs judged by people are nearest
// each other.
const DuplicateSimilarity = 0.66

// The weights of a likeness, fitted on sentence pairs judged by people. Shared
// words carry nearly all of it; what the other parts do is to keep apart what
// shares most words and is not the same.
const (
	byWords    = 0.8 // shared stems, by how telling they are
	byPieces   = 0.02
	byOrder    = 0.02
	byAllWords = 0.02
	topScore   = byWords + byPieces + byOrder + byAllWords

	unlikeNumbers = 0.05
	unlikeCounts  = 0.05
	unlikeDenial  = 0.05
	unlikeSides   = 0.05
	unlikePeople  = 0.25 // a man here, a woman there

	lightWeight  = 0.15 // get, make, person …
	numberWeight = 1.65
	plainWeight  = 0.5  // of any other word,
	longWeight   = 0.65 // and this much more for one of nine letters
	longWord     = 9

	ofOneKind = 0.85 // dog and puppy, as a part of the same word
	akinWords = 0.95 // Syria and Syrian
)

// Similarity says how alike two short texts are, from 0 to 1, by their words
// alone: less where numbers, denials or opposites differ. It is symmetric.
// Limit: it knows a few hundred words that mean nearly the same, and no others.
func Similarity(a, b string) float64 {
	if a > b {
		a, b = b, a // which near words are laid beside each other depends on the order
	}
	return similarity(profileOf(a), profileOf(b))
}

// profile is what of a text is compared.
type profile struct {
	words   map[string]bool
	stems   []string
	weights []float64
	all     []string // every word, those without meaning too
	grams   map[string]float64
	length  float64 // of grams as a vector
	order   []string
	numbers []string
	many    int // the first number in words: two dogs
	denied  bool
	male    bool
	female  bool
}

func profileOf(s string) profile {
	r := read(s)
	p := profile{words: map[string]bool{}, grams: map[string]float64{}, denied: negations(r.words)%2 == 1}
	for _, w := range r.words {
		for part := range strings.FieldsFuncSeq(w.low, func(c rune) bool { return c == '-' || c == '/' }) {
			if isWordRune([]rune(part)[0]) {
				p.add(part)
			}
		}
	}
	for i := 0; i+1 < len(p.stems); i++ {
		p.order = append(p.order, p.stems[i]+" "+p.stems[i+1])
	}
	for g, n := range p.grams {
		p.grams[g] = math.Sqrt(n)
		p.length += n
	}
	p.length = math.Sqrt(p.length)
	return p
}

var (
	males   = set("man", "men", "boy", "boys", "guy", "guys", "gentleman", "male")
	females = set("woman", "women", "lady", "ladies", "girl", "girls", "female")

	// lightWords tell little of what a text is about.
	lightWords = stems("get", "make", "go", "take", "know", "think", "see", "come", "want", "use", "find", "give", "tell", "work", "thing", "way", "good", "well", "new", "also", "just", "like", "time", "year", "people", "day", "one", "two", "say",
		"said", "really", "much", "many", "even", "still", "need", "may", "can", "will", "lot", "man", "woman", "person", "someone", "user")
)

func (p *profile) add(w string) {
	p.words[w] = true
	p.male, p.female = p.male || males[w], p.female || females[w]
	st := text.Stem(w)
	p.all = append(p.all, st+"|"+w[:1])
	for _, g := range pieces(w) {
		p.grams[g]++
	}
	if hasDigit(w) {
		p.numbers = append(p.numbers, strings.TrimRight(w, ".,%"))
	}
	if n := counts[w]; n > 1 && p.many == 0 {
		p.many = n
	}
	if st == "" || slices.Contains(p.stems, st) {
		return
	}
	p.stems = append(p.stems, st)
	switch {
	case lightWords[st]:
		p.weights = append(p.weights, lightWeight)
	case hasDigit(st):
		p.weights = append(p.weights, numberWeight)
	default:
		p.weights = append(p.weights, plainWeight+longWeight*float64(min(len(st), longWord))/longWord)
	}
}

// pieces gives the runs of three letters of a word, its ends marked.
func pieces(w string) []string {
	rs := []rune("<" + w + ">")
	var out []string
	for i := 0; i+3 <= len(rs); i++ {
		out = append(out, string(rs[i:i+3]))
	}
	return out
}

func similarity(x, y profile) float64 {
	score := byWords*wordsShared(x, y) + byPieces*piecesShared(x, y) + byOrder*listsShared(x.order, y.order) + byAllWords*listsShared(x.all, y.all)
	for _, d := range []struct {
		differs bool
		by      float64
	}{
		{len(common(x.numbers, y.numbers)) < max(len(x.numbers), len(y.numbers)), unlikeNumbers},
		{x.many != y.many, unlikeCounts},
		{x.denied != y.denied, unlikeDenial},
		{x.against(y) || y.against(x), unlikeSides},
		{x.male && !x.female && y.female && !y.male || x.female && !x.male && y.male && !y.female, unlikePeople},
	} {
		if d.differs {
			score -= d.by
		}
	}
	return max(0, min(1, score/topScore))
}

// against tells whether a text holds the opposite of a word of the other one.
func (p profile) against(o profile) bool {
	for w := range p.words {
		for side := range opposites[w] {
			if o.words[side] && !p.words[side] {
				return true
			}
		}
	}
	return false
}

// wordsShared is the weight of the stems that two texts share, as a part of all:
// each stem of one is laid beside the nearest free one of the other.
func wordsShared(x, y profile) float64 {
	all, hit := 0.0, 0.0
	for _, w := range append(slices.Clone(x.weights), y.weights...) {
		all += w
	}
	if all == 0 {
		return 0
	}
	usedX, usedY := make([]bool, len(x.stems)), make([]bool, len(y.stems))
	// Equal stems first, so that the order of the texts makes no difference.
	for _, near := range []func(s, t string) float64{sameStem, nearStem} {
		for i, s := range x.stems {
			for j, t := range y.stems {
				v := 0.0
				if !usedX[i] && !usedY[j] {
					v = near(s, t)
				}
				if v > 0 {
					usedX[i], usedY[j] = true, true
					hit += v * (x.weights[i] + y.weights[j])
				}
			}
		}
	}
	return hit / all
}

func sameStem(s, t string) float64 {
	if s == t {
		return 1
	}
	return 0
}

func nearStem(s, t string) float64 {
	switch {
	case isA(s, t) || isA(t, s):
		return ofOneKind
	case akin(s, t):
		return akinWords
	}
	return 0
}

// akin tells whether two stems are of one root, by their letters: Syria and
// Syrian, stage and onstage.
func akin(s, t string) bool {
	if len(s) < 4 || len(t) < 4 || hasDigit(s) || hasDigit(t) {
		return false
	}
	n := 0
	for n < len(s) && n < len(t) && s[n] == t[n] {
		n++
	}
	return 10*n >= 7*max(len(s), len(t)) || strings.HasSuffix(s, t) || strings.HasSuffix(t, s) || n == min(len(s), len(t))
}

func piecesShared(x, y profile) float64 {
	if x.length == 0 || y.length == 0 {
		return 0
	}
	// Added up in a fixed order: a sum of floats depends on it.
	var gs []string
	for g := range x.grams {
		if y.grams[g] > 0 {
			gs = append(gs, g)
		}
	}
	slices.Sort(gs)
	dot := 0.0
	for _, g := range gs {
		dot += x.grams[g] * y.grams[g]
	}
	return dot / (x.length * y.length)
}

// listsShared is what two lists share, with repetitions, as a part of both.
func listsShared(a, b []string) float64 {
	if len(a)+len(b) == 0 {
		return 0
	}
	left := map[string]int{}
	for _, x := range a {
		left[x]++
	}
	n := 0
	for _, x := range b {
		if left[x] > 0 {
			left[x]--
			n++
		}
	}
	return 2 * float64(n) / float64(len(a)+len(b))
}
