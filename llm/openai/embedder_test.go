package openai_test

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/llm/llmtest"
	"github.com/oxbow-memory/oxbow/llm/openai"
)

func newEmbedder(t *testing.T, url string, change ...func(*openai.EmbedderConfig)) *openai.Embedder {
	t.Helper()
	cfg := openai.EmbedderConfig{BaseURL: url, Key: testKey, Model: "tiny", Dimensions: 3}
	for _, f := range change {
		f(&cfg)
	}
	e, err := openai.NewEmbedder(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// like tells whether a vector is near another one.
func like(got []float32, want ...float64) bool {
	if len(got) != len(want) {
		return false
	}
	for i := range got {
		if math.Abs(float64(got[i])-want[i]) > 1e-6 {
			return false
		}
	}
	return true
}

func TestEmbedder(t *testing.T) {
	t.Parallel()

	t.Run("is named by model, dimensions and version, and knows the dimensions of usual models", func(t *testing.T) {
		t.Parallel()
		for model, want := range map[string]string{
			"text-embedding-3-small":        "openai:text-embedding-3-small/1536/1",
			"nomic-embed-text:latest":       "openai:nomic-embed-text:latest/768/1",
			"BAAI/bge-m3":                   "openai:BAAI/bge-m3/1024/1",
			"openai/text-embedding-3-large": "openai:openai/text-embedding-3-large/3072/1",
		} {
			e := newEmbedder(t, "", func(c *openai.EmbedderConfig) { c.Model, c.Dimensions = model, 0 })
			if e.ID() != want || fmt.Sprintf("/%d/1", e.Dimensions()) != want[strings.LastIndexByte(want[:len(want)-2], '/'):] {
				t.Errorf("%s is %s with %d dimensions", model, e.ID(), e.Dimensions())
			}
		}
	})

	t.Run("embeds in batches, in the order of the texts, and sends no text without a word", func(t *testing.T) {
		t.Parallel()
		s := llmtest.New(t)
		e := newEmbedder(t, s.URL(), func(c *openai.EmbedderConfig) { c.Dimensions, c.Batch = 64, 2 })
		texts := []string{"green tea", "", "black coffee", " \u200b\n", "green  tea\u202e", "red wine", "green coffee"}
		vs, err := e.Embed(t.Context(), texts)
		if err != nil || len(vs) != len(texts) {
			t.Fatalf("got %d vectors, %v", len(vs), err)
		}
		for i, v := range vs {
			sum := 0.0
			for _, x := range v {
				sum += float64(x) * float64(x)
			}
			if want := map[bool]float64{true: 0, false: 1}[i == 1 || i == 3]; len(v) != 64 || math.Abs(sum-want) > 1e-5 {
				t.Errorf("the vector of %q has %d numbers and the length %v", texts[i], len(v), sum)
			}
		}
		if !like(vs[0], widen(vs[4])...) {
			t.Error("unseen characters make another vector")
		}
		sent := 0
		for _, r := range s.Requests() {
			sent += len(r.Input)
			if r.Purpose != "embed" || len(r.Input) > 2 || r.Dimensions != 64 || r.Temperature != nil || r.Header.Get("Authorization") != "Bearer "+testKey {
				t.Errorf("asked by %s with %d texts for %d dimensions", r.Purpose, len(r.Input), r.Dimensions)
			}
		}
		if sent != 5 || len(s.Requests()) != 3 {
			t.Errorf("%d texts went out in %d requests", sent, len(s.Requests()))
		}
	})

	t.Run("asks nothing about nothing", func(t *testing.T) {
		t.Parallel()
		s := llmtest.New(t)
		for _, texts := range [][]string{nil, {" "}} {
			if vs, err := newEmbedder(t, s.URL()).Embed(t.Context(), texts); err != nil || len(vs) != len(texts) {
				t.Errorf("got %v, %v", vs, err)
			}
		}
		if len(s.Requests()) != 0 {
			t.Error("a request was made")
		}
	})

	t.Run("tells no dimensions to a model whose own they are, or that refuses to be told", func(t *testing.T) {
		t.Parallel()
		s := llmtest.New(t)
		s.Refuse(llmtest.Dimensions)
		own := newEmbedder(t, s.URL(), func(c *openai.EmbedderConfig) { c.Model, c.Dimensions = "all-minilm", 0 })
		if _, err := own.Embed(t.Context(), []string{"tea"}); oxbow.CodeOf(err) != oxbow.CodeInvalid || !strings.Contains(err.Error(), "256 numbers and not of 384") {
			t.Errorf("got %v", err)
		}
		fits := newEmbedder(t, s.URL(), func(c *openai.EmbedderConfig) { c.Dimensions = 256 })
		for range 2 {
			if _, err := fits.Embed(t.Context(), []string{"tea"}); err != nil {
				t.Error(err)
			}
		}
		var told []int
		for _, r := range s.Requests() {
			told = append(told, r.Dimensions)
		}
		if fmt.Sprint(told) != "[0 256 0 0]" {
			t.Errorf("the dimensions told are %v", told)
		}
	})

	t.Run("cuts what is too long", func(t *testing.T) {
		t.Parallel()
		s := llmtest.New(t)
		e := newEmbedder(t, s.URL(), func(c *openai.EmbedderConfig) { c.MaxTextBytes = 256 })
		if _, err := e.Embed(t.Context(), []string{strings.Repeat("ä", 9000)}); err != nil || len(s.Requests()[0].Input[0]) > 256 {
			t.Errorf("%d bytes went out, %v", len(s.Requests()[0].Input[0]), err)
		}
	})

	t.Run("tells its meter what each request took", func(t *testing.T) {
		t.Parallel()
		s, m := llmtest.New(t), &till{}
		e := newEmbedder(t, s.URL(), func(c *openai.EmbedderConfig) { c.Meter = m })
		ctx := llm.WithCaller(t.Context(), llm.Caller{Tenant: "ada", Job: "embed"})
		if _, err := e.Embed(ctx, []string{"green tea with milk"}); err != nil {
			t.Fatal(err)
		}
		if c := m.reserved[0]; c.Caller.Tenant != "ada" || c.Purpose != llm.PurposeEmbed || c.Model != "tiny" || c.In != 5 || c.MaxOut != 0 {
			t.Errorf("reserved %+v", c)
		}
		if got := m.spent[0]; got.In != 5 || got.Out != 0 || got.Outcome != llm.OutcomeOK || got.Estimated {
			t.Errorf("spent %+v", got)
		}
		m.empty = true
		if _, err := e.Embed(ctx, []string{"tea"}); kindOf(err) != away || oxbow.CodeOf(err) != oxbow.CodeBudget || len(s.Requests()) != 1 {
			t.Errorf("got %v", err)
		}
	})
}

func widen(v []float32) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = float64(x)
	}
	return out
}

