package jobs

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/store"
)

// Extract reads a scope's waiting turns in the order in which they were said and
// keeps what is worth keeping. One such job runs in a scope at a time; scopes
// run beside each other. A turn whose text the judge refuses, or that it cannot
// read after all attempts, is marked failed and does not hold up those behind it.
type Extract struct {
	Tenant string `json:"tenant" river:"unique"`
	Scope  string `json:"scope" river:"unique"`
	Again  string `json:"again,omitempty"`
	Fresh  bool   `json:"fresh,omitempty"`
}

// Kind names the job.
func (Extract) Kind() string { return "extract" }

// InsertOpts makes the job the only waiting or running one of its scope.
func (Extract) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: QueueWrite, MaxAttempts: maxAttempts, Priority: 1, UniqueOpts: river.UniqueOpts{
		ByArgs: true,
		ByState: []rivertype.JobState{rivertype.JobStateAvailable, rivertype.JobStatePending,
			rivertype.JobStateRetryable, rivertype.JobStateRunning, rivertype.JobStateScheduled},
	}}
}

// turnsPerJob and extractFor bound one job; what is left is another one's.
const (
	turnsPerJob = 50
	extractFor  = 20 * time.Second
)

type extractWorker struct {
	river.WorkerDefaults[Extract]
	Deps
}

func (w *extractWorker) Timeout(*river.Job[Extract]) time.Duration { return 2 * time.Minute }

func (w *extractWorker) Work(ctx context.Context, job *river.Job[Extract]) error {
	a := About{Tenant: job.Args.Tenant, Scope: job.Args.Scope}
	err := w.turns(ctx, job)
	if err != nil && job.Attempt >= job.MaxAttempts && !isAway(err) {
		if e := w.giveUp(ctx, job, err); e == nil {
			return nil
		}
	}
	return w.outcome(ctx, job.JobRow, a, err)
}

func (w *extractWorker) turns(ctx context.Context, job *river.Job[Extract]) error {
	scope := oxbow.Scope{Tenant: job.Args.Tenant, Name: job.Args.Scope}
	until := time.Now().Add(extractFor)
	for n := 0; n < turnsPerJob && time.Now().Before(until); n++ {
		next, err := w.Store.NextTurns(ctx, scope, 1)
		if err != nil {
			return err
		}
		if len(next) == 0 {
			break
		}
		if err := w.extract(ctx, job, next[0]); err != nil {
			if n > 0 && !isAway(err) && !isPermanent(err) {
				break // the next job begins with this turn and has its attempts for itself
			}
			return err
		}
	}
	return w.goOn(ctx, job, scope)
}

// extract asks the judge about one turn and stores what passes the gate.
func (w *extractWorker) extract(ctx context.Context, job *river.Job[Extract], t oxbow.Turn) error {
	a := aboutTurn(t, job.Args)
	asked := asking(a.anew(ctx), "extract", t.Scope, a.Run, t.ID)
	said, err := w.textIn(ctx, t)
	if err != nil {
		return err
	}
	found, err := w.Judge.Extract(asked, said)
	if errors.Is(err, llm.ErrRefused) {
		return w.refused(ctx, job, t, a)
	}
	if err != nil {
		return err
	}
	kept, of, refused := gateDrafts(t, found.Drafts, w.now())
	w.countRefused(RefusedDraft, refused)
	kept = w.detailed(kept)
	if kept, err = w.unsaid(asked, t, kept); err != nil {
		return err
	}
	turns, tokens, err := w.growth(ctx, t)
	if err != nil {
		return err
	}
	// The run before is part of the key: a turn that was opened again may meet a
	// job that was waiting already and knows nothing of the second reading.
	key := "extract:" + t.ID + ":" + t.Run
	return w.stepIn(ctx, t.Scope, job.JobRow, key, a.Run, func(ctx context.Context, tx store.Tx, s oxbow.ScopeSettings) error {
		if fresh, err := tx.Turn(ctx, t.Scope.Tenant, t.ID); err != nil || fresh.State != oxbow.TurnWaiting {
			return err
		}
		kept, err := unknown(ctx, tx, t.Scope.Tenant, kept)
		if err != nil {
			return err
		}
		if err := tx.PutRun(ctx, w.readRun(a, t, map[string]int{"refused": refused, "quarantined": quarantined(kept)})); err != nil {
			return err
		}
		done, err := Put(ctx, tx, w.batch(a), s, kept, "judge", w.Judge.Name())
		if err != nil {
			return err
		}
		t.State, t.Memories, t.Judge, t.Run, t.Reason = oxbow.TurnExtracted, len(kept), w.Judge.Name(), a.Run, takenAway(kept, refused)
		if len(kept) == 0 {
			t.Reason = nothingKept(found, refused)
		}
		if err := tx.FinishTurn(ctx, t); err != nil {
			return err
		}
		made := Created(kept, done)
		answered, err := w.sayAlong(ctx, tx, w.batch(a), s, t, made, of)
		if err != nil {
			return err
		}
		next := slices.DeleteFunc(w.FollowUps(a, made), answered.has)
		return tx.Enqueue(ctx, append(next, observing(s, t, turns, tokens)...))
	})
}

