package recall

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/store"
)

// The constants of hybrid were found by moving one at a time over LoCoMo, BEAM
// and MemDaily (docs/recall.md has the figures). The valleys are flat: half or
// double of most of them changes R@10 by less than two points, so they are round.
const (
	// hybridK1 and hybridB are BM25's. Turns are short and want b near 0; whole
	// messages want it near 1; 0.3 costs neither more than a point.
	hybridK1, hybridB = 0.9, 0.3
	// hybridHits are scored, the best hybridNear of them looked beside, and the
	// best hybridRead of all read. 100, 30 and 50 cost half a point each.
	hybridHits, hybridNear, hybridRead = 250, 60, 60
	// hybridPostings bounds the work of a cue of common words.
	hybridPostings = 20_000
	hybridLimit    = 10
	// hybridFloor is the least part of a question that its best answers cover.
	hybridFloor = 0.24

	// assistantWeight is what an assistant's words count beside a user's: they
	// are long, and repeat what was asked. assistantAsked is what they count when
	// the question is about what the assistant said.
	assistantWeight, assistantAsked = 0.3, 0.8

	// ownName is what it counts, in parts of the name's idf, that the person who
	// is asked about said it himself; otherName what it costs, in mean weights of
	// a term, that it was another person who does not name him.
	ownName, otherName = 0.3, 0.6
	// inTime is what it counts that a thing was said in the time that the cue
	// names, in mean weights; a thing said later counts less, e-fold in afterDays.
	inTime, afterDays = 1.0, 7.0
	// holdsSort is what it counts that a text holds a time or a number when one
	// is asked for.
	holdsSort = 0.4
	// asksBack is what a short question in place of an answer loses at most;
	// under askLength terms it loses all of it.
	asksBack, askLength = 0.2, 12.0
	// replies is what an answer to a question that was found too gains.
	replies = 0.1
	// rescueWeight is what a cosine of 1 counts, in mean weights, where words find
	// too little and vectors count for nothing else.
	rescueWeight = 0.1
	// qualityShare is how much of the relevance quality can take away at most.
	qualityShare = 0.2
)

// hybrid is the default: BM25 over everything, with evidence from what was said
// around it, read for who said it, when, and whether it can be an answer; newer
// over older; near-duplicates once; quality only as a bounded modifier. Its
// score says how much of the question the answers cover, and how near this one
// comes to the best of them.
func hybrid(ctx context.Context, a *asking) ([]candidate, error) {
	b := &blend{asking: a, question: a.ask()}
	if err := b.gather(ctx); err != nil {
		return nil, err
	}
	b.weigh()
	if err := b.read(ctx); err != nil {
		return nil, err
	}
	if err := b.addDense(ctx); err != nil {
		return nil, err
	}
	b.refine()
	b.modify()
	b.newerFirst()
	if err := b.conflicts(ctx); err != nil {
		return nil, err
	}
	b.collapse()
	return b.answers(), nil
}

// blend is one question on its way through hybrid.
type blend struct {
	*asking
	question
	matched store.Matched
	value   []float64 // weight * idf of each term
	mean    float64   // of value
	informs []float64 // what each term counts for cover
	pool    []*thing  // in the order of their score
	byID    map[string]*thing
	beside  []store.Neighbour
}

// thing is a candidate before and after its words are read.
type thing struct {
	store.Match
	own    float64   // BM25 of its own words, by role
	credit []float64 // of each term: what its surroundings say of it, 0 to 1
	around float64   // what that adds up to
	whole  float64   // the conversation's part
	before string    // what was said just before it
	cosine float64
	score  float64
	memory oxbow.Memory
	words  map[int64]int // term frequencies, once read
	match  []string
	stages []Stage
}

func (t *thing) stage(name string, v float64) { t.stages = append(t.stages, Stage{name, v}) }

// filtered tells that what is found may not fit once it is read.
func (a *asking) filtered() bool {
	return a.past != nil || a.q.Tag != "" || a.q.Slot != "" || a.q.Kind != "" || len(a.q.Include) > 0
}

