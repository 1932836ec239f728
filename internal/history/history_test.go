package history_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/history"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/llm/offline"
)

// story is the history, played against the offline judge in process: every turn
// read, every pair of memories of a scope judged, all settled.
type story struct {
	turns    []oxbow.Turn
	memories []oxbow.Memory // as settled, in the order in which they were said
	links    []oxbow.Link
	none     map[string]int // turns that were worth nothing, by reason
}

var today = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

func play(t *testing.T, today time.Time) *story {
	t.Helper()
	turns, err := history.Turns(today, "default")
	if err != nil {
		t.Fatal(err)
	}
	st := &story{turns: turns, none: map[string]int{}}
	j := offline.New()
	groups := map[string]*oxbow.Group{}
	var scopes []string
	for _, turn := range turns {
		g := groups[turn.Scope.Name]
		if g == nil {
			g = &oxbow.Group{}
			groups[turn.Scope.Name] = g
			scopes = append(scopes, turn.Scope.Name)
		}
		st.read(t, j, g, turn)
	}
	for _, name := range scopes {
		st.settle(t, *groups[name])
	}
	slices.SortFunc(st.memories, func(a, b oxbow.Memory) int { return a.SaidAt.Compare(b.SaidAt) })
	return st
}

// read extracts one turn and judges what it brings against what was known.
func (st *story) read(t *testing.T, j *offline.Judge, g *oxbow.Group, turn oxbow.Turn) {
	t.Helper()
	ctx := context.Background()
	user, _ := text.Redact(turn.User)
	tt := llm.TurnText{User: user, Assistant: turn.Assistant, At: turn.At}
	x, err := j.Extract(ctx, tt)
	if err != nil {
		t.Fatal(err)
	}
	if len(x.Drafts) == 0 {
		st.none[x.Reason]++
	}
	for _, d := range x.Drafts {
		m := st.memory(t, j, tt, turn, d)
		s := statement("new", m)
		for _, old := range g.Members {
			st.judge(t, j, g, s, m, old)
		}
		g.Members = append(g.Members, m)
	}
}

