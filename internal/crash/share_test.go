package crash

import (
	"testing"
	"time"
)

// TestSharedWork lets three processes work one database without being disturbed:
// they share what there is, and do none of it twice.
func TestSharedWork(t *testing.T) {
	turns := History(crashSeed+1, tenant, 200, 4)
	heavy(t, func(t *testing.T, p place) {
		st := p.opened(t)
		s := newSiege(t, p, order{Do: "work", Seed: crashSeed})
		s.until = patience
		stop, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			s.during(3, stop)
		}()
		began := time.Now()
		eventually(t, "three workers are there", func() bool {
			n, err := st.LiveWorkers(t.Context(), began)
			must(t, err)
			return n >= 3
		})
		must(t, ingest(t.Context(), st, turns))
		eventually(t, "the queue is empty", func() bool { return drained(t, st) })
		merge(t, st, turns)
		eventually(t, "the queue is empty", func() bool { return drained(t, st) })
		close(stop)
		<-done
		whole(t, st, len(turns))
		if n := s.kills.Load() + s.falls.Load(); n > 0 {
			t.Errorf("%d workers did not come through", n)
		}
	})
}
