package metrics

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// look reads the database when somebody gathers. Those who gather at once wait
// for one look and share it.
type look struct {
	cfg Config
	families
	parts []*part

	mu     sync.Mutex
	at     time.Time
	found  []prometheus.Metric
	events *tally[store.LogCount, int64]
	calls  *tally[callKey, store.LLMCount]
}

// part is what is read together, and is left out together when it cannot be.
type part struct {
	name string
	read func(ctx context.Context, now time.Time) ([]prometheus.Metric, error)
	keep time.Duration // how long it stands, when that is longer than the look

	at    time.Time
	found []prometheus.Metric
}

// keepSchedules is how long schedules stand: they change by the minute, and
// 10,000 scopes take 0.2 s to look through.
const keepSchedules = 30 * time.Second

type callKey struct{ model, outcome string }

func newLook(cfg Config) *look {
	l := &look{cfg: cfg, families: newFamilies()}
	l.events = &tally[store.LogCount, int64]{read: l.readEvents, add: func(a, b int64) int64 { return a + b }}
	l.calls = &tally[callKey, store.LLMCount]{read: l.readCalls, add: addCalls}
	l.parts = []*part{{name: "queue", read: l.queue}, {name: "schedule", read: l.schedule, keep: keepSchedules}, {name: "budget", read: l.budgets},
		{name: "llm", read: l.llm}, {name: "log", read: l.log}}
	return l
}

// Describe says nothing, so that a part that cannot be read may be left out.
func (l *look) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (l *look) Collect(ch chan<- prometheus.Metric) {
	for _, m := range l.current() {
		ch <- m
	}
}

func (l *look) current() []prometheus.Metric {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.cfg.Clock()
	if !l.at.IsZero() && now.Sub(l.at) < l.cfg.KeepFor && !now.Before(l.at) {
		return l.found
	}
	ctx, cancel := context.WithTimeout(context.Background(), l.cfg.Within)
	defer cancel()
	l.found = nil
	for _, p := range l.parts {
		l.found = append(l.found, l.readPart(ctx, p, now)...)
	}
	l.at = l.cfg.Clock() // a slow look stands as long as a quick one
	return l.found
}

func (l *look) readPart(ctx context.Context, p *part, now time.Time) []prometheus.Metric {
	if !p.at.IsZero() && now.Sub(p.at) < p.keep && !now.Before(p.at) {
		return p.found
	}
	began := time.Now()
	found, err := p.read(ctx, now)
	up := 1.0
	if p.at = now; err != nil {
		found, up, p.at = nil, 0, time.Time{} // the next look tries again
	}
	p.found = append(found, l.collectorUp.value(up, p.name), l.collectorSeconds.value(time.Since(began).Seconds(), p.name))
	return p.found
}

func (l *look) queue(ctx context.Context, now time.Time) ([]prometheus.Metric, error) {
	stats, err := l.cfg.Source.QueueStats(ctx)
	if err != nil {
		return nil, err
	}
	var out []prometheus.Metric
	for _, q := range stats {
		for state, n := range map[string]int{"available": q.Available, "running": q.Running, "scheduled": q.Scheduled, "retryable": q.Retryable} {
			out = append(out, l.queueDepth.value(float64(n), q.Queue, state))
		}
		age := 0.0
		if !q.OldestAt.IsZero() {
			age = max(0, now.Sub(q.OldestAt).Seconds())
		}
		paused := 0.0
		if q.Paused {
			paused = 1
		}
		out = append(out, l.queueOldest.value(age, q.Queue), l.queuePaused.value(paused, q.Queue))
	}
	alive, err := l.cfg.Source.LiveWorkers(ctx, now.Add(-store.WorkerTTL))
	if err != nil {
		return nil, err
	}
	gone, err := l.cfg.Source.CountDiscarded(ctx)
	if err != nil {
		return nil, err
	}
	for kind, n := range gone {
		out = append(out, l.discarded.value(float64(n), kind))
	}
	return append(out, l.workers.value(float64(alive))), nil
}

