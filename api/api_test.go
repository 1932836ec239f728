package api_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/api"
	"github.com/oxbow-memory/oxbow/internal/access"
	"github.com/oxbow-memory/oxbow/internal/lab"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/worker"
)

// door is a bench with a server before it.
type door struct {
	*lab.Bench
	api *api.API
	srv *httptest.Server
	key string // sent with every request
}

// story is a sub-test with a store and a server of its own.
type story struct {
	name string
	test func(*door)
}

// tell runs stories on both databases.
func tell(t *testing.T, stories ...story) {
	t.Helper()
	t.Parallel()
	for _, s := range stories {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			lab.Each(t, func(t *testing.T, db *lab.DB) { s.test(open(lab.New(t, db))) })
		})
	}
}

// maxBody is more than the router takes when nobody tells it otherwise.
const maxBody = 2 << 20

// open serves a bench with a key that may do everything.
func open(b *lab.Bench) *door {
	b.Helper()
	guard := access.New(access.Config{Engine: b.Engine, Burst: 10_000, MaxBody: maxBody})
	d := &door{Bench: b, api: api.New(api.Config{Engine: b.Engine, Guard: guard, StreamEvery: time.Millisecond, AliveEvery: time.Millisecond})}
	d.srv = httptest.NewServer(guard.Wrap(d.api))
	b.Cleanup(d.srv.Close)
	d.key = d.newKey(b.Scope.Tenant, oxbow.Permissions...)
	return d
}

func (d *door) newKey(tenant string, may ...oxbow.Permission) string {
	d.Helper()
	k, err := d.Engine.CreateKey(d.Ctx, oxbow.Key{Tenant: tenant, Name: "app", Permissions: may})
	d.Must(err)
	return k.Secret
}

// answer is what a request got.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// send makes one request; head is pairs of header names and values.
func (d *door) send(method, path string, body any, head ...string) answer {
	d.Helper()
	var r io.Reader
	if body != nil {
		if raw, ok := body.(string); ok {
			r = strings.NewReader(raw)
		} else {
			b, err := json.Marshal(body)
			d.Must(err)
			r = bytes.NewReader(b)
		}
	}
	req, err := http.NewRequestWithContext(d.Ctx, method, d.srv.URL+path, r)
	d.Must(err)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if d.key != "" {
		req.Header.Set("Authorization", "Bearer "+d.key)
	}
	for i := 0; i+1 < len(head); i += 2 {
		req.Header.Set(head[i], head[i+1])
	}
	res, err := d.srv.Client().Do(req)
	d.Must(err)
	defer func() { _ = res.Body.Close() }()
	got, err := io.ReadAll(res.Body)
	d.Must(err)
	return answer{res.StatusCode, res.Header, got}
}

// want sends and fails unless the status is the wanted one; it gives the JSON.
func (d *door) want(status int, method, path string, body any, head ...string) map[string]any {
	d.Helper()
	a := d.send(method, path, body, head...)
	if a.status != status {
		d.Fatalf("%s %s: status %d, want %d: %s", method, path, a.status, status, a.body)
	}
	out := map[string]any{}
	if err := json.Unmarshal(a.body, &out); err != nil {
		d.Fatalf("%s %s gave no JSON: %s", method, path, a.body)
	}
	return out
}

// at looks into JSON by a path such as "memory.id".
func at(v any, path string) any {
	for _, name := range strings.Split(path, ".") {
		switch t := v.(type) {
		case map[string]any:
			v = t[name]
		case []any:
			if int(name[0]-'0') >= len(t) {
				return nil
			}
			v = t[name[0]-'0']
		default:
			return nil
		}
	}
	return v
}

