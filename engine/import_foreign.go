package engine

import (
	"context"
	"io"
	"slices"

	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/carry"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/store"
)

// foreignBatch is how many memories of another program are stored in one
// transaction.
const foreignBatch = 200

// foreignScope is where memories go that say nothing of whose they are.
const foreignScope = "user"

// importForeign writes the memories of another program's file.
func (e *Engine) importForeign(ctx context.Context, open func() (io.ReadCloser, error), o ImportOrder, out *Imported) error {
	if o.SaidAt.IsZero() || o.SaidAt.After(e.now()) {
		o.SaidAt = e.now()
	}
	f := &foreign{e: e, o: o, out: out, batches: map[string][]arrival{}}
	if err := reading(open, func(r io.Reader) error { return f.read(ctx, r) }); err != nil || o.DryRun {
		return err
	}
	o.DryRun, o.Progress = true, nil
	again := &Imported{Format: out.Format, New: map[string]int{}, Same: map[string]int{}}
	check := &foreign{e: e, o: o, out: again, batches: map[string][]arrival{}}
	if err := reading(open, func(r io.Reader) error { return check.read(ctx, r) }); err != nil {
		return err
	}
	if n := total(again.New); n > 0 {
		return oxbow.Errorf(oxbow.CodeConflict, "the database was read again and %d memories of the file are not there: something else writes here; run the import once more", n)
	}
	out.Checked = again.Lines
	return e.afterImport(ctx, f.scopes, out)
}

// arrival is a memory on its way in.
type arrival struct {
	m     oxbow.Memory
	graph *carry.Graph
}

// foreign reads a file of another program.
type foreign struct {
	e       *Engine
	o       ImportOrder
	out     *Imported
	batches map[string][]arrival // by scope
	waiting int
	scopes  []oxbow.Scope
}

func (f *foreign) read(ctx context.Context, r io.Reader) error {
	err := carry.Items(r, f.out.Format, func(i carry.Item) error {
		f.out.Lines++
		a, err := f.arrival(i)
		if err != nil {
			f.refuse(i.Place, err)
			return nil
		}
		name := a.m.Scope.Name
		f.batches[name] = append(f.batches[name], a)
		if f.waiting++; f.waiting < foreignBatch {
			return nil
		}
		return f.flush(ctx)
	}, func(place string, err error) {
		f.out.Lines++
		f.refuse(place, err)
	})
	if e := f.flush(ctx); e != nil {
		return e
	}
	return err
}

func (f *foreign) refuse(place string, err error) {
	if len(f.out.Refused) < maxFindings {
		f.out.Refused = append(f.out.Refused, Refusal{Place: place, Error: err.Error()})
	}
}

// arrival makes the memory that Remember would make, with an id that follows from
// what the file says, so that it is the same memory each time.
func (f *foreign) arrival(i carry.Item) (arrival, error) {
	name := f.o.Scope
	if name == "" {
		name = i.Scope
	}
	if name == "" {
		name = foreignScope
	}
	s := oxbow.Scope{Tenant: f.o.Tenant, Name: name}
	if i.SaidAt.IsZero() {
		i.SaidAt = f.o.SaidAt
	}
	m, err := f.e.memoryOf(Statement{Scope: s, Text: i.Text, Tags: i.Tags, Source: oxbow.FromImport, SaidAt: i.SaidAt})
	if err != nil {
		return arrival{}, err
	}
	m.ID = oxbow.NewID(append([]string{"import", f.out.Format, s.Tenant, s.Name}, i.Key...)...)
	m.Conversation, _ = text.Redact(text.Clip(text.Normalise(i.Conversation), 200))
	if i.Graph != nil {
		if _, _, err := store.CleanGraph(i.Graph.Part(m.ID, 1)); err != nil || namesSecret(i.Graph) {
			i.Graph = nil // a name that is none, or may not be kept; the sentence is kept
		}
	}
	return arrival{m, i.Graph}, nil
}

