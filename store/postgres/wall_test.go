package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/store"
)

// noTenants are the tables that hold no tenant's data, beside River's, which hold
// ids and instants only; each with the reason.
var noTenants = map[string]string{
	"goose_db_version": "the numbers of migrations",
	"ledger":           "keys made of ids, which say that an effect was had",
	"workers":          "the names of processes",
}

// tenantTables lists the others from the catalogue, so that a new table is in.
func tenantTables(t testing.TB, c *pgx.Conn) []string {
	t.Helper()
	rows, err := c.Query(t.Context(), `SELECT relname::text FROM pg_class WHERE relnamespace = 'oxbow'::regnamespace AND relkind IN ('r', 'p') ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	names = slices.DeleteFunc(names, func(n string) bool { return noTenants[n] != "" || strings.HasPrefix(n, "river_") })
	if len(names) < 20 {
		t.Fatalf("only %v are tables of tenants", names)
	}
	return names
}

var (
	adas = oxbow.Scope{Tenant: "ada", Name: "user:ada"}
	bobs = oxbow.Scope{Tenant: "bob", Name: "user:bob"}
)

// furnish stores something of everything for a tenant.
func furnish(t testing.TB, s *Store, sc oxbow.Scope) {
	t.Helper()
	id := func(n string) string { return oxbow.NewID(sc.Tenant, n) }
	inTx(t, s, func(ctx context.Context, tx store.Tx) error {
		var changes []oxbow.Change
		for _, n := range []string{"a", "b"} {
			c := created(sc.Tenant + n)
			c.New.ID, c.New.Scope, c.New.Conversation, c.Memory = id(n), sc, "talk", id(n)
			changes = append(changes, c)
		}
		changes = append(changes, oxbow.Change{Type: oxbow.Linked, Memory: id("a"), Actor: "user",
			Links: []oxbow.Link{{From: id("b"), To: id("a"), Type: oxbow.Confirms}}})
		_, err := tx.Apply(ctx, store.Batch{Scope: sc, Run: id("run"), Now: start, RecordedAt: start}, changes)
		turn := oxbow.Turn{ID: id("turn"), Scope: sc, User: "hello", At: start, CreatedAt: start}
		_, err2 := tx.AddTurns(ctx, []oxbow.Turn{turn})
		_, err3 := tx.PutVectors(ctx, sc, "e/2/1", []store.Vector{{Memory: id("a"), ContentVersion: 1, Values: []float32{1, 0}}})
		drew, err4 := tx.PutGraph(ctx, sc, store.GraphPart{Memory: id("a"), ContentVersion: 1,
			Entities:  []store.GraphEntity{{Name: "Ada"}, {Name: "Lighthouse", Aliases: []string{"The Tower"}}},
			Relations: []store.GraphRelation{{From: "Ada", To: "Lighthouse", Type: "keeps"}}})
		if !drew {
			t.Error("the graph is empty")
		}
		nodes, err7 := tx.WithoutNodeVector(ctx, sc, "e/2/1", nil, "", 1)
		for _, n := range nodes {
			if _, err := tx.PutNodeVectors(ctx, sc, "e/2/1", []store.NodeVector{{Node: n, Values: []float32{1, 0}}}); err != nil {
				return err
			}
		}
		_, _, err5 := tx.PutRequest(ctx, store.Request{Tenant: sc.Tenant, Key: "k", Digest: "d", Outcome: []byte("{}"), At: start}, start)
		_, err6 := tx.ReserveTokens(ctx, sc.Tenant, "2024-03-01", 1, 9)
		return errors.Join(err, err2, err3, err4, err5, err6, err7,
			tx.PutVerdicts(ctx, sc, []oxbow.Verdict{{Older: id("a"), Newer: id("b"), Relation: oxbow.ConfirmsIt, Judge: "code", At: start}}),
			tx.PutSchedule(ctx, store.Schedule{Scope: sc, Name: "decay", Spec: "0 3 * * *", NextAt: start}),
			tx.PutDiscarded(ctx, store.Discarded{ID: id("job"), Tenant: sc.Tenant, Kind: "k", Args: []byte("{}"), At: start}),
			tx.PutRun(ctx, oxbow.Run{ID: id("run"), Scope: sc, Name: "decay", Status: oxbow.RunDone, About: start, StartedAt: start}),
			tx.PutEvidence(ctx, sc, []store.Evidence{{Memory: id("a"), Turn: id("turn")}}),
			tx.PutShown(ctx, sc, "talk", []string{id("a")}, start),
			tx.PutCue(ctx, sc, "talk", store.NewCue("words", "", start)),
			tx.PutKey(ctx, oxbow.Key{ID: id("key"), Tenant: sc.Tenant, Name: "k", Permissions: []oxbow.Permission{oxbow.MayRead}, Hash: "h", CreatedAt: start}),
			tx.PutLLMCall(ctx, store.LLMCall{ID: id("call"), Scope: sc, At: start}),
			tx.PutLLMAnswer(ctx, store.LLMAnswer{Scope: sc, Key: "k", Owners: []string{id("a")}, Answer: []byte("{}"), At: start, ExpiresAt: start.Add(time.Hour)}, start))
	})
}

// as runs fn on one connection in a transaction that is a tenant's, or nobody's,
// without any of the store's statements, and rolls it back.
func as(t testing.TB, s *Store, sc oxbow.Scope, fn func(tx pgx.Tx)) {
	t.Helper()
	ctx := t.Context()
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	tx, err := conn.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(ctx) }()
	if sc.Tenant != "" {
		e := entering(sc)
		if _, err := tx.Exec(ctx, e.query, e.args...); err != nil {
			t.Fatal(err)
		}
	}
	fn(tx)
}

func count(t testing.TB, tx interface {
	QueryRow(context.Context, string, ...any) pgx.Row
}, query string, args ...any) (n int) {
	t.Helper()
	if err := tx.QueryRow(t.Context(), query, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

func TestWall(t *testing.T) {
	t.Parallel()
	owner, s := setupBoth(t)
	furnish(t, s, adas)
	furnish(t, s, bobs)
	hand := byHand(t, s)
	tables := tenantTables(t, hand)

	t.Run("shows a tenant without any predicate its own rows and nobody else's", func(t *testing.T) {
		for _, table := range tables {
			all := count(t, hand, `SELECT count(*) FROM `+table)
			seen := map[string]int{}
			for _, who := range []oxbow.Scope{adas, bobs, {Tenant: "ada"}, {Tenant: "bob"}, {Tenant: "eve"}, {}, {Tenant: "eve", Name: adas.Name}, {Tenant: "ada", Name: bobs.Name}} {
				as(t, s, who, func(tx pgx.Tx) { seen[who.String()] = count(t, tx, `SELECT count(*) FROM `+table) })
			}
			if all == 0 || seen["ada/user:ada"]*2 != all || seen["bob/user:bob"]*2 != all || seen["ada/"]*2 != all || seen["bob/"]*2 != all || seen["ada/user:bob"]*2 != all {
				t.Errorf("%s holds %d rows, half of them ada's and half bob's, and they see %v", table, all, seen)
			}
			if seen["eve/"]+seen["/"]+seen["eve/user:ada"] != 0 {
				t.Errorf("%s shows somebody else's rows: %v", table, seen)
			}
			as(t, owner, oxbow.Scope{}, func(tx pgx.Tx) {
				if n := count(t, tx, `SELECT count(*) FROM `+table); n != 0 {
					t.Errorf("%s shows its owner, who has no tenant, %d rows", table, n)
				}
			})
		}
	})

	t.Run("lets nobody change or take away another's rows", func(t *testing.T) {
		for _, table := range tables {
			var column string
			err := hand.QueryRow(t.Context(), `SELECT attname::text FROM pg_attribute WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped AND attidentity = '' ORDER BY attnum LIMIT 1`, table).Scan(&column)
			if err != nil {
				t.Fatal(err)
			}
			for _, who := range []oxbow.Scope{{Tenant: "eve"}, {}} {
				for _, sql := range []string{`UPDATE ` + table + ` SET ` + column + ` = ` + column, `DELETE FROM ` + table} {
					as(t, s, who, func(tx pgx.Tx) {
						tag, err := tx.Exec(t.Context(), sql)
						if err == nil && tag.RowsAffected() != 0 || err != nil && !(table == "memory_events" && isDenied(err)) {
							t.Errorf("as %q, %s: %d rows, error %v", who.Tenant, sql, tag.RowsAffected(), err)
						}
					})
				}
			}
		}
	})

	t.Run("lets nobody put a row among another's", func(t *testing.T) {
		for _, table := range tables {
			// Ada's rows, read with every right, are what bob tries to store.
			var columns, values string
			err := hand.QueryRow(t.Context(), `SELECT string_agg(quote_ident(attname), ', '), string_agg('r.' || quote_ident(attname), ', ')
				FROM pg_attribute WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped AND attidentity = ''`, table).Scan(&columns, &values)
			if err != nil {
				t.Fatal(err)
			}
			var row string
			as(t, s, adas, func(tx pgx.Tx) {
				if err := tx.QueryRow(t.Context(), `SELECT row_to_json(x)::text FROM `+table+` x LIMIT 1`).Scan(&row); err != nil {
					t.Fatalf("%s: %v", table, err)
				}
			})
			insert := `INSERT INTO ` + table + ` (` + columns + `) SELECT ` + values + ` FROM json_populate_record(NULL::` + table + `, $1::json) r`
			as(t, s, bobs, func(tx pgx.Tx) {
				if _, err := tx.Exec(t.Context(), insert, row); !isDenied(err) {
					t.Errorf("%s takes a row of another tenant: %v", table, err)
				}
			})
		}
	})

	t.Run("keeps the log of events from being changed at all", func(t *testing.T) {
		for _, sql := range []string{`UPDATE memory_events SET reason = 'x'`, `DELETE FROM memory_events`, `TRUNCATE memory_events`, `DROP POLICY own ON memories`,
			`ALTER TABLE memories DISABLE ROW LEVEL SECURITY`, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (9, true)`} {
			as(t, s, adas, func(tx pgx.Tx) {
				if _, err := tx.Exec(t.Context(), sql); !isDenied(err) {
					t.Errorf("%s: %v", sql, err)
				}
			})
		}
	})

	t.Run("opens to a reason what it names, and nothing to write", func(t *testing.T) {
		opens := map[reason][]string{due: {"schedules", "scopes"}, allScopes: {"scopes"}, keys: {"api_keys"}, ids: {"memories"}, gone: {"llm_answers", "requests"}, check: tables, counts: tables, "x": nil}
		for why, open := range opens {
			for _, table := range tables {
				as(t, s, oxbow.Scope{}, func(tx pgx.Tx) {
					if _, err := tx.Exec(t.Context(), lookAcross, string(why)); err != nil {
						t.Fatal(err)
					}
					if n := count(t, tx, `SELECT count(*) FROM `+table); n > 0 != slices.Contains(open, table) {
						t.Errorf("%s shows %d rows of %s", why, n, table)
					}
					tag, err := tx.Exec(t.Context(), `DELETE FROM `+table)
					if why != gone && (err == nil && tag.RowsAffected() != 0 || err != nil && table != "memory_events") {
						t.Errorf("%s takes %d rows of %s away, error %v", why, tag.RowsAffected(), table, err)
					}
				})
			}
		}
	})

	t.Run("stands before a setting that only a migration may use", func(t *testing.T) {
		as(t, s, oxbow.Scope{}, func(tx pgx.Tx) {
			if _, err := tx.Exec(t.Context(), lookAcross, string(migration)); err != nil {
				t.Fatal(err)
			}
			if tag, err := tx.Exec(t.Context(), `UPDATE memories SET slot = slot`); !isDenied(err) {
				t.Errorf("%d rows, error %v", tag.RowsAffected(), err)
			}
		})
		as(t, s, oxbow.Scope{}, func(tx pgx.Tx) {
			if _, err := tx.Exec(t.Context(), lookAcross, string(migration)); err != nil {
				t.Fatal(err)
			}
			if tag, err := tx.Exec(t.Context(), `DELETE FROM memories`); err != nil || tag.RowsAffected() != 0 {
				t.Errorf("%d rows are taken away, error %v", tag.RowsAffected(), err)
			}
		})
		as(t, owner, oxbow.Scope{}, func(tx pgx.Tx) {
			if _, err := tx.Exec(t.Context(), lookAcross, string(migration)); err != nil {
				t.Fatal(err)
			}
			if tag, err := tx.Exec(t.Context(), `UPDATE memories SET slot = slot`); err != nil || tag.RowsAffected() != 4 {
				t.Errorf("the owner changes %d rows of 4, error %v", tag.RowsAffected(), err)
			}
		})
	})
}