func (d *door) equal(what string, got, want any) {
	d.Helper()
	if got != want {
		d.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func (d *door) remember(text string) string {
	d.Helper()
	return at(d.want(201, "POST", "/v1/memories", map[string]any{"scope": "user:ada", "text": text}), "memory.id").(string)
}

func TestMemories(t *testing.T) {
	tell(t,
		story{"are written, read, changed and listed", memoriesLive},
		story{"wait for a person where they conflict, who decides", memoriesConflict},
		story{"are written once by a request that is sent twice", memoriesOnce},
		story{"are not changed by who has seen an older version", memoriesMatch},
		story{"say their version whenever they change", memoriesTagged},
		story{"are paged to the last one", memoriesPaged},
	)
}

func memoriesLive(d *door) {
	id := d.remember("tea: green")
	got := d.send("GET", "/v1/memories/"+id[:8], nil)
	d.equal("the status", got.status, 200)
	d.equal("the version", got.header.Get("ETag"), `"1"`)
	d.want(200, "PATCH", "/v1/memories/"+id, map[string]any{"text": "tea: black"}, "If-Match", `"1"`)
	d.want(200, "POST", "/v1/memories/"+id+"/pin", nil)
	d.equal("archiving what is pinned", d.want(409, "POST", "/v1/memories/"+id+"/archive", nil)["code"], "conflict")
	d.want(200, "POST", "/v1/memories/"+id+"/unpin", nil)
	d.want(200, "POST", "/v1/memories/"+id+"/archive", nil)
	d.equal("what is active", len(at(d.want(200, "GET", "/v1/memories", nil), "items").([]any)), 0)
	d.equal("what is archived", at(d.want(200, "GET", "/v1/memories?status=archived", nil), "items.0.id"), any(id))
	d.want(200, "POST", "/v1/memories/"+id+"/restore", map[string]any{})
	d.equal("what was used", d.want(200, "POST", "/v1/used", map[string]any{"ids": []string{id}})["counted"], 1.0)
	story := d.want(200, "GET", "/v1/memories/"+id+"/history", nil)
	if n := len(story["lines"].([]any)); n < 6 {
		d.Errorf("its story has %d lines: %v", n, story)
	}
	d.equal("who did it", at(story, "lines.2.event.actor"), any("app"))
	erased := d.want(200, "DELETE", "/v1/memories/"+id, nil)
	d.equal("what was erased", at(erased, "memories.0"), any(id))
	if turns, ok := erased["turns"].([]any); !ok || len(turns) > 0 || erased["restored"] == nil {
		d.Errorf("what nothing was taken of is no empty list: %v", erased)
	}
	d.equal("its words", at(d.want(200, "GET", "/v1/memories/"+id, nil), "content.text"), any(""))
}

func memoriesConflict(d *door) {
	said := func(text string, ago time.Duration, pinned bool) string {
		return at(d.want(201, "POST", "/v1/memories", map[string]any{"scope": "user:ada", "text": text, "said_at": lab.Start.Add(-ago), "pinned": pinned}), "memory.id").(string)
	}
	old, young := said("tea: green", 2*time.Hour, true), said("tea: black", time.Hour, false)
	d.finish()
	found := d.want(200, "GET", "/v1/conflicts?limit=1&scope=user:ada", nil)
	d.equal("the older one", at(found, "items.0.older.id"), any(old))
	d.equal("the newer one", at(found, "items.0.newer.id"), any(young))
	d.equal("what is behind it", len(at(d.want(200, "GET", "/v1/conflicts?cursor="+at(found, "next_cursor").(string), nil), "items").([]any)), 0)
	for _, bad := range []string{"x", old, old + ".x", "." + old} {
		d.equal("behind "+bad, d.send("GET", "/v1/conflicts?cursor="+bad, nil).status, 404)
	}
	keep := "/v1/memories/" + young + "/keep"
	d.equal("over what is pinned", d.want(409, "POST", keep, map[string]any{"over": old})["code"], "conflict")
	d.equal("over nothing", d.want(422, "POST", keep, map[string]any{})["code"], "invalid")
	d.equal("over nobody's", d.want(404, "POST", keep, map[string]any{"over": "0000000000000000"})["code"], "not_found")
	d.equal("what is kept", at(d.want(200, "POST", keep, map[string]any{"beside": old[:8]}), "memory.id"), any(young))
	d.equal("what is left", len(at(d.want(200, "GET", "/v1/conflicts", nil), "items").([]any)), 0)
	d.want(200, "POST", "/v1/memories/"+old+"/unpin", nil)
	d.want(200, "POST", keep, map[string]any{"over": old})
	d.equal("what was set aside", at(d.want(200, "GET", "/v1/memories/"+old, nil), "status"), any("superseded"))
}

func memoriesOnce(d *door) {
	body := map[string]any{"scope": "user:ada", "text": "tea: green, password=correcthorse9"}
	one := d.want(201, "POST", "/v1/memories", body, "Idempotency-Key", "k")
	d.equal("what was taken out", one["redacted"], any(1.0))
	two := d.want(201, "POST", "/v1/memories", body, "Idempotency-Key", "k")
	d.equal("the memory", at(two, "memory.id"), at(one, "memory.id"))
	d.equal("the run", two["run"], one["run"])
	d.equal("other words with the key", d.want(409, "POST", "/v1/memories", map[string]any{"scope": "user:ada", "text": "tea"}, "Idempotency-Key", "k")["code"], "conflict")
	d.equal("another route with the key", d.want(409, "POST", "/v1/memories/"+at(one, "memory.id").(string)+"/pin", nil, "Idempotency-Key", "k")["code"], "conflict")
}

func memoriesMatch(d *door) {
	id := d.remember("tea: green")
	d.want(200, "PATCH", "/v1/memories/"+id, map[string]any{"importance": 9}, "If-Match", `"1"`)
	d.equal("an edit of an older version", d.want(412, "PATCH", "/v1/memories/"+id, map[string]any{"importance": 2}, "If-Match", `"1"`)["code"], "conflict")
	d.want(200, "PATCH", "/v1/memories/"+id, map[string]any{"importance": 8}, "If-Match", "*")
	d.want(200, "PATCH", "/v1/memories/"+id, map[string]any{"importance": 9}, "If-Match", `W/"3"`)
	d.want(422, "PATCH", "/v1/memories/"+id, map[string]any{"importance": 2}, "If-Match", "yesterday")
	d.equal("its importance", at(d.want(200, "GET", "/v1/memories/"+id, nil), "importance"), any(9.0))
}

func memoriesTagged(d *door) {
	made := d.send("POST", "/v1/memories", map[string]any{"scope": "user:ada", "text": "tea: green"})
	d.equal("the version that is made", made.header.Get("ETag"), `"1"`)
	var w struct{ Memory struct{ ID string } }
	d.Must(json.Unmarshal(made.body, &w))
	path := "/v1/memories/" + w.Memory.ID
	edited := d.send("PATCH", path, map[string]any{"importance": 9}, "If-Match", made.header.Get("ETag"))
	d.equal("the version after an edit", edited.header.Get("ETag"), `"2"`)
	d.want(200, "PATCH", path, map[string]any{"importance": 8}, "If-Match", edited.header.Get("ETag"))
	d.equal("the version after a pin", d.send("POST", path+"/pin", nil).header.Get("ETag"), d.send("GET", path, nil).header.Get("ETag"))
	put := d.send("PUT", "/v1/facts/user/timezone?scope=user:ada", map[string]any{"text": "Europe/Stockholm"})
	d.equal("the version of a fact that is put", put.header.Get("ETag"), `"1"`)
	d.equal("the version of what was refused", d.send("PATCH", path, map[string]any{"importance": 70}).header.Get("ETag"), "")
}

func memoriesPaged(d *door) {
	seen := map[string]bool{}
	for _, w := range []string{"red", "green", "blue", "white", "black"} {
		d.remember("a colour: " + w)
	}
	path := "/v1/memories?limit=2"
	for range 5 {
		page := d.want(200, "GET", path, nil)
		for _, m := range page["items"].([]any) {
			seen[at(m, "id").(string)] = true
		}
		next, more := page["next_cursor"].(string)
		if !more {
			break
		}
		path = "/v1/memories?limit=2&cursor=" + next
	}
	d.equal("how many were seen", len(seen), 5)
	d.want(404, "GET", "/v1/memories?cursor=0000000000000000", nil)
}

func TestWork(t *testing.T) {
	tell(t,
		story{"turns become memories that a question finds", turnsWork},
		story{"facts have one value and a history", factsWork},
		story{"jobs are planned, started and seen", jobsWork},
		story{"scopes, schedules and queues are set", scopesWork},
	)
}

// finish works what was enqueued.
func (d *door) finish() {
	d.Helper()
	d.Finish(d.Worker(worker.Config{}))
}

func turnsWork(d *door) {
	turns := map[string]any{"turns": []map[string]any{{"scope": "user:ada", "conversation": "c1", "user": "tea: green", "assistant": "Noted.",
		"at": lab.Start.Add(-time.Hour)}}}
	got := d.want(202, "POST", "/v1/turns", turns)
	d.equal("how many are new", got["new"], 1.0)
	d.equal("how many are known", d.want(202, "POST", "/v1/turns", turns)["known"], 1.0)
	d.finish()
	id := at(got, "turns.0").(string)
	read := d.want(200, "GET", "/v1/turns/"+id, nil)
	d.equal("what became of it", read["state"], "extracted")
	d.equal("what was made of it", at(read, "made.0.content.text"), any("tea: green"))
	found := d.want(200, "POST", "/v1/recall", map[string]any{"scope": "user:ada", "query": "which tea", "explain": true})
	d.equal("what is found", at(found, "results.0.memory.content.text"), any("tea: green"))
	if at(found, "results.0.stages.0.name") == nil {
		d.Errorf("nothing is explained: %v", found)
	}
	block := d.want(200, "POST", "/v1/context", map[string]any{"scope": "user:ada", "query": "which tea"})
	if !strings.Contains(block["text"].(string), "tea: green") {
		d.Errorf("the block is %v", block)
	}
	d.equal("an unknown scope", len(at(d.want(200, "POST", "/v1/recall", map[string]any{"scope": "user:nobody", "query": "tea"}), "results").([]any)), 0)
	d.want(200, "DELETE", "/v1/turns/"+id, nil)
	d.equal("the turn's text", at(d.want(200, "GET", "/v1/turns/"+id, nil), "user"), nil)
}

func factsWork(d *door) {
	d.want(404, "GET", "/v1/facts/user/timezone?scope=user:ada", nil)
	d.want(200, "PUT", "/v1/facts/user/timezone?scope=user:ada", map[string]any{"text": "Europe/Stockholm"})
	d.Clock.Set(d.Clock.Now().Add(time.Hour))
	d.want(200, "PUT", "/v1/facts/user/timezone?scope=user:ada", map[string]any{"text": "America/New_York"})
	d.finish()
	got := d.want(200, "GET", "/v1/facts/user/timezone?scope=user:ada", nil)
	d.equal("what is believed", at(got, "now.content.text"), any("America/New_York"))
	d.equal("what was", at(got, "history.0.status"), any("superseded"))
	d.want(422, "PUT", "/v1/facts/nowhere/timezone?scope=user:ada", map[string]any{"text": "x"})
}

func jobsWork(d *door) {
	d.remember("tea: green")
	d.Clock.Set(d.Clock.Now().AddDate(1, 0, 0))
	plan := d.want(202, "POST", "/v1/jobs", map[string]any{"name": "decay", "dry_run": true})
	d.equal("what it would do", at(plan, "plan.0.changes.0.type"), any("archived"))
	d.equal("runs of a dry run", len(plan["runs"].([]any)), 0)
	run := at(d.want(202, "POST", "/v1/jobs", map[string]any{"name": "decay"}), "runs.0").(string)
	jobs := d.want(200, "GET", "/v1/jobs?kind=decay", nil)
	if at(jobs, "items.0.kind") != "decay" {
		d.Fatalf("the jobs are %v", jobs)
	}
	d.finish()
	d.equal("the run", at(d.want(200, "GET", "/v1/runs/"+run, nil), "status"), any("done"))
	d.equal("its event", at(d.want(200, "GET", "/v1/events?run="+run, nil), "items.0.type"), any("archived"))
	d.equal("another job", d.want(422, "POST", "/v1/jobs", map[string]any{"name": "everything"})["code"], "invalid")
	if n := len(at(d.want(200, "GET", "/v1/runs?name=decay", nil), "items").([]any)); n != 1 {
		d.Errorf("%d runs of decay", n)
	}
	d.want(200, "GET", "/v1/stats", nil)
}

func scopesWork(d *door) {
	d.remember("tea: green")
	set := d.want(200, "PATCH", "/v1/scopes/user:ada", map[string]any{"zone": "Europe/Stockholm", "policy": map[string]any{"slot_cap": 7}})
	d.equal("its cap", at(set, "policy.slot_cap"), any(7.0))
	d.equal("its zone", at(d.want(200, "GET", "/v1/scopes/user:ada", nil), "zone"), any("Europe/Stockholm"))
	d.equal("nothing to set", d.want(422, "PATCH", "/v1/scopes/user:ada", map[string]any{})["code"], "invalid")
	d.equal("a policy of no sense", d.want(422, "PATCH", "/v1/scopes/user:ada", map[string]any{"policy": map[string]any{"colour": "blue"}})["code"], "invalid")
	d.want(200, "POST", "/v1/scopes/user:ada/schedules/decay/pause", nil)
	paused := false
	for _, s := range at(d.want(200, "GET", "/v1/schedules", nil), "items").([]any) {
		paused = paused || at(s, "name") == "decay" && at(s, "paused") == true
	}
	d.equal("the schedule is paused", paused, true)
	d.want(200, "POST", "/v1/scopes/user:ada/schedules/decay/resume", nil)
	d.want(200, "POST", "/v1/queues/write/pause", nil)
	d.want(200, "POST", "/v1/queues/write/resume", nil)
	d.want(404, "POST", "/v1/queues/nothing/pause", nil)
	d.want(200, "GET", "/v1/queues", nil)
}

func TestStream(t *testing.T) {
	tell(t, story{"gives events as they happen, and goes on behind a number", streams})
}

func streams(d *door) {
	first := d.remember("coffee: none")
	events := d.want(200, "GET", "/v1/events?memory="+first, nil)
	seq := at(events, "items.0.seq").(float64)
	second := d.remember("tea: green")
	req, err := http.NewRequestWithContext(d.Ctx, "GET", d.srv.URL+"/v1/events/stream", nil)
	d.Must(err)
	req.Header.Set("Authorization", "Bearer "+d.key)
	b, err := json.Marshal(int64(seq))
	d.Must(err)
	req.Header.Set("Last-Event-ID", string(b))
	res, err := d.srv.Client().Do(req)
	d.Must(err)
	defer func() { _ = res.Body.Close() }()
	d.equal("the kind", res.Header.Get("Content-Type"), "text/event-stream")
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var e oxbow.Event
		d.Must(json.Unmarshal([]byte(data), &e))
		d.equal("the event's memory", e.Memory, second)
		return
	}
	d.Errorf("the stream ended: %v", lines.Err())
}

func TestRefusals(t *testing.T) {
	tell(t,
		story{"say what is wrong and show nothing of the inside", refusals},
		story{"keep out who has no key, or one that may not", keysNeeded},
		story{"take no address of a model, by any route", noAddresses},
	)
}

func refusals(d *door) {
	for _, c := range []struct {
		name, method, path string
		body               any
		status             int
		says               string
	}{
		{"an empty text", "POST", "/v1/memories", map[string]any{"scope": "user:ada", "text": " "}, 422, "is empty"},
		{"no scope", "POST", "/v1/memories", map[string]any{"text": "x"}, 422, "scope"},
		{"a scope that is none", "POST", "/v1/memories", map[string]any{"scope": "no name", "text": "x"}, 422, "is not a name"},
		{"an unknown field", "POST", "/v1/memories", map[string]any{"scope": "a", "text": "x", "colour": "blue"}, 422, "colour: there is no such field: /docs"},
		{"no JSON", "POST", "/v1/memories", "{", 400, ""},
		{"an unknown id", "GET", "/v1/memories/0000000000000000", nil, 404, "oxbow memory list"},
		{"a status that is none", "GET", "/v1/memories?status=gone", nil, 422, "use all, active, superseded"},
		{"a kind that is none", "GET", "/v1/memories?kind=gone", nil, 422, "use fact, semantic"},
		{"a slot that is none", "GET", "/v1/memories?slot=gone", nil, 422, "use user, project or agent"},
		{"a kind to recall that is none", "POST", "/v1/recall", map[string]any{"scope": "a", "query": "x", "kind": "gone"}, 422, "observation or reflection"},
		{"a status to recall that is none", "POST", "/v1/recall", map[string]any{"scope": "a", "query": "x", "include": []string{"gone"}}, 422, "expired or archived"},
		{"a limit out of range", "GET", "/v1/memories?limit=5000", nil, 422, "limit"},
		{"an unknown parameter", "GET", "/v1/memories?colour=blue", nil, 422, "colour: there is no such parameter: /docs"},
		{"a time that is none", "POST", "/v1/recall", map[string]any{"scope": "a", "query": "x", "as_of": "yesterday"}, 422, "such as 2027-"},
		{"no body", "POST", "/v1/turns", nil, 400, "send JSON"},
		{"a slot without a key", "POST", "/v1/memories", map[string]any{"scope": "a", "text": "x", "slot": "user"}, 422, "a slot and a key"},
		{"a field that no policy has", "PATCH", "/v1/scopes/a", map[string]any{"policy": map[string]any{"colour": "blue"}}, 422, "a policy has no field"},
		{"a turn of nothing", "POST", "/v1/turns", map[string]any{"turns": []any{map[string]any{"scope": "a"}}}, 422, "turn 1"},
		{"a type of event that is none", "GET", "/v1/events?type=exploded", nil, 422, "use created, rated"},
		{"a cursor that is none", "GET", "/v1/events?cursor=x", nil, 422, "send next_cursor"},
		{"a cursor of memories that is none", "GET", "/v1/memories?cursor=garbage", nil, 404, "begin at the first page"},
		{"a cursor of turns that is none", "GET", "/v1/turns?cursor=garbage", nil, 404, "begin at the first page"},
		{"a body over the limit", "POST", "/v1/memories", map[string]any{"scope": "a", "text": strings.Repeat("x", 2<<20)}, 413, "too large"},
		{"a query that does not parse", "GET", "/v1/memories?limit=%zz", nil, 400, "%25"},
		{"a number that does not fit", "POST", "/v1/memories", `{"scope":"a","text":"x","importance":1e400}`, 400, "does not fit"},
		{"an edit of nothing", "PATCH", "/v1/memories/0000000000000000", map[string]any{}, 422, "nothing is to change"},
		{"a cursor of runs that is none", "GET", "/v1/runs?cursor=garbage", nil, 404, "begin at the first page"},
		{"a stream of a type that is none", "GET", "/v1/events/stream?type=exploded", nil, 422, "use created, rated"},
		{"a stream of a memory that is none", "GET", "/v1/events/stream?memory=0000000000000000", nil, 404, "no memory"},
		{"a stream behind what is no event", "GET", "/v1/events/stream", nil, 422, "Last-Event-ID"},
		{"no route at all", "GET", "/v1", nil, 404, "/docs shows"},
		{"a route that is none", "GET", "/v1/nothing", nil, 404, "/docs shows"},
		{"a method that a route has not", "PUT", "/v1/recall", "{}", 405, "it takes POST"},
	} {
		a := d.send(c.method, c.path, c.body, "Last-Event-ID", "-4")
		if a.status != c.status || !strings.Contains(string(a.body), c.says) {
			d.Errorf("%s: status %d (want %d): %s", c.name, a.status, c.status, a.body)
		}
		var p struct{ Code, Detail string }
		if err := json.Unmarshal(a.body, &p); err != nil || p.Code == "" || p.Detail == "" || a.header.Get("Content-Type") != "application/problem+json" {
			d.Errorf("%s is no problem with a code and a detail, but %s: %s", c.name, a.header.Get("Content-Type"), a.body)
		}
		if strings.Contains(p.Detail, "oxbow ") && a.status != 404 || strings.Contains(p.Detail, "[") {
			d.Errorf("%s: the detail is not for a program's caller: %s", c.name, p.Detail)
		}
		if strings.Contains(string(a.body), "SQL") || strings.Contains(string(a.body), "goroutine") {
			d.Errorf("%s shows the inside: %s", c.name, a.body)
		}
	}
	form := d.send("POST", "/v1/memories", `{"scope":"a","text":"x"}`, "Content-Type", "application/x-www-form-urlencoded")
	d.equal("a form", form.status, 415)
	d.equal("what a route takes", d.send("DELETE", "/v1/recall", nil).header.Get("Allow"), "POST")
	said := map[string]any{"scope": "a", "text": "x"}
	d.want(201, "POST", "/v1/memories", said, "Content-Type", "Application/JSON; charset=UTF-8")
	plan := d.want(422, "POST", "/v1/jobs", map[string]any{"name": "embed", "dry_run": true})["detail"].(string)
	d.equal("what to do where nothing can be planned", strings.Contains(plan, "run it") && !strings.Contains(plan, "oxbow "), true)
	d.equal("what a question without words is told", at(d.want(200, "POST", "/v1/recall", map[string]any{"scope": "a"}), "notes.0"), any("the question has no words, so nothing was looked for"))
	d.equal("an encoded body", d.send("POST", "/v1/memories", said, "Content-Encoding", "gzip").status, 415)
}

func keysNeeded(d *door) {
	id := d.remember("tea: green")
	reader := d.newKey(d.Scope.Tenant, oxbow.MayRead)
	d.key = ""
	a := d.send("GET", "/v1/memories", nil)
	d.equal("without a key", a.status, 401)
	d.equal("how to come in", a.header.Get("WWW-Authenticate"), `Bearer realm="oxbow"`)
	d.key = reader
	d.want(200, "GET", "/v1/memories/"+id, nil)
	for _, c := range [][2]string{{"POST", "/v1/memories"}, {"DELETE", "/v1/memories/" + id}, {"POST", "/v1/memories/" + id + "/pin"},
		{"POST", "/v1/jobs"}, {"GET", "/v1/queues"}, {"POST", "/v1/keys"}} {
		a := d.send(c[0], c[1], map[string]any{})
		d.equal(c[0]+" "+c[1]+" by a reader", a.status, 403)
	}
	maker := d.newKey(d.Scope.Tenant, oxbow.MayRead, oxbow.MayAdmin)
	d.key = maker
	d.want(403, "POST", "/v1/keys", map[string]any{"name": "more", "permissions": []string{"write"}})
	made := d.want(201, "POST", "/v1/keys", map[string]any{"name": "less", "permissions": []string{"read"}})
	d.want(200, "DELETE", "/v1/keys/"+made["id"].(string), nil)
	d.key = made["secret"].(string)
	d.equal("a revoked key", d.send("GET", "/v1/memories", nil).status, 401)
}

// noAddresses holds every parameter and every field that a route takes against
// the ways in which an address could be given: they come from configuration only.
func noAddresses(d *door) {
	doc := d.api.Document()
	seen := 0
	check := func(where, name string) {
		d.Helper()
		seen++
		if addressLike.MatchString(name) {
			d.Errorf("%s takes %q, which looks like an address", where, name)
		}
	}
	for path, item := range doc.Paths {
		for _, o := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
			if o == nil {
				continue
			}
			for _, p := range o.Parameters {
				check(path, p.Name)
			}
			if o.RequestBody != nil {
				fields(doc, o.RequestBody.Content["application/json"].Schema, map[string]bool{}, func(name string) { check(path, name) })
			}
		}
	}
	if seen < 60 {
		d.Errorf("only %d parameters and fields were looked at", seen)
	}
	d.want(422, "POST", "/v1/recall", map[string]any{"scope": "a", "query": "x", "base_url": "http://169.254.169.254/v1"})
	d.want(422, "PATCH", "/v1/scopes/user:ada", map[string]any{"policy": map[string]any{"base_url": "http://169.254.169.254/v1"}})
}

