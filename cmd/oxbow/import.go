package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/internal/carry"
	"github.com/oxbow-memory/oxbow/internal/text"
)

func importCommand(a *app) *cobra.Command {
	var o engine.ImportOrder
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Take in an export, or the memories of another program",
		Long: `Take in what oxbow export has written, into a database of either kind. What is
there already is left out; what is there and says something else is named and left
as it is. An import that was interrupted goes on when it is run again. In the end
the file is read once more and compared with the database.

An export goes to the tenant that it is of, whose name its ids are made of; --scope
takes one scope of it only.

Two other kinds of file are read too: what mem0 gives back when it is asked for all
memories, and the file of the reference memory server of the Model Context Protocol.
What they say is written as if it had just been heard, with the source import: it
is judged, secrets are taken out, and what reads like an order to the agent goes
into quarantine. It belongs to the scopes that the file names (user:NAME), or to
--scope, else to "user".`,
		Example: `  oxbow import memory.jsonl --db postgres://localhost/oxbow
  oxbow import mem0.json --scope user:ada --dry-run`,
		Args: exactly("a file"),
		RunE: a.making(func(ctx context.Context, s *session, args []string) error { return s.importFile(ctx, args[0], o) }),
	}
	fs := cmd.Flags()
	fs.StringVar(&o.Scope, "scope", "", "of an export, only this scope; else where the memories go")
	fs.StringVar(&o.Format, "format", "", "oxbow, mem0 or mcp (default: what the file looks like)")
	fs.BoolVar(&o.DryRun, "dry-run", false, "say what would be taken in, and write nothing")
	return cmd
}

func (s *session) importFile(ctx context.Context, path string, o engine.ImportOrder) error {
	if o.Format != "" {
		if err := oneOfFlag("format", o.Format, carry.Formats...); err != nil {
			return err
		}
	}
	if path == "-" {
		return usage("an import reads its file twice: write it to a file first, and name that")
	}
	f, err := openInput(path)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil || info.IsDir() {
		return usage("%s is no file: name the one that was exported", path)
	}
	bar := s.progress()
	o.Tenant, o.SaidAt = s.tenant, info.ModTime()
	o.Progress = func(done engine.Imported) { bar.show(func() string { return importing(done) }) }
	done, err := s.engine.Import(ctx, func() (io.ReadCloser, error) { return os.Open(path) }, o)
	bar.done()
	if err != nil {
		if total := done.New; len(total) > 0 && !o.DryRun {
			s.say("taken in before that: %s; it stays, and importing again goes on", counted(total))
		}
		return err
	}
	return s.imported(ctx, done)
}

func importing(done engine.Imported) string {
	of := ""
	if done.Expect > 0 {
		of = fmt.Sprintf(" of %d", done.Expect)
	}
	return fmt.Sprintf("importing: line %d, %d%s memories", done.Lines, done.New[carry.KindMemory], of)
}

// nouns name what the lines of each kind hold, one and many.
var nouns = map[string][2]string{
	carry.KindScope: {"scope", "scopes"}, carry.KindRun: {"run", "runs"}, carry.KindTurn: {"turn", "turns"}, carry.KindEvent: {"event", "events"},
	carry.KindMemory: {"memory", "memories"}, carry.KindSchedule: {"schedule", "schedules"}, carry.KindJob: {"waiting job", "waiting jobs"},
	carry.KindDiscarded: {"discarded job", "discarded jobs"},
}

// counted writes counts by kind, in the order of a file.
func counted(counts map[string]int) string {
	var parts []string
	for _, kind := range carry.Kinds {
		if n := counts[kind]; n > 0 {
			parts = append(parts, number(n, nouns[kind][0], nouns[kind][1]))
		}
	}
	return strings.Join(parts, ", ")
}

// imported has the jobs done that follow, and says what became of the file.
func (s *session) imported(ctx context.Context, done engine.Imported) error {
	if !done.DryRun {
		if _, err := s.settleJobs(ctx, "", false, judging); err != nil {
			return errors.Join(err, s.showImported(done))
		}
	}
	if err := s.showImported(done); err != nil {
		return err
	}
	for _, r := range done.Refused {
		s.say("%s: %s", r.Place, text.Printable(r.Error))
	}
	for _, c := range done.Conflicts {
		s.say("%s: %s", text.Printable(c.ID), text.Printable(c.Text))
	}
	switch {
	case len(done.Refused) > 0:
		s.say("%s refused; correct the file and import it again, what is known stays as it is", number(len(done.Refused), "thing was", "things were"))
		return errSaid
	case len(done.Conflicts) > 0:
		return oxbow.Errorf(oxbow.CodeConflict, "%s not as the file has it; what is here stays. To have the file's, import it into another database",
			number(len(done.Conflicts), "thing here is", "things here are"))
	}
	return nil
}

func (s *session) showImported(done engine.Imported) error {
	return s.show(done, func(p *printer) {
		p.pair("format", done.Format)
		what := "new"
		if done.DryRun {
			what = "would be new"
		}
		fresh := counted(done.New)
		if fresh == "" {
			fresh = "nothing"
		}
		p.pair(what, fresh)
		p.pair("known", counted(done.Same))
		if n := len(done.Conflicts); n > 0 {
			p.pair("conflicts", number(n, "thing", "things"))
		}
		if n := len(done.Refused); n > 0 {
			p.pair("refused", number(n, "thing", "things"))
		}
		if done.Checked > 0 {
			p.pair("compared", number(done.Checked, "line", "lines")+" with the database, all as the file has them")
		}
		if len(done.Runs) > 0 {
			p.pair("vectors", "made by "+strings.Join(done.Runs, ", "))
		}
	})
}
