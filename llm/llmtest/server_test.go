package llmtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/llm/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// setup gives a client that leaves no connection behind.
func setup(t *testing.T) *http.Client {
	t.Helper()
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// question is a request as the judge makes it, on the plain rung.
func question(purpose, data string) string {
	b, err := json.Marshal(map[string]any{"model": "m", "messages": []any{
		map[string]any{"role": "system", "content": "oxbow/" + purpose + "@1\n\nrules"},
		map[string]any{"role": "user", "content": "BEGIN DATA abc\n" + data + "\nEND DATA abc\nrule"},
	}})
	if err != nil {
		panic(err)
	}
	return string(b)
}

func post(ctx context.Context, c *http.Client, url, body string) (*http.Response, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/chat/completions", bytes.NewBufferString(body))
	if err != nil {
		return nil, "", err
	}
	resp, err := c.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp, string(b), err
}

func content(t *testing.T, body string) string {
	t.Helper()
	var r struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.Unmarshal([]byte(body), &r); err != nil || len(r.Choices) != 1 {
		t.Fatalf("%s is no completion: %v", body, err)
	}
	return r.Choices[0].Message.Content
}

func TestPlainAnswers(t *testing.T) {
	t.Parallel()
	s, c := llmtest.New(t), setup(t)
	for _, tt := range []struct{ name, purpose, data, want string }{
		{"keeps what a user says", "extract", `{"user":"I moved to Lisbon.","assistant":""}`, `"quote":"I moved to Lisbon."`},
		{"keeps no greeting", "extract", `{"user":"Hi there","assistant":""}`, `{"memories":[],"reason":"nothing was said"}`},
		{"is sure", "confidence", `{"memory":"x","turn":{"user":"x","assistant":""}}`, `{"level":"explicit"}`},
		{"relates nothing", "relate", `{"statement":{"text":"x"},"others":[{"label":"c1","text":"y"}]}`, `{"relations":[]}`},
		{"ends nothing", "expiry", `{"statement":{"text":"x"},"zone":"Europe/Berlin"}`, `{"date":"","ends":"never","phrase":""}`},
		{"groups nothing", "cluster", `{"statements":[{"label":"c1","text":"x"},{"label":"c2","text":"x"}]}`, `{"groups":[]}`},
		{"joins sentences once each", "synthesize", `{"statements":[{"text":"A."},{"text":"B."},{"text":"A."}]}`, `{"summary":"","tags":[],"text":"A. B."}`},
		{"selects what shares a word", "select", `{"cue":"Which Database?","limit":1,"statements":[{"label":"c1","text":"x"},{"label":"c2","text":"A database."},{"label":"c3","text":"database"}]}`, `{"labels":["c2"]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			resp, body, err := post(t.Context(), c, s.URL(), question(tt.purpose, tt.data))
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Fatal(resp, err)
			}
			if got := content(t, body); !strings.Contains(got, tt.want) {
				t.Errorf("the answer is %s, want %s", got, tt.want)
			}
		})
	}
	for name, body := range map[string]string{
		"refuses what is no question":      `{"messages":[]}`,
		"refuses what is no JSON":          `{`,
		"refuses an unknown purpose":       question("dream", "{}"),
		"refuses data of the wrong form":   question("relate", `[]`),
		"refuses a fence of two marks":     strings.Replace(question("expiry", "{}"), "END DATA abc", "END DATA abd", 1),
		"refuses data that is not in JSON": question("cluster", "c1, c2"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resp, _, err := post(t.Context(), c, s.URL(), body)
			if err != nil || resp.StatusCode != http.StatusBadRequest {
				t.Fatal(resp, err)
			}
		})
	}
}

func TestScript(t *testing.T) {
	t.Parallel()
	s, c := llmtest.New(t), setup(t)
	rate := question("confidence", `{"memory":"x","turn":{"user":"x","assistant":""}}`)
	s.Queue(llmtest.Text("one"), llmtest.Judged(), llmtest.Status(418, "tea", "X-Pot", "brown"))
	s.QueueFor("confidence", llmtest.Text("zero"))
	s.QueueFor("expiry", llmtest.Text("never asked for"))
	s.Away()
	var got []string
	for i := range 6 {
		resp, body, err := post(t.Context(), c, s.URL(), rate)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			s.Back()
		}
		if resp.StatusCode == http.StatusOK {
			body = content(t, body)
		}
		if resp.StatusCode == 418 && resp.Header.Get("X-Pot") != "brown" {
			t.Error("a scripted header is missing")
		}
		got = append(got, fmt.Sprint(resp.StatusCode, " ", body[:3]))
	}
	want := []string{`503 {"e`, "200 zer", "200 one", `200 {"l`, "418 tea", `200 {"l`}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the replies are %q, want %q", got, want)
	}
	reqs := s.Requests()
	if len(reqs) != 6 || reqs[0].Purpose != "confidence" || reqs[0].Format != llmtest.PlainText || reqs[0].Model != "m" ||
		reqs[0].Mark != "abc" || !json.Valid(reqs[0].Data) || string(reqs[0].Body) != rate || reqs[0].Temperature != nil {
		t.Errorf("the first of %d requests is recorded as %+v", len(reqs), reqs[0])
	}
}

// moody is a judge that has an error for each question it is asked about.
type moody struct {
	llmtest.Plain
	err error
}

func (m moody) Confidence(context.Context, string, llm.TurnText) (llm.Rating, error) {
	return llm.Rating{}, m.err
}

func TestJudgeErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		err    error
		status int
		after  string
	}{
		{"plays a model off the form for an answer that does not parse", llm.ErrUnparsable, 200, ""},
		{"plays an overloaded endpoint for a judge that is away", &llm.AwayError{RetryAfter: 9 * time.Second, Err: errors.New("x")}, 503, "9"},
		{"plays a refusal for a permanent error", errors.New("x"), 400, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, c := llmtest.Serve(t, moody{err: tt.err}), setup(t)
			resp, body, err := post(t.Context(), c, s.URL(), question("confidence", "{}"))
			if err != nil || resp.StatusCode != tt.status || resp.Header.Get("Retry-After") != tt.after {
				t.Fatalf("got %v, %v", resp, err)
			}
			if tt.status == http.StatusOK && json.Valid([]byte(content(t, body))) {
				t.Error("the answer is on the form")
			}
		})
	}
}

func TestSlow(t *testing.T) {
	t.Parallel()
	ask := func(ctx context.Context, t *testing.T, url string) <-chan error {
		c, done := setup(t), make(chan error, 1)
		go func() {
			_, _, err := post(ctx, c, url, "{}")
			done <- err
		}()
		return done
	}
	t.Run("sends a reply when it is released", func(t *testing.T) {
		t.Parallel()
		s := llmtest.New(t)
		release := make(chan struct{})
		s.Queue(llmtest.Slow(release, llmtest.Text("x")), llmtest.Stalled(release, llmtest.Text("y")))
		a, b := ask(t.Context(), t, s.URL()), ask(t.Context(), t, s.URL())
		close(release)
		if err := errors.Join(<-a, <-b); err != nil {
			t.Error(err)
		}
	})
	t.Run("holds a reply until the client leaves", func(t *testing.T) {
		t.Parallel()
		s := llmtest.New(t)
		s.Queue(llmtest.Slow(make(chan struct{}), llmtest.Text("x")))
		ctx, leave := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer leave()
		if err := <-ask(ctx, t, s.URL()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("lets go when the server closes", func(t *testing.T) {
		t.Parallel()
		s := llmtest.New(t)
		s.Queue(llmtest.Slow(make(chan struct{}), llmtest.Text("x")), llmtest.Stalled(make(chan struct{}), llmtest.Text("y")))
		first, second := ask(t.Context(), t, s.URL()), ask(t.Context(), t, s.URL())
		s.Close()
		<-first
		<-second
		s.Close()
	})
	t.Run("breaks the connection when told to hang up", func(t *testing.T) {
		t.Parallel()
		s := llmtest.New(t)
		s.Queue(llmtest.HungUp(llmtest.Text("x")))
		if err := <-ask(t.Context(), t, s.URL()); err == nil {
			t.Error("the response was complete")
		}
	})
}

func TestStart(t *testing.T) {
	t.Parallel()
	t.Run("serves a program, and lists a model", func(t *testing.T) {
		t.Parallel()
		s, err := llmtest.Start("127.0.0.1:0", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		c := setup(t)
		for _, want := range []int{http.StatusOK, http.StatusServiceUnavailable} {
			resp, err := c.Get(s.URL() + "/models")
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != want {
				t.Errorf("the status is %d, want %d", resp.StatusCode, want)
			}
			s.Away()
		}
		if len(s.Requests()) != 0 {
			t.Error("a listing counts as a question")
		}
	})
	t.Run("says when an address is taken", func(t *testing.T) {
		t.Parallel()
		s := llmtest.New(t)
		addr := strings.TrimSuffix(strings.TrimPrefix(s.URL(), "http://"), "/v1")
		if other, err := llmtest.Start(addr, nil); err == nil {
			other.Close()
			t.Error("two servers listen on one address")
		}
	})
	t.Run("answers many at once", func(t *testing.T) {
		t.Parallel()
		s, c := llmtest.New(t), setup(t)
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if _, _, err := post(t.Context(), c, s.URL(), question("confidence", "{}")); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := len(s.Requests()); n != 10 {
			t.Errorf("%d requests are recorded", n)
		}
	})
}
