// Command bench measures what Oxbow costs against what it must not be much
// dearer than, on SQLite and on Postgres, and prints one table of ratios.
//
// Absolute times say more about the machine than about the program, so every
// figure is a ratio of two things measured within one run, taken in turns, and
// the median of several rounds. A goal that is missed is part of the report and
// not an error. What stands beside each measurement says what it is compared
// with and why that is fair.
//
//	make bench                                   everything, with a throwaway Postgres
//	go run ./bench -quick -db sqlite -only decay  one of them, small
//
// It is a program of its own: nothing imports it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime/pprof"
	"strings"
	"time"
)

// config is what the flags say.
type config struct {
	rows int            // memories in the large database
	only *regexp.Regexp // the measurements to run, by name
	db   string         // sqlite, postgres or both
	dir  string         // where SQLite's files go
}

// measurements in the order in which they run: those that only read first, decay
// last of those that share the large database, because it uses it up.
var measurements = []struct {
	name string
	run  func(context.Context, *lab) ([]result, error)
}{
	{"listing", listing}, {"growth", growth}, {"use", use}, {"memory", memory}, {"decay", decay},
	{"remember", remember}, {"jobs", writeJobs}, {"recall", recalling}, {"context", contexting}, {"graph", walking}, {"doors", doors}, {"doors-rush", rushing},
}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	rows := flag.Int("rows", 1_000_000, "memories in the large database")
	quick := flag.Bool("quick", false, "50,000 memories, for trying")
	only := flag.String("only", "", "run the measurements whose name matches")
	dbs := flag.String("db", "both", "sqlite, postgres or both")
	profile := flag.String("profile", "", "write a CPU profile of the run to this file")
	child := flag.String("resident", "", "used by itself: work on a database and print the peak of resident memory")
	flag.Parse()
	if *child != "" {
		return resident(ctx, *child, flag.Arg(0))
	}
	if *quick {
		*rows = 50_000
	}
	expr, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("read -only: %w", err)
	}
	if *profile != "" {
		stop, err := profiled(*profile)
		if err != nil {
			return err
		}
		defer stop()
	}
	dir, err := os.MkdirTemp("", "oxbow-bench-")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	results, err := measure(ctx, config{rows: *rows, only: expr, db: *dbs, dir: dir})
	fmt.Print(table(results))
	return err
}

// profiled writes a CPU profile to a file until it is stopped.
func profiled(path string) (stop func(), err error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("make the profile: %w", err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(fmt.Errorf("profile: %w", err), f.Close())
	}
	return func() {
		pprof.StopCPUProfile()
		_ = f.Close()
	}, nil
}

func measure(ctx context.Context, cfg config) (all []result, err error) {
	beds, err := openBeds(cfg)
	if err != nil {
		return nil, err
	}
	for _, b := range beds {
		l := &lab{bed: b, cfg: cfg, loaded: map[int]*db{}}
		for _, m := range measurements {
			if !cfg.only.MatchString(m.name) {
				continue
			}
			l.say("%s", m.name)
			rs, err := m.run(ctx, l)
			if err != nil {
				return all, errors.Join(fmt.Errorf("%s on %s: %w", m.name, b.label(), err), l.close())
			}
			for i := range rs {
				rs[i].database = b.label()
				l.say("%s", rs[i])
			}
			all = append(all, rs...)
		}
		if err := l.close(); err != nil {
			return all, err
		}
	}
	return all, nil
}

func openBeds(cfg config) (beds []bed, err error) {
	if cfg.db != "both" && cfg.db != "sqlite" && cfg.db != "postgres" {
		return nil, fmt.Errorf("there is no database %q: use sqlite, postgres or both", cfg.db)
	}
	if cfg.db != "postgres" {
		beds = append(beds, sqliteBed{dir: cfg.dir})
	}
	if cfg.db != "sqlite" {
		server := os.Getenv(serverVariable)
		if server == "" {
			fmt.Fprintf(os.Stderr, "bench: %s is not set, so Postgres is left out: run make bench\n", serverVariable)
			return beds, nil
		}
		beds = append(beds, postgresBed{server: server})
	}
	return beds, nil
}

// lab is one database system under measurement, with the databases that were
// loaded in it so far.
type lab struct {
	bed
	cfg    config
	loaded map[int]*db
	house  *house // with the doors before it
	extra  []*db
}

// say reports progress on stderr.
func (l *lab) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s %-8s %s\n", time.Now().Format(time.TimeOnly), l.label(), fmt.Sprintf(format, args...))
}

// with gives a database that holds n memories in one scope.
func (l *lab) with(ctx context.Context, n int) (*db, error) {
	if d := l.loaded[n]; d != nil {
		return d, nil
	}
	d, err := l.fresh(ctx, fmt.Sprintf("n%d", n))
	if err != nil {
		return nil, err
	}
	t0 := time.Now()
	if err := d.load(ctx, n); err != nil {
		return nil, fmt.Errorf("load %d memories: %w", n, err)
	}
	l.say("loaded %d memories in %s", n, time.Since(t0).Round(100*time.Millisecond))
	l.loaded[n] = d
	return d, nil
}

// fresh gives an empty database.
func (l *lab) fresh(ctx context.Context, name string) (*db, error) {
	d, err := l.open(ctx, name, nil)
	if err != nil {
		return nil, err
	}
	l.extra = append(l.extra, d)
	return d, nil
}

// twin gives a copy of a database, file by file.
func (l *lab) twin(ctx context.Context, d *db, name string) (*db, error) {
	c, err := l.open(ctx, name, d)
	if err != nil {
		return nil, fmt.Errorf("copy the database: %w", err)
	}
	l.extra = append(l.extra, c)
	return c, nil
}

func (l *lab) close() (err error) {
	if l.house != nil {
		l.house.close()
	}
	for _, d := range l.extra {
		err = errors.Join(err, d.drop())
	}
	l.extra = nil
	return err
}

// result is a row of the table.
type result struct {
	what, database, goal, measured string
	ours, other                    string // absolute figures
	pass                           bool
}

func (r result) String() string {
	verdict := "pass"
	if !r.pass {
		verdict = "**miss**"
	}
	return strings.Join([]string{r.what, r.database, r.goal, r.measured, r.ours, r.other, verdict}, " | ")
}

func table(rs []result) string {
	var b strings.Builder
	b.WriteString("| what | database | goal | measured | Oxbow | against | |\n|---|---|---|---|---|---|---|\n")
	for _, r := range rs {
		b.WriteString("| " + r.String() + " |\n")
	}
	return b.String()
}
