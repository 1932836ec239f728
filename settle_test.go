package oxbow_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/oxbow-memory/oxbow"
)

func TestSettle(t *testing.T) {
	t.Parallel()

	t.Run("ends the same for any order and any batches of arrival", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			statements := drawStatements(t)
			verdicts := drawVerdicts(t, statements)
			atOnce := newWorld(verdicts...)
			atOnce.settle(t, statements...)
			atOnce.check(t)
			want := atOnce.String()

			for range 3 {
				w := newWorld(rapid.Permutation(verdicts).Draw(t, "verdicts")...)
				waiting := rapid.Permutation(statements).Draw(t, "order")
				for len(waiting) > 0 {
					n := rapid.IntRange(1, len(waiting)).Draw(t, "batch")
					w.settle(t, waiting[:n]...)
					w.check(t)
					waiting = waiting[n:]
				}
				if got := w.String(); got != want {
					t.Fatalf("at once:\n%s\none by one:\n%s", want, got)
				}
			}
		})
	})

	t.Run("ends the same whenever the verdicts come", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			statements := drawStatements(t)
			verdicts := drawVerdicts(t, statements)
			atOnce := newWorld(verdicts...)
			atOnce.settle(t, statements...)

			w := newWorld()
			w.settle(t, statements...)
			for _, v := range rapid.Permutation(verdicts).Draw(t, "verdicts") {
				w.verdicts = append(w.verdicts, v)
				w.settle(t)
				w.check(t)
			}
			if w.String() != atOnce.String() {
				t.Fatalf("at once:\n%s\nverdict by verdict:\n%s", atOnce, w)
			}
		})
	})

	t.Run("changes nothing the second time, whatever passes did between", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			statements := drawStatements(t)
			w := newWorld(drawVerdicts(t, statements)...)
			w.settle(t, statements...)
			if again := w.settle(t); len(again) != 0 {
				t.Fatalf("settling twice gives %+v\n%s", again, w)
			}
			for _, m := range statements {
				e := rapid.SampledFrom([]oxbow.EventType{"", "", oxbow.ArchivedEvent, oxbow.ExpiredEvent, oxbow.ErasedEvent}).Draw(t, "pass")
				if _, err := oxbow.Move(e, w.memories[m.ID].Status); err == nil && !w.memories[m.ID].Pinned {
					w.apply(t, oxbow.Change{Type: e, Memory: m.ID, Reason: "a pass"})
				}
			}
			frozen := map[string]oxbow.Status{}
			for id, m := range w.memories {
				if m.Status == oxbow.Archived || m.Status == oxbow.Expired || m.Status == oxbow.Erased || m.Status == oxbow.Quarantined {
					frozen[id] = m.Status
				}
			}
			w.settle(t)
			for id, s := range frozen {
				if w.memories[id].Status != s {
					t.Fatalf("%s was %s and is %s", id, s, w.memories[id].Status)
				}
			}
			if again := w.settle(t); len(again) != 0 {
				t.Fatalf("settling twice gives %+v\n%s", again, w)
			}
		})
	})
}

// said gives a statement of the user, made so many hours after the epoch.
func said(id string, hours int, with ...func(*oxbow.Memory)) oxbow.Memory {
	m := oxbow.Memory{
		ID: id, Scope: ada, Status: oxbow.Active, Kind: oxbow.Semantic, Rating: 0.5, Source: oxbow.FromUser,
		Content: oxbow.Content{Text: id}, SaidAt: epoch.Add(time.Duration(hours) * time.Hour),
	}
	for _, f := range with {
		f(&m)
	}
	return m
}

func at(key, value string) func(*oxbow.Memory) {
	return func(m *oxbow.Memory) {
		m.Kind, m.Slot, m.Key, m.Content.Text = oxbow.Fact, "user", key, value
	}
}

func from(s oxbow.Source) func(*oxbow.Memory) { return func(m *oxbow.Memory) { m.Source = s } }
func in(conversation string) func(*oxbow.Memory) {
	return func(m *oxbow.Memory) { m.Conversation = conversation }
}
func pinned(m *oxbow.Memory) { m.Pinned = true }

