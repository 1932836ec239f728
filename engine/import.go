package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/carry"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/store"
)

// ImportOrder says what Import takes in, and how.
type ImportOrder struct {
	Tenant string
	// Scope is the only scope of an export to take in, or where the memories of
	// another program go. Defaults to all of an export, and to what the other
	// program's memories say.
	Scope string
	// Format is oxbow, mem0 or mcp. Defaults to what the file looks like.
	Format string
	DryRun bool
	// SaidAt is when a memory of another program was said that does not say so.
	// Defaults to now.
	SaidAt time.Time
	// Progress, when it is set, is called after every batch.
	Progress func(Imported)
}

// Imported is what an import did, or, of a dry run, would do.
type Imported struct {
	Format    string           `json:"format"`
	DryRun    bool             `json:"dry_run"`
	Lines     int              `json:"lines"`     // read
	New       map[string]int   `json:"new"`       // things stored, by kind
	Same      map[string]int   `json:"same"`      // things that were here already
	Conflicts []store.Conflict `json:"conflicts"` // what is here and not the same; it was left as it is
	Refused   []Refusal        `json:"refused"`   // of another program's file: what cannot be kept
	Checked   int              `json:"checked"`   // lines read again and found in the database
	Runs      []string         `json:"runs"`      // runs that were started
	Expect    int              `json:"-"`         // memories that the file's header counts

	beside int // lines of what was here that brought something more
}

// Refusal is a thing of a file that cannot be kept, and why.
type Refusal struct {
	Place string `json:"place"` // such as line 3
	Error string `json:"error"`
}

// maxFindings bounds how many conflicts, and refusals, are kept.
const maxFindings = 1000

// Import takes a file in that Export has written, or one of another program that
// package carry knows. open is called once to read and once more to compare; it
// gives the file from its beginning.
//
// An export is taken in batch by batch, each in one transaction, and every batch
// leaves the table as the replay of the log. What is here already is skipped, so
// that an import that was interrupted goes on when it is run again. What is here
// and not the same is a conflict: it is named and nothing of it is changed.
// Ids are made of the tenant's name, so an export can only be taken in by the
// tenant that it is of: invalid otherwise, as for a file that cannot be read, was
// cut off or changed; what stood before that is taken in.
//
// Memories of another program are written as Remember writes them, with the
// source import: orders to the agent go into quarantine, secrets are taken out,
// and the jobs of a write follow.
func (e *Engine) Import(ctx context.Context, open func() (io.ReadCloser, error), o ImportOrder) (Imported, error) {
	out := Imported{DryRun: o.DryRun, Format: o.Format, New: map[string]int{}, Same: map[string]int{}, Conflicts: []store.Conflict{}, Refused: []Refusal{}, Runs: []string{}}
	if o.Scope != "" {
		if err := (oxbow.Scope{Tenant: o.Tenant, Name: o.Scope}).Validate(); err != nil {
			return out, err
		}
	}
	if out.Format == "" {
		err := reading(open, func(r io.Reader) (err error) {
			out.Format, err = carry.Recognise(r)
			return err
		})
		if err != nil {
			return out, err
		}
	}
	if out.Format != carry.FormatOxbow {
		return out, e.importForeign(ctx, open, o, &out)
	}
	i := &importer{e: e, o: o, out: &out}
	if err := reading(open, func(r io.Reader) error { return i.read(ctx, r) }); err != nil || o.DryRun {
		return out, err
	}
	check := &importer{e: e, o: o, out: &Imported{New: map[string]int{}, Same: map[string]int{}}, again: true}
	check.o.Progress = nil
	if err := reading(open, func(r io.Reader) error { return check.read(ctx, r) }); err != nil {
		return out, err
	}
	if n := total(check.out.New) + check.out.beside; n > 0 || len(check.out.Conflicts) > len(out.Conflicts) {
		return out, oxbow.Errorf(oxbow.CodeConflict, "the database was read again and %d things of the file were not as the file has them: something else writes here; run the import once more", n+len(check.out.Conflicts))
	}
	out.Checked = check.out.Lines
	return out, e.afterImport(ctx, i.scopes, &out)
}

func total(counts map[string]int) int {
	n := 0
	for _, c := range counts {
		n += c
	}
	return n
}

