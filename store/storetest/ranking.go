package storetest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/store"
)

// corpus is what the ranking is held against: texts, with the plain BM25 of
// the textbooks over them.
type corpus struct {
	texts    map[string]string // what is indexed, by id
	statuses map[string]oxbow.Status
}

type document struct {
	tf     map[string]int
	length int
}

func analyse(s string) document {
	terms, length := text.Analyse(s)
	d := document{tf: map[string]int{}, length: length}
	for _, t := range terms {
		d.tf[t.Word] = t.TF
	}
	return d
}

// rank scores the corpus for a query: Robertson's BM25 with a floored IDF.
func (c corpus) rank(q store.SearchQuery) []store.Hit {
	docs := map[string]document{}
	df := map[string]int{}
	total := 0
	for id, s := range c.texts {
		d := analyse(s)
		docs[id] = d
		total += d.length
		for w := range d.tf {
			df[w]++
		}
	}
	n := float64(len(docs))
	avg := float64(total) / n
	var out []store.Hit
	for id, d := range docs {
		score := 0.0
		for w := range analyse(q.Text).tf {
			if d.tf[w] == 0 || q.MaxPostings > 0 && df[w] > q.MaxPostings {
				continue
			}
			idf := math.Log((n-float64(df[w])+0.5)/(float64(df[w])+0.5) + 1)
			tf := float64(d.tf[w])
			score += idf * tf * (q.K1 + 1) / (tf + q.K1*(1-q.B+q.B*float64(d.length)/avg))
		}
		if score > 0 && slices.Contains(q.Statuses, c.statuses[id]) && id != q.Exclude {
			out = append(out, store.Hit{ID: id, Score: score})
		}
	}
	slices.SortFunc(out, func(a, b store.Hit) int {
		if math.Abs(a.Score-b.Score) > 1e-9 {
			return int(math.Copysign(1, b.Score-a.Score))
		}
		return strings.Compare(a.ID, b.ID)
	})
	return out
}

var vocabulary = strings.Fields(`river boat harbour ferry rock sand sea tide lighthouse storm anchor rope sail wind wave gull
	chart compass captain crew deck cargo port bridge island shore reef fog bell lantern 北京 茶 réseau Straße naïve 42 x1`)

func sentence(r *rand.Rand, n int) string {
	words := make([]string, n)
	for i := range words {
		// Squaring makes some words common and some rare, as in real text.
		f := r.Float64()
		words[i] = vocabulary[int(f*f*float64(len(vocabulary)))]
	}
	return strings.Join(words, " ")
}

// grow makes a corpus and stores it, rewording and erasing some of it.
func grow(f *fixture, r *rand.Rand, size int) corpus {
	c := corpus{texts: map[string]string{}, statuses: map[string]oxbow.Status{}}
	var ms []oxbow.Memory
	for i := range size {
		m := f.memory(fmt.Sprint(i), says(sentence(r, 1+r.IntN(25))))
		if r.IntN(4) == 0 {
			m.Status = oxbow.Quarantined
		}
		ms = append(ms, m)
		c.texts[m.ID], c.statuses[m.ID] = m.Content.Text, m.Status
	}
	f.create(ms...)
	for i, m := range ms {
		switch {
		case r.IntN(10) == 0:
			f.erase(fmt.Sprint(i))
			delete(c.texts, m.ID)
		case r.IntN(8) == 0 && m.Status == oxbow.Active:
			words := sentence(r, 1+r.IntN(9))
			f.apply(f.change(oxbow.Edited, fmt.Sprint(i), edits(words)))
			c.texts[m.ID] = words
		}
	}
	return c
}

func testRanking(t *testing.T, s store.Store) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprintf("scores a random corpus %d as the formula does", seed), func(t *testing.T) {
			f := setup(t, s)
			r := rand.New(rand.NewPCG(seed, 2))
			c := grow(f, r, 20+20*int(seed))
			for range 25 {
				q := f.query(sentence(r, 1+r.IntN(6)))
				q.K1, q.B = []float64{0.5, 1.2, 2}[r.IntN(3)], []float64{0, 0.1, 0.75, 1}[r.IntN(4)]
				if r.IntN(3) == 0 {
					q.Statuses = oxbow.Statuses
				}
				if r.IntN(3) == 0 {
					q.Exclude = f.id(fmt.Sprint(r.IntN(20)))
				}
				compareHits(f, q, must(f.s.Search(f.ctx, q))(f), c.rank(q))
				q.MaxPostings = 5 + r.IntN(20)
				if want := c.rank(q); len(want) > 0 {
					compareHits(f, q, must(f.s.Search(f.ctx, q))(f), want)
				}
			}
		})
	}

	t.Run("pages to the same list that one page gives", func(t *testing.T) {
		f := setup(t, s)
		r := rand.New(rand.NewPCG(9, 2))
		grow(f, r, 60)
		q := f.query("river boat harbour ferry")
		want := must(f.s.Search(f.ctx, q))(f)
		var got []store.Hit
		for q.Limit = 7; ; q.Offset += 7 {
			page := must(f.s.Search(f.ctx, q))(f)
			if len(page) == 0 {
				break
			}
			got = append(got, page...)
		}
		if len(want) < 20 {
			t.Fatalf("only %d hits: the pages prove nothing", len(want))
		}
		f.wantSame(got, want)
	})

	t.Run("breaks ties by id", func(t *testing.T) {
		f := setup(t, s)
		for i := range 12 {
			f.create(f.memory(fmt.Sprint(i), says("a ferry")))
		}
		ids := hitIDs(f.search("ferry", oxbow.Active))
		if len(ids) != 12 || !slices.IsSorted(ids) {
			t.Fatalf("got %d ids, sorted: %v", len(ids), slices.IsSorted(ids))
		}
	})
}

// compareHits compares scores to 1e-6 and the order up to ties.
func compareHits(f *fixture, q store.SearchQuery, got, want []store.Hit) {
	f.Helper()
	if len(got) != len(want) {
		f.Fatalf("%q finds %d memories, want %d", q.Text, len(got), len(want))
	}
	scores := map[string]float64{}
	for _, h := range want {
		scores[h.ID] = h.Score
	}
	for i, h := range got {
		if math.Abs(h.Score-scores[h.ID]) > 1e-6 {
			f.Fatalf("%q gives %s the score %v, want %v", q.Text, h.ID, h.Score, scores[h.ID])
		}
		if h.ID != want[i].ID && math.Abs(h.Score-want[i].Score) > 1e-6 {
			f.Fatalf("%q has %s at place %d, want %s", q.Text, h.ID, i, want[i].ID)
		}
	}
}
