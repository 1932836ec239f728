package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow/store"
)

func queueCommand(a *app) *cobra.Command {
	return group(a, "queue", "See the queues, pause and resume them", queueListCommand(a),
		queuePausing(a, "pause", "Let a queue's jobs wait, at every worker", "paused", true),
		queuePausing(a, "resume", "Let a queue's jobs run again", "resumed", false))
}

func queueListCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the queues and what waits in them", Args: noArgs,
		RunE: a.command(func(ctx context.Context, s *session, _ []string) error {
			stats, err := s.st.QueueStats(ctx)
			if err != nil {
				return err
			}
			if len(stats) == 0 {
				s.say("no queue was used yet; oxbow work opens them")
			}
			return s.show(orEmpty(stats), func(p *printer) { p.queues(stats) })
		}),
	}
}

func (p *printer) queues(stats []store.QueueStat) {
	t := newTable("QUEUE", "STATE", "READY", "RUNNING", "FOR LATER", "FAILED ONCE", "OLDEST")
	for _, q := range stats {
		state, oldest := "open", "-"
		if q.Paused {
			state = "paused"
		}
		if !q.OldestAt.IsZero() {
			oldest = ago(time.Since(q.OldestAt))
		}
		t.add(q.Queue, state, fmt.Sprint(q.Available), fmt.Sprint(q.Running), fmt.Sprint(q.Scheduled), fmt.Sprint(q.Retryable), oldest)
	}
	p.table(t)
}

func queuePausing(a *app, verb, short, did string, paused bool) *cobra.Command {
	return &cobra.Command{
		Use: verb + " QUEUE", Short: short, Args: exactly("the name of a queue"),
		RunE: a.command(func(ctx context.Context, s *session, args []string) error {
			if err := s.engine.SetQueuePaused(ctx, args[0], paused); err != nil {
				return err
			}
			if !paused {
				if _, err := s.settleJobs(ctx, "", false, judging); err != nil {
					return err
				}
			}
			return s.did("queue", args[0], did)
		}),
	}
}
