package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/store/postgres"
)

func dbCommand(a *app) *cobra.Command {
	return group(a, "db", "Bring the database to this program's version", dbMigrateCommand(a), dbGrantCommand(a), dbVacuumCommand(a), dbStatusCommand(a))
}

// dbState is what both commands print.
type dbState struct {
	Database string `json:"database"`
	Version  int64  `json:"version"`
	Wanted   int64  `json:"wanted"`
	State    string `json:"state"`             // current, older or newer
	Vectors  string `json:"vectors,omitempty"` // of Postgres: whether pgvector is used
	Wall     string `json:"wall,omitempty"`    // of Postgres: how row-level security stands between tenants
}

// onDatabase opens the database as it is, for fn and then to say how it stands.
func (a *app) onDatabase(m ifMissing, fn func(context.Context, store.Store) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		conf, err := a.checkedSettings(cmd, true)
		if err != nil {
			return err
		}
		if err := conf.checkThere(m); err != nil {
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
	if have > 0 {
		if out.Wall, _, err = wall(ctx, st); err != nil {
			return err
		}
	}
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
		if out.Wall != "" {
			p.pair("row-level security", out.Wall)
		}
	})
}

// wall says in words how row-level security stands between tenants, where the
// database has such a thing, and whether it does.
func wall(ctx context.Context, st store.Store) (says string, stands bool, err error) {
	pg, ok := st.(*postgres.Store)
	if !ok {
		return "", true, nil
	}
	w, err := pg.Wall(ctx)
	return w.Says, w.Stands, err
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
		RunE: a.onDatabase(makeAny, func(ctx context.Context, st store.Store) error { return st.Migrate(ctx) }),
	}
}

func dbGrantCommand(a *app) *cobra.Command {
	var show bool
	cmd := &cobra.Command{
		Use: "grant ROLE", Short: "Let a role of Postgres run the program, behind row-level security",
		Long: `Grant a role of Postgres what the program needs to run as it, and no more, so that
row-level security stands behind every statement. The role is made before, by you:
CREATE ROLE oxbow_app LOGIN PASSWORD '...'. Run this once, as the owner of the
tables; later migrations grant the role the tables that they make. With --print the
statements are printed and nothing is done. DATABASE_URL is heeded.`,
		Args: exactly("a role of the database"),
	}
	cmd.Flags().BoolVar(&show, "print", false, "print the SQL and do nothing")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		conf, err := a.checkedSettings(cmd, true)
		if err != nil {
			return err
		}
		st, err := openStore(cmd.Context(), conf)
		if err != nil {
			return err
		}
		return errors.Join(a.grant(cmd.Context(), st, args[0], show), st.Close())
	}
	return cmd
}

func (a *app) grant(ctx context.Context, st store.Store, role string, show bool) error {
	pg, ok := st.(*postgres.Store)
	if !ok {
		return oxbow.Errorf(oxbow.CodeUnsupported, "%s has no roles: who may read the file is the system's to say", st.Describe())
	}
	statements, err := pg.Grants(ctx, role)
	if err == nil && !show {
		err = pg.Grant(ctx, role)
	}
	if err != nil {
		return err
	}
	return a.show(struct {
		Role       string   `json:"role"`
		Granted    bool     `json:"granted"`
		Statements []string `json:"statements"`
	}{role, !show, statements}, func(p *printer) {
		if !show {
			p.line("granted; give its URL to oxbow serve and oxbow work")
			return
		}
		for _, s := range statements {
			p.line("%s;", s)
		}
	})
}

func dbVacuumCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "vacuum", Short: "Make what was erased leave the database's files; DATABASE_URL is heeded",
		Long: `Rewrite the tables, or the file, so that what was erased leaves the database's own
files. Erasing does that by itself, except on Postgres as a role that does not own
the tables; then run this as their owner. It locks the tables for that long.`,
		Args: noArgs,
		RunE: a.onDatabase(makeNone, func(ctx context.Context, st store.Store) error { return st.Vacuum(ctx) }),
	}
}

func dbStatusCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "See which version the database has; DATABASE_URL is heeded", Args: noArgs,
		RunE: a.onDatabase(makeNone, func(context.Context, store.Store) error { return nil }),
	}
}
