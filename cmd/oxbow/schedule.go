package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

func scheduleCommand(a *app) *cobra.Command {
	return group(a, "schedule", "See when passes run, pause and resume them", scheduleListCommand(a),
		schedulePausing(a, "pause", "Leave a schedule's slots out", "paused", true),
		schedulePausing(a, "resume", "Go on with a schedule's next slot", "resumed", false))
}

func scheduleListCommand(a *app) *cobra.Command {
	var scope string
	cmd := &cobra.Command{
		Use: "list", Short: "List schedules and when they are due", Args: noArgs,
		RunE: a.command(func(ctx context.Context, s *session, _ []string) error {
			all, err := s.st.ListSchedules(ctx, oxbow.Scope{Tenant: s.tenant, Name: scope})
			if err != nil {
				return err
			}
			if len(all) == 0 {
				s.say("no schedules; a scope gets them with its first memory")
			}
			zones := map[string]*time.Location{}
			for _, d := range all {
				if zones[d.Scope.Name], err = s.zone(ctx, d.Scope.Name); err != nil {
					return err
				}
			}
			return s.show(orEmpty(all), func(p *printer) { p.schedules(all, zones) })
		}),
	}
	cmd.Flags().StringVar(&scope, "scope", "", "only of this scope")
	return cmd
}

// schedules prints the slots in the zone of each scope, in which its cron lines
// are read too.
func (p *printer) schedules(all []store.Schedule, zones map[string]*time.Location) {
	t := newTable("SCOPE", "JOB", "CRON", "STATE", "LAST", "NEXT")
	for _, d := range all {
		zone := zones[d.Scope.Name]
		state, next := "on", stampIn(d.NextAt, zone)
		if d.Paused {
			state, next = "paused", "-"
		}
		t.add(d.Scope.Name, d.Name, d.Spec, state, stampIn(d.LastAt, zone), next)
	}
	p.table(t)
}

func schedulePausing(a *app, verb, short, did string, paused bool) *cobra.Command {
	var scope string
	cmd := &cobra.Command{
		Use: verb + " JOB", Short: short, Args: exactly("the name of a scheduled job"),
		RunE: a.command(func(ctx context.Context, s *session, args []string) error {
			if err := s.engine.SetSchedulePaused(ctx, oxbow.Scope{Tenant: s.tenant, Name: scope}, args[0], paused); err != nil {
				return err
			}
			return s.did("schedule", args[0], did)
		}),
	}
	cmd.Flags().StringVar(&scope, "scope", defaultScope, "of this scope")
	return cmd
}
