package api_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/lab"
)

// TestTenants walks every route of the document with a stranger's key.
func TestTenants(t *testing.T) {
	tell(t,
		story{"never see what another one has, by any route", strangers},
		story{"see no difference when another one does something", strangersCount},
	)
}

func strangers(d *door) {
	d.want(202, "POST", "/v1/turns", map[string]any{"turns": []map[string]any{{"scope": "user:ada", "user": "canary: 7f3a", "at": lab.Start.Add(-time.Hour)}}})
	d.finish()
	d.want(200, "PUT", "/v1/facts/user/name?scope=user:ada", map[string]any{"text": "canary 7f3a"})
	d.want(202, "POST", "/v1/jobs", map[string]any{"name": "decay"})
	d.name("Canary 7f3a")
	first := func(path, field string) string {
		d.Helper()
		v, ok := at(d.want(200, "GET", path, nil), "items.0."+field).(string)
		if !ok {
			d.Fatalf("%s has nothing to give a stranger", path)
		}
		return v
	}
	ids := map[string]string{"memories": first("/v1/memories", "id"), "turns": first("/v1/turns", "id"), "runs": first("/v1/runs", "id"),
		"keys": first("/v1/keys", "id"), "jobs": "1", "scopes": "user:ada", "facts": "user"}
	cursors := map[string]string{"memories": ids["memories"], "turns": ids["turns"], "runs": ids["runs"], "scopes": "user:ada", "keys": ids["keys"], "schedules": "user:ada/decay"}
	before := d.want(200, "GET", "/v1/stats", nil)
	d.key = d.newKey("stranger"+d.Scope.Tenant, oxbow.MayRead, oxbow.MayWrite, oxbow.MayMaintain, oxbow.MayAdmin)
	for _, path := range slices.Sorted(maps.Keys(d.api.Document().Paths)) {
		item := d.api.Document().Paths[path]
		part := strings.Split(path, "/")[2]
		full := strings.NewReplacer("{id}", ids[part], "{scope}", "user:ada", "{name}", "decay", "{slot}", "user", "{key}", "name", "{queue}", "write").Replace(path)
		for method, there := range map[string]bool{"GET": item.Get != nil, "POST": item.Post != nil, "PATCH": item.Patch != nil, "PUT": item.Put != nil, "DELETE": item.Delete != nil} {
			if !there || strings.HasSuffix(path, "/stream") {
				continue
			}
			d.stranger(method, path, full, cursors[part])
		}
	}
	d.key = d.newKey(d.Scope.Tenant, oxbow.Permissions...)
	after := d.want(200, "GET", "/v1/stats", nil)
	if b, a := at(before, "memories"), at(after, "memories"); !jsonEqual(a, b) {
		d.Errorf("a stranger changed %v to %v", b, a)
	}
}

// looks gives what every route that lists or counts answers, by its path.
func (d *door) looks() map[string]string {
	d.Helper()
	out := map[string]string{}
	for path, item := range d.api.Document().Paths {
		if item.Get == nil || strings.Contains(path, "{") || strings.HasSuffix(path, "/stream") {
			continue
		}
		asked := strings.NewReplacer("/v1/graph/nodes", "/v1/graph/nodes?scope=user:ada", "/v1/graph", "/v1/graph?scope=user:ada&name=canary").Replace(path)
		a := d.send("GET", asked, nil)
		out[path] = regexp.MustCompile(`"(counted_at|last_used_at)":"[^"]*"`).ReplaceAllString(string(a.body), "")
	}
	for _, path := range []string{"/v1/recall", "/v1/context"} {
		out[path] = string(d.send("POST", path, map[string]any{"scope": "user:ada", "query": "canary"}).body)
	}
	return out
}