// namesSecret tells whether a name or a type looks like a secret, which is taken
// out of a memory's words and must not stand in the graph instead.
func namesSecret(g *carry.Graph) bool {
	var words []string
	for _, e := range g.Entities {
		words = append(append(words, e.Name, e.Type), e.Aliases...)
	}
	for _, r := range g.Relations {
		words = append(words, r.Type)
	}
	return secretsIn(words...) > 0
}

func (f *foreign) flush(ctx context.Context) error {
	for name, batch := range f.batches {
		s := oxbow.Scope{Tenant: f.o.Tenant, Name: name}
		var got taken
		var err error
		if f.o.DryRun {
			_, got, err = unknown(ctx, f.e.st, s, batch)
		} else {
			got, err = f.store(ctx, s, batch)
		}
		if err != nil {
			return err
		}
		i := importer{o: f.o, out: f.out, left: map[string]bool{}}
		i.count(carry.KindMemory, got)
		delete(f.batches, name)
		f.scopes = appendNew(f.scopes, s)
	}
	f.waiting = 0
	return nil
}

func appendNew(ss []oxbow.Scope, s oxbow.Scope) []oxbow.Scope {
	for _, o := range ss {
		if o == s {
			return ss
		}
	}
	return append(ss, s)
}

// unknown gives those of a batch that are not here, each once. One that is here
// and says something else is in conflict; one that was erased here stays so.
func unknown(ctx context.Context, r store.Reader, s oxbow.Scope, batch []arrival) ([]arrival, taken, error) {
	var got taken
	ids := make([]string, len(batch))
	for i, a := range batch {
		ids[i] = a.m.ID
	}
	rows, err := r.Memories(ctx, s.Tenant, store.Sorted(ids))
	if err != nil {
		return nil, got, err
	}
	here := map[string]oxbow.Memory{}
	for _, m := range rows {
		here[m.ID] = m
	}
	var fresh []arrival
	for _, a := range batch {
		have, known := here[a.m.ID]
		switch {
		case !known:
			fresh = append(fresh, a)
			here[a.m.ID] = a.m
		case have.Status != oxbow.Erased && !oxbow.SameText(have.Content.Text, a.m.Content.Text):
			got.conflicts = append(got.conflicts, store.Conflict{ID: a.m.ID, Text: "the memory says something else here"})
		default:
			got.same++
		}
	}
	got.fresh = len(fresh)
	return fresh, got, nil
}

// store writes the memories that are not here as Remember does: through the gate
// of a write, with its jobs behind it. What a memory says in the graph comes with it.
func (f *foreign) store(ctx context.Context, s oxbow.Scope, batch []arrival) (taken, error) {
	e := f.e
	run := e.newRun(s, "import", "operator")
	var got taken
	err := e.st.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
		settings, err := e.openScope(ctx, tx, s)
		if err != nil {
			return err
		}
		var fresh []arrival
		if fresh, got, err = unknown(ctx, tx, s, batch); err != nil || len(fresh) == 0 {
			return err
		}
		run.Counts = map[string]int{string(oxbow.Created): len(fresh)}
		if err := tx.PutRun(ctx, run); err != nil {
			return err
		}
		for _, a := range fresh {
			b, of := e.batch(run), about(run)
			b.Now, of.Now = a.m.SaidAt, a.m.SaidAt
			done, err := jobs.Put(ctx, tx, b, settings, []oxbow.Memory{a.m}, string(oxbow.FromImport), "")
			if err != nil {
				return err
			}
			next := e.deps.FollowUps(of, jobs.Created([]oxbow.Memory{a.m}, done))
			if a.graph != nil {
				if _, err := tx.PutGraph(ctx, s, a.graph.Part(a.m.ID, 1)); err != nil {
					return err
				}
				next = slices.DeleteFunc(next, reads) // nobody reads it better than who wrote it
			}
			if err := tx.Enqueue(ctx, next); err != nil {
				return err
			}
		}
		return nil
	})
	return got, err
}

// reads tells whether a job reads a memory for the graph.
func reads(p river.InsertManyParams) bool {
	_, yes := p.Args.(jobs.Graph)
	return yes
}