// reading opens the file for fn.
func reading(open func() (io.ReadCloser, error), fn func(io.Reader) error) error {
	f, err := open()
	if err != nil {
		return err
	}
	return errors.Join(fn(f), f.Close())
}

// Bounds of one transaction of an import. The events of one call of Apply stay
// together, whatever their number, up to the last.
const (
	importLines = 1000
	importBytes = 4 << 20
	importGroup = 50_000
)

// importer reads an export.
type importer struct {
	e      *Engine
	o      ImportOrder
	out    *Imported
	again  bool // the second reading, which finds everything there
	batch  []carry.Line
	size   int
	scopes []oxbow.Scope
	left   map[string]bool // memories that are in conflict
	born   int             // memories that the file has told of so far
}

func (i *importer) read(ctx context.Context, r io.Reader) error {
	in, err := carry.NewReader(r)
	if err != nil {
		return err
	}
	if in.Header.Tenant != i.o.Tenant {
		return oxbow.Errorf(oxbow.CodeInvalid, "the file is of the tenant %q, and ids are made of the tenant's name: import it with --tenant %s", in.Header.Tenant, in.Header.Tenant)
	}
	if i.o.Scope != "" && !slices.Contains(in.Header.Scopes, i.o.Scope) {
		return oxbow.Errorf(oxbow.CodeNotFound, "the file holds no scope %s; it holds %s", i.o.Scope, strings.Join(in.Header.Scopes, ", "))
	}
	i.out.Expect, i.left = in.Header.Memories, map[string]bool{}
	for {
		l, err := in.Next()
		i.out.Lines = in.Line()
		if err == nil {
			err = i.add(ctx, l)
			if err == nil {
				continue
			}
			return err
		}
		if e := i.flush(ctx); e != nil {
			return e
		}
		switch {
		case err == io.EOF:
			i.tidy()
			return nil
		case errors.Is(err, carry.ErrCut):
			return i.cut(in)
		}
		return err
	}
}

// tidy takes kinds of which nothing was here out of the counts.
func (i *importer) tidy() {
	maps.DeleteFunc(i.out.Same, func(_ string, n int) bool { return n <= 0 })
}

// cut says what of a file that ends in the middle is here and what is missing.
func (i *importer) cut(in *carry.Reader) error {
	have := in.Counts()
	return oxbow.Errorf(oxbow.CodeInvalid, "the file was cut off behind line %d: %d of %d memories, %d of %d turns, %d of %d scopes and %d events of the log were in it and are taken in; "+
		"import the whole file to go on", in.Line(), i.born, in.Header.Memories, have[carry.KindTurn], in.Header.Turns,
		have[carry.KindScope], len(in.Header.Scopes), have[carry.KindEvent])
}

// add puts a line into the batch, when it is of the batch's kind and scope, and
// begins another one otherwise.
func (i *importer) add(ctx context.Context, l carry.Line) error {
	if i.o.Scope != "" && l.In().Name != i.o.Scope {
		return nil
	}
	if n := len(i.batch); n > 0 {
		last := i.batch[n-1]
		full := n >= importLines || i.size >= importBytes
		if last.Kind() != l.Kind() || last.In() != l.In() || full && (n >= importGroup || !together(last, l)) {
			if err := i.flush(ctx); err != nil {
				return err
			}
		}
	}
	if l.Event != nil && l.Event.Version == 1 {
		i.born++
	}
	i.batch = append(i.batch, l)
	i.size += weight(l)
	return nil
}

// together tells whether one call of Apply may have made two events.
func together(a, b carry.Line) bool {
	return a.Event != nil && b.Event != nil && a.Event.Run == b.Event.Run && a.Event.RecordedAt.Equal(b.Event.RecordedAt)
}

// weight is about how much memory a line takes.
func weight(l carry.Line) int {
	n := 1000
	switch {
	case l.Turn != nil:
		n += len(l.Turn.User) + len(l.Turn.Assistant)
		for _, p := range l.Turn.Parts {
			n += len(p.Text)
		}
	case l.Event != nil && l.Event.Content != nil:
		n += len(l.Event.Content.Text)
	case l.Memory != nil:
		n += 100 * (len(l.Memory.Links) + len(l.Memory.Verdicts) + len(l.Memory.Shown) + len(l.Memory.Turns))
		for _, v := range l.Memory.Vectors {
			n += len(v.Packed)
		}
	}
	return n
}