func (st *story) memory(t *testing.T, j *offline.Judge, tt llm.TurnText, turn oxbow.Turn, d llm.Draft) oxbow.Memory {
	t.Helper()
	source := oxbow.FromUser
	if !strings.Contains(tt.User, d.Quote) {
		source = oxbow.FromAssistant
	}
	m := oxbow.Memory{
		ID: oxbow.NewID("memory", turn.ID, d.Text), Scope: turn.Scope, Status: oxbow.Active, Kind: d.Kind,
		Slot: d.Slot, Key: d.Key, Content: oxbow.Content{Text: d.Text, Summary: d.Summary, Tags: d.Tags},
		Importance: d.Importance, Rated: true, Source: source, SaidAt: turn.At, Turn: turn.ID, Conversation: turn.Conversation,
	}
	r, err := j.Confidence(context.Background(), d.Text, tt)
	if err != nil {
		t.Fatal(err)
	}
	m.Rating = r.Confidence
	e, err := j.Expiry(context.Background(), statement("new", m), time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	m.ExpiresAt = e.Date
	if e.Event {
		m.ReviewAt = turn.At.AddDate(0, 0, 30)
	}
	return oxbow.DefaultPolicy().Derive(m)
}

func (st *story) judge(t *testing.T, j *offline.Judge, g *oxbow.Group, s llm.Statement, m, old oxbow.Memory) {
	t.Helper()
	switch {
	case text.Same(m.Content.Text, old.Content.Text):
		g.Verdicts = append(g.Verdicts, oxbow.NewVerdict(m, old, oxbow.Equal))
		return
	case oxbow.SameAddress(m, old):
		g.Verdicts = append(g.Verdicts, oxbow.NewVerdict(m, old, oxbow.Replaces))
		return
	}
	rs, err := j.Relate(context.Background(), s, []llm.Statement{statement("c1", old)})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rs {
		g.Verdicts = append(g.Verdicts, oxbow.NewVerdict(m, old, r.Relation))
	}
}

func (st *story) settle(t *testing.T, g oxbow.Group) {
	t.Helper()
	for _, c := range oxbow.Settle(g) {
		st.links = append(st.links, c.Links...)
		if c.New != nil {
			st.memories = append(st.memories, *c.New)
		}
	}
}

func statement(label string, m oxbow.Memory) llm.Statement {
	return llm.Statement{Label: label, Text: m.Content.Text, Kind: m.Kind, Key: m.Key, Source: m.Source, SaidAt: m.SaidAt}
}

// find gives the memories of a scope whose text holds all the words.
func (st *story) find(scope string, words ...string) []oxbow.Memory {
	var out []oxbow.Memory
	for _, m := range st.memories {
		ok := m.Scope.Name == scope
		for _, w := range words {
			ok = ok && strings.Contains(m.Content.Text, w)
		}
		if ok {
			out = append(out, m)
		}
	}
	return out
}

// one gives the only memory of a scope with the words.
func (st *story) one(t *testing.T, scope string, words ...string) oxbow.Memory {
	t.Helper()
	ms := st.find(scope, words...)
	if len(ms) != 1 {
		t.Fatalf("%s: %d memories with %q, want 1", scope, len(ms), words)
	}
	return ms[0]
}

func (st *story) byID(id string) oxbow.Memory {
	i := slices.IndexFunc(st.memories, func(m oxbow.Memory) bool { return m.ID == id })
	if i < 0 {
		return oxbow.Memory{}
	}
	return st.memories[i]
}

func TestTurns(t *testing.T) {
	t.Parallel()
	turns, err := history.Turns(today, "default")
	if err != nil {
		t.Fatal(err)
	}
	if len(turns) < 130 {
		t.Errorf("%d turns, want at least 130", len(turns))
	}
	ids := map[string]bool{}
	for i, u := range turns {
		if ids[u.ID] {
			t.Errorf("two turns have the id %s", u.ID)
		}
		ids[u.ID] = true
		if u.At.After(today) || u.At.Before(today.AddDate(0, 0, -184)) || u.At.Location() != time.UTC {
			t.Errorf("turn %d is of %s", i, u.At)
		}
		if i > 0 && !u.At.After(turns[i-1].At) {
			t.Errorf("turn %d of %s is not after the one before it", i, u.At)
		}
	}
	t.Run("the same day gives the same turns, whatever the hour", func(t *testing.T) {
		t.Parallel()
		again, err := history.Turns(today.Add(5*time.Hour), "default")
		if err != nil {
			t.Fatal(err)
		}
		for i := range turns {
			if again[i].ID != turns[i].ID || again[i].User != turns[i].User {
				t.Fatalf("turn %d differs", i)
			}
		}
	})
	t.Run("another tenant has other ids", func(t *testing.T) {
		t.Parallel()
		other, err := history.Turns(today, "other")
		if err != nil {
			t.Fatal(err)
		}
		if ids[other[0].ID] || other[0].Scope.Tenant != "other" {
			t.Errorf("tenant %s, id %s", other[0].Scope.Tenant, other[0].ID)
		}
	})
	t.Run("days are filled in", func(t *testing.T) {
		t.Parallel()
		for _, u := range turns {
			if strings.ContainsAny(u.User+u.Assistant, "{}") {
				t.Errorf("a day was not filled in: %s", u.User)
			}
		}
	})
}

// TestStory plays the history on several days of the year, because its dates
// move with today, and looks at what a person would look at.
func TestStory(t *testing.T) {
	t.Parallel()
	for _, day := range []time.Time{
		today, time.Date(2026, 11, 21, 0, 1, 0, 0, time.UTC), time.Date(2027, 1, 3, 9, 0, 0, 0, time.UTC), time.Date(2027, 2, 28, 9, 0, 0, 0, time.UTC),
		time.Date(2027, 4, 30, 9, 0, 0, 0, time.UTC), time.Date(2027, 6, 1, 23, 59, 0, 0, time.UTC), time.Date(2028, 2, 29, 9, 0, 0, 0, time.UTC), time.Date(2027, 9, 15, 9, 0, 0, 0, time.UTC),
	} {
		t.Run("told on "+day.Format(time.DateOnly), func(t *testing.T) {
			t.Parallel()
			st := play(t, day)
			st.log(t)
			counts(t, st)
			databases(t, st)
			replacements(t, st)
			plans(t, st)
			endings(t, st)
			fiveWays(t, st)
		})
	}
}

// log shows with -v what replaced what, for a person to read.
func (st *story) log(t *testing.T) {
	for _, l := range st.links {
		t.Logf("%s: %q <- %q", l.Type, st.byID(l.To).Content.Text, st.byID(l.From).Content.Text)
	}
	t.Logf("%d turns, %d memories, nothing kept: %v", len(st.turns), len(st.memories), st.none)
}

func counts(t *testing.T, st *story) {
	t.Helper()
	superseded := 0
	for _, l := range st.links {
		if l.Type != oxbow.Supersedes {
			continue
		}
		superseded++
		// What has faded before it is replaced would be archived in the demo,
		// and its replacement would have nothing to replace.
		if old, newer := st.byID(l.To), st.byID(l.From); !old.FadesAt.After(newer.SaidAt) {
			t.Errorf("%q had faded before it was replaced", old.Content.Text)
		}
	}
	if len(st.memories) < 100 || superseded < 20 {
		t.Errorf("%d memories and %d replaced, want at least 100 and 20", len(st.memories), superseded)
	}
	if st.none["a greeting"] == 0 || st.none["a question"] == 0 || st.none["small talk"] == 0 || st.none["a secret was taken out"] != 1 {
		t.Errorf("too little is left out: %v", st.none)
	}
	for _, m := range st.memories {
		if strings.Contains(m.Content.Text, "KEY0") {
			t.Errorf("the secret was kept: %s", m.Content.Text)
		}
	}
}

// databases: fourteen notes on PostgreSQL, and one casual sentence.
func databases(t *testing.T, st *story) {
	t.Helper()
	change := st.one(t, "project:atlas", "off Postgres")
	notes := 0
	for _, m := range st.memories {
		if m.ID == change.ID || !slices.Contains(m.Content.Tags, "postgresql") {
			continue
		}
		notes++
		if m.Status != oxbow.Superseded || m.ReplacedBy != change.ID {
			t.Errorf("%q is %s, replaced by %q", m.Content.Text, m.Status, st.byID(m.ReplacedBy).Content.Text)
		}
	}
	if notes != 14 {
		t.Errorf("%d notes on PostgreSQL, want fourteen", notes)
	}
}

// replacements: every one that a reader expects, and no other.
func replacements(t *testing.T, st *story) {
	t.Helper()
	want := [][3]string{ // scope, words of the older, words of the newer
		{"user:dev", "Europe/Berlin", "Europe/Lisbon"},
		{"user:dev", "lives in Berlin", "lives in Lisbon"},
		{"user:dev", "VS Code with", "switched from VS Code"},
		{"user:dev", "I prefer rebase", "I prefer merge commits"},
		{"project:atlas", "manage our Python dependencies", "uv instead of Poetry"},
		{"project:atlas", "installs Poetry", "uv instead of Poetry"},
		{"project:atlas", "run Poetry lock", "uv instead of Poetry"},
		{"project:atlas", "beta deadline is", "beta deadline got pushed"},
		{"project:atlas", "Standup is at 9:30", "Standup moved to 10:00"},
		{"project:atlas", "runs on Jenkins", "from Jenkins to GitHub Actions"},
		{"project:atlas", "Python 3.11", "Python 3.13"},
		{"project:atlas", "blocked on Tomas", "Tomas sent"},
		{"project:atlas", "release is planned", "release got pushed"},
		{"project:atlas", "set to 100 requests", "from 100 to 250"},
		{"project:atlas", "Waiting for Priya", "Priya approved"},
		{"project:website", "waiting for Noor", "Noor sent"},
		{"project:website", "launch is on", "launch moved"},
		{"project:website", "on Netlify", "to Cloudflare Pages"},
	}
	for _, w := range want {
		old, newer := st.one(t, w[0], w[1]), st.one(t, w[0], w[2])
		if old.Status != oxbow.Superseded || old.ReplacedBy != newer.ID {
			t.Errorf("%q is %s and not replaced by %q", old.Content.Text, old.Status, newer.Content.Text)
		}
	}
	replaced := 0
	for _, m := range st.memories {
		if m.Status == oxbow.Superseded {
			replaced++
		}
	}
	if all := len(want) + 14; replaced != all {
		t.Errorf("%d memories are replaced, want %d", replaced, all)
	}
	again := st.find("project:atlas", "squash every pull request")
	if len(again) != 2 || again[1].Status != oxbow.Compressed || again[0].Confirmations != 1 {
		t.Errorf("the rule that was told twice is not one: %v", again)
	}
	if m := st.one(t, "project:atlas", "We use Grafana and Prometheus"); m.Confirmations != 1 {
		t.Errorf("monitoring was not confirmed")
	}
}

// plans: what was only thought of touches nothing and fades by itself.
func plans(t *testing.T, st *story) {
	t.Helper()
	last := st.turns[len(st.turns)-1].At
	thoughts := append(st.find("project:website", "Bun"), st.one(t, "project:atlas", "CockroachDB"), st.one(t, "user:dev", "Zed"), st.one(t, "project:website", "Astro"))
	if len(thoughts) != 5 {
		t.Errorf("%d thoughts, want 5", len(thoughts))
	}
	for _, m := range thoughts {
		if m.Status != oxbow.Active || m.Kind != oxbow.Episodic {
			t.Errorf("%q is %s and %s", m.Content.Text, m.Status, m.Kind)
		}
		for _, l := range st.links {
			if l.From == m.ID || l.To == m.ID {
				t.Errorf("%q has a link %s", m.Content.Text, l.Type)
			}
		}
		if strings.Contains(m.Content.Text, "Bun") && !m.FadesAt.Before(last) {
			t.Errorf("%q has not faded by itself", m.Content.Text)
		}
	}
}

// endings: deadlines pass on their day, waiting gets a review, rules never end.
func endings(t *testing.T, st *story) {
	t.Helper()
	for words, days := range map[string]int{
		"beta deadline is": 45, "beta deadline got pushed": 30, "out of office": 5, "launch announcement": 5, "on call until": 7, "visiting my sister": 3, "Mira is on vacation": 9,
	} {
		for _, m := range st.memories {
			if !strings.Contains(m.Content.Text, words) {
				continue
			}
			if got := m.ExpiresAt.Format(time.DateOnly); got != m.SaidAt.AddDate(0, 0, days).Format(time.DateOnly) {
				t.Errorf("%q said on %s ends on %s", m.Content.Text, m.SaidAt.Format(time.DateOnly), got)
			}
		}
	}
	for _, m := range st.memories {
		if m.Kind != oxbow.Episodic && !m.ExpiresAt.IsZero() {
			t.Errorf("%q is %s and ends", m.Content.Text, m.Kind)
		}
		if strings.HasPrefix(m.Content.Text, "Waiting for") && m.ReviewAt.IsZero() {
			t.Errorf("%q gets no review", m.Content.Text)
		}
	}
}

// fiveWays: the one preference said five ways is one group, and the only one.
func fiveWays(t *testing.T, st *story) {
	t.Helper()
	j := offline.New()
	total := 0
	for _, scope := range []string{"user:dev", "project:atlas", "project:website", "agent"} {
		var items []llm.Statement
		for _, m := range st.memories {
			if m.Scope.Name == scope && m.Status == oxbow.Active && !m.IsFact() {
				items = append(items, statement(m.ID, m))
			}
		}
		groups, err := j.Cluster(context.Background(), items)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range groups {
			total++
			var members []llm.Statement
			for _, it := range items {
				if slices.Contains(g, it.Label) {
					members = append(members, it)
				}
			}
			if scope == "user:dev" {
				merged(t, j, members)
			}
			for _, m := range members {
				t.Logf("%s, group %d: %s", scope, total, m.Text)
			}
		}
	}
	if total < 1 || total > 3 {
		t.Errorf("%d groups", total)
	}
}

func merged(t *testing.T, j *offline.Judge, members []llm.Statement) {
	t.Helper()
	if len(members) != 5 {
		t.Errorf("%d members, want the five ways", len(members))
	}
	s, err := j.Synthesize(context.Background(), members)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("merged: %s", s.Text)
	for _, w := range []string{"30", "never abbreviated", "nothing clever", "plain"} {
		if !strings.Contains(s.Text, w) {
			t.Errorf("the merged text lost %q: %s", w, s.Text)
		}
	}
}
