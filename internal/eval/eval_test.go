package eval_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/eval"
	"github.com/oxbow-memory/oxbow/llm/offline"
)

// examples opens one of the project's own files.
func examples(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestTheOfflineJudgeReachesItsGoals(t *testing.T) {
	t.Parallel()
	ctx := context.Background()

	t.Run("on pairs", func(t *testing.T) {
		t.Parallel()
		got, err := eval.RatePairs(ctx, examples(t, "pairs.jsonl"), offline.New())
		if err != nil {
			t.Fatal(err)
		}
		if got.N < 200 || got.Precision < .97 || got.Recall < .75 || got.Traps["subject"] > 0 || got.WrongSupersedes > 2 {
			t.Errorf("%+v", got)
		}
	})

	t.Run("on expiry", func(t *testing.T) {
		t.Parallel()
		got, err := eval.RateExpiry(ctx, examples(t, "expiry.jsonl"), offline.New())
		if err != nil {
			t.Fatal(err)
		}
		if got.N < 150 || got.RightShare < .9 || got.FalseShare > .03 || got.EventShare < .9 {
			t.Errorf("%+v", got)
		}
	})

	t.Run("on confidence", func(t *testing.T) {
		t.Parallel()
		got, err := eval.RateConfidence(ctx, examples(t, "confidence.jsonl"), offline.New())
		if err != nil {
			t.Fatal(err)
		}
		if got.N < 100 || got.WithinOne < .9 || got.Exact < .7 {
			t.Errorf("%+v", got)
		}
	})

	t.Run("on clusters", func(t *testing.T) {
		t.Parallel()
		got, err := eval.RateClusters(ctx, examples(t, "clusters.jsonl"), offline.New())
		if err != nil {
			t.Fatal(err)
		}
		if got.F1 < .85 || got.Precision < .95 {
			t.Errorf("%+v", got)
		}
	})
}

func TestTheOfflineJudgeHoldsOnLaterSets(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pairs, err := eval.RatePairs(ctx, examples(t, "pairs_fresh.jsonl"), offline.New())
	if err != nil || pairs.N < 700 || pairs.Precision < .98 || pairs.Recall < .85 || pairs.Traps["subject"] > 0 || pairs.ConfirmPrecision < .9 {
		t.Errorf("pairs: %+v %v", pairs, err)
	}
	expiry, err := eval.RateExpiry(ctx, examples(t, "expiry_fresh.jsonl"), offline.New())
	if err != nil || expiry.N < 240 || expiry.RightShare < .95 || expiry.FalseShare > .02 || expiry.EventShare < .95 {
		t.Errorf("expiry: %+v %v", expiry, err)
	}
	confidence, err := eval.RateConfidence(ctx, examples(t, "confidence_fresh.jsonl"), offline.New())
	if err != nil || confidence.N < 60 || confidence.WithinOne < .95 || confidence.Exact < .9 {
		t.Errorf("confidence: %+v %v", confidence, err)
	}
	clusters, err := eval.RateClusters(ctx, examples(t, "clusters_fresh.jsonl"), offline.New())
	if err != nil || clusters.F1 < .9 || clusters.Precision < .97 {
		t.Errorf("clusters: %+v %v", clusters, err)
	}
}

func TestPairsCountsWhatWasRetired(t *testing.T) {
	t.Parallel()
	got, err := eval.RatePairs(context.Background(), strings.NewReader(`
{"old": "I live in Berlin", "new": "I live in Lisbon now", "label": "contradiction"}
{"old": "I live in Berlin", "new": "I live in Lisbon now", "label": "neutral", "trap": "subject"}
{"old": "We use Redis for the cache", "new": "We use Redis for the cache", "label": "entailment"}
{"old": "I like tea", "new": "The sky is blue", "label": "contradiction"}
`), offline.New())
	if err != nil {
		t.Fatal(err)
	}
	if got.N != 4 || got.Precision != .5 || got.Recall != .5 || got.F1 != .5 || got.WrongSupersedes != 1 || got.Traps["subject"] != 1 || got.ConfirmPrecision != 1 || len(got.Misses) != 2 {
		t.Errorf("%+v", got)
	}
}

func TestDates(t *testing.T) {
	t.Parallel()
	find := func(s string, at time.Time) []eval.Date {
		var out []eval.Date
		for _, d := range offline.Dates(s, at) {
			out = append(out, eval.Date{From: d.From, To: d.To, Start: d.Start, End: d.End})
		}
		return out
	}
	got, err := eval.RateDates(strings.NewReader(`
{"text": "Due on March 15.", "ref": "2026-03-01T00:00:00", "results": [{"text": "march 15", "type": "x.date", "values": [{"value": "2025-03-15"}, {"value": "2026-03-15"}]}]}
{"text": "Since 2015.", "ref": "2026-03-01T00:00:00", "results": [{"text": "since 2015", "type": "x.daterange", "values": [{"start": "2015-01-01"}]}]}
{"text": "Feb 30 does not exist.", "ref": "2026-03-01T00:00:00", "results": [{"text": "feb 30", "type": "x.date", "values": [{"value": "not resolved"}]}]}
{"text": "See you tomorrow.", "ref": "2026-03-01T00:00:00", "results": []}
{"text": "Tomorrow", "ref": "2026-03-01T00:00:00", "span": "Tomorrow", "start": "2026-03-02T12:00:00"}
`), find)
	if err != nil {
		t.Fatal(err)
	}
	if got.Exact["date"].Right != 2 || got.Exact["daterange"].Right != 1 || got.Exact["start"].Right != 1 || got.FalsePositives != 1 || got.FalseShare != 1 {
		t.Errorf("%+v", got)
	}
}

func TestSpearman(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		a, b []float64
		want float64
	}{
		{"the same order is 1", []float64{1, 2, 3}, []float64{10, 20, 90}, 1},
		{"the reverse is -1", []float64{1, 2, 3}, []float64{3, 2, 1}, -1},
		{"ties share their rank", []float64{1, 2, 2, 3}, []float64{1, 2, 3, 4}, 0.9486832980505138},
		{"what does not vary is 0", []float64{1, 2, 3}, []float64{5, 5, 5}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := eval.Spearman(c.a, c.b); math.Abs(got-c.want) > 1e-9 {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestUpdatesFlagsInWholeChats(t *testing.T) {
	t.Parallel()
	chats := `{"id": "a", "memories": [
	{"id": "0", "speaker": "user", "content": "I have submitted the cover letter for the museum position to Petra for a review, what should I do while I wait for her answer?"},
	{"id": "1", "speaker": "assistant", "content": "Wait."},
	{"id": "2", "speaker": "user", "content": "I've never submitted the cover letter to Petra for a review, should I ask her to have a look at it before I send it off?"}]}`
	pairs := `{"chat": "a", "kind": "contradiction", "old": [{"id": 0}], "new": [{"id": 2}]}`
	got, err := eval.RateUpdates(context.Background(), strings.NewReader(pairs), strings.NewReader(strings.ReplaceAll(chats, "\n", "")), offline.New())
	if err != nil {
		t.Fatal(err)
	}
	if got.Flagged != 1 || got.Retired != 0 || got.Messages != 2 || got.Flags != 1 || got.Low > .5 || got.High != 1 {
		t.Errorf("%+v", got)
	}
}

func TestSimilarityOfAnEmbedder(t *testing.T) {
	t.Parallel()
	got, err := eval.RateSimilarity(context.Background(), strings.NewReader(`
{"a": "A dog runs", "b": "A dog runs", "score": 5}
{"a": "A dog runs", "b": "The dog is running home", "score": 4}
{"a": "A dog runs", "b": "Taxes are due", "score": 0}
`), eval.Cosine(offline.NewEmbedder()), 0.5)
	if err != nil {
		t.Fatal(err)
	}
	if got.Spearman != 1 || got.DuplicateF1 != 1 {
		t.Errorf("%+v", got)
	}
}

func TestABadLineIsNamed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"old": "a", "new": "b", "label": "neutral"}` + "\nnot JSON": "line 2",
		`{"old": "a", "new": "b"}`:                                    "line 1",
		`{"text": "a"}`:                                               "line 1",
		"":                                                            "no example",
	} {
		_, err := eval.RatePairs(context.Background(), strings.NewReader(text), offline.New())
		if oxbow.CodeOf(err) != oxbow.CodeInvalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
