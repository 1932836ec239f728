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

// Reflect condenses the older observations of a conversation into fewer when they
// have grown over the policy's reflect.tokens. The new notes and the compression of
// the old ones are one transaction, so nothing is lost before its replacement is
// durable, and all of it can be restored. The most recent observations stay as they
// are, and so do pinned ones and those that end on a day: they end by themselves.
// A rewriting that lost or made up a name, a number or a denial is refused, and an
// answer that does not parse changes nothing.
//
// A job with a run is an operator's order: it condenses however little there is.
//
// Limit: a reflection of more than 400 tokens is not condensed again; it fades.
type Reflect struct {
	Tenant       string    `json:"tenant" river:"unique"`
	Scope        string    `json:"scope" river:"unique"`
	Conversation string    `json:"conversation,omitempty" river:"unique"`
	Run          string    `json:"run,omitempty" river:"unique"`
	Now          time.Time `json:"now,omitzero"` // of an order: when it was given
}

// Kind names the job.
func (Reflect) Kind() string { return "reflect" }

// InsertOpts makes the job the only waiting or running one of its conversation.
func (Reflect) InsertOpts() river.InsertOpts { return oncePerConversation(QueueSynthesis, 2) }

func (a Reflect) scope() oxbow.Scope { return oxbow.Scope{Tenant: a.Tenant, Name: a.Scope} }

const (
	// maxReflected bounds how many notes one question is about.
	maxReflected = 60
	// fullReflection is from how many tokens on a reflection stays as it is.
	fullReflection = 400
	// condenseTo is the share of their tokens that notes are to be condensed to.
	condenseTo = 0.4
)

type reflectWorker struct {
	river.WorkerDefaults[Reflect]
	Deps
}

func (w *reflectWorker) Timeout(*river.Job[Reflect]) time.Duration { return passTimeout }

func (w *reflectWorker) Work(ctx context.Context, job *river.Job[Reflect]) error {
	a := About{Tenant: job.Args.Tenant, Scope: job.Args.Scope, Run: job.Args.Run}
	return w.outcome(ctx, job.JobRow, a, w.reflect(ctx, job))
}

func (w *reflectWorker) reflect(ctx context.Context, job *river.Job[Reflect]) error {
	a := job.Args
	if w.Observer == nil {
		return w.complete(ctx, job.JobRow, nothing)
	}
	s, err := w.Store.Scope(ctx, a.scope())
	if oxbow.CodeOf(err) == oxbow.CodeNotFound {
		return w.complete(ctx, job.JobRow, nothing)
	}
	if err != nil {
		return err
	}
	why := ""
	err = eachConversation(ctx, w.Store, s.Scope, a.Conversation, true, func(name string) error {
		found, err := w.reflections(ctx, s, name, a.Run != "", a.Run)
		if err != nil || found.asked == 0 {
			return err
		}
		w.countRefused(RefusedMerge, found.refused)
		if found.why != "" {
			why = found.why
		}
		return w.apply(ctx, job, found)
	})
	if err != nil {
		return err
	}
	return w.complete(ctx, job.JobRow, func(ctx context.Context, tx store.Tx) error {
		if a.Run == "" {
			return nil
		}
		order := About{Tenant: a.Tenant, Scope: a.Scope, Run: a.Run, Now: a.Now, Trigger: "operator"}
		run := w.noteRun("reflect", order, nil)
		run.Note = why // which ending an order would else wipe out
		return tx.PutRun(ctx, run)
	})
}

// reflected is what of one conversation's notes is to be condensed.
type reflected struct {
	asked   int // how many notes the judge was asked about
	about   time.Time
	mark    string // names the notes as they were read
	merges  []merge
	refused int
	why     string // the last refusal
}

// merge is a reflection with the notes whose place it takes.
type merge struct {
	sources []oxbow.Memory
	made    oxbow.Memory
}

