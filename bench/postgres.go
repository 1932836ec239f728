package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/store/postgres"
)

// serverVariable names the server; scripts/with-postgres sets it.
const serverVariable = "OXBOW_TEST_POSTGRES"

// schema is where Oxbow keeps its tables.
const schema = "oxbow"

// postgresBed makes its databases on a server whose user may do so.
type postgresBed struct{ server string }

func (postgresBed) label() string { return "Postgres" }

func (b postgresBed) open(ctx context.Context, name string, copyOf *db) (*db, error) {
	suffix := make([]byte, 6)
	if _, err := rand.Read(suffix); err != nil {
		return nil, err
	}
	name = "oxbow_bench_" + name + "_" + hex.EncodeToString(suffix)
	create := "CREATE DATABASE " + name
	if copyOf != nil {
		// A template may have no connections, so the original is closed for
		// the time of the copying.
		reopen, original, err := copyOf.release(ctx)
		if err != nil {
			return nil, err
		}
		err = b.admin(ctx, create+" TEMPLATE "+original)
		if err = errors.Join(err, reopen()); err != nil {
			return nil, err
		}
	} else if err := b.admin(ctx, create); err != nil {
		return nil, err
	}
	u, err := url.Parse(b.server)
	if err != nil {
		return nil, errors.New(serverVariable + " is not a URL")
	}
	u.Path = "/" + name
	d := &db{dialect: "postgres", where: u.String()}
	if u.User, err = b.app(ctx, u.User); err != nil {
		return nil, err
	}
	d.runs = u.String()
	if err := d.prepare(ctx); err != nil {
		return nil, err
	}
	if err := d.connect(ctx); err != nil {
		return nil, err
	}
	d.drop = func() error {
		return errors.Join(d.sql.Close(), d.st.Close(), b.admin(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"), b.admin(ctx, dropApp))
	}
	return d, nil
}

// appRole is whom the measured program connects as: row-level security holds it, as
// it would not hold the user of the server.
const appRole = "oxbow_bench_app"

// dropApp leaves the role to the last database that it may use.
const dropApp = `DO $$ BEGIN DROP ROLE IF EXISTS ` + appRole + `; EXCEPTION WHEN dependent_objects_still_exist THEN NULL; END $$`

// app makes the role, with the password of the server's user.
func (b postgresBed) app(ctx context.Context, user *url.Userinfo) (*url.Userinfo, error) {
	password, _ := user.Password()
	err := b.admin(ctx, `DO $$ BEGIN CREATE ROLE `+appRole+` LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$`)
	if err == nil {
		err = b.admin(ctx, `ALTER ROLE `+appRole+` PASSWORD '`+strings.ReplaceAll(password, "'", "''")+`'`)
	}
	return url.UserPassword(appRole, password), err
}

// prepare migrates the database and grants the role what the program needs.
func (d *db) prepare(ctx context.Context) error {
	owner, err := postgres.Open(ctx, postgres.Config{URL: d.where})
	if err != nil {
		return err
	}
	return errors.Join(owner.Migrate(ctx), owner.Grant(ctx, appRole), owner.Close())
}

func (d *db) connect(ctx context.Context) error {
	st, err := postgres.Open(ctx, postgres.Config{URL: d.runs})
	if err != nil {
		return err
	}
	own, err := sql.Open("pgx", inSchema(d.where))
	if err != nil {
		return err
	}
	d.st, d.sql = st, own
	return nil
}

// release closes a database's connections and gives the way back, and its name.
func (d *db) release(ctx context.Context) (reopen func() error, name string, err error) {
	if err := d.sql.QueryRowContext(ctx, "SELECT current_database()").Scan(&name); err != nil {
		return nil, "", err
	}
	err = errors.Join(d.sql.Close(), d.st.Close())
	return func() error { return d.connect(ctx) }, name, err
}

func inSchema(where string) string {
	u, err := url.Parse(where)
	if err != nil { // it was parsed before
		return where
	}
	q := u.Query()
	q.Set("search_path", schema)
	u.RawQuery = q.Encode()
	return u.String()
}

func (b postgresBed) admin(ctx context.Context, statement string) error {
	conn, err := pgx.Connect(ctx, b.server)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement)
	return errors.Join(err, conn.Close(ctx))
}

// written begins with a checkpoint, so that both sides pay for whole pages
// alike.
func (b postgresBed) written(ctx context.Context, d *db, fn func() error) (int64, error) {
	if err := d.exec(ctx, "CHECKPOINT"); err != nil {
		return 0, err
	}
	var from string
	if err := d.sql.QueryRowContext(ctx, "SELECT pg_current_wal_insert_lsn()::text").Scan(&from); err != nil {
		return 0, err
	}
	if err := fn(); err != nil {
		return 0, err
	}
	var n int64
	err := d.sql.QueryRowContext(ctx, "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), $1::text::pg_lsn)::bigint", from).Scan(&n)
	return n, err
}

// rival implements bed with as many connections as the store takes.
func (b postgresBed) rival(ctx context.Context, d *db) (rival, error) {
	pool, err := pgxpool.New(ctx, inSchema(d.where)+"&pool_max_conns=16")
	if err != nil {
		return nil, err
	}
	// River as its migrations leave it: the store takes these away.
	for _, column := range []string{"args", "metadata"} {
		if err := d.exec(ctx, "CREATE INDEX IF NOT EXISTS river_job_"+column+"_index ON river_job USING gin ("+column+")"); err != nil {
			return nil, err
		}
	}
	r := &plain[pgx.Tx]{
		inTx: func(ctx context.Context, fn func(pgx.Tx) error) error { return pgx.BeginFunc(ctx, pool, fn) },
		// The call that the store makes too.
		add: func(ctx context.Context, c *river.Client[pgx.Tx], tx pgx.Tx, jobs []river.InsertManyParams) error {
			_, err := c.InsertManyTx(ctx, tx, jobs)
			return err
		},
		finish: func(ctx context.Context, tx pgx.Tx, row *rivertype.JobRow) error {
			var state string
			var attempt int
			err := tx.QueryRow(ctx, "SELECT state::text, attempt FROM river_job WHERE id = $1 FOR UPDATE", row.ID).Scan(&state, &attempt)
			if err != nil {
				return err
			}
			if err := fence(row, state, attempt); err != nil {
				return err
			}
			_, err = river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, &river.Job[store.RawArgs]{JobRow: row})
			return err
		},
		close: func() error { pool.Close(); return nil },
	}
	r.client, err = river.NewClient(riverpgxv5.New(pool), r.config(schema))
	if err != nil {
		return nil, fmt.Errorf("make River's client: %w", err)
	}
	return r, nil
}
