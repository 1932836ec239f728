package engine

import (
	"context"
	"maps"
	"sync"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// The bounds of what is remembered of counts.
const (
	mostTallies  = 1000    // tenants
	mostStanding = 200_000 // counts, of a scope and a status each: some 20 MB
	// farBehind is how many events of the log, all tenants', are read to move a
	// tenant's counts on; behind more they are counted anew, which costs no more.
	farBehind = 100_000
)

// tallies are the counts of memories by status, each tenant's counted once and
// then moved on by the log. The least recently asked go first when there are too
// many. It is safe for concurrent use.
type tallies struct {
	st store.StatusReader

	mu    sync.Mutex
	of    map[string]*tally // by tenant
	asked int64
}

func newTallies(st store.StatusReader) *tallies { return &tallies{st: st, of: map[string]*tally{}} }

// count gives how many memories of a scope stand in each status, of a tenant when
// the scope has no name, as CountMemories does.
func (ts *tallies) count(ctx context.Context, s oxbow.Scope) (map[oxbow.Status]int, error) {
	t := ts.tally(s.Tenant)
	select {
	case t.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	out, err := t.look(ctx, ts.st, s)
	size := t.size
	<-t.turn
	ts.bound(t, size)
	return out, err
}

// tally gives a tenant's, which is made when there is none.
func (ts *tallies) tally(tenant string) *tally {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t := ts.of[tenant]
	if t == nil {
		t = &tally{turn: make(chan struct{}, 1)}
		ts.of[tenant] = t
	}
	ts.asked++
	t.asked = ts.asked
	return t
}

// bound forgets tenants until what is left is small enough, the one that was
// asked last among them when it is too large alone.
func (ts *tallies) bound(t *tally, size int) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t.bounded = size
	for {
		sum, oldest := 0, ""
		for tenant, t := range ts.of {
			sum += t.bounded
			if oldest == "" || t.asked < ts.of[oldest].asked {
				oldest = tenant
			}
		}
		if len(ts.of) <= mostTallies && sum <= mostStanding {
			return
		}
		delete(ts.of, oldest)
	}
}

// tally is what is known of a tenant. Where many write at once, a part of the log
// may still come to light below its end. So known holds the counts as the log up
// to upto makes them, where nothing is missing any more, and each look adds all
// that is above; mark is the next place to move upto to, when it is over.
type tally struct {
	turn chan struct{} // held by who looks

	known store.StatusCounts // nil before the first count
	upto  int64
	mark  *store.LogMark
	size  int // counts in known

	asked   int64 // these two belong to tallies
	bounded int
}

// look gives the counts of one scope, or of all, as they stand now.
func (t *tally) look(ctx context.Context, st store.StatusReader, s oxbow.Scope) (map[oxbow.Status]int, error) {
	end, err := st.LogMark(ctx)
	if err != nil {
		return nil, err
	}
	if t.mark == nil || end.End < t.mark.End || end.Open < t.mark.Open || end.End-t.upto > farBehind {
		// The first look, another database in the place of the first, or too far
		// behind.
		t.known, t.mark, t.size = nil, &end, 0
	}
	if t.known == nil {
		return t.first(ctx, st, s)
	}
	got, err := st.MovedStatuses(ctx, s.Tenant, t.upto, t.mark.End)
	if err != nil {
		return nil, err
	}
	out := standing(s.Name, t.known, got.Early, got.Late)
	if got.Over >= t.mark.Open {
		t.known, t.upto, t.mark = t.known.PlusAll(got.Early, 1), t.mark.End, &end
		t.sized()
	}
	return out, nil
}

// first counts, and goes back from there to what the log had made at the mark. What
// was being written then must be over; else the next look counts again.
func (t *tally) first(ctx context.Context, st store.StatusReader, s oxbow.Scope) (map[oxbow.Status]int, error) {
	got, err := st.CountStatuses(ctx, s.Tenant, t.mark.End)
	if err != nil {
		return nil, err
	}
	out := standing(s.Name, got.Counts)
	if got.Over >= t.mark.Open {
		t.known, t.upto = store.StatusCounts{}.PlusAll(got.Counts, 1).PlusAll(got.Late, -1), t.mark.End
		t.sized()
	}
	return out, nil
}

func (t *tally) sized() {
	t.size = 0
	for _, by := range t.known {
		t.size += len(by)
	}
}

// standing sums parts up for a scope, or for all when it has no name, and leaves
// out what comes to nothing.
func standing(scope string, parts ...store.StatusCounts) map[oxbow.Status]int {
	out := map[oxbow.Status]int{}
	for _, p := range parts {
		for name, by := range p {
			if scope == "" || name == scope {
				for s, n := range by {
					out[s] += n
				}
			}
		}
	}
	maps.DeleteFunc(out, func(_ oxbow.Status, n int) bool { return n == 0 })
	return out
}

// CountMemories counts a tenant's memories by status, all scopes when the scope has
// no name. It is exact. The first look of a process counts, later ones read only
// what the log has since.
func (e *Engine) CountMemories(ctx context.Context, s oxbow.Scope) (map[oxbow.Status]int, error) {
	return e.tallies.count(ctx, s)
}
