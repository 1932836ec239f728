package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/store"
)

func memoryCommand(a *app) *cobra.Command {
	return group(a, "memory", "List memories, see why they are what they are, and change them",
		memoryListCommand(a), memoryShowCommand(a), memoryWhyCommand(a), memoryEditCommand(a),
		memoryPinCommand(a), memoryUnpinCommand(a), memoryArchiveCommand(a), memoryRestoreCommand(a),
		memoryReleaseCommand(a), memoryUsedCommand(a), memoryConflictsCommand(a), memoryKeepCommand(a))
}

type memoryFilter struct {
	scope, kind, slot, tag, since string
	conversation                  string
	status                        []string
	limit                         int
}

func memoryListCommand(a *app) *cobra.Command {
	var f memoryFilter
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List memories, the last said first",
		Long: `List memories, the last said first. Without --status only the active ones are
listed, without those that have faded or ended since the last pass; "--status all"
lists all.`,
		Args: noArgs,
		RunE: a.command(func(ctx context.Context, s *session, _ []string) error { return s.listMemories(ctx, f) }),
	}
	fs := cmd.Flags()
	fs.StringVar(&f.scope, "scope", "", "only of this scope")
	fs.StringSliceVar(&f.status, "status", []string{"active"}, "active, superseded, compressed, expired, archived, quarantined, erased or all")
	fs.StringVar(&f.kind, "kind", "", "only of this kind")
	fs.StringVar(&f.slot, "slot", "", "only facts of this slot")
	fs.StringVar(&f.conversation, "conversation", "", "only of this conversation")
	fs.StringVar(&f.tag, "tag", "", "only with this tag")
	fs.StringVar(&f.since, "since", "", "only said since then: a date, an instant, or how long ago, such as 7d")
	fs.IntVar(&f.limit, "limit", 50, "at most so many, up to 1000")
	return cmd
}

func (s *session) listMemories(ctx context.Context, f memoryFilter) error {
	filter, err := s.memoryFilter(ctx, f)
	if err != nil {
		return err
	}
	found, err := s.st.ListMemories(ctx, filter)
	if err != nil {
		return err
	}
	views, err := s.engine.Views(ctx, found)
	if err != nil {
		return err
	}
	if len(views) == 0 {
		if err := s.sayNoMemories(ctx); err != nil {
			return err
		}
	}
	return s.show(orEmpty(views), func(p *printer) {
		t := newTable("ID", "SAID", "STATUS", "KIND", "SURE", "STRONG", "SCOPE", "MEMORY")
		for _, m := range views {
			t.add(engine.Short(m.ID), date(m.SaidAt), standing(m), string(m.Kind), fmt.Sprintf("%.1f", m.Confidence),
				fmt.Sprintf("%.2f", m.Strength), m.Scope.Name, told(m.Memory))
		}
		if p.a.width > 0 && p.a.width <= narrow {
			t.without("KIND", "SURE", "STRONG")
		}
		if f.scope != "" {
			t.without("SCOPE")
		}
		p.table(t)
		if len(views) == f.limit {
			s.say("the list ends at %d; see more with --limit", f.limit)
		}
	})
}

func (s *session) memoryFilter(ctx context.Context, f memoryFilter) (store.MemoryFilter, error) {
	out := store.MemoryFilter{Tenant: s.tenant, Scope: f.scope, Kind: oxbow.Kind(f.kind), Slot: f.slot, Conversation: f.conversation, Tag: strings.ToLower(f.tag), Limit: f.limit}
	if err := limited(f.limit); err != nil {
		return out, err
	}
	if f.kind != "" && !slices.Contains(oxbow.Kinds, out.Kind) {
		return out, usage("there is no kind %q: use %s", f.kind, text.OneOf(oxbow.Kinds))
	}
	for _, v := range f.status {
		if v == "all" {
			out.Status = nil
			break
		}
		if !slices.Contains(oxbow.Statuses, oxbow.Status(v)) {
			return out, usage("there is no status %q: use all, %s", v, text.OneOf(oxbow.Statuses))
		}
		out.Status = append(out.Status, oxbow.Status(v))
	}
	if len(out.Status) > 0 {
		out.LiveAt = time.Now()
	}
	zone, err := s.zone(ctx, f.scope)
	if err != nil {
		return out, err
	}
	out.Since, err = parseSince(f.since, zone, time.Now())
	return out, err
}

func limited(n int) error {
	if n < 1 || n > 1000 {
		return usage("--limit is %d: use a number from 1 to 1000", n)
	}
	return nil
}

// sayNoMemories tells an empty database from a filter that nothing passes.
func (s *session) sayNoMemories(ctx context.Context) error {
	counts, err := s.st.CountMemories(ctx, oxbow.Scope{Tenant: s.tenant})
	total := 0
	for _, n := range counts {
		total += n
	}
	switch {
	case err != nil:
	case total == 0:
		s.say("no memories yet; try: oxbow remember \"We use PostgreSQL\"")
	default:
		s.say("no memory is like that; see all with: oxbow memory list --status all")
	}
	return err
}

