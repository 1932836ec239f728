package jobs

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/store"
)

// Synthesize rewrites a group of memories as one better one and compresses the
// sources into it, in one transaction: the new memory is durable before its
// sources leave the active ones, and they stay readable. When a source was
// edited, pinned or put away meanwhile, that wins and nothing is merged; when
// the judge's text lost or made up a name, a number, a date or a negation, it is
// refused.
type Synthesize struct {
	PassArgs
	Members []Member `json:"members"`
}

// Member is a source of a synthesis as it was when the group was found.
type Member struct {
	Memory         string `json:"memory"`
	ContentVersion int    `json:"content_version"`
}

// Kind names the job.
func (Synthesize) Kind() string { return "synthesize" }

// InsertOpts keeps it to one job of a group.
func (Synthesize) InsertOpts() river.InsertOpts {
	o := passOpts()
	o.Queue = QueueSynthesis
	return o
}

// name gives what makes a group what it is.
func (a Synthesize) name() string {
	s := ""
	for _, m := range a.Members {
		s += m.Memory + "@" + itoa(m.ContentVersion) + " "
	}
	return s
}

type synthesizeWorker struct {
	river.WorkerDefaults[Synthesize]
	Deps
}

func (w *synthesizeWorker) Timeout(*river.Job[Synthesize]) time.Duration { return 3 * time.Minute }

func (w *synthesizeWorker) Work(ctx context.Context, job *river.Job[Synthesize]) error {
	return w.outcome(ctx, job.JobRow, job.Args.About, w.merge(ctx, job))
}

func (w *synthesizeWorker) merge(ctx context.Context, job *river.Job[Synthesize]) error {
	args := job.Args
	sources, err := unchanged(ctx, w.Store, args)
	if err != nil {
		return err
	}
	if len(sources) < len(args.Members) {
		return w.note(ctx, job, "a source was changed meanwhile; nothing was merged")
	}
	text, err := w.Judge.Synthesize(asking(ctx, "synthesize", args.scope(), args.Run, idsOf(sources)...), statements(sources))
	if errors.Is(err, llm.ErrUnparsable) {
		return w.note(ctx, job, "the judge's answer did not parse; the sources stay")
	}
	if errors.Is(err, llm.ErrRefused) {
		w.countRefused(RefusedText, 1)
		return w.note(ctx, job, "the judge refuses the text of the group; the sources stay")
	}
	if err != nil {
		return err
	}
	merged, err := w.merged(ctx, args, sources, text)
	if err != nil {
		return err
	}
	if why := gateSynthesis(sources, merged); why != "" {
		return w.refuseMerge(ctx, job, sources, why)
	}
	return w.commit(ctx, job.JobRow, "synthesize:"+args.Run, args.Run, func(ctx context.Context, tx store.Tx) error {
		return w.apply(ctx, tx, args, sources, merged)
	})
}

// unchanged gives the sources that still stand as the group was found.
func unchanged(ctx context.Context, r store.MemoryReader, args Synthesize) ([]oxbow.Memory, error) {
	ids := make([]string, len(args.Members))
	versions := map[string]int{}
	for i, m := range args.Members {
		ids[i] = m.Memory
		versions[m.Memory] = m.ContentVersion
	}
	ms, err := r.Memories(ctx, args.Tenant, ids)
	if err != nil {
		return nil, err
	}
	var out []oxbow.Memory
	for _, m := range ms {
		if m.Scope == args.scope() && m.Status == oxbow.Active && !m.Pinned && m.ContentVersion == versions[m.ID] {
			out = append(out, m)
		}
	}
	return bySaid(out), nil
}

// bySaid gives memories in the order in which they were said, so that a judge
// sees a group in the same order whatever the ids are.
func bySaid(ms []oxbow.Memory) []oxbow.Memory {
	out := slices.Clone(ms)
	slices.SortFunc(out, func(a, b oxbow.Memory) int {
		if a.Before(b) {
			return -1
		}
		return 1
	})
	return out
}

func statements(ms []oxbow.Memory) []llm.Statement {
	out := make([]llm.Statement, len(ms))
	for i, m := range ms {
		out[i] = statement("c"+itoa(i+1), m)
	}
	return out
}

// synthesisConfidence is the published design's: several conversations agree,
// and rewriting loses nuance.
const synthesisConfidence = 0.85

// merged gives the memory that the sources become.
func (d Deps) merged(ctx context.Context, args Synthesize, sources []oxbow.Memory, s llm.Synthesis) (oxbow.Memory, error) {
	first := sources[0]
	m := oxbow.Memory{
		ID: oxbow.NewID("synthesis", args.Tenant, args.Scope, args.name()), Scope: args.scope(), Status: oxbow.Active,
		Kind: first.Kind, Slot: first.Slot, Source: first.Source, Rated: true, Derived: true,
		SaidAt: first.SaidAt, ExpiresAt: first.ExpiresAt, CreatedAt: d.now(),
	}
	var tags [][]string
	best := 0.0
	for _, src := range sources {
		m.SaidAt = latest(m.SaidAt, src.SaidAt)
		m.ConfirmedAt = latest(m.ConfirmedAt, src.ConfirmedAt)
		m.TouchedAt = latest(m.TouchedAt, src.TouchedAt)
		m.LastUsedAt = latest(m.LastUsedAt, src.LastUsedAt)
		m.ReviewAt = latest(m.ReviewAt, src.ReviewAt)
		m.AccessCount = max(m.AccessCount, src.AccessCount)
		m.Source = oxbow.LeastTrusted(m.Source, src.Source)
		if src.ExpiresAt.IsZero() || m.ExpiresAt.IsZero() {
			m.ExpiresAt = time.Time{}
		} else {
			m.ExpiresAt = latest(m.ExpiresAt, src.ExpiresAt)
		}
		if src.Slot != m.Slot {
			m.Slot = ""
		}
		best = max(best, src.Confidence())
		tags = append(tags, src.Content.Tags)
	}
	m.Rating = min(synthesisConfidence, best)
	m.Content = CleanContent(oxbow.Content{Text: s.Text, Summary: s.Summary, Tags: unite(append(tags, s.Tags)...), Speaker: first.Content.Speaker})
	m = d.Detailed(m)
	mean, err := d.leafImportance(ctx, sources)
	m.Importance = min(10, mean*1.2)
	return m, err
}

