package engine_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/internal/lab"
	"github.com/oxbow-memory/oxbow/store"
)

func TestRemember(t *testing.T) {
	tell(t,
		story{"refuses what cannot be a memory, and stores nothing of it", refusesBadStatements},
		story{"normalises what it stores", normalises},
		story{"fills in what was not said", fillsIn},
		story{"stores hostile text as text", hostileText},
		story{"counts the secrets that it takes out", countsSecrets},
		story{"has its jobs done by the worker", jobsDone},
	)
}

func refusesBadStatements(b *bench) {
	ok := engine.Statement{Text: "tea: green"}
	for name, change := range map[string]func(*engine.Statement){
		"an empty text":           func(s *engine.Statement) { s.Text = "" },
		"a text of white space":   func(s *engine.Statement) { s.Text = " \n\t\x00 " },
		"a text over 64 KiB":      func(s *engine.Statement) { s.Text = strings.Repeat("x", 64<<10+1) },
		"a kind that is none":     func(s *engine.Statement) { s.Kind = "gossip" },
		"a slot that is none":     func(s *engine.Statement) { s.Slot = "world" },
		"a source that is none":   func(s *engine.Statement) { s.Source = "rumour" },
		"an importance over ten":  func(s *engine.Statement) { s.Importance = new(11.0) },
		"a negative importance":   func(s *engine.Statement) { s.Importance = new(-1.0) },
		"a fact without a key":    func(s *engine.Statement) { s.Kind = oxbow.Fact },
		"a key of signs":          func(s *engine.Statement) { s.Key = "—" },
		"a key for another kind":  func(s *engine.Statement) { s.Kind, s.Key = oxbow.Episodic, "k" },
		"a date in its past":      func(s *engine.Statement) { s.ExpiresAt = lab.Start.Add(-time.Hour) },
		"a statement ahead":       func(s *engine.Statement) { s.SaidAt = lab.Start.Add(25 * time.Hour) },
		"a scope without a name":  func(s *engine.Statement) { s.Scope = oxbow.Scope{Tenant: b.tenant(), Name: " "} },
		"a scope with a new line": func(s *engine.Statement) { s.Scope = oxbow.Scope{Tenant: b.tenant(), Name: "a\nb"} },
		"a tenant without a name": func(s *engine.Statement) { s.Scope = oxbow.Scope{Name: "a"} },
	} {
		s := ok
		change(&s)
		code(b, name, b.remember(s), oxbow.CodeInvalid)
	}
	scopes, err := b.DB.ListScopes(b.Ctx, b.tenant())
	b.Must(err)
	equal(b, "the scopes", len(scopes), 0)
	code(b, "a text of exactly 64 KiB", b.remember(engine.Statement{Text: strings.Repeat("x", 64<<10)}), "")
	code(b, "a clock that runs ahead a little", b.remember(engine.Statement{Text: "x", SaidAt: lab.Start.Add(23 * time.Hour)}), "")
	noNumber := math.NaN()
	code(b, "an importance that is no number", b.remember(engine.Statement{Text: "x", Importance: &noNumber}), oxbow.CodeInvalid)
}

func normalises(b *bench) {
	m := b.Remember(lab.Statement{Text: " cafe\u0301 \x00\xff\r\nnew ", Slot: "user", Key: " My Café! ", Tags: []string{"B", "a", "b"}})
	equal(b, "the text", m.Content.Text, "café \uFFFD\nnew")
	equal(b, "the key", m.Key, "my_café")
	equal(b, "the tags", strings.Join(m.Content.Tags, ","), "a,b")
	b.Clean()
}

func countsSecrets(b *bench) {
	const pass, key = "password=correcthorse9", "AKIAIOSFODNN7EXAMPLE"
	w, err := b.Engine.Remember(b.Ctx, engine.Statement{Scope: b.Bench.Scope, Text: "tea: " + pass, Summary: pass, Tags: []string{key, "[redacted: token]"}})
	b.Must(err)
	equal(b, "of a write", w.Redacted, 3)
	text := "tea: " + key
	w, err = b.Engine.Edit(b.Ctx, b.tenant(), w.Memory.ID, engine.Change{Text: &text, Tags: []string{pass}})
	b.Must(err)
	equal(b, "of an edit", w.Redacted, 2)
	w, err = b.Engine.Archive(b.Ctx, b.tenant(), w.Memory.ID)
	b.Must(err)
	equal(b, "of what says no words", w.Redacted, 0)
	if dump := strings.ToLower(b.DB.Dump(b)); strings.Contains(dump, "correcthorse") || strings.Contains(dump, "akiaiosf") {
		b.Error("a secret is in the database")
	}
}

