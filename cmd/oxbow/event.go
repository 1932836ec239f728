package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/store"
)

func eventCommand(a *app) *cobra.Command {
	return group(a, "event", "Read the audit log: every change, and why", eventListCommand(a), eventTailCommand(a))
}

type eventFlags struct {
	scope, memory, run, since string
	types                     []string
	limit                     int
	follow                    bool
}

func (f *eventFlags) add(cmd *cobra.Command, limit int) {
	fs := cmd.Flags()
	fs.StringVar(&f.scope, "scope", "", "only of this scope")
	fs.StringVar(&f.memory, "memory", "", "only of this memory")
	fs.StringVar(&f.run, "run", "", "only of this run")
	fs.StringSliceVar(&f.types, "type", nil, "only of this type, such as superseded; can be given several times")
	fs.StringVar(&f.since, "since", "", "only about then or later: a date, an instant, or how long ago, such as 7d")
	fs.IntVar(&f.limit, "limit", limit, "at most so many, up to 1000")
}

func eventListCommand(a *app) *cobra.Command {
	var f eventFlags
	cmd := &cobra.Command{
		Use: "list", Short: "List events, the newest first", Args: noArgs,
		RunE: a.command(func(ctx context.Context, s *session, _ []string) error {
			events, err := s.newestEvents(ctx, f)
			if err != nil {
				return err
			}
			switch {
			case len(events) > 0:
			case f.scope+f.memory+f.run+f.since != "" || len(f.types) > 0:
				s.say("no event is like that; see all with: oxbow event list")
			default:
				s.say("no events yet; memories make them: oxbow remember \"We use PostgreSQL\"")
			}
			return s.showEvents(ctx, events)
		}),
	}
	f.add(cmd, 50)
	return cmd
}

func eventTailCommand(a *app) *cobra.Command {
	var f eventFlags
	cmd := &cobra.Command{
		Use: "tail", Short: "Show the last events, and with --follow those that come",
		Long: `Show the last events, the newest at the end, and with --follow those that come
until Ctrl-C. With -o json each event is one line.`,
		Args: noArgs,
		RunE: a.command(func(ctx context.Context, s *session, _ []string) error { return s.tail(ctx, f) }),
	}
	f.add(cmd, 10)
	cmd.Flags().BoolVarP(&f.follow, "follow", "f", false, "go on until Ctrl-C")
	return cmd
}

func (s *session) eventFilter(ctx context.Context, f eventFlags) (store.EventFilter, error) {
	out := store.EventFilter{Tenant: s.tenant, Scope: f.scope, Limit: f.limit}
	if err := limited(f.limit); err != nil {
		return out, err
	}
	for _, v := range f.types {
		if !slices.Contains(oxbow.EventTypes, oxbow.EventType(v)) {
			return out, usage("there is no type of event %q: use %s", v, text.OneOf(oxbow.EventTypes))
		}
		out.Types = append(out.Types, oxbow.EventType(v))
	}
	zone, err := s.zone(ctx, f.scope)
	if err != nil {
		return out, err
	}
	if out.Since, err = parseSince(f.since, zone, time.Now()); err != nil {
		return out, err
	}
	if f.memory != "" {
		if out.Memory, err = s.st.Resolve(ctx, s.tenant, "memory", f.memory); err != nil {
			return out, err
		}
	}
	if f.run != "" {
		out.Run, err = s.st.Resolve(ctx, s.tenant, "run", f.run)
	}
	return out, err
}

func (s *session) newestEvents(ctx context.Context, f eventFlags) ([]oxbow.Event, error) {
	filter, err := s.eventFilter(ctx, f)
	if err != nil {
		return nil, err
	}
	filter.Newest = true
	return s.st.Events(ctx, filter)
}

func (s *session) showEvents(ctx context.Context, events []oxbow.Event) error {
	lines, err := s.engine.EventLines(ctx, s.tenant, events)
	if err != nil {
		return err
	}
	return s.show(orEmpty(events), func(p *printer) { p.events(events, lines) })
}

func (p *printer) events(events []oxbow.Event, lines []engine.Line) {
	t := newTable("WHEN", "SCOPE", "MEMORY", "WHAT", "WHY", "TEXT")
	for i, l := range lines {
		t.add(stamp(events[i].At), events[i].Scope.Name, engine.Short(l.Memory), l.What, because(l), l.Text)
	}
	p.table(t)
}

// because is a reason with the judge whose word it is.
func because(l engine.Line) string {
	if l.Judge == "" {
		return l.Why
	}
	return fmt.Sprintf("%s (%s)", l.Why, l.Judge)
}

// followEvery is how often tail --follow looks for new events.
const followEvery = time.Second

func (s *session) tail(ctx context.Context, f eventFlags) error {
	events, err := s.newestEvents(ctx, f)
	if err != nil {
		return err
	}
	slices.Reverse(events)
	if err := s.stream(ctx, events); err != nil || !f.follow {
		return err
	}
	filter, err := s.eventFilter(ctx, f)
	if err != nil {
		return err
	}
	if len(events) > 0 {
		filter.AfterSeq = events[len(events)-1].Seq
	}
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	return s.engine.Follow(ctx, filter, tick.C, func(es []oxbow.Event) error { return s.stream(ctx, es) })
}

// stream prints events one a line, so that they can be followed.
func (s *session) stream(ctx context.Context, events []oxbow.Event) error {
	lines, err := s.engine.EventLines(ctx, s.tenant, events)
	if err != nil {
		return err
	}
	for i, l := range lines {
		if s.format == "json" {
			b, err := json.Marshal(events[i])
			if err != nil {
				return fmt.Errorf("write JSON: %w", err)
			}
			if err := writeText(s.out, string(b)+"\n"); err != nil {
				return err
			}
			continue
		}
		row := []string{stamp(events[i].At), events[i].Scope.Name, engine.Short(l.Memory), l.What, because(l)}
		if err := s.streamRow(row, l.Text); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) streamRow(cells []string, words string) error {
	line := ""
	for _, c := range cells {
		line += c + "  "
	}
	p := printerTo(s.app)
	if words != "" {
		line += "“" + words + "”"
	}
	p.line("%s", line)
	return p.w.Flush()
}
