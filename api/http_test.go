package api_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/lab"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/worker"
)

func TestDocument(t *testing.T) {
	tell(t,
		story{"is served, and its page needs no other host", documents},
		story{"says of refusals and bodies what is true", describes},
	)
}

func documents(d *door) {
	doc := d.want(200, "GET", "/openapi.json", nil)
	d.equal("its version", doc["openapi"], "3.1.0")
	if n := len(doc["paths"].(map[string]any)); n < 30 {
		d.Errorf("it has %d paths", n)
	}
	page := d.send("GET", "/docs", nil)
	d.equal("the page", page.status, 200)
	for _, outside := range []string{"http://", "https://", "<script", "//"} {
		if strings.Contains(string(page.body), outside) {
			d.Errorf("the page holds %q", outside)
		}
	}
}

func describes(d *door) {
	seen := 0
	for path, item := range d.api.Document().Paths {
		for _, o := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
			if o == nil {
				continue
			}
			for status, r := range o.Responses {
				for kind, m := range r.Content {
					if kind != "application/problem+json" {
						continue
					}
					if seen++; m.Schema.Ref != "#/components/schemas/Problem" {
						d.Errorf("%s %s says that %s is a %s", o.Method, path, status, m.Schema.Ref)
					}
				}
			}
			if o.RequestBody != nil && len(o.RequestBody.Content) != 1 {
				d.Errorf("%s %s takes %v", o.Method, path, o.RequestBody.Content)
			}
		}
	}
	if seen < 200 {
		d.Errorf("only %d refusals were looked at", seen)
	}
	problem := at(d.want(200, "GET", "/openapi.json", nil), "components.schemas.Problem.properties.code.enum")
	if codes, ok := problem.([]any); !ok || len(codes) != 8 {
		d.Errorf("the codes are %v", problem)
	}
}

func TestBodies(t *testing.T) {
	tell(t,
		story{"may be as large as the server says", bodiesLarge},
		story{"may be left out where nothing is required", bodiesNone},
		story{"that break off are the caller's fault, and change nothing", bodiesBroken},
		story{"are not written to who has left", readersLeave},
	)
}

func bodiesLarge(d *door) {
	var turns []map[string]any
	for i := range 25 {
		turns = append(turns, map[string]any{"scope": "user:ada", "user": fmt.Sprint(i, ": ", strings.Repeat("so on ", 10_000))})
	}
	d.equal("how many are new", d.want(202, "POST", "/v1/turns", map[string]any{"turns": turns})["new"], 25.0)
	unsized := struct{ io.Reader }{strings.NewReader(`{"scope":"a","text":"` + strings.Repeat("x", maxBody) + `"}`)}
	req, err := http.NewRequestWithContext(d.Ctx, "POST", d.srv.URL+"/v1/memories", unsized)
	d.Must(err)
	req.Header.Set("Authorization", "Bearer "+d.key)
	req.Header.Set("Content-Type", "application/json")
	res, err := d.srv.Client().Do(req)
	d.Must(err)
	defer func() { _ = res.Body.Close() }()
	said, err := io.ReadAll(res.Body)
	d.Must(err)
	if res.StatusCode != 413 || !strings.Contains(string(said), "send less at once") {
		d.Errorf("a body of unsaid size: %d: %s", res.StatusCode, said)
	}
}