// flush takes the batch in, in one transaction.
func (i *importer) flush(ctx context.Context) error {
	if len(i.batch) == 0 {
		return nil
	}
	batch := i.batch
	i.batch, i.size = nil, 0
	if i.o.DryRun {
		return i.plan(ctx, batch)
	}
	var got taken
	err := i.e.st.InTx(ctx, func(ctx context.Context, tx store.Tx) (err error) {
		got, err = i.take(ctx, tx, batch)
		return err
	})
	if err != nil {
		return err
	}
	i.count(batch[0].Kind(), got)
	return nil
}

// taken is what became of a batch: how many of its things are new, the same, or in
// conflict. memories are those that its events made, beside the lines of memories
// and turns that were here and of which the file knows more.
type taken struct {
	fresh, same, memories, beside int
	conflicts                     []store.Conflict
}

func add(counts map[string]int, kind string, n int) {
	if n != 0 {
		counts[kind] += n
	}
}

func (i *importer) count(kind string, got taken) {
	add(i.out.New, kind, got.fresh)
	add(i.out.Same, kind, got.same)
	add(i.out.New, carry.KindMemory, got.memories)
	add(i.out.Same, carry.KindMemory, -got.memories) // its line comes behind its events
	i.out.beside += got.beside
	for _, c := range got.conflicts {
		if i.left[c.ID] {
			continue
		}
		if len(i.left) < maxFindings {
			i.left[c.ID] = true
		}
		if len(i.out.Conflicts) < maxFindings {
			i.out.Conflicts = append(i.out.Conflicts, c)
		}
	}
	if i.o.Progress != nil {
		i.o.Progress(*i.out)
	}
}

func (i *importer) take(ctx context.Context, tx store.Tx, batch []carry.Line) (taken, error) {
	s := batch[0].In()
	switch batch[0].Kind() {
	case carry.KindScope:
		return i.takeScope(ctx, tx, batch)
	case carry.KindRun:
		return takeRuns(ctx, tx, batch)
	case carry.KindTurn:
		return takeTurns(ctx, tx, s, batch)
	case carry.KindEvent:
		told := make([]store.Told, len(batch))
		for n, l := range batch {
			told[n] = l.Event.Told()
		}
		done, err := tx.LoadEvents(ctx, s, told, i.e.now())
		return taken{fresh: done.Events, same: done.Same, memories: done.Memories, conflicts: done.Conflicts}, err
	case carry.KindMemory:
		return takeMemories(ctx, tx, s, batch)
	case carry.KindSchedule:
		return takeSchedules(ctx, tx, s, batch)
	case carry.KindJob:
		return i.takeJobs(ctx, tx, batch)
	}
	return i.takeDiscarded(ctx, tx, batch)
}

func (i *importer) takeScope(ctx context.Context, tx store.Tx, batch []carry.Line) (taken, error) {
	var got taken
	for _, l := range batch {
		want := l.Scope.ScopeSettings
		want.Memories = 0
		if _, err := tx.Scope(ctx, want.Scope); oxbow.CodeOf(err) == oxbow.CodeNotFound {
			got.fresh++
		} else if err != nil {
			return got, err
		} else {
			got.same++
		}
		have, err := tx.LoadScope(ctx, want)
		if err != nil {
			return got, err
		}
		have.Memories = 0
		if store.JSON(have.Policy) != store.JSON(want.Policy) || have.Zone != want.Zone {
			got.conflicts = append(got.conflicts, store.Conflict{ID: "scope " + want.Name, Text: "it has other settings here, which stay"})
		}
		if !slices.Contains(i.scopes, want.Scope) {
			i.scopes = append(i.scopes, want.Scope)
		}
	}
	return got, nil
}

func takeRuns(ctx context.Context, tx store.Tx, batch []carry.Line) (taken, error) {
	runs := make([]oxbow.Run, len(batch))
	for n, l := range batch {
		runs[n] = *l.Run
	}
	fresh, err := tx.LoadRuns(ctx, runs)
	return taken{fresh: fresh, same: len(runs) - fresh}, err
}