func isDenied(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == insufficientPrivilege
}

func TestSight(t *testing.T) {
	t.Parallel()

	t.Run("ends with the transaction, whichever way it ends", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		furnish(t, s, adas)
		left := func() string {
			var out string
			for range s.pool.Stat().TotalConns() {
				conn, err := s.pool.Acquire(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Release()
				var tenant, scope, instance string
				err = conn.QueryRow(t.Context(), `SELECT coalesce(current_setting('oxbow.tenant', true), ''), coalesce(current_setting('oxbow.scope', true), ''),
					coalesce(current_setting('oxbow.instance', true), '')`).Scan(&tenant, &scope, &instance)
				if err != nil {
					t.Fatal(err)
				}
				out += tenant + scope + instance
				if n := count(t, conn, `SELECT count(*) FROM memories`); n != 0 {
					t.Errorf("a connection that came back shows %d memories", n)
				}
			}
			return out
		}
		reads := []func() error{
			func() error { _, err := s.Memory(t.Context(), "ada", oxbow.NewID("ada", "a")); return err },
			func() error { _, err := s.DueSchedules(t.Context(), start, 9); return err },
			func() error { _, err := s.Check(t.Context()); return err },
			func() error { _, err := s.Slots(t.Context(), adas); return err },
			func() error {
				return s.InTx(t.Context(), func(ctx context.Context, tx store.Tx) error { _, err := tx.Slots(ctx, adas); return err })
			},
			func() error {
				err := s.InTx(t.Context(), func(ctx context.Context, tx store.Tx) error { _, _ = tx.Slots(ctx, adas); return errMissed })
				if !errors.Is(err, errMissed) {
					return err
				}
				return nil
			},
			func() error { // a statement that the server refuses
				var n int
				if err := s.of("ada").QueryRow(t.Context(), `SELECT 1 / 0`).Scan(&n); err == nil {
					return errors.New("it divided")
				}
				return nil
			},
		}
		for i, read := range reads {
			if err := read(); err != nil {
				t.Fatalf("read %d: %v", i, err)
			}
			if got := left(); got != "" {
				t.Errorf("read %d leaves %q on the connection", i, got)
			}
		}
	})

	t.Run("is refused to a second tenant in one transaction", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		furnish(t, s, adas)
		furnish(t, s, bobs)
		for name, second := range map[string]func(context.Context, store.Tx) error{
			"a read":  func(ctx context.Context, tx store.Tx) error { _, err := tx.Slots(ctx, bobs); return err },
			"a write": func(ctx context.Context, tx store.Tx) error { return tx.SettleTokens(ctx, "bob", "2024-03-01", 1) },
		} {
			err := s.InTx(t.Context(), func(ctx context.Context, tx store.Tx) error {
				if _, err := tx.Slots(ctx, adas); err != nil {
					return err
				}
				return second(ctx, tx)
			})
			if oxbow.CodeOf(err) != oxbow.CodeInternal {
				t.Errorf("%s: %v", name, err)
			}
		}
	})

	t.Run("goes from tenant to tenant with the schedules that are due", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		furnish(t, s, adas)
		furnish(t, s, bobs)
		inTx(t, s, func(ctx context.Context, tx store.Tx) error {
			ds, err := tx.DueSchedules(ctx, start, 9)
			if err != nil || len(ds) != 2 {
				t.Errorf("%d are due, error %v", len(ds), err)
			}
			for _, d := range ds {
				if _, err := tx.Scope(ctx, d.Scope); err != nil {
					return err
				}
				if _, err := tx.Memory(ctx, d.Scope.Tenant, oxbow.NewID(d.Scope.Tenant, "a")); err != nil {
					return err
				}
				d.NextAt = start.Add(time.Hour)
				if err := tx.PutSchedule(ctx, d); err != nil {
					return err
				}
			}
			if ds, err = tx.DueSchedules(ctx, start, 9); len(ds) != 0 {
				t.Errorf("%d are still due", len(ds))
			}
			return err
		})
	})

	t.Run("does not mix tenants that share a few connections", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		scopes := []oxbow.Scope{adas, bobs, {Tenant: "cyd", Name: "user:ada"}, {Tenant: "dan", Name: "agent"}}
		for _, sc := range scopes {
			furnish(t, s, sc)
		}
		var wg sync.WaitGroup
		for g := range 16 {
			wg.Go(func() {
				for i := range 25 {
					sc := scopes[(g+i)%len(scopes)]
					ms, err := s.ListMemories(t.Context(), store.MemoryFilter{Tenant: sc.Tenant, Limit: 9})
					if err != nil || len(ms) != 2 || ms[0].Scope != sc {
						t.Errorf("%s reads %v, error %v", sc, ms, err)
					}
					var bare []string // without any predicate
					_, err = collect(t.Context(), s.in(sc), "look", func(rows pgx.Rows) (struct{}, error) {
						id, err := scanString(rows)
						bare = append(bare, id)
						return struct{}{}, err
					}, `SELECT id FROM memories ORDER BY seq`)
					if want := []string{oxbow.NewID(sc.Tenant, "a"), oxbow.NewID(sc.Tenant, "b")}; err != nil || !slices.Equal(bare, want) {
						t.Errorf("%s sees %v, error %v", sc, bare, err)
					}
					inTx(t, s, func(ctx context.Context, tx store.Tx) error {
						if n, err := tx.Use(ctx, sc.Tenant, []string{oxbow.NewID(sc.Tenant, "a"), oxbow.NewID("ada", "a")}, start.AddDate(0, 0, 100*g+i)); err != nil || n > 2 || n == 2 && sc != adas {
							t.Errorf("%s used %d, error %v", sc, n, err)
						}
						return nil
					})
				}
			})
		}
		wg.Wait()
	})
}

