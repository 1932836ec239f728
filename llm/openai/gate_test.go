package openai_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/llm/llmtest"
	"github.com/oxbow-memory/oxbow/llm/openai"
)

// till is a meter that keeps what it is told, and can be empty.
type till struct {
	mu       sync.Mutex
	empty    bool
	reserved []llm.Call
	spent    []llm.Spent
}

func (m *till) Reserve(_ context.Context, c llm.Call) (llm.Call, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.empty {
		return c, &llm.AwayError{RetryAfter: time.Hour, Err: oxbow.Errorf(oxbow.CodeBudget, "nothing is left")}
	}
	m.reserved = append(m.reserved, c)
	return c, nil
}

func (m *till) Settle(_ context.Context, _ llm.Call, s llm.Spent) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.spent = append(m.spent, s)
	return nil
}

func withMeter(m llm.Meter) func(*openai.Config) { return func(c *openai.Config) { c.Meter = m } }

func TestMeter(t *testing.T) {
	t.Parallel()

	t.Run("is asked before each request and told after it what it took", func(t *testing.T) {
		t.Parallel()
		m := &till{}
		s, j := setup(t, withMeter(m))
		s.Queue(rubbish)
		ctx := llm.WithCaller(t.Context(), llm.Caller{Tenant: "ada", Job: "confidence"})
		if _, err := j.Confidence(ctx, "Ada likes tea.", aTurn); err != nil {
			t.Fatal(err)
		}
		if len(m.reserved) != 2 || len(m.spent) != 2 {
			t.Fatalf("two requests were reserved %d and settled %d times", len(m.reserved), len(m.spent))
		}
		c := m.reserved[0]
		if c.Caller.Tenant != "ada" || c.Purpose != "confidence" || c.Model != "small" || c.In < 200 || c.MaxOut < 100 {
			t.Fatalf("reserved %+v", c)
		}
		if m.spent[0].Outcome != llm.OutcomeUnparsable || m.spent[1].Outcome != llm.OutcomeOK || m.spent[1].In == 0 || m.spent[1].Estimated {
			t.Fatalf("spent %+v", m.spent)
		}
	})

	t.Run("lets nothing be sent when nothing is left", func(t *testing.T) {
		t.Parallel()
		m := &till{empty: true}
		s, j := setup(t, withMeter(m), func(c *openai.Config) { c.BreakFor = time.Hour })
		for range 7 { // which is not the endpoint's fault, so that the breaker stays out of it
			_, err := j.Confidence(t.Context(), "Ada likes tea.", aTurn)
			if kindOf(err) != away || oxbow.CodeOf(err) != oxbow.CodeBudget {
				t.Fatalf("got %v", err)
			}
		}
		if len(s.Requests()) != 0 || len(m.spent) != 0 {
			t.Fatal("a request was sent that nobody can pay for")
		}
	})
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	noUsage := llmtest.Status(http.StatusOK, `{"choices":[{"message":{"content":"{\"level\":\"implied\"}"},"finish_reason":"stop"}]}`)
	cached := llmtest.Status(http.StatusOK, `{"choices":[{"message":{"content":"{\"level\":\"implied\"}"},"finish_reason":"stop"}],
		"usage":{"prompt_tokens":900,"completion_tokens":9,"prompt_tokens_details":{"cached_tokens":800}}}`)
	for _, c := range []struct {
		name  string
		reply llmtest.Reply
		want  llm.Spent
	}{
		{"counts what the endpoint had read before", cached, llm.Spent{Reached: true, Outcome: llm.OutcomeOK, In: 900, Out: 9, Cached: 800}},
		{"estimates what the endpoint does not say", noUsage, llm.Spent{Reached: true, Outcome: llm.OutcomeOK, In: -1, Out: 5, Estimated: true}},
		{"counts nothing for an endpoint that is overloaded", llmtest.Status(429, "{}"), llm.Spent{Reached: true, Outcome: llm.OutcomeAway}},
		{"counts nothing for a request that is not taken", llmtest.Status(401, "{}"), llm.Spent{Reached: true, Outcome: llm.OutcomeRefused}},
		{"counts all that was set aside when the answer is lost", llmtest.HungUp(good), llm.Spent{Reached: true, Outcome: llm.OutcomeLost, In: -1, Out: 1200, Estimated: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := &till{}
			s, j := setup(t, withMeter(m))
			s.Queue(c.reply)
			_, _ = j.Confidence(t.Context(), "Ada likes tea.", aTurn)
			if len(m.spent) != 1 {
				t.Fatalf("settled %d times", len(m.spent))
			}
			got := m.spent[0]
			got.Latency = 0
			if c.want.In == -1 {
				c.want.In = m.reserved[0].In
			}
			if got != c.want {
				t.Fatalf("got %+v, want %+v", got, c.want)
			}
		})
	}

	t.Run("keeps no record where nobody was reached", func(t *testing.T) {
		t.Parallel()
		m := &till{}
		s, j := setup(t, withMeter(m))
		s.Close()
		_, err := j.Confidence(t.Context(), "Ada likes tea.", aTurn)
		if kindOf(err) != away || len(m.spent) != 1 || m.spent[0].Reached || m.spent[0].In != 0 {
			t.Fatalf("got %+v, %v", m.spent, err)
		}
	})
}

