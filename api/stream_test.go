package api_test

import (
	"bufio"
	"net/http"
	"testing"

	"github.com/oxbow-memory/oxbow"
)

func TestStreams(t *testing.T) {
	tell(t,
		story{"begin at once, before anything happens, and show that they are alive", streamsBegin},
		story{"end when their key is revoked", streamsEnd},
	)
}

// listen opens the stream.
func (d *door) listen(method string, head ...string) *http.Response {
	d.Helper()
	req, err := http.NewRequestWithContext(d.Ctx, method, d.srv.URL+"/v1/events/stream", nil)
	d.Must(err)
	req.Header.Set("Authorization", "Bearer "+d.key)
	for i := 0; i+1 < len(head); i += 2 {
		req.Header.Set(head[i], head[i+1])
	}
	res, err := d.srv.Client().Do(req)
	d.Must(err)
	d.Cleanup(func() { _ = res.Body.Close() })
	d.equal("the status", res.StatusCode, 200)
	d.equal("the kind", res.Header.Get("Content-Type"), "text/event-stream")
	d.equal("what a proxy is told", res.Header.Get("X-Accel-Buffering"), "no")
	return res
}

func streamsBegin(d *door) {
	lines := bufio.NewScanner(d.listen("GET").Body)
	want := []string{"retry: 1000", "", ": alive"}
	for _, w := range want {
		if !lines.Scan() || lines.Text() != w {
			d.Fatalf("the stream says %q (%v), want %q", lines.Text(), lines.Err(), w)
		}
	}
	d.listen("HEAD")
}

func streamsEnd(d *door) {
	k, err := d.Engine.CreateKey(d.Ctx, oxbow.Key{Tenant: d.Scope.Tenant, Name: "watcher", Permissions: []oxbow.Permission{oxbow.MayRead}})
	d.Must(err)
	admin := d.key
	d.key = k.Secret
	lines := bufio.NewScanner(d.listen("GET").Body)
	if !lines.Scan() {
		d.Fatal("the stream did not begin")
	}
	d.key = admin
	d.want(200, "DELETE", "/v1/keys/"+k.ID, nil)
	for lines.Scan() { // until it ends, or the test's time is over
	}
	d.Must(lines.Err())
}
