package trace_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	otel "go.opentelemetry.io/otel/trace"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/trace"
)

// setup gives a context whose spans are kept.
func setup(t *testing.T, opts ...sdk.TracerProviderOption) (context.Context, *tracetest.InMemoryExporter) {
	t.Helper()
	kept := tracetest.NewInMemoryExporter()
	p := sdk.NewTracerProvider(append(opts, sdk.WithSyncer(kept))...)
	t.Cleanup(func() { _ = p.Shutdown(context.Background()) })
	return trace.With(t.Context(), p), kept
}

func attrs(s tracetest.SpanStub) map[string]string {
	out := map[string]string{}
	for _, a := range s.Attributes {
		out[string(a.Key)] = a.Value.String()
	}
	return out
}

func same(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%s: %s is %q, want %q", what, k, got[k], v)
		}
	}
	for k, v := range got {
		if _, ok := want[k]; !ok {
			t.Errorf("%s has %s=%q, which nobody asked for", what, k, v)
		}
	}
}

func TestSpans(t *testing.T) {
	t.Parallel()

	t.Run("are named and described by the conventions, each under the one it was made in", func(t *testing.T) {
		t.Parallel()
		ctx, kept := setup(t)
		ctx, job := trace.Job(ctx, "extract", "run1", 2, "")
		inner, model := trace.Model(ctx, trace.Chat, "small", "relate")
		_, memory := trace.Memory(inner, trace.SearchMemory)
		memory.Records(3)
		memory.Run("run2")
		memory.End(nil)
		model.Spent(10, 2, 4, "away")
		model.End(oxbow.Errorf(oxbow.CodeUnavailable, "secretword is away"))
		job.Ended("retried")
		job.End(nil)
		got := kept.GetSpans()
		if len(got) != 3 || got[1].Name != "chat small" || got[0].Name != "search_memory" || got[2].Name != "job extract" {
			t.Fatalf("got %+v", got)
		}
		got[0], got[1] = got[1], got[0]
		if got[0].SpanKind != otel.SpanKindClient || got[1].SpanKind != otel.SpanKindInternal || got[2].SpanKind != otel.SpanKindConsumer {
			t.Error("the kinds are wrong")
		}
		if got[0].Parent.SpanID() != got[2].SpanContext.SpanID() || got[1].Parent.SpanID() != got[0].SpanContext.SpanID() || got[2].Parent.IsValid() {
			t.Error("the spans do not stand in each other")
		}
		same(t, "the model's", attrs(got[0]), map[string]string{"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai",
			"gen_ai.request.model": "small", "gen_ai.usage.input_tokens": "10", "gen_ai.usage.output_tokens": "2",
			"gen_ai.usage.cache_read.input_tokens": "4", "oxbow.judge.question": "relate", "oxbow.judge.outcome": "away", "error.type": "unavailable"})
		if got[0].Status != (sdk.Status{Code: codes.Error}) || len(got[0].Events) != 0 {
			t.Errorf("the failure is %+v with %+v: it may have a code and no words", got[0].Status, got[0].Events)
		}
		same(t, "the memory's", attrs(got[1]), map[string]string{"gen_ai.operation.name": "search_memory", "gen_ai.provider.name": "oxbow",
			"gen_ai.memory.record.count": "3", "oxbow.run.id": "run2"})
		same(t, "the job's", attrs(got[2]), map[string]string{"oxbow.job.kind": "extract", "oxbow.job.attempt": "2", "oxbow.job.outcome": "retried", "oxbow.run.id": "run1"})
	})

	t.Run("of jobs are linked to where they were enqueued, and begin traces of their own", func(t *testing.T) {
		t.Parallel()
		ctx, kept := setup(t)
		if from := trace.Carried(ctx); from != "" {
			t.Errorf("outside of a span %q is carried", from)
		}
		inner, write := trace.Memory(ctx, trace.CreateMemory)
		from := trace.Carried(inner)
		write.Record("m1")
		write.End(nil)
		for _, f := range []string{from, "", "nonsense", "00-00000000000000000000000000000000-0000000000000000-01"} {
			_, job := trace.Job(ctx, "rate", "", 1, f)
			job.End(nil)
		}
		got := kept.GetSpans()
		same(t, "the memory's", attrs(got[0]), map[string]string{"gen_ai.operation.name": "create_memory", "gen_ai.provider.name": "oxbow", "gen_ai.memory.record.id": "m1"})
		for i, job := range got[1:] {
			if job.Parent.IsValid() || job.SpanContext.TraceID() == got[0].SpanContext.TraceID() {
				t.Error("a job goes on with the trace of what enqueued it")
			}
			if i == 0 && (len(job.Links) != 1 || job.Links[0].SpanContext.SpanID() != got[0].SpanContext.SpanID()) || i > 0 && len(job.Links) != 0 {
				t.Errorf("job %d has the links %+v", i, job.Links)
			}
		}
	})

	t.Run("of requests stand under the caller's, or under what they came in by", func(t *testing.T) {
		t.Parallel()
		ctx, kept := setup(t)
		_, s := trace.Request(ctx, trace.Asked{Method: "tools/call", Tool: "memory_query", From: "00-0102030405060708090a0b0c0d0e0f10-0102030405060708-01"})
		s.Refused()
		s.End(nil)
		post, outer := trace.Memory(ctx, trace.SearchMemory)
		_, s = trace.Request(post, trace.Asked{Method: "prompts/get", Prompt: "context"})
		s.End(nil)
		_, s = trace.Request(post, trace.Asked{Method: "tools/list", From: "00-0102030405060708090a0b0c0d0e0f10-0102030405060708-01"})
		s.End(nil)
		outer.End(nil)
		got := kept.GetSpans()
		if got[0].Name != "tools/call memory_query" || got[0].SpanKind != otel.SpanKindServer || got[0].Parent.TraceID().String() != "0102030405060708090a0b0c0d0e0f10" {
			t.Errorf("got %+v", got[0])
		}
		same(t, "the tool's", attrs(got[0]), map[string]string{"mcp.method.name": "tools/call", "gen_ai.operation.name": "execute_tool",
			"gen_ai.tool.name": "memory_query", "network.transport": "pipe", "error.type": "tool_error"})
		same(t, "the prompt's", attrs(got[1]), map[string]string{"mcp.method.name": "prompts/get", "gen_ai.prompt.name": "context", "network.transport": "tcp"})
		if got[1].Parent.SpanID() != got[3].SpanContext.SpanID() {
			t.Error("a request does not stand under what it came in by")
		}
		if got[2].Parent.SpanID().String() != "0102030405060708" || len(got[2].Links) != 1 || got[2].Links[0].SpanContext.SpanID() != got[3].SpanContext.SpanID() {
			t.Errorf("a request whose caller is named is %+v", got[2])
		}
	})

	t.Run("are not begun anew under a trace that is sampled out", func(t *testing.T) {
		t.Parallel()
		ctx, kept := setup(t, sdk.WithSampler(sdk.NeverSample()))
		ctx, job := trace.Job(ctx, "extract", "", 1, "")
		_, s := trace.Memory(ctx, trace.SearchMemory)
		s.End(nil)
		job.End(nil)
		if n := len(kept.GetSpans()); n != 0 {
			t.Errorf("%d spans were made", n)
		}
	})
}

