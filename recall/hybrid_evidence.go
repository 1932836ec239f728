package recall

import (
	"context"
	"math"
	"regexp"
	"strings"

	"github.com/oxbow-memory/oxbow/store"
)

const (
	// besideReach is how far the surroundings of a memory reach. 2 costs half a
	// point of R@10 on LoCoMo, 6 gives half a point.
	besideReach = 3
	// A word of the cue that a memory lacks counts for it this much when what was
	// said just before has it, and just after; each step further by besideDecay less.
	creditBefore, creditAfter, besideDecay = 0.7, 0.4, 0.8
	// besideLength is the length, in terms, at which the word of a neighbour counts
	// half: long texts say many things.
	besideLength = 100.0
	// wholeShare is what the best hits of a conversation count for each memory of
	// it, the first whole, the second half, to the wholeHits-th.
	wholeShare, wholeHits = 0.1, 5
)

// lookBeside fetches what was said around the best candidates.
func (b *blend) lookBeside(ctx context.Context, q store.BesideQuery) error {
	for _, t := range b.pool[:min(len(b.pool), hybridNear)] {
		if t.Conversation != "" {
			q.IDs = append(q.IDs, t.ID)
		}
	}
	if len(q.IDs) == 0 {
		return nil
	}
	var err error
	if b.beside, err = b.cfg.Store.Beside(ctx, q); err != nil {
		return err
	}
	for _, n := range b.beside {
		if b.byID[n.ID] == nil {
			b.add(n.Match).match = []string{byWords}
		}
	}
	return nil
}

// weigh adds to each candidate what its surroundings and its conversation say: a
// term counts where it stands nearest, so that nothing counts twice.
func (b *blend) weigh() {
	for from := 0; from < len(b.beside); {
		to := from
		row := []placed{{b.byID[b.beside[from].Of], 0}}
		for ; to < len(b.beside) && b.beside[to].Of == b.beside[from].Of; to++ {
			row = append(row, placed{b.byID[b.beside[to].ID], b.beside[to].Step})
		}
		b.creditRow(row)
		from = to
	}
	whole := b.conversations()
	for _, t := range b.pool {
		for i, c := range t.credit {
			if t.Terms>>i&1 == 0 {
				t.around += b.role(t.Source) * b.value[i] * c
			}
		}
		t.score += t.around
		if t.Conversation != "" {
			t.whole = b.role(t.Source) * wholeShare * whole[t.Conversation]
			t.score += t.whole
		}
	}
	b.sort()
}

// placed is a candidate at its place in a stretch of a conversation.
type placed struct {
	*thing
	at int
}

func (b *blend) creditRow(row []placed) {
	for _, x := range row {
		for _, y := range row {
			away := x.at - y.at // above zero when y was said before x
			if away == 0 || away > besideReach || -away > besideReach || y.Terms == 0 {
				continue
			}
			c := creditBefore
			if away < 0 {
				c, away = creditAfter, -away
			}
			c *= math.Pow(besideDecay, float64(away-1)) * b.role(y.Source) / (1 + float64(y.Length)/besideLength)
			for i := range x.credit[:len(x.credit)-len(b.hints)] {
				if y.Terms>>i&1 == 1 {
					x.credit[i] = max(x.credit[i], c)
				}
			}
		}
	}
}

// conversations gives what the best hits of each conversation are worth.
func (b *blend) conversations() map[string]float64 {
	sum, n := map[string]float64{}, map[string]int{}
	for _, t := range b.pool { // best first
		if c := t.Conversation; c != "" && t.own > 0 && n[c] < wholeHits {
			n[c]++
			sum[c] += t.own / float64(n[c])
		}
	}
	return sum
}

var (
	timeWords   = regexp.MustCompile(`(?i)\b(yesterday|today|tonight|tomorrow|last|next|ago|week|weekend|month|years?|monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|may|june|july|august|september|october|november|december|morning|since|recently|just|(19|20)\d\d)\b`)
	numberWords = regexp.MustCompile(`(?i)\b(\d+|one|two|three|four|five|six|seven|eight|nine|ten|twice|once|dozen|hundred|couple|few|both)\b`)
)

// isQuestion tells whether a text ends in a question, but for a note in brackets.
func isQuestion(s string) bool {
	s = strings.TrimSpace(s)
	if strings.HasSuffix(s, "]") {
		if i := strings.LastIndexByte(s, '['); i > 0 {
			s = strings.TrimSpace(s[:i])
		}
	}
	return strings.HasSuffix(s, "?") || strings.HasSuffix(s, "？")
}
