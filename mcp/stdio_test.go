package mcp_test

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
)

func TestStdio(t *testing.T) {
	tell(t,
		story{"answers a line that is no message and goes on", stdioRubbish},
		story{"answers what was asked before the client closed its end", stdioClosed},
		story{"answers a last line that nothing ends, however long it is", stdioUnended},
	)
}

// wire is a client that writes lines and reads them.
type wire struct {
	*client
	in    *io.PipeWriter
	out   *bufio.Reader
	ended chan error
}

func dialWire(c *client) *wire {
	fromClient, in := io.Pipe()
	out, toClient := io.Pipe()
	w := &wire{client: c, in: in, out: bufio.NewReader(out), ended: make(chan error, 1)}
	go func() {
		err := c.door.Serve(c.Ctx, engine.Caller{Tenant: c.Scope.Tenant, Actor: "mcp", Permissions: []oxbow.Permission{oxbow.MayRead, oxbow.MayWrite}}, fromClient, toClient)
		_ = toClient.Close()
		w.ended <- err
	}()
	w.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	w.hears("initialize", `"id":1`)
	w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return w
}

func (w *wire) send(lines ...string) {
	w.Helper()
	_, err := io.WriteString(w.in, strings.Join(lines, "\n")+"\n")
	w.Must(err)
}

// hears reads one line and holds it against what it should have in it.
func (w *wire) hears(what string, parts ...string) {
	w.Helper()
	line, err := w.out.ReadString('\n')
	w.Must(err)
	for _, part := range parts {
		if !strings.Contains(line, part) {
			w.Errorf("%s: the answer is %s, without %s", what, line, part)
		}
	}
}

func stdioRubbish(c *client) {
	w := dialWire(c)
	for _, rubbish := range []struct{ line, id, code string }{
		{"{nope", `"id":null`, "-32700"},
		{"Content-Length: 40", `"id":null`, "-32700"},
		{`{"jsonrpc":"2.0","id":7,"method":"ping"}{"jsonrpc":"2.0","id":8,"method":"ping"}`, `"id":null`, "-32700"},
		{"[]", `"id":null`, "-32600"},
		{`[{"jsonrpc":"2.0","id":7,"method":"ping"}]`, `"id":null`, "-32600"},
		{`"ping"`, `"id":null`, "-32600"},
		{`{"jsonrpc":"1.0","id":7,"method":"ping"}`, `"id":7`, "-32600"},
		{`{"jsonrpc":"1.0","id":-7,"method":"ping"}`, `"id":-7`, "-32600"},
		{`{"jsonrpc":"2.0","id":"seven"}`, `"id":"seven"`, "-32600"},
		{`{"jsonrpc":"2.0","id":null,"method":"ping"}`, `"id":null`, "-32600"},
		{`{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}`, `"id":null`, "-32600"},
		{`{"jsonrpc":"2.0","id":7,"method":5}`, `"id":7`, "-32600"},
		{strings.Repeat("x", 5<<20), `"id":null`, "-32600"},
		{`{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`, `"id":7`, "-32600"},
		{`{"jsonrpc":"2.0","id":7,"method":"nope/x"}`, `"id":7`, "-32601"},
		{`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":"x"}`, `"id":7`, "-32602"},
		{"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"memory_get\",\"arguments\":{\"id\":\"\xff\xfe\"}}}", `"id":7`, `"isError":true`},
	} {
		w.send(rubbish.line)
		w.hears(rubbish.line[:min(60, len(rubbish.line))], `"jsonrpc":"2.0"`, rubbish.id, rubbish.code)
		w.send("", `{"jsonrpc":"2.0","id":99,"method":"ping"}`+"\r")
		w.hears("the next one", `"id":99`, `"result":{}`)
	}
	w.Must(w.in.Close())
	w.Must(<-w.ended)
}

func stdioClosed(c *client) {
	w := dialWire(c)
	go func() { // whoever pipes calls in writes them all and closes
		for _, id := range []string{"11", "12", "13"} {
			w.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"memory_write","arguments":{"text":"note: ` + id + `"}}}`)
		}
		w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":13}}`)
		_ = w.in.Close()
	}()
	got := map[string]bool{}
	for {
		line, err := w.out.ReadString('\n')
		if err != nil {
			break
		}
		var answer struct {
			ID     json.Number
			Result struct{ IsError bool }
		}
		w.Must(json.Unmarshal([]byte(line), &answer))
		got[answer.ID.String()] = !answer.Result.IsError
	}
	w.Must(<-w.ended)
	if !got["11"] || !got["12"] {
		c.Errorf("of three calls before the end are answered %v", got)
	}
}

func stdioUnended(c *client) {
	for _, length := range []int{1 << 10, 64 << 10, 128 << 10} {
		w := dialWire(c)
		w.hearsLast(`{"jsonrpc":"2.0","id":21,"method":"ping"` + strings.Repeat(" ", length-41) + "}")
	}
}

func (w *wire) hearsLast(line string) {
	w.Helper()
	go func() {
		_, _ = io.WriteString(w.in, line)
		_ = w.in.Close()
	}()
	w.hears("the last one", `"id":21`, `"result":{}`)
	w.Must(<-w.ended)
}
