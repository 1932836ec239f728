package store_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

var (
	now  = time.Date(2024, 3, 1, 12, 0, 0, 0, time.UTC)
	home = oxbow.Scope{Tenant: "default", Name: "user:ada"}
)

func memory(id string, set ...func(*oxbow.Memory)) oxbow.Memory {
	m := oxbow.Memory{ID: id, Scope: home, Status: oxbow.Active, Kind: oxbow.Semantic, Content: oxbow.Content{Text: "words of " + id},
		ContentID: "c" + id, Importance: 5, Rating: 1, Source: oxbow.FromUser, SaidAt: now, ContentVersion: 1, Version: 1}
	for _, s := range set {
		s(&m)
	}
	return oxbow.DefaultPolicy().Derive(m)
}

func plan(t *testing.T, rows []oxbow.Memory, changes ...oxbow.Change) (*store.Plan, error) {
	t.Helper()
	return store.NewPlan(store.Batch{Scope: home, Run: "r", Now: now, RecordedAt: now.Add(time.Hour)}, oxbow.DefaultPolicy(), rows, changes)
}

func TestNewPlan(t *testing.T) {
	t.Parallel()

	t.Run("writes a memory that changes twice once, with both events", func(t *testing.T) {
		t.Parallel()
		p, err := plan(t, []oxbow.Memory{memory("a")},
			oxbow.Change{Type: oxbow.Edited, Memory: "a", Content: &oxbow.Content{Text: "first"}},
			oxbow.Change{Type: oxbow.Edited, Memory: "a", Content: &oxbow.Content{Text: "second"}})
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Updated) != 1 || len(p.Events) != 2 || len(p.Contents) != 2 || len(p.Created) != 0 {
			t.Fatalf("got %+v", p)
		}
		u := p.Updated[0]
		if u.Was != 1 || u.Version != 3 || u.ContentID != p.Contents[1].ContentID || u.Narrow {
			t.Fatalf("got %+v", u)
		}
		if len(p.Reworded) != 1 || p.Reworded[0].Content.Text != "words of a" || len(p.Indexed) != 1 || p.Indexed[0].Content.Text != "second" {
			t.Fatalf("the index loses %+v and gains %+v", p.Reworded, p.Indexed)
		}
		e := p.Events[1]
		if e.Scope != home || e.Run != "r" || !e.RecordedAt.Equal(now.Add(time.Hour)) || e.Version != 3 {
			t.Fatalf("got %+v", e)
		}
	})

	t.Run("frees an address before it is taken, whatever the order of the changes", func(t *testing.T) {
		t.Parallel()
		rows := []oxbow.Memory{memory("a"), memory("b", func(m *oxbow.Memory) { m.Status = oxbow.Archived })}
		p, err := plan(t, rows, oxbow.Change{Type: oxbow.Restored, Memory: "b"}, oxbow.Change{Type: oxbow.ArchivedEvent, Memory: "a"})
		if err != nil {
			t.Fatal(err)
		}
		if p.Updated[0].ID != "a" || p.Updated[1].ID != "b" {
			t.Fatalf("the rows are written as %s, %s", p.Updated[0].ID, p.Updated[1].ID)
		}
		if p.Events[0].Memory != "b" {
			t.Fatal("the events lost the order of the changes")
		}
	})

	t.Run("calls a change of status narrow, and one that moves an index not", func(t *testing.T) {
		t.Parallel()
		for _, c := range []struct {
			change oxbow.Change
			narrow bool
		}{
			{oxbow.Change{Type: oxbow.ArchivedEvent}, true},
			{oxbow.Change{Type: oxbow.SupersededBy, Set: oxbow.Patch{ReplacedBy: ref("b")}}, true},
			{oxbow.Change{Type: oxbow.Rated, Set: oxbow.Patch{Rating: ref(0.3)}}, false},
			{oxbow.Change{Type: oxbow.PinnedEvent, Set: oxbow.Patch{Pinned: ref(true)}}, false},
			{oxbow.Change{Type: oxbow.Reinforced, Set: oxbow.Patch{ConfirmedAt: &oxbow.Instant{Time: now.Add(time.Hour)}}}, false},
			{oxbow.Change{Type: oxbow.Dated, Set: oxbow.Patch{ExpiresAt: &oxbow.Instant{Time: now}}}, false},
		} {
			c.change.Memory = "a"
			p, err := plan(t, []oxbow.Memory{memory("a")}, c.change)
			if err != nil {
				t.Fatal(err)
			}
			if p.Updated[0].Narrow != c.narrow || len(p.Reworded)+len(p.Indexed) != 0 {
				t.Errorf("%s: narrow is %v, want %v", c.change.Type, p.Updated[0].Narrow, c.narrow)
			}
		}
	})

	t.Run("calls a status narrow no longer when the policy moved under the row", func(t *testing.T) {
		t.Parallel()
		for _, derived := range []func(*oxbow.Memory){
			func(m *oxbow.Memory) { m.HalfLife = 7 },
			func(m *oxbow.Memory) { m.RankKey++ },
			func(m *oxbow.Memory) { m.FadesAt = m.FadesAt.Add(time.Hour) },
		} {
			m := memory("a")
			derived(&m)
			p, err := plan(t, []oxbow.Memory{m}, oxbow.Change{Type: oxbow.ArchivedEvent, Memory: "a"})
			if err != nil || p.Updated[0].Narrow {
				t.Fatalf("got %+v and %v", p, err)
			}
		}
	})

	t.Run("gives stale changes back and goes on", func(t *testing.T) {
		t.Parallel()
		stale := oxbow.Change{Type: oxbow.ArchivedEvent, Memory: "a", Guard: &oxbow.Guard{Status: oxbow.Active, ContentVersion: 9}}
		p, err := plan(t, []oxbow.Memory{memory("a")}, stale, oxbow.Change{Type: oxbow.Linked, Memory: "a"})
		if err != nil || len(p.Stale) != 1 || len(p.Events) != 1 || len(p.Updated) != 1 {
			t.Fatalf("got %+v and %v", p, err)
		}
	})

	t.Run("seals each content with a salt of its own", func(t *testing.T) {
		t.Parallel()
		a, b := memory("a"), memory("b")
		a.Content, b.Content = oxbow.Content{Text: "same"}, oxbow.Content{Text: "same"}
		p, err := plan(t, nil, oxbow.Change{Type: oxbow.Created, Memory: "a", New: &a}, oxbow.Change{Type: oxbow.Created, Memory: "b", New: &b})
		if err != nil {
			t.Fatal(err)
		}
		one, two := p.Contents[0], p.Contents[1]
		if one.Salt == two.Salt || one.Digest == two.Digest || one.ContentID == two.ContentID || len(one.Salt) != 32 || one.Owner != "a" {
			t.Fatalf("got %+v and %+v", one, two)
		}
		if p.Created[0].Digest != one.Digest || oxbow.Digest(one.Salt, one.Content) != one.Digest {
			t.Fatal("the row does not carry its content's digest")
		}
	})

	t.Run("refuses what is missing, what is there already, and an erasure together with an edit", func(t *testing.T) {
		t.Parallel()
		a := memory("a")
		for _, c := range []struct {
			changes []oxbow.Change
			want    string
		}{
			{[]oxbow.Change{{Type: oxbow.ArchivedEvent, Memory: "x"}}, oxbow.CodeNotFound},
			{[]oxbow.Change{{Type: oxbow.Created, Memory: "a", New: &a}}, oxbow.CodeConflict},
			{[]oxbow.Change{{Type: oxbow.Released, Memory: "a"}}, oxbow.CodeConflict},
			{[]oxbow.Change{{Type: oxbow.Edited, Memory: "a", Set: oxbow.Patch{Key: ref("k")}}, {Type: oxbow.ErasedEvent, Memory: "a"}}, oxbow.CodeConflict},
		} {
			p, err := plan(t, []oxbow.Memory{a}, c.changes...)
			if p != nil || oxbow.CodeOf(err) != c.want || errors.Is(err, oxbow.ErrStale) {
				t.Errorf("%+v gives %v, want %s", c.changes[0], err, c.want)
			}
		}
	})
}

