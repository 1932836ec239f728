package api

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/store"
)

type runsInput struct {
	Page
	Scope  string `query:"scope"`
	Name   string `query:"name" doc:"such as decay"`
	Status string `query:"status" enum:"running,done,stopped,failed"`
}

type runInput struct{ ID }

type cancelRunInput struct {
	Repeat
	ID
}

func (a *API) runs() {
	route(a, op{"GET", "/v1/runs", "list-runs", "runs", "List runs, newest first", oxbow.MayRead, 0},
		listRuns)
	route(a, op{"GET", "/v1/runs/{id}", "get-run", "runs", "One run with its counts", oxbow.MayRead, 0},
		func(ctx context.Context, c call, in *runInput) (oxbow.Run, error) {
			return c.e.Run(ctx, c.Tenant, in.ID.ID)
		})
	route(a, op{"POST", "/v1/runs/{id}/cancel", "cancel-run", "runs", "Stop a run, such as one that embeds a whole scope; what it did stays", oxbow.MayMaintain, 0},
		func(ctx context.Context, c call, in *cancelRunInput) (oxbow.Run, error) {
			return c.e.CancelRun(ctx, c.Tenant, in.ID.ID)
		})
	route(a, op{"GET", "/v1/stats", "stats", "runs", "How the tenant's memory and its jobs stand; an operator sees the queues too", oxbow.MayRead, 0},
		func(ctx context.Context, c call, in *struct {
			Scope string `query:"scope"`
			Fresh bool   `query:"fresh" doc:"Count anew also what is kept for a minute; counted_at says when it was counted."`
		}) (engine.Status, error) {
			e := c.e
			if in.Fresh {
				e = e.Anew()
			}
			st, err := e.Status(ctx, c.scope(in.Scope))
			return st.Seen(c.Caller), err
		})
}

func listRuns(ctx context.Context, c call, in *runsInput) (list[oxbow.Run], error) {
	f := store.RunFilter{Tenant: c.Tenant, Scope: in.Scope, Name: in.Name, Status: oxbow.RunStatus(in.Status), Limit: in.Limit}
	last, err := engine.Behind(in.Cursor, func(id string) (oxbow.Run, error) { return c.e.Store().Run(ctx, c.Tenant, id) })
	if err != nil {
		return list[oxbow.Run]{}, err
	}
	f.AfterID = last.ID
	rs, err := c.e.Runs(ctx, f)
	return listOf(rs, in.Limit, func(r oxbow.Run) string { return r.ID }), err
}

