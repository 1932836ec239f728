package offline

import (
	"cmp"
	"context"
	"slices"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm"
)

// nearlySame and sharedOfAll are the least likeness of any two members of a
// group, minShared the least number of words of meaning in common. A tag or a
// topic in common is not enough: five rules on functions are one preference
// only when they say the same of functions.
const (
	nearlySame  = 0.6  // of the shorter one's words
	sharedOfAll = 0.55 // of the words of both
	minShared   = 2

	// sameInOtherWords is the likeness of two that share fewer stems and more
	// of their roots: allergic to peanuts, a peanut allergy.
	sameInOtherWords = 0.8

	// fewWords is up to how many words a word of one's own on either side makes
	// two statements: plays the violin, plays chess.
	fewWords = 4
)

// cluster groups statements by complete link: every member is nearly the same
// as every other, so that a chain of likenesses does not drift.
func cluster(ctx context.Context, items []llm.Statement) ([][]string, error) {
	cs := make([]*claim, len(items))
	sets := make([][]string, len(items))
	for i, it := range items {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		cs[i] = parse(it.Text, it.SaidAt)
		sets[i] = meaning(cs[i])
	}
	edges, like, err := edges(ctx, items, cs, sets)
	if err != nil {
		return nil, err
	}
	group := make([]int, len(items))
	members := make([][]int, len(items))
	for i := range items {
		group[i], members[i] = i, []int{i}
	}
	for _, e := range edges {
		a, b := group[e.a], group[e.b]
		if a == b || !linked(members[a], members[b], like) {
			continue
		}
		for _, m := range members[b] {
			group[m] = a
		}
		members[a], members[b] = append(members[a], members[b]...), nil
	}
	var out [][]string
	for _, ms := range members {
		if len(ms) < 2 {
			continue
		}
		slices.Sort(ms)
		labels := make([]string, len(ms))
		for i, m := range ms {
			labels[i] = items[m].Label
		}
		out = append(out, labels)
	}
	return out, nil
}

type edge struct {
	a, b int
	like float64
}

// edges gives the pairs that may stand in one group, most alike first.
func edges(ctx context.Context, items []llm.Statement, cs []*claim, sets [][]string) ([]edge, map[[2]int]bool, error) {
	byStem := map[string][]int{}
	for i, s := range sets {
		for _, st := range s {
			byStem[st] = append(byStem[st], i)
		}
	}
	ps := make([]profile, len(items))
	for i, it := range items {
		ps[i] = profileOf(it.Text)
	}
	var out []edge
	like := map[[2]int]bool{}
	for a := range items {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		seen := map[int]int{}
		for _, st := range sets[a] {
			for _, b := range byStem[st] {
				if b > a {
					seen[b]++
				}
			}
		}
		for b, shared := range seen {
			l := float64(shared) / float64(min(len(sets[a]), len(sets[b])))
			if shared < minShared || l < nearlySame || looser(sets[a], sets[b], shared) {
				if l = similarity(ps[a], ps[b]); l < sameInOtherWords {
					continue
				}
			}
			if otherWords(sets[a], sets[b]) || substituted(cs[a], cs[b], sets[a], sets[b]) || !together(items[a], items[b], cs[a], cs[b]) {
				continue
			}
			out = append(out, edge{a, b, l})
			like[[2]int{a, b}] = true
		}
	}
	slices.SortFunc(out, func(x, y edge) int {
		return cmp.Or(cmp.Compare(y.like, x.like), cmp.Compare(x.a, y.a), cmp.Compare(x.b, y.b))
	})
	return out, like, nil
}

// otherWords tells whether each of two short lists holds a word that has no
// counterpart in the other one.
func otherWords(a, b []string) bool {
	lacks := func(xs, ys []string) bool {
		return slices.ContainsFunc(xs, func(x string) bool {
			return !lightWords[x] && !slices.ContainsFunc(ys, func(y string) bool { return x == y || nearStem(x, y) > 0 })
		})
	}
	return min(len(a), len(b)) <= fewWords && lacks(a, b) && lacks(b, a)
}

// substituted tells whether two lists say the same of two things: all is
// shared but one word on either side, and neither is the verb.
func substituted(ca, cb *claim, a, b []string) bool {
	x, y := lacking(a, b), lacking(b, a)
	if len(x) != 1 || len(y) != 1 || nearStem(x[0], y[0]) > 0 || isA(x[0], y[0]) || isA(y[0], x[0]) {
		return false
	}
	return !lightWords[x[0]] && !lightWords[y[0]] && !ca.hasVerb(x[0]) && !cb.hasVerb(y[0]) && !ca.refuses(x[0]) && !cb.refuses(y[0])
}

