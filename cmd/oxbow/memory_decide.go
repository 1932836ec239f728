package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/store"
)

func memoryConflictsCommand(a *app) *cobra.Command {
	var f store.ConflictFilter
	cmd := &cobra.Command{
		Use: "conflicts", Short: "List pairs of which a person has to say which one holds",
		Long: `List pairs of active memories that look as if they could not both be right, and of
which no judge may say which one is: one of them is pinned or comes from whom you
trust more, or it is not clear. Both are recalled until you decide.`,
		Example: `  oxbow memory conflicts
  oxbow memory keep 4f2k --over 9c1m
  oxbow memory keep 4f2k --beside 9c1m`,
		Args: noArgs,
		RunE: a.command(func(ctx context.Context, s *session, _ []string) error {
			if err := limited(f.Limit); err != nil {
				return err
			}
			f.Tenant = s.tenant
			return s.listConflicts(ctx, f)
		}),
	}
	cmd.Flags().StringVar(&f.Scope, "scope", "", "only of this scope")
	cmd.Flags().IntVar(&f.Limit, "limit", 50, "at most so many, up to 1000")
	return cmd
}

func (s *session) listConflicts(ctx context.Context, f store.ConflictFilter) error {
	found, err := s.engine.Conflicts(ctx, f)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		s.say("no two memories that are believed contradict each other")
	}
	return s.show(orEmpty(found), func(p *printer) {
		t := newTable("SCOPE", "ID", "SAID", "STATUS", "SOURCE", "SURE", "MEMORY")
		for _, c := range found {
			for i, v := range []engine.View{c.Older, c.Newer} {
				scope := v.Scope.Name
				if i > 0 {
					scope = ""
				}
				t.add(scope, engine.Short(v.ID), date(v.SaidAt), standing(v), string(v.Source), fmt.Sprintf("%.1f", v.Confidence), told(v.Memory))
			}
		}
		p.table(t)
		if len(found) > 0 {
			s.say("decide one with: oxbow memory keep ID --over OTHER, or --beside OTHER when both hold")
		}
		if len(found) == f.Limit {
			s.say("the list ends at %d; see more with --limit", f.Limit)
		}
	})
}

func memoryKeepCommand(a *app) *cobra.Command {
	var r engine.Ruling
	cmd := &cobra.Command{
		Use: "keep ID", Short: "Decide a conflict: keep a memory over another one, or beside it",
		Long: `Decide between two active memories that look as if they could not both be right:
--over sets the other one aside, --beside says that both hold. What a person
decides, no judge undoes.`,
		Example: `  oxbow memory keep 4f2k --over 9c1m
  oxbow memory keep 4f2k --beside 9c1m`,
		Args: exactly("the id of a memory"),
		RunE: a.command(func(ctx context.Context, s *session, args []string) error {
			if (r.Over == "") == (r.Beside == "") {
				return usage("name the other memory with --over, which sets it aside, or with --beside, which keeps both")
			}
			w, err := s.engine.Decide(ctx, s.tenant, args[0], r)
			if err != nil {
				return err
			}
			return s.decided(ctx, "kept", w)
		}),
	}
	cmd.Flags().StringVar(&r.Over, "over", "", "the memory that is set aside for it")
	cmd.Flags().StringVar(&r.Beside, "beside", "", "the memory that holds too")
	return cmd
}
