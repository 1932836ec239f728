package storetest

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/store"
)

// matching gives a query of the sub-test's scope for the words of a text.
func (f *fixture) matching(words string) store.MatchQuery {
	q := store.MatchQuery{Scope: f.scope, Statuses: []oxbow.Status{oxbow.Active}, K1: 0.9, B: 0.1, Limit: 100}
	terms, _ := text.Analyse(words)
	for _, t := range terms {
		q.Terms = append(q.Terms, store.Weighted{Hash: t.Hash, Weight: 1})
	}
	return q
}

// match gives the hits of a query that must succeed.
func (f *fixture) match(q store.MatchQuery) []store.Match {
	f.Helper()
	return must(f.s.Match(f.ctx, q))(f).Hits
}

func matchIDs(hits []store.Match) []string {
	out := make([]string, len(hits))
	for i, h := range hits {
		out[i] = h.ID
	}
	return out
}

// match ranks a corpus by the contract's words: the terms by which candidates
// are found, and the scores of all.
func (c corpus) match(q store.MatchQuery) store.Matched {
	docs := map[string]map[int64]int{}
	lengths := map[string]int{}
	df := map[int64]int{}
	total := 0
	for id, s := range c.texts {
		terms, n := text.Analyse(s)
		docs[id], lengths[id] = map[int64]int{}, n
		total += n
		for _, t := range terms {
			docs[id][t.Hash] = t.TF
			df[t.Hash]++
		}
	}
	n, average := float64(len(docs)), float64(total)/float64(len(docs))
	if q.Postings > 0 {
		for t := range df {
			df[t] = min(df[t], q.Postings)
		}
	}
	order := make([]int, 0, len(q.Terms))
	var out store.Matched
	for i, t := range q.Terms {
		out.IDF = append(out.IDF, math.Log((n-float64(df[t.Hash])+0.5)/(float64(df[t.Hash])+0.5)+1))
		out.Bound += t.Weight * out.IDF[i] * (q.K1 + 1)
		if df[t.Hash] > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return df[q.Terms[a].Hash] - df[q.Terms[b].Hash] })
	lead, walked := uint64(0), 0
	for i, at := range order {
		if walked += df[q.Terms[at].Hash]; i > 0 && q.Postings > 0 && walked > q.Postings {
			break
		}
		lead |= 1 << at
	}
	for id, d := range docs {
		h := store.Match{ID: id, Length: lengths[id]}
		for i, t := range q.Terms {
			if tf := float64(d[t.Hash]); tf > 0 {
				h.Score += t.Weight * out.IDF[i] * tf * (q.K1 + 1) / (tf + q.K1*(1-q.B+q.B*float64(lengths[id])/average))
				h.Terms |= 1 << i
			}
		}
		if h.Terms&lead != 0 && slices.Contains(q.Statuses, c.statuses[id]) {
			out.Hits = append(out.Hits, h)
		}
	}
	slices.SortFunc(out.Hits, func(a, b store.Match) int {
		if math.Abs(a.Score-b.Score) > 1e-8 {
			return cmp.Compare(b.Score, a.Score)
		}
		return strings.Compare(a.ID, b.ID)
	})
	return out
}

func testMatch(t *testing.T, s store.Store) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprintf("scores a random corpus %d as the formula does and names the terms of each", seed), func(t *testing.T) {
			f := setup(t, s)
			r := rand.New(rand.NewPCG(seed, 5))
			c := grow(f, r, 30+20*int(seed))
			for range 25 {
				q := f.matching(sentence(r, 1+r.IntN(6)) + " unheard")
				for i := range q.Terms {
					q.Terms[i].Weight = []float64{1, 0.5, 0.3}[r.IntN(3)]
				}
				q.K1, q.B = []float64{0.5, 1.2}[r.IntN(2)], []float64{0, 0.1, 0.75}[r.IntN(3)]
				if r.IntN(2) == 0 {
					q.Postings = 1 + r.IntN(30)
				}
				compareMatches(f, must(f.s.Match(f.ctx, q))(f), c.match(q))
			}
		})
	}

	t.Run("looks further when the best have another status", func(t *testing.T) {
		f := setup(t, s)
		for i := range 30 {
			f.create(f.memory(fmt.Sprint(i), says("ferry ferry"), func(m *oxbow.Memory) { m.Status = oxbow.Quarantined }))
		}
		f.create(f.memory("last", says("the ferry left the harbour at dawn")))
		q := f.matching("ferry")
		q.Limit = 2
		f.wantOrder(matchIDs(f.match(q)), "last")
	})

	t.Run("keeps to slots, kinds, addresses and what is live", func(t *testing.T) {
		f := setup(t, s)
		f.create(
			f.memory("fact", fact("user", "boat"), says("a ferry")),
			f.memory("other", fact("project", "boat"), says("a ferry")),
			f.memory("free", says("a ferry"), func(m *oxbow.Memory) { m.Kind = oxbow.Episodic }),
			f.memory("gone", says("a ferry"), func(m *oxbow.Memory) { m.ExpiresAt = start.Add(day) }),
		)
		for _, c := range []struct {
			set  func(*store.MatchQuery)
			want []string
		}{
			{func(q *store.MatchQuery) { q.Slots = []string{"user"} }, []string{"fact"}},
			{func(q *store.MatchQuery) { q.Slots = []string{"user", "project"} }, []string{"fact", "other"}},
			{func(q *store.MatchQuery) { q.Slots = []string{} }, nil},
			{func(q *store.MatchQuery) { q.Keyed = true }, []string{"fact", "other"}},
			{func(q *store.MatchQuery) { q.Kind = oxbow.Episodic }, []string{"free"}},
			{func(q *store.MatchQuery) { q.LiveAt = start.Add(2 * day) }, []string{"fact", "other", "free"}},
			{func(q *store.MatchQuery) { q.LiveAt = start.Add(10 * 365 * day) }, nil},
		} {
			q := f.matching("ferries")
			c.set(&q)
			got, want := matchIDs(f.match(q)), f.ids(c.want...)
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("%+v finds %d memories, want %v", q, len(got), c.want)
			}
		}
	})

	t.Run("finds nothing in a scope that is not there, and says what the words would weigh", func(t *testing.T) {
		f := setup(t, s)
		got := must(f.s.Match(f.ctx, f.matching("ferry harbour")))(f)
		if len(got.Hits) != 0 || len(got.IDF) != 2 || got.Bound <= 0 {
			t.Fatalf("got %+v", got)
		}
		if got := must(f.s.Match(f.ctx, f.matching("")))(f); len(got.Hits) != 0 || got.Bound != 0 {
			t.Fatalf("no words give %+v", got)
		}
	})

	t.Run("leaves out the terms behind the last that fits", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a", says("a ferry")))
		q := f.matching("")
		for i := range 500 {
			q.Terms = append(q.Terms, store.Weighted{Hash: int64(i), Weight: 1})
		}
		q.Terms[store.MaxTerms-1] = f.matching("ferry").Terms[0]
		if hits := f.match(q); len(hits) != 1 || hits[0].Terms != 1<<(store.MaxTerms-1) {
			t.Fatalf("the last term gives %+v", hits)
		}
		q.Terms[store.MaxTerms-1], q.Terms[store.MaxTerms] = q.Terms[0], q.Terms[store.MaxTerms-1]
		f.wantOrder(matchIDs(f.match(q)))
	})
}