// refused marks a turn whose text the judge does not take; those behind it go on.
func (w *extractWorker) refused(ctx context.Context, job *river.Job[Extract], t oxbow.Turn, a About) error {
	w.countRefused(RefusedText, 1)
	turns, tokens, err := w.growth(ctx, t)
	if err != nil {
		return err
	}
	return w.stepIn(ctx, t.Scope, job.JobRow, "extract:"+t.ID+":"+t.Run, a.Run, func(ctx context.Context, tx store.Tx, s oxbow.ScopeSettings) error {
		if fresh, err := tx.Turn(ctx, t.Scope.Tenant, t.ID); err != nil || fresh.State != oxbow.TurnWaiting {
			return err
		}
		run := w.readRun(a, t, map[string]int{"refused": 1})
		run.Note = "the judge refuses the text of the turn"
		if err := tx.PutRun(ctx, run); err != nil {
			return err
		}
		t.State, t.Reason, t.Judge, t.Run = oxbow.TurnFailed, "the judge refuses its text", w.Judge.Name(), a.Run
		if err := tx.FinishTurn(ctx, t); err != nil {
			return err
		}
		return tx.Enqueue(ctx, observing(s, t, turns, tokens))
	})
}

func textOf(t oxbow.Turn) llm.TurnText {
	return llm.TurnText{User: t.User, Assistant: t.Assistant, Parts: t.Parts, At: t.At}
}

// textIn is textOf with the instant in the scope's zone, because a judge that
// reads a turn may read the days in it too.
func (d Deps) textIn(ctx context.Context, t oxbow.Turn) (llm.TurnText, error) {
	out := textOf(t)
	s, err := d.Store.Scope(ctx, t.Scope)
	if oxbow.CodeOf(err) == oxbow.CodeNotFound {
		return out, nil
	}
	out.At = out.At.In(s.Location())
	return out, err
}

// aboutTurn is what the jobs that follow from a turn are about: the instant at
// which it was said.
func aboutTurn(t oxbow.Turn, args Extract) About {
	return About{Tenant: t.Scope.Tenant, Scope: t.Scope.Name, Run: oxbow.NewID("run", t.ID, args.Again, t.Run),
		Now: Milli(t.At), Trigger: "write", Again: args.Again, Fresh: args.Fresh}
}

// RunOf gives the run that reading a turn for the first time is.
func RunOf(t oxbow.Turn) string {
	t.Run = ""
	return aboutTurn(t, Extract{}).Run
}

// readRun is writeRun of what reading a turn makes. The run of the first reading
// was stored with the turn, and began then.
func (d Deps) readRun(a About, t oxbow.Turn, counts map[string]int) oxbow.Run {
	run := d.writeRun(a, counts)
	if a.Run == RunOf(t) {
		run.StartedAt = t.CreatedAt
	}
	return run
}