// reflections asks the judge about the older notes of a conversation, those of each
// source apart, so that nothing is trusted less for what it is put together with.
func (d Deps) reflections(ctx context.Context, s oxbow.ScopeSettings, conversation string, anything bool, run string) (out reflected, err error) {
	notes, err := d.ListNotes(ctx, d.Store, s.Scope, conversation)
	if err != nil {
		return out, err
	}
	older := olderNotes(notes, s.Policy.Reflect.OrDefault(), anything)
	mark := []string{"reflect", s.Tenant, s.Name}
	for _, m := range older {
		mark = append(mark, m.ID, itoa(m.Version))
	}
	out.mark = oxbow.NewID(mark...)
	for _, source := range oxbow.Sources {
		var part []oxbow.Memory
		for _, m := range older {
			if m.Source == source && len(part) < maxReflected {
				part = append(part, m)
			}
		}
		if len(part) < 2 {
			continue
		}
		out.asked += len(part)
		out.about = latest(out.about, part[len(part)-1].SaidAt)
		target := max(20, int(condenseTo*float64(tokensOf(part))))
		found, err := d.Observer.Reflect(asking(ctx, "reflect", s.Scope, run, idsOf(part)...), statements(part), target)
		if errors.Is(err, llm.ErrUnparsable) || errors.Is(err, llm.ErrRefused) {
			out.refused, out.why = out.refused+1, "the judge's answer did not parse, or it refuses the text; the observations stay"
			continue
		}
		if err != nil {
			return out, err
		}
		d.gateReflections(&out, part, found)
	}
	return out, nil
}

// olderNotes gives what may be condensed: all but the most recent ones, the pinned
// ones, those that end by themselves and those that are condensed as far as they go.
func olderNotes(notes []oxbow.Memory, rules oxbow.ReflectRules, anything bool) []oxbow.Memory {
	total := tokensOf(notes)
	if !anything && total <= rules.Tokens {
		return nil
	}
	keep := int(rules.Keep * float64(min(total, rules.Tokens)))
	end := len(notes)
	for end > 0 && keep > 0 {
		if keep -= tokensOf(notes[end-1 : end]); keep >= 0 {
			end--
		}
	}
	return slices.DeleteFunc(slices.Clone(notes[:end]), func(m oxbow.Memory) bool {
		return m.Pinned || !m.ExpiresAt.IsZero() || m.Kind == oxbow.Reflection && tokensOf([]oxbow.Memory{m}) > fullReflection
	})
}

// gateReflections gives the reflections that may take the place of notes: over
// offered labels, each in one, shorter than what it condenses, and by the rules that
// every rewriting is held to.
func (d Deps) gateReflections(out *reflected, part []oxbow.Memory, found []llm.Reflection) {
	free := map[string]oxbow.Memory{}
	for i, st := range statements(part) {
		free[st.Label] = part[i]
	}
	for _, r := range found {
		var sources []oxbow.Memory
		ok := len(r.Of) >= 2
		for _, l := range r.Of {
			m, offered := free[l]
			ok = ok && offered
			delete(free, l)
			sources = append(sources, m)
		}
		if !ok {
			out.refused, out.why = out.refused+1, "a rewriting named what was not offered"
			continue
		}
		sources = bySaid(sources)
		made := d.reflection(out.mark, sources, r.Text)
		why := gateSynthesis(sources, made)
		if why == "" && tokensOf([]oxbow.Memory{made}) >= tokensOf(sources) {
			why = "the rewriting is no shorter than its sources"
		}
		if why != "" {
			out.refused, out.why = out.refused+1, why
			continue
		}
		out.merges = append(out.merges, merge{sources, made})
	}
}

