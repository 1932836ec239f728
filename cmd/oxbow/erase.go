package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow/engine"
)

func eraseCommand(a *app) *cobra.Command {
	return group(a, "erase", "Take words away for good",
		erasing(a, "memory ID", "Erase a memory, its turn, and what was merged from it",
			`Erase a memory's words for good, in every version, with the turn that it was said
in and every memory that was merged from it. Its id and its events stay. There
is no way back; to put a memory away instead, use: oxbow memory archive`, "the id of a memory", (*engine.Engine).EraseMemory),
		erasing(a, "turn ID", "Erase a turn and every memory made from it",
			`Erase a turn's text for good, and every memory that was made from it. There is no
way back.`, "the id of a turn", (*engine.Engine).EraseTurn))
}

func erasing(a *app, use, short, long, what string, do func(*engine.Engine, context.Context, string, string) (engine.Erasure, error)) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Long: long, Args: exactly(what),
		RunE: a.command(func(ctx context.Context, s *session, args []string) error {
			done, err := do(s.engine, ctx, s.tenant, args[0])
			if err != nil {
				return err
			}
			done.Memories, done.Turns, done.Restored = orEmpty(done.Memories), orEmpty(done.Turns), orEmpty(done.Restored)
			s.say("copies of the database that were made before still hold the words")
			if done.Note != "" {
				s.say("%s", done.Note)
			}
			return s.show(done, func(p *printer) {
				p.line("erased %s and %s", number(len(done.Memories), "memory", "memories"), number(len(done.Turns), "turn", "turns"))
				for _, id := range done.Memories {
					p.pair("memory", id)
				}
				for _, id := range done.Turns {
					p.pair("turn", id)
				}
				for _, id := range done.Restored {
					p.pair("came back", id)
				}
			})
		}),
	}
}