func bodiesBroken(d *door) {
	for name, rest := range map[string]string{
		"chunks that are none": "Transfer-Encoding: chunked\r\n\r\n1e\r\n" + `{"scope":"a","text":"tea good"}` + "\r\nZZ\r\n",
		"less than was said":   "Content-Length: 99\r\n\r\n" + `{"scope":"a","text":"tea good"}`,
	} {
		conn, err := net.Dial("tcp", d.srv.Listener.Addr().String())
		d.Must(err)
		_, err = io.WriteString(conn, "POST /v1/memories HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "+d.key+"\r\nContent-Type: application/json\r\n"+rest)
		d.Must(err)
		d.Must(conn.(*net.TCPConn).CloseWrite())
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		d.Must(err)
		said, err := io.ReadAll(res.Body)
		d.Must(err)
		d.Must(conn.Close())
		if res.StatusCode != 400 || !strings.Contains(string(said), "breaks off") || !strings.Contains(string(said), `"status":400`) {
			d.Errorf("%s: %d: %s", name, res.StatusCode, said)
		}
	}
	if got := d.want(200, "GET", "/v1/memories", nil)["items"].([]any); len(got) != 0 {
		d.Errorf("it made %v", got)
	}
}

func bodiesNone(d *door) {
	path := "/v1/memories/" + d.remember("tea: green")
	d.want(200, "POST", path+"/archive", nil)
	d.want(200, "POST", path+"/restore", nil)
	d.equal("a body that is needed", d.send("POST", "/v1/memories", nil).status, 400)
}

// deaf is a response that nobody takes: its reader leaves when it is written to.
type deaf struct {
	header   http.Header
	statuses []int
	leave    func()
}

func (w *deaf) Header() http.Header    { return w.header }
func (w *deaf) WriteHeader(status int) { w.statuses = append(w.statuses, status) }
func (w *deaf) Write([]byte) (int, error) {
	w.leave()
	return 0, errors.New("broken pipe")
}

func readersLeave(d *door) {
	d.remember("tea: green")
	for _, path := range []string{"/v1/memories", "/v1/events/stream"} {
		for name, leaves := range map[string]bool{"left": true, "was cut off": false} {
			ctx, leave := context.WithCancel(d.Ctx)
			defer leave()
			if !leaves {
				leave = func() {}
			}
			r := httptest.NewRequestWithContext(ctx, "GET", path, nil)
			r.Header.Set("Authorization", "Bearer "+d.key)
			w := &deaf{header: http.Header{}, leave: leave}
			d.api.ServeHTTP(w, r)
			if len(w.statuses) != 1 {
				d.Errorf("GET %s by one who %s wrote the statuses %v", path, name, w.statuses)
			}
		}
	}
}

func TestHeaders(t *testing.T) {
	tell(t, story{"say where a thing is and which request it was", headers})
}

func headers(d *door) {
	made := d.send("POST", "/v1/memories", map[string]any{"scope": "user:ada", "text": "tea: green"}, "X-Request-Id", "mine-1")
	d.equal("the request's name", made.header.Get("X-Request-Id"), "mine-1")
	d.equal("what stands there", d.send("GET", made.header.Get("Location"), nil).header.Get("ETag"), made.header.Get("ETag"))
	forged := d.send("GET", "/v1/memories", nil, "X-Request-Id", "mine 2").header.Get("X-Request-Id")
	if forged == "" || strings.Contains(forged, "mine") {
		d.Errorf("a request that calls itself badly is called %q", forged)
	}
	turn := d.send("POST", "/v1/turns", map[string]any{"turns": []map[string]any{{"scope": "user:ada", "user": "I like jazz"}}})
	d.equal("the turn", d.send("GET", turn.header.Get("Location"), nil).status, 200)
	job := d.send("POST", "/v1/jobs", map[string]any{"name": "decay"})
	d.finish()
	d.equal("the run", d.send("GET", job.header.Get("Location"), nil).status, 200)
}

func TestOnce(t *testing.T) {
	tell(t,
		story{"turns without a time are taken in once by a request that is sent twice", turnsOnce},
		story{"jobs of every kind are started once", jobsOnce},
		story{"a key is made once, and its secret shown once", keysOnce},
	)
}

