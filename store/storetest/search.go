package storetest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// query gives a search of the sub-test's scope for active memories.
func (f *fixture) query(text string) store.SearchQuery {
	return store.SearchQuery{Scope: f.scope, Text: text, Statuses: []oxbow.Status{oxbow.Active}, K1: 1.2, B: 0.1, Limit: 100}
}

// search finds memories of some statuses.
func (f *fixture) search(text string, statuses ...oxbow.Status) []store.Hit {
	f.Helper()
	q := f.query(text)
	q.Statuses = statuses
	return must(f.s.Search(f.ctx, q))(f)
}

func testSearch(t *testing.T, s store.Store) {
	t.Run("finds a memory by its words in another form, by its key and by its tags", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a", fact("user", "timezone"), says("Meetings are in Lisbon"),
			func(m *oxbow.Memory) { m.Content.Tags = []string{"calendar"} }), f.memory("b", says("something else")))
		for _, text := range []string{"meeting", "LISBON!", "what is the timezone?", "calendars", "meeting lisbon timezone"} {
			f.wantOrder(hitIDs(f.search(text, oxbow.Active)), "a")
		}
		f.wantOrder(hitIDs(f.search("madrid", oxbow.Active)))
	})

	t.Run("leaves out the statuses that were not asked for and the memory that is excluded", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a", says("a lighthouse")), f.memory("b", says("a lighthouse too")),
			f.memory("q", says("a lighthouse"), func(m *oxbow.Memory) { m.Status = oxbow.Quarantined }))
		f.apply(f.change(oxbow.ArchivedEvent, "b"))
		f.wantOrder(hitIDs(f.search("lighthouse", oxbow.Active)), "a")
		f.wantOrder(hitIDs(f.search("lighthouse", oxbow.Archived)), "b")
		f.wantOrder(hitIDs(f.search("lighthouse")))
		if n := len(f.search("lighthouse", oxbow.Statuses...)); n != 3 {
			t.Fatalf("all statuses give %d hits", n)
		}
		q := f.query("lighthouse")
		q.Exclude = f.id("a")
		f.wantOrder(hitIDs(must(f.s.Search(f.ctx, q))(f)))
	})

	t.Run("finds a reworded memory by its new words and not by its old ones", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a", fact("user", "city"), says("lives in Lisbon")))
		f.apply(f.change(oxbow.Edited, "a", edits("moved to Porto"), func(c *oxbow.Change) { c.Set.Key = ptr("town") }))
		for text, names := range map[string][]string{"lisbon": nil, "live": nil, "city": nil, "porto": {"a"}, "moving": {"a"}, "town": {"a"}} {
			f.wantOrder(hitIDs(f.search(text, oxbow.Active)), names...)
		}
		f.apply(f.change(oxbow.Edited, "a", func(c *oxbow.Change) { c.Set.Key = ptr("residence") }))
		f.wantOrder(hitIDs(f.search("town", oxbow.Active)))
		f.wantOrder(hitIDs(f.search("residence porto", oxbow.Active)), "a")
		f.apply(f.change(oxbow.Edited, "a", edits("moved to Faro")), f.change(oxbow.Edited, "a", edits("moved to Braga")))
		f.wantOrder(hitIDs(f.search("porto faro", oxbow.Active)))
		f.wantOrder(hitIDs(f.search("braga", oxbow.Active)), "a")
	})

	t.Run("finds an erased memory by none of the words it ever had", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a", fact("user", "city"), says("lives in Lisbon")), f.memory("b", says("lives in Lisbon")))
		f.apply(f.change(oxbow.Edited, "a", edits("moved to Porto")))
		f.erase("a")
		for text, names := range map[string][]string{"lisbon": {"b"}, "porto": nil, "moved": nil, "city": nil} {
			f.wantOrder(hitIDs(f.search(text, oxbow.Statuses...)), names...)
		}
	})

	t.Run("finds Chinese, Japanese, Korean, Greek and Cyrillic words", func(t *testing.T) {
		f := setup(t, s)
		texts := map[string]string{"zh": "用户住在北京，喜欢喝茶", "ja": "東京タワーの近くに住んでいます", "ko": "서울에서 일합니다", "el": "μένει στην Αθήνα", "ru": "живёт в Москве"}
		for name, text := range texts {
			f.create(f.memory(name, says(text)))
		}
		for name, text := range map[string]string{"zh": "北京", "ja": "東京", "ko": "서울", "el": "ΑΘΉΝΑ", "ru": "москве"} {
			f.wantOrder(hitIDs(f.search(text, oxbow.Active)), name)
		}
	})

	t.Run("never fails for what a query says", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a", says("the lighthouse stands on a rock")))
		long := strings.Repeat("word ", 10_000)
		for i := range 10_000 {
			long += fmt.Sprintf("w%d ", i)
		}
		for _, text := range []string{"", " ", "the of and a", "'", `"`, `"unclosed`, "a AND", "NOT", "NEAR(a b)", "a* OR (", "-lighthouse", "col:lighthouse",
			"'; DROP TABLE memories; --", "%", "_", `\`, "lighthouse:*", "& | ! <->", "?", "$1", "\x00", "\xff\xfe", "\u202eesrever", "👩‍🚀", "{}[]", long} {
			q := f.query(text)
			if _, err := f.s.Search(f.ctx, q); err != nil {
				t.Errorf("%.20q: %v", text, err)
			}
			q.MaxPostings = 1
			if _, err := f.s.Search(f.ctx, q); err != nil {
				t.Errorf("%.20q with a bound: %v", text, err)
			}
		}
		for _, text := range []string{"", "the of and a", "%", "*", "_ighthouse", "lighthouse'--x"} {
			if hits := f.search(text, oxbow.Active); len(hits) > 0 && text != "lighthouse'--x" {
				t.Errorf("%q finds %d memories", text, len(hits))
			}
		}
		f.wantOrder(hitIDs(f.search(`lighthouse" OR 'x'='x`, oxbow.Active)), "a")
	})

	t.Run("stores a memory without one word and finds nothing in it", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a", says("!!!")), f.memory("b", says("the of and")))
		f.apply(f.change(oxbow.Edited, "a", edits("???")))
		f.erase("a")
		f.wantOrder(hitIDs(f.search("the !!!", oxbow.Statuses...)))
	})

	t.Run("gives nothing of a scope that is not there", func(t *testing.T) {
		f := setup(t, s)
		f.wantOrder(hitIDs(f.search("anything", oxbow.Active)))
	})

	t.Run("leaves common words out, unless every word is common", func(t *testing.T) {
		f := setup(t, s)
		ms := []oxbow.Memory{f.memory("rare", says("harbour ferry"))}
		for i := range 9 {
			ms = append(ms, f.memory(fmt.Sprint(i), says("ferry boat")))
		}
		f.create(ms...)
		q := f.query("the ferry in the harbour")
		q.MaxPostings = 9
		f.wantOrder(hitIDs(must(f.s.Search(f.ctx, q))(f)), "rare")
		q.MaxPostings = 10
		if n := len(must(f.s.Search(f.ctx, q))(f)); n != 10 {
			t.Fatalf("a word in ten memories gives %d hits under a bound of ten", n)
		}
		q.Text, q.MaxPostings = "ferry boat", 5
		if n := len(must(f.s.Search(f.ctx, q))(f)); n < 9 {
			t.Fatalf("two common words alone give %d hits", n)
		}
	})

	t.Run("counts no word of another scope or tenant into a score", func(t *testing.T) {
		f := setup(t, s)
		f.create(f.memory("a", says("lighthouse")), f.memory("b", says("sand")))
		want := f.search("lighthouse", oxbow.Active)
		home := f.scope
		for _, scope := range []oxbow.Scope{f.other(), {Tenant: home.Tenant + "x", Name: home.Name}} {
			f.scope = scope
			f.create(f.memory("x"+scope.String(), says("lighthouse lighthouse on the sea"), func(m *oxbow.Memory) { m.Scope = scope }))
		}
		f.scope = home
		f.wantSame(f.search("lighthouse", oxbow.Active), want)
	})
}

