package jobs

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/store"
)

// Contradiction finds what a memory contradicts, supersedes, confirms or
// conflicts with, ten candidates a page until a page brings none, and settles
// the group that these verdicts connect. It judges the pair in the order in
// which the two were said, so a memory that arrives late may itself be the one
// that is superseded.
type Contradiction struct{ aboutMemory }

// Kind names the job.
func (Contradiction) Kind() string { return "contradiction" }

// InsertOpts puts the job behind extract.
func (Contradiction) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: QueueWrite, MaxAttempts: maxAttempts, Priority: 2}
}

// Candidates are read by BM25 with b near 0, because memories are short, and
// words that stand in hundreds of memories find nothing worth judging: reading
// their postings would make the job grow with the scope.
const (
	candidatePage = 10
	maxPages      = 10
	searchK1      = 1.2
	searchB       = 0.1
	maxPostings   = 500
)

// judgedStatuses are those whose memories can still matter to a verdict.
var judgedStatuses = []oxbow.Status{oxbow.Active, oxbow.Superseded, oxbow.Compressed}

type contradictionWorker struct {
	river.WorkerDefaults[Contradiction]
	Deps
}

func (w *contradictionWorker) Timeout(*river.Job[Contradiction]) time.Duration {
	return 3 * time.Minute
}

func (w *contradictionWorker) Work(ctx context.Context, job *river.Job[Contradiction]) error {
	return w.outcome(ctx, job.JobRow, job.Args.About, w.judge(ctx, job))
}

func (w *contradictionWorker) judge(ctx context.Context, job *river.Job[Contradiction]) error {
	a := job.Args.aboutMemory
	m, ok, err := w.current(ctx, w.Store, a)
	if err != nil {
		return err
	}
	if !ok {
		return w.complete(ctx, job.JobRow, nothing)
	}
	judged, err := w.verdicts(asking(a.anew(ctx), "contradiction", a.scope(), a.Run), m, a.ContentVersion > 1 || a.Again != "" && a.Trigger == "operator")
	if err != nil {
		return err
	}
	w.countRefused(RefusedVerdict, judged.Refused)
	w.countRefused(RefusedText, judged.Unread)
	return w.commit(ctx, job.JobRow, a.key("contradiction"), a.Run, func(ctx context.Context, tx store.Tx) error {
		return w.apply(ctx, tx, a, judged)
	})
}

// verdicts asks about the candidates, page by page. Judging anew, because the
// words are others or an operator asks, gives up what was said before about
// memories that are no candidates now.
func (d Deps) verdicts(ctx context.Context, m oxbow.Memory, anew bool) (j Judged, err error) {
	j = Judged{Memory: m.ID, Seen: map[string]int{}}
	if anew {
		if err := d.seeBefore(ctx, m, j); err != nil {
			return j, err
		}
	}
	if err := d.pages(ctx, m, store.WithoutNotes, &j); err != nil {
		return j, err
	}
	// Notes say once more what memories say, and would crowd them out of a page.
	if has, err := d.Store.HasNotes(ctx, m.Scope); err != nil || !has {
		return j, err
	}
	return j, d.pages(ctx, m, store.OnlyNotes, &j)
}

func (d Deps) pages(ctx context.Context, m oxbow.Memory, notes store.NoteRule, j *Judged) error {
	for page := range maxPages {
		found, hits, err := d.candidates(ctx, m, notes, page*candidatePage)
		if err != nil || hits == 0 {
			return err
		}
		if len(found) == 0 {
			continue // none of this page can matter; the next one may
		}
		before := len(j.Verdicts)
		if err := d.relate(ctx, m, found, j); err != nil {
			return err
		}
		if len(j.Verdicts) == before {
			break
		}
	}
	return nil
}

// seeBefore counts as seen what m was compared with before.
func (d Deps) seeBefore(ctx context.Context, m oxbow.Memory, j Judged) error {
	had, err := d.Store.Verdicts(ctx, m.Scope.Tenant, []string{m.ID})
	if err != nil {
		return err
	}
	others, err := d.others(ctx, d.Store, m, j, had)
	for _, o := range others {
		j.Seen[o.ID] = o.ContentVersion
	}
	return err
}

// others gives the memories that verdicts compare m with.
func (d Deps) others(ctx context.Context, r store.MemoryReader, m oxbow.Memory, j Judged, vs []oxbow.Verdict) ([]oxbow.Memory, error) {
	ids := make([]string, len(vs))
	for i, v := range vs {
		ids[i] = j.other(v)
	}
	return r.Memories(ctx, m.Scope.Tenant, ids)
}

