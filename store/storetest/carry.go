package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// dumped gives the log of the sub-test's scope as it is told.
func (f *fixture) dumped() []store.Told {
	f.Helper()
	var out []store.Told
	err := f.s.Snapshot(f.ctx, func(ctx context.Context, r store.Reader) error {
		return r.DumpEvents(ctx, f.scope, func(t store.Told) error {
			out = append(out, t)
			return nil
		})
	})
	if err != nil {
		f.Fatalf("the log cannot be read: %v", err)
	}
	return out
}

// load tells a database events, so many a call.
func (f *fixture) load(told []store.Told, each int) (all store.Loaded) {
	f.Helper()
	for part := range slices.Chunk(told, each) {
		f.tx(func(ctx context.Context, tx store.Tx) error {
			done, err := tx.LoadEvents(ctx, f.scope, part, start)
			all.Memories += done.Memories
			all.Events += done.Events
			all.Same += done.Same
			all.Conflicts = append(all.Conflicts, done.Conflicts...)
			return err
		})
	}
	return all
}

// memories gives all that the sub-test's scope holds, page by page.
func (f *fixture) memories() []oxbow.Memory {
	f.Helper()
	var out []oxbow.Memory
	for after := ""; ; after = out[len(out)-1].ID {
		page := must(f.s.DumpMemories(f.ctx, f.scope, after, 7))(f)
		out = append(out, page...)
		if len(page) < 7 {
			return out
		}
	}
}

// unnumbered is a log without the numbers of its database.
func unnumbered(told []store.Told) []store.Told {
	out := slices.Clone(told)
	for i := range out {
		out[i].Event.Seq = 0
	}
	return out
}

// beside gives the sub-test the same corner of another store.
func (f *fixture) beside(s store.Store) *fixture {
	other := *f
	other.s = s
	return &other
}

func testCarry(t *testing.T, open func(testing.TB) store.Store) {
	s, empty := open(t), open(t)
	t.Run("leads an empty database to the rows that a random story left", func(t *testing.T) {
		for seed := range uint64(3) {
			t.Run(fmt.Sprintf("in parts, story %d", seed), func(t *testing.T) {
				f := setup(t, s)
				story := teller{f: f, r: rand.New(rand.NewPCG(seed, 7))}
				story.tell(60)
				f.carriedTo(f.beside(empty), 1+int(seed)*13, story.all())
			})
		}
	})
	t.Run("reads one instant, whatever is written meanwhile", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("before"))
		err := f.s.Snapshot(f.ctx, func(ctx context.Context, r store.Reader) error {
			before, err := r.CountMemories(ctx, f.scope)
			f.create(f.memory("meanwhile"))
			after, e := r.CountMemories(ctx, f.scope)
			if before[oxbow.Active] != 1 || after[oxbow.Active] != 1 {
				f.Errorf("there were %v memories and then %v", before, after)
			}
			return errors.Join(err, e)
		})
		f.wantCode(err, "")
		if got := must(f.s.CountMemories(f.ctx, f.scope))(f); got[oxbow.Active] != 2 {
			f.Errorf("the writer was held up: %v", got)
		}
	})
	t.Run("gives back what the reader's function gives", func(t *testing.T) {
		f := setup(t, s)
		mine := errors.New("mine")
		f.create(f.memory("a"), f.memory("b"))
		n := 0
		err := f.s.DumpEvents(f.ctx, f.scope, func(store.Told) error { n++; return mine })
		if !errors.Is(err, mine) || n != 1 {
			f.Fatalf("after %d events: %v", n, err)
		}
	})
	t.Run("conflicts", func(t *testing.T) { testLoadConflicts(t, s, empty) })
	t.Run("rest", func(t *testing.T) { testLoadRest(t, s, empty) })
}

