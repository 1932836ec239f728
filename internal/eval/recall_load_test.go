package eval_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/eval"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/llm/offline"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/store/postgres"
	"github.com/oxbow-memory/oxbow/store/sqlite"
)

// onBoth runs a test on a fresh store of either database.
func onBoth(t *testing.T, test func(t *testing.T, st store.Store)) {
	t.Helper()
	t.Run("on SQLite", func(t *testing.T) {
		t.Parallel()
		test(t, openSQLite(t))
	})
	t.Run("on Postgres", func(t *testing.T) {
		t.Parallel()
		test(t, openPostgres(t))
	})
}

func openSQLite(t *testing.T) store.Store {
	t.Helper()
	st, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "eval.db")})
	return migrated(t, st, err)
}

func openPostgres(t *testing.T) store.Store {
	t.Helper()
	st, err := postgres.Open(t.Context(), postgres.Config{URL: pgtest.URL(t)})
	return migrated(t, st, err)
}

func migrated(t *testing.T, st store.Store, err error) store.Store {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	if err := st.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return st
}

func TestLoad(t *testing.T) {
	t.Parallel()
	begin := time.Date(2023, 1, 5, 8, 0, 0, 0, time.UTC)
	s := eval.RecallStore{ID: "s"}
	for i := range 1203 {
		who := []string{"user", "assistant", "Ada"}[i%3]
		s.Memories = append(s.Memories, eval.RecallMemory{ID: fmt.Sprint(i), Conversation: "c", At: begin.AddDate(0, 0, i/3), Speaker: who, Content: fmt.Sprintf("the %dth thing", i)})
	}
	s.Memories[5].Content = " \x00 "
	s.Memories[6].Content = strings.Repeat("é", text.MaxBytes)
	scope := oxbow.Scope{Tenant: "default", Name: "eval/1"}

	onBoth(t, func(t *testing.T, st store.Store) {
		told := 0
		got, err := eval.Load(t.Context(), st, scope, s, eval.Loading{Embedder: offline.NewEmbedder(), Progress: func(n int) { told = n }})
		if err != nil {
			t.Fatal(err)
		}
		if got.Left != 1 || got.Cut != 1 || told != 1202 || len(got.IDs) != 1202 || !got.Now.Equal(begin.AddDate(0, 0, 401)) {
			t.Errorf("left %d, cut %d, told %d, now %v", got.Left, got.Cut, told, got.Now)
		}
		ms, err := st.Memories(t.Context(), scope.Tenant, got.IDs)
		if err != nil || len(ms) != 1202 {
			t.Fatalf("%d memories, error %v", len(ms), err)
		}
		for i, m := range ms {
			if i > 0 && !ms[i-1].SaidAt.Before(m.SaidAt) {
				t.Fatalf("memory %s is not said after the one before it in the file", got.Names[m.ID])
			}
			if m.Status != oxbow.Active || !m.FadesAt.After(got.Now.AddDate(50, 0, 0)) || m.Version != 1 || m.Conversation != "c" {
				t.Fatalf("%+v", m)
			}
		}
		if ms[0].Source != oxbow.FromUser || ms[1].Source != oxbow.FromAssistant || ms[2].Source != oxbow.FromUser {
			t.Errorf("the sources are %s, %s and %s", ms[0].Source, ms[1].Source, ms[2].Source)
		}
		if ms[1].Content.Speaker != "" || ms[2].Content.Speaker != "Ada" {
			t.Errorf("the speakers are %q and %q", ms[1].Content.Speaker, ms[2].Content.Speaker)
		}
		if with, without, err := st.CountVectors(t.Context(), scope, offline.NewEmbedder().ID()); err != nil || with != 1202 || without != 0 {
			t.Errorf("%d with a vector, %d without, error %v", with, without, err)
		}
		if n := len(ms[5].Content.Text); n > text.MaxBytes || n < text.MaxBytes-4 {
			t.Errorf("the long one has %d bytes", n)
		}
		if found, err := st.Check(t.Context()); err != nil || len(found) > 0 {
			t.Errorf("%v, error %v", found, err)
		}
	})

	t.Run("makes facts of them where that is asked", func(t *testing.T) {
		t.Parallel()
		st := openSQLite(t)
		got, err := eval.Load(t.Context(), st, scope, eval.RecallStore{ID: "s", Memories: s.Memories[:3]}, eval.Loading{Facts: true})
		if err != nil {
			t.Fatal(err)
		}
		slots, err := st.Slots(t.Context(), scope)
		if err != nil || slots["user"] != 3 || len(got.IDs) != 3 {
			t.Errorf("%v, error %v", slots, err)
		}
	})
}
