package crash

import (
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/llm/offline"
	"github.com/oxbow-memory/oxbow/store"
)

// A half of the scopes is ingested, judged and merged while the other half is
// still being judged.
const (
	crashSeed   = 3
	crashTurns  = 700
	crashScopes = 6
)

// halves gives the turns of the first scopes and those of the others.
func halves(turns []oxbow.Turn) (a, b []oxbow.Turn) {
	for _, t := range turns {
		if t.Scope.Name < "project:p3" {
			a = append(a, t)
		} else {
			b = append(b, t)
		}
	}
	return a, b
}

// play ingests and merges a history in two halves. work is called when there is
// something to do and returns when it is done.
func play(t *testing.T, st store.Store, turns []oxbow.Turn, work func()) {
	t.Helper()
	a, b := halves(turns)
	must(t, ingest(t.Context(), st, a))
	work()
	merge(t, st, a)
	must(t, ingest(t.Context(), st, b))
	work()
	merge(t, st, b)
	work()
}

// merge looks for near-equal memories in the scopes of some turns.
func merge(t *testing.T, st store.Store, turns []oxbow.Turn) {
	t.Helper()
	names := map[string]bool{}
	o := engine.Order{Name: "cluster", Tenant: tenant, MaxShare: 1}
	for _, turn := range turns {
		if !names[turn.Scope.Name] {
			names[turn.Scope.Name] = true
			o.Scopes = append(o.Scopes, turn.Scope.Name)
		}
	}
	_, err := engine.New(engine.Config{Store: st, Judge: offline.New(), Embedder: offline.NewEmbedder(), Clock: clock}).RunJob(t.Context(), o)
	must(t, err)
}

// undisturbed plays a history in this process and gives what is known then.
func undisturbed(t *testing.T, turns []oxbow.Turn) []string {
	t.Helper()
	began := time.Now()
	st := somewhere(t, "SQLite").opened(t)
	play(t, st, turns, func() { workHere(t, st, false) })
	all := whole(t, st, len(turns))
	merged := 0
	for _, m := range all.memories {
		if m.Derived {
			merged++
		}
	}
	t.Logf("undisturbed in %v: %d turns, %d memories (%d active, %d superseded, %d compressed, %d merged), %d links, %d events",
		time.Since(began).Round(time.Millisecond), len(turns), len(all.memories), all.count(oxbow.Active), all.count(oxbow.Superseded),
		all.count(oxbow.Compressed), merged, len(all.links), len(all.events))
	return all.state()
}

func TestKilledWorkers(t *testing.T) {
	turns := History(crashSeed, tenant, crashTurns, crashScopes)
	var want []string
	heavy(t, func(t *testing.T, p place) {
		if want == nil {
			want = undisturbed(t, turns)
		}
		st := p.opened(t)
		s := newSiege(t, p, order{Do: "work", Seed: crashSeed, Before: 0.06, After: 0.06})
		began := time.Now()
		play(t, st, turns, func() { s.underFire(st) })
		all := whole(t, st, len(turns))
		sameState(t, want, all.state())
		t.Logf("in %v, %d workers were killed and %d fell around a commit", time.Since(began).Round(time.Millisecond), s.kills.Load(), s.falls.Load())
		if s.kills.Load() < 3 || s.falls.Load() < 5 || s.kills.Load()+s.falls.Load() < enough/2 {
			t.Error("that is too few to prove anything")
		}
	})
}

// underFire works everything that is there with two workers that are killed
// again and again.
func (s *siege) underFire(st store.Store) {
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		s.during(2, stop)
	}()
	eventually(s.t, "the queue is empty", func() bool { return drained(s.t, st) })
	close(stop)
	<-done
	workHere(s.t, st, s.order.Unguarded) // what the last ones left
}

func TestKilledWorkersWithoutGuards(t *testing.T) {
	turns := History(crashSeed, tenant, 60, 3)
	heavy(t, func(t *testing.T, p place) {
		st := p.opened(t)
		s := newSiege(t, p, order{Do: "work", Seed: crashSeed, Unguarded: true, After: 0.1})
		s.all = true
		must(t, ingest(t.Context(), st, turns))
		s.underFire(st)
		found := readAll(t, st).doubled()
		t.Logf("%d workers were killed, %d fell around a commit, and %d doublings were found", s.kills.Load(), s.falls.Load(), len(found))
		if len(found) == 0 {
			t.Error("without ledger and fence nothing was doubled: the test of the guards cannot fail")
		}
	})
}
