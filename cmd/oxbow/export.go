package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/internal/carry"
)

func exportCommand(a *app) *cobra.Command {
	var o engine.ExportOrder
	cmd := &cobra.Command{
		Use:   "export [FILE|-]",
		Short: "Write everything that is remembered as JSON lines",
		Long: `Write everything that the tenant's memory is made of as JSON lines, as it stands at
one instant: scopes with their policy and schedules, turns, the whole log with the
words of every version, memories, links, verdicts, what was shown, the graph, runs,
and the jobs that are not finished. oxbow import reads it into a database of
either kind. Nobody has to stop working meanwhile.

The file holds what people said, so it is made readable by its owner only, and it
is there only when it is whole. API keys, settings of the program and what models
cost are not in it. Without FILE, or with "-", it goes to standard output.`,
		Example: `  oxbow export memory.jsonl
  oxbow export --scope user:ada - | gzip >ada.jsonl.gz`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage("%s takes one file, and was given %q; see: %s --help", cmd.CommandPath(), args, cmd.CommandPath())
			}
			return nil
		},
		RunE: a.opened(opening{missing: makeNone}, func(ctx context.Context, s *session, args []string) error {
			return s.export(ctx, append(args, "-")[0], o)
		}),
	}
	cmd.Flags().StringSliceVar(&o.Scopes, "scope", nil, "only this scope; can be given several times")
	cmd.Flags().BoolVar(&o.Vectors, "vectors", false, "write the vectors too; else an import has them made anew")
	return cmd
}

// exported is what an export ends with.
type exported struct {
	File  string         `json:"file"`
	Lines map[string]int `json:"lines"` // by kind
}

func (s *session) export(ctx context.Context, path string, o engine.ExportOrder) error {
	bar := s.progress()
	o.Tenant, o.Program = s.tenant, version
	o.Progress = func(counts map[string]int) {
		bar.show(func() string {
			return "exporting: " + number(counts[carry.KindEvent], "event", "events") + " and " + number(counts[carry.KindMemory], "memory", "memories") + " so far"
		})
	}
	if path == "-" {
		counts, err := s.engine.Export(ctx, s.out, o)
		bar.done()
		if err == nil {
			s.say("exported %s", number(counts[carry.KindMemory], "memory", "memories"))
		}
		return err
	}
	counts, err := writeWhole(path, func(w io.Writer) (map[string]int, error) { return s.engine.Export(ctx, w, o) })
	bar.done()
	if err != nil {
		return err
	}
	return s.show(exported{path, counts}, func(p *printer) {
		p.pair("file", path)
		p.pair("exported", counted(counts))
		p.pair("next", "oxbow import "+path+" --db ANOTHER")
	})
}

// writeWhole writes a file beside its place, readable by its owner only, and
// moves it there when all of it is on the disk.
func writeWhole(path string, write func(io.Writer) (map[string]int, error)) (map[string]int, error) {
	cannot := func(err error) error {
		return oxbow.WrapError(oxbow.CodeUnavailable, err, "cannot write %s; choose another file", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".part-*") // its mode is 0600
	if err != nil {
		return nil, cannot(err)
	}
	counts, err := write(f)
	if err == nil {
		if err = errors.Join(f.Sync(), f.Close(), os.Rename(f.Name(), path)); err == nil {
			return counts, nil
		}
		err = cannot(err)
	}
	_ = f.Close()
	_ = os.Remove(f.Name())
	return nil, err
}
