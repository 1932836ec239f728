package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/store"
)

func graphCommand(a *app) *cobra.Command {
	return group(a, "graph", "See what memories name, and how it relates", graphShowCommand(a), graphListCommand(a))
}

func graphShowCommand(a *app) *cobra.Command {
	var scope string
	var hops int
	cmd := &cobra.Command{
		Use: "show NAME", Short: "Show a name with its relations, and the memories that say so", Args: exactly("the name of a node"),
		Long: `Show a name with its relations, and the memories that say so.

What stands there rests on active memories, each with its id, so that one can
ask why it is believed: oxbow memory why ID. The names "me" and "I" are the user's.`,
		RunE: a.command(func(ctx context.Context, s *session, args []string) error {
			v, err := s.engine.Graph(ctx, engine.GraphQuery{Scope: oxbow.Scope{Tenant: s.tenant, Name: scope}, Name: args[0], Hops: hops})
			if err != nil {
				return err
			}
			return s.show(v, func(p *printer) { p.graph(v) })
		}),
	}
	cmd.Flags().StringVar(&scope, "scope", defaultScope, "where to look")
	cmd.Flags().IntVar(&hops, "hops", 1, "how far to look: 1 or 2 relations")
	return cmd
}

func (p *printer) graph(v engine.GraphView) {
	p.line("%s%s", p.bold(v.Node.Name), ofType(v.Node.Type))
	p.pair("known as", strings.Join(v.Node.Aliases, ", "))
	p.pair("description", v.Node.Description)
	p.pair("mentions", number(v.Node.Mentions, "memory", "memories"))
	if len(v.Relations) > 0 {
		p.line("")
		t := newTable("FROM", "RELATION", "TO", "MEMORIES")
		for _, r := range v.Relations {
			t.add(r.From.Name, r.Type, r.To.Name, strings.Join(r.Memories, " "))
		}
		p.table(t)
	}
	p.line("")
	t := newTable("ID", "MEMORY")
	for _, m := range v.Memories {
		t.add(m.ID, m.Text)
	}
	p.table(t)
	if v.Cut {
		p.a.say("there is more than is shown here")
	}
}

func ofType(t string) string {
	if t == "" {
		return ""
	}
	return " (" + t + ")"
}

func graphListCommand(a *app) *cobra.Command {
	var scope string
	var limit int
	cmd := &cobra.Command{
		Use: "list [WORDS]", Short: "List names, the most often mentioned first", Args: cobra.ArbitraryArgs,
		RunE: a.command(func(ctx context.Context, s *session, args []string) error {
			ns, err := s.engine.GraphNodes(ctx, oxbow.Scope{Tenant: s.tenant, Name: scope}, strings.Join(args, " "), limit)
			if err != nil {
				return err
			}
			if len(ns) == 0 {
				s.say("no names; they are read from what is remembered, and from what was remembered before by: oxbow job run graph")
			}
			return s.show(orEmpty(ns), func(p *printer) { p.table(nodeTable(ns)) })
		}),
	}
	cmd.Flags().StringVar(&scope, "scope", defaultScope, "where to look")
	cmd.Flags().IntVar(&limit, "limit", 50, "how many, 1 to 1000")
	return cmd
}

func nodeTable(ns []store.GraphNode) *table {
	t := newTable("NAME", "TYPE", "MEMORIES", "DESCRIPTION")
	for _, n := range ns {
		t.add(n.Name, n.Type, fmt.Sprint(n.Mentions), n.Description)
	}
	return t
}