func testResolve(t *testing.T, s store.Store) {
	named := func(f *fixture, ids ...string) {
		f.settings()
		for _, id := range ids {
			m := f.memory(id)
			m.ID = id
			f.create(m)
			f.tx(func(ctx context.Context, tx store.Tx) error {
				if _, err := tx.AddTurns(ctx, []oxbow.Turn{{ID: "t" + id, Scope: f.scope, At: start, CreatedAt: start}}); err != nil {
					return err
				}
				return tx.PutRun(ctx, oxbow.Run{ID: "r" + id, Scope: f.scope, About: start, StartedAt: start})
			})
		}
	}

	t.Run("finds the one memory, turn and run that a prefix stands for", func(t *testing.T) {
		f := setup(t, s)
		named(f, "q1abcd", "q1abef", "q1a", "q2zzzz")
		for _, c := range []struct{ thing, prefix, want, code string }{
			{"memory", "q1abcd", "q1abcd", ""}, {"memory", "q1abc", "q1abcd", ""}, {"memory", "q2", "q2zzzz", ""},
			{"memory", "q1ab", "", oxbow.CodeConflict}, {"memory", "q1a", "q1a", ""}, {"memory", "q9", "", oxbow.CodeNotFound},
			{"turn", "tq1abc", "tq1abcd", ""}, {"turn", "tq1ab", "", oxbow.CodeConflict}, {"turn", "tq9", "", oxbow.CodeNotFound},
			{"run", "rq1abc", "rq1abcd", ""}, {"run", "rq1ab", "", oxbow.CodeConflict}, {"run", "rq9", "", oxbow.CodeNotFound},
		} {
			got, err := f.s.Resolve(f.ctx, f.scope.Tenant, c.thing, c.prefix)
			f.wantCode(err, c.code)
			if got != c.want {
				t.Errorf("%s %s stands for %q, want %q", c.thing, c.prefix, got, c.want)
			}
		}
	})

	t.Run("takes no prefix for a pattern", func(t *testing.T) {
		f := setup(t, s)
		named(f, "w1abcd")
		for _, prefix := range []string{"w1%", "w_a", "w1' OR '1'='1", "*", "W1", "\U0010ffff"} {
			_, err := f.s.Resolve(f.ctx, f.scope.Tenant, "memory", prefix)
			f.wantCode(err, oxbow.CodeNotFound)
		}
	})

	t.Run("says invalid for a thing that has no ids", func(t *testing.T) {
		f := setup(t, s)
		_, err := f.s.Resolve(f.ctx, f.scope.Tenant, "weather", "a")
		f.wantCode(err, oxbow.CodeInvalid)
	})
}
