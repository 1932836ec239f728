package main

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/llm/offline"
	"github.com/oxbow-memory/oxbow/recall/asked"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/store/postgres"
	"github.com/oxbow-memory/oxbow/store/sqlite"
)

// session is an open database with all that a command needs beside it.
type session struct {
	*app
	conf   settings
	st     store.Store
	judge  llm.Judge
	embeds llm.Embedder
	engine *engine.Engine
	tenant string
}

// opening says how a command opens the database.
type opening struct {
	heed    bool // DATABASE_URL counts
	missing ifMissing
}

// ifMissing says what a command does where the file of the database is not there.
type ifMissing int

const (
	// makeOwn makes the user's own file, so that a new user sees what there is to
	// do, and takes another name for a slip. It is what commands do that look at
	// memories or change them.
	makeOwn ifMissing = iota
	// makeAny makes it: memories come in by this command.
	makeAny
	// makeNone makes none, because nobody wants an empty backup, or a database
	// checked that they do not have.
	makeNone
)

// command gives the RunE of a subcommand that works on the open database.
func (a *app) command(fn func(ctx context.Context, s *session, args []string) error) func(*cobra.Command, []string) error {
	return a.opened(opening{}, fn)
}

// making is command for what may be the first thing that is done.
func (a *app) making(fn func(ctx context.Context, s *session, args []string) error) func(*cobra.Command, []string) error {
	return a.opened(opening{missing: makeAny}, fn)
}

// heeding is making for servers, workers and their keys, for which DATABASE_URL
// counts.
func (a *app) heeding(fn func(ctx context.Context, s *session, args []string) error) func(*cobra.Command, []string) error {
	return a.opened(opening{heed: true, missing: makeAny}, fn)
}

func (a *app) opened(o opening, fn func(ctx context.Context, s *session, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		conf, err := a.checkedSettings(cmd, o.heed)
		if err != nil {
			return err
		}
		if err := conf.checkThere(o.missing); err != nil {
			return err
		}
		if err := checkModels(conf); err != nil { // before a database is made
			return err
		}
		st, err := a.openMigrated(cmd.Context(), conf)
		if err != nil {
			return err
		}
		judge, err := countedJudge(conf, st)
		if err != nil {
			return errors.Join(err, st.Close())
		}
		embeds, err := newEmbedder(conf, newMeter(conf, st))
		if err != nil {
			return errors.Join(err, st.Close())
		}
		ctx, flush := a.traced(cmd.Context())
		defer flush()
		s := &session{app: a, conf: conf, st: st, judge: judge, embeds: embeds, tenant: conf.text("tenant"),
			engine: newEngine(conf, st, judge, embeds)}
		return errors.Join(fn(ctx, s, args), st.Close())
	}
}

// newEngine gives every command the same engine, so that what is measured is
// what is used.
func newEngine(conf settings, st store.Store, judge llm.Judge, embeds llm.Embedder) *engine.Engine {
	return engine.New(engine.Config{Store: st, Judge: judge, ReadDate: offline.ReadDate, ReadDetails: offline.ReadDetails, Embedder: embeds, Grapher: newGrapher(conf, judge), Days: asked.Days, Classes: asked.Classes, VectorWeight: vectorWeight(embeds),
		VectorBytes: conf.vectorBytes(), Budget: conf.budget()})
}

func (a *app) checkedSettings(cmd *cobra.Command, heed bool) (settings, error) {
	conf, err := a.settings(cmd, heed)
	if err != nil {
		return nil, err
	}
	if err := conf.check(); err != nil {
		return nil, err
	}
	if db := conf["db"]; db.origin == "DATABASE_URL" {
		a.say("using the database of DATABASE_URL: %s", db.masked())
	}
	return conf, nil
}

// checkThere refuses a file that is not there, where a command makes none.
func (s settings) checkThere(m ifMissing) error {
	db := s["db"]
	if isPostgres(db.value) || m == makeAny || m == makeOwn && db.origin == "default" {
		return nil
	}
	if _, err := os.Stat(db.value); !os.IsNotExist(err) {
		return nil // what else is wrong with it is said when it is opened
	}
	return oxbow.Errorf(oxbow.CodeNotFound, "there is no database %s (from %s); name one that is there with --db, or make it: oxbow remember, oxbow import or oxbow db migrate",
		db.value, db.origin)
}

// sayUnheeded names the other database that somebody may mean who has
// DATABASE_URL set. Only servers take it by themselves: in many a shell it is that of another program.
func (a *app) sayUnheeded(conf settings) {
	if url, ok := a.env("DATABASE_URL"); ok && url != "" && url != conf.text("db") {
		a.say("DATABASE_URL is set and not heeded here; look at its database with: --db \"$DATABASE_URL\"")
	}
}

// openStore opens the database without migrating it.
func openStore(ctx context.Context, conf settings) (store.Store, error) {
	db := conf.text("db")
	if isPostgres(db) {
		st, err := postgres.Open(ctx, postgres.Config{URL: db})
		if err != nil {
			return nil, err
		}
		return st, nil
	}
	st, err := sqlite.Open(ctx, sqlite.Config{Path: db})
	if err != nil {
		return nil, err
	}
	return st, nil
}

// openMigrated opens the database and brings it to this program's version,
// which it says aloud when others may share the database.
func (a *app) openMigrated(ctx context.Context, conf settings) (store.Store, error) {
	_, statErr := os.Stat(conf.text("db"))
	st, err := openStore(ctx, conf)
	if err != nil {
		return nil, err
	}
	have, want, err := st.SchemaVersion(ctx)
	if err == nil {
		err = st.Migrate(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	switch {
	case have == want:
	case st.Embedded() && os.IsNotExist(statErr):
		a.say("made a new database, %s", conf.text("db"))
		a.sayUnheeded(conf)
	default:
		a.say("migrated the database from version %d to %d", have, want)
	}
	return st, nil
}
