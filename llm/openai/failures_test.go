package openai_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/llm/llmtest"
	"github.com/oxbow-memory/oxbow/llm/openai"
)

// The three kinds of errors of the contract.
const (
	fine       = "fine"
	unparsable = "unparsable"
	away       = "away"
	refused    = "refused"
	permanent  = "permanent"
)

func kindOf(err error) string {
	_, isAway := errors.AsType[*llm.AwayError](err)
	switch {
	case err == nil:
		return fine
	case isAway:
		return away
	case errors.Is(err, llm.ErrUnparsable):
		return unparsable
	case errors.Is(err, llm.ErrRefused):
		return refused
	}
	return permanent
}

type failure struct {
	name     string
	replies  []llmtest.Reply
	want     string
	wait     time.Duration
	requests int
	says     string // a part of the error
}

// echo is what careless endpoints write into their errors.
const echo = "key " + testKey + " was sent with the prompt 'I like " + canary + "'"

var (
	good    = llmtest.Text(`{"level":"implied"}`)
	rubbish = llmtest.Text("I like " + canary + " too.")
)

func answerFailures() []failure {
	twice := func(r llmtest.Reply) []llmtest.Reply { return []llmtest.Reply{r, r} }
	return []failure{
		{"asks once more when the answer is prose", []llmtest.Reply{rubbish, good}, fine, 0, 2, ""},
		{"gives up when it is prose again", twice(rubbish), unparsable, 0, 2, "no JSON object"},
		{"does not believe a level that does not exist", twice(llmtest.Text(`{"level":"certain"}`)), unparsable, 0, 2, "schema"},
		{"does not believe a further field", twice(llmtest.Text(`{"level":"weak","why":"` + canary + `"}`)), unparsable, 0, 2, "schema"},
		{"does not believe a missing field", twice(llmtest.Text(`{}`)), unparsable, 0, 2, "schema"},
		{"does not believe a field in another case", twice(llmtest.Text(`{"Level":"weak"}`)), unparsable, 0, 2, "schema"},
		{"does not believe a field that stands twice", twice(llmtest.Text(`{"level":"weak","level":"explicit"}`)), unparsable, 0, 2, "repeats"},
		{"does not choose between two answers", twice(llmtest.Text(`{"level":"weak"} {"level":"explicit"}`)), unparsable, 0, 2, "several"},
		{"takes one answer that is given twice", []llmtest.Reply{llmtest.Text(`{"level":"implied"}` + "\n" + `{ "level": "implied" }`)}, fine, 0, 1, ""},
		{"reads past thinking", []llmtest.Reply{llmtest.Text("<think>\n{\"level\":\"weak\"}? no.\n</think>\n{\"level\":\"implied\"}")}, fine, 0, 1, ""},
		{"reads past thinking that the template opened", []llmtest.Reply{llmtest.Text("so, implied {hm}</think>{\"level\":\"implied\"}")}, fine, 0, 1, ""},
		{"does not take an answer out of unfinished thinking", twice(llmtest.Text(`<think>maybe {"level":"explicit"}`)), unparsable, 0, 2, "thinking"},
		{"reads past a code fence", []llmtest.Reply{llmtest.Text("Here:\n```json\n{\"level\":\"implied\"}\n```")}, fine, 0, 1, ""},
		{"mends a comma too many", []llmtest.Reply{llmtest.Text("{\"level\":\"implied\",\n}")}, fine, 0, 1, ""},
		{"never mends what the endpoint says is cut short", []llmtest.Reply{llmtest.Truncated(`{"level":"implied",}`)}, unparsable, 0, 1, "cut short"},
		{"never mends a truncated answer", []llmtest.Reply{llmtest.Truncated(`{"level":"explicit`)}, unparsable, 0, 1, "cut short"},
		{"does not believe a truncated answer that looks whole", []llmtest.Reply{llmtest.Truncated(`{"level":"explicit"}`)}, unparsable, 0, 1, "cut short"},
		{"does not believe an answer that ends within an object", twice(llmtest.Text(`{"level":"explicit","x":{"level":"explicit"}`)), unparsable, 0, 2, "cut short"},
		{"takes a content filter for a refused text", []llmtest.Reply{llmtest.Filtered(`{"level":"explicit"}`)}, refused, 0, 1, "filter"},
		{"takes a refusal for a refused text", []llmtest.Reply{llmtest.Refusal("I cannot judge " + canary)}, refused, 0, 1, "refused"},
		{"asks once more when there is no choice", []llmtest.Reply{llmtest.EmptyChoices(), good}, fine, 0, 2, ""},
		{"gives up when there is no choice again", twice(llmtest.EmptyChoices()), unparsable, 0, 2, "no answer"},
		{"gives up on empty answers", twice(llmtest.Text("")), unparsable, 0, 2, "empty"},
		{"gives up on a response that is no completion", []llmtest.Reply{llmtest.Status(200, `{"choices":"`+canary)}, unparsable, 0, 1, "no chat completion"},
		{"gives up on a response that is too large", []llmtest.Reply{llmtest.Text(strings.Repeat(canary, 300_000))}, unparsable, 0, 1, "far larger"},
	}
}

