package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// edits gives a setter that makes a change an edit to a text.
func edits(text string) func(*oxbow.Change) {
	return func(c *oxbow.Change) { c.Content = &oxbow.Content{Text: text} }
}

// guarded gives a setter of a change's guard.
func guarded(s oxbow.Status, version int) func(*oxbow.Change) {
	return func(c *oxbow.Change) { c.Guard = &oxbow.Guard{Status: s, ContentVersion: version} }
}

func testApply(t *testing.T, s store.Store) {
	t.Run("writes one event with the creation of a memory", func(t *testing.T) {
		f := setup(t, s)
		m := f.memory("a")
		c := created(m)
		c.Reason, c.Judge = "it was said", "rules@1"
		done := f.apply(c)
		if len(done.Events) != 1 || done.Events[0].Seq == 0 || len(done.Stale) != 0 {
			t.Fatalf("got %s", show(done))
		}
		e := done.Events[0]
		if e.Type != oxbow.Created || e.Version != 1 || e.Actor != "user" || e.Reason != "it was said" || e.Judge != "rules@1" ||
			e.Run != f.id("run") || e.Scope != f.scope || !e.At.Equal(f.batch().Now) || !e.RecordedAt.Equal(f.batch().RecordedAt) {
			t.Fatalf("the event is %s", show(e))
		}
		f.wantSame(must(f.s.EventsOf(f.ctx, f.scope.Tenant, f.ids("a")))(f), done.Events)
	})

	t.Run("does nothing for no changes", func(t *testing.T) {
		f := setup(t, s)
		if done := f.apply(); len(done.Events)+len(done.Stale) != 0 {
			t.Fatalf("got %s", show(done))
		}
	})

	t.Run("makes each change one event and one version", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a"))
		done := f.apply(
			f.change(oxbow.Rated, "a", func(c *oxbow.Change) { c.Set.Rating = ptr(0.3) }),
			f.change(oxbow.PinnedEvent, "a", func(c *oxbow.Change) { c.Set.Pinned = ptr(true) }),
			f.change(oxbow.Edited, "a", edits("other words")),
			f.change(oxbow.SupersededBy, "a", func(c *oxbow.Change) { c.Set.ReplacedBy = ptr(f.id("b")) }))
		last := int64(0)
		for i, e := range done.Events {
			if e.Version != i+2 || e.Seq <= last {
				t.Fatalf("event %d has version %d and seq %d after %d", i, e.Version, e.Seq, last)
			}
			last = e.Seq
		}
		m := f.get("a")
		if len(done.Events) != 4 || m.Version != 5 || m.ContentVersion != 2 || m.Rating != 0.3 || !m.Pinned ||
			m.Content.Text != "other words" || m.Status != oxbow.Superseded || m.ReplacedBy != f.id("b") {
			t.Fatalf("after %d events the memory is %s", len(done.Events), show(m))
		}
		Replay(t, f.s, f.scope.Tenant, f.ids("a")...)
	})

	t.Run("skips a change whose guard does not hold and gives it back", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a"), f.memory("b"))
		f.apply(f.change(oxbow.Edited, "a", edits("newer words")))
		done := f.apply(
			f.change(oxbow.ArchivedEvent, "a", guarded(oxbow.Active, 1)),
			f.change(oxbow.ArchivedEvent, "b", guarded(oxbow.Active, 1)),
			f.change(oxbow.ExpiredEvent, "b", guarded(oxbow.Active, 1)))
		if len(done.Events) != 1 || len(done.Stale) != 2 || done.Stale[0].Memory != f.id("a") || done.Stale[1].Type != oxbow.ExpiredEvent {
			t.Fatalf("got %s", show(done))
		}
		if a, b := f.get("a"), f.get("b"); a.Status != oxbow.Active || a.Version != 2 || b.Status != oxbow.Archived || b.Version != 2 {
			t.Fatalf("got %s and %s", show(a), show(b))
		}
	})

	t.Run("keeps a guard true through changes that do not touch content", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a"))
		f.apply(f.change(oxbow.Reinforced, "a", func(c *oxbow.Change) { c.Set.Confirmations = ptr(1) }))
		if done := f.apply(f.change(oxbow.ArchivedEvent, "a", guarded(oxbow.Active, 1))); len(done.Stale) != 0 {
			t.Fatal("a reinforcement made the guard stale")
		}
	})

	t.Run("writes nothing at all when one of the changes is illegal", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a"))
		before := f.get("a")
		_, err := f.tryApply(created(f.memory("b")), f.change(oxbow.ArchivedEvent, "a"), f.change(oxbow.Released, "a"))
		f.wantCode(err, oxbow.CodeConflict)
		f.wantSame(f.get("a"), before)
		_, err = f.s.Memory(f.ctx, f.scope.Tenant, f.id("b"))
		f.wantCode(err, oxbow.CodeNotFound)
		if n := len(must(f.s.EventsOf(f.ctx, f.scope.Tenant, f.ids("a", "b")))(f)); n != 1 {
			t.Fatalf("there are %d events, want the one of the creation", n)
		}
	})

	t.Run("refuses to create what is there already, here or at another tenant", func(t *testing.T) {
		f := setup(t, s)
		m := f.memory("a")
		f.create(m)
		_, err := f.tryApply(created(m))
		f.wantCode(err, oxbow.CodeConflict)
		f.scope.Tenant += "x"
		_, err = f.tryApply(created(m))
		f.wantCode(err, oxbow.CodeConflict)
	})

	t.Run("refuses to create a memory as archived", func(t *testing.T) {
		f := setup(t, s)
		_, err := f.tryApply(created(f.memory("a", func(m *oxbow.Memory) { m.Status = oxbow.Archived })))
		f.wantCode(err, oxbow.CodeConflict)
	})

	t.Run("says not_found for a memory of nobody, of another scope and of another tenant", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a"))
		_, err := f.tryApply(f.change(oxbow.ArchivedEvent, "nobody"))
		f.wantCode(err, oxbow.CodeNotFound)
		home := f.scope
		for _, scope := range []oxbow.Scope{f.other(), {Tenant: home.Tenant + "x", Name: home.Name}} {
			f.scope = scope
			_, err = f.tryApply(f.change(oxbow.ArchivedEvent, "a"))
			f.wantCode(err, oxbow.CodeNotFound)
		}
		f.scope = home
		if m := f.get("a"); m.Status != oxbow.Active || m.Version != 1 {
			t.Fatalf("a stranger changed it: %s", show(m))
		}
	})

	t.Run("retires many at once, and leaves alone what was touched since it was read", func(t *testing.T) {
		f := setup(t, s)
		var changes []oxbow.Change
		var names []string
		for i := range 40 {
			name := fmt.Sprintf("m%02d", i)
			names = append(names, name)
			f.create(f.memory(name))
		}
		f.apply(f.change(oxbow.Edited, "m01", edits("other words")))
		f.apply(f.change(oxbow.SupersededBy, "m02", func(c *oxbow.Change) { c.Set.ReplacedBy = ptr(f.id("m03")) }))
		f.apply(f.change(oxbow.PinnedEvent, "m04", func(c *oxbow.Change) { c.Set.Pinned = ptr(true) }))
		late := start.Add(9999 * day)
		for _, name := range names {
			changes = append(changes, f.change(oxbow.ArchivedEvent, name, guarded(oxbow.Active, 1), func(c *oxbow.Change) { c.Guard.FadedBy = late }))
		}
		done := f.apply(changes...)
		if len(done.Events) != 37 || len(done.Stale) != 3 {
			t.Fatalf("%d were archived and %d are stale, want 37 and 3", len(done.Events), len(done.Stale))
		}
		for i, e := range done.Events {
			if e.Seq == 0 || i > 0 && e.Seq <= done.Events[i-1].Seq || *e.Before.Status != oxbow.Active || *e.After.Status != oxbow.Archived {
				t.Fatalf("event %d is %s", i, show(e))
			}
		}
		f.wantSame(must(f.s.EventsOf(f.ctx, f.scope.Tenant, []string{done.Events[5].Memory}))(f)[1], done.Events[5])
		Replay(t, f.s, f.scope.Tenant, f.ids(names...)...)
		again := f.apply(changes...)
		f.wantSame(len(again.Stale), 40)
		f.wantSame(len(again.Events), 0)
	})

	t.Run("expires many at once, whether or not they fade", func(t *testing.T) {
		f := setup(t, s)
		var changes []oxbow.Change
		for i := range 40 {
			name := fmt.Sprintf("m%02d", i)
			f.create(f.memory(name, func(m *oxbow.Memory) { m.Pinned = true }))
			changes = append(changes, f.change(oxbow.ExpiredEvent, name, guarded(oxbow.Active, 1)))
		}
		f.wantSame(len(f.apply(changes...).Events), 40)
	})

	t.Run("adds links and takes them away with their events", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a"), f.memory("b"))
		edge := oxbow.Link{From: f.id("b"), To: f.id("a"), Type: oxbow.Confirms}
		second := oxbow.Link{From: f.id("b"), To: f.id("a"), Type: oxbow.ConflictsWith}
		done := f.apply(f.change(oxbow.Linked, "a", func(c *oxbow.Change) { c.Links = []oxbow.Link{edge, second} }))
		f.wantSame(must(f.s.Links(f.ctx, f.scope.Tenant, f.ids("a")))(f), []oxbow.Link{edge, second})
		f.wantSame(must(f.s.EventsOf(f.ctx, f.scope.Tenant, f.ids("a")))(f)[1], done.Events[0])
		f.apply(f.change(oxbow.Linked, "a", func(c *oxbow.Change) { c.Links, c.Unlinks = []oxbow.Link{edge}, []oxbow.Link{second} }))
		f.wantSame(must(f.s.Links(f.ctx, f.scope.Tenant, f.ids("b")))(f), []oxbow.Link{edge})
		Replay(t, f.s, f.scope.Tenant, f.ids("a", "b")...)
	})

	t.Run("derives half-life and fading from the batch's policy before the scope's", func(t *testing.T) {
		f := setup(t, s)
		policy := oxbow.DefaultPolicy()
		policy.HalfLifeDays = map[oxbow.Kind]float64{oxbow.Semantic: 2}
		b := f.batch()
		b.Policy = &policy
		f.tx(func(ctx context.Context, tx store.Tx) error {
			_, err := tx.Apply(ctx, b, []oxbow.Change{created(f.memory("short"))})
			return err
		})
		f.create(f.memory("plain"))
		if short, plain := f.get("short"), f.get("plain"); short.HalfLife != 2 || plain.HalfLife != 30 ||
			!short.FadesAt.Equal(policy.FadesAt(short)) || short.FadesAt.Sub(start) > 7*day {
			t.Fatalf("got %s and %s", show(short), show(plain))
		}
	})

	t.Run("keeps the words of every version", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a", says("first words")))
		first := f.get("a")
		f.apply(f.change(oxbow.Edited, "a", edits("second words")))
		second := f.get("a")
		for id, want := range map[string]string{first.ContentID: "first words", second.ContentID: "second words"} {
			c, seal, err := f.s.ContentBody(f.ctx, f.scope.Tenant, id)
			if err != nil || c.Text != want || seal.Salt == "" || seal.ContentID != id || seal.Digest != oxbow.Digest(seal.Salt, c) {
				t.Fatalf("got %s, %s and %v, want %q", show(c), show(seal), err, want)
			}
			if id == second.ContentID && seal.Digest != second.Digest {
				t.Fatal("the row's digest is not that of its content")
			}
		}
		if first.Digest == second.Digest || first.ContentID == second.ContentID {
			t.Fatal("two versions share an id or a digest")
		}
	})

	t.Run("sees inside a transaction what it wrote", func(t *testing.T) {
		f := setup(t, s)
		f.tx(func(ctx context.Context, tx store.Tx) error {
			if _, err := tx.Apply(ctx, f.batch(), []oxbow.Change{created(f.memory("a", says("a lighthouse")))}); err != nil {
				return err
			}
			if _, err := tx.Memory(ctx, f.scope.Tenant, f.id("a")); err != nil {
				t.Errorf("the memory cannot be read: %v", err)
			}
			hits, err := tx.Search(ctx, store.SearchQuery{Scope: f.scope, Text: "lighthouses", Statuses: oxbow.Statuses, K1: 1.2, Limit: 3})
			if len(hits) != 1 {
				t.Errorf("the search finds %d memories", len(hits))
			}
			if _, outside := f.s.Memory(f.ctx, f.scope.Tenant, f.id("a")); oxbow.CodeOf(outside) != oxbow.CodeNotFound {
				t.Errorf("others see it before the commit: %v", outside)
			}
			return err
		})
		f.get("a")
	})
}

