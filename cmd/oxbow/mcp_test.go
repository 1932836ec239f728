package main

import (
	"database/sql"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestClientsOnOneFile lets three clients, each with a process of its own, write
// to one file at once: whoever holds the work, everything is judged once.
func TestClientsOnOneFile(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "oxbow.db")
	var sessions []*sdk.ClientSession
	for range 3 {
		session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).
			Connect(t.Context(), &sdk.CommandTransport{Command: exec.Command("oxbow", "mcp", "--db", db)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		sessions = append(sessions, session)
	}
	var wg sync.WaitGroup
	for i, s := range sessions {
		for _, word := range []string{"red", "green", "blue"} {
			wg.Go(func() {
				text := "favourite colour of room " + string(rune('A'+i)) + " is " + word
				res, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "memory_write", Arguments: map[string]any{"text": text}})
				if err != nil || res.IsError {
					t.Errorf("%s: %v, %+v", text, err, res)
				}
			})
		}
	}
	wg.Wait()
	for _, s := range sessions {
		if err := s.Close(); err != nil {
			t.Errorf("a client's server did not end well: %v", err)
		}
	}
	run := func(args ...string) string {
		out, err := exec.Command("oxbow", append(args, "--db", db)...).Output()
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		return string(out)
	}
	// What the processes left when they ended is worked now.
	var all []struct {
		Status string `json:"status"`
	}
	if err := json.Unmarshal([]byte(run("memory", "list", "--status", "all", "-o", "json")), &all); err != nil {
		t.Fatal(err)
	}
	if len(all) != 9 {
		t.Errorf("there are %d memories, want 9", len(all))
	}
	if out := run("doctor", "--deep"); strings.Contains(out, "finding") {
		t.Error(out)
	}
}

// server is a process of oxbow mcp with a client before it.
type server struct {
	*sdk.ClientSession
	process *exec.Cmd
	said    *lines
}

func startServer(t *testing.T, db string, env ...string) *server {
	t.Helper()
	s := &server{process: exec.Command("oxbow", "mcp", "--db", db), said: &lines{}}
	s.process.Stderr, s.process.Env = s.said, append(os.Environ(), env...)
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).
		Connect(t.Context(), &sdk.CommandTransport{Command: s.process}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.ClientSession = session
	t.Cleanup(func() { _ = session.Close() })
	return s
}

func (s *server) works() bool { return strings.Contains(s.said.String(), `"msg":"working"`) }

// call calls a tool that must not refuse.
func (s *server) call(t *testing.T, tool string, args map[string]any) map[string]any {
	t.Helper()
	res, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil || res.IsError {
		t.Fatalf("%s: %v, %+v", tool, err, res)
	}
	out, ok := res.StructuredContent.(map[string]any)
	if !ok {
		t.Fatalf("%s gives %+v", tool, res)
	}
	return out
}

// TestClientThatWorkedIsKilled kills the process that works the jobs of a file for
// good: what it leaves is worked by another client's.
func TestClientThatWorkedIsKilled(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "oxbow.db")
	first := startServer(t, db)
	until(t, "the first one works", first.works)
	second := startServer(t, db)
	written := second.call(t, "memory_write", map[string]any{"text": "the kettle is red"})["memory"].(map[string]any)
	judged := func(id any) func() bool {
		return func() bool { return second.call(t, "memory_get", map[string]any{"id": id})["pending"] == false }
	}
	until(t, "the first one's process judges what the second one's client says", judged(written["id"]))
	if second.works() {
		t.Error("two work on one file though one is enough")
	}
	if err := first.process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	written = second.call(t, "memory_write", map[string]any{"text": "the pot is blue"})["memory"].(map[string]any)
	forgetWorkers(t, db)
	until(t, "the second one takes the work over", judged(written["id"]))
	if !second.works() {
		t.Error("it was judged and nobody works")
	}
}

// forgetWorkers lets the time pass after which a worker that is silent is gone.
func forgetWorkers(t *testing.T, db string) {
	t.Helper()
	raw, err := sql.Open("sqlite", db+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = raw.Close() }()
	if _, err := raw.ExecContext(t.Context(), "UPDATE workers SET seen_at = 0"); err != nil {
		t.Fatal(err)
	}
}

// TestClientThatReadsNoMore closes the end that answers go to: the process stops
// in order, and is not ended by the signal that writing there brings.
func TestClientThatReadsNoMore(t *testing.T) {
	t.Parallel()
	reads, writes, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	var said lines
	cmd := exec.Command("oxbow", "mcp", "--db", filepath.Join(t.TempDir(), "oxbow.db"))
	cmd.Stdout, cmd.Stderr = writes, &said
	in, err := cmd.StdinPipe()
	if err != nil || cmd.Start() != nil || writes.Close() != nil || reads.Close() != nil {
		t.Fatal("it does not start", err)
	}
	defer func() { _ = in.Close() }()
	if _, err := in.Write([]byte("no message\n" + `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n")); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ends with %v: %s", err, said.String())
	}
}