func endpointFailures() []failure {
	one := func(r llmtest.Reply) []llmtest.Reply { return []llmtest.Reply{r} }
	two := func(r llmtest.Reply) []llmtest.Reply { return []llmtest.Reply{r, r} }
	object := `{"error":{"message":"` + echo + `","type":"invalid_request_error","code":"model_not_found"}}`
	flat := `{"object":"error","message":"` + echo + `","type":"BadRequestError","code":400}`
	text := `{"error":"` + echo + `"}`
	html := "<html><body>Bad gateway: " + echo + "</body></html>"
	date := time.Date(2026, 11, 18, 9, 0, 0, 0, time.UTC)
	return []failure{
		{"waits as long as a 429 says", one(llmtest.Status(429, object, "Retry-After", "7")), away, 7 * time.Second, 1, "429"},
		{"waits until the date a 429 says", one(llmtest.Status(429, object, "Date", date.Format(http.TimeFormat),
			"Retry-After", date.Add(90*time.Second).Format(http.TimeFormat))), away, 90 * time.Second, 1, "429"},
		{"waits the milliseconds a 429 says", one(llmtest.Status(429, object, "Retry-After-Ms", "1500", "Retry-After", "2")), away, 1500 * time.Millisecond, 1, "429"},
		{"leaves the wait open when a 429 does not say", one(llmtest.Status(429, object)), away, 0, 1, "429"},
		{"does not believe an endless wait", one(llmtest.Status(429, object, "Retry-After", "1e12")), away, 24 * time.Hour, 1, "429"},
		{"does not believe a wait that makes no sense", one(llmtest.Status(429, object, "Retry-After", "-soon")), away, 0, 1, "429"},
		{"waits when the quota is used up", one(llmtest.Status(402, text)), away, 0, 1, "402"},
		{"waits on a 500", one(llmtest.Status(500, object)), away, 0, 1, "500"},
		{"waits on a 502 in HTML", one(llmtest.Status(502, html)), away, 0, 1, "502"},
		{"waits on a 503 and keeps its Retry-After", one(llmtest.Status(503, "", "Retry-After", "3")), away, 3 * time.Second, 1, "503"},
		{"waits on a 5xx that speaks of a schema", one(llmtest.Status(500, `{"error":"json_schema broke"}`)), away, 0, 1, "500"},
		{"waits when an error inside a 200 names 429", one(llmtest.ErrorIn200(echo, 429)), away, 0, 1, "429"},
		{"waits when an error inside a 200 names 503 as text", one(llmtest.ErrorIn200(echo, "503")), away, 0, 1, "503"},
		{"waits when an error inside a 200 names nothing", one(llmtest.ErrorIn200(echo, nil)), away, 0, 1, "502"},
		{"stops when an error inside a 200 names 401", one(llmtest.ErrorIn200(echo, 401)), permanent, 0, 1, "check the key"},
		{"waits when the connection breaks off in the body", one(llmtest.HungUp(good)), away, 0, 1, "broke off"},
		{"stops on 400 and says what to check", two(llmtest.Status(400, object)), permanent, 0, 2, "model_not_found: check the name"},
		{"stops on a flat 400", two(llmtest.Status(400, flat)), permanent, 0, 2, "400: check the name"},
		{"stops on a 400 whose error is a text", two(llmtest.Status(400, text)), permanent, 0, 2, "400: check the name"},
		{"stops on a 400 in HTML", two(llmtest.Status(400, html)), permanent, 0, 2, "400: check the name"},
		{"finds a text refused by a 400 that a harmless one does not get", one(llmtest.Status(400, object)), refused, 0, 2, "takes other texts"},
		{"finds a text refused by a 422", one(llmtest.Status(422, flat)), refused, 0, 2, "takes other texts"},
		{"finds a text refused by a 413", one(llmtest.Status(413, "")), refused, 0, 2, "takes other texts"},
		{"finds a text refused inside a 200", one(llmtest.ErrorIn200(echo, 400)), refused, 0, 2, "takes other texts"},
		{"finds a text refused though the harmless one gets prose", []llmtest.Reply{llmtest.Status(400, text), rubbish}, refused, 0, 2, "takes other texts"},
		{"waits when the endpoint goes away before it is known whether it means the text", []llmtest.Reply{llmtest.Status(400, text), llmtest.Status(503, "", "Retry-After", "9")},
			away, 9 * time.Second, 2, "503"},
		{"stops when the harmless text gets another no", []llmtest.Reply{llmtest.Status(400, object), llmtest.Status(401, object)}, permanent, 0, 2, "400"},
		{"stops on 401 and says what to check", one(llmtest.Status(401, object)), permanent, 0, 1, "check the key"},
		{"stops on 403 and says what to check", one(llmtest.Status(403, object)), permanent, 0, 1, "the key may use the model small"},
		{"stops on 404 and says what to check", one(llmtest.Status(404, html)), permanent, 0, 1, "check the base URL"},
		{"stops on 413 and says what to check", two(llmtest.Status(413, "")), permanent, 0, 2, "context"},
		{"stops on a page in the place of an answer", one(llmtest.Status(200, html)), permanent, 0, 1, "check the base URL"},
		{"stops on an empty response", one(llmtest.Status(204, "")), permanent, 0, 1, "check the base URL"},
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for _, tt := range append(answerFailures(), endpointFailures()...) {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, j := setup(t)
			s.Queue(tt.replies...)
			r, err := j.Confidence(t.Context(), "Ada likes "+canary+".", aTurn)
			if got := kindOf(err); got != tt.want {
				t.Fatalf("the error is %s (%v), want %s", got, err, tt.want)
			}
			if n := len(s.Requests()); n != tt.requests {
				t.Errorf("%d requests, want %d", n, tt.requests)
			}
			if err == nil {
				if r.Confidence != 0.7 {
					t.Errorf("the rating is %v, want 0.7", r.Confidence)
				}
				return
			}
			if r != (llm.Rating{}) {
				t.Errorf("an error came with the rating %v", r)
			}
			if a, ok := errors.AsType[*llm.AwayError](err); ok && a.RetryAfter != tt.wait {
				t.Errorf("the wait is %v, want %v", a.RetryAfter, tt.wait)
			}
			if tt.want == permanent && oxbow.CodeOf(err) != oxbow.CodeInvalid {
				t.Errorf("the code is %s, want invalid", oxbow.CodeOf(err))
			}
			text := err.Error()
			if !strings.Contains(text, tt.says) {
				t.Errorf("the error %q does not say %q", text, tt.says)
			}
			if strings.Contains(text, testKey) || strings.Contains(text, canary) {
				t.Errorf("the error tells a secret: %q", text)
			}
		})
	}
}