func TestSettleCases(t *testing.T) {
	t.Parallel()
	type relation struct {
		older, newer string
		r            oxbow.Relation
	}
	for _, c := range []struct {
		name     string
		members  []oxbow.Memory
		verdicts []relation
		want     string // status>replaced_by of each, in the order of members
	}{
		{"a newer statement supersedes an older one",
			[]oxbow.Memory{said("a", 0), said("b", 1)}, []relation{{"a", "b", oxbow.Replaces}}, "superseded>b active"},
		{"what is retired does not retire",
			[]oxbow.Memory{said("a", 0), said("b", 1), said("c", 2)},
			[]relation{{"a", "b", oxbow.Contradicts}, {"b", "c", oxbow.Contradicts}}, "superseded>b superseded>c active"},
		{"the first that contradicts takes the place",
			[]oxbow.Memory{said("a", 0), said("b", 1), said("c", 2)},
			[]relation{{"a", "b", oxbow.Replaces}, {"a", "c", oxbow.Replaces}}, "superseded>b active active"},
		{"an unsure verdict leaves both",
			[]oxbow.Memory{said("a", 0), said("b", 1)}, []relation{{"a", "b", oxbow.Unsure}}, "active active"},
		{"an unrelated verdict leaves both",
			[]oxbow.Memory{said("a", 0), said("b", 1)}, []relation{{"a", "b", oxbow.Unrelated}}, "active active"},
		{"a pinned memory stays beside what contradicts it",
			[]oxbow.Memory{said("a", 0, pinned), said("b", 1)}, []relation{{"a", "b", oxbow.Contradicts}}, "active active"},
		{"a more trusted memory stays beside what contradicts it",
			[]oxbow.Memory{said("a", 0), said("b", 1, from(oxbow.FromWeb))}, []relation{{"a", "b", oxbow.Contradicts}}, "active active"},
		{"an equal restatement is compressed into what it repeats",
			[]oxbow.Memory{said("a", 0), said("b", 1), said("c", 2)},
			[]relation{{"a", "b", oxbow.Equal}, {"a", "c", oxbow.Equal}, {"b", "c", oxbow.Equal}}, "active compressed>a compressed>a"},
		{"an equal restatement by a more trusted source takes over",
			[]oxbow.Memory{said("a", 0, from(oxbow.FromTool)), said("b", 1)}, []relation{{"a", "b", oxbow.Equal}}, "compressed>b active"},
		{"a pinned restatement takes over and stays",
			[]oxbow.Memory{said("a", 0), said("b", 1, pinned)}, []relation{{"a", "b", oxbow.Equal}}, "compressed>b active"},
		{"two pinned ones that say the same both stay",
			[]oxbow.Memory{said("a", 0, pinned), said("b", 1, pinned)}, []relation{{"a", "b", oxbow.Equal}}, "active active"},
		{"facts at one address replace each other without a verdict",
			[]oxbow.Memory{said("a", 0, at("city", "Oslo")), said("b", 1, at("city", "Bergen")), said("c", 1, at("zone", "CET"))},
			nil, "superseded>b active active"},
		{"facts at one address that name the same thing in other words confirm each other",
			[]oxbow.Memory{said("a", 0, at("database", "We use Postgres"), naming("postgresql")), said("b", 1, at("database", "Our database is PostgreSQL"), naming("postgresql", "of database", "one"))},
			nil, "active compressed>a"},
		{"facts at one address that name the same thing with a bound replace each other",
			[]oxbow.Memory{said("a", 0, at("database", "We use Postgres"), naming("postgresql")), said("b", 1, at("database", "Postgres is on staging"), naming("postgresql", "on staging"))},
			nil, "superseded>b active"},
		{"a less trusted fact is set aside at an address that is held",
			[]oxbow.Memory{said("a", 0, at("city", "Oslo")), said("b", 1, at("city", "Rome"), from(oxbow.FromWeb))}, nil, "active superseded>a"},
		{"a more trusted fact is set aside at an address that is pinned",
			[]oxbow.Memory{said("a", 0, at("city", "Oslo"), from(oxbow.FromWeb), pinned), said("b", 1, at("city", "Rome"))}, nil, "active superseded>a"},
		{"a pinned fact is not set aside by an older, more trusted one",
			[]oxbow.Memory{said("a", 0, at("city", "Oslo")), said("b", 1, at("city", "Rome"), from(oxbow.FromWeb), pinned)}, nil, "superseded>b active"},
		{"an operator keeps the older one",
			[]oxbow.Memory{said("a", 0, from(oxbow.FromWeb)), said("b", 1)}, []relation{{"a", "b", oxbow.Rejected}}, "active superseded>a"},
		{"an operator keeps the older fact at an address",
			[]oxbow.Memory{said("a", 0, at("city", "Oslo")), said("b", 1, at("city", "Rome")), said("c", 2, at("city", "Bern"))},
			[]relation{{"a", "b", oxbow.Rejected}}, "superseded>c superseded>a active"},
		{"an operator keeps both",
			[]oxbow.Memory{said("a", 0, from(oxbow.FromWeb)), said("b", 1), said("c", 2)}, []relation{{"a", "b", oxbow.Both}, {"b", "c", oxbow.Contradicts}}, "active superseded>c active"},
		{"facts at one address cannot both hold, whatever an operator says",
			[]oxbow.Memory{said("a", 0, at("city", "Oslo")), said("b", 1, at("city", "Rome"))}, []relation{{"a", "b", oxbow.Both}}, "superseded>b active"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for order := range permutations(c.members) {
				w := newWorld()
				byID := map[string]oxbow.Memory{}
				var ids []string
				for _, m := range c.members {
					byID[m.ID] = m
					ids = append(ids, m.ID)
				}
				for _, v := range c.verdicts {
					given := oxbow.NewVerdict(byID[v.older], byID[v.newer], v.r)
					if v.r == oxbow.Rejected || v.r == oxbow.Both {
						given.Judge = oxbow.Operator
					}
					w.verdicts = append(w.verdicts, given)
				}
				for _, m := range order {
					w.settle(t, m)
					w.check(t)
				}
				if got := w.status(ids...); got != c.want {
					t.Fatalf("got %s, want %s", got, c.want)
				}
			}
		})
	}
}