// lacking gives what a list holds and the other one does not.
func lacking(a, b []string) []string {
	var out []string
	for _, s := range a {
		if !slices.Contains(b, s) {
			out = append(out, s)
		}
	}
	return out
}

// refuses tells whether the word of a stem stands right behind a denial: never
// abbreviated.
func (c *claim) refuses(stem string) bool {
	for i, w := range c.words {
		if i > 0 && negatives[c.lowAt(i-1)] && singleStem(w.low) == stem {
			return true
		}
	}
	return false
}

// hasVerb tells whether a stem is that of a clause's finite verb.
func (c *claim) hasVerb(stem string) bool {
	for _, ws := range splitClauses(c.words) {
		if k, ok := readClause(ws, "user"); ok && (singleStem(k.lemma) == stem || k.passive && slices.ContainsFunc(ws, func(w word) bool { return verbs[w.low] == k.lemma && singleStem(w.low) == stem })) {
			return true
		}
	}
	return false
}

// looser tells whether two say so much beside the shared words that these are
// only a part of what they are about: a bug and its fix are two memories.
func looser(a, b []string, shared int) bool {
	return float64(shared) < sharedOfAll*float64(len(a)+len(b)-shared)
}

func linked(as, bs []int, like map[[2]int]bool) bool {
	for _, a := range as {
		for _, b := range bs {
			if !like[[2]int{min(a, b), max(a, b)}] {
				return false
			}
		}
	}
	return true
}

// together keeps apart what must not be merged, however alike: another
// subject, another kind of thing, other tools of the same class, other days,
// other numbers of the same unit, and what denies or replaces the other.
func together(a, b llm.Statement, ca, cb *claim) bool {
	if ca.cut() || cb.cut() || sortOf(a.Kind) != sortOf(b.Kind) || a.Key != "" || b.Key != "" || sameOwner(ca, cb) < 1 {
		return false
	}
	if (ca.planned && !ca.normative()) != (cb.planned && !cb.normative()) && sortOf(a.Kind) != oxbow.Preference || ca.asked || cb.asked {
		return false
	}
	for _, m := range ca.mentions {
		for _, n := range cb.mentions {
			if m.class == n.class && m.id != n.id && !namesTool(ca, n.tool) && !namesTool(cb, m.tool) || m.id == n.id && m.version != n.version {
				return false
			}
		}
	}
	if len(ca.dates) > 0 || len(cb.dates) > 0 {
		return sameValues(ca, cb)
	}
	for _, x := range ca.numbers {
		for _, y := range cb.numbers {
			if x.unit == y.unit && x.value != y.value {
				return false
			}
		}
	}
	switch relatePair(a, ca, b, cb) {
	case oxbow.Contradicts, oxbow.Replaces, oxbow.Unsure:
		return false
	}
	return true
}

// sortOf puts instructions and preferences together: people say one rule both
// ways.
func sortOf(k oxbow.Kind) oxbow.Kind {
	if k == oxbow.Procedural || k == oxbow.Preference {
		return oxbow.Preference
	}
	return oxbow.Semantic
}

// likenessWords fold what people say instead of one another when they repeat a
// rule.
var likenessWords = map[string]string{
	"tini": "short", "small": "short", "brief": "short", "concis": "short", "littl": "short", "simpl": "plain", "ordinari": "plain",
	"afraid": "fear", "scare": "fear", "frighten": "fear", "phobia": "fear",
	"method": "function", "func": "function", "variabl": "name", "identifi": "name",
}

// meaning gives the distinct stems by which likeness is measured.
func meaning(c *claim) []string {
	var out []string
	for _, s := range c.stems {
		if hasDigit(s) || thin[s] {
			continue
		}
		if f := likenessWords[s]; f != "" {
			s = f
		}
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// thin stems hold too little to tell statements apart.
var thin = stems("code", "style", "line", "thing", "way", "part", "lot", "bit", "think", "time", "work", "good", "better", "best", "one", "ever", "read", "noth", "everi", "anyth", "someth", "long", "word", "kind", "need", "want", "can", "could", "go", "come", "put", "said", "say", "tell")
