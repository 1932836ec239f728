package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	otlpspans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/llm/llmtest"
	"github.com/oxbow-memory/oxbow/llm/offline"
)

// receiver is a collector on loopback.
type receiver struct {
	srv  *httptest.Server
	mu   sync.Mutex
	raw  []byte
	by   map[string][]*otlpspans.Span // by name
	of   string                       // the service's name
	auth string
}

func receive(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{by: map[string][]*otlpspans.Span{}}
	busy := true
	r.srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if busy { // the first one is asked to come again
			busy = false
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		b, err := io.ReadAll(req.Body)
		var data otlpspans.TracesData
		if err != nil || proto.Unmarshal(b, &data) != nil || req.URL.Path != "/v1/traces" {
			t.Errorf("%s brings what cannot be read: %v", req.URL.Path, err)
		}
		r.raw = append(r.raw, b...)
		r.auth = req.Header.Get("X-Auth")
		for _, rs := range data.ResourceSpans {
			for _, a := range rs.Resource.Attributes {
				if a.Key == "service.name" {
					r.of = a.Value.GetStringValue()
				}
			}
			for _, ss := range rs.ScopeSpans {
				for _, s := range ss.Spans {
					r.by[s.Name] = append(r.by[s.Name], s)
				}
			}
		}
	}))
	t.Cleanup(r.srv.Close)
	return r
}

// lines is a writer that others may read while it is written.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

var answersAt = regexp.MustCompile(`answers at (http://\S+)`)

// until waits for something that another goroutine does.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(patience)
	for !done() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("never: %s", what)
		}
	}
}

// TestTraces serves, with a model and a collector on loopback, one write and one
// recall, and looks at what the collector was sent.
func TestTraces(t *testing.T) {
	t.Parallel()
	collector := receive(t)
	model, err := llmtest.Start("127.0.0.1:0", offline.New())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Close)
	env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": collector.srv.URL, "OTEL_EXPORTER_OTLP_HEADERS": "x-auth=let%20me",
		"OXBOW_JUDGE": "openai", "OXBOW_OPENAI_BASE_URL": model.URL(), "OXBOW_OPENAI_MODEL": "small", "OXBOW_OPENAI_KEY": "secretkey",
		"OXBOW_DB": t.TempDir() + "/a.db", "OXBOW_LOG_LEVEL": "debug", "XDG_CONFIG_HOME": t.TempDir()}
	var said lines
	a := newApp(strings.NewReader(""), io.Discard, &said, func(k string) (string, bool) { v, ok := env[k]; return v, ok })
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	root := rootCommand(a)
	root.SetArgs([]string{"serve", "--addr", "127.0.0.1:0"})
	ended := make(chan int, 1)
	go func() { ended <- a.exitCode(root.ExecuteContext(ctx)) }()
	until(t, "it answers", func() bool { return answersAt.MatchString(said.String()) })
	url := answersAt.FindStringSubmatch(said.String())[1]
	ask := func(method, path string, body any) string {
		b, _ := json.Marshal(body)
		req, err := http.NewRequestWithContext(ctx, method, url+path, bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		out, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode >= 300 {
			t.Fatalf("%s %s: %d %s %v", method, path, resp.StatusCode, out, err)
		}
		return string(out)
	}
	ask("POST", "/v1/memories", map[string]any{"scope": "user:secretperson", "text": "I like secretword tea until 2099-05-01"})
	until(t, "the jobs are done", func() bool {
		m := ask("GET", "/metrics", nil)
		return strings.Contains(m, `oxbow_jobs_total{kind="contradiction",outcome="done"} 1`) && strings.Contains(m, `oxbow_jobs_total{kind="expiry",outcome="done"} 1`)
	})
	ask("POST", "/v1/recall", map[string]any{"scope": "user:secretperson", "query": "which tea, secretquestion?"})
	stop()
	if code := <-ended; code != 0 {
		t.Fatalf("it ends with %d: %s", code, said.String())
	}
	collector.check(t)
	for _, line := range strings.Split(said.String(), "\n") {
		if strings.Contains(line, `"job_kind":"expiry"`) && strings.Contains(line, `"trace_id":"`) && strings.Contains(line, `"run_id":"`) {
			return
		}
	}
	t.Errorf("no line of the log says in which job and trace it was written:\n%s", said.String())
}

