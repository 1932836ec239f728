package web

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// keptFor is how long charts stand that read every memory of a tenant.
const keptFor = 30 * time.Second

// kept is a page's charts and when they were drawn.
type kept struct {
	at   time.Time
	data healthData
}

type healthData struct {
	Strengths bars
	Statuses  bars
	OverTime  stack
	Days      []day
	Runs      bars
	Spend     []store.LLMCost
	Within    int
	At        time.Time
}

// day is what happened on one day, by type.
type day struct {
	Day    string
	Counts []typed
	Total  int
}

type typed struct {
	Type oxbow.EventType
	N    int
}

// churnWithin is how many of the newest events are looked at.
const churnWithin = 20_000

// mostTenants bounds the charts that are kept.
const mostTenants = 100

func (c *Console) health(ctx context.Context, a ask) (any, error) {
	now := a.e.Now()
	c.mu.Lock()
	k, ok := c.charts[a.Tenant]
	c.mu.Unlock()
	if ok && now.Sub(k.at) < keptFor && !now.Before(k.at) {
		return k.data, nil
	}
	d, err := draw(ctx, a, now)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.charts) >= mostTenants {
		clear(c.charts)
	}
	c.charts[a.Tenant] = kept{now, d}
	return d, nil
}

func draw(ctx context.Context, a ask, now time.Time) (healthData, error) {
	d := healthData{Within: churnWithin, At: now}
	st := a.e.Store()
	strengths, err := st.Strengths(ctx, a.Tenant, now, 10)
	if err != nil {
		return d, err
	}
	d.Strengths = barsOf(strengths, func(i int) string { return fmt.Sprintf("%.1f", float64(i)/10) })
	counts, err := a.e.CountMemories(ctx, a.scope(""))
	if err != nil {
		return d, err
	}
	byStatus := make([]int, len(oxbow.Statuses))
	for i, s := range oxbow.Statuses {
		byStatus[i] = counts[s]
	}
	d.Statuses = barsOf(byStatus, func(i int) string { return string(oxbow.Statuses[i]) })
	from, moves, err := st.Moves(ctx, a.Tenant, now.AddDate(0, 0, -statusDays), movesWithin)
	if err != nil {
		return d, err
	}
	d.OverTime = stackOf(statusesByDay(now, counts, from, moves))
	churn, err := st.Churn(ctx, a.Tenant, churnWithin)
	if err != nil {
		return d, err
	}
	d.Days = daysOf(churn)
	runs, err := a.e.Runs(ctx, store.RunFilter{Tenant: a.Tenant, Limit: 30})
	if err != nil {
		return d, err
	}
	slices.Reverse(runs)
	changed := make([]int, len(runs))
	for i, r := range runs {
		for _, n := range r.Counts {
			changed[i] += n
		}
	}
	d.Runs = barsOf(changed, func(i int) string { return runs[i].Name })
	d.Spend, err = st.LLMCosts(ctx, a.Tenant, now.AddDate(0, 0, -30))
	return d, err
}

// daysOf groups churn by day, the newest first.
func daysOf(all []store.Churn) []day {
	byDay := map[string]*day{}
	for _, c := range all {
		d := byDay[c.Day]
		if d == nil {
			d = &day{Day: c.Day}
			byDay[c.Day] = d
		}
		d.Counts = append(d.Counts, typed{c.Type, c.N})
		d.Total += c.N
	}
	var out []day
	for _, name := range slices.Sorted(maps.Keys(byDay)) {
		out = append(out, *byDay[name])
	}
	slices.Reverse(out)
	return out[:min(len(out), 30)]
}