// quarantined counts the memories that are kept out of sight.
func quarantined(ms []oxbow.Memory) int {
	n := 0
	for _, m := range ms {
		if m.Status == oxbow.Quarantined {
			n++
		}
	}
	return n
}

// takenAway says what the gate took away from a turn of which something was kept.
func takenAway(kept []oxbow.Memory, refused int) string {
	var parts []string
	if refused > 0 {
		parts = append(parts, itoa(refused)+" of the judge's proposals refused")
	}
	if n := quarantined(kept); n > 0 {
		parts = append(parts, itoa(n)+" in quarantine: reads like an order to the agent")
	}
	return strings.Join(parts, ", ")
}

func nothingKept(found llm.Extraction, refused int) string {
	switch {
	case refused > 0:
		return "what was proposed does not stand in the turn"
	case len(found.Drafts) > 0:
		return "it is known already"
	case found.Reason != "":
		return found.Reason
	}
	return "nothing worth keeping"
}

// goOn ends the job and, when turns are left, enqueues the next one. Under the
// scope's lock no turn can arrive unseen in between.
func (w *extractWorker) goOn(ctx context.Context, job *river.Job[Extract], scope oxbow.Scope) error {
	return w.completeIn(ctx, scope, job.JobRow, func(ctx context.Context, tx store.Tx) error {
		left, err := tx.NextTurns(ctx, scope, 1)
		if err != nil || len(left) == 0 {
			return err
		}
		return tx.Enqueue(ctx, []river.InsertManyParams{{Args: job.Args}})
	})
}

// giveUp marks the turn at the head as failed, keeps a copy among the discarded
// jobs, and lets the others go on.
func (w *extractWorker) giveUp(ctx context.Context, job *river.Job[Extract], cause error) error {
	scope := oxbow.Scope{Tenant: job.Args.Tenant, Name: job.Args.Scope}
	next, err := w.Store.NextTurns(ctx, scope, 1)
	if err != nil || len(next) == 0 {
		return cause
	}
	t := next[0]
	a := aboutTurn(t, job.Args)
	if err := w.discard(ctx, job.JobRow, a, cause); err != nil {
		return err
	}
	return w.completeIn(ctx, scope, job.JobRow, func(ctx context.Context, tx store.Tx) error {
		t.State, t.Reason, t.Judge, t.Run = oxbow.TurnFailed, "the judge could not read it", w.Judge.Name(), a.Run
		if err := tx.FinishTurn(ctx, t); err != nil {
			return err
		}
		return tx.Enqueue(ctx, []river.InsertManyParams{{Args: job.Args}})
	})
}

// planPage bounds how many turns are read at a time for a plan.
const planPage = 200

// PlanExtract gives the memories that reading a scope's turns once more would
// make. It stores nothing, so what they would do to each other is not among it.
func (d Deps) PlanExtract(ctx context.Context, s oxbow.Scope, since time.Time) ([]oxbow.Change, error) {
	var out []oxbow.Change
	after := ""
	for {
		turns, err := d.Store.ListTurns(ctx, store.TurnFilter{Tenant: s.Tenant, Scope: s.Name, Since: since, AfterID: after, Limit: planPage})
		if err != nil {
			return nil, err
		}
		for _, t := range turns {
			after = t.ID
			if t.State == oxbow.TurnErased {
				continue
			}
			asked := asking(ctx, "extract", s, "", t.ID)
			said, err := d.textIn(ctx, t)
			if err != nil {
				return nil, err
			}
			found, err := d.Judge.Extract(asked, said)
			if errors.Is(err, llm.ErrRefused) {
				continue // the real run marks such a turn failed
			}
			if err != nil {
				return nil, err
			}
			kept, _, _ := gateDrafts(t, found.Drafts, d.now())
			kept = d.detailed(kept)
			if kept, err = d.unsaid(asked, t, kept); err != nil {
				return nil, err
			}
			for _, m := range kept {
				out = append(out, oxbow.Change{Type: oxbow.Created, Memory: m.ID, New: &m, Reason: entering(m), Judge: d.Judge.Name()})
			}
		}
		if len(turns) < planPage {
			return out, nil
		}
	}
}