// gather finds the candidates: the best by BM25, and what stands beside the best
// of those.
func (b *blend) gather(ctx context.Context) error {
	b.byID = map[string]*thing{}
	if len(b.terms) == 0 {
		return nil
	}
	q := store.MatchQuery{Scope: b.q.Scope, Terms: b.terms, Statuses: b.stored(), NoNotes: !b.wantsNotes(), K1: hybridK1, B: hybridB, Postings: hybridPostings, Limit: hybridHits}
	if b.past == nil {
		q.Kind = b.q.Kind
		if len(b.q.Include) == 0 {
			q.LiveAt = b.at
		}
		if b.q.Slot != "" {
			q.Slots, q.Keyed = []string{b.q.Slot}, true
		}
	}
	if b.filtered() {
		q.Limit = maxHits
	}
	var err error
	if b.matched, err = b.cfg.Store.Match(ctx, q); err != nil {
		return err
	}
	for i, t := range b.terms {
		b.value = append(b.value, t.Weight*b.matched.IDF[i])
		if i < b.asked {
			b.mean += b.value[i] / float64(b.asked)
		}
	}
	b.inform()
	for _, h := range b.matched.Hits {
		t := b.add(h)
		t.own, t.match = h.Score*b.role(h.Source), []string{byWords}
		t.score = t.own
	}
	b.sort()
	return b.lookBeside(ctx, store.BesideQuery{Scope: q.Scope, Statuses: q.Statuses, LiveAt: q.LiveAt, Reach: besideReach})
}

func (b *blend) add(m store.Match) *thing {
	t := &thing{Match: m, credit: make([]float64, len(b.terms))}
	b.byID[m.ID] = t
	b.pool = append(b.pool, t)
	return t
}

// sort puts the pool in order: by score, then the later said, then the id.
func (b *blend) sort() {
	slices.SortFunc(b.pool, func(x, y *thing) int {
		return cmp.Or(cmp.Compare(y.score, x.score), y.SaidAt.Compare(x.SaidAt), strings.Compare(x.ID, y.ID))
	})
}

// role is what a source's words count.
func (b *blend) role(s oxbow.Source) float64 {
	switch {
	case s != oxbow.FromAssistant:
		return 1
	case b.asksMe:
		return assistantAsked
	}
	return assistantWeight
}

// read fetches the words of the best and leaves out what may not answer.
func (b *blend) read(ctx context.Context) error {
	n := max(hybridRead, 2*b.q.Limit)
	if b.filtered() {
		n = maxHits
	}
	b.pool = b.pool[:min(len(b.pool), n)]
	ids := make([]string, len(b.pool))
	for i, t := range b.pool {
		ids[i] = t.ID
	}
	edited, err := b.editedSince(ctx)
	if err != nil {
		return err
	}
	for _, id := range edited {
		if b.byID[id] == nil {
			ids = append(ids, b.add(store.Match{ID: id}).ID)
		}
	}
	ms, err := b.admit(ctx, ids)
	if err != nil {
		return err
	}
	for _, m := range ms {
		b.byID[m.ID].take(m)
	}
	b.reword()
	b.pool = slices.DeleteFunc(b.pool, func(t *thing) bool { return t.memory.ID == "" || t.score <= 0 })
	for _, n := range b.beside {
		if t, before := b.byID[n.Of], b.byID[n.ID]; n.Step == -1 && t != nil && before != nil {
			t.before = before.memory.Content.Text
		}
	}
	return nil
}

// take keeps a memory's words.
func (t *thing) take(m oxbow.Memory) {
	t.memory, t.Source, t.SaidAt, t.words = m, m.Source, m.SaidAt, map[int64]int{}
	terms, length := text.Analyse(store.SearchText(m))
	t.Length = length
	for _, w := range terms {
		t.words[w.Hash] = w.TF
	}
}

// reword scores anew what said something else at the instant that is asked about.
func (b *blend) reword() {
	for _, t := range b.pool {
		if t.memory.ID == "" || !b.past.reworded(t.ID) {
			continue
		}
		t.Terms, t.own, t.match = 0, 0, []string{byWords}
		tf := frequencies(t.memory)
		for i, w := range b.terms {
			if n := float64(tf[w.Hash]); n > 0 {
				t.Terms |= 1 << i
				t.own += b.value[i] * n * (hybridK1 + 1) / (n + hybridK1)
			}
		}
		t.own *= b.role(t.Source)
		t.score = t.own
	}
}