// standing is a status, with what the row alone does not show.
func standing(m engine.View) string {
	switch {
	case m.Status == oxbow.Active && !m.Live && m.FadesFirst():
		return "faded"
	case m.Status == oxbow.Active && !m.Live:
		return "past its end"
	case m.Pinned:
		return "pinned"
	}
	return string(m.Status)
}

// told is what a memory says in one line, with its address.
func told(m oxbow.Memory) string {
	words := m.Content.Summary
	if m.Status == oxbow.Erased {
		words = "(erased)"
	}
	if m.Key != "" {
		return m.Slot + "/" + m.Key + ": " + words
	}
	return words
}

func memoryShowCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show all of a memory", Args: exactly("the id of a memory"),
		RunE: a.command(func(ctx context.Context, s *session, args []string) error {
			m, err := s.engine.Memory(ctx, s.tenant, args[0])
			if err != nil {
				return err
			}
			views, err := s.engine.Views(ctx, []oxbow.Memory{m})
			if err != nil {
				return err
			}
			return s.show(views[0], func(p *printer) { p.memory(views[0]) })
		}),
	}
}

func (p *printer) memory(m engine.View) {
	p.line("%s in %s", p.bold(m.ID), m.Scope.Name)
	p.prose("  ", "  ", told(m.Memory))
	if m.Content.Text != m.Content.Summary {
		p.pair("text", m.Content.Text)
	}
	p.pair("status", standing(m))
	p.pair("replaced by", m.ReplacedBy)
	p.pair("kind", string(m.Kind))
	p.pair("tags", strings.Join(m.Content.Tags, ", "))
	for _, d := range m.Content.Details {
		p.pair("detail", detailLine(d))
	}
	p.pair("importance", fmt.Sprintf("%g", m.Importance))
	sure := fmt.Sprintf("%.2f", m.Confidence)
	if m.Confirmations > 0 {
		sure += ", confirmed " + number(m.Confirmations, "time", "times")
	}
	if !m.Rated {
		sure += ", not rated yet"
	}
	p.pair("confidence", sure)
	strong := fmt.Sprintf("%.2f", m.Strength)
	if m.HalfLife > 0 { // what is pinned has none
		strong += fmt.Sprintf(", half-life %.0f days", m.HalfLife)
	}
	p.pair("strength", strong)
	p.pair("used", number(m.AccessCount, "time", "times")+since(m.LastUsedAt))
	p.pair("said", stamp(m.SaidAt)+" by "+string(m.Source))
	p.pair("speaker", m.Content.Speaker)
	p.pair("turn", m.Turn)
	p.pair("conversation", m.Conversation)
	p.pair("ends", ending(m.ExpiresAt, m.Zone))
	if !m.ReviewAt.IsZero() {
		p.pair("review", stamp(m.ReviewAt))
	}
	if m.Status == oxbow.Active && !m.FadesAt.IsZero() {
		p.pair("fades", stamp(m.FadesAt))
	}
	p.pair("version", fmt.Sprint(m.Version))
}

// detailLine tells a detail: standup · when · 9:30 (of time, on monday).
func detailLine(d oxbow.Detail) string {
	s := d.Subject + " · " + d.Attribute + " · " + cmp.Or(d.Value, "–")
	return s + " (" + strings.Join(append([]string{string(d.Type)}, d.Qualifiers...), ", ") + ")"
}

func since(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return ", last " + stamp(t)
}

func memoryWhyCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "why ID", Short: "Tell the story of a memory",
		Long: `Tell the story of a memory: who said it and when, how sure it is, what it replaced,
what replaced it and on whose word, what it was merged from, and when it fades.`,
		Args: exactly("the id of a memory"),
		RunE: a.command(func(ctx context.Context, s *session, args []string) error {
			story, err := s.engine.Why(ctx, s.tenant, args[0])
			if err != nil {
				return err
			}
			return s.show(story, func(p *printer) { p.story(story) })
		}),
	}
}

// story prints what happened day by day, and then how things stand.
func (p *printer) story(story engine.Story) {
	m := story.Memory
	p.prose(p.bold(engine.Short(m.ID))+"  ", "          ", told(m))
	day := ""
	for _, l := range story.Lines {
		head := strings.Repeat(" ", 20)
		if d := engine.Day(l.At); d != day {
			day, head = d, fmt.Sprintf("  %-18s", d)
		}
		p.prose(p.dim(head), strings.Repeat(" ", 20), l.Text)
	}
	for _, l := range story.Now {
		p.prose("  ", "  ", l)
	}
}