// leafImportance gives the mean importance of what was really said: a source
// that is itself a synthesis counts by its own sources.
func (d Deps) leafImportance(ctx context.Context, sources []oxbow.Memory) (float64, error) {
	sum, n := 0.0, 0
	for _, src := range sources {
		leaves := []oxbow.Memory{src}
		if src.Derived {
			links, err := d.Store.Links(ctx, src.Scope.Tenant, []string{src.ID})
			if err != nil {
				return 0, err
			}
			var ids []string
			for _, l := range links {
				if l.Type == oxbow.DerivedFrom && l.From == src.ID {
					ids = append(ids, l.To)
				}
			}
			if leaves, err = d.Store.Memories(ctx, src.Scope.Tenant, ids); err != nil {
				return 0, err
			}
		}
		for _, l := range leaves {
			sum, n = sum+l.Importance, n+1
		}
	}
	return sum / float64(max(1, n)), nil
}

func (w *synthesizeWorker) apply(ctx context.Context, tx store.Tx, args Synthesize, sources []oxbow.Memory, merged oxbow.Memory) error {
	if _, err := tx.LockScope(ctx, args.scope(), w.now()); err != nil {
		return err
	}
	s, err := tx.Scope(ctx, args.scope()) // the brake needs the count as it is now
	if err != nil {
		return err
	}
	fresh, err := unchanged(ctx, tx, args)
	if err != nil {
		return err
	}
	if len(fresh) < len(sources) {
		return tx.PutRun(ctx, w.mergeRun(args, oxbow.RunStopped, "a source was changed meanwhile; nothing was merged", nil))
	}
	left, err := allowance(ctx, tx, s, args.Now, args.MaxShare)
	if err != nil {
		return err
	}
	if left < len(sources) {
		return tx.PutRun(ctx, w.mergeRun(args, oxbow.RunStopped, "the brake stopped it: passes have changed enough of this scope today", nil))
	}
	done, err := tx.Apply(ctx, w.batch(args.About), sign(mergeChanges(fresh, merged), actor(args.About), llm.NameOf(w.Judge, "synthesize")))
	if err != nil {
		return err
	}
	if len(done.Stale) > 0 {
		return oxbow.ErrStale
	}
	if err := tx.Enqueue(ctx, append(w.Embedding(args.About, []oxbow.Memory{merged}), w.Drawing(args.About, []oxbow.Memory{merged})...)); err != nil {
		return err
	}
	return tx.PutRun(ctx, w.mergeRun(args, oxbow.RunDone, "", counted(done.Events, 0)))
}

// mergeChanges gives the new memory and the compression of its sources.
func mergeChanges(sources []oxbow.Memory, merged oxbow.Memory) []oxbow.Change {
	changes := []oxbow.Change{{Type: oxbow.Created, Memory: merged.ID, New: &merged, Reason: "rewritten from " + itoa(len(sources)) + " memories"}}
	why := "merged with others that say nearly the same"
	if merged.Kind == oxbow.Reflection {
		why = "condensed with the others of its conversation's past"
	}
	for _, src := range sources {
		c := guarded(oxbow.CompressedTo, src, why)
		c.Set.ReplacedBy = &merged.ID
		c.Links = []oxbow.Link{{From: merged.ID, To: src.ID, Type: oxbow.DerivedFrom}}
		changes = append(changes, c)
	}
	return changes
}

func (w *synthesizeWorker) mergeRun(args Synthesize, st oxbow.RunStatus, note string, counts map[string]int) oxbow.Run {
	return oxbow.Run{ID: args.Run, Scope: args.scope(), Name: "synthesize", Trigger: args.Trigger, Status: st,
		About: Milli(args.Now), StartedAt: w.now(), FinishedAt: w.now(), Counts: counts, Note: note}
}

// note ends the job without an effect and says why in its run.
func (w *synthesizeWorker) note(ctx context.Context, job *river.Job[Synthesize], why string) error {
	return w.commit(ctx, job.JobRow, "synthesize:"+job.Args.Run, job.Args.Run, func(ctx context.Context, tx store.Tx) error {
		if _, err := tx.LockScope(ctx, job.Args.scope(), w.now()); err != nil {
			return err
		}
		return tx.PutRun(ctx, w.mergeRun(job.Args, oxbow.RunStopped, why, nil))
	})
}

// refuseMerge keeps in the log of each source that a rewriting was refused.
func (w *synthesizeWorker) refuseMerge(ctx context.Context, job *river.Job[Synthesize], sources []oxbow.Memory, why string) error {
	args := job.Args
	w.countRefused(RefusedMerge, 1)
	return w.commit(ctx, job.JobRow, "synthesize:"+args.Run, args.Run, func(ctx context.Context, tx store.Tx) error {
		for _, src := range sources {
			if err := w.refuse(ctx, tx, w.batch(args.About), src, why); err != nil {
				return err
			}
		}
		return tx.PutRun(ctx, w.mergeRun(args, oxbow.RunStopped, why, map[string]int{"refused": 1}))
	})
}
