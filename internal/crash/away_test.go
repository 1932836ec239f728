package crash

import (
	"sync"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm/llmtest"
	"github.com/oxbow-memory/oxbow/llm/offline"
	"github.com/oxbow-memory/oxbow/llm/openai"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/worker"
)

// hands is a clock that stands until it is moved.
type hands struct {
	mu  sync.Mutex
	now time.Time
}

func (h *hands) time() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *hands) move(to time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = to
}

// TestJudgeAway takes the model away before the first question, and again in the
// middle, for two days of the worker's clock. River's own clock cannot be moved,
// so the two days are many refused questions and no long wait.
func TestJudgeAway(t *testing.T) {
	turns := History(crashSeed+2, tenant, 80, 8)
	heavy(t, func(t *testing.T, p place) {
		st := p.opened(t)
		server := llmtest.Serve(t, offline.New())
		judge, err := openai.New(openai.Config{BaseURL: server.URL(), Model: "fake"})
		must(t, err)
		t.Cleanup(judge.Close)
		clock := &hands{now: Ends}
		d := deps(st, false)
		d.Judge, d.Clock, d.AwayFor = judge, clock.time, 5*time.Millisecond

		server.Away()
		must(t, ingest(t.Context(), st, turns))
		w, err := worker.New(d, worker.Config{})
		must(t, err)
		must(t, w.Start(t.Context()))
		refuse := func(n int) {
			asked := len(server.Requests())
			eventually(t, "the judge was asked often", func() bool { return len(server.Requests()) >= asked+n })
		}
		refuse(60)
		waiting, err := st.CountTurns(t.Context(), oxbow.Scope{Tenant: tenant})
		must(t, err)
		if waiting[oxbow.TurnWaiting] != len(turns) {
			t.Errorf("with nobody to ask the turns are %v", waiting)
		}

		server.Back()
		eventually(t, "a turn was read", func() bool {
			have, err := st.CountTurns(t.Context(), oxbow.Scope{Tenant: tenant})
			must(t, err)
			return have[oxbow.TurnExtracted] > 20
		})
		server.Away()
		clock.move(Ends.Add(48 * time.Hour))
		refuse(100)
		noAttemptSpent(t, st)

		server.Back()
		eventually(t, "the queue is empty", func() bool {
			left, err := st.PendingJobs(t.Context(), "", "")
			must(t, err)
			return left == 0
		})
		must(t, w.Stop(t.Context()))
		noAttemptSpent(t, st)
		wholeBy(t, st, len(turns), "contradiction")
	})
}

// noAttemptSpent fails when a job was tried more than once, or failed.
func noAttemptSpent(t *testing.T, st store.Store) {
	t.Helper()
	all, err := st.ListJobs(t.Context(), store.JobFilter{Limit: 1000})
	must(t, err)
	for _, j := range all {
		if j.Attempt > 1 || len(j.Errors) > 0 {
			t.Errorf("a job (%s, %s) is at attempt %d with the errors %q", j.Kind, j.State, j.Attempt, j.Errors)
		}
		switch j.State {
		case "retryable", "discarded", "cancelled":
			t.Errorf("a job (%s) is %s", j.Kind, j.State)
		}
	}
}
