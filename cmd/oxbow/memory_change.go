package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow/engine"
)

type editFlags struct {
	text, slot, key, expires string
	tags                     []string
	importance               float64
	version                  int
}

func memoryEditCommand(a *app) *cobra.Command {
	var f editFlags
	cmd := &cobra.Command{
		Use: "edit ID", Short: "Change an active memory; new words are judged anew",
		Example: `  oxbow memory edit 4f2k --text "We use MySQL 8"
  oxbow memory edit 4f2k --expires none`,
		Args: exactly("the id of a memory"),
	}
	fs := cmd.Flags()
	fs.StringVar(&f.text, "text", "", "what it says")
	fs.StringSliceVar(&f.tags, "tag", nil, "its tags; an empty one takes them away")
	fs.Float64Var(&f.importance, "importance", 0, "from 0 to 10")
	fs.StringVar(&f.slot, "slot", "", "of a fact: user, project or agent")
	fs.StringVar(&f.key, "key", "", "of a fact: its address in the slot")
	fs.StringVar(&f.expires, "expires", "", "when it ends: a date, an instant, or none")
	fs.IntVar(&f.version, "if-version", 0, "only when it is still of this version")
	cmd.RunE = a.command(func(ctx context.Context, s *session, args []string) error {
		c, err := s.change(ctx, f, args[0], cmd.Flags().Changed)
		if err != nil {
			return err
		}
		w, err := s.engine.Edit(ctx, s.tenant, args[0], c)
		if err != nil {
			return err
		}
		return s.decided(ctx, "edited", w)
	})
	return cmd
}

// change takes over the flags that were given.
func (s *session) change(ctx context.Context, f editFlags, id string, given func(string) bool) (engine.Change, error) {
	c := engine.Change{IfVersion: f.version}
	some := false
	set := func(name string, fn func()) {
		if given(name) {
			some = true
			fn()
		}
	}
	set("text", func() { c.Text = &f.text })
	set("tag", func() { c.Tags = orEmpty(f.tags) })
	set("importance", func() { c.Importance = &f.importance })
	set("slot", func() { c.Slot = &f.slot })
	set("key", func() { c.Key = &f.key })
	var err error
	set("expires", func() {
		var end time.Time
		end, err = s.end(ctx, f.expires, id)
		c.ExpiresAt = &end
	})
	if !some {
		return c, usage("nothing to change: give --text, --tag, --importance, --slot, --key or --expires")
	}
	return c, err
}

// end reads a date in the zone of a memory's scope; none is no end.
func (s *session) end(ctx context.Context, v, id string) (time.Time, error) {
	if v == "" || v == "none" {
		return time.Time{}, nil
	}
	m, err := s.engine.Memory(ctx, s.tenant, id)
	if err != nil {
		return time.Time{}, err
	}
	zone, err := s.zone(ctx, m.Scope.Name)
	if err != nil {
		return time.Time{}, err
	}
	return parseEnd(v, zone)
}

// changing gives a command that does one thing to one memory.
func changing(a *app, use, short, did string, do func(*engine.Engine, context.Context, string, string) (engine.Written, error)) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: exactly("the id of a memory"),
		RunE: a.command(func(ctx context.Context, s *session, args []string) error {
			w, err := do(s.engine, ctx, s.tenant, args[0])
			if err != nil {
				return err
			}
			return s.decided(ctx, did, w)
		}),
	}
}

func memoryPinCommand(a *app) *cobra.Command {
	return changing(a, "pin ID", "Keep a memory from fading and from being replaced", "pinned", (*engine.Engine).Pin)
}

func memoryUnpinCommand(a *app) *cobra.Command {
	return changing(a, "unpin ID", "Take a pin away; the idle clock starts anew", "unpinned", (*engine.Engine).Unpin)
}

func memoryArchiveCommand(a *app) *cobra.Command {
	return changing(a, "archive ID", "Put a memory away; it can be restored", "archived", (*engine.Engine).Archive)
}

func memoryReleaseCommand(a *app) *cobra.Command {
	return changing(a, "release ID", "Make a quarantined memory active and have it judged", "released", (*engine.Engine).Release)
}

func memoryRestoreCommand(a *app) *cobra.Command {
	var replace bool
	var expires string
	cmd := &cobra.Command{
		Use: "restore ID", Short: "Make a memory active again",
		Long: `Make a memory active again and start its idle clock anew. What a person restores,
no judge retires again. When another memory stands in its place, --replace sets
that one aside; when it ended by itself, --expires gives it a new date.`,
		Args: exactly("the id of a memory"),
		RunE: a.command(func(ctx context.Context, s *session, args []string) error {
			end, err := s.end(ctx, expires, args[0])
			if err != nil {
				return err
			}
			w, err := s.engine.Restore(ctx, s.tenant, args[0], engine.Restoration{Replace: replace, ExpiresAt: end})
			if err != nil {
				return err
			}
			return s.decided(ctx, "restored", w)
		}),
	}
	cmd.Flags().BoolVar(&replace, "replace", false, "set aside what stands in its place")
	cmd.Flags().StringVar(&expires, "expires", "", "its new end: a date or an instant")
	return cmd
}

func memoryUsedCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "used ID...", Short: "Say that an agent used memories; use lengthens their life",
		Args: atLeast("the id of a memory"),
		RunE: a.command(func(ctx context.Context, s *session, args []string) error {
			n, err := s.engine.Used(ctx, s.tenant, args)
			if err != nil {
				return err
			}
			out := struct {
				Counted int `json:"counted"`
			}{n}
			return s.show(out, func(p *printer) {
				p.line("counted %d of %s; each counts once a day", n, number(len(args), "use", "uses"))
			})
		}),
	}
}
