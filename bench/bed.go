package main

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/llm/offline"
	"github.com/oxbow-memory/oxbow/store"
)

// bed is a database system: it makes databases and knows what its log is.
type bed interface {
	label() string
	// open makes an empty database, or a copy of one.
	open(ctx context.Context, name string, copyOf *db) (*db, error)
	// written gives the bytes that fn makes the database write to its log.
	written(ctx context.Context, d *db, fn func() error) (int64, error)
	// rival gives River alone on a database, worked with the concurrency of
	// the measurement of jobs.
	rival(ctx context.Context, d *db) (rival, error)
}

// rival is River without Oxbow: what any program that uses it pays.
type rival interface {
	// insert adds jobs in a transaction of their own.
	insert(ctx context.Context, jobs []river.InsertManyParams) error
	start(ctx context.Context) error
	stop(ctx context.Context) error
}

// db is one database. Oxbow sees it as st; sql is what the bench itself reads
// and loads it by, on connections of its own.
type db struct {
	dialect string // sqlite or postgres
	where   string // a path or a URL
	runs    string // the URL of Postgres for the program that is measured
	st      store.Store
	sql     *sql.DB
	drop    func() error
}

// query gives SQL with ? in the form of the database.
func (d *db) query(q string) string {
	if d.dialect == "sqlite" {
		return q
	}
	var b strings.Builder
	n := 0
	for _, r := range q {
		if r == '?' {
			n++
			b.WriteString("$" + strconv.Itoa(n))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func (d *db) exec(ctx context.Context, statements ...string) error {
	for _, s := range statements {
		if _, err := d.sql.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// at gives an instant as the database keeps it.
func (d *db) at(t time.Time) any {
	switch {
	case t.IsZero():
		return nil
	case d.dialect == "sqlite":
		return t.UnixMilli()
	}
	return t
}

// The present of the bench, and the scope that everything stands in. Nothing
// depends on the machine's clock.
var (
	present = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	home    = oxbow.Scope{Tenant: "default", Name: "project:bench"}
)

func clock() time.Time { return present }

func (d *db) deps() jobs.Deps {
	return jobs.Deps{Store: d.st, Judge: offline.New(), Clock: clock}
}

func (d *db) engine() *engine.Engine {
	return engine.New(engine.Config{Store: d.st, Judge: offline.New(), Clock: clock})
}

// timed gives how long fn took.
func timed(fn func() error) (time.Duration, error) {
	t0 := time.Now()
	err := fn()
	return time.Since(t0), err
}

// median of an odd or even number of values; 0 of none.
func median[T int64 | float64 | time.Duration](vs []T) T {
	if len(vs) == 0 {
		return 0
	}
	s := slices.Clone(vs)
	slices.Sort(s)
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

func millis(d time.Duration) string {
	v := float64(d) / float64(time.Millisecond)
	switch {
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64) + " ms"
	case v >= 1:
		return strconv.FormatFloat(v, 'f', 1, 64) + " ms"
	}
	return strconv.FormatFloat(v, 'f', 2, 64) + " ms"
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// count writes a number with thousands apart.
func count(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
