package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/api"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/internal/access"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/llm/offline"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/web"
	"github.com/oxbow-memory/oxbow/worker"
)

// The measurement of the doors.
const (
	doorRounds = 120 // requests of each kind, after doorWarm
	doorWarm   = 10
	pageRounds = 25
	pageWarm   = 2               // looks that are not timed; the first may count what is then kept
	fewRounds  = 15              // are enough of what
	longEnough = 5 * time.Second // takes longer than this
)

// house is a large database with the doors before it as oxbow serve has them:
// the guard, a key, the API and the console, on a loopback port. Beside them
// stand bare handlers, which call the same use cases and write the same bytes.
type house struct {
	*recallBed
	e     *engine.Engine
	key   string
	web   *httptest.Server // the doors
	bare  *httptest.Server // net/http alone
	ahead atomic.Int64     // how far the clock was put forward
	sent  atomic.Int64     // requests, so that each write is another
	said  *writer
	canon map[string][]byte // what a route answered, for the handler of bytes alone
}

func doors(ctx context.Context, l *lab) ([]result, error) {
	h, err := l.doored(ctx)
	if err != nil {
		return nil, err
	}
	out, err := h.recallByHTTP(ctx)
	if err != nil {
		return nil, err
	}
	for _, m := range []func(context.Context, *lab) ([]result, error){h.errands, h.pages} {
		rs, err := m(ctx, l)
		if err != nil {
			return out, err
		}
		out = append(out, rs...)
	}
	return out, nil
}

// now stands still while answers are compared byte by byte, because a strength
// would move.
func (h *house) now() time.Time { return present.Add(time.Duration(h.ahead.Load())) }

// deps are the workers', with the embedder that is on by default.
func (h *house) deps() jobs.Deps {
	return jobs.Deps{Store: h.st, Judge: offline.New(), Embedder: offline.NewEmbedder(), Clock: h.now, ReadDate: offline.ReadDate, ReadDetails: offline.ReadDetails}
}

// doored gives the house, which is loaded once.
func (l *lab) doored(ctx context.Context) (_ *house, err error) {
	if l.house == nil {
		l.house, err = l.newHouse(ctx, min(recallLarge, l.cfg.rows))
	}
	return l.house, err
}

func (l *lab) newHouse(ctx context.Context, n int) (*house, error) {
	bed, _, err := l.talked(ctx, fmt.Sprintf("doors%d", n), n)
	if err != nil {
		return nil, err
	}
	h := &house{recallBed: bed, said: newTalker(11), canon: map[string][]byte{}}
	h.e = engine.New(engine.Config{Store: bed.st, Judge: offline.New(), Embedder: offline.NewEmbedder(), Clock: h.now,
		ReadDate: offline.ReadDate, ReadDetails: offline.ReadDetails})
	key, err := h.e.CreateKey(ctx, oxbow.Key{Tenant: home.Tenant, Name: "bench", Permissions: oxbow.Permissions})
	if err != nil {
		return nil, err
	}
	h.key = key.Secret
	guard := access.New(access.Config{Engine: h.e, PerSecond: 1e6, Burst: 1e6})
	mux := http.NewServeMux()
	mux.Handle(web.Root, web.New(web.Config{Engine: h.e, Guard: guard}))
	mux.Handle("/", api.New(api.Config{Engine: h.e, Guard: guard}))
	h.web = httptest.NewServer(guard.Wrap(mux))
	return h, h.live(ctx)
}

// live lets the workers judge some turns and statements, so that the pages of
// turns, runs, jobs and reviews have something to show.
func (h *house) live(ctx context.Context) error {
	for i := range 60 {
		if _, err := h.e.Remember(ctx, engine.Statement{Scope: home, Text: h.said.passage(), Slot: "user", Key: fmt.Sprintf("key_%d", i%20), Kind: oxbow.Fact}); err != nil {
			return err
		}
		t := oxbow.Turn{Scope: home, Conversation: "desk", User: "I prefer " + h.said.passage() + ".", At: h.now()}
		if _, err := h.e.Ingest(ctx, []oxbow.Turn{t}); err != nil {
			return err
		}
	}
	return h.whileWorking(ctx, h.idle)
}

// whileWorking runs fn beside a worker.
func (h *house) whileWorking(ctx context.Context, fn func(context.Context) error) error {
	wk, err := worker.New(h.deps(), worker.Config{})
	if err != nil {
		return err
	}
	if err := wk.Start(ctx); err != nil {
		return err
	}
	return errors.Join(fn(ctx), wk.Stop(ctx))
}

