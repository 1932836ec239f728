package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/llm"
)

// Register adds the workers of every job. Every process that may lead must
// register them all: a leader discards stuck jobs of kinds that it lacks.
func Register(ws *river.Workers, d Deps) {
	river.AddWorker(ws, &extractWorker{Deps: d})
	river.AddWorker(ws, &confidenceWorker{Deps: d})
	river.AddWorker(ws, &contradictionWorker{Deps: d})
	river.AddWorker(ws, &expiryWorker{Deps: d})
	river.AddWorker(ws, &decayWorker{Deps: d})
	river.AddWorker(ws, &expireWorker{Deps: d})
	river.AddWorker(ws, &pruneWorker{Deps: d})
	river.AddWorker(ws, &clusterWorker{Deps: d})
	river.AddWorker(ws, &synthesizeWorker{Deps: d})
	river.AddWorker(ws, &policyWorker{Deps: d})
	river.AddWorker(ws, &embedWorker{Deps: d})
	river.AddWorker(ws, &graphWorker{Deps: d})
	river.AddWorker(ws, &reindexWorker{Deps: d})
	river.AddWorker(ws, &observeWorker{Deps: d})
	river.AddWorker(ws, &reflectWorker{Deps: d})
}

// LongestTimeout is the longest that any job may run; what is stuck for longer
// is rescued.
const LongestTimeout = passTimeout

// Passes names the jobs that an operator and the schedule can start over a
// scope, in the order in which they are documented.
var Passes = []string{"decay", "expire", "prune", "cluster"}

// ByHand are the jobs beside the passes that an operator can start.
var ByHand = []string{"extract", "contradiction", "embed", "graph", "reindex", "observe", "reflect"}

// PassRun gives the id of the run of a pass in a scope for an instant; the same
// slot gives the same id, however often it is enqueued.
func PassRun(name string, s oxbow.Scope, now time.Time, again string) string {
	return oxbow.NewID("run", name, s.Tenant, s.Name, Milli(now).Format(time.RFC3339Nano), again)
}

// NewPass gives the job of a pass; invalid for a name that is none.
func NewPass(name string, args PassArgs) (river.JobArgs, error) {
	switch name {
	case "decay":
		return Decay{args}, nil
	case "expire":
		return Expire{args}, nil
	case "prune":
		return Prune{args}, nil
	case "cluster":
		return Cluster{args}, nil
	}
	return nil, oxbow.Errorf(oxbow.CodeInvalid, "there is no job %q: use %s", name, text.OneOf(slices.Concat(Passes, ByHand)))
}

// PlanPass gives what a pass would change in a scope at now, without changing
// anything: the same plan that the real run applies, cut by the same brake.
func (d Deps) PlanPass(ctx context.Context, name string, args PassArgs) (changes []oxbow.Change, braked bool, err error) {
	s, err := d.Store.Scope(ctx, args.scope())
	if err != nil {
		return nil, false, err
	}
	if name == "cluster" {
		return d.planMerges(ctx, s, args)
	}
	p, ok := passes[name]
	if !ok {
		return nil, false, oxbow.Errorf(oxbow.CodeInvalid, "there is no job %q: use %s", name, text.OneOf(slices.Concat(Passes, ByHand)))
	}
	cursor := ""
	for {
		more, next, err := p.plan(ctx, d.Store, s, Milli(args.Now), cursor, d.passBatch())
		if err != nil {
			return nil, false, err
		}
		changes = append(changes, more...)
		if cursor = next; cursor == "" {
			break
		}
	}
	return d.brake(ctx, s, args, p, changes)
}

// planMerges gives the merges that cluster and synthesize would make, and tells
// whether the brake would stop one of them.
func (d Deps) planMerges(ctx context.Context, s oxbow.ScopeSettings, args PassArgs) (out []oxbow.Change, braked bool, err error) {
	found, err := d.groups(ctx, s, args.Now, "")
	if err != nil {
		return nil, false, err
	}
	left, err := allowance(ctx, d.Store, s, args.Now, args.MaxShare)
	if err != nil {
		return nil, false, err
	}
	for _, g := range found.groups {
		syn := synthesizeArgs(args, g)
		sources := bySaid(g)
		text, err := d.Judge.Synthesize(asking(ctx, "synthesize", s.Scope, "", idsOf(sources)...), statements(sources))
		if errors.Is(err, llm.ErrUnparsable) || errors.Is(err, llm.ErrRefused) {
			continue // the real run leaves such a group alone too
		}
		if err != nil {
			return nil, false, fmt.Errorf("rewrite a group: %w", err)
		}
		m, err := d.merged(ctx, syn, sources, text)
		if err != nil {
			return nil, false, err
		}
		switch {
		case gateSynthesis(sources, m) != "":
		case left < len(sources):
			braked = true
		default:
			left -= len(sources)
			out = append(out, mergeChanges(sources, m)...)
		}
	}
	return out, braked, nil
}

// PlanContradiction gives what judging a memory once more would change.
func (d Deps) PlanContradiction(ctx context.Context, tenant, memory string) ([]oxbow.Change, error) {
	m, err := d.Store.Memory(ctx, tenant, memory)
	if err != nil {
		return nil, err
	}
	s, err := d.Store.Scope(ctx, m.Scope)
	if err != nil {
		return nil, err
	}
	judged, err := d.verdicts(asking(ctx, "contradiction", m.Scope, ""), m, true)
	if err != nil {
		return nil, err
	}
	return settled(ctx, d.Store, s, nil, []string{m.ID}, judged)
}

// Decode gives the arguments of a job by its kind, for one that was given up.
func Decode(kind string, args []byte) (river.JobArgs, error) {
	switch kind {
	case "extract":
		return decode[Extract](args)
	case "confidence":
		return decode[Confidence](args)
	case "contradiction":
		return decode[Contradiction](args)
	case "expiry":
		return decode[Expiry](args)
	case "decay":
		return decode[Decay](args)
	case "expire":
		return decode[Expire](args)
	case "prune":
		return decode[Prune](args)
	case "cluster":
		return decode[Cluster](args)
	case "synthesize":
		return decode[Synthesize](args)
	case "apply_policy":
		return decode[ApplyPolicy](args)
	case "embed":
		return decode[Embed](args)
	case "graph":
		return decode[Graph](args)
	case "reindex":
		return decode[Reindex](args)
	case "observe":
		return decode[Observe](args)
	case "reflect":
		return decode[Reflect](args)
	}
	return nil, oxbow.Errorf(oxbow.CodeUnsupported, "this program knows no job %q", kind)
}

func decode[T river.JobArgs](args []byte) (river.JobArgs, error) {
	var v T
	if err := json.Unmarshal(args, &v); err != nil {
		return nil, oxbow.WrapError(oxbow.CodeInvalid, err, "the job's arguments do not parse")
	}
	return v, nil
}