func fillsIn(b *bench) {
	m := b.Remember(lab.Statement{Text: "tea: green"})
	equal(b, "the kind", m.Kind, oxbow.Semantic)
	equal(b, "the importance", m.Importance, 5)
	equal(b, "the source", m.Source, oxbow.FromUser)
	equal(b, "said at", m.SaidAt, lab.Start)
	equal(b, "the rating", m.Rating, 1)
	equal(b, "fades", m.FadesAt.IsZero(), false)
	f := b.Remember(lab.Statement{Text: "Oslo", Key: "city"})
	equal(b, "the slot of a key alone", f.Slot, "user")
	equal(b, "the kind of a key", f.Kind, oxbow.Fact)
}

func hostileText(b *bench) {
	for _, text := range []string{`'; DROP TABLE memories; --`, `" OR NEAR(a b) *`, "<script>alert(1)</script>", "\x1b[31mred\x1b[0m", "abc\u202edef", "%s %d \\", "c1"} {
		m := b.Remember(lab.Statement{Text: text, Tags: []string{text}})
		equal(b, "the text", m.Content.Text, text)
	}
	b.drain()
	for _, m := range b.All() {
		s, err := b.Engine.Why(b.Ctx, b.tenant(), m.ID)
		b.Must(err)
		for _, line := range s.Now {
			if strings.ContainsAny(line, "\x1b\u202e") {
				b.Errorf("a story prints %q", line)
			}
		}
	}
	b.Clean()
}

func jobsDone(b *bench) {
	b.Remember(lab.Statement{Text: "tea: green", SaidAt: at(1)})
	b.Remember(lab.Statement{Text: "tea: black", SaidAt: at(2)})
	b.drain()
	equal(b, "the end", strings.Join(b.Texts(), ", "), "superseded tea: green, active tea: black")
	n, err := b.DB.PendingJobs(b.Ctx, "", "")
	b.Must(err)
	equal(b, "the jobs left", n, 0)
}

func TestIngest(t *testing.T) {
	tell(t,
		story{"refuses what cannot be a turn, and stores nothing of the call", refusesBadTurns},
		story{"stores the same lines once", sameLines},
		story{"stores the same id once, whatever it says", sameID},
		story{"normalises and redacts before anything is stored", cleansTurns},
		story{"keeps scopes apart", scopesApart},
		story{"counts no turn whose commit failed", losesCommit},
	)
}

func refusesBadTurns(b *bench) {
	ok := oxbow.Turn{Scope: b.Bench.Scope, User: "tea: green", At: at(1)}
	for name, change := range map[string]func(*oxbow.Turn){
		"an empty turn":          func(t *oxbow.Turn) { t.User = "" },
		"a turn of a name alone": func(t *oxbow.Turn) { t.User, t.Conversation = " ", "c" },
		"a text over 64 KiB":     func(t *oxbow.Turn) { t.Assistant = strings.Repeat("x", 64<<10+1) },
		"a part over 64 KiB": func(t *oxbow.Turn) {
			t.Parts = []oxbow.Part{{Source: oxbow.FromWeb, Text: strings.Repeat("x", 64<<10+1)}}
		},
		"no time":                    func(t *oxbow.Turn) { t.At = time.Time{} },
		"a time before 1970":         func(t *oxbow.Turn) { t.At = time.Date(1969, 1, 1, 0, 0, 0, 0, time.UTC) },
		"a time ahead":               func(t *oxbow.Turn) { t.At = lab.Start.Add(25 * time.Hour) },
		"a part said by the user":    func(t *oxbow.Turn) { t.Parts = []oxbow.Part{{Source: oxbow.FromUser, Text: "x"}} },
		"a part without a source":    func(t *oxbow.Turn) { t.Parts = []oxbow.Part{{Text: "x"}} },
		"a scope that is no name":    func(t *oxbow.Turn) { t.Scope.Name = "" },
		"a scope longer than a name": func(t *oxbow.Turn) { t.Scope.Name = strings.Repeat("x", 129) },
	} {
		bad := ok
		change(&bad)
		_, err := b.Engine.Ingest(b.Ctx, []oxbow.Turn{ok, bad})
		code(b, name, err, oxbow.CodeInvalid)
	}
	ts, err := b.DB.ListTurns(b.Ctx, store.TurnFilter{Tenant: b.tenant(), Limit: 10})
	b.Must(err)
	equal(b, "the turns", len(ts), 0)
}

