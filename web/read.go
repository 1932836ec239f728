package web

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/store"
)

// pageSize is how many rows a page shows.
const pageSize = 50

type overviewData struct {
	Status  engine.Status
	Order   []oxbow.Status
	Runs    []oxbow.Run
	Spend   []store.LLMCost
	Workers int
	// Undecided counts what waits for a person's decision.
	Undecided string
}

func (c *Console) overview(ctx context.Context, a ask) (any, error) {
	st, err := a.looking().Status(ctx, a.scope(""))
	if err != nil {
		return nil, err
	}
	runs, err := a.e.Runs(ctx, store.RunFilter{Tenant: a.Tenant, Limit: 8})
	if err != nil {
		return nil, err
	}
	conflicts, err := a.e.Store().Conflicts(ctx, store.ConflictFilter{Tenant: a.Tenant, Limit: pageSize})
	if err != nil {
		return nil, err
	}
	spend, err := a.e.Store().LLMCosts(ctx, a.Tenant, a.e.Now().AddDate(0, 0, -1))
	st = st.Seen(a.Caller)
	return overviewData{Status: st, Order: oxbow.Statuses, Runs: runs, Spend: spend, Workers: st.Workers,
		Undecided: undecided(len(conflicts), st.Memories[oxbow.Quarantined])}, err
}

func undecided(conflicts, quarantined int) string {
	var parts []string
	switch {
	case conflicts >= pageSize:
		parts = append(parts, strconv.Itoa(pageSize)+" conflicts or more")
	case conflicts > 0:
		parts = append(parts, noun(conflicts, "conflict", "conflicts"))
	}
	if quarantined > 0 {
		parts = append(parts, strconv.Itoa(quarantined)+" in quarantine")
	}
	return strings.Join(parts, ", ")
}

type memoriesData struct {
	Query, Scope, Status, Kind, Slot, Tag string
	Rows                                  []engine.View
	Scopes                                choice
	Statuses                              []oxbow.Status
	Kinds                                 []oxbow.Kind
	Next                                  string
	Notes                                 []string
}

// memories lists by the filters of its URL, which is therefore all that a saved
// search is; with words it asks recall.
func (c *Console) memories(ctx context.Context, a ask) (any, error) {
	q := a.URL.Query()
	d := memoriesData{Query: words(q.Get("q")), Scope: a.value("scope"), Status: cmp.Or(q.Get("status"), string(oxbow.Active)), Kind: q.Get("kind"), Slot: q.Get("slot"), Tag: q.Get("tag"),
		Statuses: oxbow.Statuses, Kinds: oxbow.Kinds}
	f, err := engine.Selection{Scope: d.Scope, Status: []string{d.Status}, Kind: d.Kind, Slot: d.Slot, Tag: d.Tag}.Filter(a.Tenant)
	if err != nil {
		return nil, err
	}
	if d.Scopes, err = a.choice(ctx, "scope", everyScope); err != nil {
		return nil, err
	}
	if d.Query != "" {
		return d, c.found(ctx, a, &d)
	}
	f.Limit = pageSize
	last, err := engine.Behind(q.Get("after"), func(id string) (oxbow.Memory, error) { return a.e.Store().Memory(ctx, a.Tenant, id) })
	if err != nil {
		return nil, err
	}
	f.AfterID = last.ID
	ms, err := a.e.Store().ListMemories(ctx, f)
	if err != nil {
		return nil, err
	}
	if len(ms) == pageSize {
		d.Next = a.next("after", ms[len(ms)-1].ID)
	}
	d.Rows, err = a.e.Views(ctx, ms)
	return d, err
}

// words gives a question without the marks that nobody types.
func words(s string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cc, unicode.Cf) && r != '\t' && r != '\n' {
			return -1
		}
		return r
	}, s)), " ")
}

// found fills the page with what recall finds. Looking is not use.
func (c *Console) found(ctx context.Context, a ask, d *memoriesData) error {
	q := engine.Recall{Scope: a.scope(d.Scope), Text: d.Query, Limit: pageSize, Kind: oxbow.Kind(d.Kind), Slot: d.Slot, Tag: d.Tag}
	if d.Status != string(oxbow.Active) {
		q.Include = []oxbow.Status{oxbow.Superseded, oxbow.Compressed, oxbow.Expired, oxbow.Archived}
	}
	got, err := a.e.Search(ctx, q)
	if err != nil {
		return err
	}
	d.Notes = got.Notes
	ms := make([]oxbow.Memory, 0, len(got.Results))
	for _, r := range got.Results {
		if d.Status == "all" || d.Status == string(r.Memory.Status) {
			ms = append(ms, r.Memory)
		}
	}
	d.Rows, err = a.e.Views(ctx, ms)
	return err
}

type memoryData struct {
	engine.Card
	Curve   curve
	Graph   graph
	Near    []node // the same as a list
	Changes []change
}

// change is a wording beside the one before it.
type change struct {
	engine.Wording
	Words []piece
}

