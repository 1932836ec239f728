package engine_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/llm/offline"
	"github.com/oxbow-memory/oxbow/store/sqlite"
	"github.com/oxbow-memory/oxbow/worker"
)

func TestSmoke(t *testing.T) {
	ctx := context.Background()
	st, err := sqlite.Open(ctx, sqlite.Config{Path: filepath.Join(t.TempDir(), "a.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if err := st.Migrate(ctx); err != nil {
		t.Fatal(err)
	}
	judge := offline.New()
	e := engine.New(engine.Config{Store: st, Judge: judge})
	w, err := worker.New(jobs.Deps{Store: st, Judge: judge}, worker.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Start(ctx); err != nil {
		t.Fatal(err)
	}
	sc := oxbow.Scope{Tenant: "default", Name: "user:dev"}
	t0 := time.Now()
	for _, s := range []string{"We use PostgreSQL for the main database", "We migrated the main database from PostgreSQL to MySQL", "We migrated the main database from PostgreSQL to MySQL"} {
		wr, err := e.Remember(ctx, engine.Statement{Scope: sc, Text: s})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Drain(ctx, wr.Run, nil); err != nil {
			t.Fatal(err)
		}
		t.Log(time.Since(t0))
	}
	_, err = e.Ingest(ctx, []oxbow.Turn{{Scope: sc, Conversation: "c", User: "My timezone is Europe/Stockholm. I prefer short function names.", At: time.Now().Add(-time.Hour)}})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Drain(ctx, "", nil); err != nil {
		t.Fatal(err)
	}
	t.Log(time.Since(t0))
	ms, _ := st.AllMemories(ctx, sc, "", 100)
	for _, m := range ms {
		story, err := e.Why(ctx, "default", m.ID)
		if err != nil {
			t.Fatal(err)
		}
		t.Log(m.ID, m.Status, m.Slot, m.Key, m.Content.Text)
		for _, l := range story.Lines {
			t.Log("   ", l.Text)
		}
		for _, l := range story.Now {
			t.Log("   =", l)
		}
	}
	stt, err := e.Status(ctx, oxbow.Scope{Tenant: "default"})
	t.Logf("%+v %v", stt, err)
	f, err := e.Doctor(ctx, true, nil)
	t.Log(f, err)
	gone, _ := st.ListDiscarded(ctx, "default", 10)
	t.Logf("%+v", gone)
	if err := w.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	t.Log(time.Since(t0))
}
