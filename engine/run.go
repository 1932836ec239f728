package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/schedule"
	"github.com/oxbow-memory/oxbow/store"
)

// Passes are the periodic jobs that can be started by hand.
var Passes = jobs.Passes

// Order asks for a job by hand.
type Order struct {
	Name   string // decay, expire, prune, cluster, extract, contradiction, embed, graph, observe, reflect or reindex
	Tenant string
	Scopes []string  // empty means every scope of the tenant
	Since  time.Time // extract, contradiction: what was said since then
	Memory string    // contradiction: only this one
	// Conversation narrows observe and reflect to one, by its name.
	Conversation string
	Fresh        bool    // extract, contradiction: answers that a model gave before do not count
	MaxShare     float64 // replaces the brake of a pass when it is over 0
	// DropOthers has embed take the vectors of other embedders away when all
	// memories have one of this embedder.
	DropOthers bool
}

// Planned is what a dry run would change in one scope.
type Planned struct {
	Scope   oxbow.Scope    `json:"scope"`
	Changes []oxbow.Change `json:"changes"`
	Braked  bool           `json:"braked"` // the brake would stop it there
	// Refused counts, of observe and reflect, what the gate would refuse of the
	// judge's proposals, and Why says why it would refuse the last one, where it is
	// known.
	Refused int    `json:"refused,omitempty"`
	Why     string `json:"why,omitempty"`
}

// RunJob enqueues a job in each scope and gives the runs. not_found for a scope
// that does not exist, invalid for a job that cannot be started by hand.
func (e *Engine) RunJob(ctx context.Context, o Order) ([]string, error) {
	scopes, err := e.orderScopes(ctx, o)
	if err != nil {
		return nil, err
	}
	var runs []string
	for _, s := range scopes {
		run, err := e.runIn(ctx, o, s)
		if err != nil {
			return runs, err
		}
		runs = append(runs, run)
	}
	return runs, nil
}

func (e *Engine) runIn(ctx context.Context, o Order, s oxbow.Scope) (string, error) {
	switch o.Name {
	case "extract":
		return e.extractAgain(ctx, o, s)
	case "contradiction":
		return e.judgeAgain(ctx, o, s)
	case "embed":
		return e.embedMissing(ctx, o, s)
	case "graph":
		return e.drawMissing(ctx, o, s)
	case "reindex":
		args := jobs.Reindex{About: e.passArgs(o, s).About}
		return e.startOnce(ctx, s, args.Run, func(ctx context.Context, tx store.Tx) error {
			return tx.Enqueue(ctx, []river.InsertManyParams{insert(args)})
		})
	case "observe", "reflect":
		return e.condense(ctx, o, s)
	}
	args := e.passArgs(o, s)
	job, err := jobs.NewPass(o.Name, args)
	if err != nil {
		return "", err
	}
	return e.startOnce(ctx, s, args.Run, func(ctx context.Context, tx store.Tx) error {
		return tx.Enqueue(ctx, []river.InsertManyParams{insert(job)})
	})
}

// startOnce starts a run in a scope and gives its id, or that of the run that
// the same request started before.
func (e *Engine) startOnce(ctx context.Context, s oxbow.Scope, run string, fn func(context.Context, store.Tx) error) (string, error) {
	was := served{Run: run}
	err := e.st.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
		was = served{Run: run}
		if err := e.once(ctx, tx, s.Tenant, s.Name, &was); err != nil {
			return err
		}
		return fn(ctx, tx)
	})
	if errors.Is(err, errServed) {
		return was.Run, nil
	}
	return run, err
}

func (e *Engine) passArgs(o Order, s oxbow.Scope) jobs.PassArgs {
	now := e.now()
	return jobs.PassArgs{MaxShare: o.MaxShare, About: jobs.About{Tenant: s.Tenant, Scope: s.Name, Now: now, Trigger: "operator",
		Run: jobs.PassRun(o.Name, s, now, "operator")}}
}

// embedMissing gives every memory of a scope that has no vector of the embedder
// a vector.
func (e *Engine) embedMissing(ctx context.Context, o Order, s oxbow.Scope) (string, error) {
	if e.deps.Embedder == nil {
		return "", oxbow.Errorf(oxbow.CodeUnsupported, "there is no embedder: set embedder in the configuration, as oxbow config show has it")
	}
	args := jobs.Embed{About: e.passArgs(o, s).About, DropOthers: o.DropOthers}
	return e.startOnce(ctx, s, args.Run, func(ctx context.Context, tx store.Tx) error {
		return tx.Enqueue(ctx, []river.InsertManyParams{insert(args)})
	})
}