func ref[T any](v T) *T { return &v }

func TestIDs(t *testing.T) {
	t.Parallel()

	t.Run("are those of rows that exist, in the order in which they are locked", func(t *testing.T) {
		t.Parallel()
		m := memory("z")
		got := store.IDs([]oxbow.Change{{Memory: "b"}, {Memory: "z", New: &m}, {Memory: "a"}, {Memory: "b"}})
		if !slices.Equal(got, []string{"a", "b"}) {
			t.Fatalf("got %v", got)
		}
	})

	t.Run("are sorted without changing the caller's list", func(t *testing.T) {
		t.Parallel()
		ids := []string{"c", "a", "c"}
		if got := store.Sorted(ids); !slices.Equal(got, []string{"a", "c"}) || !slices.Equal(ids, []string{"c", "a", "c"}) {
			t.Fatalf("got %v of %v", got, ids)
		}
	})
}

func TestSearchText(t *testing.T) {
	t.Parallel()

	t.Run("is the speaker, the key, the text and the tags", func(t *testing.T) {
		t.Parallel()
		m := oxbow.Memory{Key: "city", Content: oxbow.Content{Text: "lives in Lisbon", Summary: "home", Tags: []string{"x", "y"}}}
		if got := store.SearchText(m); got != "city lives in Lisbon x y" {
			t.Fatalf("got %q", got)
		}
		if got := store.SearchText(oxbow.Memory{Key: "home_town", Content: oxbow.Content{Text: "Rome"}}); got != "home town home_town Rome" {
			t.Fatalf("got %q", got)
		}
		m.Content.Speaker = "Ann"
		if got := store.SearchText(m); got != "Ann city lives in Lisbon x y" {
			t.Fatalf("got %q", got)
		}
		if got := store.SearchText(oxbow.Memory{Content: oxbow.Content{Text: "alone"}}); got != "alone" {
			t.Fatalf("got %q", got)
		}
	})

	t.Run("is stored with its links as JSON, and without as nothing", func(t *testing.T) {
		t.Parallel()
		if got := store.LinksJSON(nil); got != "" {
			t.Fatalf("got %q", got)
		}
		if got := store.LinksJSON([]oxbow.Link{{From: "a", To: "b", Type: oxbow.Confirms}}); got != `[{"from":"a","to":"b","type":"confirms"}]` {
			t.Fatalf("got %q", got)
		}
	})
}