func sameLines(b *bench) {
	turns := []oxbow.Turn{{Scope: b.Bench.Scope, Conversation: "c", User: "tea: green", At: at(1)}, {Scope: b.Bench.Scope, Conversation: "c", Assistant: "tea: noted", At: at(1)},
		{Scope: b.Bench.Scope, Conversation: "c", User: "tea: green", At: at(1)}}
	done, err := b.Engine.Ingest(b.Ctx, turns)
	b.Must(err)
	equal(b, "the first time, new", done.New, 2)
	equal(b, "the first time, known", done.Known, 1)
	equal(b, "the ids of the new ones", len(done.Added), 2)
	b.drain()
	before := b.State()
	done, err = b.Engine.Ingest(b.Ctx, turns)
	b.Must(err)
	equal(b, "the second time, known", done.Known, 3)
	equal(b, "the second time, new", done.New+len(done.Added), 0)
	equal(b, "known with other words", done.Other, 0)
	b.drain()
	if d := lab.Differ(before, b.State()); d != "" {
		b.Errorf("the second time changed:\n%s", d)
	}
	equal(b, "the questions", b.Judge.Calls("extract"), 2)
	named := oxbow.Turn{ID: "t-1", Scope: b.Bench.Scope, Conversation: "c", User: "coffee: black", At: at(2)}
	_, err = b.Engine.Ingest(b.Ctx, []oxbow.Turn{named})
	b.Must(err)
	named.User = "coffee: white"
	done, err = b.Engine.Ingest(b.Ctx, []oxbow.Turn{named})
	b.Must(err)
	equal(b, "an id with other words", done.Other, 1)
	b.drain()
}

func sameID(b *bench) {
	b.Ingest(oxbow.Turn{ID: "line-7", User: "tea: green", At: at(1)})
	done, err := b.Engine.Ingest(b.Ctx, []oxbow.Turn{{ID: "line-7", Scope: b.Bench.Scope, User: "tea: other words", At: at(2)}})
	b.Must(err)
	equal(b, "the second one, new", done.New, 0)
	equal(b, "the second one, known", done.Known, 1)
	done, err = b.Engine.Ingest(b.Ctx, []oxbow.Turn{{ID: "line-7", Scope: oxbow.Scope{Tenant: b.tenant(), Name: "user:bob"}, User: "tea: mine", At: at(2)}})
	b.Must(err)
	equal(b, "the same id in another scope, new", done.New, 1)
	equal(b, "the same id in another scope, known", done.Known, 0)
	b.drain()
	equal(b, "what is known", strings.Join(b.Texts(), ", "), "active tea: green")
}

func cleansTurns(b *bench) {
	const secret = "AKIAIOSFODNN7EXAMPLE"
	done, err := b.Engine.Ingest(b.Ctx, []oxbow.Turn{{Scope: b.Bench.Scope, User: "the key is " + secret + "\x00\xff", Assistant: "ok\r\nthen", At: at(1).Add(1234567 * time.Nanosecond)}})
	b.Must(err)
	equal(b, "the secrets", done.Redacted, 1)
	ts, err := b.DB.ListTurns(b.Ctx, store.TurnFilter{Tenant: b.tenant(), Limit: 10})
	b.Must(err)
	turn, err := b.DB.Turn(b.Ctx, b.tenant(), ts[0].ID)
	b.Must(err)
	equal(b, "the user's side", turn.User, "the key is [redacted: access key]\uFFFD")
	equal(b, "the assistant's side", turn.Assistant, "ok\nthen")
	equal(b, "the instant", turn.At, at(1).Add(time.Millisecond))
	if strings.Contains(b.DB.Dump(b), secret) {
		b.Error("the secret is in the database")
	}
}

func scopesApart(b *bench) {
	bob := oxbow.Scope{Tenant: b.tenant(), Name: "user:bob"}
	b.Ingest(oxbow.Turn{User: "tea: green", At: at(1)}, oxbow.Turn{Scope: bob, User: "tea: black", At: at(2)})
	b.drain()
	equal(b, "ada's", strings.Join(b.Texts(), ", "), "active tea: green")
	b.Bench.Scope = bob
	equal(b, "bob's", strings.Join(b.Texts(), ", "), "active tea: black")
}