// recheck forgets what was judged by words that were edited meanwhile: the
// edited memory has a job of its own.
func (d Deps) recheck(ctx context.Context, r store.MemoryReader, m oxbow.Memory, j Judged, had []oxbow.Verdict) (Judged, error) {
	now, err := d.others(ctx, r, m, j, slices.Concat(had, j.Verdicts))
	for _, o := range now {
		if version, ok := j.Seen[o.ID]; ok && version != o.ContentVersion {
			delete(j.Seen, o.ID)
		}
	}
	j.Verdicts = slices.DeleteFunc(slices.Clone(j.Verdicts), func(v oxbow.Verdict) bool {
		_, ok := j.Seen[j.other(v)]
		return !ok
	})
	return j, err
}

// candidates gives a page of memories that share words with m and could still
// matter: one that was replaced by something said before m cannot. hit is how
// many the page held before those were left out.
func (d Deps) candidates(ctx context.Context, m oxbow.Memory, notes store.NoteRule, offset int) (_ []oxbow.Memory, hit int, err error) {
	hits, err := d.Store.Search(ctx, store.SearchQuery{Scope: m.Scope, Text: d.cue(m), Statuses: judgedStatuses,
		Exclude: m.ID, Notes: notes, K1: searchK1, B: searchB, MaxPostings: maxPostings, Limit: candidatePage, Offset: offset})
	if err != nil {
		return nil, 0, err
	}
	ids := make([]string, len(hits))
	for i, h := range hits {
		ids[i] = h.ID
	}
	found, err := d.Store.Memories(ctx, m.Scope.Tenant, ids)
	if err != nil {
		return nil, 0, err
	}
	var by []string
	for _, o := range found {
		if o.ReplacedBy != "" {
			by = append(by, o.ReplacedBy)
		}
	}
	replacers, err := d.Store.Memories(ctx, m.Scope.Tenant, by)
	if err != nil {
		return nil, 0, err
	}
	return matter(m, found, replacers), len(hits), nil
}

// cue gives the words to search by: the memory's own, and those that the judge
// knows its rivals by.
func (d Deps) cue(m oxbow.Memory) string {
	words := store.SearchText(m)
	if c, ok := d.Judge.(llm.Cuer); ok {
		words += " " + c.Cue(statement("new", m))
	}
	return words
}

// matter leaves out what needs no verdict, and what another person said: who
// says "I live in Oslo" does not contradict who lives in Bergen.
//
// Limit: a person who corrects what another one said corrects nothing, but for
// a fact at the same address.
func matter(m oxbow.Memory, found, replacers []oxbow.Memory) []oxbow.Memory {
	early := map[string]bool{}
	for _, r := range replacers {
		early[r.ID] = r.Before(m)
	}
	out := make([]oxbow.Memory, 0, len(found))
	for _, o := range found {
		if !oxbow.MayRelate(m, o) || m.Content.Speaker != o.Content.Speaker || oxbow.SameAddress(m, o) || o.Before(m) && early[o.ReplacedBy] && o.ReplacedBy != m.ID {
			continue
		}
		out = append(out, o)
	}
	return out
}

// relate judges m against a page of candidates: equal words by code, the rest by
// the judge. Those that the judge refuses to read keep what was said of them.
func (d Deps) relate(ctx context.Context, m oxbow.Memory, found []oxbow.Memory, j *Judged) error {
	var ask []oxbow.Memory
	for _, o := range found {
		// A fact is never compressed into a free memory: its address would be empty.
		if !m.IsFact() && !o.IsFact() && text.Same(m.Content.Text, o.Content.Text) {
			if m.IsNote() || o.IsNote() {
				continue // nothing is compressed into or out of a note for that
			}
			v := oxbow.NewVerdict(m, o, oxbow.Equal)
			v.Judge = "code"
			j.Verdicts, j.Seen[o.ID] = append(j.Verdicts, v), o.ContentVersion
			continue
		}
		ask = append(ask, o)
	}
	if len(ask) == 0 {
		return nil
	}
	unread, err := divided(ask, func(part []oxbow.Memory) error { return d.relateAll(ctx, m, part, j) })
	for _, o := range unread {
		delete(j.Seen, o.ID) // judging anew counts it as seen
	}
	j.Unread += len(unread)
	return err
}

func (d Deps) relateAll(ctx context.Context, m oxbow.Memory, found []oxbow.Memory, j *Judged) error {
	offered := map[string]oxbow.Memory{}
	var others []llm.Statement
	for _, o := range found {
		label := "c" + itoa(len(others)+1)
		offered[label] = o
		others = append(others, statement(label, o))
	}
	rs, err := d.Judge.Relate(llm.WithOwners(ctx, append(idsOf(found), m.ID)...), statement("new", m), others)
	if err != nil {
		return err
	}
	vs, refused := gateRelations(m, offered, rs)
	for i := range vs {
		vs[i].Judge = d.Judge.Name()
	}
	for _, o := range found {
		j.Seen[o.ID] = o.ContentVersion
	}
	j.Verdicts, j.Refused = append(j.Verdicts, vs...), j.Refused+refused
	return nil
}

