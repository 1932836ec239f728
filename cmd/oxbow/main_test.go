package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rogpeppe/go-internal/testscript"
	_ "modernc.org/sqlite" // the driver, for what a hand does to a file

	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/llm/llmtest"
	"github.com/oxbow-memory/oxbow/llm/offline"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"oxbow": main, "sql": runSQL, "schemas": listSchemas})
}

// listSchemas prints the schemas of a Postgres database that are Oxbow's:
// schemas URL.
func listSchemas() {
	ctx := context.Background()
	db, err := pgx.Connect(ctx, os.Args[1])
	if err == nil {
		var names []string
		err = db.QueryRow(ctx, `SELECT array_agg(nspname::text ORDER BY nspname) FROM pg_namespace WHERE nspname LIKE 'oxbow%'`).Scan(&names)
		fmt.Println(strings.Join(names, "\n"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// runSQL does to a database file what a hand would: sql FILE STATEMENT.
func runSQL() {
	db, err := sql.Open("sqlite", os.Args[1])
	if err == nil {
		_, err = db.Exec(os.Args[2])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func TestStories(t *testing.T) {
	t.Parallel()
	testscript.Run(t, stories("testdata/story", nil))
}

func TestStoriesOnPostgres(t *testing.T) {
	t.Parallel()
	pgtest.URL(t) // skips here when there is no server, and not in a story
	testscript.Run(t, stories("testdata/postgres", func(env *testscript.Env) {
		env.Setenv("POSTGRES", pgtest.URL(t))
		p := pgtest.Split(t)
		env.Setenv("OWNER", p.Owner)
		env.Setenv("APP", p.Runtime)
		env.Setenv("ROLE", p.Role)
	}))
}

// stories gives scripts a home of their own, a model that answers at $MODEL as
// the rules would, and the words beside the usual ones:
//
//	exits CODE COMMAND…       runs a command that must end with the code
//	capture NAME REGEXP       sets a variable to the first group in stdout
//	isjson                    stdout must be one JSON value
//	eventually REGEXP COMMAND…  repeats a command until its stdout matches
//	nowhere TEXT DIR          no file under the folder may hold the text
//	dated FILE                writes the day ten days ago for {-10}
func stories(dir string, more func(*testscript.Env)) testscript.Params {
	return testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			for name, folder := range map[string]string{"XDG_DATA_HOME": "data", "XDG_CONFIG_HOME": "config"} {
				env.Setenv(name, filepath.Join(env.WorkDir, folder))
			}
			env.Setenv("TZ", "UTC")
			model, err := llmtest.Start("127.0.0.1:0", offline.New())
			if err != nil {
				return err
			}
			env.Defer(model.Close)
			env.Setenv("MODEL", model.URL())
			env.Setenv("DB", filepath.Join(env.WorkDir, "data", "oxbow", "oxbow.db"))
			if more != nil {
				more(env)
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exitsWith, "capture": capture, "isjson": isJSON, "eventually": eventually, "nowhere": nowhere,
			"dated": dated,
		},
	}
}

func exitsWith(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		code = exit.ExitCode()
	}
	if code != want {
		ts.Fatalf("exits with %d, want %d\n%s%s", code, want, ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

func capture(ts *testscript.TestScript, _ bool, args []string) {
	m := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if m == nil {
		ts.Fatalf("nothing in stdout matches %s:\n%s", args[1], ts.ReadFile("stdout"))
	}
	ts.Setenv(args[0], m[1])
}

func isJSON(ts *testscript.TestScript, _ bool, _ []string) {
	if out := ts.ReadFile("stdout"); !json.Valid([]byte(out)) {
		ts.Fatalf("stdout is no JSON:\n%s", out)
	}
}

// patience is how long eventually looks.
const patience = 20 * time.Second

func eventually(ts *testscript.TestScript, _ bool, args []string) {
	want := regexp.MustCompile(args[0])
	for until := time.Now().Add(patience); time.Now().Before(until); {
		if err := ts.Exec(args[1], args[2:]...); err == nil && want.MatchString(ts.ReadFile("stdout")) {
			return
		}
	}
	ts.Fatalf("never says %s, but\n%s%s", args[0], ts.ReadFile("stdout"), ts.ReadFile("stderr"))
}

var dayForm = regexp.MustCompile(`\{-[0-9]+\}`)

// dated serves stories about what is fresh, whatever the day on which they run.
func dated(ts *testscript.TestScript, _ bool, args []string) {
	path, today := ts.MkAbs(args[0]), time.Now().UTC()
	text := dayForm.ReplaceAllStringFunc(ts.ReadFile(args[0]), func(s string) string {
		back, err := strconv.Atoi(s[1 : len(s)-1])
		ts.Check(err)
		return today.AddDate(0, 0, back).Format(time.DateOnly)
	})
	ts.Check(os.WriteFile(path, []byte(text), 0o600))
}

func nowhere(ts *testscript.TestScript, _ bool, args []string) {
	looked := 0
	err := filepath.WalkDir(ts.MkAbs(args[1]), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		looked++
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(args[0])) {
			ts.Fatalf("%s holds %q", path, args[0])
		}
		return err
	})
	ts.Check(err)
	if looked == 0 {
		ts.Fatalf("there is no file under %s", args[1])
	}
}