// idle waits until no job is left.
func (h *house) idle(ctx context.Context) error {
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for {
		n, err := h.st.PendingJobs(ctx, "", "")
		if err != nil || n == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-look.C:
		}
	}
}

func (h *house) close() {
	h.web.Close()
	if h.bare != nil {
		h.bare.Close()
	}
}

// client keeps a connection for each request that is under way.
var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 512, DialContext: (&net.Dialer{}).DialContext}}

// ask sends a request with the key and gives the whole answer. What is not 2xx
// is an error.
func (h *house) ask(ctx context.Context, method, url string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+h.key)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	got, err := io.ReadAll(res.Body)
	if err = errors.Join(err, res.Body.Close()); err != nil {
		return nil, err
	}
	if res.StatusCode/100 != 2 {
		return nil, fmt.Errorf("%s %s: status %d: %.300s", method, url, res.StatusCode, got)
	}
	return got, nil
}

// inTurns times some things one after the other, round by round, each time
// beginning with another one, because the first to ask warms the caches of the
// next. It gives the times of each. What is slow is asked less often.
func inTurns(rounds, warm int, things ...func(round int) error) ([][]time.Duration, error) {
	out := make([][]time.Duration, len(things))
	for begin, round := time.Now(), 0; round < rounds+warm; round++ {
		if round >= warm+fewRounds && time.Since(begin) > longEnough {
			break
		}
		for k := range things {
			i := (k + round) % len(things)
			took, err := timed(func() error { return things[i](round) })
			if err != nil {
				return nil, err
			}
			if round >= warm {
				out[i] = append(out[i], took)
			}
		}
	}
	return out, nil
}

// recallByHTTP compares a call of the engine with a request for the same.
func (h *house) recallByHTTP(ctx context.Context) ([]result, error) {
	rng := rand.New(rand.NewPCG(8, 8))
	questions := make([]string, doorRounds+doorWarm)
	for i := range questions {
		questions[i] = h.question(rng)
	}
	ts, err := inTurns(doorRounds, doorWarm,
		func(round int) error {
			_, err := h.ask(ctx, "POST", h.web.URL+"/v1/recall", questionBody(questions[round], recallLimit))
			return err
		},
		func(round int) error {
			_, err := h.e.Recall(ctx, engine.Recall{Scope: home, Text: questions[round], Limit: recallLimit, Floor: new(float64)})
			return err
		})
	if err != nil {
		return nil, err
	}
	ratio := float64(median(ts[0])) / float64(median(ts[1]))
	return []result{{what: fmt.Sprintf("POST /v1/recall among %s, p50, against the same call of the engine", count(h.n)), goal: "≤ 1.3 ×",
		measured: fmt.Sprintf("%.2f ×", ratio), ours: millis(median(ts[0])), other: millis(median(ts[1])), pass: ratio <= 1.3}}, nil
}

func questionBody(q string, limit int) []byte {
	return []byte(store.JSON(map[string]any{"scope": home.Name, "query": q, "limit": limit, "floor": 0}))
}

// errand is a route, and the use case behind it as a bare handler calls it.
type errand struct {
	name, method, path string
	body               func() []byte
	writes             bool // its answers differ from one request to the next
	use                func(ctx context.Context, body []byte) (any, error)
}

// errands compares routes with bare handlers that do the same work.
func (h *house) errands(ctx context.Context, l *lab) ([]result, error) {
	all, err := h.errandList(ctx)
	if err != nil {
		return nil, err
	}
	h.bare = httptest.NewServer(h.bareHandler(all))
	worst, alone := result{goal: "≤ 2 ×"}, 0.0
	most := 0.0
	var ours, others []string
	for _, x := range all {
		if err := h.sameBytes(ctx, x); err != nil {
			return nil, err
		}
		send := func(at string) func(int) error {
			return func(int) error {
				var body []byte
				if x.body != nil {
					body = x.body()
				}
				_, err := h.ask(ctx, x.method, at, body)
				return err
			}
		}
		ts, err := inTurns(doorRounds, doorWarm, send(h.web.URL+x.path), send(h.bare.URL+"/use/"+x.name), send(h.bare.URL+"/bytes/"+x.name))
		if err != nil {
			return nil, err
		}
		ratio, bytes := float64(median(ts[0]))/float64(median(ts[1])), float64(median(ts[0]))/float64(median(ts[2]))
		l.say("%s %s: %s, bare %s (%.2f ×), its bytes alone %s (%.1f ×)", x.method, x.path, millis(median(ts[0])), millis(median(ts[1])), ratio, millis(median(ts[2])), bytes)
		ours, others = append(ours, x.name+" "+millis(median(ts[0]))), append(others, millis(median(ts[1])))
		if ratio > most {
			most, worst.what = ratio, x.name
		}
		alone = max(alone, bytes)
	}
	worst.what = fmt.Sprintf("other routes against bare handlers that call the same use case and write the same bytes: the most, by %s", worst.what)
	worst.measured, worst.pass = fmt.Sprintf("%.2f × (against the bytes alone up to %.0f ×)", most, alone), most <= 2
	worst.ours, worst.other = strings.Join(ours, ", "), strings.Join(others, ", ")
	return []result{worst}, nil
}

