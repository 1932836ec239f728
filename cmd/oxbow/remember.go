package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
)

type rememberFlags struct {
	scope, slot, key, kind, source, speaker, expires string
	importance                                       float64
	tags                                             []string
}

func rememberCommand(a *app) *cobra.Command {
	var f rememberFlags
	cmd := &cobra.Command{
		Use:   "remember TEXT",
		Short: "Write a memory down and see what its jobs decide",
		Long: `Write a memory down at once, have its jobs judge it, and print what they decided:
what it replaces, confirms or conflicts with, and when it ends.

What another source than the user says is kept in quarantine when it reads like an
order to the agent: not judged and not recalled until oxbow memory release.

Without --scope it belongs to the scope "user". With --key it is a fact, the one
value of its address: a newer one replaces the older one.`,
		Example: `  oxbow remember "I prefer short function names" --kind preference
  oxbow remember Europe/Stockholm --key timezone
  oxbow remember "The beta ends" --scope project:apollo --expires 2027-03-31`,
		Args: atLeast("the text to remember"),
		RunE: a.making(func(ctx context.Context, s *session, args []string) error {
			return s.remember(ctx, f, strings.Join(args, " "))
		}),
	}
	fs := cmd.Flags()
	fs.StringVar(&f.scope, "scope", defaultScope, "the scope that it belongs to")
	fs.StringVar(&f.slot, "slot", "", "of a fact: user, project or agent")
	fs.StringVar(&f.key, "key", "", "of a fact: its address in the slot, such as timezone")
	fs.StringVar(&f.kind, "kind", "", "fact, semantic, episodic, procedural, preference, observation or reflection")
	fs.Float64Var(&f.importance, "importance", 5, "from 0 to 10")
	fs.StringSliceVar(&f.tags, "tag", nil, "a tag; can be given several times")
	fs.StringVar(&f.expires, "expires", "", "when it ends: a date (its end, in the scope's zone) or an instant")
	fs.StringVar(&f.source, "source", "user", "who said it: user, assistant, tool, web or import")
	fs.StringVar(&f.speaker, "speaker", "", "the person who said it, when that is somebody else")
	return cmd
}

func (s *session) remember(ctx context.Context, f rememberFlags, words string) error {
	if f.slot != "" && f.key == "" {
		return usage("--slot %s needs --key: a slot holds facts, each under a key such as timezone", f.slot)
	}
	zone, err := s.zone(ctx, f.scope)
	if err != nil {
		return err
	}
	end, err := parseEnd(f.expires, zone)
	if err != nil {
		return err
	}
	w, err := s.engine.Remember(ctx, engine.Statement{
		Scope: oxbow.Scope{Tenant: s.tenant, Name: f.scope}, Text: words, Slot: f.slot, Key: f.key,
		Kind: oxbow.Kind(f.kind), Importance: &f.importance, Tags: f.tags, Source: oxbow.Source(f.source), Speaker: f.speaker, ExpiresAt: end,
	})
	if err != nil {
		return err
	}
	return s.decided(ctx, "remembered", w)
}

// decided has a write's jobs run and prints what they decided.
func (s *session) decided(ctx context.Context, did string, w engine.Written) error {
	if w.Redacted > 0 {
		s.say("took out %s before storing", number(w.Redacted, "string that looks like a secret", "strings that look like secrets"))
	}
	if _, err := s.settleJobs(ctx, w.Run, false, judging); err != nil {
		s.say("the memory %s is stored; its jobs wait", w.Memory.ID)
		return err
	}
	d, err := s.engine.Decided(ctx, s.tenant, w)
	if err != nil {
		return err
	}
	return s.show(d, func(p *printer) { p.decision(did, d) })
}

func (p *printer) decision(did string, d engine.Decision) {
	m := d.Memory
	p.line("%s %s in %s", did, p.bold(m.ID), m.Scope.Name)
	p.prose("  ", "  ", m.Content.Text)
	status := string(m.Status)
	if d.ReplacedBy != nil {
		status += " by " + short(*d.ReplacedBy)
		if m.Status == oxbow.Compressed {
			status = "compressed into " + short(*d.ReplacedBy) + ", which says the same"
		}
	}
	if m.Status == oxbow.Quarantined {
		status += ": no user said it, and it reads like an order to the agent; if it is none: oxbow memory release " + engine.Short(m.ID)
	}
	p.pair("status", status)
	if m.Key != "" {
		p.pair("address", m.Slot+"/"+m.Key)
	}
	p.pair("confidence", fmt.Sprintf("%.2f", m.Confidence))
	p.named("superseded", d.Superseded)
	p.named("confirms", d.Confirmed)
	p.named("conflicts", slices.DeleteFunc(slices.Clone(d.Conflicts), func(o engine.Named) bool { return o.Status != oxbow.Active }))
	waits := func(o engine.Named) bool { return m.Status == oxbow.Active && o.Status == oxbow.Active }
	if i := slices.IndexFunc(d.Conflicts, waits); i >= 0 {
		p.pair("decide", "oxbow memory keep "+engine.Short(m.ID)+" --over "+engine.Short(d.Conflicts[i].ID)+", or --beside")
	}
	p.pair("ends", ending(m.ExpiresAt, m.Zone))
	if !m.ReviewAt.IsZero() {
		p.pair("review", "on "+engine.Day(m.ReviewAt)+", for it ends with an event that has no date")
	}
	if m.Status == oxbow.Active && !m.FadesAt.IsZero() {
		p.pair("fades", "on "+engine.Day(m.FadesAt)+", when it is not used")
	}
	p.pair("why", "oxbow memory why "+engine.Short(m.ID))
}

// mostNamed bounds how many memories are named in a decision.
const mostNamed = 20

func (p *printer) named(what string, ms []engine.Named) {
	for i, m := range ms {
		if i == mostNamed {
			p.pair("", fmt.Sprintf("and %d more; see memory why", len(ms)-mostNamed))
			return
		}
		p.pair(what, short(m))
	}
}

// short names a memory in one line.
func short(m engine.Named) string {
	if m.Status == oxbow.Erased {
		return engine.Short(m.ID) + " (erased)"
	}
	return fmt.Sprintf("%s “%s” (said %s)", engine.Short(m.ID), m.Summary, engine.Day(m.SaidAt))
}
