package metrics

import (
	"context"
	"time"
)

// A row that has a lower number than one that can be seen may still be on its
// way, on a database with many writers, until its transaction ends. So the end
// of a log is counted anew at every look: as much of it as came in the last
// minutes, or as its last rows are, whichever is less.
const (
	settleAfter = 2 * time.Minute // longer than any transaction that writes
	settleRows  = 20_000          // more than others write while one lasts
)

// pieceRows bounds one query over a log, so that a look that runs out of time
// keeps what it has counted.
const pieceRows = 100_000

// tally is the count of a log that only grows, by key. It is not safe for
// concurrent use.
type tally[K comparable, V any] struct {
	// read counts what is above after and at most upto.
	read func(ctx context.Context, after, upto int64) (map[K]V, error)
	add  func(V, V) V

	settled map[K]V
	upto    int64 // the last row that is settled
	mark    int64 // where the log ended at since
	since   time.Time
}

// count gives the whole log, which ends at end now; inOrder says that nothing below
// can come to light any more.
func (t *tally[K, V]) count(ctx context.Context, end int64, inOrder bool, now time.Time) (map[K]V, error) {
	if t.settled == nil {
		t.settled = map[K]V{}
	}
	if err := t.settle(ctx, end, inOrder, now); err != nil {
		return nil, err
	}
	out := make(map[K]V, len(t.settled))
	t.merge(out, t.settled)
	if end > t.upto {
		rest, err := t.read(ctx, t.upto, end)
		if err != nil {
			return nil, err
		}
		t.merge(out, rest)
	}
	return out, nil
}

// settle counts once and for all what cannot change any more.
func (t *tally[K, V]) settle(ctx context.Context, end int64, inOrder bool, now time.Time) error {
	to := end - settleRows
	if inOrder {
		to = end
	}
	if !t.since.IsZero() && now.Sub(t.since) >= settleAfter {
		to = max(to, t.mark)
	}
	for t.upto < to {
		next := min(to, t.upto+pieceRows)
		piece, err := t.read(ctx, t.upto, next)
		if err != nil {
			return err
		}
		t.merge(t.settled, piece)
		t.upto = next
	}
	if t.since.IsZero() || now.Sub(t.since) >= settleAfter {
		t.mark, t.since = end, now
	}
	return nil
}

func (t *tally[K, V]) merge(into, from map[K]V) {
	for k, v := range from {
		into[k] = t.add(into[k], v)
	}
}
