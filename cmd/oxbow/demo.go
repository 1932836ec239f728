package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/history"
	"github.com/oxbow-memory/oxbow/llm/offline"
	"github.com/oxbow-memory/oxbow/store"
)

func (a *app) demoCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Play six months in a minute",
		Long: `Plays a bundled history of one developer and their assistant over the six months that end today, through the real worker
and the rules that need no model, and tells what changed and why. The database stays, so that it can be looked at.

Without --db it is a file of its own beside the default database, made anew each time.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if file != "" { // before the demo of before is taken away
				if _, err := a.readTurns(file, "default"); err != nil {
					return err
				}
			}
			conf, err := a.demoSettings(cmd)
			if err != nil {
				return err
			}
			return a.demo(cmd.Context(), conf, file)
		},
	}
	cmd.Flags().StringVar(&file, "history", "", "play the turns of this file instead, in the form that ingest takes")
	return cmd
}

// demoSettings leaves the operator's own database alone: only --db names another
// one, and neither the environment nor the configuration file does.
func (a *app) demoSettings(cmd *cobra.Command) (settings, error) {
	conf, err := a.checkedSettings(cmd, false)
	if err != nil {
		return nil, err
	}
	db := conf["db"]
	if strings.HasPrefix(db.origin, "flag") {
		return conf, nil
	}
	own, err := a.defaultDatabase()
	if err != nil {
		return nil, err
	}
	db.value = filepath.Join(filepath.Dir(own), "demo.db")
	for _, end := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(db.value + end); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, oxbow.WrapError(oxbow.CodeUnavailable, err, "the demo of before cannot be taken away; name another file with --db")
		}
	}
	conf["db"] = db
	return conf, nil
}

func (a *app) demo(ctx context.Context, conf settings, file string) error {
	st, err := a.openMigrated(ctx, conf)
	if err != nil {
		return err
	}
	return errors.Join(a.playIn(ctx, st, conf, file), st.Close())
}

func (a *app) playIn(ctx context.Context, st store.Store, conf settings, file string) error {
	tenant, today := conf.text("tenant"), time.Now().UTC()
	had, err := st.CountTurns(ctx, oxbow.Scope{Tenant: tenant})
	if err != nil {
		return err
	}
	if len(had) > 0 {
		return oxbow.Errorf(oxbow.CodeConflict, "the tenant %s has turns in this database already: name another with --tenant, or another database with --db", tenant)
	}
	turns, err := a.demoTurns(file, tenant, today)
	if err != nil {
		return err
	}
	p, err := newPlayer(st, offline.New(), tenant, turns[0].At.Add(-time.Hour), a.out)
	if err != nil {
		return err
	}
	started := time.Now()
	a.say("playing %d turns of %s to %s through the worker, judged by rules …", len(turns),
		turns[0].At.Format(time.DateOnly), turns[len(turns)-1].At.Format(time.DateOnly))
	if err := p.play(ctx, turns, today); err != nil {
		return err
	}
	if err := p.epilogue(ctx, conf); err != nil {
		return err
	}
	a.say("\nplayed in %.0f s", time.Since(started).Seconds())
	return nil
}

// demoTurns gives the bundled turns, or those of a file, oldest first.
func (a *app) demoTurns(file, tenant string, today time.Time) ([]oxbow.Turn, error) {
	if file == "" {
		return history.Turns(today, tenant)
	}
	turns, err := a.readTurns(file, tenant)
	if err != nil {
		return nil, err
	}
	if len(turns) == 0 {
		return nil, oxbow.Errorf(oxbow.CodeInvalid, "the file %s holds no turns: give a JSON object a line", file)
	}
	slices.SortStableFunc(turns, func(x, y oxbow.Turn) int { return x.At.Compare(y.At) })
	return turns, nil
}

// epilogue asks why of three memories, asks a few questions as an agent would,
// and leaves commands to go on with.
func (p *player) epilogue(ctx context.Context, conf settings) error {
	superseded, merged, faded, err := p.protagonists(ctx)
	if err != nil {
		return err
	}
	flags := " --db " + shellWord(conf["db"].masked())
	if t := conf["tenant"]; t.origin != "default" {
		flags += " --tenant " + shellWord(t.value)
	}
	self := program()
	next := []string{self + " status" + flags, self + " memory list --status active --limit 10" + flags}
	for _, q := range []struct{ question, id string }{
		{"Why does it no longer say this?", superseded},
		{"Why does it say this?", merged},
		{"Where has this gone?", faded},
	} {
		if q.id == "" {
			continue
		}
		if err := p.tellWhy(ctx, q.question, q.id); err != nil {
			return err
		}
		next = append(next, self+" memory why "+q.id[:8]+flags)
	}
	asked, err := p.askAll(ctx)
	if err != nil {
		return err
	}
	for _, q := range asked {
		next = append(next, self+" recall "+shellWord(q.text)+" --scope "+shellWord(q.scope)+flags)
	}
	next = append(next, self+" doctor --deep"+flags)
	_, _ = fmt.Fprintf(p.out, "\nIt is all still there. Go on with:\n")
	for _, line := range next {
		_, _ = fmt.Fprintf(p.out, "  %s\n", line)
	}
	return nil
}

// program is how this program can be called again: by its name where the shell
// finds it, else by its path.
func program() string {
	path, err := os.Executable()
	if err != nil {
		return "oxbow"
	}
	if found, err := exec.LookPath("oxbow"); err == nil {
		if same, err := filepath.EvalSymlinks(found); err == nil && same == path {
			return "oxbow"
		}
	}
	return shellWord(path)
}

// shellWord quotes an argument that a shell would take apart.
func shellWord(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-:@") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