// coded gives numbers as base64, as some servers write a vector.
func coded(v ...float32) string {
	var b []byte
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(b)
}

func TestEmbedderAnswers(t *testing.T) {
	t.Parallel()
	data := func(items string) llmtest.Reply { return llmtest.Status(200, `{"data":[`+items+`]}`) }
	for _, tt := range []struct {
		name, says string
		reply      llmtest.Reply
		want       string
	}{
		{"brings vectors to length one", "", llmtest.Vectors([]float32{3, 0, 4}, []float32{0, 2, 0}), fine},
		{"goes by the index and not by the place", "", data(`{"index":1,"embedding":[0,9,0]},{"index":0,"embedding":[0.3,0,0.4]}`), fine},
		{"goes by the place where there is no index", "", data(`{"embedding":[3e30,0,4e30]},{"embedding":[0,1e-30,0]}`), fine},
		{"reads base64", "", data(`{"index":0,"embedding":"` + coded(3, 0, 4) + `"},{"index":1,"embedding":"` + coded(0, 1, 0) + `"}`), fine},
		{"reads numbers beside base64", "", data(`{"index":0,"embedding":[3,0,4]},{"index":1,"embedding":"` + coded(0, 1, 0) + `"}`), fine},
		{"takes no fewer vectors than texts", "1 vectors for 2 texts", llmtest.Vectors([]float32{1, 0, 0}), unparsable},
		{"takes no more vectors than texts", "3 vectors for 2 texts", llmtest.Vectors([]float32{1, 0, 0}, []float32{1, 0, 0}, []float32{1, 0, 0}), unparsable},
		{"takes no index twice", "indexes", data(`{"index":0,"embedding":[1,0,0]},{"index":0,"embedding":[0,1,0]}`), unparsable},
		{"takes no index of no text", "indexes", data(`{"index":0,"embedding":[1,0,0]},{"index":2,"embedding":[0,1,0]}`), unparsable},
		{"takes no index below zero", "indexes", data(`{"index":-1,"embedding":[1,0,0]},{"index":0,"embedding":[0,1,0]}`), unparsable},
		{"says which dimensions to set", "vectors of 2 numbers and not of 3", llmtest.Vectors([]float32{1, 0}, []float32{0, 1}), permanent},
		{"takes no vector of zeros", "zero", llmtest.Vectors([]float32{0, 0, 0}, []float32{0, 1, 0}), unparsable},
		{"takes no vector that is no number", "no number", data(`{"index":0,"embedding":"` + coded(1, float32(math.NaN()), 0) + `"},{"index":1,"embedding":[0,1,0]}`), unparsable},
		{"takes no endless vector", "no number", data(`{"index":0,"embedding":"` + coded(1, float32(math.Inf(1)), 0) + `"},{"index":1,"embedding":[0,1,0]}`), unparsable},
		{"takes no number that is too large", "neither", data(`{"index":0,"embedding":[1e999,0,0]},{"index":1,"embedding":[0,1,0]}`), unparsable},
		{"takes no broken base64", "neither", data(`{"index":0,"embedding":"AAA"},{"index":1,"embedding":[0,1,0]}`), unparsable},
		{"takes no null", "neither", data(`{"index":0,"embedding":null},{"index":1,"embedding":[0,1,0]}`), unparsable},
		{"takes no missing vector", "neither", data(`{"index":0},{"index":1,"embedding":[0,1,0]}`), unparsable},
		{"takes nothing that is cut short", "no embeddings", llmtest.Status(200, `{"data":[{"index":0`), unparsable},
		{"stops on a page in the place of an answer", "check the base URL", llmtest.Status(200, "<html>"+echo+"</html>"), permanent},
		{"stops on 401", "check the key", llmtest.Status(401, `{"error":"`+echo+`"}`), permanent},
		{"stops on 404", "check the base URL", llmtest.Status(404, "{}"), permanent},
		{"waits as long as a 429 says", "429", llmtest.Status(429, "{}", "Retry-After", "7"), away},
		{"waits when the quota is used up", "402", llmtest.Status(402, "{}"), away},
		{"waits when an error inside a 200 names 429", "429", llmtest.ErrorIn200(echo, 429), away},
		{"waits on a 503", "503", llmtest.Status(503, ""), away},
		{"waits when the connection breaks off", "broke off", llmtest.HungUp(llmtest.Vectors([]float32{1, 0, 0}, []float32{1, 0, 0})), away},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := llmtest.New(t)
			s.Queue(tt.reply)
			vs, err := newEmbedder(t, s.URL()).Embed(t.Context(), []string{canary, "tea"})
			if kindOf(err) != tt.want {
				t.Fatalf("the error is %s (%v), want %s", kindOf(err), err, tt.want)
			}
			if err == nil {
				if !like(vs[0], 0.6, 0, 0.8) || !like(vs[1], 0, 1, 0) {
					t.Errorf("the vectors are %v", vs)
				}
				return
			}
			if vs != nil || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), testKey) || strings.Contains(err.Error(), canary) {
				t.Errorf("got %v, %v", vs, err)
			}
			if a, ok := errors.AsType[*llm.AwayError](err); ok && strings.HasPrefix(tt.name, "waits as long") && a.RetryAfter != 7*time.Second {
				t.Errorf("the wait is %v", a.RetryAfter)
			}
		})
	}
}