// sameBytes fails when a bare handler does not write what the route does.
func (h *house) sameBytes(ctx context.Context, x errand) error {
	var got [2][]byte
	for i, url := range []string{h.web.URL + x.path, h.bare.URL + "/use/" + x.name} {
		var body []byte
		if x.body != nil {
			body = x.body()
		}
		var err error
		if got[i], err = h.ask(ctx, x.method, url, body); err != nil {
			return err
		}
	}
	h.canon[x.name] = got[0]
	if same := bytes.Equal(got[0], got[1]); !same && !x.writes {
		return fmt.Errorf("%s: the bare handler writes other bytes than the route:\n%.400s\n%.400s", x.path, got[0], got[1])
	}
	return nil
}

// bareHandler serves the use cases, and their bytes alone, by net/http.
func (h *house) bareHandler(all []errand) http.Handler {
	mux := http.NewServeMux()
	for _, x := range all {
		mux.HandleFunc(x.method+" /use/"+x.name, func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err == nil {
				var v any
				if v, err = x.use(r.Context(), body); err == nil {
					w.Header().Set("Content-Type", "application/json")
					enc := json.NewEncoder(w)
					enc.SetEscapeHTML(false)
					err = enc.Encode(v)
				}
			}
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
			}
		})
		mux.HandleFunc(x.method+" /bytes/"+x.name, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(h.canon[x.name])
		})
	}
	return mux
}

// page is a list as the API writes it.
type page struct {
	Items      any    `json:"items"`
	NextCursor string `json:"next_cursor,omitempty"`
}

func (h *house) statement() []byte {
	return []byte(store.JSON(map[string]any{"scope": home.Name, "text": fmt.Sprintf("%s %d", h.said.passage(), h.sent.Add(1))}))
}

// errandList gives the routes that programs call most, and one of each sort.
func (h *house) errandList(ctx context.Context) ([]errand, error) {
	const size = 50
	newest, err := h.st.ListMemories(ctx, store.MemoryFilter{Tenant: home.Tenant, Status: []oxbow.Status{oxbow.Active}, Limit: size})
	if err != nil {
		return nil, err
	}
	id := newest[size-1].ID
	return []errand{
		{name: "list", method: "GET", path: "/v1/memories", use: func(ctx context.Context, _ []byte) (any, error) {
			ms, err := h.st.ListMemories(ctx, store.MemoryFilter{Tenant: home.Tenant, Status: []oxbow.Status{oxbow.Active}, Limit: size})
			if err != nil {
				return nil, err
			}
			vs, err := h.e.Views(ctx, ms)
			return page{vs, ms[len(ms)-1].ID}, err
		}},
		{name: "get", method: "GET", path: "/v1/memories/" + id, use: func(ctx context.Context, _ []byte) (any, error) {
			m, err := h.e.Memory(ctx, home.Tenant, id)
			if err != nil {
				return nil, err
			}
			vs, err := h.e.Views(ctx, []oxbow.Memory{m})
			return vs[0], err
		}},
		{name: "history", method: "GET", path: "/v1/memories/" + id + "/history", use: func(ctx context.Context, _ []byte) (any, error) {
			return h.e.Why(ctx, home.Tenant, id)
		}},
		{name: "turns", method: "GET", path: "/v1/turns", use: func(ctx context.Context, _ []byte) (any, error) {
			ts, err := h.st.ListTurns(ctx, store.TurnFilter{Tenant: home.Tenant, Limit: size})
			return page{ts, ts[len(ts)-1].ID}, err
		}},
		{name: "events", method: "GET", path: "/v1/events", use: func(ctx context.Context, _ []byte) (any, error) {
			es, err := h.st.Events(ctx, store.EventFilter{Tenant: home.Tenant, Newest: true, Limit: size})
			return page{es, fmt.Sprint(es[len(es)-1].Seq)}, err
		}},
		{name: "runs", method: "GET", path: "/v1/runs", use: func(ctx context.Context, _ []byte) (any, error) {
			rs, err := h.e.Runs(ctx, store.RunFilter{Tenant: home.Tenant, Limit: size})
			return page{rs, rs[len(rs)-1].ID}, err
		}},
		{name: "jobs", method: "GET", path: "/v1/jobs", use: func(ctx context.Context, _ []byte) (any, error) {
			js, err := h.st.ListJobs(ctx, store.JobFilter{Tenant: home.Tenant, Limit: size})
			return page{js, fmt.Sprint(js[len(js)-1].ID)}, err
		}},
		{name: "stats", method: "GET", path: "/v1/stats", use: func(ctx context.Context, _ []byte) (any, error) {
			return h.e.Status(ctx, oxbow.Scope{Tenant: home.Tenant})
		}},
		{name: "remember", method: "POST", path: "/v1/memories", body: h.statement, writes: true, use: func(ctx context.Context, body []byte) (any, error) {
			var in struct{ Scope, Text string }
			if err := json.Unmarshal(body, &in); err != nil {
				return nil, err
			}
			w, err := h.e.Remember(ctx, engine.Statement{Scope: oxbow.Scope{Tenant: home.Tenant, Name: in.Scope}, Text: in.Text})
			if err != nil {
				return nil, err
			}
			vs, err := h.e.Views(ctx, []oxbow.Memory{w.Memory})
			return struct {
				Memory engine.View `json:"memory"`
				Run    string      `json:"run"`
			}{vs[0], w.Run}, err
		}},
	}, nil
}

