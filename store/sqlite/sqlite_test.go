package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/store/storetest"
)

// TestMain looks for goroutines that outlive their store: the commit loop and
// the client that only inserts must leave none.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t testing.TB) store.Store { return openMigrated(t, Config{}) })
}

func TestAdmin(t *testing.T) {
	t.Parallel()
	storetest.RunAdmin(t, storetest.Dialect{
		Open: func(t testing.TB) store.Store { return openMigrated(t, Config{}) },
		Empty: func(t testing.TB) func() store.Store {
			path := filepath.Join(t.TempDir(), "a.db")
			return func() store.Store { return open(t, Config{Path: path}) }
		},
		Exec: func(t testing.TB, s store.Store, query string) {
			if _, err := s.(*Store).write.ExecContext(t.Context(), query); err != nil {
				t.Fatal(err)
			}
		},
	})
}

// open opens a file for the time of a test.
func open(t testing.TB, cfg Config) *Store {
	t.Helper()
	s, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// migrated gives the bytes of an empty, migrated database, made once.
var migrated = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "oxbow")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "a.db")
	s, err := Open(context.Background(), Config{Path: path})
	if err != nil {
		return nil, err
	}
	if err := s.Migrate(context.Background()); err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// newFile gives the path of a new, migrated database file.
func newFile(t testing.TB) string {
	t.Helper()
	bytes, err := migrated()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a.db")
	if err := os.WriteFile(path, bytes, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// openMigrated opens a new, migrated file.
func openMigrated(t testing.TB, cfg Config) *Store {
	t.Helper()
	cfg.Path = newFile(t)
	return open(t, cfg)
}

var (
	now  = time.Date(2024, 3, 1, 12, 0, 0, 0, time.UTC)
	home = oxbow.Scope{Tenant: "default", Name: "user:ada"}
)

// remember stores a memory that says something.
func remember(ctx context.Context, s store.Store, name, words string) error {
	m := oxbow.Memory{ID: oxbow.NewID(name), Scope: home, Status: oxbow.Active, Kind: oxbow.Semantic, Content: oxbow.Content{Text: words},
		Importance: 5, Rating: 1, Source: oxbow.FromUser, SaidAt: now, CreatedAt: now}
	return s.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
		_, err := tx.Apply(ctx, store.Batch{Scope: home, Run: "r", Now: now, RecordedAt: now},
			[]oxbow.Change{{Type: oxbow.Created, Memory: m.ID, New: &m, Actor: "user"}})
		return err
	})
}

// forget erases a memory.
func forget(ctx context.Context, s store.Store, name string) error {
	return s.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
		id := oxbow.NewID(name)
		_, err := tx.Apply(ctx, store.Batch{Scope: home, Run: "r", Now: now, RecordedAt: now},
			[]oxbow.Change{{Type: oxbow.ErasedEvent, Memory: id, Actor: "operator"}})
		if err != nil {
			return err
		}
		return tx.Erase(ctx, home, []string{id})
	})
}

// count gives how many memories can be read, and fails when they cannot.
func count(t *testing.T, s store.Store) int {
	t.Helper()
	all, err := s.AllMemories(t.Context(), home, "", 1000)
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	return len(all)
}