func testAddresses(t *testing.T, s store.Store) {
	city := fact("user", "city")

	t.Run("refuses a second active fact at an address and writes nothing", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a", city))
		_, err := f.tryApply(created(f.memory("c")), created(f.memory("b", city)))
		f.wantCode(err, oxbow.CodeConflict)
		if n := len(must(f.s.AllMemories(f.ctx, f.scope, "", 9))(f)); n != 1 {
			t.Fatalf("there are %d memories, want 1", n)
		}
	})

	t.Run("lets many share an address when one of them at most is active", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a", city), f.memory("b", city, func(m *oxbow.Memory) { m.Status = oxbow.Superseded }),
			f.memory("c", city, func(m *oxbow.Memory) { m.Status = oxbow.Quarantined }))
	})

	t.Run("lets every scope and slot have its own", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a", city), f.memory("b", fact("agent", "city")), f.memory("free"), f.memory("free too"))
		f.scope = f.other()
		f.create(f.memory("c", city))
	})

	t.Run("retires the old fact and creates the new one in one call, in either order", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a", city))
		retire := func(old, by string) oxbow.Change {
			return f.change(oxbow.SupersededBy, old, func(c *oxbow.Change) {
				c.Set.ReplacedBy = ptr(f.id(by))
				c.Links = []oxbow.Link{{From: f.id(by), To: f.id(old), Type: oxbow.Supersedes}}
			})
		}
		f.apply(retire("a", "b"), created(f.memory("b", city)))
		f.apply(created(f.memory("c", city)), retire("b", "c"))
		if a, b, c := f.get("a"), f.get("b"), f.get("c"); a.Status != oxbow.Superseded || b.Status != oxbow.Superseded || c.Status != oxbow.Active {
			t.Fatalf("got %s, %s and %s", a.Status, b.Status, c.Status)
		}
		Replay(t, f.s, f.scope.Tenant, f.ids("a", "b", "c")...)
	})

	t.Run("swaps the active fact in one call, in either order", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a", city), f.memory("b", city, func(m *oxbow.Memory) { m.Status = oxbow.Superseded }))
		f.apply(f.change(oxbow.Restored, "b"), f.change(oxbow.SupersededBy, "a"))
		f.apply(f.change(oxbow.SupersededBy, "b"), f.change(oxbow.Restored, "a"))
		if a, b := f.get("a"), f.get("b"); a.Status != oxbow.Active || b.Status != oxbow.Superseded {
			t.Fatalf("got %s and %s", a.Status, b.Status)
		}
	})

	t.Run("refuses to restore a fact whose address is taken", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a", city))
		f.apply(f.change(oxbow.ArchivedEvent, "a"), created(f.memory("b", city)))
		_, err := f.tryApply(f.change(oxbow.Restored, "a", func(c *oxbow.Change) { c.Set.TouchedAt = &oxbow.Instant{Time: start.Add(time.Hour)} }))
		f.wantCode(err, oxbow.CodeConflict)
		if m := f.get("a"); m.Status != oxbow.Archived || m.Version != 2 {
			t.Fatalf("got %s", show(m))
		}
	})

	t.Run("moves a fact to a free address and counts that as new content", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a", city))
		f.apply(f.change(oxbow.Edited, "a", func(c *oxbow.Change) { c.Set.Key = ptr("town") }), created(f.memory("b", city)))
		if m := f.get("a"); m.Key != "town" || m.ContentVersion != 2 {
			t.Fatalf("got %s", show(m))
		}
	})
}