// takeTurns stores the turns that are not here, in the state that they had: one
// that waits is extracted here, and one that was extracted or observed is not
// again. One that is here is observed, or erased, when it was meanwhile where it
// came from; a mark of here stays.
func takeTurns(ctx context.Context, tx store.Tx, s oxbow.Scope, batch []carry.Line) (taken, error) {
	var got taken
	ids := make([]string, len(batch))
	for n, l := range batch {
		ids[n] = l.Turn.ID
	}
	here, err := turnsHere(ctx, tx, s, ids)
	if err != nil {
		return got, err
	}
	var fresh, marked, erased []oxbow.Turn
	for _, l := range batch {
		have, known := here[l.Turn.ID]
		switch {
		case !known:
			fresh, marked = append(fresh, *l.Turn), append(marked, *l.Turn)
			here[l.Turn.ID] = *l.Turn
		case !sameTurn(have, *l.Turn):
			got.conflicts = append(got.conflicts, store.Conflict{ID: l.Turn.ID, Text: "the turn says something else here"})
		default:
			got.same++
			mark, gone := have.Observed == "" && l.Turn.Observed != "", have.State != oxbow.TurnErased && l.Turn.State == oxbow.TurnErased
			if mark {
				marked = append(marked, *l.Turn)
			}
			if gone {
				erased = append(erased, *l.Turn)
			}
			if mark || gone {
				got.beside++
			}
		}
	}
	if got.fresh, err = tx.AddTurns(ctx, fresh); err != nil {
		return got, err
	}
	if got.fresh < len(fresh) {
		return got, oxbow.Errorf(oxbow.CodeConflict, "a turn of the file has the id of a turn of another scope or tenant here: the file was changed, or it is another database's of the same name")
	}
	for _, t := range fresh {
		if err := tx.FinishTurn(ctx, t); err != nil {
			return got, err
		}
		if t.State == oxbow.TurnErased {
			erased = append(erased, t)
		}
	}
	for _, t := range erased {
		if err := tx.EraseTurn(ctx, s, t.ID); err != nil {
			return got, err
		}
	}
	return got, putMarks(ctx, tx, s, marked)
}

// putMarks says of turns in which run each was observed, so that it is not again.
func putMarks(ctx context.Context, tx store.Tx, s oxbow.Scope, turns []oxbow.Turn) error {
	in := map[string][]string{}
	for _, t := range turns {
		if t.Observed != "" {
			in[t.Observed] = append(in[t.Observed], t.ID)
		}
	}
	for _, run := range slices.Sorted(maps.Keys(in)) {
		if err := tx.ObserveTurns(ctx, s, in[run], run); err != nil {
			return err
		}
	}
	return nil
}

func turnsHere(ctx context.Context, r store.Reader, s oxbow.Scope, ids []string) (map[string]oxbow.Turn, error) {
	ts, err := r.TurnsOf(ctx, s.Tenant, ids)
	out := make(map[string]oxbow.Turn, len(ts))
	for _, t := range ts {
		out[t.ID] = t
	}
	return out, err
}

// sameTurn tells whether two turns say the same. How far they were read may
// differ: both databases live on. One that was erased says nothing any more.
func sameTurn(a, b oxbow.Turn) bool {
	if a.Scope != b.Scope || a.Conversation != b.Conversation || !a.At.Equal(b.At) {
		return false
	}
	erased := a.State == oxbow.TurnErased || b.State == oxbow.TurnErased
	return erased || a.User == b.User && a.Assistant == b.Assistant && slices.Equal(a.Parts, b.Parts)
}

func takeSchedules(ctx context.Context, tx store.Tx, s oxbow.Scope, batch []carry.Line) (taken, error) {
	var got taken
	have, err := tx.ListSchedules(ctx, s)
	if err != nil {
		return got, err
	}
	for _, l := range batch {
		if slices.ContainsFunc(have, func(d store.Schedule) bool { return d.Name == l.Schedule.Name }) {
			got.same++
			continue
		}
		if err := checkSpec(*l.Schedule); err != nil {
			return got, err
		}
		if err := tx.PutSchedule(ctx, *l.Schedule); err != nil {
			return got, err
		}
		got.fresh++
	}
	return got, nil
}