func compareMatches(f *fixture, got, want store.Matched) {
	f.Helper()
	if len(got.Hits) != len(want.Hits) || math.Abs(got.Bound-want.Bound) > 1e-6 || len(got.IDF) != len(want.IDF) {
		f.Fatalf("got %d hits and the bound %v, want %d and %v", len(got.Hits), got.Bound, len(want.Hits), want.Bound)
	}
	for i, h := range got.Hits {
		w := want.Hits[i]
		if h.ID != w.ID || math.Abs(h.Score-w.Score) > 1e-6 || h.Terms != w.Terms || h.Length != w.Length {
			f.Fatalf("place %d has %+v, want %+v", i, h, w)
		}
	}
}

func testBeside(t *testing.T, s store.Store) {
	// talk stores memories of a conversation, a minute apart, in this order.
	talk := func(f *fixture, conversation string, names ...string) {
		for i, name := range names {
			f.create(f.memory(name, says("words of "+name), func(m *oxbow.Memory) {
				m.Conversation, m.SaidAt = conversation, start.Add(time.Duration(i)*time.Minute)
			}))
		}
	}
	beside := func(f *fixture, reach int, names ...string) []string {
		f.Helper()
		q := store.BesideQuery{Scope: f.scope, IDs: f.ids(names...), Statuses: []oxbow.Status{oxbow.Active}, Reach: reach, LiveAt: start.Add(day)}
		var out []string
		for _, n := range must(f.s.Beside(f.ctx, q))(f) {
			for _, name := range strings.Fields("a b c d e x y") {
				if f.id(name) == n.ID {
					out = append(out, fmt.Sprint(name, n.Step))
				}
			}
		}
		return out
	}

	t.Run("gives what was said just before and after, the nearest first", func(t *testing.T) {
		f := setup(t, s)
		talk(f, "one", "a", "b", "c", "d", "e")
		talk(f, "two", "x", "y")
		for _, c := range []struct {
			reach int
			of    []string
			want  string
		}{
			{1, []string{"c"}, "b-1 d1"},
			{2, []string{"c"}, "b-1 d1 a-2 e2"},
			{10, []string{"a"}, "b1 c2 d3 e4"},
			{1, []string{"y", "a"}, "x-1 b1"},
			{1, nil, ""},
		} {
			if got := strings.Join(beside(f, c.reach, c.of...), " "); got != c.want {
				t.Errorf("beside %v stand %q, want %q", c.of, got, c.want)
			}
		}
	})

	t.Run("passes over what is not active and what has expired", func(t *testing.T) {
		f := setup(t, s)
		talk(f, "one", "a", "b", "c", "d", "e")
		f.apply(f.change(oxbow.ArchivedEvent, "b"))
		f.apply(f.change(oxbow.Dated, "d", func(c *oxbow.Change) { c.Set.ExpiresAt = &oxbow.Instant{Time: start.Add(time.Hour)} }))
		if got := strings.Join(beside(f, 1, "c"), " "); got != "a-1 e1" {
			t.Errorf("beside c stand %q", got)
		}
	})

	t.Run("finds nothing beside what stands alone, is elsewhere or is unknown", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a"), f.memory("b"))
		if got := beside(f, 3, "a", "b", "c"); len(got) != 0 {
			t.Errorf("there is %v", got)
		}
		talk(f, "one", "x", "y")
		q := store.BesideQuery{Scope: f.other(), IDs: f.ids("x"), Statuses: oxbow.Statuses, Reach: 1}
		if got := must(f.s.Beside(f.ctx, q))(f); len(got) != 0 {
			t.Errorf("another scope sees %v", got)
		}
	})

	t.Run("goes by id among what was said at one instant", func(t *testing.T) {
		f := setup(t, s)
		names := []string{"a", "b", "c"}
		for _, name := range names {
			f.create(f.memory(name, func(m *oxbow.Memory) { m.Conversation = "one" }))
		}
		slices.SortFunc(names, func(a, b string) int { return strings.Compare(f.id(a), f.id(b)) })
		if got, want := strings.Join(beside(f, 1, names[1]), " "), names[0]+"-1 "+names[2]+"1"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
