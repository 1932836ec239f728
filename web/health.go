package web

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/store"
)

type healthData struct {
	Strengths bars
	Statuses  bars
	OverTime  stack
	Days      []day
	Runs      bars
	Spend     []store.LLMCost
	Tokens    bars   // of Spend, by day
	FirstDay  string // of Tokens
	Cost      string // of Spend; empty when a price is not known
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

func (c *Console) health(ctx context.Context, a ask) (any, error) {
	h, err := a.looking().Health(ctx, a.Tenant)
	if err != nil {
		return nil, err
	}
	d := healthData{Within: engine.ChurnWithin, At: h.At}
	d.Strengths = barsOf("active memories by strength", h.Strengths, func(i int) string { return fmt.Sprintf("%.1f", float64(i)/10) })
	byStatus := make([]int, len(oxbow.Statuses))
	for i, s := range oxbow.Statuses {
		byStatus[i] = h.Memories[s]
	}
	d.Statuses = barsOf("memories by status", byStatus, func(i int) string { return string(oxbow.Statuses[i]) })
	d.OverTime = stackOf(statusesByDay(h.At, h.Memories, h.From, h.Moves))
	d.Days = daysOf(h.Churn)
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
	d.Runs = barsOf("changes by run", changed, func(i int) string { return runs[i].Name })
	if d.Spend, err = a.e.Store().LLMCosts(ctx, a.Tenant, a.e.Now().AddDate(0, 0, -spendDays)); err != nil {
		return d, err
	}
	d.FirstDay = date(a.e.Now().AddDate(0, 0, -spendDays))
	d.Tokens, d.Cost = tokensByDay(a.e.Now(), d.Spend)
	return d, nil
}

// spendDays is how far back the spend of a model is shown.
const spendDays = 30

// tokensByDay draws the tokens of each day up to now, and adds up what they cost
// when every price is known. Without any there is no drawing.
func tokensByDay(now time.Time, spend []store.LLMCost) (bars, string) {
	if len(spend) == 0 {
		return bars{}, ""
	}
	tokens, at, days := make([]int, spendDays+1), map[string]int{}, make([]string, spendDays+1)
	for i := range days {
		days[i] = date(now.AddDate(0, 0, i-spendDays))
		at[days[i]] = i
	}
	cost, known := 0.0, true
	for _, s := range spend {
		if i, ok := at[s.Day]; ok {
			tokens[i] += int(s.In + s.Out)
		}
		if s.Cost == nil {
			known = false
			continue
		}
		cost += *s.Cost
	}
	b := barsOf("tokens by day", tokens, func(i int) string { return days[i] })
	if !known {
		return b, ""
	}
	return b, dollars(&cost)
}

// looking gives the engine for a page that shows what is kept; its link asks anew.
func (a ask) looking() *engine.Engine {
	if a.URL.Query().Get("fresh") != "" {
		return a.e.Anew()
	}
	return a.e
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