func TestNetwork(t *testing.T) {
	t.Parallel()
	short := func(c *openai.Config) { c.Timeout = 30 * time.Millisecond }

	t.Run("is away when nothing listens", func(t *testing.T) {
		t.Parallel()
		s, j := setup(t)
		s.Close()
		_, err := j.Confidence(t.Context(), "x", aTurn)
		if kindOf(err) != away || !strings.Contains(err.Error(), "connection refused") {
			t.Fatalf("got %v", err)
		}
	})
	t.Run("is away when no answer comes in time", func(t *testing.T) {
		t.Parallel()
		s, j := setup(t, short)
		s.Queue(llmtest.Slow(make(chan struct{}), good))
		_, err := j.Confidence(t.Context(), "x", aTurn)
		if kindOf(err) != away || !strings.Contains(err.Error(), "no answer in time") {
			t.Fatalf("got %v", err)
		}
		if errors.Is(err, context.DeadlineExceeded) {
			t.Error("the judge's own timeout looks like the caller's")
		}
	})
	t.Run("is away when the body stalls", func(t *testing.T) {
		t.Parallel()
		s, j := setup(t, short)
		s.Queue(llmtest.Stalled(make(chan struct{}), good))
		_, err := j.Confidence(t.Context(), "x", aTurn)
		if kindOf(err) != away || !strings.Contains(err.Error(), "no answer in time") {
			t.Fatalf("got %v", err)
		}
	})
	t.Run("is away and back", func(t *testing.T) {
		t.Parallel()
		s, j := setup(t)
		s.Away()
		if _, err := j.Confidence(t.Context(), "x", aTurn); kindOf(err) != away {
			t.Fatalf("got %v", err)
		}
		s.Back()
		if _, err := j.Confidence(t.Context(), "x", aTurn); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("gives synthesis its own time", func(t *testing.T) {
		t.Parallel()
		s, j := setup(t, func(c *openai.Config) { c.SynthesisTimeout = 30 * time.Millisecond })
		s.QueueFor("synthesize", llmtest.Slow(make(chan struct{}), good))
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
		defer stop()
		if _, err := j.Synthesize(ctx, two()); kindOf(err) != away || ctx.Err() != nil {
			t.Fatalf("got %v", err)
		}
	})
	t.Run("is not away when the caller leaves", func(t *testing.T) {
		t.Parallel()
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		j := newJudge(t, llmtest.Serve(t, leaver{leave: leave}).URL())
		if _, err := j.Confidence(ctx, "x", aTurn); !errors.Is(err, context.Canceled) || kindOf(err) == away {
			t.Fatalf("got %v", err)
		}
	})
}

// leaver makes the caller leave while the model thinks.
type leaver struct {
	llmtest.Plain
	leave func()
}

func (l leaver) Confidence(ctx context.Context, _ string, _ llm.TurnText) (llm.Rating, error) {
	l.leave()
	<-ctx.Done()
	return llm.Rating{}, ctx.Err()
}

func TestRedirect(t *testing.T) {
	t.Parallel()
	t.Run("does not carry an embedder's key on", func(t *testing.T) {
		t.Parallel()
		var reached atomic.Int32
		other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
		defer other.Close()
		s := httptest.NewServer(http.RedirectHandler(other.URL+"/v1/embeddings", http.StatusTemporaryRedirect))
		defer s.Close()
		e, err := openai.NewEmbedder(openai.EmbedderConfig{BaseURL: s.URL, Key: testKey, Model: "m", Dimensions: 3})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		if _, err := e.Embed(t.Context(), []string{"x"}); kindOf(err) != permanent || !strings.Contains(err.Error(), "redirect") || reached.Load() != 0 {
			t.Fatalf("the other host was asked %d times: %v", reached.Load(), err)
		}
	})
	for _, status := range []int{301, 302, 307, 308} {
		t.Run("does not carry the key on after a "+http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			var reached atomic.Int32
			other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
			defer other.Close()
			s, j := setup(t)
			s.Queue(llmtest.Status(status, "{}", "Location", other.URL+"/v1/chat/completions"))
			_, err := j.Confidence(t.Context(), "x", aTurn)
			if kindOf(err) != permanent || !strings.Contains(err.Error(), "redirect") {
				t.Fatalf("got %v", err)
			}
			if reached.Load() != 0 {
				t.Error("the other host was asked")
			}
		})
	}
}