// carriedTo tells another database the log and holds it to what is here.
func (f *fixture) carriedTo(to *fixture, each int, ids []string) {
	f.Helper()
	told := f.dumped()
	from := must(f.s.Scope(f.ctx, f.scope))(f)
	to.tx(func(ctx context.Context, tx store.Tx) error {
		_, err := tx.LoadScope(ctx, from)
		return err
	})
	done := to.load(told, each)
	if done.Events != len(told) || done.Memories != len(f.memories()) || len(done.Conflicts) > 0 {
		f.Fatalf("of %d events %d came, %d memories, in conflict %v", len(told), done.Events, done.Memories, done.Conflicts)
	}
	Replay(to, to.s, to.scope.Tenant, ids...)
	f.wantSame(to.memories(), f.memories())
	f.wantSame(unnumbered(to.dumped()), unnumbered(told))
	f.wantSame(must(to.s.Scope(f.ctx, f.scope))(f), must(f.s.Scope(f.ctx, f.scope))(f))
	q := store.SearchQuery{Scope: f.scope, Text: "words 7 memory called told 3", Statuses: oxbow.Statuses, K1: 1.2, B: 0.3, Limit: 50}
	f.wantSame(must(to.s.Search(f.ctx, q))(f), must(f.s.Search(f.ctx, q))(f))
	if found := must(to.s.Check(f.ctx))(f); len(found) != 0 {
		f.Fatalf("the database is damaged: %q", found)
	}
	again := to.load(told, each+3)
	if again.Events != 0 || again.Same != len(told) || len(again.Conflicts) > 0 {
		f.Fatalf("told again, %d events came, %d were the same, in conflict %v", again.Events, again.Same, again.Conflicts)
	}
	f.wantSame(to.memories(), f.memories())
}

// told gives the log of a story of a fact that was replaced, edited and erased,
// in a store, for another one to be told.
func (f *fixture) toldOf(changes ...oxbow.Change) []store.Told {
	f.Helper()
	for _, c := range changes {
		f.apply(c)
		if c.Type == oxbow.ErasedEvent {
			f.tx(func(ctx context.Context, tx store.Tx) error { return tx.Erase(ctx, f.scope, []string{c.Memory}) })
		}
	}
	return f.dumped()
}

