package jobs

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/store"
)

// Observe makes the new turns of a conversation into dated observations: what was
// asked, mentioned, decided and done, so that an agent can go on with the
// conversation when its turns are gone. It is enqueued by the transaction that
// finishes a turn, once enough of them wait, and takes whole stretches, so that
// what is left waits for more. Each turn carries whether it was observed: what
// arrives late is observed with the next stretch, and no turn twice. Turns without
// a conversation are left alone, and without an observer all are.
//
// A job with a run is an operator's order: it takes every turn that waits, however
// few, of one conversation or of the whole scope.
type Observe struct {
	Tenant       string    `json:"tenant" river:"unique"`
	Scope        string    `json:"scope" river:"unique"`
	Conversation string    `json:"conversation,omitempty" river:"unique"` // its name; empty in an order for all
	Run          string    `json:"run,omitempty" river:"unique"`
	Now          time.Time `json:"now,omitzero"` // of an order: when it was given
}

// Kind names the job.
func (Observe) Kind() string { return "observe" }

// InsertOpts makes the job the only waiting or running one of its conversation, and
// puts it behind what somebody waits for.
func (Observe) InsertOpts() river.InsertOpts { return oncePerConversation(QueueWrite, 3) }

func oncePerConversation(queue string, priority int) river.InsertOpts {
	return river.InsertOpts{Queue: queue, MaxAttempts: maxAttempts, Priority: priority, UniqueOpts: river.UniqueOpts{
		ByArgs: true,
		ByState: []rivertype.JobState{rivertype.JobStateAvailable, rivertype.JobStatePending,
			rivertype.JobStateRetryable, rivertype.JobStateRunning, rivertype.JobStateScheduled},
	}}
}

func (a Observe) scope() oxbow.Scope { return oxbow.Scope{Tenant: a.Tenant, Name: a.Scope} }

// about is what a stretch's effects are about.
func (a Observe) about(run string, t oxbow.Turn) About {
	out := About{Tenant: a.Tenant, Scope: a.Scope, Run: run, Now: Milli(t.At), Trigger: "write"}
	if a.Run != "" {
		out.Trigger = "operator"
	}
	return out
}

// stretchesPerJob and observeFor bound one job; what is left is another one's.
const (
	stretchesPerJob = 20
	observeFor      = 30 * time.Second
)

type observeWorker struct {
	river.WorkerDefaults[Observe]
	Deps
}

func (w *observeWorker) Timeout(*river.Job[Observe]) time.Duration { return 3 * time.Minute }

func (w *observeWorker) Work(ctx context.Context, job *river.Job[Observe]) error {
	a := About{Tenant: job.Args.Tenant, Scope: job.Args.Scope, Run: job.Args.Run}
	return w.outcome(ctx, job.JobRow, a, w.observe(ctx, job))
}

func (w *observeWorker) observe(ctx context.Context, job *river.Job[Observe]) error {
	if w.Observer == nil {
		return w.complete(ctx, job.JobRow, nothing)
	}
	s, err := w.Store.Scope(ctx, job.Args.scope())
	if oxbow.CodeOf(err) == oxbow.CodeNotFound {
		return w.complete(ctx, job.JobRow, nothing)
	}
	if err != nil {
		return err
	}
	until := time.Now().Add(observeFor)
	for n := 0; n < stretchesPerJob && time.Now().Before(until); n++ {
		next, err := nextStretch(ctx, w.Store, s, job.Args)
		if err != nil {
			return err
		}
		if len(next) == 0 {
			break
		}
		if err := w.stretch(ctx, job, s, next); err != nil && !errors.Is(err, errOtherStretch) {
			return err
		}
	}
	return w.goOn(ctx, job)
}

// nextStretch gives the turns to observe now, none when too few wait.
func nextStretch(ctx context.Context, r store.Reader, s oxbow.ScopeSettings, a Observe) ([]oxbow.Turn, error) {
	names := []string{a.Conversation}
	if a.Conversation == "" {
		var err error
		if names, err = r.Conversations(ctx, s.Scope, store.ConversationFilter{Limit: 1}); err != nil || len(names) == 0 {
			return nil, err
		}
	}
	rules := s.Policy.Observe.OrDefault()
	turns, err := r.Unobserved(ctx, s.Scope, names[0], rules.Turns)
	return stretchOf(turns, rules, a.Run != ""), err
}

// stretchOf gives the first turns that are enough; all when anything is.
func stretchOf(turns []oxbow.Turn, rules oxbow.ObserveRules, anything bool) []oxbow.Turn {
	tokens := 0
	for i, t := range turns {
		if tokens += store.TurnTokens(t); rules.Due(i+1, tokens) {
			return turns[:i+1]
		}
	}
	if anything {
		return turns
	}
	return nil
}

// errOtherStretch says that the turns were not what they were when they were read.
var errOtherStretch = errors.New("the stretch was observed, erased or opened again meanwhile")

