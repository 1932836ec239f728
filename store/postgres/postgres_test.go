package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/store"
)

var (
	start = time.UnixMilli(1_700_000_000_000).UTC()
	ada   = oxbow.Scope{Tenant: "default", Name: "user:ada"}
)

func open(t testing.TB, url string) *Store {
	t.Helper()
	s, err := Open(t.Context(), Config{URL: url, MaxConns: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// setup gives a migrated store as it should run: its user neither owns the tables
// nor passes by their policies.
func setup(t testing.TB) *Store {
	t.Helper()
	_, runs := setupBoth(t)
	return runs
}

// setupBoth gives the owner's store beside it, who is no superuser either.
func setupBoth(t testing.TB) (owner, runs *Store) {
	t.Helper()
	p := pgtest.Split(t)
	owner = open(t, p.Owner)
	if err := owner.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := owner.Grant(t.Context(), p.Role); err != nil {
		t.Fatal(err)
	}
	runs = open(t, p.Runtime)
	if err := runs.Migrate(t.Context()); err != nil { // as every command does
		t.Fatal(err)
	}
	return owner, runs
}

// byHand gives a connection of the server's superuser, whom no policy holds.
func byHand(t testing.TB, s *Store) *pgx.Conn {
	t.Helper()
	conf, err := pgx.ParseConfig(os.Getenv(pgtest.Variable))
	if err != nil {
		t.Fatal(err)
	}
	conf.Database = s.pool.Config().ConnConfig.Database
	conf.RuntimeParams["search_path"] = s.schema
	conn, err := pgx.ConnectConfig(t.Context(), conf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func inTx(t testing.TB, s *Store, fn func(context.Context, store.Tx) error) {
	t.Helper()
	if err := s.InTx(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

func created(name string) oxbow.Change {
	m := oxbow.Memory{ID: oxbow.NewID(name), Scope: ada, Status: oxbow.Active, Kind: oxbow.Semantic,
		Content: oxbow.Content{Text: "the memory called " + name}, Importance: 5, Rating: 1, Rated: true,
		Source: oxbow.FromUser, SaidAt: start, CreatedAt: start}
	return oxbow.Change{Type: oxbow.Created, Memory: m.ID, New: &m, Actor: "user"}
}

func apply(t testing.TB, s *Store, changes ...oxbow.Change) store.Applied {
	t.Helper()
	var out store.Applied
	inTx(t, s, func(ctx context.Context, tx store.Tx) (err error) {
		out, err = tx.Apply(ctx, store.Batch{Scope: ada, Run: "r", Now: start, RecordedAt: start}, changes)
		return err
	})
	return out
}

func TestOpen(t *testing.T) {
	t.Parallel()

	t.Run("says where the server is that it cannot reach, and not the password", func(t *testing.T) {
		t.Parallel()
		for _, url := range []string{
			"postgres://ada:hunter2@127.0.0.1:1/oxbow",
			"host=127.0.0.1 port=1 user=ada password=hunter2 dbname=oxbow",
		} {
			_, err := Open(t.Context(), Config{URL: url})
			if oxbow.CodeOf(err) != oxbow.CodeUnavailable || !strings.Contains(err.Error(), "127.0.0.1:1/oxbow") {
				t.Errorf("the error is %v", err)
			}
			if strings.Contains(fmt.Sprintf("%+v", err), "hunter2") {
				t.Error("the error shows the password")
			}
		}
	})

	t.Run("refuses what is no URL without repeating it", func(t *testing.T) {
		t.Parallel()
		_, err := Open(t.Context(), Config{URL: "postgres://ada:hunter2@host:not-a-port/x"})
		if oxbow.CodeOf(err) != oxbow.CodeInvalid || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error is %v", err)
		}
	})

	t.Run("gives the server's reason", func(t *testing.T) {
		t.Parallel()
		url := strings.Replace(pgtest.URL(t), "/oxbow_", "/nowhere_", 1)
		if _, err := Open(t.Context(), Config{URL: url}); oxbow.CodeOf(err) != oxbow.CodeUnavailable || !strings.Contains(err.Error(), "does not exist") {
			t.Errorf("the error is %v", err)
		}
	})

	t.Run("describes itself without secrets and answers after Close with an error", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		if d := s.Describe(); !strings.HasPrefix(d, "postgres 127.0.0.1:") || strings.Contains(d, "@") {
			t.Errorf("it describes itself as %q", d)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		err := s.InTx(t.Context(), func(context.Context, store.Tx) error { return nil })
		if oxbow.CodeOf(err) != oxbow.CodeUnavailable {
			t.Errorf("the error is %v", err)
		}
	})
}

func TestPlans(t *testing.T) {
	t.Parallel()

	t.Run("are not compiled, however dear a table without an index is made", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		for setting, want := range map[string]string{"enable_seqscan": "off", "jit": "off", "plan_cache_mode": "force_generic_plan"} {
			var got string
			if err := s.pool.QueryRow(t.Context(), `SELECT current_setting($1)`, setting).Scan(&got); err != nil || got != want {
				t.Errorf("%s is %q, error %v", setting, got, err)
			}
		}
	})

	t.Run("read the log of one run and of one scope by an index, and not past all that others wrote", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		apply(t, s, created("a"))
		su := byHand(t, s)
		for _, sql := range []string{
			`INSERT INTO memory_events (scope, memory, memory_seq, version, type, before, after, links, unlinks, reason, actor, judge, run, at, recorded_at)
				SELECT scope, memory, memory_seq, version + i, type, before, after, links, unlinks, reason, actor, judge, 'import', at, recorded_at
				FROM memory_events, generate_series(1, 20000) i`,
			`ANALYZE`,
		} {
			if _, err := su.Exec(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		}
		for index, f := range map[string]store.EventFilter{
			"memory_events_of_run": {Run: "another"},
			"memory_events_scope":  {Newest: true},
		} {
			f.Tenant, f.Limit = ada.Tenant, 50
			if plan := planned(t, s, f); !strings.Contains(plan, index) || strings.Contains(plan, "memory_events_pkey") {
				t.Errorf("the plan of %+v is\n%s", f, plan)
			}
		}
	})
}

// planned gives the plan that is kept for a filter of the log.
func planned(t *testing.T, s *Store, f store.EventFilter) string {
	t.Helper()
	conn, err := s.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	query, args := eventQuery(f)
	literals := make([]string, len(args))
	for i, a := range args {
		literals[i] = "'" + fmt.Sprint(a) + "'"
	}
	for _, sql := range []string{`SELECT set_config('oxbow.tenant', '` + f.Tenant + `', false)`, `DEALLOCATE ALL`, `PREPARE kept AS ` + query} {
		if _, err := conn.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := conn.Query(t.Context(), `EXPLAIN EXECUTE kept(`+strings.Join(literals, ", ")+`)`, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

func TestMigrate(t *testing.T) {
	t.Parallel()

	t.Run("is safe when several processes do it at once, and again", func(t *testing.T) {
		t.Parallel()
		url := pgtest.URL(t)
		var wg sync.WaitGroup
		for range 4 {
			s := open(t, url)
			wg.Go(func() {
				for range 2 {
					if err := s.Migrate(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
	})

	t.Run("puts everything into its own schema", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		var strays int
		err := s.pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
			WHERE n.nspname = 'public'`).Scan(&strays)
		if err != nil || strays != 0 {
			t.Errorf("public holds %d things, error %v", strays, err)
		}
	})

	t.Run("keeps a second schema apart, and drops it without touching the first", func(t *testing.T) {
		t.Parallel()
		url := pgtest.URL(t)
		first := open(t, url)
		second, err := Open(t.Context(), Config{URL: url, Schema: "oxbow_second"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = second.Close() })
		for _, s := range []*Store{first, second} {
			if err := s.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			apply(t, s, created("a"))
			if found, err := s.Check(t.Context()); err != nil || len(found) > 0 {
				t.Errorf("%v, error %v", found, err)
			}
		}
		if err := second.DropSchema(t.Context()); err != nil {
			t.Fatal(err)
		}
		if have, _, err := second.SchemaVersion(t.Context()); err != nil || have != 0 {
			t.Errorf("the second has version %d, error %v", have, err)
		}
		if _, err := first.Memory(t.Context(), ada.Tenant, oxbow.NewID("a")); err != nil {
			t.Errorf("the first lost its memory: %v", err)
		}
		if err := first.DropSchema(t.Context()); oxbow.CodeOf(err) != oxbow.CodeConflict {
			t.Errorf("the usual schema is dropped: %v", err)
		}
	})

	t.Run("refuses a schema whose name needs quotes", func(t *testing.T) {
		t.Parallel()
		for _, name := range []string{"a b", "A", `a"; DROP SCHEMA oxbow; --`, "1a"} {
			if _, err := Open(t.Context(), Config{URL: "postgres://127.0.0.1:1/x", Schema: name}); oxbow.CodeOf(err) != oxbow.CodeInvalid {
				t.Errorf("%q: %v", name, err)
			}
		}
	})

	t.Run("leaves out River's indexes that nothing asks", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		var left int
		err := s.pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_indexes WHERE tablename = 'river_job' AND indexdef LIKE '%USING gin%'`).Scan(&left)
		if err != nil || left != 0 {
			t.Errorf("%d are left, error %v", left, err)
		}
	})

	t.Run("refuses a newer database", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		if _, err := byHand(t, s).Exec(t.Context(), `INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, true)`); err != nil {
			t.Fatal(err)
		}
		if err := s.Migrate(t.Context()); oxbow.CodeOf(err) != oxbow.CodeConflict {
			t.Errorf("the error is %v", err)
		}
	})
}

func TestInTx(t *testing.T) {
	t.Parallel()

	t.Run("runs two transactions again that lock each other out", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		apply(t, s, created("a"), created("b"))
		met := [2]chan struct{}{make(chan struct{}), make(chan struct{})}
		once := [2]sync.Once{}
		var runs [2]int
		var wg sync.WaitGroup
		for i, ids := range [2][]string{{"a", "b"}, {"b", "a"}} {
			wg.Go(func() {
				err := s.InTx(t.Context(), func(ctx context.Context, tx store.Tx) error {
					runs[i]++
					for n, name := range ids {
						if n == 1 {
							once[i].Do(func() { close(met[i]) })
							<-met[1-i]
						}
						if _, err := tx.Use(ctx, ada.Tenant, []string{oxbow.NewID(name)}, start.AddDate(0, 0, 1+i)); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if runs[0]+runs[1] < 3 {
			t.Errorf("the transactions ran %v times, so they never met", runs)
		}
	})

	t.Run("turns a panic into an error and gives the connection back", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		for range 20 {
			err := s.InTx(t.Context(), func(context.Context, store.Tx) error { panic("boom") })
			if err == nil {
				t.Fatal("there is no error")
			}
		}
		apply(t, s, created("a"))
	})

	t.Run("writes nothing into a scope that has the number of one it knew, and reads nothing from it then", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		apply(t, s, created("a"))
		apply(t, s, created("b")) // by now the scope is known
		if _, err := byHand(t, s).Exec(t.Context(), `UPDATE scopes SET name = 'user:bob'`); err != nil {
			t.Fatal(err)
		}
		apply(t, s, created("c"))
		for name, want := range map[string]int{"user:bob": 2, ada.Name: 1} {
			ms, err := s.ListMemories(t.Context(), store.MemoryFilter{Tenant: ada.Tenant, Scope: name, Limit: 9})
			if err != nil || len(ms) != want {
				t.Errorf("%s has %d memories, want %d, error %v", name, len(ms), want, err)
			}
		}
	})

	t.Run("locks a scope, new or not, for one transaction at a time", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		inside := 0 // guarded by the lock of the scope alone
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				err := s.InTx(t.Context(), func(ctx context.Context, tx store.Tx) error {
					if _, err := tx.LockScope(ctx, ada, start); err != nil {
						return err
					}
					if _, err := tx.Slots(ctx, ada); err != nil { // the lock goes with what is read first
						return err
					}
					inside++
					if inside != 1 {
						t.Error("two transactions hold the scope")
					}
					_, err := tx.Slots(ctx, ada)
					inside--
					return err
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	})
}

func TestPutRun(t *testing.T) {
	t.Parallel()
	s := setup(t)
	run := oxbow.Run{ID: oxbow.NewID("run"), Scope: ada, Name: "write", Trigger: "write", Status: oxbow.RunDone, About: start, StartedAt: start, FinishedAt: start}
	for i, ended := range []time.Time{start, start.Add(time.Second)} { // with a turn, and when it is read
		run.FinishedAt = ended
		times := 0
		inTx(t, s, func(ctx context.Context, tx store.Tx) error {
			times++
			if _, err := tx.LockScope(ctx, ada, start); err != nil {
				return err
			}
			return tx.PutRun(ctx, run)
		})
		if i > 0 && times != 1 {
			t.Errorf("a transaction that ends the run of a turn was run %d times", times)
		}
	}
}

func TestApply(t *testing.T) {
	t.Parallel()

	t.Run("numbers a thousand events in their order, and archives as many in one go", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		var creates, archives []oxbow.Change
		for i := range 1000 {
			c := created(fmt.Sprint(i))
			creates = append(creates, c)
			archives = append(archives, oxbow.Change{Type: oxbow.ArchivedEvent, Memory: c.Memory,
				Guard: &oxbow.Guard{Status: oxbow.Active, ContentVersion: 1}, Actor: "schedule"})
		}
		for _, changes := range [][]oxbow.Change{creates, archives} {
			events := apply(t, s, changes...).Events
			stored, err := s.Events(t.Context(), store.EventFilter{Tenant: ada.Tenant, AfterSeq: events[0].Seq - 1, Limit: 1000})
			if err != nil || len(stored) != len(events) {
				t.Fatalf("%d events are stored, error %v", len(stored), err)
			}
			for i, e := range events {
				if stored[i].Seq != e.Seq || stored[i].Memory != changes[i].Memory || e.Memory != changes[i].Memory {
					t.Fatalf("event %d is %v, stored as %v", i, e, stored[i])
				}
			}
		}
		counts, err := s.CountMemories(t.Context(), ada)
		if err != nil || counts[oxbow.Archived] != 1000 {
			t.Errorf("the counts are %v, error %v", counts, err)
		}
		if findings, err := s.Check(t.Context()); err != nil || len(findings) > 0 {
			t.Errorf("the check finds %v, error %v", findings, err)
		}
	})

	t.Run("reads a memory with the content that it has when the lock is got", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		apply(t, s, created("a"))
		id := oxbow.NewID("a")
		edit := func(text string) oxbow.Change {
			return oxbow.Change{Type: oxbow.Edited, Memory: id, Content: &oxbow.Content{Text: text}, Actor: "user"}
		}
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() { apply(t, s, edit(fmt.Sprintf("edited %d", i))) })
		}
		wg.Wait()
		apply(t, s, edit("whole"))
		var terms int
		if err := byHand(t, s).QueryRow(t.Context(), `SELECT count(*) FROM memory_terms`).Scan(&terms); err != nil || terms != 1 {
			t.Errorf("%d terms are left of earlier texts, error %v", terms-1, err)
		}
	})
}

func TestRetire(t *testing.T) {
	t.Parallel()

	t.Run("gives the place behind what was used while it waited for the rows", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		apply(t, s, created("a"))
		m, err := s.Memory(t.Context(), ada.Tenant, oxbow.NewID("a"))
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan store.Retired, 1)
		inTx(t, s, func(ctx context.Context, tx store.Tx) error {
			if _, err := tx.Use(ctx, ada.Tenant, []string{m.ID}, m.FadesAt); err != nil {
				return err
			}
			go func() {
				var got store.Retired
				err := s.InTx(context.WithoutCancel(ctx), func(ctx context.Context, tx store.Tx) (err error) {
					got, err = tx.Retire(ctx, store.Batch{Scope: ada, Run: "r", Now: m.FadesAt, RecordedAt: m.FadesAt},
						store.Retirement{Type: oxbow.ArchivedEvent, Actor: "schedule", Limit: 9})
					return err
				})
				if err != nil {
					t.Error(err)
				}
				done <- got
			}()
			for waiting := 0; waiting == 0; { // until it stands before the row
				err := s.pool.QueryRow(ctx, `SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.datname = current_database()
					JOIN pg_stat_activity a ON a.pid = l.pid AND a.datid = d.oid WHERE NOT l.granted`).Scan(&waiting)
				if err != nil {
					return err
				}
			}
			return nil
		})
		if got, want := <-done, (store.Retired{Last: store.Place(m.FadesAt, m.ID)}); got != want {
			t.Errorf("it gives %v, want %v", got, want)
		}
		if m, err := s.Memory(t.Context(), ada.Tenant, m.ID); err != nil || m.Status != oxbow.Active {
			t.Errorf("the memory that was used is %s, error %v", m.Status, err)
		}
	})
}

func TestErrors(t *testing.T) {
	t.Parallel()

	t.Run("keep no value that the server quotes", func(t *testing.T) {
		t.Parallel()
		err := translate(fmt.Errorf("exec: %w", &pgconn.PgError{Code: "22P02", Message: `invalid input: "secret"`, Detail: "secret"}), "store")
		if strings.Contains(fmt.Sprintf("%+v", err), "secret") {
			t.Errorf("the error is %v", err)
		}
		if _, ok := errors.AsType[*pgconn.PgError](err); ok {
			t.Error("the driver's error comes along")
		}
	})

	t.Run("have the codes of the vocabulary", func(t *testing.T) {
		t.Parallel()
		for code, want := range map[string]string{
			"23505": oxbow.CodeConflict, "53100": oxbow.CodeUnavailable, "57P01": oxbow.CodeUnavailable,
			"08006": oxbow.CodeUnavailable, "53300": oxbow.CodeUnavailable, "42703": oxbow.CodeInternal, "22021": oxbow.CodeInvalid,
		} {
			if got := oxbow.CodeOf(translate(&pgconn.PgError{Code: code}, "do it")); got != want {
				t.Errorf("%s becomes %s, want %s", code, got, want)
			}
		}
	})
}

type napArgs struct {
	Name string `json:"name" river:"unique"`
}

func (napArgs) Kind() string { return "nap" }

// napper works jobs until they are cancelled, or completes them inside a
// transaction, twice.
type napper struct {
	river.WorkerDefaults[napArgs]
	s       *Store
	running chan int64
}

func (w *napper) Work(ctx context.Context, job *river.Job[napArgs]) error {
	if job.Args.Name == "long" {
		w.running <- job.ID
		<-ctx.Done()
		return ctx.Err()
	}
	for range 2 {
		err := w.s.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
			if err := tx.Fence(ctx, job.JobRow); err != nil {
				return err
			}
			return tx.CompleteJob(ctx, job.JobRow)
		})
		if err != nil && oxbow.CodeOf(err) != oxbow.CodeConflict {
			return err
		}
	}
	return nil
}

func enqueue(t *testing.T, s *Store, names ...string) {
	t.Helper()
	for _, name := range names {
		inTx(t, s, func(ctx context.Context, tx store.Tx) error {
			return tx.Enqueue(ctx, []river.InsertManyParams{{Args: napArgs{name}, InsertOpts: &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true}}}})
		})
	}
}

func TestQueue(t *testing.T) {
	t.Parallel()

	t.Run("passes over a unique job that is there, and counts what waits", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		enqueue(t, s, "short", "short", "other")
		n, err := s.PendingJobs(t.Context(), "", "")
		stats, err2 := s.QueueStats(t.Context())
		if n != 2 || len(stats) != 1 || stats[0].Available != 2 || stats[0].OldestAt.IsZero() || errors.Join(err, err2) != nil {
			t.Errorf("%d jobs wait, the queues are %v, error %v", n, stats, errors.Join(err, err2))
		}
		jobs, err := s.ListJobs(t.Context(), store.JobFilter{Kind: "nap", State: "available", Limit: 10})
		if err != nil || len(jobs) != 2 || string(jobs[0].Args) != `{"name":"other"}` {
			t.Errorf("the jobs are %v, error %v", jobs, err)
		}
	})

	t.Run("passes over a unique job that stands in one call twice", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		job := river.InsertManyParams{Args: napArgs{"twin"}, InsertOpts: &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true}}}
		inTx(t, s, func(ctx context.Context, tx store.Tx) error {
			return tx.Enqueue(ctx, []river.InsertManyParams{job, job})
		})
		if n, err := s.PendingJobs(t.Context(), "", ""); n != 1 || err != nil {
			t.Errorf("%d jobs wait, error %v", n, err)
		}
	})

	t.Run("pauses a queue that no worker has opened", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		for _, paused := range []bool{true, false} {
			inTx(t, s, func(ctx context.Context, tx store.Tx) error { return tx.SetQueuePaused(ctx, "later", paused) })
			stats, err := s.QueueStats(t.Context())
			if err != nil || len(stats) != 1 || stats[0].Paused != paused {
				t.Errorf("the queues are %v, error %v", stats, err)
			}
		}
	})

	t.Run("completes a job inside a transaction, and cancels one that runs", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		w := &napper{s: s, running: make(chan int64, 1)}
		workers := river.NewWorkers()
		river.AddWorker(workers, w)
		c, err := s.NewClient(&river.Config{Workers: workers, Logger: quiet(), FetchCooldown: 10 * time.Millisecond,
			FetchPollInterval: 50 * time.Millisecond, Queues: map[string]river.QueueConfig{"default": {MaxWorkers: 2}}})
		if err != nil {
			t.Fatal(err)
		}
		done, stop := c.Subscribe(river.EventKindJobCompleted, river.EventKindJobCancelled, river.EventKindJobFailed)
		defer stop()
		if err := c.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.StopAndCancel(context.WithoutCancel(t.Context())) }()
		enqueue(t, s, "short")
		if e := <-done; e.Job.State != rivertype.JobStateCompleted {
			t.Fatalf("the short job is %s: %v", e.Job.State, e.Job.Errors)
		}
		enqueue(t, s, "long")
		id := <-w.running
		inTx(t, s, func(ctx context.Context, tx store.Tx) error { return tx.CancelJob(ctx, id) })
		if e := <-done; e.Job.State != rivertype.JobStateCancelled {
			t.Fatalf("the long job is %s: %v", e.Job.State, e.Job.Errors)
		}
		inTx(t, s, func(ctx context.Context, tx store.Tx) error { return tx.RetryJob(ctx, id) })
		if <-w.running != id {
			t.Error("another job was retried")
		}
	})
}

func TestVacuum(t *testing.T) {
	t.Parallel()
	owner, s := setupBoth(t)
	apply(t, s, created("a"))
	if err := owner.Vacuum(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Vacuum(t.Context()); oxbow.CodeOf(err) != oxbow.CodeUnsupported || !strings.Contains(err.Error(), "oxbow db vacuum") {
		t.Errorf("to whom the tables are not, it says %v", err)
	}
}