// takeJobs enqueues what was not finished. A job that was enqueued here before
// finds its key in the ledger and has no second effect. The second reading
// leaves jobs alone: they may have run by now.
func (i *importer) takeJobs(ctx context.Context, tx store.Tx, batch []carry.Line) (taken, error) {
	if i.again {
		return taken{same: len(batch)}, nil
	}
	var next []river.InsertManyParams
	for _, l := range batch {
		args, err := jobs.Decode(l.Job.Kind, l.Job.Args)
		if err != nil {
			return taken{}, err
		}
		next = append(next, insert(args))
	}
	return taken{fresh: len(next)}, tx.Enqueue(ctx, next)
}

func (i *importer) takeDiscarded(ctx context.Context, tx store.Tx, batch []carry.Line) (taken, error) {
	if i.again {
		return taken{same: len(batch)}, nil
	}
	for _, l := range batch {
		if err := tx.PutDiscarded(ctx, *l.Discarded); err != nil {
			return taken{}, err
		}
	}
	return taken{fresh: len(batch)}, nil
}

// afterImport enqueues what follows: turns that wait are read, and memories and
// nodes of the graph that came without a vector get one.
func (e *Engine) afterImport(ctx context.Context, scopes []oxbow.Scope, out *Imported) error {
	for _, s := range scopes {
		counts, err := e.st.CountTurns(ctx, s)
		if err != nil {
			return err
		}
		if counts[oxbow.TurnWaiting] > 0 {
			err := e.st.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
				return tx.Enqueue(ctx, []river.InsertManyParams{insert(jobs.Extract{Tenant: s.Tenant, Scope: s.Name})})
			})
			if err != nil {
				return err
			}
		}
		for _, name := range []string{"embed", "graph"} {
			missing, err := e.missing(ctx, s, name)
			if err != nil {
				return err
			}
			if !missing {
				continue
			}
			runs, err := e.underWay(ctx, s, name)
			if err == nil && len(runs) == 0 {
				runs, err = e.RunJob(ctx, Order{Name: name, Tenant: s.Tenant, Scopes: []string{s.Name}})
			}
			if err != nil {
				return fmt.Errorf("enqueue %s of %s: %w", name, s.Name, err)
			}
			out.Runs = append(out.Runs, runs...)
		}
	}
	return nil
}

// underWay gives the runs of a job over a whole scope that wait or go on, such as
// those that the same import started when it was run before.
func (e *Engine) underWay(ctx context.Context, s oxbow.Scope, name string) (runs []string, err error) {
	for _, state := range []rivertype.JobState{rivertype.JobStateAvailable, rivertype.JobStateRunning, rivertype.JobStateScheduled, rivertype.JobStateRetryable} {
		f := store.JobFilter{Tenant: s.Tenant, Kind: name, State: string(state), Limit: 1000}
		for more := true; more; {
			found, err := e.st.ListJobs(ctx, f)
			if err != nil {
				return nil, err
			}
			for _, j := range found {
				var args struct {
					jobs.About
					Memories []string `json:"memories"`
				}
				if err := json.Unmarshal(j.Args, &args); err != nil {
					return nil, fmt.Errorf("read the arguments of job %d: %w", j.ID, err)
				}
				if args.Scope == s.Name && len(args.Memories) == 0 && !slices.Contains(runs, args.Run) {
					runs = append(runs, args.Run)
				}
				f.BeforeID = j.ID
			}
			more = len(found) == f.Limit
		}
	}
	return runs, nil
}

// missing tells whether memories of a scope came without a vector, or nodes of its
// graph without one.
func (e *Engine) missing(ctx context.Context, s oxbow.Scope, name string) (bool, error) {
	if e.deps.Embedder == nil || name == "graph" && e.deps.Grapher == nil {
		return false, nil
	}
	if name == "embed" {
		_, without, err := e.st.CountVectors(ctx, s, e.deps.Embedder.ID())
		return without > 0, err
	}
	bare, err := e.st.WithoutNodeVector(ctx, s, e.deps.Embedder.ID(), nil, "", 1)
	return len(bare) > 0, err
}