var addressLike = regexp.MustCompile(`(?i)url|uri|host|endpoint|base|address|server|proxy`)

// fields calls fn with the name of each field of a schema, however deep.
func fields(doc *huma.OpenAPI, s *huma.Schema, seen map[string]bool, fn func(name string)) {
	if s == nil || seen[s.Ref] && s.Ref != "" {
		return
	}
	if s.Ref != "" {
		seen[s.Ref] = true
		s = doc.Components.Schemas.SchemaFromRef(s.Ref)
	}
	for name, p := range s.Properties {
		fn(name)
		fields(doc, p, seen, fn)
	}
	fields(doc, s.Items, seen, fn)
}

// name lets every memory of the scope name a thing.
func (d *door) name(thing string) {
	d.Helper()
	for _, m := range d.All() {
		d.Must(d.DB.InTx(d.Ctx, func(ctx context.Context, tx store.Tx) error {
			_, err := tx.PutGraph(ctx, m.Scope, store.GraphPart{Memory: m.ID, ContentVersion: m.ContentVersion,
				Entities: []store.GraphEntity{{Name: thing}, {Name: "Lighthouse"}}, Relations: []store.GraphRelation{{From: thing, Type: "keeps", To: "Lighthouse"}}})
			return err
		}))
	}
}

// TestGraph asks for what memories name.
func TestGraph(t *testing.T) {
	tell(t, story{"gives what is known around a name, and the names", asksGraph})
}

func asksGraph(d *door) {
	d.want(200, "PUT", "/v1/facts/user/name?scope=user:ada", map[string]any{"text": "Ada keeps a lighthouse"})
	d.name("<b>Ada</b>")
	got := d.want(200, "GET", "/v1/graph?scope=user:ada&name=%3CB%3Eada%3C/b%3E&hops=2", nil)
	d.equal("the node", at(got, "node.name"), "<b>Ada</b>")
	d.equal("the relation", at(got, "relations.0.type"), "keeps")
	d.equal("its memory", at(got, "relations.0.memories.0"), at(got, "memories.0.id"))
	list := d.want(200, "GET", "/v1/graph/nodes?scope=user:ada&words=house", nil)
	d.equal("the names", at(list, "nodes.0.name"), "Lighthouse")
	d.equal("a name of nobody", d.send("GET", "/v1/graph?scope=user:ada&name=nobody", nil).status, 404)
	d.equal("too far", d.send("GET", "/v1/graph?scope=user:ada&name=nobody&hops=3", nil).status, 422)
	d.equal("a scope that nobody has", at(d.want(200, "GET", "/v1/graph/nodes?scope=user:nobody", nil), "nodes.0"), nil)
}