// stretch observes turns of one conversation, once.
func (w *observeWorker) stretch(ctx context.Context, job *river.Job[Observe], s oxbow.ScopeSettings, turns []oxbow.Turn) error {
	ids := turnIDs(turns)
	mark := oxbow.NewID(append([]string{"stretch", s.Tenant, s.Name}, ids...)...)
	run := job.Args.Run
	if run == "" {
		run = oxbow.NewID("run", "observe", mark)
	}
	found, err := w.observations(ctx, s, turns, run)
	if err != nil {
		return err
	}
	w.countRefused(RefusedDraft, found.refused)
	w.countRefused(RefusedText, found.unread)
	notes, err := w.ListNotes(ctx, w.Store, s.Scope, turns[0].Conversation)
	if err != nil {
		return err
	}
	a := job.Args.about(run, turns[len(turns)-1])
	return w.stepIn(ctx, s.Scope, job.JobRow, "observe:"+mark, run, func(ctx context.Context, tx store.Tx, s oxbow.ScopeSettings) error {
		waiting, err := tx.Unobserved(ctx, s.Scope, turns[0].Conversation, 2*len(turns)+100)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if !slices.ContainsFunc(waiting, func(t oxbow.Turn) bool { return t.ID == id }) {
				return errOtherStretch
			}
		}
		if err := tx.PutRun(ctx, w.noteRun("observe", a, found.counts(len(turns)))); err != nil {
			return err
		}
		for _, t := range turns {
			if err := w.put(ctx, tx, job.Args.about(run, t), s, t, found); err != nil {
				return err
			}
		}
		if err := tx.ObserveTurns(ctx, s.Scope, ids, run); err != nil {
			return err
		}
		if tokensOf(notes)+tokensOf(found.kept) <= s.Policy.Reflect.OrDefault().Tokens {
			return nil
		}
		return tx.Enqueue(ctx, []river.InsertManyParams{{Args: Reflect{Tenant: s.Tenant, Scope: s.Name, Conversation: turns[0].Conversation}}})
	})
}

// put stores the observations of one turn, with the turns that they rest on, and
// enqueues what judges them.
func (w *observeWorker) put(ctx context.Context, tx store.Tx, a About, s oxbow.ScopeSettings, t oxbow.Turn, found observed) error {
	var mine []oxbow.Memory
	for _, m := range found.kept {
		if m.Turn == t.ID {
			mine = append(mine, m)
		}
	}
	mine, err := unknown(ctx, tx, s.Tenant, mine)
	if err != nil || len(mine) == 0 {
		return err
	}
	done, err := Put(ctx, tx, w.batch(a), s, mine, "judge", w.Judge.Name())
	if err != nil {
		return err
	}
	var rest []store.Evidence
	for _, m := range mine {
		for _, turn := range found.turns[m.ID] {
			rest = append(rest, store.Evidence{Memory: m.ID, Turn: turn})
		}
	}
	if err := tx.PutEvidence(ctx, s.Scope, rest); err != nil {
		return err
	}
	made := Created(mine, done)
	answered, err := w.sayAlong(ctx, tx, w.batch(a), s, t, made, found.of)
	if err != nil {
		return err
	}
	return tx.Enqueue(ctx, slices.DeleteFunc(w.FollowUps(a, made), answered.has))
}

// goOn ends the job and, when enough turns wait, enqueues the next one. Under the
// scope's lock none can be finished unseen in between.
func (w *observeWorker) goOn(ctx context.Context, job *river.Job[Observe]) error {
	a := job.Args
	return w.completeIn(ctx, a.scope(), job.JobRow, func(ctx context.Context, tx store.Tx) error {
		s, err := tx.Scope(ctx, a.scope())
		if err != nil {
			return err
		}
		if a.Run != "" {
			order := About{Tenant: a.Tenant, Scope: a.Scope, Run: a.Run, Now: a.Now, Trigger: "operator"}
			if err := tx.PutRun(ctx, w.noteRun("observe", order, nil)); err != nil {
				return err
			}
		}
		next, err := nextStretch(ctx, tx, s, a)
		if err != nil || len(next) == 0 {
			return err
		}
		return tx.Enqueue(ctx, []river.InsertManyParams{{Args: a}})
	})
}

// growth gives how many turns of a turn's conversation wait to be observed once it
// is finished; none where nobody observes.
func (d Deps) growth(ctx context.Context, t oxbow.Turn) (turns, tokens int, err error) {
	if d.Observer == nil || t.Conversation == "" || t.Observed != "" {
		return 0, 0, nil
	}
	turns, tokens, err = d.Store.CountUnobserved(ctx, t.Scope, t.Conversation)
	return turns + 1, tokens + store.TurnTokens(t), err
}

// observing gives the job that follows when enough of a conversation waits.
func observing(s oxbow.ScopeSettings, t oxbow.Turn, turns, tokens int) []river.InsertManyParams {
	if !s.Policy.Observe.Due(turns, tokens) {
		return nil
	}
	return []river.InsertManyParams{{Args: Observe{Tenant: s.Tenant, Scope: s.Name, Conversation: t.Conversation}}}
}

// PlanObserve gives the observations that an order would make, of one conversation
// or of all. It stores nothing, so what they would do to each other is not among it.
func (d Deps) PlanObserve(ctx context.Context, s oxbow.ScopeSettings, conversation string) (out CondensePlan, err error) {
	if d.Observer == nil {
		return out, errNoObserver(d.Judge)
	}
	rules := s.Policy.Observe.OrDefault()
	err = eachConversation(ctx, d.Store, s.Scope, conversation, false, func(name string) error {
		turns, err := d.Store.Unobserved(ctx, s.Scope, name, planPage)
		for err == nil && len(turns) > 0 {
			part := stretchOf(turns, rules, true)
			turns = turns[len(part):]
			var found observed
			if found, err = d.observations(ctx, s, part, ""); err != nil {
				return err
			}
			for _, m := range found.kept {
				out.Changes = append(out.Changes, oxbow.Change{Type: oxbow.Created, Memory: m.ID, New: &m, Reason: entering(m), Judge: d.Judge.Name()})
			}
			out.Refused += found.refused + found.unread
		}
		return err
	})
	return out, err
}

func errNoObserver(j llm.Judge) error {
	_, err := llm.ObserverOf(j)
	if err == nil {
		err = oxbow.Errorf(oxbow.CodeUnsupported, "conversations are not condensed here: nothing was set up to observe them")
	}
	return err
}
