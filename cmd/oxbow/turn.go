package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/store"
)

func turnCommand(a *app) *cobra.Command {
	return group(a, "turn", "List and show the turns that memories were made from", turnListCommand(a), turnShowCommand(a))
}

func turnListCommand(a *app) *cobra.Command {
	var scope, conversation, state, back string
	var limit int
	cmd := &cobra.Command{
		Use: "list", Short: "List turns, the last said first", Args: noArgs,
		RunE: a.command(func(ctx context.Context, s *session, _ []string) error {
			zone, err := s.zone(ctx, scope)
			if err != nil {
				return err
			}
			from, err := parseSince(back, zone, time.Now())
			if err != nil {
				return err
			}
			if err := limited(limit); err != nil {
				return err
			}
			if state != "" {
				if err := oneOfFlag("state", state, "waiting", "extracted", "failed", "erased"); err != nil {
					return err
				}
			}
			turns, err := s.st.ListTurns(ctx, store.TurnFilter{Tenant: s.tenant, Scope: scope, Conversation: conversation,
				State: oxbow.TurnState(state), Since: from, Limit: limit})
			if err != nil {
				return err
			}
			return s.showTurns(turns)
		}),
	}
	fs := cmd.Flags()
	fs.StringVar(&scope, "scope", "", "only of this scope")
	fs.StringVar(&conversation, "conversation", "", "only of this conversation")
	fs.StringVar(&state, "state", "", "waiting, extracted, failed or erased")
	fs.StringVar(&back, "since", "", "only said since then: a date, an instant, or how long ago, such as 7d")
	fs.IntVar(&limit, "limit", 50, "at most so many, up to 1000")
	return cmd
}

func (s *session) showTurns(turns []oxbow.Turn) error {
	if len(turns) == 0 {
		s.say("no turns; put some in with: oxbow ingest FILE")
	}
	return s.show(orEmpty(turns), func(p *printer) {
		t := newTable("ID", "SAID", "SCOPE", "CONVERSATION", "STATE", "MEMORIES", "TURN")
		for _, turn := range turns {
			kept := fmt.Sprint(turn.Memories)
			if turn.Memories == 0 && turn.Reason != "" {
				kept = "0, " + cut(text.Printable(turn.Reason), 30)
			}
			t.add(engine.Short(turn.ID), stamp(turn.At), turn.Scope.Name, cut(text.Printable(turn.Conversation), 20),
				string(turn.State), kept, text.Clip(turn.User+" "+turn.Assistant, 120))
		}
		p.table(t)
	})
}

func turnShowCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show a turn and the memories made from it", Args: exactly("the id of a turn"),
		RunE: a.command(func(ctx context.Context, s *session, args []string) error {
			id, err := s.st.Resolve(ctx, s.tenant, "turn", args[0])
			if err != nil {
				return err
			}
			turn, err := s.st.Turn(ctx, s.tenant, id)
			if err != nil {
				return err
			}
			made, err := s.st.ListMemories(ctx, store.MemoryFilter{Tenant: s.tenant, Turn: id, Limit: 1000})
			if err != nil {
				return err
			}
			out := struct {
				oxbow.Turn
				Made []oxbow.Memory `json:"made"`
			}{turn, orEmpty(made)}
			return s.show(out, func(p *printer) { p.turn(turn, made) })
		}),
	}
}

func (p *printer) turn(t oxbow.Turn, made []oxbow.Memory) {
	p.line("%s in %s, said %s", p.bold(t.ID), t.Scope.Name, stamp(t.At))
	p.pair("conversation", t.Conversation)
	p.pair("user", t.User)
	p.pair("assistant", t.Assistant)
	for _, part := range t.Parts {
		p.pair(string(part.Source), part.Text)
	}
	state := string(t.State)
	if t.Judge != "" {
		state += " by " + t.Judge
	}
	p.pair("state", state)
	p.pair("nothing kept", t.Reason)
	p.pair("observed in", t.Observed)
	if t.Redacted > 0 {
		p.pair("redacted", number(t.Redacted, "string that looked like a secret", "strings that looked like secrets"))
	}
	for _, m := range made {
		p.pair("memory", engine.Short(m.ID)+"  "+string(m.Status)+"  "+told(m))
	}
}
