package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
)

func statusCommand(a *app) *cobra.Command {
	var scope string
	cmd := &cobra.Command{
		Use: "status", Short: "See how the memory and the queues stand", Args: noArgs,
		RunE: a.command(func(ctx context.Context, s *session, _ []string) error {
			st, err := s.engine.Status(ctx, oxbow.Scope{Tenant: s.tenant, Name: scope})
			if err != nil {
				return err
			}
			st.Queues = orEmpty(st.Queues)
			s.sayUnheeded(s.conf)
			if len(st.Memories) == 0 && len(st.Turns) == 0 {
				s.say("no memories yet; try: oxbow remember \"We use PostgreSQL\"")
			}
			return s.show(st, func(p *printer) { p.status(st) })
		}),
	}
	cmd.Flags().StringVar(&scope, "scope", "", "only of this scope")
	return cmd
}

func (p *printer) status(st engine.Status) {
	p.pair("database", st.Database)
	p.pair("judge", st.Judge)
	p.pair("memories", statuses(st.Memories))
	if st.Bare > 0 {
		hint := ""
		if st.Pending == 0 {
			hint = "; make them with: oxbow job run embed --all"
		}
		p.pair("vectors", fmt.Sprintf("%s no vector of %s yet%s", number(st.Bare, "memory has", "memories have"), st.Embedder, hint))
	}
	if st.Hintless > 0 {
		hint := ""
		if st.Pending == 0 {
			hint = "; index them with: oxbow job run reindex --all"
		}
		p.pair("index", fmt.Sprintf("%s not found by what %s about yet%s", number(st.Hintless, "memory is", "memories are"), map[bool]string{true: "it is", false: "they are"}[st.Hintless == 1], hint))
	}
	var turns []string
	for _, k := range []oxbow.TurnState{oxbow.TurnExtracted, oxbow.TurnWaiting, oxbow.TurnFailed, oxbow.TurnErased} {
		if n := st.Turns[k]; n > 0 {
			turns = append(turns, fmt.Sprintf("%d %s", n, k))
		}
	}
	p.pair("turns", orNone(strings.Join(turns, ", ")))
	workers := number(st.Workers, "is alive", "are alive")
	if st.Workers == 0 {
		workers = "none is alive; start one with: oxbow work"
	}
	p.pair("workers", workers)
	p.pair("jobs", fmt.Sprintf("%d waiting or running", st.Pending))
	p.budget(st.Budget)
	for _, q := range st.Queues {
		if q.Paused {
			p.pair("", fmt.Sprintf("the queue %s is paused; go on with: oxbow queue resume %s", q.Queue, q.Queue))
		}
	}
	if st.Discarded > 0 {
		p.pair("given up", number(st.Discarded, "job", "jobs")+"; see: oxbow job list --discarded")
	}
	if st.Refused > 0 {
		p.pair("refused", number(st.Refused, "of the judge's answers", "of the judge's answers")+" in the last day; the run says what it was: oxbow run list, and of single memories the log does: oxbow event list --type refused")
	}
	if n := st.Memories[oxbow.Quarantined]; n > 0 {
		p.pair("quarantined", number(n, "memory reads", "memories read")+" like orders to the agent; see: oxbow memory list --status quarantined")
	}
	for _, r := range st.Stopped {
		p.pair("stopped", fmt.Sprintf("%s in %s: %s", r.Name, r.Scope.Name, r.Note))
	}
	for i, d := range st.Next {
		name := ""
		if i == 0 {
			name = "next"
		}
		p.pair(name, fmt.Sprintf("%s  %s in %s", stamp(d.NextAt), d.Name, d.Scope.Name))
	}
}

// budget says how the day's tokens stand, and who waits for the next day's.
func (p *printer) budget(b *engine.Budget) {
	if b == nil {
		return
	}
	p.pair("tokens", fmt.Sprintf("%d of %d taken on %s", b.Taken, b.Limit, b.Day))
	if b.Waiting != "" {
		p.pair("", fmt.Sprintf("%s that need the model wait until %s; openai.budget raises the limit, oxbow llm cost shows what was taken",
			b.Waiting, stamp(b.Until)))
	}
}

// statuses writes counts in the order in which statuses are documented.
func statuses(counts map[oxbow.Status]int) string {
	var parts []string
	for _, s := range oxbow.Statuses {
		if n := counts[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	return orNone(strings.Join(parts, ", "))
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
