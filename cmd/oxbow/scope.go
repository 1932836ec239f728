package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

func scopeCommand(a *app) *cobra.Command {
	return group(a, "scope", "See scopes and set their rules", scopeListCommand(a), scopeShowCommand(a), scopeSetCommand(a))
}

func scopeListCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List scopes", Args: noArgs,
		RunE: a.command(func(ctx context.Context, s *session, _ []string) error {
			all, err := s.st.ListScopes(ctx, s.tenant)
			if err != nil {
				return err
			}
			if len(all) == 0 {
				s.say("no scopes yet; one is made by: oxbow remember TEXT --scope NAME")
			}
			return s.show(orEmpty(all), func(p *printer) {
				t := newTable("SCOPE", "MEMORIES", "ZONE", "STRENGTH", "VERSION", "SINCE")
				for _, c := range all {
					t.add(c.Name, fmt.Sprint(c.Memories), c.Zone, string(c.Policy.Strength), fmt.Sprint(c.Version), date(c.CreatedAt))
				}
				p.table(t)
			})
		}),
	}
}

func scopeShowCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show a scope's zone, policy and schedules", Args: exactly("the name of a scope"),
		RunE: a.command(func(ctx context.Context, s *session, args []string) error {
			c, err := s.st.Scope(ctx, oxbow.Scope{Tenant: s.tenant, Name: args[0]})
			if err != nil {
				return err
			}
			return s.showScope(ctx, c, "")
		}),
	}
}

func (s *session) showScope(ctx context.Context, c oxbow.ScopeSettings, run string) error {
	schedules, err := s.st.ListSchedules(ctx, c.Scope)
	if err != nil {
		return err
	}
	counts, err := s.st.CountMemories(ctx, c.Scope)
	if err != nil {
		return err
	}
	out := struct {
		oxbow.ScopeSettings
		Statuses  map[oxbow.Status]int `json:"statuses"`
		Schedules []store.Schedule     `json:"schedules"`
		Run       string               `json:"run,omitempty"`
	}{c, counts, orEmpty(schedules), run}
	policy, err := json.Marshal(c.Policy)
	if err != nil {
		return fmt.Errorf("write the policy: %w", err)
	}
	return s.show(out, func(p *printer) {
		p.line("%s, version %d", p.bold(c.Name), c.Version)
		p.pair("zone", c.Zone)
		p.pair("memories", statuses(counts))
		p.pair("policy", strings.ReplaceAll(string(policy), ",", ", "))
		if run != "" {
			p.pair("applied by", "the run "+run)
		}
		p.schedules(schedules, map[string]*time.Location{c.Name: c.Location()})
	})
}

type scopeFlags struct {
	zone              string
	policy, schedules []string
}

func scopeSetCommand(a *app) *cobra.Command {
	var f scopeFlags
	cmd := &cobra.Command{
		Use: "set NAME", Short: "Set a scope's zone, policy and schedules",
		Long: `Set a scope's time zone, the rules of its policy, and when its passes run. What is
not named stays; scope show prints what can be set. A new policy is applied to
every memory of the scope by a run of its own.`,
		Example: `  oxbow scope set user --zone Europe/Stockholm
  oxbow scope set user --policy strength=classic --policy half_life_days.fact=90
  oxbow scope set user --policy '{"slot_cap": 200}' --schedule decay='0 5 * * *'`,
		Args: exactly("the name of a scope"),
		RunE: a.making(func(ctx context.Context, s *session, args []string) error { return s.setScope(ctx, f, args[0]) }),
	}
	fs := cmd.Flags()
	fs.StringVar(&f.zone, "zone", "", "the time zone, such as Europe/Stockholm")
	fs.StringArrayVar(&f.policy, "policy", nil, "a JSON object, or name=value; can be given several times")
	fs.StringArrayVar(&f.schedules, "schedule", nil, "job='cron line'; can be given several times")
	return cmd
}

func (s *session) setScope(ctx context.Context, f scopeFlags, name string) error {
	if f.zone == "" && len(f.policy) == 0 && len(f.schedules) == 0 {
		return usage("nothing to set: give --zone, --policy or --schedule")
	}
	scope := oxbow.Scope{Tenant: s.tenant, Name: name}
	var patches [][]byte
	for _, v := range f.policy {
		patch, err := policyPatch(v)
		if err != nil {
			return err
		}
		patches = append(patches, patch)
	}
	specs := map[string]string{}
	for _, v := range f.schedules {
		job, line, ok := strings.Cut(v, "=")
		if !ok {
			return usage("--schedule %q is not of the form job='cron line', such as decay='0 3 * * *'", v)
		}
		specs[job] = line
	}
	c, run, err := s.engine.PatchScope(ctx, scope, f.zone, patches, specs)
	if err != nil {
		return err
	}
	if run != "" {
		if _, err := s.settleJobs(ctx, run, false, func(int) string { return "applying the policy" }); err != nil {
			return err
		}
	}
	return s.showScope(ctx, c, run)
}

// policyPatch gives a JSON object from one, or from name=value, where name may
// have a dot: half_life_days.fact=90.
func policyPatch(v string) ([]byte, error) {
	if strings.HasPrefix(strings.TrimSpace(v), "{") {
		return []byte(v), nil
	}
	name, raw, ok := strings.Cut(v, "=")
	if !ok || name == "" {
		return nil, usage("--policy %q is neither a JSON object nor name=value, such as slot_cap=200", v)
	}
	var value any = raw
	if n, err := strconv.ParseFloat(raw, 64); err == nil {
		value = n
	}
	parts := strings.Split(name, ".")
	for i := len(parts) - 1; i >= 0; i-- {
		value = map[string]any{parts[i]: value}
	}
	b, err := json.Marshal(value)
	if err != nil {
		return nil, usage("--policy %q: the value of %s cannot be set", v, name)
	}
	return b, nil
}