func wantUnavailable(t *testing.T, err error, saying string) {
	t.Helper()
	if oxbow.CodeOf(err) != oxbow.CodeUnavailable || !strings.Contains(err.Error(), saying) {
		t.Fatalf("the error is %v (%s), want unavailable and %q", err, oxbow.CodeOf(err), saying)
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()

	t.Run("makes a file and a folder that only their owner can read", func(t *testing.T) {
		t.Parallel()
		dir := filepath.Join(t.TempDir(), "new", "deep")
		s := open(t, Config{Path: filepath.Join(dir, "a.db")})
		if err := s.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			name string
			want os.FileMode
		}{{"", 0o700}, {"..", 0o700}, {"a.db", 0o600}, {"a.db-wal", 0o600}, {"a.db-shm", 0o600}} {
			info, err := os.Stat(filepath.Join(dir, c.name))
			if err != nil || info.Mode().Perm() != c.want {
				t.Errorf("%q: mode %v and error %v, want %v", c.name, info.Mode().Perm(), err, c.want)
			}
		}
	})

	t.Run("takes an old file and its log from everybody but the owner", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "a.db")
		first := open(t, Config{Path: path})
		if err := first.Migrate(t.Context()); err != nil { // so that the log is there
			t.Fatal(err)
		}
		names := []string{path, path + "-wal", path + "-shm"}
		for _, name := range names {
			if err := os.Chmod(name, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		open(t, Config{Path: path})
		for _, name := range names {
			if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: mode %v and error %v", filepath.Base(name), info.Mode().Perm(), err)
			}
		}
	})

	t.Run("opens a path with blanks, quotes, percent and question marks", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "a b'c%20d?e#f ü.db")
		s := open(t, Config{Path: path})
		if err := s.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Fatalf("the database is somewhere else: %v", err)
		}
		if s.Describe() != "sqlite "+path || !s.Embedded() {
			t.Fatalf("it calls itself %s", s.Describe())
		}
	})

	t.Run("waits while another process makes the file", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "a.db")
		other, err := openPool(dsn(path, nil, true))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = other.Close() }()
		held, err := other.BeginTx(t.Context(), nil) // as the other does while it turns its log on
		if err != nil {
			t.Fatal(err)
		}
		impatient, stop := context.WithTimeout(t.Context(), 10*busyPause)
		defer stop()
		if _, err := Open(impatient, Config{Path: path}); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("a file that is held gives %v", err)
		}
		time.AfterFunc(10*busyPause, func() { _ = held.Rollback() })
		open(t, Config{Path: path})
	})

	t.Run("refuses another program's database and leaves it as it is", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "a.db")
		other, err := openPool(dsn(path, nil, true))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := other.ExecContext(t.Context(), "CREATE TABLE photos (name TEXT)"); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(other.Close(), os.Chmod(path, 0o644)); err != nil {
			t.Fatal(err)
		}
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), Config{Path: path}); oxbow.CodeOf(err) != oxbow.CodeInvalid || !strings.Contains(err.Error(), "choose another file") {
			t.Errorf("it says %v", err)
		}
		after, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(before, after) {
			t.Errorf("it was changed: %v", err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o644 {
			t.Errorf("it was taken from others: %v, %v", info.Mode(), err)
		}
	})

	t.Run("refuses a file that is no database and leaves it as it is", func(t *testing.T) {
		t.Parallel()
		for name, content := range map[string]string{
			"a letter":      strings.Repeat("Dear Ada, this is not a database. ", 500),
			"a short file":  "hello",
			"a cut header":  "SQLite format 3\x00",
			"a made header": "SQLite format 3\x00" + strings.Repeat("\xff", 9000),
		} {
			path := filepath.Join(t.TempDir(), "a.db")
			if err := os.WriteFile(path, []byte(content), 0o644); err != nil { //nolint:gosec // others may read it, and go on
				t.Fatal(err)
			}
			s, err := Open(t.Context(), Config{Path: path})
			if err == nil {
				t.Errorf("%s was opened (closed: %v)", name, s.Close())
				continue
			}
			wantUnavailable(t, err, "damaged or not a database")
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o644 {
				t.Errorf("%s was taken from others: %v, %v", name, info.Mode(), err)
			}
			if after, err := os.ReadFile(path); err != nil || string(after) != content {
				t.Errorf("%s was changed: %v", name, err)
			}
			if left, _ := filepath.Glob(path + "-*"); len(left) > 0 {
				t.Errorf("%s: there is %v beside it now", name, left)
			}
		}
	})

	t.Run("refuses a folder, and a path below a file", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		file := filepath.Join(dir, "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{dir, filepath.Join(file, "a.db")} {
			_, err := Open(t.Context(), Config{Path: path})
			wantUnavailable(t, err, "--db")
		}
	})

	t.Run("answers transactions after Close with unavailable", func(t *testing.T) {
		t.Parallel()
		s, err := Open(t.Context(), Config{Path: newFile(t), Full: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		wantUnavailable(t, remember(t.Context(), s, "a", "words"), "closed")
	})

	t.Run("finishes a transaction that runs while it closes", func(t *testing.T) {
		t.Parallel()
		path := newFile(t)
		s, err := Open(t.Context(), Config{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		begun, closed := make(chan struct{}), make(chan error)
		result := make(chan error, 1)
		go func() {
			result <- s.InTx(t.Context(), func(ctx context.Context, tx store.Tx) error {
				close(begun)
				_, err := tx.LockScope(ctx, home, now)
				return err
			})
		}()
		<-begun
		go func() { closed <- s.Close() }()
		if err := <-result; err != nil {
			t.Fatalf("the transaction failed: %v", err)
		}
		if err := <-closed; err != nil {
			t.Fatalf("close: %v", err)
		}
		if _, err := open(t, Config{Path: path}).Scope(t.Context(), home); err != nil {
			t.Fatalf("it was lost: %v", err)
		}
	})

	t.Run("keeps what was committed when the file is opened again", func(t *testing.T) {
		t.Parallel()
		path := newFile(t)
		for i := range 3 {
			s, err := Open(t.Context(), Config{Path: path, Full: i == 1})
			if err != nil {
				t.Fatal(err)
			}
			if err := remember(t.Context(), s, fmt.Sprint(i), "words"); err != nil {
				t.Fatal(err)
			}
			if n := count(t, s); n != i+1 {
				t.Fatalf("there are %d memories, want %d", n, i+1)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestConversationIndex(t *testing.T) {
	t.Parallel()

	t.Run("finds the memories of a conversation by its index, already in the order of the page", func(t *testing.T) {
		t.Parallel()
		s := openMigrated(t, Config{})
		w := where{}
		w.add("s.tenant = ?", "default")
		w.add("m.scope = ?", 1)
		w.filter(store.MemoryFilter{Conversation: "talk", Status: []oxbow.Status{oxbow.Active}, Kinds: []oxbow.Kind{oxbow.Observation}})
		all := planOf(t, s, selectMemory+w.String()+" ORDER BY m.said_at DESC, m.id DESC LIMIT 9", w.args...)
		if !strings.Contains(all, "memories_conversation (scope=? AND conversation=?)") || strings.Contains(all, "ORDER BY") {
			t.Fatalf("the plan is\n%s", all)
		}
	})
}

// TestListPlans holds the lists over all scopes to the indexes that are in the
// order of one.
func TestListPlans(t *testing.T) {
	t.Parallel()
	s := openMigrated(t, Config{})
	for name, c := range map[string]struct{ query, index string }{
		"memories": {overScopes(memoryColumns, "memories m", "m", "seq", newestFirst, " WHERE m.scope = s.seq"), "memories_said"},
		"turns":    {overScopes(turnColumns, `turns t LEFT JOIN contents c ON c.id = t.content_id`, "t", "seq", latestTurns, " WHERE t.scope = s.seq"), "turns_said"},
		"runs":     {overScopes(runColumns, "runs r", "r", "id", latestRuns, " WHERE r.scope = s.seq"), "runs_newest"},
		"passes":   {overScopes(runColumns, "runs r", "r", "id", latestRuns, " WHERE r.scope = s.seq AND r.name = 'decay'"), "runs_about"},
		"events":   {overScopes(eventColumns, "memory_events e", "e", "seq", " ORDER BY e.seq DESC", byScope+" WHERE e.scope = s.seq"), "memory_events_scope"},
	} {
		if name == "memories" {
			c.query = strings.Replace(c.query, "SELECT"+memoryColumns, "SELECT m.id", 1)
		}
		rows, err := s.read.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+c.query, (&where{}).overScopesArgs("home", 9)...)
		if err != nil {
			t.Fatal(err)
		}
		by, sorts := 0, 0
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(detail, c.index) {
				by++
			}
			if strings.Contains(detail, "ORDER BY") {
				sorts++
			}
			if strings.HasPrefix(detail, "SCAN") && detail != "SCAN n" {
				t.Errorf("a list of %s reads everything: %s", name, detail)
			}
		}
		if err := rows.Close(); err != nil || rows.Err() != nil {
			t.Fatal(err, rows.Err())
		}
		if by != 2 || sorts != 2 { // of the scopes, and of what is shown; none of a whole scope
			t.Errorf("a list of %s goes %d times by %s and sorts %d times, want twice each", name, by, c.index, sorts)
		}
	}
	if plan := planOf(t, s, withTerm, 1, "home", "", "", 9); !strings.Contains(plan, "t USING PRIMARY KEY (scope=? AND term=?)") || strings.Contains(plan, "SCAN") {
		t.Errorf("a tag is not looked for in each scope:\n%s", plan)
	}
}

// planOf gives the plan of a query, a line a step.
func planOf(t *testing.T, s *Store, query string, args ...any) string {
	t.Helper()
	rows, err := s.read.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var plan []string
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		plan = append(plan, detail)
	}
	if rows.Err() != nil {
		t.Fatal(rows.Err())
	}
	return strings.Join(plan, "\n")
}

func TestLogPlans(t *testing.T) {
	t.Parallel()
	s := openMigrated(t, Config{})
	for name, c := range map[string]struct {
		query, index string
		args         []any
	}{
		"the events of memories": {eventsOf, "memory_events_version", []any{"home", "[]"}},
		"the events of runs":     {countRunEvents, "memory_events_run", []any{"home", "[]"}},
		"the newest, by day":     {churn, "e USING INTEGER PRIMARY KEY", []any{"home", 9}},
		"the newest moves":       {dayMoves, "e USING INTEGER PRIMARY KEY", []any{"home", 0, 9}},
		"the moves since":        {movedStatuses, "e USING INTEGER PRIMARY KEY", []any{"home", 0, 9}},
	} {
		if plan := planOf(t, s, c.query, c.args...); !strings.Contains(plan, c.index) || strings.Contains(plan, "memory_events_scope") {
			t.Errorf("%s are not found by %s alone:\n%s", name, c.index, plan)
		}
	}
}
