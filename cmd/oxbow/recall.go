package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/recall"
)

type recallFlags struct {
	scope, strategy, slot, kind, tag, asOf, goal, step, conversation string
	open, include                                                    []string
	limit, budget                                                    int
	floor                                                            float64
	explain, block, passive                                          bool
}

func recallCommand(a *app) *cobra.Command {
	var f recallFlags
	cmd := &cobra.Command{
		Use:   "recall QUERY",
		Short: "Find the memories that answer a question",
		Long: `Find the memories that answer a question, the best first. Only what is active, not
past its end and not faded is recalled, and nothing is printed when nothing fits.

What is recalled counts as used, once a day, because somebody asked for it. --passive
says that nobody did: the results are put into a prompt by themselves.`,
		Example: `  oxbow recall "do we use PostgreSQL or MySQL?"
  oxbow recall "timezone" --strategy facts --slot user
  oxbow recall "deploy failed: exit 137" --strategy composite --goal "ship 2.1" --step deploy
  oxbow recall "where do I live?" --as-of 2026-03-01
  oxbow recall "PostgreSQL" --include superseded --explain`,
		RunE: a.asksFor(&f),
	}
	fs := cmd.Flags()
	fs.StringVar(&f.scope, "scope", defaultScope, "the scope that is asked")
	fs.StringVar(&f.strategy, "strategy", recall.Hybrid, "how: "+strings.Join(recall.Strategies(), ", "))
	fs.IntVar(&f.limit, "limit", 0, "at most so many, 1 to 100 (default: the strategy's own)")
	fs.Float64Var(&f.floor, "floor", 0, "leave out what scores less, 0 to 1 (default: the strategy's own)")
	fs.IntVar(&f.budget, "budget", 0, "how many tokens the results may take; the rest is summed up (default: no limit)")
	fs.StringVar(&f.asOf, "as-of", "", "answer with what was known then: a date (its end), an instant, or how long ago, such as 30d")
	fs.StringVar(&f.goal, "goal", "", "what the agent is after")
	fs.StringVar(&f.step, "step", "", "what it is doing for that now")
	fs.StringArrayVar(&f.open, "open", nil, "a question that is open; can be given several times")
	fs.StringSliceVar(&f.include, "include", nil, "statuses beside active: superseded, compressed, expired, archived")
	fs.StringVar(&f.kind, "kind", "", "only of this kind")
	fs.StringVar(&f.tag, "tag", "", "only with this tag")
	fs.StringVar(&f.slot, "slot", "", "only facts of this slot: user, project or agent")
	fs.BoolVar(&f.explain, "explain", false, "show what each stage made of each result")
	fs.BoolVar(&f.block, "block", false, "print the labelled block that belongs before a user's turn")
	fs.StringVar(&f.conversation, "conversation", "", "where the results are shown: what is said there of them afterwards confirms nothing")
	fs.BoolVar(&f.passive, "passive", false, "do not count this as use")
	return cmd
}

// asksFor checks what the flags say by being there, and asks.
func (a *app) asksFor(f *recallFlags) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		for name, bad := range map[string]bool{"limit": f.limit < 1, "budget": f.budget < 1} {
			if cmd.Flags().Changed(name) && bad {
				return usage("--%s must be a number from 1; see: %s --help", name, cmd.CommandPath())
			}
		}
		if len(args) == 0 && f.goal == "" && f.step == "" && len(f.open) == 0 {
			return usage("%s needs a question, or --goal, --step or --open; see: %s --help", cmd.CommandPath(), cmd.CommandPath())
		}
		var floor *float64
		if cmd.Flags().Changed("floor") {
			floor = &f.floor
		}
		return a.command(func(ctx context.Context, s *session, args []string) error {
			return s.recall(ctx, *f, floor, strings.Join(args, " "))
		})(cmd, args)
	}
}

func (s *session) recall(ctx context.Context, f recallFlags, floor *float64, words string) error {
	zone, err := s.zone(ctx, f.scope)
	if err != nil {
		return err
	}
	asOf, err := parseAsOf(f.asOf, zone, time.Now())
	if err != nil {
		return err
	}
	var include []oxbow.Status
	for _, v := range f.include {
		include = append(include, oxbow.Status(v))
	}
	answer, err := s.engine.Recall(ctx, engine.Recall{Scope: oxbow.Scope{Tenant: s.tenant, Name: f.scope}, Text: words,
		State:    recall.State{Goal: f.goal, Step: f.step, Open: f.open},
		Strategy: f.strategy, Limit: f.limit, Floor: floor, Budget: f.budget, AsOf: asOf, Include: include,
		Slot: f.slot, Kind: oxbow.Kind(f.kind), Tag: f.tag, Passive: f.passive, Conversation: f.conversation})
	if err != nil {
		return err
	}
	for _, n := range answer.Notes {
		s.say("note: %s", n)
	}
	return s.show(answer, func(p *printer) {
		if f.block {
			_, _ = p.w.WriteString(recall.Render(answer, answer.At, zone))
			return
		}
		p.answer(answer, f.explain)
	})
}

// answer prints the results, the best first; nothing when there are none.
func (p *printer) answer(a recall.Answer, explain bool) {
	if len(a.Results) > 0 {
		t := newTable("ID", "SCORE", "BY", "SAID", "KIND", "SURE", "MEMORY")
		for _, r := range a.Results {
			t.add(engine.Short(r.Memory.ID), fmt.Sprintf("%.2f", r.Score), r.Match, r.Age, kindOf(r), fmt.Sprintf("%.1f", r.Confidence), recalled(r.Memory))
		}
		if p.a.width > 0 && p.a.width <= narrow {
			t.without("KIND", "SURE")
		}
		p.table(t)
	}
	if a.Rest != nil {
		rest := fmt.Sprintf("and %d more, over the budget", len(a.Rest.IDs))
		if a.Rest.Text != "" { // the budget may hold not even a few words
			rest += ": " + a.Rest.Text
		}
		p.prose("", "  ", rest)
	}
	for _, r := range a.Results {
		if !explain {
			break
		}
		p.line("%s", p.bold(engine.Short(r.Memory.ID)))
		for _, st := range r.Stages {
			p.pair(st.Name, fmt.Sprintf("%.3f", st.Value))
		}
	}
}

// kindOf is a result's kind, with its status when that is not active.
func kindOf(r recall.Result) string {
	if r.Memory.Status != oxbow.Active {
		return string(r.Memory.Kind) + ", " + string(r.Memory.Status)
	}
	return string(r.Memory.Kind)
}

// recalled is what a memory says, with its address and whoever said it.
func recalled(m oxbow.Memory) string {
	if m.Content.Speaker != "" {
		return m.Content.Speaker + ": " + told(m)
	}
	return told(m)
}

// parseAsOf reads the argument of --as-of: an instant, the end of a day in the
// zone, or how long ago. "" is no instant.
func parseAsOf(v string, zone *time.Location, now time.Time) (time.Time, error) {
	if v == "" {
		return time.Time{}, nil
	}
	if t, err := time.ParseInLocation(time.DateOnly, v, zone); err == nil {
		return t.AddDate(0, 0, 1).Add(-time.Millisecond).UTC(), nil
	}
	t, err := parseSince(v, zone, now)
	if err != nil {
		return t, usage("--as-of %q is no time: use a date such as 2027-03-31, an instant such as 2027-03-31T18:00:00Z, or how long ago, such as 7d or 48h", v)
	}
	return t, nil
}