func (c *Console) memory(ctx context.Context, a ask) (any, error) {
	card, err := a.e.Card(ctx, a.Tenant, a.PathValue("id"))
	if err != nil {
		return nil, err
	}
	d := memoryData{Card: card, Curve: curveOf(card, a.e.Now()), Graph: graphOf(card), Near: near(card)}
	for i, w := range card.Wordings {
		if i > 0 {
			d.Changes = append(d.Changes, change{w, diff(card.Wordings[i-1].Text, w.Text)})
		}
	}
	return d, nil
}

type runsData struct {
	Name, Scope, Status string
	Rows                []oxbow.Run
	Next                string
	Names               []string
	Scopes, Ins         choice
	Statuses            []oxbow.RunStatus
	Asked, In           string // the pass that is about to be started, and where
	Plan                []plan
	Planned             bool
	Idle                string // the scopes in which it would change nothing
	Unseen              int    // scopes in which it would change something that are not shown
}

func (c *Console) runs(ctx context.Context, a ask) (any, error) {
	q := a.URL.Query()
	d := runsData{Name: q.Get("name"), Scope: a.value("scope"), Status: q.Get("status"), Names: engine.Passes, In: a.value("in"),
		Statuses: []oxbow.RunStatus{oxbow.RunRunning, oxbow.RunDone, oxbow.RunStopped, oxbow.RunFailed}}
	var err error
	if d.Scopes, err = a.choice(ctx, "scope", everyScope); err != nil {
		return nil, err
	}
	d.Ins = d.Scopes.as("in", d.In)
	f := store.RunFilter{Tenant: a.Tenant, Scope: d.Scope, Name: d.Name, Status: oxbow.RunStatus(d.Status), Limit: pageSize}
	last, err := engine.Behind(q.Get("after"), func(id string) (oxbow.Run, error) { return a.e.Store().Run(ctx, a.Tenant, id) })
	if err != nil {
		return nil, err
	}
	f.AfterID = last.ID
	if d.Rows, err = a.e.Runs(ctx, f); err != nil {
		return nil, err
	}
	if len(d.Rows) == pageSize {
		d.Next = a.next("after", d.Rows[pageSize-1].ID)
	}
	if !slices.Contains(engine.Passes, q.Get("plan")) {
		return d, nil
	}
	d.Asked, d.Planned = q.Get("plan"), q.Get("now") == ""
	if d.Planned {
		err = c.plan(ctx, a, &d)
	}
	return d, err
}

// plan is what a dry run found in one scope.
type plan struct {
	Scope  string
	Lines  []engine.PlannedChange
	More   int
	Braked bool
}

// scopesPlanned bounds the scopes of a dry run that a page shows, and those that it
// names as having nothing to change.
const scopesPlanned = 20

// plan fills the page with what the pass that is asked for would change.
func (c *Console) plan(ctx context.Context, a ask, d *runsData) error {
	order := engine.Order{Name: d.Asked, Tenant: a.Tenant}
	if d.In != "" {
		order.Scopes = []string{d.In}
	}
	found, err := a.e.PlanJob(ctx, order)
	if err != nil {
		return err
	}
	var none []string
	for _, p := range found {
		switch {
		case len(p.Changes) == 0:
			none = append(none, p.Scope.Name)
			continue
		case len(d.Plan) == scopesPlanned:
			d.Unseen++
			continue
		}
		shown := p.Changes[:min(len(p.Changes), pageSize)]
		lines, err := a.e.PlanLines(ctx, a.Tenant, shown)
		if err != nil {
			return err
		}
		d.Plan = append(d.Plan, plan{p.Scope.Name, lines, len(p.Changes) - len(shown), p.Braked})
	}
	d.Idle = strings.Join(none[:min(len(none), scopesPlanned)], ", ")
	if more := len(none) - scopesPlanned; more > 0 {
		d.Idle += " and " + noun(more, "other scope", "other scopes")
	}
	return nil
}

type runData struct {
	Run   oxbow.Run
	Rows  []eventRow
	More  bool
	Names map[string]engine.Named
}

// eventRow is an event with its line.
type eventRow struct {
	Event oxbow.Event
	Line  engine.Line
}

func rows(ctx context.Context, a ask, events []oxbow.Event) ([]eventRow, error) {
	lines, err := a.e.EventLines(ctx, a.Tenant, events)
	out := make([]eventRow, len(lines))
	for i := range lines {
		out[i] = eventRow{events[i], lines[i]}
	}
	return out, err
}

func (c *Console) run(ctx context.Context, a ask) (any, error) {
	run, err := a.e.Run(ctx, a.Tenant, a.PathValue("id"))
	if err != nil {
		return nil, err
	}
	events, err := a.e.Store().Events(ctx, store.EventFilter{Tenant: a.Tenant, Run: run.ID, Limit: 200})
	if err != nil {
		return nil, err
	}
	rs, err := rows(ctx, a, events)
	return runData{Run: run, Rows: rs, More: len(events) == 200}, err
}

type jobsData struct {
	State  string
	Kind   string
	States []string
	Queues []store.QueueStat
	Jobs   []store.Job
	Given  []store.Discarded
	Next   string
}

