package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/store"
)

func runCommand(a *app) *cobra.Command {
	return group(a, "run", "See what jobs did together, and stop them", runListCommand(a), runShowCommand(a), runCancelCommand(a))
}

func runListCommand(a *app) *cobra.Command {
	var f store.RunFilter
	var status string
	cmd := &cobra.Command{
		Use: "list", Short: "List runs, the newest first", Args: noArgs,
		RunE: a.command(func(ctx context.Context, s *session, _ []string) error {
			if err := limited(f.Limit); err != nil {
				return err
			}
			if status != "" {
				if err := oneOfFlag("status", status, "running", "done", "stopped", "failed"); err != nil {
					return err
				}
			}
			f.Tenant, f.Status = s.tenant, oxbow.RunStatus(status)
			runs, err := s.engine.Runs(ctx, f)
			if err != nil {
				return err
			}
			if len(runs) == 0 {
				s.say("no such runs; start one with: oxbow job run decay --all")
			}
			return s.show(orEmpty(runs), func(p *printer) { p.runs(runs) })
		}),
	}
	fs := cmd.Flags()
	fs.StringVar(&f.Scope, "scope", "", "only of this scope")
	fs.StringVar(&f.Name, "name", "", "only of this name, such as write or decay")
	fs.StringVar(&status, "status", "", "running, done, stopped or failed")
	fs.IntVar(&f.Limit, "limit", 50, "at most so many, up to 1000")
	return cmd
}

func (p *printer) runs(runs []oxbow.Run) {
	t := newTable("RUN", "NAME", "SCOPE", "ABOUT", "STATUS", "BY", "WHAT")
	for _, r := range runs {
		t.add(engine.Short(r.ID), r.Name, r.Scope.Name, stamp(r.About), string(r.Status), r.Trigger, tallied(r))
	}
	p.table(t)
}

// tallied writes a run's counts, and why it stopped.
func tallied(r oxbow.Run) string {
	var parts []string
	due := r.Counts[jobs.Due]
	for name, n := range r.Counts {
		switch {
		case n == 0 || name == jobs.Due:
		case due > 0 && (name == "embedded" || name == "indexed"):
			parts = append(parts, fmt.Sprintf("%d of %d %s", n, due, name))
		default:
			parts = append(parts, fmt.Sprintf("%d %s", n, name))
		}
	}
	slices.Sort(parts)
	if r.Note != "" {
		parts = append(parts, r.Note)
	}
	if len(parts) == 0 && r.Status == oxbow.RunDone {
		return "nothing to change"
	}
	return strings.Join(parts, ", ")
}

func runShowCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show a run and what it changed", Args: exactly("the id of a run"),
		RunE: a.command(func(ctx context.Context, s *session, args []string) error {
			run, err := s.engine.Run(ctx, s.tenant, args[0])
			if err != nil {
				return err
			}
			events, err := s.allEvents(ctx, store.EventFilter{Tenant: s.tenant, Run: run.ID})
			if err != nil {
				return err
			}
			lines, err := s.engine.EventLines(ctx, s.tenant, events)
			if err != nil {
				return err
			}
			out := struct {
				oxbow.Run
				Events []oxbow.Event `json:"events"`
			}{run, orEmpty(events)}
			return s.show(out, func(p *printer) {
				p.run(run)
				p.events(events, lines)
			})
		}),
	}
}

func runCancelCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "cancel ID", Short: "Stop a run, such as one that embeds a whole scope", Args: exactly("the id of a run"),
		Long: "Stop a run and cancel its jobs. What it did stays; started anew, embed and reindex go on with what is left.",
		RunE: a.command(func(ctx context.Context, s *session, args []string) error {
			run, err := s.engine.CancelRun(ctx, s.tenant, args[0])
			if err != nil {
				return err
			}
			return s.show([]oxbow.Run{run}, func(p *printer) { p.runs([]oxbow.Run{run}) })
		}),
	}
}

// allEvents pages through a filter.
func (s *session) allEvents(ctx context.Context, f store.EventFilter) ([]oxbow.Event, error) {
	f.Limit = 1000
	var out []oxbow.Event
	for {
		page, err := s.st.Events(ctx, f)
		if err != nil {
			return nil, err
		}
		out = append(out, page...)
		if len(page) < f.Limit {
			return out, nil
		}
		f.AfterSeq = page[len(page)-1].Seq
	}
}

func (p *printer) run(r oxbow.Run) {
	p.line("%s %s in %s, %s", p.bold(r.ID), r.Name, r.Scope.Name, string(r.Status))
	p.pair("about", stamp(r.About))
	p.pair("by", r.Trigger)
	took := ""
	if !r.FinishedAt.IsZero() {
		took = ", took " + r.FinishedAt.Sub(r.StartedAt).Round(time.Millisecond).String()
	}
	p.pair("started", stamp(r.StartedAt)+took)
	r.Note, r.Status = "", oxbow.RunRunning
	p.pair("counts", tallied(r))
}
