package llmtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow/llm"
)

// Formats that Refuse can forbid, as endpoints differ in them.
const (
	StrictSchema = "strict"      // response_format json_schema with strict
	LooseSchema  = "json_schema" // response_format json_schema without it
	JSONObject   = "json_object" // response_format json_object
	PlainText    = "text"        // no response_format
)

// Server is a running fake endpoint. It is safe for concurrent use.
type Server struct {
	judge    llm.Judge
	listener net.Listener
	http     *http.Server
	done     chan struct{} // closed by Close
	served   chan struct{} // closed when the listener is

	mu       sync.Mutex
	away     bool
	refused  []string
	queue    []Reply
	byTask   map[string][]Reply
	requests []Request
	handlers sync.WaitGroup
	closing  bool
}

// New starts a server that answers each question in the plainest sensible way
// (see Plain), for the length of a test.
func New(t testing.TB) *Server {
	t.Helper()
	return Serve(t, Plain{})
}

// Serve starts a server that answers with what a judge says, for the length of
// a test.
func Serve(t testing.TB, judge llm.Judge) *Server {
	t.Helper()
	s, err := Start("127.0.0.1:0", judge)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// Start starts a server on an address such as 127.0.0.1:0, for programs; the
// caller closes it. A nil judge is Plain.
func Start(addr string, judge llm.Judge) (*Server, error) {
	if judge == nil {
		judge = Plain{}
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("start the fake model: %w", err)
	}
	s := &Server{
		judge: judge, listener: l, byTask: map[string][]Reply{},
		done: make(chan struct{}), served: make(chan struct{}),
	}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(s.served)
		_ = s.http.Serve(l) // it ends with http.ErrServerClosed, by Close
	}()
	return s, nil
}

// URL is the base URL of the endpoint, ending in /v1.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + "/v1" }

// Away makes the server answer 503 to everything until Back.
func (s *Server) Away() { s.setAway(true) }

// Back ends Away.
func (s *Server) Back() { s.setAway(false) }

// Queue adds replies for the next requests, whatever they ask.
func (s *Server) Queue(replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, replies...)
}

// QueueFor adds replies for the next requests of one purpose (extract,
// confidence, relate, expiry, cluster, synthesize, select, embed). They go before Queue's.
func (s *Server) QueueFor(purpose string, replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byTask[purpose] = append(s.byTask[purpose], replies...)
}

// Refuse makes the server answer 400 to the given formats, or Dimensions, as
// endpoints do that do not know them; it replaces what was refused before.
func (s *Server) Refuse(formats ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = slices.Clone(formats)
}

// Requests gives what was asked so far, the first one first, the unanswered
// ones included.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Close stops the server, and any reply that still waits to be released. It
// may be called again.
func (s *Server) Close() {
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		return
	}
	s.closing = true
	s.mu.Unlock()
	close(s.done)
	_ = s.http.Close()
	<-s.served
	s.handlers.Wait()
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		return
	}
	defer s.handlers.Done()
	if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/models") {
		s.models(w)
		return
	}
	embeds := strings.HasSuffix(r.URL.Path, "/embeddings")
	if r.Method != http.MethodPost || !embeds && !strings.HasSuffix(r.URL.Path, "/chat/completions") {
		Status(http.StatusNotFound, errorJSON("not found", "not_found")).write(w, nil)
		return
	}
	raw, err := io.ReadAll(io.LimitReader(r.Body, 16<<20))
	if err != nil {
		return // the client has gone
	}
	req := readRequest(raw, r.Header)
	req.Path = r.URL.RequestURI()
	if embeds {
		req.Purpose, req.Format = llm.PurposeEmbed, ""
	}
	reply := s.next(req)
	gone := func(release <-chan struct{}) bool { return s.gone(r.Context(), release) }
	if reply.wait != nil && gone(reply.wait) {
		return
	}
	if reply.judge {
		stall, hangup := reply.stall, reply.hangup
		reply = s.judged(r.Context(), req)
		reply.stall, reply.hangup = stall, hangup
	}
	reply.answering(req).write(w, gone)
}

// gone waits for a release, and tells whether the client or the server went
// before it.
func (s *Server) gone(ctx context.Context, release <-chan struct{}) bool {
	select {
	case <-release:
		return false
	case <-ctx.Done():
	case <-s.done:
	}
	return true
}

// enter counts a handler in, unless the server is closing.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return false
	}
	s.handlers.Add(1)
	return true
}

// next records a request and chooses its reply.
func (s *Server) next(req Request) Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, req)
	if s.away {
		return Status(http.StatusServiceUnavailable, errorJSON("the server is away", "server_error"))
	}
	if q := s.byTask[req.Purpose]; len(q) > 0 {
		s.byTask[req.Purpose] = q[1:]
		return q[0]
	}
	if len(s.queue) > 0 {
		r := s.queue[0]
		s.queue = s.queue[1:]
		return r
	}
	if req.Dimensions > 0 && slices.Contains(s.refused, Dimensions) {
		return Status(http.StatusBadRequest, errorJSON("Model does not support matryoshka representation, changing output dimensions will lead to poor results.", "BadRequestError"))
	}
	if slices.Contains(s.refused, req.Format) {
		return Status(http.StatusBadRequest,
			errorJSON("response_format "+req.Format+" is not supported with this model", "invalid_request_error"))
	}
	return Judged()
}

// judged asks the judge behind the server.
func (s *Server) judged(ctx context.Context, req Request) Reply {
	if req.Purpose == llm.PurposeEmbed {
		return embedded(req)
	}
	answer, err := ask(ctx, s.judge, req)
	away, isAway := errors.AsType[*llm.AwayError](err)
	switch {
	case err == nil:
		return JSON(answer)
	case errors.Is(err, llm.ErrRefused):
		return Status(http.StatusBadRequest, errorJSON("the prompt was filtered", "invalid_request_error"))
	case errors.Is(err, llm.ErrUnparsable):
		return Text("I would rather not say.")
	case isAway:
		seconds := int(away.RetryAfter.Round(time.Second).Seconds())
		return Status(http.StatusServiceUnavailable, errorJSON("away", "server_error"), "Retry-After", fmt.Sprint(seconds))
	}
	return Status(http.StatusBadRequest, errorJSON(err.Error(), "invalid_request_error"))
}

func (s *Server) setAway(away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = away
}

func (s *Server) models(w http.ResponseWriter) {
	s.mu.Lock()
	away := s.away
	s.mu.Unlock()
	if away {
		Status(http.StatusServiceUnavailable, errorJSON("the server is away", "server_error")).write(w, nil)
		return
	}
	b, _ := json.Marshal(map[string]any{
		"object": "list",
		"data":   []any{map[string]any{"id": "fake", "object": "model", "owned_by": "llmtest"}},
	})
	Status(http.StatusOK, string(b)).write(w, nil)
}
