package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow/engine"
)

func doctorCommand(a *app) *cobra.Command {
	var deep bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Look for damage; exits with 1 when there is any",
		Long: `Look for damage in the database of all tenants. With --deep the whole log is
replayed and every row compared with what follows from it: a row that was changed
by hand, or an event that is missing, is named.`,
		Args: noArgs,
		RunE: a.opened(opening{missing: makeNone}, func(ctx context.Context, s *session, _ []string) error { return s.doctor(ctx, deep) }),
	}
	cmd.Flags().BoolVar(&deep, "deep", false, "replay the log and compare every row")
	return cmd
}

func (s *session) doctor(ctx context.Context, deep bool) error {
	bar, looked := s.progress(), 0
	found, err := s.engine.Doctor(ctx, deep, func(done int) {
		looked = done
		bar.show(func() string { return "replayed " + number(done, "memory", "memories") })
	})
	bar.done()
	if err != nil {
		return err
	}
	out := struct {
		Deep     bool             `json:"deep"`
		Replayed int              `json:"replayed"`
		Findings []engine.Finding `json:"findings"`
		Wall     string           `json:"wall,omitempty"` // of Postgres: how row-level security stands between tenants
	}{deep, looked, orEmpty(found), ""}
	stands := true
	if out.Wall, stands, err = wall(ctx, s.st); err != nil {
		return err
	}
	if !stands {
		s.say("row-level security %s", out.Wall)
	}
	err = s.show(out, func(p *printer) {
		for _, f := range found {
			if f.Memory == "" {
				p.line("%s", f.Text)
				continue
			}
			p.line("memory %s: %s", f.Memory, f.Text)
		}
		if len(found) > 0 {
			return
		}
		all := "nothing is damaged"
		if deep {
			all += fmt.Sprintf("; %s as the log says", number(looked, "memory is", "memories are"))
		}
		p.line("%s", all)
	})
	if err == nil && len(found) > 0 {
		s.say("found %s; restore a backup, or repair the rows named", number(len(found), "thing", "things"))
		return errSaid
	}
	return err
}