func TestGrants(t *testing.T) {
	t.Parallel()

	t.Run("says how the wall stands for whoever is connected", func(t *testing.T) {
		t.Parallel()
		p := pgtest.Split(t)
		owner := open(t, p.Owner)
		if err := owner.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := owner.Grant(t.Context(), p.Role); err != nil {
			t.Fatal(err)
		}
		for url, want := range map[string]string{p.Admin: "does not stand: the user", p.Owner: "stands, but", p.Runtime: "stands; the user " + p.Role} {
			w, err := open(t, url).Wall(t.Context())
			if err != nil || !strings.HasPrefix(w.Says, want) || w.Stands != !strings.HasPrefix(want, "does not") {
				t.Errorf("it says %q, want %q, error %v", w.Says, want, err)
			}
		}
		if _, err := byHand(t, owner).Exec(t.Context(), `ALTER TABLE links NO FORCE ROW LEVEL SECURITY`); err != nil {
			t.Fatal(err)
		}
		if w, err := open(t, p.Runtime).Wall(t.Context()); err != nil || w.Stands || !strings.Contains(w.Says, "around links") {
			t.Errorf("with a hole it says %q, error %v", w.Says, err)
		}
	})

	t.Run("refuse roles that no policy holds, and one that is not there", func(t *testing.T) {
		t.Parallel()
		owner, s := setupBoth(t)
		hand := byHand(t, s)
		for role, want := range map[string]string{hand.Config().User: oxbow.CodeInvalid, owner.pool.Config().ConnConfig.User: oxbow.CodeInvalid, `no"body`: oxbow.CodeNotFound} {
			if err := owner.Grant(t.Context(), role); oxbow.CodeOf(err) != want {
				t.Errorf("%s: %v", role, err)
			}
		}
	})

	t.Run("are needed before anything can be read, and say so", func(t *testing.T) {
		t.Parallel()
		p := pgtest.Split(t)
		if err := open(t, p.Owner).Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := open(t, p.Runtime).Migrate(t.Context()); oxbow.CodeOf(err) != oxbow.CodeUnavailable || !strings.Contains(err.Error(), "oxbow db grant") {
			t.Errorf("the error is %v", err)
		}
	})

	t.Run("reach the tables of a later migration, which only the owner may run", func(t *testing.T) {
		t.Parallel()
		owner, s := setupBoth(t)
		hand := byHand(t, s)
		if _, err := owner.pool.Exec(t.Context(), `CREATE TABLE later (scope bigint NOT NULL)`); err != nil {
			t.Fatal(err)
		}
		if err := owner.grantAgain(t.Context(), owner.pool); err != nil {
			t.Fatal(err)
		}
		if err := owner.Migrate(t.Context()); err != nil { // which gives the table its policies
			t.Fatal(err)
		}
		furnish(t, s, adas)
		as(t, s, adas, func(tx pgx.Tx) {
			if _, err := tx.Exec(t.Context(), `INSERT INTO later SELECT seq FROM scopes`); err != nil {
				t.Error(err)
			}
		})
		as(t, s, adas, func(tx pgx.Tx) {
			if _, err := tx.Exec(t.Context(), `INSERT INTO later VALUES (99)`); !isDenied(err) {
				t.Errorf("the new table takes a row of nobody's: %v", err)
			}
		})
		if _, err := hand.Exec(t.Context(), `DELETE FROM goose_db_version WHERE version_id = (SELECT max(version_id) FROM goose_db_version)`); err != nil {
			t.Fatal(err)
		}
		if err := s.Migrate(t.Context()); oxbow.CodeOf(err) != oxbow.CodeUnavailable || !strings.Contains(err.Error(), "as their owner") {
			t.Errorf("to whom the tables are not, it says %v", err)
		}
	})

	t.Run("refuse a table of which nobody can say whose its rows are", func(t *testing.T) {
		t.Parallel()
		owner, _ := setupBoth(t)
		if _, err := owner.pool.Exec(t.Context(), `CREATE TABLE stray (id bigint)`); err != nil {
			t.Fatal(err)
		}
		if err := owner.Migrate(t.Context()); err == nil || !strings.Contains(fmt.Sprint(errors.Unwrap(err)), "stray") {
			t.Errorf("the error is %v", err)
		}
	})
}
