package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow/store"
)

func dbCommand(a *app) *cobra.Command {
	return group(a, "db", "Bring the database to this program's version", dbMigrateCommand(a), dbStatusCommand(a))
}

// dbState is what both commands print.
type dbState struct {
	Database string `json:"database"`
	Version  int64  `json:"version"`
	Wanted   int64  `json:"wanted"`
	State    string `json:"state"`             // current, older or newer
	Vectors  string `json:"vectors,omitempty"` // of Postgres: whether pgvector is used
}

// onDatabase opens the database as it is, for fn and then to say how it stands.
func (a *app) onDatabase(fn func(context.Context, store.Store) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		conf, err := a.checkedSettings(cmd, true)
		if err != nil {
			return err
		}
		st, err := openStore(cmd.Context(), conf)
		if err != nil {
			return err
		}
		if err = fn(cmd.Context(), st); err == nil {
			err = a.showDatabase(cmd.Context(), st)
		}
		return errors.Join(err, st.Close())
	}
}

func (a *app) showDatabase(ctx context.Context, st store.Store) error {
	have, want, err := st.SchemaVersion(ctx)
	if err != nil {
		return err
	}
	out := dbState{Database: st.Describe(), Version: have, Wanted: want, State: "current", Vectors: vectorSearch(st)}
	switch {
	case have < want:
		out.State = "older"
	case have > want:
		out.State = "newer"
	}
	return a.show(out, func(p *printer) {
		p.pair("database", out.Database)
		p.pair("version", fmt.Sprintf("%d, and this program's is %d", have, want))
		p.pair("state", map[string]string{"current": "current", "older": "older; bring it up with: oxbow db migrate",
			"newer": "newer than this program; use a newer oxbow"}[out.State])
		if out.Vectors != "" {
			p.pair("vectors", out.Vectors)
		}
	})
}

// vectorSearch says what finds the nearest vectors, where a database could do
// that itself.
func vectorSearch(st store.Store) string {
	if s, ok := st.(interface{ VectorSearch() string }); ok {
		return s.VectorSearch()
	}
	return ""
}

func dbMigrateCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "migrate", Short: "Bring the database to this program's version",
		Long: `Bring the database to this program's version. Other commands do that too when they
open it; this one does nothing else, for a deployment's release step. DATABASE_URL
is heeded.`,
		Args: noArgs,
		RunE: a.onDatabase(func(ctx context.Context, st store.Store) error { return st.Migrate(ctx) }),
	}
}

func dbStatusCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "See which version the database has; DATABASE_URL is heeded", Args: noArgs,
		RunE: a.onDatabase(func(context.Context, store.Store) error { return nil }),
	}
}
