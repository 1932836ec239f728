package jobs

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/store"
)

// Cluster looks for groups of active memories that say nearly the same, and
// enqueues one synthesize job for each. It changes nothing itself. Facts and
// pinned memories are left alone, and a scope with fewer candidates than the
// policy's ClusterMin is too.
type Cluster struct{ PassArgs }

// Kind names the job.
func (Cluster) Kind() string { return "cluster" }

// InsertOpts keeps it to one job of a scope and instant.
func (Cluster) InsertOpts() river.InsertOpts { return passOpts() }

// clusterWindow bounds how many memories one pass compares with each other, the
// most recently said ones. Limit: older ones are not merged with them.
const clusterWindow = 200

type clusterWorker struct {
	river.WorkerDefaults[Cluster]
	Deps
}

func (w *clusterWorker) Timeout(*river.Job[Cluster]) time.Duration { return passTimeout }

func (w *clusterWorker) Work(ctx context.Context, job *river.Job[Cluster]) error {
	return w.outcome(ctx, job.JobRow, job.Args.About, w.group(ctx, job))
}

func (w *clusterWorker) group(ctx context.Context, job *river.Job[Cluster]) error {
	args := job.Args.PassArgs
	s, err := w.Store.Scope(ctx, args.scope())
	if oxbow.CodeOf(err) == oxbow.CodeNotFound {
		return w.complete(ctx, job.JobRow, nothing)
	}
	if err != nil {
		return err
	}
	found, err := w.groups(ctx, s, args.Now, args.Run)
	if err != nil {
		return err
	}
	w.countRefused(RefusedGroup, found.refused)
	w.countRefused(RefusedText, found.unread)
	return w.commit(ctx, job.JobRow, "cluster:"+args.Run, args.Run, func(ctx context.Context, tx store.Tx) error {
		run := oxbow.Run{ID: args.Run, Scope: args.scope(), Name: "cluster", Trigger: args.Trigger, Status: oxbow.RunDone,
			About: Milli(args.Now), StartedAt: w.now(), FinishedAt: w.now(),
			Counts: map[string]int{"groups": len(found.groups), "refused": found.refused}}
		if found.unread > 0 {
			run.Note = "the judge refuses the text of some memories; left out: " + itoa(found.unread)
		}
		if err := tx.PutRun(ctx, run); err != nil {
			return err
		}
		var next []river.InsertManyParams
		for _, g := range found.groups {
			next = append(next, river.InsertManyParams{Args: synthesizeArgs(args, g)})
		}
		return tx.Enqueue(ctx, next)
	})
}

// grouping is what a judge found to belong together.
type grouping struct {
	groups  [][]oxbow.Memory
	refused int // by the gate
	unread  int // by the judge
}

// groups asks the judge which of a scope's candidates belong together.
func (d Deps) groups(ctx context.Context, s oxbow.ScopeSettings, now time.Time, run string) (out grouping, err error) {
	found, err := d.Store.ClusterCandidates(ctx, s.Scope, now, clusterWindow)
	if err != nil || len(found) < s.Policy.ClusterMin {
		return out, err
	}
	offered := map[string]oxbow.Memory{}
	items := make([]llm.Statement, len(found))
	for i, m := range found {
		items[i] = statement("c"+itoa(i+1), m)
		offered[items[i].Label] = m
	}
	asked := asking(ctx, "cluster", s.Scope, run, idsOf(found)...)
	var labels [][]string
	unread, err := divided(items, func(part []llm.Statement) error {
		more, err := d.Judge.Cluster(asked, part)
		labels = append(labels, more...)
		return err
	})
	if err != nil {
		return out, err
	}
	if out.unread = len(unread); out.unread > 0 && out.unread < len(items) { // the halves know nothing of each other
		rest := slices.DeleteFunc(slices.Clone(items), func(s llm.Statement) bool {
			return slices.ContainsFunc(unread, func(u llm.Statement) bool { return u.Label == s.Label })
		})
		if labels, err = d.Judge.Cluster(asked, rest); err != nil && !errors.Is(err, llm.ErrRefused) {
			return out, err
		}
	}
	out.groups, out.refused = gateClusters(offered, labels)
	return out, nil
}

// synthesizeArgs names a group by its members as they were read, sorted, so
// that the same group is the same job.
func synthesizeArgs(args PassArgs, g []oxbow.Memory) Synthesize {
	out := Synthesize{PassArgs: args}
	for _, m := range g {
		out.Members = append(out.Members, Member{Memory: m.ID, ContentVersion: m.ContentVersion})
	}
	slices.SortFunc(out.Members, func(a, b Member) int { return strings.Compare(a.Memory, b.Memory) })
	out.Run = oxbow.NewID("run", "synthesize", args.Run, out.name())
	return out
}