// pages compares each page of the console with /v1/memories of fifty rows, which
// is what a page of the console has, and a page that searches with /v1/recall.
func (h *house) pages(ctx context.Context, l *lab) ([]result, error) {
	newest, err := h.st.ListMemories(ctx, store.MemoryFilter{Tenant: home.Tenant, Limit: 1})
	if err != nil {
		return nil, err
	}
	runs, err := h.e.Runs(ctx, store.RunFilter{Tenant: home.Tenant, Limit: 1})
	if err != nil {
		return nil, err
	}
	list := func(int) error {
		_, err := h.ask(ctx, "GET", h.web.URL+"/v1/memories", nil)
		return err
	}
	search := func(int) error {
		_, err := h.ask(ctx, "POST", h.web.URL+"/v1/recall", questionBody(h.said.vocab[40], 50))
		return err
	}
	most, worst := 0.0, ""
	var ours, others []string
	for _, p := range []string{"", "memories", "memories?status=all&scope=" + home.Name, "memories?q=" + h.said.vocab[40] + "&scope=" + home.Name, "memories/" + newest[0].ID, "scopes",
		"scopes/" + home.Name, "runs", "runs/" + runs[0].ID, "jobs", "schedule", "review", "health", "events"} {
		against := list
		if strings.Contains(p, "?q=") {
			against = search
		}
		ts, err := inTurns(pageRounds, pageWarm, func(int) error {
			_, err := h.ask(ctx, "GET", h.web.URL+web.Root+p, nil)
			return err
		}, against)
		if err != nil {
			return nil, err
		}
		ratio := float64(median(ts[0])) / float64(median(ts[1]))
		l.say("%s%s: %s, against %s (%.2f ×)", web.Root, p, millis(median(ts[0])), millis(median(ts[1])), ratio)
		name, _, _ := strings.Cut(p, "?")
		ours, others = append(ours, "/"+name+" "+millis(median(ts[0]))), append(others, millis(median(ts[1])))
		if ratio > most {
			most, worst = ratio, "/"+name
		}
	}
	slices.Sort(others)
	anew, err := h.pagesAnew(ctx)
	if err != nil {
		return nil, err
	}
	ours = append(ours, anew...)
	return []result{{what: fmt.Sprintf("each page of the console among %s, against /v1/memories of a page (one that searches: /v1/recall): the most, by %s", count(h.n), worst),
		goal: "≤ 5 ×", measured: fmt.Sprintf("%.1f ×", most), ours: strings.Join(ours, ", "), other: others[0] + " to " + others[len(others)-1], pass: most <= 5}}, nil
}

// pagesAnew times the pages that keep counts for a minute when they are asked to
// count anew. That has no goal: it is what the first look of a minute takes.
func (h *house) pagesAnew(ctx context.Context) ([]string, error) {
	var out []string
	for _, p := range []string{"", "health"} {
		ts, err := inTurns(fewRounds, 0, func(int) error {
			_, err := h.ask(ctx, "GET", h.web.URL+web.Root+p+"?fresh=1", nil)
			return err
		})
		if err != nil {
			return nil, err
		}
		out = append(out, fmt.Sprintf("(counted anew: /%s %s)", p, millis(median(ts[0]))))
	}
	return out, nil
}
