package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/store/postgres"
	"github.com/oxbow-memory/oxbow/store/sqlite"
)

// scratch is a database that is made for a measurement and taken away after it.
// It never is one that somebody keeps memories in: beside a file it is a file of
// its own, on a Postgres server a schema of its own.
type scratch struct {
	store.Store
	drop func() error
}

// scratchPatience bounds the taking away, which an interrupt must not stop.
const scratchPatience = 30 * time.Second

// openScratch makes a scratch database. where is empty for one among the
// system's temporary files, else a postgres:// URL, or a file beside which it is
// to stand, which itself is not touched.
func openScratch(ctx context.Context, where string) (*scratch, error) {
	made, err := scratchOf(ctx, where)
	if err != nil {
		return nil, err
	}
	if err := made.Migrate(ctx); err != nil {
		return nil, errors.Join(err, made.drop())
	}
	return made, nil
}

func scratchOf(ctx context.Context, where string) (*scratch, error) {
	if isPostgres(where) {
		name := make([]byte, 6)
		if _, err := rand.Read(name); err != nil { // never fails on supported systems
			panic(err)
		}
		st, err := postgres.Open(ctx, postgres.Config{URL: where, Schema: "oxbow_eval_" + hex.EncodeToString(name)})
		if err != nil {
			return nil, err
		}
		return &scratch{st, func() error {
			ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), scratchPatience)
			defer stop()
			return errors.Join(st.DropSchema(ctx), st.Close())
		}}, nil
	}
	beside := ""
	if where != "" {
		beside = filepath.Dir(where)
	}
	dir, err := os.MkdirTemp(beside, "oxbow-eval-")
	if err != nil {
		return nil, oxbow.WrapError(oxbow.CodeUnavailable, err, "no folder can be made for the database of the evaluation; name another place with --db")
	}
	st, err := sqlite.Open(ctx, sqlite.Config{Path: filepath.Join(dir, "eval.db")})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &scratch{st, func() error { return errors.Join(st.Close(), os.RemoveAll(dir)) }}, nil
}

// scratchPlace gives where an evaluation is to keep its database: only the flag
// says so, because a database that is configured is one that is in use.
func (s settings) scratchPlace() string {
	if db := s["db"]; strings.HasPrefix(db.origin, "flag") {
		return db.value
	}
	return ""
}
