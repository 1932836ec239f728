package main

import (
	"encoding/json"
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
