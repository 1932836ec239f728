package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/internal/carry"
	demo "github.com/oxbow-memory/oxbow/internal/history"
	"github.com/oxbow-memory/oxbow/internal/lab"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/llm/offline"
	"github.com/oxbow-memory/oxbow/recall"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/worker"
)

// carrier is a database with the engine and the rules of the demo, at one instant.
type carrier struct {
	*testing.T
	db     *lab.DB
	engine *engine.Engine
	now    time.Time
	tenant string
}

// carryDay is the day on which the histories of these tests end.
var carryDay = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func carrying(t *testing.T, db *lab.DB) *carrier {
	t.Helper()
	c := &carrier{T: t, db: db, now: carryDay, tenant: "default"}
	c.engine = engine.New(engine.Config{Store: db, Judge: offline.New(), ReadDate: offline.ReadDate, ReadDetails: offline.ReadDetails,
		Embedder: offline.NewEmbedder(), Clock: func() time.Time { return c.now }})
	return c
}

func (c *carrier) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// play tells the demo's history turn by turn, with a worker that does every job.
func (c *carrier) play(turns int) {
	c.Helper()
	w := c.worker()
	told, err := demo.Turns(carryDay, c.tenant)
	c.must(err)
	step := max(1, len(told)/turns)
	for i, t := range told {
		if i%step > 0 && i < len(told)-10 {
			continue
		}
		c.now = t.At
		_, err := c.engine.Tick(c.Context())
		c.must(err)
		_, err = c.engine.Ingest(c.Context(), []oxbow.Turn{t})
		c.must(err)
		c.must(w.Drain(c.Context(), "", nil))
	}
	c.now = carryDay
	_, err = c.engine.Tick(c.Context())
	c.must(err)
	c.must(w.Drain(c.Context(), "", nil))
	c.must(w.Stop(context.WithoutCancel(c.Context())))
}

func (c *carrier) worker() *worker.Worker {
	c.Helper()
	w, err := worker.New(jobs.Deps{Store: c.db, Judge: offline.New(), Embedder: offline.NewEmbedder(), ReadDate: offline.ReadDate, ReadDetails: offline.ReadDetails,
		Clock: func() time.Time { return c.now }}, worker.Config{FetchCooldown: time.Millisecond, PollEvery: 5 * time.Millisecond})
	c.must(err)
	c.must(w.Start(c.Context()))
	return w
}

// drain works everything that waits.
func (c *carrier) drain() {
	c.Helper()
	w := c.worker()
	c.must(w.Drain(c.Context(), "", nil))
	c.must(w.Stop(context.WithoutCancel(c.Context())))
}

func (c *carrier) export(vectors bool, scopes ...string) []byte {
	c.Helper()
	var out bytes.Buffer
	_, err := c.engine.Export(c.Context(), &out, engine.ExportOrder{Tenant: c.tenant, Scopes: scopes, Vectors: vectors, Program: "test"})
	c.must(err)
	return out.Bytes()
}

// file gives a file that can be opened again and again.
func file(b []byte) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b)), nil }
}

func (c *carrier) imports(b []byte) engine.Imported {
	c.Helper()
	done, err := c.engine.Import(c.Context(), file(b), engine.ImportOrder{Tenant: c.tenant})
	c.must(err)
	for _, f := range done.Conflicts {
		c.Errorf("a conflict at %s: %s", f.ID, f.Text)
	}
	return done
}

// clean fails the test when the log does not replay.
func (c *carrier) clean() {
	c.Helper()
	found, err := c.engine.Doctor(c.Context(), true, nil)
	c.must(err)
	for _, f := range found {
		c.Errorf("the doctor says of %s: %s", f.Memory, f.Text)
	}
}

// body gives the lines of an export that must be equal wherever the memories are:
// all but the header, which says when and of what it was made.
func body(b []byte) []string {
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")[1:]
}

func (c *carrier) sameLines(what string, got, want []byte) {
	c.Helper()
	g, w := body(got), body(want)
	for i := range max(len(g), len(w)) {
		switch {
		case i >= len(g) || i >= len(w):
			c.Fatalf("%s: %d lines, want %d", what, len(g), len(w))
		case g[i] != w[i]:
			c.Fatalf("%s: line %d is\n%s\nand was\n%s", what, i+2, g[i], w[i])
		}
	}
}

// ask gives what recall would show an agent for a few questions, by every strategy.
func (c *carrier) ask() string {
	c.Helper()
	var out strings.Builder
	for _, scope := range []string{"user:dev", "project:atlas"} {
		s := oxbow.Scope{Tenant: c.tenant, Name: scope}
		for _, q := range []string{"which database do I use", "what is due this week", "how do I like my reviews", "deploy on friday"} {
			for _, strategy := range []string{"hybrid", "memories", "waterfall", "composite", "facts"} {
				a, err := c.engine.Recall(c.Context(), engine.Recall{Scope: s, Text: q, Strategy: strategy, Passive: true})
				c.must(err)
				out.WriteString(strategy + " " + q + "\n" + recall.Render(a, c.now, time.UTC))
			}
		}
	}
	return out.String()
}

func TestCarry(t *testing.T) {
	t.Parallel()
	t.Run("takes a history from SQLite to Postgres and back, line for line, and both answer alike", func(t *testing.T) {
		t.Parallel()
		from := carrying(t, lab.OpenSQLite(t))
		from.play(60)
		file1 := from.export(true)
		to := carrying(t, lab.OpenPostgres(t))
		done := to.imports(file1)
		if done.New[carry.KindMemory] == 0 || done.Checked == 0 {
			t.Fatalf("nothing was imported: %+v", done)
		}
		to.clean()
		file2 := to.export(true)
		to.sameLines("of Postgres", file2, file1)
		if got, want := to.ask(), from.ask(); got != want {
			t.Errorf("Postgres answers\n%s\nand SQLite\n%s", got, want)
		}
		back := carrying(t, lab.OpenSQLite(t))
		back.imports(file2)
		back.clean()
		back.sameLines("of SQLite", back.export(true), file1)
		var _ = []any{json.Marshal, slices.Sort[[]string], llm.Judge(nil), store.Changed}
	})
}