// reflection gives the note that others become: of their time, as sure as the least
// sure and as important as the most important of them.
func (d Deps) reflection(mark string, sources []oxbow.Memory, text string) oxbow.Memory {
	first := sources[0]
	m := oxbow.Memory{
		Scope: first.Scope, Status: oxbow.Active, Kind: oxbow.Reflection, Derived: true, Conversation: first.Conversation,
		Source: first.Source, Rating: 1, Rated: true, SaidAt: first.SaidAt, CreatedAt: d.now(),
		Content: CleanContent(oxbow.Content{Text: text}),
	}
	id := []string{"reflection", mark}
	for _, src := range sources {
		id = append(id, src.ID)
		m.Source = oxbow.LeastTrusted(m.Source, src.Source)
		m.Rating = min(m.Rating, src.Rating)
		m.Importance = max(m.Importance, src.Importance)
		m.SaidAt, m.ReviewAt = latest(m.SaidAt, src.SaidAt), latest(m.ReviewAt, src.ReviewAt)
		m.TouchedAt, m.LastUsedAt = latest(m.TouchedAt, src.TouchedAt), latest(m.LastUsedAt, src.LastUsedAt)
		m.AccessCount = max(m.AccessCount, src.AccessCount)
	}
	m.ID = oxbow.NewID(id...)
	return m
}

// apply writes the reflections of one conversation whose notes still stand.
func (w *reflectWorker) apply(ctx context.Context, job *river.Job[Reflect], found reflected) error {
	args := job.Args
	a := About{Tenant: args.Tenant, Scope: args.Scope, Run: args.Run, Now: Milli(found.about), Trigger: "operator"}
	if a.Run == "" {
		a.Run, a.Trigger = oxbow.NewID("run", found.mark), "write"
	}
	key := "reflect:" + found.mark
	if args.Run != "" {
		// An order asks anew: what was refused once need not be refused again.
		key += ":" + args.Run
	}
	return w.stepIn(ctx, args.scope(), job.JobRow, key, a.Run, func(ctx context.Context, tx store.Tx, _ oxbow.ScopeSettings) error {
		counts := map[string]int{}
		if found.refused > 0 {
			counts["refused"] = found.refused
		}
		for _, g := range found.merges {
			stand, err := stillStand(ctx, tx, g.sources)
			if err != nil {
				return err
			}
			if !stand {
				counts["changed meanwhile"]++
				continue
			}
			done, err := tx.Apply(ctx, w.batch(a), sign(mergeChanges(g.sources, g.made), "judge", llm.NameOf(w.Judge, "reflect")))
			if err != nil {
				return err
			}
			if len(done.Stale) > 0 {
				return oxbow.ErrStale
			}
			for name, n := range counted(done.Events, 0) {
				counts[name] += n
			}
			// What was said meanwhile was compared with the notes and not with this.
			if err := tx.Enqueue(ctx, Comparison(a, g.made)); err != nil {
				return err
			}
		}
		run := w.noteRun("reflect", a, counts)
		run.Note = found.why
		return tx.PutRun(ctx, run)
	})
}

// stillStand tells whether notes are as they were read.
func stillStand(ctx context.Context, r store.MemoryReader, sources []oxbow.Memory) (bool, error) {
	now, err := r.Memories(ctx, sources[0].Scope.Tenant, idsOf(sources))
	if err != nil || len(now) < len(sources) {
		return false, err
	}
	for i, m := range now {
		if m.Status != oxbow.Active || m.Pinned || m.ContentVersion != sources[i].ContentVersion || !m.ExpiresAt.IsZero() {
			return false, nil
		}
	}
	return true, nil
}

// CondensePlan is what an order to observe or reflect would do.
type CondensePlan struct {
	Changes []oxbow.Change
	Refused int    // proposals that the gate would refuse
	Why     string // it would refuse the last of them; empty where that is not said
}

// PlanReflect gives what an order would condense, of one conversation or of all.
func (d Deps) PlanReflect(ctx context.Context, s oxbow.ScopeSettings, conversation string) (out CondensePlan, err error) {
	if d.Observer == nil {
		return out, errNoObserver(d.Judge)
	}
	err = eachConversation(ctx, d.Store, s.Scope, conversation, true, func(name string) error {
		found, err := d.reflections(ctx, s, name, true, "")
		for _, g := range found.merges {
			out.Changes = append(out.Changes, mergeChanges(g.sources, g.made)...)
		}
		if out.Refused += found.refused; found.refused > 0 {
			out.Why = found.why
		}
		return err
	})
	return out, err
}