func TestNoSpans(t *testing.T) { // not parallel: it counts allocations
	ctx := context.Background()
	cost := testing.AllocsPerRun(100, func() {
		_, s := trace.Memory(ctx, trace.SearchMemory)
		s.Records(3)
		s.End(nil)
	})
	if cost > 0 {
		t.Errorf("a span that nobody wants takes %v allocations", cost)
	}
}

func TestServe(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/memories/{id}", func(w http.ResponseWriter, r *http.Request) {
		_, s := trace.Memory(r.Context(), trace.SearchMemory)
		s.End(nil)
		if r.PathValue("id") == "broken" {
			w.WriteHeader(http.StatusInternalServerError)
		}
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Errorf("a stream cannot be flushed: %v", err)
		}
	})
	ask := func(h http.Handler, path string) {
		r := httptest.NewRequest("GET", path, nil)
		r.Header.Set("Traceparent", "00-0102030405060708090a0b0c0d0e0f10-0102030405060708-01")
		h.ServeHTTP(httptest.NewRecorder(), r)
	}

	t.Run("makes a span of a request, named after its route, under the caller's", func(t *testing.T) {
		t.Parallel()
		base, kept := setup(t)
		h := trace.Serve(base, mux)
		ask(h, "/v1/memories/secretid?q=secretword")
		ask(h, "/v1/memories/broken")
		got := kept.GetSpans()
		if len(got) != 4 || got[1].Name != "GET /v1/memories/{id}" || got[1].SpanKind != otel.SpanKindServer {
			t.Fatalf("got %+v", got)
		}
		if got[1].Parent.TraceID().String() != "0102030405060708090a0b0c0d0e0f10" || got[0].Parent.SpanID() != got[1].SpanContext.SpanID() {
			t.Error("the caller's trace is not gone on with")
		}
		same(t, "the request's", attrs(got[1]), map[string]string{"http.request.method": "GET", "http.route": "/v1/memories/{id}", "http.response.status_code": "200"})
		same(t, "the failed one's", attrs(got[3]), map[string]string{"http.request.method": "GET", "http.route": "/v1/memories/{id}",
			"http.response.status_code": "500", "error.type": "Internal Server Error"})
	})

	t.Run("leaves the handler as it is where nobody wants spans", func(t *testing.T) {
		t.Parallel()
		if h := trace.Serve(context.Background(), mux); h != http.Handler(mux) {
			t.Error("something stands before the handler")
		}
	})
}

func TestLogs(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	log := slog.New(trace.Logs(slog.NewJSONHandler(&b, nil)))
	ctx, kept := setup(t)
	log.InfoContext(ctx, "outside")
	ctx, s := trace.Job(ctx, "extract", "run1", 1, "")
	log.With(slog.String("a", "b")).InfoContext(ctx, "inside")
	s.End(nil)
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	var outside, inside map[string]any
	for i, into := range []*map[string]any{&outside, &inside} {
		if err := json.Unmarshal([]byte(lines[i]), into); err != nil {
			t.Fatal(err)
		}
	}
	for _, k := range []string{"job_kind", "run_id", "trace_id", "span_id"} {
		if outside[k] != nil {
			t.Errorf("outside of a job a line has %s", k)
		}
	}
	span := kept.GetSpans()[0].SpanContext
	want := []any{"extract", "run1", span.TraceID().String(), span.SpanID().String(), "b"}
	if got := []any{inside["job_kind"], inside["run_id"], inside["trace_id"], inside["span_id"], inside["a"]}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
