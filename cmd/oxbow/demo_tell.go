package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/store"
)

// linesPerMonth bounds how much of a month is told; the rest is counted.
const linesPerMonth = 14

// tellMonth prints what changed in a month, and why, from the audit log.
func (p *player) tellMonth(ctx context.Context, month string, turns int) error {
	var events []oxbow.Event
	for {
		page, err := p.st.Events(ctx, store.EventFilter{Tenant: p.tenant, AfterSeq: p.seen, Limit: 1000})
		if err != nil {
			return err
		}
		if len(page) == 0 {
			break
		}
		events = append(events, page...)
		p.seen = page[len(page)-1].Seq
	}
	inOrder(events)
	counts := map[oxbow.EventType]int{}
	var notable []oxbow.Event
	for _, e := range events {
		counts[e.Type]++
		if isNotable(e) {
			notable = append(notable, e)
		}
	}
	known, err := p.words(ctx, notable)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(p.out, "\n%s: %s\n", month, tally(turns, counts))
	groups := alike(notable)
	for i, g := range groups {
		if i == linesPerMonth {
			_, _ = fmt.Fprintf(p.out, "  … and %d more\n", len(groups)-i)
			break
		}
		_, _ = fmt.Fprintf(p.out, "  %s  %s\n", g[0].At.Format("02 Jan"), sentence(g, known))
	}
	return nil
}

// alike puts events together that say the same of several memories: that one
// newer memory took their place.
func alike(events []oxbow.Event) [][]oxbow.Event {
	at := map[string]int{}
	var out [][]oxbow.Event
	for _, e := range events {
		if e.After.ReplacedBy == nil {
			out = append(out, []oxbow.Event{e})
			continue
		}
		key := string(e.Type) + *e.After.ReplacedBy
		i, ok := at[key]
		if !ok {
			i = len(out)
			at[key] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], e)
	}
	return out
}

// inOrder sorts events by the instant that they are about, because jobs that run
// beside each other write them in any order, and the story is the same each time.
func inOrder(events []oxbow.Event) {
	slices.SortStableFunc(events, func(a, b oxbow.Event) int {
		return cmp.Or(a.At.Compare(b.At), strings.Compare(a.Memory, b.Memory), a.Version-b.Version)
	})
}

func isNotable(e oxbow.Event) bool {
	switch e.Type {
	case oxbow.SupersededBy, oxbow.CompressedTo, oxbow.ExpiredEvent, oxbow.ArchivedEvent, oxbow.Reinforced, oxbow.Refused:
		return true
	case oxbow.Linked:
		return len(e.Links) > 0 && e.Links[0].Type == oxbow.ConflictsWith
	}
	return false
}

// tally counts a month in words.
func tally(turns int, c map[oxbow.EventType]int) string {
	parts := []string{count(turns, "turn"), fmt.Sprintf("%d remembered", c[oxbow.Created])}
	for _, t := range []oxbow.EventType{oxbow.SupersededBy, oxbow.CompressedTo, oxbow.Reinforced, oxbow.ExpiredEvent, oxbow.ArchivedEvent} {
		if c[t] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c[t], t))
		}
	}
	return strings.Join(parts, ", ")
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// words reads what the memories of events, and those that replaced them, say.
func (p *player) words(ctx context.Context, events []oxbow.Event) (map[string]oxbow.Memory, error) {
	var ids []string
	for _, e := range events {
		ids = append(ids, e.Memory)
		if e.After.ReplacedBy != nil {
			ids = append(ids, *e.After.ReplacedBy)
		}
		for _, l := range e.Links {
			ids = append(ids, l.From)
		}
	}
	ms, err := p.st.Memories(ctx, p.tenant, store.Sorted(ids))
	known := map[string]oxbow.Memory{}
	for _, m := range ms {
		known[m.ID] = m
	}
	return known, err
}

// sentence says what events that are alike did, with the words of both sides.
func sentence(alike []oxbow.Event, known map[string]oxbow.Memory) string {
	e := alike[0]
	say := func(id string) string { return "“" + text.Printable(text.Clip(known[id].Content.Text, 64)) + "”" }
	mine := say(e.Memory)
	if n := len(alike) - 1; n > 0 {
		mine += " and " + count(n, "other")
	}
	switch e.Type {
	case oxbow.SupersededBy:
		return fmt.Sprintf("superseded  %s ← %s", mine, say(*e.After.ReplacedBy))
	case oxbow.CompressedTo:
		return fmt.Sprintf("merged      %s → %s", mine, say(*e.After.ReplacedBy))
	case oxbow.ExpiredEvent:
		return "expired     " + mine + ": " + e.Reason
	case oxbow.ArchivedEvent:
		return "faded       " + mine + ": " + e.Reason
	case oxbow.Reinforced:
		return "confirmed   " + mine
	case oxbow.Linked:
		return fmt.Sprintf("conflict    %s ↔ %s: both stay", mine, say(e.Links[0].From))
	}
	return fmt.Sprintf("%-10s  %s: %s", e.Type, mine, e.Reason)
}

// tellWhy prints the story of one memory, as oxbow memory why does.
func (p *player) tellWhy(ctx context.Context, question, id string) error {
	s, err := p.engine.Why(ctx, p.tenant, id)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(p.out, "\n%s\n  %s  “%s”\n", question, engine.Short(id), text.Printable(s.Memory.Content.Text))
	for _, l := range s.Lines {
		_, _ = fmt.Fprintf(p.out, "  %s  %s\n", l.At.Format("2006-01-02"), l.Text)
	}
	for _, l := range s.Now {
		_, _ = fmt.Fprintf(p.out, "              %s\n", l)
	}
	return nil
}

// protagonists finds three memories worth asking about: one that was
// superseded, one that was merged from others, and one that faded by itself.
func (p *player) protagonists(ctx context.Context) (superseded, merged, faded string, err error) {
	events, err := p.st.Events(ctx, store.EventFilter{Tenant: p.tenant, Limit: 1000,
		Types: []oxbow.EventType{oxbow.SupersededBy, oxbow.CompressedTo, oxbow.ArchivedEvent}})
	if err != nil {
		return "", "", "", err
	}
	inOrder(events)
	replaced := map[string]int{}
	for _, e := range events {
		switch {
		case e.Type == oxbow.ArchivedEvent && faded == "":
			faded = e.Memory
		case e.After.ReplacedBy != nil:
			replaced[*e.After.ReplacedBy]++
		}
	}
	for _, e := range events {
		if e.After.ReplacedBy == nil {
			continue
		}
		by := *e.After.ReplacedBy
		if e.Type == oxbow.SupersededBy && replaced[by] > replaced[replacer(events, superseded)] {
			superseded = e.Memory
		}
		if e.Type == oxbow.CompressedTo && len(e.Links) > 0 && e.Links[0].Type == oxbow.DerivedFrom && replaced[by] > replaced[merged] {
			merged = by
		}
	}
	return superseded, merged, faded, nil
}

func replacer(events []oxbow.Event, id string) string {
	for _, e := range events {
		if e.Memory == id && e.Type == oxbow.SupersededBy {
			return *e.After.ReplacedBy
		}
	}
	return ""
}