// drawMissing puts every memory of a scope into the graph that its grapher has not
// read.
func (e *Engine) drawMissing(ctx context.Context, o Order, s oxbow.Scope) (string, error) {
	if e.deps.Grapher == nil {
		return "", oxbow.Errorf(oxbow.CodeUnsupported, "nothing reads memories for the graph: set graph in the configuration, as oxbow config show has it")
	}
	args := jobs.Graph{About: e.passArgs(o, s).About}
	return e.startOnce(ctx, s, args.Run, func(ctx context.Context, tx store.Tx) error {
		return tx.Enqueue(ctx, []river.InsertManyParams{insert(args)})
	})
}

// condense has the conversations of a scope observed or their observations
// condensed, however little there is.
func (e *Engine) condense(ctx context.Context, o Order, s oxbow.Scope) (string, error) {
	if e.deps.Observer == nil {
		_, err := llm.ObserverOf(e.judge)
		return "", err
	}
	a := e.passArgs(o, s).About
	a.Run = oxbow.NewID(a.Run, o.Conversation)
	var job river.JobArgs = jobs.Observe{Tenant: s.Tenant, Scope: s.Name, Conversation: o.Conversation, Run: a.Run, Now: a.Now}
	if o.Name == "reflect" {
		job = jobs.Reflect{Tenant: s.Tenant, Scope: s.Name, Conversation: o.Conversation, Run: a.Run, Now: a.Now}
	}
	return e.startOnce(ctx, s, a.Run, func(ctx context.Context, tx store.Tx) error {
		return tx.Enqueue(ctx, []river.InsertManyParams{insert(job)})
	})
}

// planCondense gives what condense would change.
func (e *Engine) planCondense(ctx context.Context, o Order, scope oxbow.Scope) (jobs.CondensePlan, error) {
	s, err := e.st.Scope(ctx, scope)
	if err != nil {
		return jobs.CondensePlan{}, err
	}
	if o.Name == "reflect" {
		return e.deps.PlanReflect(ctx, s, o.Conversation)
	}
	return e.deps.PlanObserve(ctx, s, o.Conversation)
}

func (e *Engine) orderScopes(ctx context.Context, o Order) ([]oxbow.Scope, error) {
	if !slices.Contains(slices.Concat(jobs.ByHand, jobs.Passes), o.Name) {
		_, err := jobs.NewPass(o.Name, jobs.PassArgs{})
		return nil, err
	}
	if o.Fresh && o.Name != "extract" && o.Name != "contradiction" {
		return nil, oxbow.Errorf(oxbow.CodeInvalid, "%s cannot be asked for anew: extract and contradiction can", o.Name)
	}
	if o.Conversation = text.Normalise(o.Conversation); o.Conversation != "" && o.Name != "observe" && o.Name != "reflect" {
		return nil, oxbow.Errorf(oxbow.CodeInvalid, "%s works whole scopes: only observe and reflect take a conversation", o.Name)
	}
	if o.DropOthers && o.Name != "embed" {
		return nil, oxbow.Errorf(oxbow.CodeInvalid, "%s makes no vectors: only embed drops those of other embedders", o.Name)
	}
	if o.MaxShare < 0 || o.MaxShare > 1 {
		return nil, oxbow.Errorf(oxbow.CodeInvalid, "the share is %v: use a number over 0 and up to 1", o.MaxShare)
	}
	if o.Memory != "" { // it stands in one scope, whatever others were named
		m, err := e.Memory(ctx, o.Tenant, o.Memory)
		return []oxbow.Scope{m.Scope}, err
	}
	var out []oxbow.Scope
	for _, name := range o.Scopes {
		s, err := e.st.Scope(ctx, oxbow.Scope{Tenant: o.Tenant, Name: name})
		if err != nil {
			return nil, err
		}
		out = append(out, s.Scope)
	}
	if len(o.Scopes) > 0 {
		return out, nil
	}
	all, err := e.st.ListScopes(ctx, o.Tenant)
	for _, s := range all {
		out = append(out, s.Scope)
	}
	return out, err
}

