package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/history"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/llm/llmtest"
	"github.com/oxbow-memory/oxbow/llm/offline"
	"github.com/oxbow-memory/oxbow/llm/openai"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/store/postgres"
	"github.com/oxbow-memory/oxbow/store/sqlite"
)

// demoDay is the day on which the tests play the demo.
var demoDay = time.Date(2026, 11, 20, 21, 0, 0, 0, time.UTC)

// storyOf plays the bundled history on a database and gives what it printed.
func storyOf(t *testing.T, st store.Store, judge llm.Judge) string {
	t.Helper()
	ctx := t.Context()
	t.Cleanup(func() { _ = st.Close() })
	if err := st.Migrate(ctx); err != nil {
		t.Fatal(err)
	}
	turns, err := history.Turns(demoDay, "default")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	p, err := newPlayer(st, judge, "default", turns[0].At.Add(-time.Hour), &out)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.play(ctx, turns, demoDay); err != nil {
		t.Fatal(err)
	}
	if err := p.epilogue(ctx, settings{"db": {value: "x.db"}, "tenant": {value: "default", origin: "default"}}); err != nil {
		t.Fatal(err)
	}
	checkOutcome(t, ctx, p)
	return out.String()
}

// checkOutcome looks for the turns of the story that README promises.
func checkOutcome(t *testing.T, ctx context.Context, p *player) {
	t.Helper()
	all, err := p.st.ListMemories(ctx, store.MemoryFilter{Tenant: "default", Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	postgres, merged, bun := 0, 0, 0
	for _, m := range all {
		switch text := strings.ToLower(m.Content.Text); {
		case m.Status == oxbow.Superseded && strings.Contains(text, "postgres"):
			postgres++
		case m.Status == oxbow.Active && strings.Contains(text, "postgres") && !strings.Contains(text, "mysql"):
			t.Errorf("a note on PostgreSQL is still active: %s", m.ID)
		case m.Derived:
			merged++
		case m.Status == oxbow.Archived && strings.Contains(text, "bun"):
			bun++
		case m.Status == oxbow.Active && !m.ExpiresAt.IsZero() && m.ExpiresAt.Before(demoDay):
			t.Errorf("a passed deadline is still active: %s", m.ID)
		}
	}
	if postgres < 14 || merged == 0 || bun == 0 {
		t.Errorf("%d notes on PostgreSQL are superseded, %d memories merged, %d of Bun faded; want 14, 1 and 1 at least", postgres, merged, bun)
	}
	if found, err := p.engine.Doctor(ctx, true, nil); err != nil || len(found) > 0 {
		t.Errorf("the doctor found %v: %v", found, err)
	}
}

func TestDemo(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	file, err := sqlite.Open(ctx, sqlite.Config{Path: filepath.Join(t.TempDir(), "demo.db")})
	if err != nil {
		t.Fatal(err)
	}
	onSQLite := storyOf(t, file, offline.New())

	t.Run("answers by what is known now, and of the past by what was known then", func(t *testing.T) {
		_, now, _ := strings.Cut(onSQLite, "Is our main database PostgreSQL or MySQL? (recalled from project:atlas)\n")
		_, then, asked := strings.Cut(onSQLite, "Is our main database PostgreSQL or MySQL? (recalled from project:atlas, asked of 20 July 2026)\n")
		now, _, _ = strings.Cut(now, "Is our main")
		then, _, _ = strings.Cut(then, "[end of recalled memories]")
		if !strings.Contains(now, "from PostgreSQL to MySQL") || strings.Contains(now, "PostgreSQL 15") {
			t.Errorf("now: %s", now)
		}
		if !asked || !strings.Contains(then, "PostgreSQL 15") || strings.Contains(then, "to MySQL") {
			t.Errorf("then: %s", then)
		}
	})

	t.Run("is what README shows of it", func(t *testing.T) {
		readme, err := os.ReadFile("../../README.md")
		if err != nil {
			t.Fatal(err)
		}
		words := func(s string) string { return strings.Join(strings.Fields(s), " ") }
		said := words(onSQLite)
		blocks := strings.Split(string(readme), "```\n")
		shown := 0
		for _, block := range blocks {
			if !strings.Contains(block, "August 2026:") && !strings.Contains(block, "offline@1 kept it") && !strings.Contains(block, "(recalled from") {
				continue
			}
			for _, line := range strings.Split(regexp.MustCompile(`\n {6,}`).ReplaceAllString(block, " "), "\n") { // README wraps what is long
				if shown++; !strings.Contains(said, words(line)) {
					t.Errorf("the demo does not say %q", line)
				}
			}
		}
		if shown < 11 {
			t.Errorf("README shows %d lines of the demo", shown)
		}
	})

	t.Run("is the same lifecycle by a model that says what the rules say, over the wire", func(t *testing.T) {
		t.Parallel()
		model, err := openai.New(openai.Config{BaseURL: llmtest.Serve(t, offline.New()).URL(), Model: "small"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(model.Close)
		st, err := sqlite.Open(ctx, sqlite.Config{Path: filepath.Join(t.TempDir(), "model.db")})
		if err != nil {
			t.Fatal(err)
		}
		storyOf(t, st, cued{model})
		want, got := outcomeOf(t, file), outcomeOf(t, st)
		for _, line := range missing(want, got) {
			t.Errorf("only the rules end with %s", line)
		}
		for _, line := range missing(got, want) {
			t.Errorf("only the model ends with %s", line)
		}
	})
	t.Run("tells the same story on Postgres", func(t *testing.T) {
		t.Parallel()
		st, err := postgres.Open(ctx, postgres.Config{URL: pgtest.URL(t)})
		if err != nil {
			t.Fatal(err)
		}
		if onPostgres := storyOf(t, st, offline.New()); onPostgres != onSQLite {
			t.Errorf("the stories differ:\n%s\n%s", onSQLite, onPostgres)
		}
	})
}

// cued lets a model look for rivals by the words that the rules know, so that
// both are offered the same candidates.
type cued struct{ *openai.Judge }

// Cue implements llm.Cuer.
func (cued) Cue(s llm.Statement) string { return offline.New().Cue(s) }

// outcomeOf gives what is known in the end: each memory with all that judges
// decide about it.
func outcomeOf(t *testing.T, st store.Store) []string {
	t.Helper()
	all, err := st.ListMemories(t.Context(), store.MemoryFilter{Tenant: "default", Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range all {
		out = append(out, fmt.Sprintf("%s in %s: %s, %s %s/%s, rated %v (%v), confirmed %d times, ends %s, reviewed %s, replaced by %s: %s", m.ID, m.Scope.Name, m.Status,
			m.Kind, m.Slot, m.Key, m.Rating, m.Rated, m.Confirmations, m.ExpiresAt, m.ReviewAt, m.ReplacedBy, m.Content.Text))
	}
	return out
}

// missing gives the lines of a that b has not.
func missing(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(line string) bool { return slices.Contains(b, line) })
}
