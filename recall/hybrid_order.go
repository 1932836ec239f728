package recall

import (
	"context"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
)

const (
	// newerAmong is how far down a newer statement is looked for.
	newerAmong = 10
	// newerScore is what a newer statement must score, in parts of the older one,
	// and newerShare how much of what the older one has of the question it must
	// have too.
	newerScore, newerShare = 0.6, 0.5
	// sameShare is the share of their words that near-duplicates have in common,
	// and sameWords the fewest words that can tell.
	sameShare, sameWords = 0.9, 4
	// coverAmong is how many of the best are asked how much of the question they cover.
	coverAmong = 10
	// orderShare is what the order takes of a score. With a fifth, the floor costs
	// BEAM three points of R@10 instead of two.
	orderShare = 0.05
	// hintCover is how much of a word a hint covers.
	hintCover = 0.7
	// smallScope is added to the number of texts, so that in a scope of three
	// memories a word in one of them still counts as rare.
	smallScope = 20.0
)

// change are the words of a statement that replaces another.
var change = stems(`now new newly update updated increase increased recent recently improve improved change changed move moved moving switch
	switched instead longer already reach reached extend extended current currently anymore postpone postponed reschedule rescheduled upgrade
	upgraded replace replaced latest raise raised drop dropped grow grown total added bump bumped shift shifted push pushed cut reduce reduced`)

var changeHashes = func() map[int64]bool {
	out := map[int64]bool{}
	for w := range change {
		out[text.Hash(w)] = true
	}
	return out
}()

// changes tells whether a text says that something is not as it was.
func (t *thing) changes() bool {
	for h := range t.words {
		if changeHashes[h] {
			return true
		}
	}
	return false
}

// newerFirst puts a statement that says of a change right before the older
// statement about the same, when the question asks how a thing is today. The
// date alone never moves a memory: that costs LoCoMo a point and more.
func (b *blend) newerFirst() {
	if !b.now {
		return
	}
	n := min(len(b.pool), newerAmong)
	var out []*thing
	for _, t := range b.pool[:n] {
		at := len(out)
		if t.changes() {
			for i, o := range out {
				if b.replaces(t, o) {
					at = i
					t.stage("newer", float64(len(out)-i))
					break
				}
			}
		}
		out = slices.Insert(out, at, t)
	}
	copy(b.pool, out)
}

// replaces tells whether a statement can be what an older one has become.
func (b *blend) replaces(t, o *thing) bool {
	return o.SaidAt.Before(t.SaidAt) && o.Source == t.Source && o.memory.Content.Speaker == t.memory.Content.Speaker &&
		t.score >= newerScore*o.score && b.worth(b.fold(t.Terms)&b.fold(o.Terms)) >= newerShare*b.worth(b.fold(o.Terms))
}

// worth sums what the terms of a mask count.
func (b *blend) worth(mask uint64) float64 {
	sum := 0.0
	for i, v := range b.value {
		if mask>>i&1 == 1 {
			sum += v
		}
	}
	return sum
}

// conflicts puts the newer over the older of two memories that a link says
// contradict each other, and of two that had one address.
func (b *blend) conflicts(ctx context.Context) error {
	top := b.pool[:min(len(b.pool), max(newerAmong, b.q.Limit))]
	if len(top) < 2 {
		return nil
	}
	ids := make([]string, len(top))
	at := map[string]int{}
	for i, t := range top {
		ids[i], at[t.ID] = t.ID, i
	}
	links, err := b.cfg.Store.Links(ctx, b.q.Scope.Tenant, ids)
	if err != nil {
		return err
	}
	against := map[[2]string]bool{}
	for _, l := range links {
		if l.Type == oxbow.ConflictsWith || l.Type == oxbow.Supersedes {
			against[[2]string{l.From, l.To}], against[[2]string{l.To, l.From}] = true, true
		}
	}
	for i := 1; i < len(top); i++ {
		for j := 0; j < i; j++ {
			old, t := top[j], top[i]
			address := t.memory.IsFact() && t.memory.Slot == old.memory.Slot && t.memory.Key == old.memory.Key
			if (address || against[[2]string{t.ID, old.ID}]) && old.memory.Before(t.memory) {
				t.stage("newer", float64(i-j))
				copy(top[j+1:i+1], top[j:i])
				top[j] = t
				break
			}
		}
	}
	return nil
}