type jobsInput struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"50"`
	Cursor string `query:"cursor" maxLength:"20"`
	Kind   string `query:"kind"`
	State  string `query:"state" enum:"available,running,scheduled,retryable,pending,completed,cancelled,discarded"`
	Run    string `query:"run"`
}

type startInput struct {
	Once
	Body struct {
		Name         string    `json:"name" doc:"decay, expire, prune, cluster, extract, contradiction, embed, graph, reindex, observe or reflect" example:"decay"`
		Scopes       []string  `json:"scopes,omitempty" maxItems:"1000" doc:"every scope of the tenant when it is empty"`
		Since        time.Time `json:"since,omitzero" doc:"extract, contradiction: what was said since then"`
		Memory       string    `json:"memory,omitempty" doc:"contradiction: only this one"`
		Conversation string    `json:"conversation,omitempty" maxLength:"1024" doc:"observe, reflect: only this one"`
		MaxShare     float64   `json:"max_share,omitempty" minimum:"0" maximum:"1" doc:"replaces the brake of a pass"`
		DryRun       bool      `json:"dry_run,omitempty" doc:"say what would change, and change nothing"`
	}
}

// started is what a job by hand gives: runs, or the plan of a dry run.
type started struct {
	Runs []string  `json:"runs"`
	Plan []planned `json:"plan,omitempty"`
}

// location is where the run shows, when there is one.
func (s started) location() string {
	if len(s.Runs) != 1 {
		return ""
	}
	return "/v1/runs/" + s.Runs[0]
}

type planned struct {
	Scope   string                 `json:"scope"`
	Changes []engine.PlannedChange `json:"changes"`
	Braked  bool                   `json:"braked" doc:"the brake would stop it there"`
	Refused int                    `json:"refused,omitempty" doc:"observe, reflect: proposals of the judge that the gate would refuse"`
	Why     string                 `json:"why,omitempty" doc:"why it would refuse the last of them"`
}

type jobInput struct {
	ID int64 `path:"id" minimum:"1"`
}

func (a *API) jobs() {
	route(a, op{"GET", "/v1/jobs", "list-jobs", "jobs", "List the tenant's jobs, newest first; finished ones are kept for a day", oxbow.MayRead, 0}, listJobs)
	route(a, op{"POST", "/v1/jobs", "run-job", "jobs", "Start a job by hand, or see what it would change", oxbow.MayMaintain, http.StatusAccepted}, startJob)
	route(a, op{"GET", "/v1/jobs/{id}", "get-job", "jobs", "One job", oxbow.MayRead, 0},
		func(ctx context.Context, c call, in *jobInput) (store.Job, error) {
			return c.e.Job(ctx, c.Tenant, in.ID)
		})
	a.jobVerb("retry", "Let a job run at once", (*engine.Engine).RetryJob)
	a.jobVerb("cancel", "Cancel a job, running or not", (*engine.Engine).CancelJob)
	route(a, op{"GET", "/v1/queues", "list-queues", "queues", "Every queue of the instance and what waits in it", oxbow.MayOperate, 0},
		func(ctx context.Context, c call, _ *struct{}) (list[store.QueueStat], error) {
			qs, err := c.e.Store().QueueStats(ctx)
			return listOf(qs, -1, nil), err
		})
	a.queueVerb("pause", "Let a queue's jobs wait, at every worker", true)
	a.queueVerb("resume", "Let a queue's jobs run again", false)
}

func listJobs(ctx context.Context, c call, in *jobsInput) (list[store.Job], error) {
	f := store.JobFilter{Tenant: c.Tenant, Kind: in.Kind, State: in.State, Limit: in.Limit}
	var err error
	if in.Cursor != "" {
		if f.BeforeID, err = strconv.ParseInt(in.Cursor, 10, 64); err != nil || f.BeforeID < 1 {
			return list[store.Job]{}, noCursor(in.Cursor)
		}
	}
	if in.Run != "" {
		if f.Run, err = c.e.Store().Resolve(ctx, c.Tenant, "run", in.Run); err != nil {
			return list[store.Job]{}, err
		}
	}
	js, err := c.e.Store().ListJobs(ctx, f)
	return listOf(js, in.Limit, func(j store.Job) string { return strconv.FormatInt(j.ID, 10) }), err
}

func startJob(ctx context.Context, c call, in *startInput) (started, error) {
	b := in.Body
	o := engine.Order{Name: b.Name, Tenant: c.Tenant, Scopes: b.Scopes, Since: b.Since, Memory: b.Memory, Conversation: b.Conversation, MaxShare: b.MaxShare}
	out := started{Runs: []string{}}
	if !b.DryRun {
		runs, err := c.e.RunJob(ctx, o)
		out.Runs = append(out.Runs, runs...)
		return out, err
	}
	plan, err := c.e.PlanJob(ctx, o)
	for _, p := range plan {
		lines, err := c.e.PlanLines(ctx, c.Tenant, p.Changes)
		if err != nil {
			return out, err
		}
		out.Plan = append(out.Plan, planned{Scope: p.Scope.Name, Changes: lines, Braked: p.Braked, Refused: p.Refused, Why: p.Why})
	}
	return out, err
}

// jobVerb adds a route that does one thing to one job and gives it as it stands.
func (a *API) jobVerb(verb, short string, do func(*engine.Engine, context.Context, string, int64) error) {
	route(a, op{"POST", "/v1/jobs/{id}/" + verb, verb + "-job", "jobs", short, oxbow.MayMaintain, 0},
		func(ctx context.Context, c call, in *jobInput) (store.Job, error) {
			if err := do(c.e, ctx, c.Tenant, in.ID); err != nil {
				return store.Job{}, err
			}
			return c.e.Job(ctx, c.Tenant, in.ID)
		})
}

type queueInput struct {
	Queue string `path:"queue" maxLength:"64"`
}

// paused says how a queue or a schedule stands now.
type paused struct {
	Name   string `json:"name"`
	Paused bool   `json:"paused"`
}

func (a *API) queueVerb(verb, short string, pause bool) {
	route(a, op{"POST", "/v1/queues/{queue}/" + verb, verb + "-queue", "queues", short, oxbow.MayOperate, 0},
		func(ctx context.Context, c call, in *queueInput) (paused, error) {
			return paused{in.Queue, pause}, c.e.SetQueuePaused(ctx, in.Queue, pause)
		})
}
