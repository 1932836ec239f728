package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow/store"
)

func jobCommand(a *app) *cobra.Command {
	return group(a, "job", "Start jobs by hand, and see to those in the queue",
		jobRunCommand(a), jobListCommand(a), jobShowCommand(a), jobRetryCommand(a), jobCancelCommand(a))
}

func jobListCommand(a *app) *cobra.Command {
	var f store.JobFilter
	var discarded bool
	cmd := &cobra.Command{
		Use: "list", Short: "List jobs, the newest first", Args: noArgs,
		RunE: a.command(func(ctx context.Context, s *session, _ []string) error {
			if err := limited(f.Limit); err != nil {
				return err
			}
			if f.State != "" && !slices.Contains(store.JobStates, f.State) {
				return oneOfFlag("state", f.State, store.JobStates...)
			}
			if discarded {
				return s.listDiscarded(ctx, f.Limit)
			}
			f.Tenant = s.tenant
			return s.listJobs(ctx, f)
		}),
	}
	fs := cmd.Flags()
	fs.BoolVar(&discarded, "discarded", false, "those that were given up")
	fs.StringVar(&f.Kind, "kind", "", "only of this kind, such as contradiction")
	fs.StringVar(&f.State, "state", "", "only in this state: "+strings.Join(store.JobStates, ", "))
	fs.StringVar(&f.Run, "run", "", "only of this run")
	fs.IntVar(&f.Limit, "limit", 50, "at most so many, up to 1000")
	return cmd
}

// jobAbout is what the arguments of most jobs have.
type jobAbout struct {
	Scope  string `json:"scope"`
	Memory string `json:"memory"`
}

func aboutJob(args json.RawMessage) string {
	var about jobAbout
	if json.Unmarshal(args, &about) != nil {
		return ""
	}
	return strings.TrimSpace(about.Scope + " " + about.Memory)
}

func (s *session) listJobs(ctx context.Context, f store.JobFilter) error {
	if f.Run != "" {
		run, err := s.st.Resolve(ctx, s.tenant, "run", f.Run)
		if err != nil {
			return err
		}
		f.Run = run
	}
	found, err := s.st.ListJobs(ctx, f)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		s.say("no such jobs; finished ones are kept for a day")
	}
	return s.show(orEmpty(found), func(p *printer) {
		t := newTable("JOB", "KIND", "QUEUE", "STATE", "ATTEMPT", "FOR", "ABOUT", "ERROR")
		for _, j := range found {
			t.add(fmt.Sprint(j.ID), j.Kind, j.Queue, j.State, fmt.Sprintf("%d/%d", j.Attempt, j.MaxAttempts), stamp(j.ScheduledAt), aboutJob(j.Args), lastOf(j.Errors))
		}
		p.table(t)
	})
}

func lastOf(v []string) string {
	if len(v) == 0 {
		return ""
	}
	return v[len(v)-1]
}

func (s *session) listDiscarded(ctx context.Context, limit int) error {
	gone, err := s.st.ListDiscarded(ctx, s.tenant, limit)
	if err != nil {
		return err
	}
	if len(gone) == 0 {
		s.say("no job was given up")
	}
	return s.show(orEmpty(gone), func(p *printer) {
		t := newTable("ID", "KIND", "GIVEN UP", "ABOUT", "ERROR")
		for _, d := range gone {
			t.add(d.ID, d.Kind, stamp(d.At), aboutJob(d.Args), d.Error)
		}
		p.table(t)
		if len(gone) > 0 {
			s.say("try one again with: oxbow job retry ID")
		}
	})
}

func jobShowCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "show JOB", Short: "Show a job", Args: exactly("the number of a job"),
		RunE: a.command(func(ctx context.Context, s *session, args []string) error {
			id, err := jobNumber(args[0])
			if err != nil {
				return err
			}
			j, err := s.engine.Job(ctx, s.tenant, id)
			if err != nil {
				return err
			}
			return s.show(j, func(p *printer) { p.job(j) })
		}),
	}
}

func jobNumber(v string) (int64, error) {
	id, err := strconv.ParseInt(v, 10, 64)
	if err != nil || id < 1 {
		return 0, usage("%q is not the number of a job; oxbow job list shows them", v)
	}
	return id, nil
}

func (p *printer) job(j store.Job) {
	p.line("job %d, %s", j.ID, p.bold(j.Kind))
	p.pair("queue", j.Queue)
	p.pair("state", j.State)
	p.pair("attempt", fmt.Sprintf("%d of %d", j.Attempt, j.MaxAttempts))
	p.pair("made", stamp(j.CreatedAt))
	p.pair("for", stamp(j.ScheduledAt))
	if !j.FinalizedAt.IsZero() {
		p.pair("ended", stamp(j.FinalizedAt))
	}
	p.pair("arguments", string(j.Args))
	for _, e := range j.Errors {
		p.pair("error", e)
	}
}

func jobRetryCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "retry JOB|ID", Short: "Try a job again: a number of job list, or an id of job list --discarded",
		Args: exactly("the number of a job, or the id of a discarded one"),
		RunE: a.command(func(ctx context.Context, s *session, args []string) error {
			if id, err := strconv.ParseInt(args[0], 10, 64); err == nil && len(args[0]) < 16 {
				err = s.engine.RetryJob(ctx, s.tenant, id)
				return s.retried(ctx, args[0], err)
			}
			id, err := s.engine.ResolveDiscarded(ctx, s.tenant, args[0])
			if err == nil {
				err = s.engine.RetryDiscarded(ctx, s.tenant, id)
			}
			return s.retried(ctx, id, err)
		}),
	}
}

func (s *session) retried(ctx context.Context, id string, err error) error {
	if err != nil {
		return err
	}
	if _, err := s.settleJobs(ctx, "", false, judging); err != nil {
		return err
	}
	return s.did("job", id, "retried")
}

// did prints what was done to which thing.
func (s *session) did(what, name, done string) error {
	return s.show(map[string]string{what: name, "done": done}, func(p *printer) { p.line("%s %s %s", done, what, name) })
}

func jobCancelCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "cancel JOB", Short: "Cancel a job, running or not", Args: exactly("the number of a job"),
		RunE: a.command(func(ctx context.Context, s *session, args []string) error {
			id, err := jobNumber(args[0])
			if err != nil {
				return err
			}
			if err := s.engine.CancelJob(ctx, s.tenant, id); err != nil {
				return err
			}
			return s.did("job", args[0], "cancelled")
		}),
	}
}