// dissolve takes reflections apart of which a part no longer holds: those that were
// just replaced, and those that hold a note which verdicts of now retire. What they
// were made from stands again, each for itself, and is compared with the others. The
// notes that were retired are retired by that.
func (d Deps) dissolve(ctx context.Context, tx store.Tx, a About, vs []oxbow.Verdict, events []oxbow.Event) error {
	gone, retired, err := broken(ctx, tx, a.Tenant, vs, events)
	if err != nil || len(gone) == 0 {
		return err
	}
	links, err := tx.Links(ctx, a.Tenant, idsOf(gone))
	if err != nil {
		return err
	}
	of := map[string]bool{}
	for _, m := range gone {
		of[m.ID] = true
	}
	var ids []string
	for _, l := range links {
		if l.Type == oxbow.DerivedFrom && of[l.From] {
			ids = append(ids, l.To)
		}
	}
	sources, err := tx.Memories(ctx, a.Tenant, store.Sorted(ids))
	if err != nil {
		return err
	}
	var changes []oxbow.Change
	var next []river.InsertManyParams
	for _, m := range retired {
		changes = append(changes, guarded(oxbow.ArchivedEvent, m, "a part of it no longer holds; what it was made from stands for itself"))
	}
	for _, m := range sources {
		if m.Status != oxbow.Compressed || !of[m.ReplacedBy] {
			continue
		}
		changes = append(changes, oxbow.Change{Type: oxbow.Restored, Memory: m.ID, Reason: "the reflection that held it no longer holds"})
		again := a
		again.Now, again.Asked, again.Again = m.SaidAt, false, "dissolved:"+oxbow.NewID(m.ReplacedBy, a.Run)
		next = append(next, river.InsertManyParams{Args: NewContradiction(again, m)})
	}
	if _, err := tx.Apply(ctx, d.batch(a), sign(changes, "judge", d.Judge.Name())); err != nil {
		return err
	}
	return tx.Enqueue(ctx, next)
}

// broken gives the reflections that no longer hold, and of these the ones that are
// active still.
func broken(ctx context.Context, tx store.Tx, tenant string, vs []oxbow.Verdict, events []oxbow.Event) (gone, active []oxbow.Memory, err error) {
	var ids []string
	for _, e := range events {
		if e.Type == oxbow.SupersededBy {
			ids = append(ids, e.Memory)
		}
	}
	replaced, err := tx.Memories(ctx, tenant, store.Sorted(ids))
	if err != nil {
		return nil, nil, err
	}
	for _, m := range replaced {
		if m.Kind == oxbow.Reflection && m.Derived && m.Status == oxbow.Superseded {
			gone = append(gone, m)
		}
	}
	var pairs []string
	for _, v := range vs {
		if v.Relation == oxbow.Contradicts || v.Relation == oxbow.Replaces {
			pairs = append(pairs, v.Older, v.Newer)
		}
	}
	ms, err := tx.Memories(ctx, tenant, store.Sorted(pairs))
	if err != nil || len(ms) == 0 {
		return gone, nil, err
	}
	by := map[string]oxbow.Memory{}
	for _, m := range ms {
		by[m.ID] = m
	}
	var holders []string
	for _, v := range vs {
		older, newer := by[v.Older], by[v.Newer]
		retires := v.Relation == oxbow.Contradicts || v.Relation == oxbow.Replaces
		if retires && older.IsNote() && older.Status == oxbow.Compressed && newer.Status == oxbow.Active &&
			oxbow.MayRelate(older, newer) && newer.Source.Trust() >= older.Source.Trust() {
			holders = append(holders, older.ReplacedBy)
		}
	}
	held, err := tx.Memories(ctx, tenant, store.Sorted(holders))
	for _, m := range held {
		if m.Status == oxbow.Active && !m.Pinned && m.Kind == oxbow.Reflection && m.Derived {
			gone, active = append(gone, m), append(active, m)
		}
	}
	return gone, active, err
}
