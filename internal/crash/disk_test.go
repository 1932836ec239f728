package crash

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/llm/offline"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/store/sqlite"
	"github.com/oxbow-memory/oxbow/worker"
)

const pageSize = 4096

// openFile opens a database file of at most so many pages; 0 is no bound.
func openFile(t *testing.T, path string, pages int) store.Store {
	t.Helper()
	st, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, MaxPages: pages})
	must(t, err)
	return st
}

// longTurn gives a turn that says one thing worth keeping and a lot that is not.
func longTurn(i int) oxbow.Turn {
	return oxbow.Turn{
		Scope: oxbow.Scope{Tenant: tenant, Name: "project:disk"}, Conversation: fmt.Sprint("c", i),
		User:      fmt.Sprintf("The %s upload limit is %d MB.", subjects[i%len(subjects)], 10+i),
		Assistant: strings.Repeat("Understood and noted for later. ", 200), At: Ends.Add(time.Duration(i-10_000) * time.Minute),
	}
}

// fill ingests three turns at a time until nothing goes in any more, and gives
// how many went in.
func fill(t *testing.T, st store.Store) int {
	t.Helper()
	e := engine.New(engine.Config{Store: st, Judge: offline.New(), Clock: clock})
	for n := 0; n < 10_000; n += 3 {
		_, err := e.Ingest(t.Context(), []oxbow.Turn{longTurn(n), longTurn(n + 1), longTurn(n + 2)})
		switch {
		case err == nil:
		case oxbow.CodeOf(err) == oxbow.CodeUnavailable:
			return n
		default:
			t.Fatalf("a full disk is %q: %v", oxbow.CodeOf(err), err)
		}
	}
	t.Fatal("the disk is never full")
	return 0
}

func stored(t *testing.T, st store.Store) int {
	t.Helper()
	n, err := st.CountTurns(t.Context(), oxbow.Scope{Tenant: tenant})
	must(t, err)
	sum := 0
	for _, k := range n {
		sum += k
	}
	return sum
}

func TestDiskFull(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "oxbow.db")
	st := openFile(t, path, 0)
	must(t, st.Migrate(t.Context()))
	must(t, st.Close())
	info, err := os.Stat(path)
	must(t, err)

	st = openFile(t, path, int(info.Size()/pageSize)+120)
	w, err := worker.New(deps(st, false), worker.Config{})
	must(t, err)
	must(t, w.Start(t.Context()))
	n := fill(t, st)
	if have := stored(t, st); n < 3 || have != n {
		t.Errorf("%d turns are stored and %d were accepted: the last call was not refused whole", have, n)
	}
	if _, err := st.ListTurns(t.Context(), store.TurnFilter{Tenant: tenant, Limit: 10}); err != nil {
		t.Errorf("a full disk cannot be read: %v", err)
	}
	settings, err := st.Scope(t.Context(), longTurn(0).Scope)
	must(t, err)
	if _, err := st.StrongestMemories(t.Context(), settings, Ends, 10); err != nil {
		t.Errorf("a full disk cannot be listed: %v", err)
	}
	if err := w.Stop(t.Context()); err != nil {
		t.Logf("the worker could not sign off: %v", err)
	}
	healthy(t, st)
	must(t, st.Close())

	st = openFile(t, path, 0)
	defer func() { must(t, st.Close()) }()
	must(t, ingest(t.Context(), st, []oxbow.Turn{longTurn(n), longTurn(n + 1), longTurn(n + 2)}))
	workHere(t, st, false)
	all := whole(t, st, n+3)
	if len(all.memories) != n+3 {
		t.Errorf("%d memories came of %d turns", len(all.memories), n+3)
	}
}