func testLoadConflicts(t *testing.T, s, empty store.Store) {
	refused := func(f *fixture, to *fixture, told []store.Told, name, why string) {
		f.Helper()
		before := to.memories()
		done := to.load(told, len(told))
		if len(done.Conflicts) != 1 || done.Conflicts[0].ID != f.id(name) || done.Conflicts[0].Text != why {
			f.Fatalf("in conflict are %v, want %s: %s", done.Conflicts, f.id(name), why)
		}
		for _, m := range before {
			if m.ID == f.id(name) {
				f.wantSame(to.get(name), m)
			}
		}
		if found := must(to.s.Check(f.ctx))(f); len(found) != 0 {
			f.Fatalf("the database is damaged: %q", found)
		}
	}
	t.Run("leaves a memory as it is whose event is another one", func(t *testing.T) {
		f := setup(t, s)
		to := f.beside(empty)
		to.create(f.memory("a", says("something else")))
		told := f.toldOf(created(f.memory("a")), f.change(oxbow.PinnedEvent, "a", func(c *oxbow.Change) { c.Set.Pinned = ptr(true) }))
		refused(f, to, told, "a", "its event 1 is another one here")
	})
	t.Run("takes no second active memory at an address", func(t *testing.T) {
		f := setup(t, s)
		to := f.beside(empty)
		to.create(f.memory("mine", fact("user", "timezone")))
		told := f.toldOf(created(f.memory("theirs", fact("user", "timezone"))))
		refused(f, to, told, "theirs", "another active memory stands at its address: "+f.id("mine"))
	})
	t.Run("takes no memory whose log has a hole", func(t *testing.T) {
		f := setup(t, s)
		pin := f.change(oxbow.PinnedEvent, "a", func(c *oxbow.Change) { c.Set.Pinned = ptr(true) })
		told := f.toldOf(created(f.memory("a")), pin, f.change(oxbow.UnpinnedEvent, "a", func(c *oxbow.Change) { c.Set.Pinned = ptr(false) }))
		to := f.beside(empty)
		refused(f, to, slices.Delete(told, 1, 2), "a", "its event 2 is missing")
		if got := to.memories(); len(got) != 0 {
			f.Fatalf("it came all the same: %v", got)
		}
	})
	t.Run("takes no event whose before is not the state it met", func(t *testing.T) {
		f := setup(t, s)
		told := f.toldOf(created(f.memory("a")), f.change(oxbow.PinnedEvent, "a", func(c *oxbow.Change) { c.Set.Pinned = ptr(true) }))
		told[1].Event.Before.Pinned = ptr(true)
		refused(f, f.beside(empty), told, "a", "the before of its event 2 does not equal the state it met: pinned")
	})
	t.Run("takes no move that is not legal", func(t *testing.T) {
		f := setup(t, s)
		told := f.toldOf(created(f.memory("a")), f.change(oxbow.PinnedEvent, "a", func(c *oxbow.Change) { c.Set.Pinned = ptr(true) }))
		told[1].Event.After.Status = ptr(oxbow.Archived)
		refused(f, f.beside(empty), told, "a", "its event 2 (pinned) leads to archived")
	})
	t.Run("takes no words that are not those of the log", func(t *testing.T) {
		f := setup(t, s)
		told := f.toldOf(created(f.memory("a")))
		told[0].Content.Text = "changed on the way"
		refused(f, f.beside(empty), told, "a", "the words of its event 1 are not those that the log names")
	})
	t.Run("takes no memory that is linked to one that stays away", func(t *testing.T) {
		f := setup(t, s)
		link := f.change(oxbow.Linked, "b", func(c *oxbow.Change) {
			c.Links = []oxbow.Link{{From: f.id("b"), To: f.id("a"), Type: oxbow.Confirms}}
		})
		told := f.toldOf(created(f.memory("a")), created(f.memory("b")), link)
		refused(f, f.beside(empty), told[1:], "b", "it is linked to "+f.id("a")+", which is not here")
	})
	t.Run("takes no id that another scope has", func(t *testing.T) {
		f := setup(t, s)
		to := f.beside(empty)
		m := f.memory("a")
		m.Scope = f.other()
		to.tx(func(ctx context.Context, tx store.Tx) error {
			b := f.batch()
			b.Scope = m.Scope
			_, err := tx.Apply(ctx, b, []oxbow.Change{created(m)})
			return err
		})
		refused(f, to, f.toldOf(created(f.memory("a"))), "a", "its id belongs to a memory of another scope or tenant here")
	})
}