func TestBreaker(t *testing.T) {
	t.Parallel()

	t.Run("leaves an endpoint alone that was away five times, and tries it when it said it would", func(t *testing.T) {
		t.Parallel()
		s, j := setup(t, func(c *openai.Config) { c.BreakFor = 600 * time.Millisecond })
		s.Away()
		var err error
		for range 8 {
			if _, err = j.Confidence(t.Context(), "Ada likes tea.", aTurn); kindOf(err) != away {
				t.Fatalf("got %v", err)
			}
		}
		if n := len(s.Requests()); n != 5 {
			t.Fatalf("%d requests were sent, want 5", n)
		}
		gone, _ := errors.AsType[*llm.AwayError](err)
		if gone.RetryAfter <= 0 || gone.RetryAfter > 600*time.Millisecond {
			t.Fatalf("the breaker asks to wait for %s", gone.RetryAfter)
		}
		s.Back()
		<-time.After(gone.RetryAfter)
		if _, err := j.Confidence(t.Context(), "Ada likes tea.", aTurn); err != nil {
			t.Fatal(err)
		}
	})

	t.Run("does not open for answers that are off their form, or for requests that are not taken", func(t *testing.T) {
		t.Parallel()
		s, j := setup(t, func(c *openai.Config) { c.BreakFor = time.Hour })
		for range 6 {
			s.Queue(llmtest.Status(401, "{}"), llmtest.Truncated("{"))
		}
		for range 12 {
			if _, err := j.Confidence(t.Context(), "Ada likes tea.", aTurn); err == nil || kindOf(err) == away {
				t.Fatalf("got %v", err)
			}
		}
		if n := len(s.Requests()); n != 12 {
			t.Fatalf("%d requests were sent, want 12", n)
		}
	})
}

func TestImpatience(t *testing.T) {
	t.Parallel()
	t.Run("blames no endpoint for somebody who would not wait", func(t *testing.T) {
		t.Parallel()
		s, j := setup(t, func(c *openai.Config) { c.BreakFor = time.Hour })
		never := make(chan struct{})
		for range 7 {
			s.QueueFor("select", llmtest.Slow(never, good))
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
			_, err := j.Select(ctx, "tea", two(), 1)
			cancel()
			if kindOf(err) != away {
				t.Fatalf("got %v", err)
			}
		}
		if _, err := j.Confidence(t.Context(), "Ada likes tea.", aTurn); err != nil {
			t.Fatal(err)
		}
	})
}

func TestRateLimit(t *testing.T) {
	t.Parallel()

	t.Run("makes requests wait for their turn", func(t *testing.T) {
		t.Parallel()
		s, j := setup(t, func(c *openai.Config) { c.RequestsPerSecond = 40 })
		started := time.Now()
		for range 44 {
			if _, err := j.Confidence(t.Context(), "Ada likes tea.", aTurn); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(started); took < 90*time.Millisecond || len(s.Requests()) != 44 {
			t.Fatalf("40 a second and 40 at once came to 44 in %s", took)
		}
	})

	t.Run("says to come back when the turn comes too late for the job", func(t *testing.T) {
		t.Parallel()
		_, j := setup(t, func(c *openai.Config) { c.RequestsPerSecond = 0.001 })
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, first := j.Confidence(ctx, "Ada likes tea.", aTurn)
		_, second := j.Confidence(ctx, "Ada likes tea.", aTurn)
		if first != nil || kindOf(second) != away {
			t.Fatalf("got %v and %v", first, second)
		}
	})
}

func TestPing(t *testing.T) {
	t.Parallel()

	t.Run("says which rung each model reaches", func(t *testing.T) {
		t.Parallel()
		s, j := setup(t)
		s.Refuse(llmtest.StrictSchema, llmtest.LooseSchema)
		got, err := j.Ping(t.Context())
		if err != nil || len(got) != 2 || got[0].Model != "small" || got[1].Model != "large" || got[0].Rung != "object" || got[1].Rung != "object" {
			t.Fatalf("got %+v, %v", got, err)
		}
	})

	t.Run("goes down where the form is promised and not kept", func(t *testing.T) {
		t.Parallel()
		s, j := setup(t, func(c *openai.Config) { c.SynthesisModel = c.Model })
		s.Queue(rubbish, rubbish)
		got, err := j.Ping(t.Context())
		if err != nil || len(got) != 1 || got[0].Rung != "loose" || got[0].Asked != 2 {
			t.Fatalf("got %+v, %v", got, err)
		}
	})

	t.Run("gives up on a model that never answers in the form", func(t *testing.T) {
		t.Parallel()
		s, j := setup(t)
		for range 20 {
			s.Queue(rubbish)
		}
		if _, err := j.Ping(t.Context()); kindOf(err) != unparsable {
			t.Fatalf("got %v", err)
		}
	})
}

func TestIdentity(t *testing.T) {
	t.Parallel()

	t.Run("differs with everything that an answer depends on, and not with the key", func(t *testing.T) {
		t.Parallel()
		same := newJudge(t, "http://127.0.0.1:1/v1").Identity()
		if newJudge(t, "http://127.0.0.1:1/v1", func(c *openai.Config) { c.Key = "another" }).Identity() != same {
			t.Error("another key is taken for another judge")
		}
		for name, change := range map[string]func(*openai.Config){
			"model": func(c *openai.Config) { c.Model = "x" }, "synthesis model": func(c *openai.Config) { c.SynthesisModel = "x" },
			"endpoint": func(c *openai.Config) { c.BaseURL = "http://127.0.0.1:2/v1" }, "effort": func(c *openai.Config) { c.ReasoningEffort = "low" },
		} {
			if newJudge(t, "http://127.0.0.1:1/v1", change).Identity() == same {
				t.Errorf("another %s is taken for the same judge", name)
			}
		}
	})
}
