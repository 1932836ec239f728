package recall_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/llm/offline"
	"github.com/oxbow-memory/oxbow/recall"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/store/sqlite"
)

var scope = oxbow.Scope{Tenant: "t", Name: "user"}

// stocked gives a store with a few memories and a Recaller with everything.
func stocked(t testing.TB) *recall.Recaller {
	t.Helper()
	ctx := context.Background()
	st, err := sqlite.Open(ctx, sqlite.Config{Path: filepath.Join(t.TempDir(), "recall.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	if err := st.Migrate(ctx); err != nil {
		t.Fatal(err)
	}
	embedder := offline.NewEmbedder()
	var changes []oxbow.Change
	var vectors []store.Vector
	for i, words := range []string{"tea is green", "the deploy is on Fridays", "茶を飲む", "100% of \"it\" is here", "Europe/Stockholm"} {
		m := saying(words)
		m.ID, m.Scope, m.Importance, m.CreatedAt = oxbow.NewID("m", words), scope, float64(i), noon
		if i == 4 {
			m.Kind, m.Slot, m.Key = oxbow.Fact, "user", "timezone"
		}
		changes = append(changes, oxbow.Change{Type: oxbow.Created, Memory: m.ID, New: &m, Reason: "test", Actor: "user"})
		vs, err := embedder.Embed(ctx, []string{words})
		if err != nil {
			t.Fatal(err)
		}
		vectors = append(vectors, store.Vector{Memory: m.ID, ContentVersion: 1, Values: vs[0]})
	}
	err = st.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
		if _, err := tx.LockScope(ctx, scope, noon); err != nil {
			return err
		}
		if _, err := tx.Apply(ctx, store.Batch{Scope: scope, Run: "r", Now: noon, RecordedAt: noon}, changes); err != nil {
			return err
		}
		_, err := tx.PutVectors(ctx, scope, embedder.ID(), vectors)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return recall.New(recall.Config{Store: st, Embedder: embedder, Selector: offline.New()})
}

// FuzzQuery asks every strategy with any words and state: none may fail, give
// more than it was asked for, or score outside of 0 to 1.
func FuzzQuery(f *testing.F) {
	r := stocked(f)
	for _, words := range []string{"tea", "", "the of", `"" OR *`, "100%", "'; --", "茶", "NEAR(a, b)", "\xff\u202e", "time zone"} {
		f.Add(words, "goal", uint8(3))
	}
	f.Fuzz(func(t *testing.T, words, goal string, limit uint8) {
		for _, s := range recall.Strategies() {
			q := recall.Query{Scope: scope, Text: words, State: recall.State{Goal: goal, Open: []string{words}}, Strategy: s,
				Limit: 1 + int(limit)%100, Now: noon}
			if limit%2 == 0 {
				q.AsOf = noon.Add(time.Minute)
			}
			a, err := r.Ask(t.Context(), q)
			if err != nil {
				t.Fatalf("%s: %v", s, err)
			}
			if len(a.Results) > q.Limit {
				t.Errorf("%s gave %d results of %d", s, len(a.Results), q.Limit)
			}
			for _, res := range a.Results {
				if !(res.Score >= 0 && res.Score <= 1) {
					t.Errorf("%s scored %v: %+v", s, res.Score, res.Stages)
				}
			}
		}
	})
}

// dead is an embedder that is away.
type dead struct{ llm.Embedder }

func (dead) Embed(context.Context, []string) ([][]float32, error) {
	return nil, &llm.AwayError{Err: context.DeadlineExceeded}
}

func TestAsk(t *testing.T) {
	t.Parallel()

	t.Run("goes on by words when the embedder is away, and says so", func(t *testing.T) {
		t.Parallel()
		ctx := t.Context()
		st, err := sqlite.Open(ctx, sqlite.Config{Path: filepath.Join(t.TempDir(), "recall.db")})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = st.Close() }()
		if err := st.Migrate(ctx); err != nil {
			t.Fatal(err)
		}
		m := saying("tea is green")
		m.ID, m.Scope, m.CreatedAt = oxbow.NewID("m"), scope, noon
		err = st.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
			if _, err := tx.LockScope(ctx, scope, noon); err != nil {
				return err
			}
			_, err := tx.Apply(ctx, store.Batch{Scope: scope, Run: "r", Now: noon, RecordedAt: noon},
				[]oxbow.Change{{Type: oxbow.Created, Memory: m.ID, New: &m, Reason: "test", Actor: "user"}})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		r := recall.New(recall.Config{Store: st, Embedder: dead{offline.NewEmbedder()}})
		for _, s := range []string{"waterfall", "composite"} {
			a, err := r.Ask(ctx, recall.Query{Scope: scope, Text: "tea", Strategy: s, Now: noon})
			if err != nil || len(a.Results) != 1 || len(a.Notes) != 1 {
				t.Errorf("%s gave %d results with the notes %q: %v", s, len(a.Results), a.Notes, err)
			}
		}
	})

	t.Run("names every strategy of the design", func(t *testing.T) {
		t.Parallel()
		got := recall.Strategies()
		want := []string{"composite", "facts", "hybrid", "index", "memories", "unified", "waterfall"}
		if len(got) != len(want) {
			t.Fatalf("got %v", got)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("got %v", got)
			}
		}
	})

	t.Run("heeds a context that has ended", func(t *testing.T) {
		t.Parallel()
		r := stocked(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := r.Ask(ctx, recall.Query{Scope: scope, Text: "tea", Now: noon}); err == nil {
			t.Error("it answered")
		}
	})
}