func turnsOnce(d *door) {
	turns := map[string]any{"turns": []map[string]any{{"scope": "user:ada", "user": "I like jazz"}, {"scope": "user:bob", "user": "I like rock"},
		{"scope": "user:ada", "user": "I like tea"}}}
	one := d.send("POST", "/v1/turns", turns, "Idempotency-Key", "k")
	d.Clock.Set(d.Clock.Now().Add(1e9))
	two := d.send("POST", "/v1/turns", turns, "Idempotency-Key", "k")
	d.equal("the second answer", string(two.body), string(one.body))
	d.equal("how many turns there are", len(at(d.want(200, "GET", "/v1/turns", nil), "items").([]any)), 3)
	d.want(409, "POST", "/v1/turns", map[string]any{"turns": turns["turns"].([]map[string]any)[:1]}, "Idempotency-Key", "k")
	got := d.want(202, "POST", "/v1/turns", turns)
	for i, run := range got["runs"].([]any) {
		d.equal("a run at once", d.want(200, "GET", "/v1/runs/"+run.(string), nil)["id"], run)
		id := got["turns"].([]any)[i].(string)
		d.equal("the turn's scope", at(d.want(200, "GET", "/v1/turns/"+id, nil), "scope.name"), any(turns["turns"].([]map[string]any)[i]["scope"]))
	}
	d.finish()
	for i, run := range got["runs"].([]any) {
		d.equal("the run that read it", d.want(200, "GET", "/v1/turns/"+got["turns"].([]any)[i].(string), nil)["run"], run)
	}
	again := d.want(202, "POST", "/v1/turns", map[string]any{"turns": []map[string]any{{"scope": "user:ada", "user": "I like jazz", "at": lab.Start}}}, "Idempotency-Key", "k2")
	known := d.want(202, "POST", "/v1/turns", map[string]any{"turns": []map[string]any{{"scope": "user:ada", "user": "I like jazz", "at": lab.Start}}})
	d.equal("the run of a turn that is known", at(known, "runs.0"), at(again, "runs.0"))
}

func jobsOnce(d *door) {
	d.remember("tea: green")
	for _, name := range []string{"reindex", "decay", "extract", "contradiction"} {
		one := d.send("POST", "/v1/jobs", map[string]any{"name": name}, "Idempotency-Key", name)
		d.equal(name, one.status, 202)
		d.Clock.Set(d.Clock.Now().Add(1e9))
		d.equal(name+" once more", string(d.send("POST", "/v1/jobs", map[string]any{"name": name}, "Idempotency-Key", name).body), string(one.body))
	}
}

func keysOnce(d *door) {
	body := map[string]any{"name": "mine", "permissions": []string{"read"}}
	made := d.want(201, "POST", "/v1/keys", body, "Idempotency-Key", "k")
	again := d.send("POST", "/v1/keys", body, "Idempotency-Key", "k")
	if again.status != 409 || !strings.Contains(string(again.body), made["id"].(string)) || bytes.Contains(again.body, []byte("oxb_")) {
		d.Errorf("the second time: %d %s", again.status, again.body)
	}
}

func TestRuns(t *testing.T) {
	tell(t,
		story{"are cancelled, and say so", runsCancelled},
		story{"are paged to the last one", runsPaged},
	)
}

func TestJobs(t *testing.T) {
	tell(t, story{"are cancelled and retried until they have ended", jobsEnd})
}

func jobsEnd(d *door) {
	d.remember("tea: green")
	id, _ := at(d.want(200, "GET", "/v1/jobs", nil), "items.0.id").(float64)
	path := fmt.Sprint("/v1/jobs/", int(id))
	d.equal("one that waited", d.want(200, "POST", path+"/cancel", nil)["state"], "cancelled")
	d.equal("the same once more", d.want(200, "POST", path+"/cancel", nil)["state"], "cancelled")
	d.equal("one that is to run after all", d.want(200, "POST", path+"/retry", nil)["state"], "available")
	d.finish()
	d.equal("how it ended", d.want(200, "GET", path, nil)["state"], "completed")
	for _, verb := range []string{"cancel", "retry"} {
		d.equal(verb+" when it has ended", d.want(409, "POST", path+"/"+verb, nil)["code"], "conflict")
	}
}

