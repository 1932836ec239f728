package eval_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/eval"
)

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-6 {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func TestMeasures(t *testing.T) {
	t.Parallel()
	// c and a are found, at ranks 2 and 6; d is not.
	got, relevant := []string{"x", "c", "y", "z", "w", "a", "v"}, []string{"a", "c", "d"}

	t.Run("recall is the share of what is relevant", func(t *testing.T) {
		t.Parallel()
		near(t, "recall@5", eval.RecallAt(got, relevant, 5), 1.0/3)
		near(t, "recall@10", eval.RecallAt(got, relevant, 10), 2.0/3)
		near(t, "recall@1", eval.RecallAt(got, relevant, 1), 0)
		near(t, "recall@10 of nothing", eval.RecallAt(nil, relevant, 10), 0)
		near(t, "recall@10 when nothing is relevant", eval.RecallAt(got, nil, 10), 0)
	})

	t.Run("a hit is one of them", func(t *testing.T) {
		t.Parallel()
		near(t, "hit@1", eval.HitAt(got, relevant, 1), 0)
		near(t, "hit@2", eval.HitAt(got, relevant, 2), 1)
	})

	t.Run("the reciprocal rank is that of the first", func(t *testing.T) {
		t.Parallel()
		near(t, "rr", eval.ReciprocalRank(got, relevant, 10), 1.0/2)
		near(t, "rr of the first alone", eval.ReciprocalRank(got, relevant, 1), 0)
		near(t, "rr of d", eval.ReciprocalRank(got, []string{"d"}, 10), 0)
	})

	t.Run("nDCG discounts by rank and divides by the best order", func(t *testing.T) {
		t.Parallel()
		// (1/log2 3 + 1/log2 7) / (1/log2 2 + 1/log2 3 + 1/log2 4)
		near(t, "ndcg@10", eval.NDCG(got, relevant, 10), (0.6309297536+0.3562071871)/(1+0.6309297536+0.5))
		near(t, "ndcg@5", eval.NDCG(got, relevant, 5), 0.6309297536/(1+0.6309297536+0.5))
		near(t, "ndcg of the best order", eval.NDCG([]string{"d", "a", "c"}, relevant, 10), 1)
		near(t, "ndcg@2 when more is relevant than fits", eval.NDCG([]string{"d", "a"}, relevant, 2), 1)
		near(t, "ndcg when nothing is relevant", eval.NDCG(got, nil, 10), 0)
	})

	t.Run("a repeat takes a place and counts once", func(t *testing.T) {
		t.Parallel()
		twice := []string{"a", "a", "c"}
		near(t, "recall@2", eval.RecallAt(twice, relevant, 2), 1.0/3)
		near(t, "ndcg@3", eval.NDCG(twice, relevant, 3), (1+0.5)/(1+0.6309297536+0.5))
		near(t, "recall with a repeat in the label", eval.RecallAt(got, []string{"c", "c"}, 5), 1)
	})

	t.Run("an update is found when the new stands in the top five and above the old", func(t *testing.T) {
		t.Parallel()
		for _, c := range []struct {
			got  string
			want bool
		}{
			{"n o", true}, {"x n", true}, {"a b c d n", true}, {"a b c d e n", false}, {"o n", false}, {"o", false}, {"x y", false}, {"", false}, {"x m o", true},
		} {
			if eval.Updated(strings.Fields(c.got), []string{"o", "p"}, []string{"n", "m"}) != c.want {
				t.Errorf("%q: want %v", c.got, c.want)
			}
		}
	})

	t.Run("a percentile is the nearest rank, in milliseconds", func(t *testing.T) {
		t.Parallel()
		var took []time.Duration
		for i := range 20 {
			took = append(took, time.Duration(20-i)*time.Millisecond)
		}
		near(t, "p50", eval.Percentile(took, .5), 10)
		near(t, "p95", eval.Percentile(took, .95), 19)
		near(t, "p95 of one", eval.Percentile(took[:1], .95), 20)
		near(t, "p50 of none", eval.Percentile(nil, .5), 0)
	})
}

func TestMeasure(t *testing.T) {
	t.Parallel()
	q := func(category, relevant, got string, took time.Duration) eval.Recalled {
		return eval.Recalled{Store: "s", Query: eval.RecallQuery{Category: category, Relevant: strings.Fields(relevant)}, Got: strings.Fields(got), Took: took}
	}
	all := []eval.Recalled{
		q("one", "a b", "a x b", 3*time.Millisecond),
		q("one", "a", "", time.Millisecond),
		q("two", "c", "x c", 2*time.Millisecond),
		q("none", "", "", time.Millisecond),
		q("none", "", "x", time.Millisecond),
		q("none", "", "", time.Millisecond),
	}
	update := q("new", "n", "n o", time.Millisecond)
	update.Query.Old, update.Query.New = []string{"o"}, []string{"n"}
	late := q("new", "", "o n", time.Millisecond)
	late.Query.Old, late.Query.New = []string{"o"}, []string{"n"}
	got := eval.Measure(append(all, update, late))

	t.Run("takes the means over queries with an answer", func(t *testing.T) {
		t.Parallel()
		if got.Queries != 4 || got.ByCategory["one"].Queries != 2 {
			t.Errorf("%+v", got)
		}
		near(t, "recall@10", got.Recall10, 3.0/4)
		near(t, "recall@10 of one", got.ByCategory["one"].Recall10, 1.0/2)
		near(t, "hit@10", got.Hit10, 3.0/4)
		near(t, "mrr", got.MRR, (1+0+0.5+1)/4)
		near(t, "ndcg@10 of two", got.ByCategory["two"].NDCG10, 0.6309297536)
		near(t, "p50", got.P50, 1)
		near(t, "p95", got.P95, 3)
	})

	t.Run("counts what nothing can answer apart", func(t *testing.T) {
		t.Parallel()
		none := got.ByCategory["none"]
		if none.Queries != 0 || none.Unanswerable != 3 || none.Empty == nil || got.Unanswerable != 3 || got.ByCategory["one"].Empty != nil {
			t.Fatalf("%+v", none)
		}
		near(t, "empty", *none.Empty, 2.0/3)
	})

	t.Run("counts updates", func(t *testing.T) {
		t.Parallel()
		if got.Updates != 2 || got.Updated == nil || *got.Updated != .5 || got.ByCategory["two"].Updated != nil {
			t.Errorf("%+v", got)
		}
	})

	t.Run("names what was missed", func(t *testing.T) {
		t.Parallel()
		var by []string
		for _, m := range got.Misses {
			by = append(by, m.Category)
		}
		if !slices.Equal(by, []string{"one", "none", "new"}) {
			t.Errorf("%v", by)
		}
	})
}

func TestCompare(t *testing.T) {
	t.Parallel()

	t.Run("gives the mean, an interval around it, and how many did better", func(t *testing.T) {
		t.Parallel()
		var a, b []float64
		for i := range 100 {
			a = append(a, .5)
			b = append(b, []float64{.5, .7, .9, .4}[i%4])
		}
		d := eval.Compare(a, b)
		near(t, "mean", d.Mean, .125)
		// The standard error is sqrt((.125²+.075²+.275²+.225²)/4)/10 = .0192.
		if d.Better != 50 || d.Worse != 25 || d.IsNothing || math.Abs(d.Low-(.125-1.96*.0192)) > .006 || math.Abs(d.High-(.125+1.96*.0192)) > .006 {
			t.Errorf("%+v", d)
		}
	})

	t.Run("calls noise what could as well be the other way round", func(t *testing.T) {
		t.Parallel()
		var a, b []float64
		for i := range 40 {
			a, b = append(a, float64(i%2)), append(b, float64((i+1)%2))
		}
		if d := eval.Compare(a, b); !d.IsNothing || d.Mean != 0 || d.Low >= 0 || d.High <= 0 || d.SignTest != 1 {
			t.Errorf("%+v", d)
		}
		if d := eval.Compare(a, a); !d.IsNothing || d.SignTest != 1 || d.Low != 0 || d.High != 0 {
			t.Errorf("the same values: %+v", d)
		}
		if d := eval.Compare(nil, nil); !d.IsNothing {
			t.Errorf("no values: %+v", d)
		}
	})

	t.Run("the sign test is the binomial's", func(t *testing.T) {
		t.Parallel()
		// 8 better and 2 worse: 2 * (1 + 10 + 45) / 1024; 5 better, none worse: 2 / 32.
		for _, c := range []struct {
			better, worse int
			want          float64
		}{{8, 2, 112.0 / 1024}, {5, 0, 2.0 / 32}, {3, 3, 1}} {
			var a, b []float64
			for range c.better {
				a, b = append(a, 0), append(b, 1)
			}
			for range c.worse {
				a, b = append(a, 1), append(b, 0)
			}
			near(t, fmt.Sprintf("%d against %d", c.better, c.worse), eval.Compare(a, b).SignTest, c.want)
		}
	})

	t.Run("counts answers that are the same", func(t *testing.T) {
		t.Parallel()
		r := func(got string) eval.Recalled { return eval.Recalled{Got: strings.Fields(got)} }
		a := []eval.Recalled{r("a b c"), r("a b"), r(""), r("a")}
		b := []eval.Recalled{r("a b d"), r("b a"), r(""), r("a b")}
		if got := eval.SameTop(a, b, 2); got != 2 {
			t.Errorf("%d of the first two are the same, want 2", got)
		}
	})
}

func TestReadRecall(t *testing.T) {
	t.Parallel()

	t.Run("reads a store with its times, in order", func(t *testing.T) {
		t.Parallel()
		got, err := eval.ReadRecall(strings.NewReader("\n" +
			`{"id":"s","memories":[{"id":7,"conversation":"c","at":"2026-03-01T10:00:00Z","speaker":"ada","content":"one"},{"id":"8","content":"two"}],"queries":[{"category":4,"query":"which?","relevant":[7,"8"],"new":["8"]}]}`))
		if err != nil || len(got) != 1 {
			t.Fatal(got, err)
		}
		s := got[0]
		if s.Memories[0].ID != "7" || s.Memories[0].Speaker != "ada" || !s.Memories[1].At.Equal(time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)) {
			t.Errorf("%+v", s.Memories)
		}
		if q := s.Queries[0]; q.Category != "4" || q.ID != "s 1" || !slices.Equal(q.Relevant, []string{"7", "8"}) || !slices.Equal(q.New, []string{"8"}) {
			t.Errorf("%+v", q)
		}
	})

	t.Run("names the line that is no store", func(t *testing.T) {
		t.Parallel()
		good := `{"id":"a","memories":[{"id":"1","content":"x"}],"queries":[{"query":"x?","relevant":["1"]}]}` + "\n"
		for name, line := range map[string]string{
			"no JSON":       `{"id":`,
			"another form":  `{"old":"x","new":"y"}`,
			"a memory id":   `{"id":"b","memories":[{"content":"x"}]}`,
			"an id twice":   `{"id":"b","memories":[{"id":"1","content":"x"},{"id":"1","content":"y"}]}`,
			"a time":        `{"id":"b","memories":[{"id":"1","at":"yesterday","content":"x"}]}`,
			"a query":       `{"id":"b","queries":[{"id":"1","query":" "}]}`,
			"a store twice": `{"id":"a","memories":[{"id":"1","content":"x"}]}`,
			"an id's form":  `{"id":"b","memories":[{"id":["1"],"content":"x"}]}`,
		} {
			_, err := eval.ReadRecall(strings.NewReader(good + "\n" + line + "\n" + good))
			if err == nil || oxbow.CodeOf(err) != oxbow.CodeInvalid || !strings.Contains(err.Error(), "line 3") {
				t.Errorf("%s: %v", name, err)
			}
		}
	})

	t.Run("pools stores without mixing their ids", func(t *testing.T) {
		t.Parallel()
		stores, err := eval.ReadRecall(strings.NewReader(
			`{"id":"a","memories":[{"id":"1","conversation":"c","content":"x"}],"queries":[{"query":"x?","relevant":["1","9"]}]}` + "\n" +
				`{"id":"b","memories":[{"id":"1","conversation":"c","content":"x"}],"queries":[{"query":"x?","category":"k","relevant":["1"]}]}`))
		if err != nil {
			t.Fatal(err)
		}
		p := eval.Pool(stores)
		if len(p.Memories) != 2 || p.Memories[1].ID != "b/1" || p.Memories[0].Conversation == p.Memories[1].Conversation || p.Queries[1].Relevant[0] != "b/1" {
			t.Errorf("%+v", p)
		}
		if n := eval.Unknown(stores); n != 1 {
			t.Errorf("%d ids name no memory, want 1", n)
		}
		if n := eval.Unknown([]eval.RecallStore{p}); n != 1 {
			t.Errorf("pooled: %d ids name no memory, want 1", n)
		}
		if some := eval.OfCategories(stores, []string{"k"}); len(some[0].Queries) != 0 || len(some[1].Queries) != 1 || len(stores[0].Queries) != 1 {
			t.Errorf("%+v", some)
		}
	})
}
