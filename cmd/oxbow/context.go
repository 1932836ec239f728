package main

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/recall"
)

type contextFlags struct {
	scope, conversation, goal, step, at, zone string
	open, shares                              []string
	budget                                    int
}

func contextCommand(a *app) *cobra.Command {
	var f contextFlags
	cmd := &cobra.Command{
		Use:   "context [MESSAGE]",
		Short: "Compose the block of memories that belongs before a message",
		Long: `Compose the block that a program puts before the user's message: the time, the
observations of the running conversation, the most recent memories, those that fit
the message, and what ends in the time that it names. Only what is live is shown,
once, within a budget of tokens.

The block is evidence and belongs into the user's turn, never into a system prompt.
Ask for it anew at every turn. What it shows counts as shown and not as used. Each
line ends with an id: oxbow memory why ID tells the story behind it.`,
		Example: `  oxbow context "which database do I use, and what is due this week?" --scope project:atlas
  oxbow context "it failed again" --conversation c42 --goal "ship 2.1" --step deploy --open "why was it killed?"
  oxbow context "hello" --budget 400 --share observations=2 --share recent=1 --share relevant=1`,
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := f.query(cmd, strings.Join(args, " "))
			if err != nil {
				return err
			}
			return a.command(func(ctx context.Context, s *session, _ []string) error { return s.context(ctx, f, q) })(cmd, args)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.scope, "scope", defaultScope, "whose memories")
	fs.StringVar(&f.conversation, "conversation", "", "the running conversation: its observations come first, and what is shown in it confirms nothing there")
	fs.StringVar(&f.goal, "goal", "", "what the agent is after")
	fs.StringVar(&f.step, "step", "", "what it is doing for that now")
	fs.StringArrayVar(&f.open, "open", nil, "a question that is open; can be given several times")
	fs.IntVar(&f.budget, "budget", engine.ContextBudget, "how many tokens the block may take, "+strconv.Itoa(recall.MinBudget)+" or more")
	fs.StringArrayVar(&f.shares, "share", nil, "a part's share of the budget, such as recent=2; parts: "+strings.Join(recall.BlockParts, ", "))
	fs.StringVar(&f.at, "at", "", "compose it as of this instant, such as 2027-03-31T18:00:00Z, and record nothing (default: now)")
	fs.StringVar(&f.zone, "zone", "", "the time zone of its dates (default: the scope's)")
	return cmd
}

// query checks what the flags say before a database is opened.
func (f *contextFlags) query(cmd *cobra.Command, message string) (engine.ContextQuery, error) {
	q := engine.ContextQuery{Text: message, State: recall.State{Goal: f.goal, Step: f.step, Open: f.open}, Conversation: f.conversation, Budget: f.budget, Zone: f.zone}
	if strings.TrimSpace(message) == "" && f.goal == "" && f.step == "" && len(f.open) == 0 {
		return q, usage("%s needs a message, or --goal, --step or --open; see: %s --help", cmd.CommandPath(), cmd.CommandPath())
	}
	if f.budget < recall.MinBudget {
		return q, usage("--budget must be a number from %d; see: %s --help", recall.MinBudget, cmd.CommandPath())
	}
	for _, s := range f.shares {
		name, value, _ := strings.Cut(s, "=")
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return q, usage("--share %q must be a part and a number, such as recent=2", s)
		}
		if q.Shares == nil {
			q.Shares = map[string]float64{}
		}
		q.Shares[strings.TrimSpace(name)] = n
	}
	return q, nil
}

func (s *session) context(ctx context.Context, f contextFlags, q engine.ContextQuery) error {
	q.Scope = oxbow.Scope{Tenant: s.tenant, Name: f.scope}
	zone, err := s.zone(ctx, f.scope)
	if err != nil {
		return err
	}
	if f.at != "" {
		if q.At, err = parseInstant(f.at, zone); err != nil {
			return err
		}
	}
	block, err := s.engine.Context(ctx, q)
	if err != nil {
		return err
	}
	for _, n := range block.Notes {
		s.say("note: %s", n)
	}
	if len(block.Parts) == 0 {
		s.say("nothing is remembered in the scope %s that fits; oxbow remember TEXT --scope %s stores something", f.scope, f.scope)
	}
	return s.show(block, func(p *printer) { _, _ = p.w.WriteString(block.Text) })
}

// parseInstant reads an instant, or a date as its beginning in the zone.
func parseInstant(v string, zone *time.Location) (time.Time, error) {
	if t, err := time.ParseInLocation(time.DateOnly, v, zone); err == nil {
		return t.UTC(), nil
	}
	t, err := time.Parse(time.RFC3339, v)
	if err != nil {
		return t, usage("--at %q is no time: use a date such as 2027-03-31, or an instant such as 2027-03-31T18:00:00Z", v)
	}
	return t.UTC(), nil
}
