package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/recall"
)

type recallFlags struct {
	scope, strategy, slot, kind, tag string
	limit                            int
}

func recallCommand(a *app) *cobra.Command {
	var f recallFlags
	cmd := &cobra.Command{
		Use:   "recall QUERY",
		Short: "Find the memories that answer a question",
		Long: `Find the memories that answer a question, the best first. Only what is active, not
past its end and not faded is recalled; nothing is printed when nothing fits.`,
		Example: `  oxbow recall "which database do we use?"`,
		Args:    atLeast("a question"),
		RunE: a.command(func(ctx context.Context, s *session, args []string) error {
			return s.recall(ctx, f, strings.Join(args, " "))
		}),
	}
	fs := cmd.Flags()
	fs.StringVar(&f.scope, "scope", defaultScope, "the scope that is asked")
	fs.StringVar(&f.strategy, "strategy", recall.Hybrid, "how: "+strings.Join(recall.Strategies(), ", "))
	fs.IntVar(&f.limit, "limit", 0, "at most so many, up to 100 (default: the strategy's own)")
	fs.StringVar(&f.slot, "slot", "", "only facts of this slot")
	fs.StringVar(&f.kind, "kind", "", "only of this kind")
	fs.StringVar(&f.tag, "tag", "", "only with this tag")
	return cmd
}

func (s *session) recall(ctx context.Context, f recallFlags, words string) error {
	answer, err := s.engine.Recall(ctx, engine.Recall{Scope: oxbow.Scope{Tenant: s.tenant, Name: f.scope}, Text: words,
		Strategy: f.strategy, Limit: f.limit, Slot: f.slot, Kind: oxbow.Kind(f.kind), Tag: f.tag})
	if err != nil {
		return err
	}
	return s.show(answer, func(p *printer) {
		t := newTable("ID", "SCORE", "SAID", "KIND", "SURE", "BY", "MEMORY")
		for _, r := range answer.Results {
			t.add(engine.Short(r.Memory.ID), fmt.Sprintf("%.2f", r.Score), date(r.Memory.SaidAt), string(r.Memory.Kind),
				fmt.Sprintf("%.1f", r.Memory.Confidence()), r.Match, told(r.Memory))
		}
		if len(answer.Results) > 0 {
			p.table(t)
		}
	})
}