func (r *receiver) check(t *testing.T) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	one := func(name string) *otlpspans.Span {
		if len(r.by[name]) == 0 {
			var names []string
			for n, all := range r.by {
				names = append(names, fmt.Sprintf("%d %s", len(all), n))
			}
			t.Fatalf("there is no span %q among %v", name, names)
		}
		return r.by[name][0]
	}
	under := func(child, parent string) {
		c, p := one(child), one(parent)
		if !bytes.Equal(c.ParentSpanId, p.SpanId) || !bytes.Equal(c.TraceId, p.TraceId) {
			t.Errorf("%s does not stand under %s", child, parent)
		}
	}
	under("create_memory", "POST /v1/memories")
	under("search_memory", "POST /v1/recall")
	under("chat small", "job expiry")
	r.linked(t, "job expiry", "create_memory")
	if r.of != "oxbow" || r.auth != "let me" {
		t.Errorf("the service is %q, the header %q", r.of, r.auth)
	}
	for _, secret := range []string{"secretword", "secretperson", "secretquestion", "secretkey", "default"} {
		if bytes.Contains(r.raw, []byte(secret)) {
			t.Errorf("the collector was sent %q", secret)
		}
	}
}

// linked looks whether a job's span leads to the one that it was enqueued in.
func (r *receiver) linked(t *testing.T, job, to string) {
	t.Helper()
	if len(r.by[job]) == 0 || len(r.by[to]) == 0 {
		t.Fatalf("there is no span %q or %q", job, to)
	}
	j, from := r.by[job][0], r.by[to][0]
	if len(j.Links) != 1 || !bytes.Equal(j.Links[0].SpanId, from.SpanId) || bytes.Equal(j.TraceId, from.TraceId) {
		t.Errorf("%s has the links %v, and %s is %x", job, j.Links, to, from.SpanId)
	}
}

// TestTracesOfClients starts oxbow mcp as a client does, with a collector on
// loopback, and looks at what it was sent when the client has left.
func TestTracesOfClients(t *testing.T) {
	t.Parallel()
	for name, db := range map[string]func(*testing.T) string{
		"SQLite":   func(t *testing.T) string { return filepath.Join(t.TempDir(), "oxbow.db") },
		"Postgres": func(t *testing.T) string { return pgtest.URL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tracesOfClient(t, db(t))
		})
	}
}

func tracesOfClient(t *testing.T, db string) {
	t.Helper()
	collector := receive(t)
	s := startServer(t, db, "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.srv.URL)
	ask := func(tool string, args map[string]any) *sdk.CallToolResult {
		t.Helper()
		res, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args,
			Meta: sdk.Meta{"traceparent": "00-0102030405060708090a0b0c0d0e0f10-0102030405060708-01"}})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	written := s.call(t, "memory_write", map[string]any{"text": "I like secretword tea", "scope": "user:secretperson"})["memory"].(map[string]any)
	until(t, "it is judged", func() bool { return s.call(t, "memory_get", map[string]any{"id": written["id"]})["pending"] == false })
	ask("memory_query", map[string]any{"query": "which tea, secretquestion?", "scope": "user:secretperson"})
	if !ask("memory_get", map[string]any{"id": "secretid"}).IsError {
		t.Error("an unknown id was found")
	}
	if _, err := s.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "context", Arguments: map[string]string{"message": "which tea?", "scope": "user:secretperson"}}); err != nil {
		t.Error(err)
	}
	if _, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "secrettool"}); err == nil {
		t.Error("an unknown tool was called")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	collector.mu.Lock()
	defer collector.mu.Unlock()
	in := func(child, parent string) {
		t.Helper()
		for _, c := range collector.by[child] {
			for _, p := range collector.by[parent] {
				if bytes.Equal(c.ParentSpanId, p.SpanId) {
					return
				}
			}
		}
		t.Errorf("no %s stands under %s", child, parent)
	}
	in("create_memory", "tools/call memory_write")
	in("search_memory", "tools/call memory_query")
	in("search_memory", "prompts/get context")
	collector.linked(t, "job contradiction", "create_memory")
	if got := collector.by["tools/call memory_query"]; len(got) != 1 || fmt.Sprintf("%x", got[0].TraceId) != "0102030405060708090a0b0c0d0e0f10" {
		t.Errorf("the caller's trace is not gone on with: %v", got)
	}
	for _, secret := range []string{"secret", "default"} {
		if bytes.Contains(collector.raw, []byte(secret)) {
			t.Errorf("the collector was sent %q", secret)
		}
	}
}

func TestCollectorOfTheEnvironment(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		env  map[string]string
		want string // where to; "" is nowhere
	}{
		{"nothing is set", nil, ""},
		{"an address for everything gets the path of traces", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318/"}, "http://localhost:4318/v1/traces"},
		{"an address of traces stands as it is", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://localhost:4318/x"}, "http://localhost:4318/x"},
		{"it is switched off", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a", "OTEL_SDK_DISABLED": "true"}, ""},
		{"traces go nowhere", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a", "OTEL_TRACES_EXPORTER": "none"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := newApp(strings.NewReader(""), io.Discard, io.Discard, func(k string) (string, bool) { v, ok := c.env[k]; return v, ok })
			if got, ok := a.collector(); got.url != c.want || ok != (c.want != "") {
				t.Errorf("got %q, %v", got.url, ok)
			}
		})
	}
}