func (c *Console) jobs(ctx context.Context, a ask) (any, error) {
	q := a.URL.Query()
	d := jobsData{State: q.Get("state"), Kind: strings.TrimSpace(q.Get("kind")), States: store.JobStates}
	f := store.JobFilter{Tenant: a.Tenant, State: d.State, Kind: d.Kind, Limit: pageSize}
	f.BeforeID, _ = strconv.ParseInt(q.Get("before"), 10, 64)
	var err error
	if d.State != "" && !slices.Contains(store.JobStates, d.State) {
		return nil, oxbow.Errorf(oxbow.CodeInvalid, "there is no state %q: use %s", d.State, text.OneOf(store.JobStates))
	}
	if a.May(oxbow.MayOperate) == nil {
		if d.Queues, err = a.e.Store().QueueStats(ctx); err != nil {
			return nil, err
		}
	}
	if d.Jobs, err = a.e.Store().ListJobs(ctx, f); err != nil {
		return nil, err
	}
	if len(d.Jobs) == pageSize {
		d.Next = a.next("before", strconv.FormatInt(d.Jobs[pageSize-1].ID, 10))
	}
	d.Given, err = a.e.Store().ListDiscarded(ctx, a.Tenant, 20)
	return d, err
}

// scheduleRow is a schedule with what comes.
type scheduleRow struct {
	store.Schedule
	Upcoming []string
}

type scheduleData struct {
	Scopes choice
	Rows   []scheduleRow
	Next   string
}

// schedulesShown is more than the rows of other pages: a scope has several.
const schedulesShown = 200

func (c *Console) schedule(ctx context.Context, a ask) (any, error) {
	q := a.URL.Query()
	all, err := a.e.Store().ListSchedules(ctx, a.scope(a.value("scope")))
	if err != nil {
		return nil, err
	}
	shown, next, err := engine.PageOf(all, q.Get("after"), schedulesShown, func(s store.Schedule) string { return s.Scope.Name + "/" + s.Name })
	if err != nil {
		return nil, err
	}
	var d scheduleData
	if d.Scopes, err = a.choice(ctx, "scope", everyScope); err != nil {
		return nil, err
	}
	if next != "" {
		d.Next = a.next("after", next)
	}
	for _, s := range shown {
		row := scheduleRow{Schedule: s}
		times, err := a.e.Upcoming(ctx, s, 5)
		if err != nil {
			return nil, err
		}
		for _, t := range times {
			row.Upcoming = append(row.Upcoming, t.Format("Mon 2 Jan 15:04 MST"))
		}
		d.Rows = append(d.Rows, row)
	}
	return d, nil
}

type reviewData struct {
	Conflicts   []engine.Conflict
	Quarantined []engine.View
	Most        int // of each; as many may not be all
}

func (c *Console) review(ctx context.Context, a ask) (any, error) {
	d := reviewData{Most: pageSize}
	ms, err := a.e.Store().ListMemories(ctx, store.MemoryFilter{Tenant: a.Tenant, Status: []oxbow.Status{oxbow.Quarantined}, Limit: pageSize})
	if err != nil {
		return nil, err
	}
	if d.Quarantined, err = a.e.Views(ctx, ms); err != nil {
		return nil, err
	}
	d.Conflicts, err = a.e.Conflicts(ctx, store.ConflictFilter{Tenant: a.Tenant, Limit: pageSize})
	return d, err
}

type eventsData struct {
	Scope, Memory, Type string
	Types               []oxbow.EventType
	Scopes              choice
	Rows                []eventRow
	Next                string
	Live                bool
	From                string // the same events, as they come
}

// events gives the filter that a URL asks for.
func (a ask) events() (store.EventFilter, error) {
	q := a.URL.Query()
	f := store.EventFilter{Tenant: a.Tenant, Scope: a.value("scope")}
	var err error
	if t := q.Get("type"); t != "" {
		if f.Types, err = engine.EventTypesOf([]string{t}); err != nil {
			return f, err
		}
	}
	if m := strings.TrimSpace(q.Get("memory")); m != "" {
		f.Memory, err = a.e.Store().Resolve(a.ctx(), a.Tenant, "memory", m)
	}
	return f, err
}

func (c *Console) events(ctx context.Context, a ask) (any, error) {
	q := a.URL.Query()
	d := eventsData{Scope: a.value("scope"), Memory: strings.TrimSpace(q.Get("memory")), Type: q.Get("type"), Types: oxbow.EventTypes, Live: q.Get("live") != ""}
	f, err := a.events()
	if err != nil {
		return nil, err
	}
	f.Newest, f.Limit = true, pageSize
	f.AfterSeq, _ = strconv.ParseInt(q.Get("before"), 10, 64)
	if d.Scopes, err = a.choice(ctx, "scope", everyScope); err != nil {
		return nil, err
	}
	d.From = "?" + url.Values{"scope": {d.Scope}, "memory": {d.Memory}, "type": {d.Type}}.Encode()
	events, err := a.e.Store().Events(ctx, f)
	if err != nil {
		return nil, err
	}
	if len(events) == pageSize {
		d.Next = a.next("before", strconv.FormatInt(events[pageSize-1].Seq, 10))
	}
	d.Rows, err = rows(ctx, a, events)
	return d, err
}
