package crash

import (
	"os"
	"sync"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
)

// The long history of the acceptance, and what must be in it.
const (
	longTurns     = 2000
	longScopes    = 12
	leastMemories = 300
	leastReplaced = 20
)

// soakVariable asks for the whole history (make soak). It takes over a minute,
// so make test plays the first part of it, which is the same test.
const soakVariable = "OXBOW_SOAK"

// firstPart is what make test plays.
const firstPart = 500

// TestLongHistory ingests up to two thousand turns with one process while another one
// works beside it. Both are killed again and again.
func TestLongHistory(t *testing.T) {
	n := firstPart
	if os.Getenv(soakVariable) != "" {
		n = longTurns
	}
	turns := History(crashSeed+4, tenant, n, longScopes)
	var want []string
	heavy(t, func(t *testing.T, p place) {
		if want == nil {
			st := somewhere(t, "SQLite").opened(t)
			began := time.Now()
			must(t, ingest(t.Context(), st, turns))
			workHere(t, st, false)
			all := whole(t, st, len(turns))
			t.Logf("undisturbed in %v: %d turns, %d memories, %d superseded, %d links", time.Since(began).Round(time.Millisecond),
				n, len(all.memories), all.count(oxbow.Superseded), len(all.links))
			if len(all.memories) < leastMemories || all.count(oxbow.Superseded) < leastReplaced {
				t.Error("that is too little for this test")
			}
			want = all.state()
		}
		st := p.opened(t)
		began := time.Now()
		workers := newSiege(t, p, order{Do: "work", Seed: crashSeed, Before: 0.004, After: 0.004})
		ingesters := newSiege(t, p, order{Do: "ingest", Seed: crashSeed + 4, Turns: n, Scopes: longScopes})
		stop := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() { workers.during(1, stop) })
		ingesters.untilDone()
		eventually(t, "the queue is empty", func() bool { return drained(t, st) })
		close(stop)
		wg.Wait()
		workHere(t, st, false)
		all := whole(t, st, len(turns))
		sameState(t, want, all.state())
		t.Logf("in %v: the worker was killed %d times and fell %d times, the ingester was killed %d times", time.Since(began).Round(time.Millisecond),
			workers.kills.Load(), workers.falls.Load(), ingesters.kills.Load())
		if workers.kills.Load()+workers.falls.Load() < 3 || ingesters.kills.Load() < 2 {
			t.Error("that is too few to prove anything")
		}
	})
}

// untilDone runs an ingester from the beginning until one comes to the end. The
// first ones get little time, so that some are killed on any machine.
func (s *siege) untilDone() {
	for life := 20 * time.Millisecond; ; life += 10 * time.Millisecond {
		c, err := start(s.order)
		must(s.t, err)
		timer := time.NewTimer(life)
		select {
		case <-c.gone:
			timer.Stop()
			if c.err == nil {
				return
			}
			if !c.killed() {
				s.t.Fatalf("the ingester failed: %v\n%s", c.err, c.said.String())
			}
			s.falls.Add(1)
		case <-timer.C:
			c.kill()
			s.kills.Add(1)
		}
	}
}
