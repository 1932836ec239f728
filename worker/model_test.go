package worker_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/lab"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/llm/llmtest"
	"github.com/oxbow-memory/oxbow/llm/offline"
	"github.com/oxbow-memory/oxbow/llm/openai"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/worker"
)

// model starts a worker whose judge asks a server that answers as the rules
// would, where nothing else is queued.
func model(b *lab.Bench) (*llmtest.Server, *worker.Worker) {
	b.Helper()
	server := llmtest.Serve(b.T, offline.New())
	judge, err := openai.New(openai.Config{BaseURL: server.URL(), Model: "small"})
	b.Must(err)
	b.Cleanup(judge.Close)
	w, err := worker.New(jobs.Deps{Store: b.DB, Judge: judge, Clock: b.Clock.Now, ReadDate: offline.ReadDate}, worker.Config{})
	b.Must(err)
	b.Must(w.Start(b.Ctx))
	b.Cleanup(func() { b.Must(w.Stop(context.WithoutCancel(b.Ctx))) })
	return server, w
}

func state(b *lab.Bench, text string) oxbow.Turn {
	b.Helper()
	ts, err := b.DB.ListTurns(b.Ctx, store.TurnFilter{Tenant: b.Scope.Tenant, Limit: 100})
	b.Must(err)
	for _, t := range ts {
		if t.User == text {
			return t
		}
	}
	b.Fatalf("there is no turn %q", text)
	return oxbow.Turn{}
}

func TestAwayIsSaidOnce(t *testing.T) {
	tell(t, func(b *lab.Bench) {
		server := llmtest.Serve(b.T, offline.New())
		server.Away()
		judge, err := openai.New(openai.Config{BaseURL: server.URL(), Model: "small"})
		b.Must(err)
		b.Cleanup(judge.Close)
		var log lines
		w, err := worker.New(jobs.Deps{Store: b.DB, Judge: judge, Clock: b.Clock.Now, ReadDate: offline.ReadDate,
			Log: slog.New(slog.NewJSONHandler(&log, nil))}, worker.Config{})
		b.Must(err)
		b.Must(w.Start(b.Ctx))
		for _, scope := range []string{"user:ada", "user:bob", "user:eve"} {
			_, err := b.Engine.Ingest(b.Ctx, []oxbow.Turn{{Scope: oxbow.Scope{Tenant: b.Scope.Tenant, Name: scope}, User: "I prefer green tea.", At: lab.Start}})
			b.Must(err)
		}
		b.Must(w.Drain(b.Ctx, "", nil))
		b.Must(w.Stop(context.WithoutCancel(b.Ctx)))
		if got := log.String(); strings.Count(got, "the judge is away") != 1 || strings.Contains(got, "green tea") {
			b.Errorf("the log says\n%s", got)
		}
	})
}

// lines is a log that several goroutines write.
type lines struct {
	mu sync.Mutex
	strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Builder.Write(p)
}

func TestRefusedTurn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		replies []llmtest.Reply
	}{
		{"a 400 of a filter", []llmtest.Reply{llmtest.Status(400, `{"error":{"code":"content_filter","message":"filtered"}}`)}},
		{"a filter that stops the answer", []llmtest.Reply{llmtest.Filtered(`{"memories":[`)}},
	} {
		t.Run("is marked failed and holds nobody up, after "+c.name, func(t *testing.T) {
			tell(t, func(b *lab.Bench) {
				server, w := model(b)
				server.QueueFor("extract", c.replies...)
				const first, second = "I prefer green tea in the morning.", "I prefer short function names."
				b.Say("c", first, lab.Start.Add(-2*lab.Day))
				b.Finish(w)
				b.Say("c", second, lab.Start.Add(-lab.Day))
				b.Finish(w)
				if got := state(b, first); got.State != oxbow.TurnFailed || got.Reason != "the judge refuses its text" || got.Judge != "openai/small@4" {
					b.Errorf("the refused turn is %s: %s, by %s", got.State, got.Reason, got.Judge)
				}
				if got := state(b, second); got.State != oxbow.TurnExtracted || got.Memories != 1 {
					b.Errorf("the turn behind it is %s with %d memories", got.State, got.Memories)
				}
				if n := len(b.Discarded()); n != 0 {
					b.Errorf("%d jobs were given up", n)
				}
				b.Clean()
			})
		})
	}

	t.Run("waits, with those behind it, when the key is wrong or the quota used up", func(t *testing.T) {
		tell(t, func(b *lab.Bench) {
			server, w := model(b)
			server.QueueFor("extract", llmtest.Status(http.StatusTooManyRequests, "{}", "Retry-After", "3600"))
			b.Say("c", "I prefer green tea in the morning.", lab.Start.Add(-lab.Day))
			b.Finish(w)
			if j := job(b, "extract"); j.State != "scheduled" || j.Attempt > 1 {
				b.Errorf("the job is %s after %d attempts", j.State, j.Attempt)
			}
			if got := state(b, "I prefer green tea in the morning."); got.State != oxbow.TurnWaiting {
				b.Errorf("the turn is %s", got.State)
			}
		})
	})

	for _, status := range []int{401, 404} {
		t.Run("is not what a "+http.StatusText(status)+" means: the job is given up and the turn waits", func(t *testing.T) {
			tell(t, func(b *lab.Bench) {
				server, w := model(b)
				server.QueueFor("extract", llmtest.Status(status, "{}"))
				b.Say("c", "I prefer green tea in the morning.", lab.Start.Add(-lab.Day))
				b.Finish(w)
				if j := job(b, "extract"); j.State != "cancelled" {
					b.Errorf("the job is %s", j.State)
				}
				if got := state(b, "I prefer green tea in the morning."); got.State != oxbow.TurnWaiting || len(b.Discarded()) != 1 {
					b.Errorf("the turn is %s, %d jobs were given up", got.State, len(b.Discarded()))
				}
			})
		})
	}
}

func TestRefusedQuestions(t *testing.T) {
	t.Parallel()
	t.Run("leave a memory undated and uncompared, and say so", func(t *testing.T) {
		tell(t, func(b *lab.Bench) {
			server, w := model(b)
			b.Remember(lab.Statement{Text: "We use PostgreSQL for the main database.", SaidAt: lab.Start.Add(-2 * lab.Day)})
			b.Finish(w)
			for _, q := range []string{"relate", "expiry"} {
				server.QueueFor(q, llmtest.Status(400, `{"error":"the prompt was filtered"}`))
			}
			m := b.Remember(lab.Statement{Text: "We moved the main database from PostgreSQL to MySQL.", SaidAt: lab.Start.Add(-lab.Day)})
			b.Finish(w)
			refusals := 0
			for _, e := range b.EventsOf(m.ID) {
				if e.Type == oxbow.Refused {
					refusals++
				}
			}
			if refusals != 2 || len(b.Discarded()) != 0 {
				b.Errorf("%d refusals, %d jobs given up", refusals, len(b.Discarded()))
			}
			b.Clean()
		})
	})
}