// strangersCount holds all that a tenant can count against what it could count
// before another one remembered things and let jobs wait.
func strangersCount(d *door) {
	home := d.key
	away := d.newKey("stranger"+d.Scope.Tenant, oxbow.MayRead, oxbow.MayWrite, oxbow.MayMaintain, oxbow.MayAdmin)
	d.key = away
	before := d.looks()
	d.key = home
	d.want(202, "POST", "/v1/turns", map[string]any{"turns": []map[string]any{{"scope": "user:ada", "user": "canary: 7f3a"}}})
	d.want(200, "PUT", "/v1/facts/user/name?scope=user:ada", map[string]any{"text": "canary 7f3a"})
	d.want(202, "POST", "/v1/jobs", map[string]any{"name": "decay"})
	d.want(201, "POST", "/v1/keys", map[string]any{"name": "more", "permissions": []string{"read"}})
	d.key = away
	for path, now := range d.looks() {
		d.equal("what a stranger sees at "+path, now, before[path])
	}
	if len(before) < 12 {
		d.Errorf("only %d routes were looked at", len(before))
	}
	d.key = home
	if at(d.want(200, "GET", "/v1/stats", nil), "queues.0") == nil {
		d.Errorf("an operator does not see the queues")
	}
}

// bodies are what a stranger sends, so that a route gets as far as its ids.
var bodies = map[string]any{
	"/v1/recall": map[string]any{"scope": "user:ada", "query": "canary"}, "/v1/context": map[string]any{"scope": "user:ada", "query": "canary"},
	"/v1/memories":              map[string]any{"scope": "user:stranger", "text": "mine"},
	"/v1/jobs":                  map[string]any{"name": "decay", "scopes": []string{"user:ada"}},
	"/v1/turns":                 map[string]any{"turns": []map[string]any{{"scope": "user:stranger", "user": "mine"}}},
	"/v1/facts/{slot}/{key}":    map[string]any{"text": "mine"},
	"/v1/keys":                  map[string]any{"name": "mine", "permissions": []string{"read"}},
	"/v1/scopes/{scope}":        map[string]any{"zone": "UTC"},
	"/v1/memories/{id}":         map[string]any{"importance": 1},
	"/v1/memories/{id}/restore": map[string]any{},
	"/v1/memories/{id}/keep":    map[string]any{"over": "0000000000000000"},
}

func (d *door) stranger(method, path, full, cursor string) {
	d.Helper()
	body := bodies[path]
	if path == "/v1/used" {
		body = map[string]any{"ids": []string{"0000000000000000"}}
	}
	if method == "GET" || method == "DELETE" {
		body = nil
	}
	scope := "user:ada"
	if method == "PUT" || method == "PATCH" { // what these make is the stranger's own
		scope = "user:stranger"
		full = strings.ReplaceAll(full, "user:ada", scope)
	}
	if path == "/v1/facts/{slot}/{key}" || strings.HasPrefix(path, "/v1/graph") {
		full += "?scope=" + scope
	}
	if path == "/v1/graph" {
		full += "&name=canary+7f3a"
	}
	got := d.send(method, full, body)
	if strings.Contains(string(got.body), "7f3a") {
		d.Errorf("%s %s shows another tenant's words: %s", method, full, got.body)
	}
	made := path == "/v1/facts/{slot}/{key}" && method == "PUT" || path == "/v1/scopes/{scope}" && method == "PATCH"
	named := !made && strings.Contains(path, "{id}") || path == "/v1/facts/{slot}/{key}" && method == "GET" || path == "/v1/scopes/{scope}" && method == "GET" ||
		strings.Contains(path, "/schedules/") || path == "/v1/graph"
	switch {
	case named:
		d.equal(method+" "+full+" by a stranger", got.status, 404)
		if strings.Contains(path, "{id}") {
			id := strings.Split(full, "/")[3]
			unknown := "0000000000000000"
			if id == "1" { // a job
				unknown = "99999"
			}
			none := d.send(method, strings.Replace(full, "/"+id, "/"+unknown, 1), body)
			d.equal(method+" "+path+" of what nobody has", strings.ReplaceAll(string(none.body), unknown, id), string(got.body))
		}
	case strings.Contains(path, "/queues"):
		d.equal(method+" "+full+" by a stranger", got.status, 403)
	case got.status >= 500:
		d.Errorf("%s %s: %s", method, full, got.body)
	}
	if cursor != "" && method == "GET" && !named {
		d.equal("a stranger's cursor at "+full, d.send(method, full+"?cursor="+cursor, nil).status, 404)
	}
}

func jsonEqual(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
