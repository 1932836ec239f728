package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
)

type orderFlags struct {
	scopes   []string
	all, dry bool
	wait     bool
	since    string
	memory   string
	talk     string
	fresh    bool
	maxShare float64
	drop     bool
}

func jobRunCommand(a *app) *cobra.Command {
	var f orderFlags
	cmd := &cobra.Command{
		Use:   "run NAME",
		Short: "Start decay, expire, prune, cluster, extract, contradiction, embed, graph, reindex, observe or reflect by hand",
		Long: `Start a job by hand, in one scope or in all:

  decay          archives what has faded
  expire         retires what is past its end
  prune          archives what is over a slot's cap
  cluster        merges groups that say nearly the same
  extract        reads turns once more
  contradiction  judges memories once more
  embed          gives memories vectors that have none of the embedder in use
  graph          reads what memories name that were not read before
  reindex        has memories found by what they are about, stored before that was indexed
  observe        condenses the turns of conversations, however few are new
  reflect        condenses their observations, however few there are

With --dry-run it prints exactly what the job would change, and changes nothing.`,
		Example: `  oxbow job run decay --scope user --dry-run
  oxbow job run cluster --all`,
		Args: exactly("the name of a job"),
		RunE: a.command(func(ctx context.Context, s *session, args []string) error { return s.order(ctx, f, args[0]) }),
	}
	fs := cmd.Flags()
	fs.StringSliceVar(&f.scopes, "scope", nil, "in this scope; can be given several times")
	fs.BoolVar(&f.all, "all", false, "in every scope")
	fs.BoolVar(&f.dry, "dry-run", false, "print what would change, and change nothing")
	fs.BoolVar(&f.wait, "wait", false, "wait until it is done, also when a worker elsewhere does it")
	fs.StringVar(&f.since, "since", "", "extract, contradiction: only what was said since then, such as 7d")
	fs.BoolVar(&f.fresh, "fresh", false, "extract, contradiction: ask the model anew, whatever it answered in the last week")
	fs.StringVar(&f.memory, "memory", "", "contradiction: only this memory")
	fs.StringVar(&f.talk, "conversation", "", "observe, reflect: only this conversation")
	fs.BoolVar(&f.drop, "drop-others", false, "embed: when all have one, take the vectors of other embedders away")
	fs.Float64Var(&f.maxShare, "max-share", 0, "decay, prune: the share of a scope that may change in a day, instead of the policy's")
	return cmd
}

func (s *session) order(ctx context.Context, f orderFlags, name string) error {
	o, err := s.orderOf(ctx, f, name)
	if err != nil {
		return err
	}
	if f.dry {
		return s.plan(ctx, o)
	}
	runs, err := s.engine.RunJob(ctx, o)
	if err != nil {
		return err
	}
	if len(runs) == 0 {
		s.say("there is no scope yet; oxbow remember makes one")
	}
	for _, run := range runs {
		if name == "extract" || name == "cluster" {
			run = "" // what follows from them are runs of their own
		}
		done, err := s.settleJobs(ctx, run, f.wait, func(left int) string {
			return fmt.Sprintf("%s: %s to do", name, number(left, "job", "jobs"))
		})
		if err != nil {
			return err
		}
		if !done.Worked {
			break // the others wait too, and it is said once
		}
	}
	return s.showOrdered(ctx, runs)
}

func (s *session) orderOf(ctx context.Context, f orderFlags, name string) (engine.Order, error) {
	o := engine.Order{Name: name, Tenant: s.tenant, Scopes: f.scopes, Memory: f.memory, Conversation: f.talk, Fresh: f.fresh, MaxShare: f.maxShare, DropOthers: f.drop}
	if f.memory != "" {
		m, err := s.engine.Memory(ctx, s.tenant, f.memory)
		if err != nil {
			return o, err
		}
		o.Memory, o.Scopes = m.ID, []string{m.Scope.Name}
	}
	if (len(o.Scopes) == 0) == !f.all {
		return o, usage("say where: --scope NAME for one scope, or --all for every scope")
	}
	zone := time.UTC
	if len(o.Scopes) > 0 {
		var err error
		if zone, err = s.zone(ctx, o.Scopes[0]); err != nil {
			return o, err
		}
	}
	var err error
	o.Since, err = parseSince(f.since, zone, time.Now())
	return o, err
}

// plannedScope is what a dry run would change in one scope.
type plannedScope struct {
	Scope   string                 `json:"scope"`
	Braked  bool                   `json:"braked"`
	Refused int                    `json:"refused,omitempty"`
	Why     string                 `json:"why,omitempty"`
	Changes []engine.PlannedChange `json:"changes"`
}

func (s *session) plan(ctx context.Context, o engine.Order) error {
	planned, err := s.engine.PlanJob(ctx, o)
	if err != nil {
		return err
	}
	out, total := []plannedScope{}, 0
	for _, in := range planned {
		lines, err := s.engine.PlanLines(ctx, s.tenant, in.Changes)
		if err != nil {
			return err
		}
		out = append(out, plannedScope{Scope: in.Scope.Name, Braked: in.Braked, Refused: in.Refused, Why: in.Why, Changes: lines})
		total += len(lines)
		if in.Braked {
			s.say("the brake would stop it in %s there; --max-share sets it off", in.Scope.Name)
		}
		if in.Refused > 0 {
			s.say("%s", refusals(in))
		}
	}
	s.say("a dry run of %s: it would make %s, and made none", o.Name, number(total, "change", "changes"))
	return s.show(out, func(p *printer) {
		t := newTable("SCOPE", "MEMORY", "WHAT", "WHY", "TEXT")
		for _, in := range out {
			for _, c := range in.Changes {
				t.add(in.Scope, engine.Short(c.Memory), c.What, c.Why, c.Text)
			}
		}
		p.table(t)
	})
}

// refusals says what the gate would refuse in a scope.
func refusals(in engine.Planned) string {
	out := fmt.Sprintf("the gate would refuse %s of the judge in %s", number(in.Refused, "proposal", "proposals"), in.Scope.Name)
	if in.Why != "" {
		out += ": " + in.Why
	}
	return out
}

// showOrdered prints how the runs ended, or that they have not begun.
func (s *session) showOrdered(ctx context.Context, ids []string) error {
	runs := []oxbow.Run{}
	for _, id := range ids {
		run, err := s.st.Run(ctx, s.tenant, id)
		switch {
		case oxbow.CodeOf(err) == oxbow.CodeNotFound: // a pass writes its run when it begins
			run = oxbow.Run{ID: id, Scope: oxbow.Scope{Tenant: s.tenant}, Status: "waiting"}
		case err != nil:
			return err
		}
		runs = append(runs, run)
	}
	return s.show(runs, func(p *printer) { p.runs(runs) })
}