// picky refuses texts that hold a word, as filters and small contexts do.
func picky(s *llmtest.Server, requests int, refuse func(i int) bool) {
	for i := range requests {
		if refuse(i) {
			s.Queue(llmtest.Status(400, `{"error":{"message":"the input is too long for `+canary+`"}}`))
		} else {
			s.Queue(llmtest.Judged())
		}
	}
}

func TestEmbedderRefusal(t *testing.T) {
	t.Parallel()
	t.Run("gives the others their vectors when one text is refused", func(t *testing.T) {
		t.Parallel()
		s := llmtest.New(t)
		// All four, a harmless one, the first two, the last two, a harmless one,
		// the third, a harmless one, the fourth.
		picky(s, 8, func(i int) bool { return i == 0 || i == 3 || i == 5 })
		vs, err := newEmbedder(t, s.URL()).Embed(t.Context(), []string{"a", "b", canary, "d"})
		if err != nil || len(s.Requests()) != 8 {
			t.Fatalf("got %v after %d requests", err, len(s.Requests()))
		}
		for i, v := range vs {
			if zero := like(v, 0, 0, 0); zero != (i == 2) {
				t.Errorf("the vector of text %d is %v", i, v)
			}
		}
	})
	t.Run("says that a text is refused when it is alone", func(t *testing.T) {
		t.Parallel()
		s := llmtest.New(t)
		picky(s, 2, func(i int) bool { return i == 0 })
		if _, err := newEmbedder(t, s.URL()).Embed(t.Context(), []string{canary}); !errors.Is(err, llm.ErrRefused) || strings.Contains(err.Error(), canary) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("blames the configuration when a harmless text is refused too", func(t *testing.T) {
		t.Parallel()
		s := llmtest.New(t)
		picky(s, 2, func(int) bool { return true })
		_, err := newEmbedder(t, s.URL()).Embed(t.Context(), []string{"a", "b"})
		if errors.Is(err, llm.ErrRefused) || oxbow.CodeOf(err) != oxbow.CodeInvalid || len(s.Requests()) != 2 {
			t.Errorf("got %v", err)
		}
	})
	t.Run("waits when the endpoint goes away in between", func(t *testing.T) {
		t.Parallel()
		s := llmtest.New(t)
		s.Queue(llmtest.Status(413, ""), llmtest.Status(503, ""))
		if _, err := newEmbedder(t, s.URL()).Embed(t.Context(), []string{"a"}); kindOf(err) != away {
			t.Errorf("got %v", err)
		}
	})
	t.Run("has a breaker of its own", func(t *testing.T) {
		t.Parallel()
		s := llmtest.New(t)
		e := newEmbedder(t, s.URL(), func(c *openai.EmbedderConfig) { c.BreakFor = time.Hour })
		s.Away()
		for range 7 {
			if _, err := e.Embed(t.Context(), []string{"a"}); kindOf(err) != away {
				t.Fatal(err)
			}
		}
		s.Back()
		if _, err := newJudge(t, s.URL()).Confidence(t.Context(), "x", aTurn); err != nil || len(s.Requests()) != 6 {
			t.Errorf("got %v after %d requests", err, len(s.Requests()))
		}
	})
	t.Run("heeds the end of a context", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := newEmbedder(t, llmtest.New(t).URL()).Embed(ctx, []string{"a"}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

func TestNewEmbedder(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*openai.EmbedderConfig){
		"no model":                        func(c *openai.EmbedderConfig) { c.Model = "" },
		"an address without a scheme":     func(c *openai.EmbedderConfig) { c.BaseURL = "localhost:11434/v1" },
		"the whole path":                  func(c *openai.EmbedderConfig) { c.BaseURL = "https://host/v1/embeddings" },
		"a key with a line end":           func(c *openai.EmbedderConfig) { c.Key = testKey + "\n" },
		"a timeout below zero":            func(c *openai.EmbedderConfig) { c.Timeout = -time.Second },
		"a tiny text":                     func(c *openai.EmbedderConfig) { c.MaxTextBytes = 3 },
		"dimensions that nobody knows":    func(c *openai.EmbedderConfig) { c.Dimensions = 0 },
		"dimensions below zero":           func(c *openai.EmbedderConfig) { c.Dimensions = -1 },
		"dimensions that no model has":    func(c *openai.EmbedderConfig) { c.Dimensions = 1 << 20 },
		"a batch below zero":              func(c *openai.EmbedderConfig) { c.Batch = -1 },
		"a rate below zero":               func(c *openai.EmbedderConfig) { c.RequestsPerSecond = -1 },
		"a version of Azure that is none": func(c *openai.EmbedderConfig) { c.AzureVersion = "latest" },
	} {
		t.Run("refuses "+name, func(t *testing.T) {
			t.Parallel()
			cfg := openai.EmbedderConfig{BaseURL: "https://host/v1", Model: "tiny", Key: testKey, Dimensions: 3}
			change(&cfg)
			_, err := openai.NewEmbedder(cfg)
			if oxbow.CodeOf(err) != oxbow.CodeInvalid || strings.Contains(err.Error(), testKey) {
				t.Fatalf("got %v", err)
			}
		})
	}
}