func statement(label string, m oxbow.Memory) llm.Statement {
	return llm.Statement{Label: label, Text: m.Content.Text, Kind: m.Kind, Key: m.Key, Source: m.Source, SaidAt: m.SaidAt, Details: m.Content.Details}
}

// apply re-checks the memory, replaces its verdicts and settles. Where nothing was
// found and nothing is known there is nothing to settle, and the scope is left to
// others: who finds something about the memory meanwhile settles it.
func (w *contradictionWorker) apply(ctx context.Context, tx store.Tx, a aboutMemory, judged Judged) error {
	if len(judged.Verdicts)+judged.Refused+judged.Unread == 0 {
		if had, err := tx.Verdicts(ctx, a.Tenant, []string{a.Memory}); err != nil || len(had) == 0 {
			return err
		}
	}
	s, err := tx.LockScope(ctx, a.scope(), w.now())
	if err != nil {
		return err
	}
	m, ok, err := w.current(ctx, tx, a)
	if err != nil || !ok {
		return err
	}
	had, err := tx.Verdicts(ctx, a.Tenant, []string{m.ID})
	if err != nil || len(had)+len(judged.Verdicts)+judged.Refused+judged.Unread == 0 {
		return err
	}
	if judged, err = w.recheck(ctx, tx, m, judged, had); err != nil {
		return err
	}
	for i := range judged.Verdicts {
		judged.Verdicts[i].Run, judged.Verdicts[i].At = a.Run, w.now()
	}
	changes, err := settled(ctx, tx, s, nil, []string{m.ID}, judged)
	if err != nil {
		return err
	}
	b := w.batch(a.About)
	if n := retires(changes); n > s.Policy.MaxRetired && !a.Asked {
		w.countRefused(RefusedLimit, 1)
		return w.refuse(ctx, tx, b, m, "it would retire "+itoa(n)+" memories and the limit is "+itoa(s.Policy.MaxRetired)+
			"; look at them and run: oxbow job run contradiction --memory "+m.ID)
	}
	if err := tx.DropVerdicts(ctx, s.Scope, m.ID); err != nil {
		return err
	}
	if err := tx.PutVerdicts(ctx, s.Scope, replaceVerdicts(had, judged)); err != nil {
		return err
	}
	if why := judged.leftOut(); why != "" {
		if err := w.refuse(ctx, tx, b, m, why); err != nil {
			return err
		}
	}
	done, err := tx.Apply(ctx, b, sign(changes, "judge", w.Judge.Name()))
	if err != nil {
		return err
	}
	if err := w.dissolve(ctx, tx, a.About, judged.Verdicts, done.Events); err != nil {
		return err
	}
	return w.judgeRaised(ctx, tx, a, done.Events)
}

// leftOut says what of a judging came to nothing.
func (j Judged) leftOut() string {
	var parts []string
	if j.Refused > 0 {
		parts = append(parts, itoa(j.Refused)+" of the judge's verdicts named what was not offered")
	}
	if j.Unread > 0 {
		parts = append(parts, "the judge refuses the text; left out of the comparison: "+itoa(j.Unread))
	}
	return strings.Join(parts, "; ")
}

// raised begins the mark of a judging that follows from another one.
const raised = "raised:"

// judgeRaised has memories that came back judged once more: while they were
// replaced, nobody compared them with what was said after that. What these
// judgings raise is left at that, so that a judge that changes its mind cannot
// keep the queue busy for ever.
func (w *contradictionWorker) judgeRaised(ctx context.Context, tx store.Tx, a aboutMemory, events []oxbow.Event) error {
	if strings.HasPrefix(a.Again, raised) {
		return nil
	}
	var ids []string
	for _, e := range events {
		if e.Type == oxbow.Restored {
			ids = append(ids, e.Memory)
		}
	}
	back, err := tx.Memories(ctx, a.Tenant, store.Sorted(ids))
	if err != nil {
		return err
	}
	var next []river.InsertManyParams
	for _, m := range back {
		if m.Status != oxbow.Active {
			continue
		}
		again := a.About
		again.Now, again.Asked = m.SaidAt, false
		again.Again = raised + oxbow.NewID(a.Again, a.Memory, itoa(a.ContentVersion))
		next = append(next, river.InsertManyParams{Args: NewContradiction(again, m)})
	}
	return tx.Enqueue(ctx, next)
}

// refuse keeps in the log that the gate refused something; nothing changes.
func (d Deps) refuse(ctx context.Context, tx store.Tx, b store.Batch, m oxbow.Memory, why string) error {
	_, err := tx.Apply(ctx, b, sign([]oxbow.Change{{Type: oxbow.Refused, Memory: m.ID, Reason: why}}, "gate", d.Judge.Name()))
	return err
}

// NewContradiction gives the job that judges one memory once more.
func NewContradiction(a About, m oxbow.Memory) Contradiction {
	return Contradiction{aboutMemory{About: a, Memory: m.ID, ContentVersion: m.ContentVersion}}
}