func testLoadRest(t *testing.T, s, empty store.Store) {
	t.Run("erases the words of a memory that was erased after it came", func(t *testing.T) {
		f := setup(t, s)
		to := f.beside(empty)
		first := f.toldOf(created(f.memory("a", says("the secret of the lamp"))), f.change(oxbow.Edited, "a", func(c *oxbow.Change) {
			c.Content = &oxbow.Content{Text: "the secret of the shelf"}
		}))
		to.load(first, 1)
		to.tx(func(ctx context.Context, tx store.Tx) error {
			_, err := tx.PutGraph(ctx, f.scope, store.GraphPart{Memory: f.id("a"), ContentVersion: 2, Entities: []store.GraphEntity{{Name: "shelf"}}})
			return err
		})
		to.load(f.toldOf(f.change(oxbow.ErasedEvent, "a")), 2)
		if got := to.get("a"); got.Status != oxbow.Erased || got.Content.Text != "" {
			f.Fatalf("it is %s and says %q", got.Status, got.Content.Text)
		}
		q := store.SearchQuery{Scope: f.scope, Text: "secret lamp shelf", Statuses: oxbow.Statuses, K1: 1.2, B: 0.3, Limit: 5}
		f.wantSame(must(to.s.Search(f.ctx, q))(f), must(f.s.Search(f.ctx, q))(f))
		f.wantSame(must(to.s.Scope(f.ctx, f.scope))(f).Memories, 0)
		_, _, err := to.s.ContentBody(f.ctx, f.scope.Tenant, *first[0].Event.After.ContentID)
		f.wantCode(err, oxbow.CodeNotFound)
		if found := must(to.s.Check(f.ctx))(f); len(found) != 0 {
			f.Fatalf("the database is damaged: %q", found)
		}
	})
	t.Run("keeps the counters of a memory, and raises them only", func(t *testing.T) {
		f := setup(t, s)
		to := f.beside(empty)
		f.create(f.memory("a"))
		f.tx(func(ctx context.Context, tx store.Tx) error {
			_, err := tx.Use(ctx, f.scope.Tenant, f.ids("a"), start.Add(day))
			return err
		})
		to.load(f.dumped(), 5)
		f.wantSame(to.get("a"), f.get("a"))
		raise := func(n int, at time.Time) (changed int) {
			to.tx(func(ctx context.Context, tx store.Tx) (err error) {
				changed, err = tx.LoadUses(ctx, f.scope, []store.Uses{{Memory: f.id("a"), AccessCount: n, LastUsedAt: at}})
				return err
			})
			return changed
		}
		if raise(0, time.Time{}) != 0 || raise(4, start.Add(3*day)) != 1 || raise(4, start.Add(3*day)) != 0 {
			f.Error("the counters were changed by what is lower, or not by what is higher")
		}
		if m := to.get("a"); m.AccessCount != 4 || !m.LastUsedAt.Equal(start.Add(3*day)) || !m.FadesAt.After(f.get("a").FadesAt) {
			f.Errorf("it was used %d times, last %s, and fades %s", m.AccessCount, m.LastUsedAt, m.FadesAt)
		}
	})
	t.Run("leaves a scope's settings alone that somebody has set, and a run that is there", func(t *testing.T) {
		f := setup(t, s)
		want := f.settings()
		want.Zone, want.Version = "Europe/Stockholm", 4
		load := func() (out oxbow.ScopeSettings) {
			f.tx(func(ctx context.Context, tx store.Tx) (err error) {
				out, err = tx.LoadScope(ctx, want)
				return err
			})
			return out
		}
		f.wantSame(load(), want)
		was := want
		want.Zone, want.Version = "Asia/Tokyo", 5
		f.wantSame(load(), was)
		run := oxbow.Run{ID: f.id("run"), Scope: f.scope, Name: "decay", Trigger: "schedule", Status: oxbow.RunDone, About: start, StartedAt: start, Counts: map[string]int{"archived": 2}}
		for _, fresh := range []int{1, 0} {
			f.tx(func(ctx context.Context, tx store.Tx) error {
				n, err := tx.LoadRuns(ctx, []oxbow.Run{run})
				if n != fresh {
					f.Errorf("%d runs were new, want %d", n, fresh)
				}
				return err
			})
		}
		var runs []oxbow.Run
		f.wantCode(f.s.DumpRuns(f.ctx, f.scope, func(r oxbow.Run) error { runs = append(runs, r); return nil }), "")
		f.wantSame(runs, []oxbow.Run{run})
	})
	t.Run("gives what memories say in the graph as it is put, and names embedders", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a"), f.memory("b"))
		part := store.GraphPart{Memory: f.id("a"), ContentVersion: 1,
			Entities:  []store.GraphEntity{{Name: "Ada", Type: "person", Description: "an engineer", Aliases: []string{"Countess"}}, {Name: "Engine"}},
			Relations: []store.GraphRelation{{From: "Ada", Type: "builds", To: "Engine"}}}
		f.tx(func(ctx context.Context, tx store.Tx) error {
			_, err := tx.PutGraph(ctx, f.scope, part)
			_, e := tx.PutVectors(ctx, f.scope, "plain/2/1", []store.Vector{{Memory: f.id("a"), ContentVersion: 1, Values: []float32{1, 0}}})
			return errors.Join(err, e)
		})
		f.wantSame(must(f.s.GraphOf(f.ctx, f.scope, f.ids("a", "b")))(f), []store.GraphPart{part})
		f.wantSame(must(f.s.EmbeddersOf(f.ctx, f.scope))(f), []string{"plain/2/1"})
		f.wantSame(must(f.s.EmbeddersOf(f.ctx, f.other()))(f), []string(nil))
	})
}
