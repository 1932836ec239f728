package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/mcp"
	"github.com/oxbow-memory/oxbow/store"
)

func mcpCommand(a *app) *cobra.Command {
	var scope string
	var waterfall bool
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve one agent's client over standard input and output",
		Long: `Serve the Model Context Protocol over standard input and output, as clients start it;
oxbow mcp-config prints what to write into their configuration. Jobs are worked in
this process while no other worker of the database is alive, so several clients may
share one file. Messages and logs go to standard error.

Over HTTP, oxbow serve answers at /mcp.`,
		Args: noArgs,
		RunE: a.making(func(ctx context.Context, s *session, _ []string) error {
			signal.Ignore(syscall.SIGPIPE) // a client that reads no more must not end the work in its middle
			door := mcp.New(s.mcpConfig(scope, waterfall))
			working, stop := context.WithCancel(ctx)
			done := make(chan error, 1)
			go func() { done <- s.workWhenAlone(working) }()
			err := door.Serve(ctx, engine.Caller{Tenant: s.tenant, Actor: "mcp", Permissions: []oxbow.Permission{oxbow.MayRead, oxbow.MayWrite}}, os.Stdin, os.Stdout)
			stop()
			if e := <-done; err == nil {
				err = e
			}
			return err
		}),
	}
	mcpFlags(cmd, &scope, &waterfall)
	workFlags(cmd.Flags())
	return cmd
}

func mcpFlags(cmd *cobra.Command, scope *string, waterfall *bool) {
	cmd.Flags().StringVar(scope, "scope", defaultScope, "whose memories a call means that names no scope")
	cmd.Flags().BoolVar(waterfall, "memory-recall", false, "offer the tool memory_recall beside memory_query: the same search by the strategy waterfall")
}

func (s *session) mcpConfig(scope string, waterfall bool) mcp.Config {
	return mcp.Config{Engine: s.engine, Scope: scope, Waterfall: waterfall, Version: version, Log: s.logger(s.conf.level())}
}

// workWhenAlone works jobs for as long as this process lives, but begins only
// when no other worker is alive. Two that begin at once share the work.
func (s *session) workWhenAlone(ctx context.Context) error {
	look := time.NewTicker(store.WorkerTTL / 6)
	defer look.Stop()
	for {
		n, err := s.engine.LiveWorkers(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			s.logger(s.conf.level()).WarnContext(ctx, "cannot look for other workers", slog.String("error", err.Error()))
		case n == 0:
			return s.work(ctx, s.instruments())
		}
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
		}
	}
}