// extractAgain opens turns for another reading; what the earlier one made stays.
func (e *Engine) extractAgain(ctx context.Context, o Order, s oxbow.Scope) (string, error) {
	run := e.newRun(s, "extract", "operator")
	return e.startOnce(ctx, s, run.ID, func(ctx context.Context, tx store.Tx) error {
		if _, err := tx.LockScope(ctx, s, e.now()); err != nil {
			return err
		}
		n, err := tx.ReopenTurns(ctx, s, o.Since, false)
		if err != nil {
			return err
		}
		run.Counts = map[string]int{"turns": n}
		if err := tx.PutRun(ctx, run); err != nil {
			return err
		}
		return tx.Enqueue(ctx, []river.InsertManyParams{insert(jobs.Extract{Tenant: s.Tenant, Scope: s.Name, Again: run.ID, Fresh: o.Fresh})})
	})
}

// againPage bounds one transaction of re-judging.
const againPage = 500

// judgeAgain enqueues the contradiction job of every memory said since then.
func (e *Engine) judgeAgain(ctx context.Context, o Order, s oxbow.Scope) (string, error) {
	run := e.newRun(s, "contradiction", "operator")
	id, err := e.startOnce(ctx, s, run.ID, func(ctx context.Context, tx store.Tx) error { return tx.PutRun(ctx, run) })
	if err != nil || id != run.ID {
		return id, err
	}
	return run.ID, e.eachJudged(ctx, o, s, func(ms []oxbow.Memory) error {
		return e.st.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
			run.Counts = map[string]int{"memories": len(ms)}
			if err := tx.PutRun(ctx, run); err != nil {
				return err
			}
			var next []river.InsertManyParams
			for _, m := range ms {
				a := about(run)
				a.Now, a.Again, a.Fresh, a.Asked = m.SaidAt, run.ID, o.Fresh, o.Memory != ""
				next = append(next, insert(jobs.NewContradiction(a, m)))
			}
			return tx.Enqueue(ctx, next)
		})
	})
}

func (e *Engine) eachJudged(ctx context.Context, o Order, s oxbow.Scope, fn func([]oxbow.Memory) error) error {
	if o.Memory != "" {
		m, err := e.Memory(ctx, o.Tenant, o.Memory)
		if err != nil || m.Scope != s {
			return err
		}
		return fn([]oxbow.Memory{m})
	}
	after := ""
	for {
		ms, err := e.st.ListMemories(ctx, store.MemoryFilter{Tenant: s.Tenant, Scope: s.Name, Since: o.Since, AfterID: after,
			Status: []oxbow.Status{oxbow.Active, oxbow.Superseded, oxbow.Compressed}, Limit: againPage})
		if err != nil || len(ms) == 0 {
			return err
		}
		if err := fn(ms); err != nil || len(ms) < againPage {
			return err
		}
		after = ms[len(ms)-1].ID
	}
}

// PlanJob gives exactly what RunJob would change, and changes nothing.
func (e *Engine) PlanJob(ctx context.Context, o Order) ([]Planned, error) {
	scopes, err := e.orderScopes(ctx, o)
	if err != nil {
		return nil, err
	}
	if o.Fresh {
		ctx = llm.WithCaller(ctx, llm.Caller{Anew: oxbow.NewID("plan", e.now().String())})
	}
	var out []Planned
	for _, s := range scopes {
		p := Planned{Scope: s}
		switch o.Name {
		case "extract":
			p.Changes, err = e.deps.PlanExtract(ctx, s, o.Since)
		case "contradiction":
			p.Changes, err = e.planJudging(ctx, o, s)
		case "graph", "reindex", "embed":
			err = oxbow.Errorf(oxbow.CodeInvalid, "%s changes no memory, so there is nothing to plan: run it to make what is missing", o.Name)
		case "observe", "reflect":
			var plan jobs.CondensePlan
			plan, err = e.planCondense(ctx, o, s)
			p.Changes, p.Refused, p.Why = plan.Changes, plan.Refused, plan.Why
		default:
			p.Changes, p.Braked, err = e.deps.PlanPass(ctx, o.Name, e.passArgs(o, s))
		}
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

func (e *Engine) planJudging(ctx context.Context, o Order, s oxbow.Scope) ([]oxbow.Change, error) {
	var out []oxbow.Change
	seen := map[string]bool{}
	err := e.eachJudged(ctx, o, s, func(ms []oxbow.Memory) error {
		for _, m := range ms {
			changes, err := e.deps.PlanContradiction(ctx, s.Tenant, m.ID)
			if err != nil {
				return err
			}
			for _, c := range changes {
				if key := string(c.Type) + c.Memory; !seen[key] {
					seen[key] = true
					out = append(out, c)
				}
			}
		}
		return nil
	})
	return out, err
}

// Tick enqueues the schedules' slots that are due now.
func (e *Engine) Tick(ctx context.Context) (int, error) { return schedule.Tick(ctx, e.st, e.now()) }