// permutations yields every order of a few memories.
func permutations(ms []oxbow.Memory) func(func([]oxbow.Memory) bool) {
	return func(yield func([]oxbow.Memory) bool) {
		var walk func(done, left []oxbow.Memory) bool
		walk = func(done, left []oxbow.Memory) bool {
			if len(left) == 0 {
				return yield(done)
			}
			for i := range left {
				rest := slices.Delete(slices.Clone(left), i, i+1)
				if !walk(append(slices.Clone(done), left[i]), rest) {
					return false
				}
			}
			return true
		}
		walk(nil, ms)
	}
}

func TestOperatorVerdict(t *testing.T) {
	t.Parallel()
	older, newer := said("a", 0), said("b", 1, from(oxbow.FromWeb))
	for judge, want := range map[string]string{"offline@1": "active active", oxbow.Operator: "superseded>b active"} {
		v := oxbow.NewVerdict(older, newer, oxbow.Replaces)
		v.Judge = judge
		w := newWorld(v)
		w.settle(t, older, newer)
		if got := w.status("a", "b"); got != want {
			t.Errorf("on the word of %s they are %s, want %s", judge, got, want)
		}
	}
}

func TestFourteenToOne(t *testing.T) {
	t.Parallel()
	var postgres []oxbow.Memory
	for i := range 14 {
		postgres = append(postgres, said(fmt.Sprintf("p%02d", i), i))
	}
	mysql := said("mysql", 100)
	w := newWorld()
	for _, p := range postgres {
		w.verdicts = append(w.verdicts, oxbow.NewVerdict(p, mysql, oxbow.Replaces))
	}
	w.settle(t, postgres...)

	t.Run("one statement retires all fourteen", func(t *testing.T) {
		w.settle(t, mysql)
		w.check(t)
		for _, p := range postgres {
			if m := w.memories[p.ID]; m.Status != oxbow.Superseded || m.ReplacedBy != "mysql" {
				t.Errorf("%s is %s by %q", p.ID, m.Status, m.ReplacedBy)
			}
		}
		if len(w.links) != 14 || w.memories["mysql"].Status != oxbow.Active {
			t.Errorf("%d links, mysql is %s", len(w.links), w.memories["mysql"].Status)
		}
	})

	t.Run("a late older note enters as superseded", func(t *testing.T) {
		late := said("p99", 50)
		w.verdicts = append(w.verdicts, oxbow.NewVerdict(late, mysql, oxbow.Replaces))
		changes := w.settle(t, late)
		if len(changes) != 1 || changes[0].Type != oxbow.Created || w.status("p99") != "superseded>mysql" {
			t.Errorf("%d changes, it is %s", len(changes), w.status("p99"))
		}
	})

	t.Run("they come back when the one that retired them turns out to be retired before", func(t *testing.T) {
		w.memories["mysql"] = retrusted(w.memories["mysql"])
		w.settle(t)
		for _, p := range postgres {
			if w.status(p.ID) != "active" {
				t.Errorf("%s is %s", p.ID, w.status(p.ID))
			}
		}
	})
}