// collapse shows near-duplicates once: the later said stands at the place of the
// best of them, as long as both say it in the same words, numbers and denials.
func (b *blend) collapse() {
	var out []*thing
	look := max(coverAmong, 2*b.q.Limit)
	for i, t := range b.pool {
		same := -1
		if i < look {
			same = slices.IndexFunc(out, func(o *thing) bool { return nearlySame(o, t) })
		}
		if same < 0 {
			out = append(out, t)
			continue
		}
		if o := out[same]; o.memory.Before(t.memory) {
			t.score, t.credit = o.score, o.credit
			out[same] = t
		}
		out[same].stage("collapsed", 1)
	}
	b.pool = out
}

func nearlySame(x, y *thing) bool {
	if x.memory.Content.Speaker != y.memory.Content.Speaker || x.Source != y.Source || len(x.words) < sameWords || len(y.words) < sameWords {
		return false
	}
	common := 0
	for h := range x.words {
		if _, there := y.words[h]; there {
			common++
		}
	}
	union := len(x.words) + len(y.words) - common
	return float64(common) >= sameShare*float64(union) && exact(x.memory.Content.Text) == exact(y.memory.Content.Text)
}

var exactWords = regexp.MustCompile(`(?i)\d+|\b(not|no|never|none|nobody|nothing|without|cannot)\b|n['’]t\b`)

// exact gives the numbers and denials of a text, in order: with another one it
// says something else.
func exact(s string) string {
	return strings.ToLower(strings.Join(exactWords.FindAllString(s, -1), " "))
}

// rounded makes scores equal on every machine and database.
func rounded(v float64) float64 { return math.Round(v*1e9) / 1e9 }

// cover tells how much of the question a candidate and its surroundings cover, in
// parts of the weight of its informative words; or, found by its vector alone,
// the square of its cosine.
func (b *blend) cover(t *thing) float64 { return b.covered(t, t.credit) }

// covered is cover with what the surroundings say of each term; with nil they say
// nothing and only the candidate's own words count.
func (b *blend) covered(t *thing, credit []float64) float64 {
	has, all := 0.0, 0.0
	folded := b.fold(t.Terms)
	for i, w := range b.informs {
		all += w
		switch {
		case t.Terms>>i&1 == 1:
			has += w
		case folded>>i&1 == 1 && (credit == nil || credit[i] < hintCover):
			has += w * hintCover
		case credit != nil:
			has += w * credit[i]
		}
	}
	switch {
	case all > 0:
		return max(has/all, t.cosine*t.cosine)
	case len(b.spans) > 0: // it asks for nothing but a time
		return b.timely(t.SaidAt)
	}
	return t.cosine * t.cosine
}

// inform weighs the words of the cue for cover: rare ones more, and those that
// nothing stored has the most, because they are what the question is about.
func (b *blend) inform() {
	hits := uint64(0)
	for _, h := range b.matched.Hits {
		hits |= b.fold(h.Terms)
	}
	n := float64(b.matched.Texts)
	for i, idf := range b.matched.IDF {
		df := max(0, (n+1)*math.Exp(-idf)-0.5) // of store.IDF
		w := b.known[i] * math.Log((n+smallScope)/(df+1))
		switch {
		case b.known[i] <= frameKnown || hits>>i&1 == 1:
		case b.named[i]:
			w *= strangeName
		default:
			w *= strangeWord
		}
		b.informs = append(b.informs, w)
	}
}

// answers gives the candidates their score: how much of the question the best of
// them cover, of which the order may take a twentieth. The order decides, so a
// weak one behind a good one stays over the floor, and all are under it together.
func (b *blend) answers() []candidate {
	top := 0.0
	for _, t := range b.pool[:min(len(b.pool), coverAmong)] {
		top = max(top, b.cover(t))
	}
	var out []candidate
	last := 1.0
	for _, t := range b.pool {
		share := 1.0
		if best := b.pool[0].score; best > 0 {
			share = max(0, min(last, t.score/best))
		}
		last = share
		t.stage("cover", b.cover(t))
		t.stage(ownCover, b.covered(t, nil))
		out = append(out, candidate{memory: t.memory, match: t.match, stages: t.stages, score: rounded(top * (1 - orderShare + orderShare*share))})
	}
	return out
}