func (l *look) schedule(ctx context.Context, _ time.Time) ([]prometheus.Metric, error) {
	fresh, err := l.cfg.Source.Freshness(ctx)
	if err != nil {
		return nil, err
	}
	var out []prometheus.Metric
	for _, f := range fresh {
		out = append(out, l.lastSuccess.value(seconds(f.LastSuccess), f.Pass), l.nextSlot.value(seconds(f.NextSlot), f.Pass))
	}
	return out, nil
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

func (l *look) budgets(ctx context.Context, now time.Time) ([]prometheus.Metric, error) {
	b, err := l.cfg.Source.CountBudgets(ctx, now.UTC().Format(time.DateOnly))
	if err != nil {
		return nil, err
	}
	out := []prometheus.Metric{l.budgetUsed.value(float64(b.Most)), l.budgetShort.value(float64(b.Short))}
	if l.cfg.Budget > 0 {
		out = append(out, l.budget.value(float64(l.cfg.Budget)))
	}
	return out, nil
}

func (l *look) readCalls(ctx context.Context, after, upto int64) (map[callKey]store.LLMCount, error) {
	rows, err := l.cfg.Source.CountLLMCalls(ctx, after, upto)
	out := make(map[callKey]store.LLMCount, len(rows))
	for _, c := range rows {
		out[callKey{c.Model, c.Outcome}] = c
	}
	return out, err
}

func addCalls(a, b store.LLMCount) store.LLMCount {
	b.Calls, b.In, b.Out, b.Cached = a.Calls+b.Calls, a.In+b.In, a.Out+b.Out, a.Cached+b.Cached
	b.Cost, b.Unpriced = a.Cost+b.Cost, a.Unpriced+b.Unpriced
	return b
}

func (l *look) llm(ctx context.Context, now time.Time) ([]prometheus.Metric, error) {
	ends, err := l.cfg.Source.LogEnds(ctx)
	if err != nil {
		return nil, err
	}
	counts, err := l.calls.count(ctx, ends.LLMCall, ends.InOrder, now)
	if err != nil {
		return nil, err
	}
	var out []prometheus.Metric
	models := map[string]store.LLMCount{}
	for k, c := range counts {
		out = append(out, l.requests.value(float64(c.Calls), k.model, k.outcome))
		models[k.model] = addCalls(models[k.model], c)
	}
	for model, c := range models {
		out = append(out, l.tokens.value(float64(c.In), model, "in"), l.tokens.value(float64(c.Out), model, "out"),
			l.cached.value(float64(c.Cached), model), l.cost.value(c.Cost, model), l.unpriced.value(float64(c.Unpriced), model))
	}
	return out, nil
}

func (l *look) readEvents(ctx context.Context, after, upto int64) (map[store.LogCount]int64, error) {
	rows, err := l.cfg.Source.CountLog(ctx, after, upto)
	out := make(map[store.LogCount]int64, len(rows))
	for _, c := range rows {
		out[store.LogCount{Type: c.Type, Status: c.Status}] = c.N
	}
	return out, err
}

// log shows the events and, since the table is the replay of the log, from the
// same count how many memories stand in each status.
func (l *look) log(ctx context.Context, now time.Time) ([]prometheus.Metric, error) {
	ends, err := l.cfg.Source.LogEnds(ctx)
	if err != nil {
		return nil, err
	}
	counts, err := l.events.count(ctx, ends.Event, ends.InOrder, now)
	if err != nil {
		return nil, err
	}
	byType, byStatus := map[oxbow.EventType]int64{}, map[oxbow.Status]int64{}
	for c, n := range counts {
		byType[c.Type] += n
		if from, to := oxbow.Moved(c.Type, c.Status); from != to {
			byStatus[from] -= n
			byStatus[to] += n
		}
	}
	var out []prometheus.Metric
	for _, t := range oxbow.EventTypes {
		out = append(out, l.families.events.value(float64(byType[t]), string(t)))
	}
	for _, s := range oxbow.Statuses {
		out = append(out, l.memories.value(float64(byStatus[s]), string(s)))
	}
	return out, nil
}