// addDense adds what vectors find, when words find too little, or a model makes
// the vectors: the offline embedder knows spelling and no meaning, and as a part
// of every score it costs LoCoMo a point.
func (b *blend) addDense(ctx context.Context) error {
	if b.cfg.VectorWeight == 0 && len(b.pool) >= b.q.Limit {
		return nil
	}
	found, err := b.dense(ctx, dense{text: b.cue.state, n: hybridRead, least: vectorLeast})
	if err != nil {
		return err
	}
	weight := cmp.Or(b.cfg.VectorWeight, rescueWeight) * max(b.mean, 1)
	for _, c := range found {
		t := b.byID[c.memory.ID]
		if t == nil || t.memory.ID == "" {
			t = b.add(store.Match{ID: c.memory.ID})
			t.take(c.memory)
		}
		t.cosine = c.score
		t.score += weight * (c.score - vectorLeast) / (1 - vectorLeast) * b.role(t.Source)
		t.match = append(t.match, byVector)
	}
	return nil
}

// refine scores what only the words and their speaker tell.
func (b *blend) refine() {
	named := b.namedSpeakers()
	for _, t := range b.pool {
		t.stage("bm25", t.own)
		t.stage("surroundings", t.around)
		t.stage("conversation", t.whole)
		if t.cosine > 0 {
			t.stage("cosine", t.cosine)
		}
		if v := b.bySpeaker(t, named); v != 0 {
			t.score += v
			t.stage("speaker", v)
		}
		if v := inTime * b.mean * b.timely(t.SaidAt); v != 0 {
			t.score += v
			t.stage("time", v)
		}
		if b.asks == aTime && timeWords.MatchString(t.memory.Content.Text) || b.asks == aNumber && numberWords.MatchString(t.memory.Content.Text) {
			v := holdsSort * b.mean * b.role(t.Source)
			t.score += v
			t.stage("sort", v)
		}
		f := 1.0
		if isQuestion(t.memory.Content.Text) {
			f -= asksBack * min(1, math.Pow(askLength/float64(max(1, t.Length)), 2))
		}
		if t.Source != oxbow.FromAssistant && isQuestion(t.before) {
			f *= 1 + replies
		}
		t.score *= f
		t.stage("dialogue", f)
	}
	b.sort()
}

// namedSpeakers gives the terms of the cue that name people who speak.
func (b *blend) namedSpeakers() map[int64]int {
	at := make(map[int64]int, len(b.terms))
	for i, t := range b.terms {
		at[t.Hash] = i
	}
	out := map[int64]int{}
	for _, t := range b.pool {
		for _, h := range t.speaker() {
			if i, named := at[h]; named {
				out[h] = i
			}
		}
	}
	return out
}

// speaker gives the terms of the name of who said it.
func (t *thing) speaker() []int64 {
	if t.memory.Content.Speaker == "" {
		return nil
	}
	terms, _ := text.Analyse(t.memory.Content.Speaker)
	out := make([]int64, len(terms))
	for i, w := range terms {
		out[i] = w.Hash
	}
	return out
}

// bySpeaker is what it counts who said it, when the cue names people who speak.
func (b *blend) bySpeaker(t *thing, named map[int64]int) float64 {
	if len(named) == 0 || t.memory.Content.Speaker == "" {
		return 0
	}
	for _, h := range t.speaker() {
		if i, ok := named[h]; ok {
			return ownName * b.matched.IDF[i]
		}
	}
	if len(named) > 1 {
		return 0
	}
	for _, i := range named {
		if t.Terms>>i&1 == 1 {
			return 0
		}
	}
	return -otherName * b.mean
}

// timely tells how near the time that a thing was said comes to the time that
// the cue names: people speak of a day on it and after it.
func (b *blend) timely(said time.Time) float64 {
	best := 0.0
	for _, s := range b.spans {
		from, to := s.From, s.To
		switch {
		case !from.IsZero() && said.Before(from):
		case to.IsZero() || said.Before(to):
			best = 1
		default:
			best = max(best, math.Exp(-said.Sub(to).Hours()/24/afterDays))
		}
	}
	return best
}

// modify lets quality take its part: how surely it was stated, and how present
// it is. Multiplying by it would let what is sure stand over what is asked.
func (b *blend) modify() {
	for _, t := range b.pool {
		quality := (t.memory.Confidence() + b.settings.Policy.StrengthOf(t.memory, b.at)) / 2
		t.stage("quality", quality)
		t.score *= 1 - qualityShare + qualityShare*quality
	}
	b.sort()
}