// retrusted plays a statement that was only ever on a web page.
func retrusted(m oxbow.Memory) oxbow.Memory {
	m.Source = oxbow.FromWeb
	return m
}

func TestConfirmations(t *testing.T) {
	t.Parallel()
	base := said("a", 0, in("one"))
	for _, c := range []struct {
		name  string
		later []oxbow.Memory
		want  int
	}{
		{"of the user in another conversation count", []oxbow.Memory{said("b", 30, in("two")), said("c", 60, in("three"))}, 2},
		{"in the same conversation do not count", []oxbow.Memory{said("b", 30, in("one"))}, 0},
		{"count once for each conversation", []oxbow.Memory{said("b", 30, in("two")), said("c", 60, in("two"))}, 1},
		{"count once a day", []oxbow.Memory{said("b", 30, in("two")), said("c", 31, in("three"))}, 1},
		{"of anybody but the user do not count", []oxbow.Memory{
			said("b", 30, in("two"), from(oxbow.FromAssistant)), said("c", 60, from(oxbow.FromTool)), said("d", 90, from(oxbow.FromWeb))}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for order := range permutations(append([]oxbow.Memory{base}, c.later...)) {
				w := newWorld()
				for _, m := range c.later {
					w.verdicts = append(w.verdicts, oxbow.NewVerdict(base, m, oxbow.ConfirmsIt))
				}
				for _, m := range order {
					w.settle(t, m)
				}
				if got := w.memories["a"].Confirmations; got != c.want {
					t.Fatalf("%d count, want %d\n%s", got, c.want, w)
				}
			}
		})
	}

	t.Run("are counted by the days of the scope's zone", func(t *testing.T) {
		t.Parallel()
		b, c := said("b", 30, in("two")), said("c", 40, in("three")) // 15:00 and 01:00 UTC
		g := oxbow.Group{Members: []oxbow.Memory{base, b, c}, Verdicts: []oxbow.Verdict{
			oxbow.NewVerdict(base, b, oxbow.ConfirmsIt), oxbow.NewVerdict(base, c, oxbow.ConfirmsIt)}}
		for zone, want := range map[*time.Location]int{nil: 2, time.FixedZone("west", -6*3600): 1} {
			g.Zone = zone
			if got := oxbow.Settle(g)[0].New.Confirmations; got != want {
				t.Errorf("in %v %d count, want %d", zone, got, want)
			}
		}
	})
}

func TestSettleSynthesis(t *testing.T) {
	t.Parallel()
	w := newWorld()
	a, b := said("a", 0), said("b", 1)
	w.settle(t, a, b)
	whole := said("whole", 1)
	whole.ID, whole.Derived = "whole", true
	w.memories["whole"], _ = create(t, whole, w.policy)
	for _, id := range []string{"a", "b"} {
		by := "whole"
		w.apply(t, oxbow.Change{Type: oxbow.CompressedTo, Memory: id, Set: oxbow.Patch{ReplacedBy: &by}, Reason: "merged",
			Links: []oxbow.Link{{From: "whole", To: id, Type: oxbow.DerivedFrom}}})
	}

	t.Run("leaves what a synthesis merged away where it is", func(t *testing.T) {
		c := said("c", 5)
		w.verdicts = append(w.verdicts, oxbow.NewVerdict(a, c, oxbow.Contradicts), oxbow.NewVerdict(w.memories["whole"], c, oxbow.Contradicts))
		w.settle(t, c)
		if got := w.status("a", "b", "whole", "c"); got != "compressed>whole compressed>whole superseded>c active" {
			t.Errorf("they are %s", got)
		}
		if !w.links[oxbow.Link{From: "whole", To: "a", Type: oxbow.DerivedFrom}] {
			t.Error("the link to the merged memory is gone")
		}
	})
	t.Run("keeps the link to a part that was restored", func(t *testing.T) {
		w.apply(t, oxbow.Change{Type: oxbow.Restored, Memory: "b", Reason: "an operator wants it back"})
		w.settle(t)
		if got := w.status("b"); got != "active" || !w.links[oxbow.Link{From: "whole", To: "b", Type: oxbow.DerivedFrom}] {
			t.Errorf("it is %s", got)
		}
	})
}

// naming gives a memory one detail, which names a tool.
func naming(tool string, qualifiers ...string) func(*oxbow.Memory) {
	return func(m *oxbow.Memory) {
		m.Content.Details = []oxbow.Detail{{Subject: "user", Attribute: "use", Value: tool, Type: oxbow.ToolValue, Qualifiers: qualifiers}}
	}
}
