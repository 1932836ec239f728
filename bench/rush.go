package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/oxbow-memory/oxbow/store"
)

// The measurement of the rush.
const (
	rushClients  = 8                // that find out what the doors can do
	rushFor      = time.Minute      // of arrivals
	measuredFor  = 15 * time.Second // of the capacity
	writesInTen  = 2                // requests of ten that write, half of them turns
	quickRushFor = 10 * time.Second
)

// call is one request of the rush: a question, or a write.
type call struct {
	path   string
	body   []byte
	writes bool
}

// rushing sends requests at the instants of a plan that was drawn before, whether or
// not the earlier ones were answered, and counts the time from the planned
// instant. So a server that stands still for a moment is charged for everybody
// who came meanwhile, which clients that wait for their answer would hide.
func rushing(ctx context.Context, l *lab) (out []result, err error) {
	h, err := l.doored(ctx)
	if err != nil {
		return nil, err
	}
	lasts, probe := rushFor, measuredFor
	if l.cfg.rows < recallLarge {
		lasts, probe = quickRushFor, quickRushFor/2
	}
	err = h.whileWorking(ctx, func(ctx context.Context) error {
		rate, err := h.capacity(ctx, probe)
		if err != nil {
			return err
		}
		if err := h.idle(ctx); err != nil {
			return err
		}
		l.say("capacity: %.0f requests a second; now %.0f for %s", rate, rate/2, lasts)
		r, err := h.arrivals(ctx, rate/2, lasts)
		if err != nil {
			return err
		}
		left, err := h.st.PendingJobs(ctx, "", "")
		l.say("%d jobs left; writes p50 %s, p99 %s", left, millis(median(r.writes)), millis(quantile(r.writes, .99)))
		out = append(out, r.row(rate))
		return err
	})
	return out, err
}

// capacity gives the requests a second that clients get who ask as fast as they
// are answered, while workers judge what they write.
func (h *house) capacity(ctx context.Context, lasts time.Duration) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, lasts)
	defer cancel()
	var wg sync.WaitGroup
	var done [rushClients]int
	var failed [rushClients]error
	begin := time.Now()
	for i := range rushClients {
		calls := h.caller(uint64(20 + i))
		wg.Go(func() {
			for ctx.Err() == nil {
				if err := h.send(ctx, calls()); err != nil {
					if ctx.Err() == nil {
						failed[i] = err
					}
					return
				}
				done[i]++
			}
		})
	}
	wg.Wait()
	total := 0
	for _, n := range done {
		total += n
	}
	return float64(total) / time.Since(begin).Seconds(), errors.Join(failed[:]...)
}

// caller draws calls; each caller has words of its own.
func (h *house) caller(seed uint64) func() call {
	rng, own := rand.New(rand.NewPCG(seed, 9)), newTalker(seed)
	return func() call {
		switch kind := rng.IntN(10); {
		case kind >= writesInTen:
			return call{path: "/v1/recall", body: questionBody(h.question(rng), recallLimit)}
		case kind == 0:
			return call{"/v1/memories", []byte(store.JSON(map[string]any{"scope": home.Name, "text": own.passage()})), true}
		}
		turn := map[string]any{"scope": home.Name, "conversation": fmt.Sprintf("rush%d", seed), "user": "I prefer " + own.passage() + "."}
		return call{"/v1/turns", []byte(store.JSON(map[string]any{"turns": []any{turn}})), true}
	}
}

func (h *house) send(ctx context.Context, c call) error {
	_, err := h.ask(ctx, "POST", h.web.URL+c.path, c.body)
	return err
}

// rushed is what became of the arrivals, counted from their planned instants.
type rushed struct {
	recalls, writes []time.Duration
	failed          []error
}

// arrivals sends calls at exponentially distributed distances.
func (h *house) arrivals(ctx context.Context, rate float64, lasts time.Duration) (r rushed, err error) {
	rng, calls := rand.New(rand.NewPCG(30, 30)), h.caller(31)
	var mu sync.Mutex
	var wg sync.WaitGroup
	begin, due := time.Now(), time.Duration(0)
	for {
		due += time.Duration(rng.ExpFloat64() / rate * float64(time.Second))
		if due >= lasts {
			break
		}
		c, at := calls(), begin.Add(due)
		time.Sleep(time.Until(at))
		wg.Go(func() {
			err := h.send(ctx, c)
			took := time.Since(at)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				r.failed = append(r.failed, err)
			case c.writes:
				r.writes = append(r.writes, took)
			default:
				r.recalls = append(r.recalls, took)
			}
		})
	}
	wg.Wait()
	if len(r.recalls) == 0 || len(r.writes) == 0 {
		return r, fmt.Errorf("the rush had %d recalls, %d writes and these errors: %w", len(r.recalls), len(r.writes), errors.Join(r.failed...))
	}
	return r, nil
}

func (r rushed) row(capacity float64) result {
	p50, p99 := median(r.recalls), quantile(r.recalls, .99)
	tail := float64(p99) / float64(p50)
	return result{
		what: fmt.Sprintf("recalls and writes (%d in ten) arriving for a minute at half of what the doors can do (%.0f a second of %.0f), beside a worker: p99 of recall against its p50, and errors",
			writesInTen, capacity/2, capacity),
		goal: "≤ 5 ×, 0", measured: fmt.Sprintf("%.1f ×, %d", tail, len(r.failed)), ours: millis(p99), other: millis(p50),
		pass: tail <= 5 && len(r.failed) == 0,
	}
}