func TestPages(t *testing.T) {
	tell(t, story{"of scopes, schedules and keys go to the last one", namesPaged})
}

func namesPaged(d *door) {
	for _, who := range []string{"ada", "bob", "cid"} {
		d.want(201, "POST", "/v1/memories", map[string]any{"scope": "user:" + who, "text": "tea: green"})
		d.newKey(d.Scope.Tenant, oxbow.MayRead)
	}
	for _, what := range []string{"scopes", "schedules", "keys"} {
		all := at(d.want(200, "GET", "/v1/"+what, nil), "items").([]any)
		var seen []any
		for path := "/v1/" + what + "?limit=2"; path != ""; {
			page := d.want(200, "GET", path, nil)
			seen = append(seen, page["items"].([]any)...)
			path = ""
			if next, more := page["next_cursor"].(string); more {
				path = "/v1/" + what + "?limit=2&cursor=" + url.QueryEscape(next)
			}
		}
		if len(all) < 3 || !jsonEqual(seen, all) {
			d.Errorf("the pages of %s are %v, want %v", what, seen, all)
		}
		d.want(404, "GET", "/v1/"+what+"?cursor=nothing", nil)
	}
	found := d.want(200, "GET", "/v1/scopes?name=ER:B&limit=1", nil)
	d.equal("scopes with a part of a name", at(found, "items.0.name"), any("user:bob"))
	d.equal("more of them", at(found, "next_cursor"), nil)
}

// putRun stores a run as it is.
func (d *door) putRun(r oxbow.Run) {
	d.Helper()
	d.Must(d.DB.InTx(d.Ctx, func(ctx context.Context, tx store.Tx) error { return tx.PutRun(ctx, r) }))
}

func runsCancelled(d *door) {
	d.remember("tea: green")
	d.finish()
	done := at(d.want(202, "POST", "/v1/jobs", map[string]any{"name": "decay"}), "runs.0").(string)
	d.finish()
	d.equal("one that has ended", d.want(409, "POST", "/v1/runs/"+done+"/cancel", nil)["code"], "conflict")
	d.want(404, "POST", "/v1/runs/0000000000000000/cancel", nil)
	run := oxbow.Run{ID: "rrrrrrrrrrrrrrrr", Scope: d.Scope, Name: "embed", Trigger: "operator", Status: oxbow.RunRunning, About: lab.Start, StartedAt: lab.Start}
	d.putRun(run)
	for range 2 { // a request that is sent twice stops it once
		d.equal("it", d.want(200, "POST", "/v1/runs/"+run.ID+"/cancel", nil, "Idempotency-Key", "k")["status"], "stopped")
	}
	d.equal("what there is of it", d.want(200, "GET", "/v1/runs/"+run.ID, nil)["status"], "stopped")
	d.key = d.newKey(d.Scope.Tenant, oxbow.MayRead, oxbow.MayWrite)
	d.want(403, "POST", "/v1/runs/"+run.ID+"/cancel", nil)
}

func runsPaged(d *door) {
	for i := range 5 {
		d.remember("a number: " + strings.Repeat("I", i+1))
	}
	d.Finish(d.Worker(worker.Config{}))
	want, seen := len(at(d.want(200, "GET", "/v1/runs", nil), "items").([]any)), map[string]bool{}
	path := "/v1/runs?limit=2"
	for range want {
		page := d.want(200, "GET", path, nil)
		for _, r := range page["items"].([]any) {
			seen[at(r, "id").(string)] = true
		}
		next, more := page["next_cursor"].(string)
		if !more {
			break
		}
		path = "/v1/runs?limit=2&cursor=" + next
	}
	if len(seen) != want || want < 5 {
		d.Errorf("saw %d runs of %d", len(seen), want)
	}
}
