package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

const pageSize = 4096

// openFull opens a new file that has room for some pages more.
func openFull(t *testing.T, room int) *Store {
	t.Helper()
	path := newFile(t)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return open(t, Config{Path: path, MaxPages: int(info.Size()/pageSize) + room})
}

// big gives a text of about n pages, of few words, so that its terms take no
// room worth counting.
func big(n int) string { return strings.Repeat("aaaaaaa ", n*pageSize/8) }

func TestFullDisk(t *testing.T) {
	t.Parallel()

	t.Run("refuses the write whole, reads on, and writes again when there is room", func(t *testing.T) {
		t.Parallel()
		ctx, s := t.Context(), openFull(t, 60)
		stored := 0
		var err error
		for err == nil && stored < 100 {
			if err = remember(ctx, s, fmt.Sprint(stored), big(8)); err == nil {
				stored++
			}
		}
		wantUnavailable(t, err, "make room")
		if n := count(t, s); n != stored || n == 0 {
			t.Fatalf("%d memories can be read and %d were stored", n, stored)
		}
		events, err := s.Events(ctx, store.EventFilter{Tenant: home.Tenant, Limit: 100})
		if err != nil || len(events) != stored {
			t.Fatalf("there are %d events for %d memories: %v", len(events), stored, err)
		}
		if found, err := s.Check(ctx); err != nil || len(found) != 0 {
			t.Fatalf("the database is damaged: %q %v", found, err)
		}
		if err := forget(ctx, s, "0"); err != nil {
			t.Fatalf("an erasure makes room and was refused: %v", err)
		}
		if err := remember(ctx, s, "again", big(6)); err != nil {
			t.Fatalf("there is room now: %v", err)
		}
		if n := count(t, s); n != stored+1 {
			t.Fatalf("%d memories can be read, want %d", n, stored+1)
		}
	})

	t.Run("takes no other of the group with the transaction that fills the disk", func(t *testing.T) {
		t.Parallel()
		ctx, s := t.Context(), openFull(t, 120)
		const others = 20
		held, begun := make(chan struct{}), make(chan struct{})
		runs := make([]int, others)
		errs := make([]error, others)
		var full, first error
		var wg sync.WaitGroup
		wg.Go(func() {
			var once sync.Once
			first = s.InTx(ctx, func(context.Context, store.Tx) error {
				once.Do(func() { close(begun) })
				<-held
				return nil
			})
		})
		<-begun
		wg.Go(func() { full = remember(ctx, s, "full", big(500)) })
		for i := range others {
			wg.Go(func() {
				m := fmt.Sprint(i)
				errs[i] = s.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
					runs[i]++
					if _, err := tx.LockScope(ctx, home, now); err != nil {
						return err
					}
					return tx.PutRun(ctx, oxbow.Run{ID: oxbow.NewID(m), Scope: home, About: now, StartedAt: now})
				})
			})
		}
		close(held)
		wg.Wait()
		wantUnavailable(t, full, "make room")
		if first != nil {
			t.Errorf("the first of the group failed: %v", first)
		}
		for i, err := range errs {
			if err != nil {
				t.Errorf("transaction %d failed after %d runs: %v", i, runs[i], err)
			}
		}
		all, err := s.ListRuns(ctx, store.RunFilter{Tenant: home.Tenant, Limit: 100})
		if err != nil || len(all) != others || count(t, s) != 0 {
			t.Fatalf("%d of %d are stored, beside %d memories: %v", len(all), others, count(t, s), err)
		}
	})
}

// TestGroup drives commitGroup itself, so that the group is known.
func TestGroup(t *testing.T) {
	t.Parallel()

	t.Run("answers each of a group for itself", func(t *testing.T) {
		t.Parallel()
		s := openFull(t, 120)
		put := func(name string) func(context.Context, *tx) error {
			return func(ctx context.Context, tx *tx) error {
				if _, err := tx.LockScope(ctx, home, now); err != nil {
					return err
				}
				return tx.PutRun(ctx, oxbow.Run{ID: name, Scope: home, About: now, StartedAt: now})
			}
		}
		// The order in which a group is gathered is not ours, so the scope is made first.
		if err := s.submit(t.Context(), func(ctx context.Context, tx *tx) error {
			_, err := tx.LockScope(ctx, home, now)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		group := []struct {
			ctx  context.Context
			fn   func(context.Context, *tx) error
			want string
		}{
			{t.Context(), put("a"), ""},
			{t.Context(), func(ctx context.Context, tx *tx) error {
				if err := put("b")(ctx, tx); err != nil {
					return err
				}
				_, err := tx.q.exec(ctx, "INSERT INTO nowhere VALUES (1)")
				return translate(err, "write")
			}, oxbow.CodeInternal},
			{over, put("c"), oxbow.CodeInternal},
			{t.Context(), func(ctx context.Context, tx *tx) error {
				_, err := tx.q.exec(ctx, insertContent, "x", 1, "x", "", big(500))
				return translate(err, "write")
			}, oxbow.CodeUnavailable},
			{t.Context(), func(context.Context, *tx) error { panic("on purpose") }, oxbow.CodeInternal},
			{t.Context(), put("d"), ""},
		}
		var wg sync.WaitGroup
		got := make([]error, len(group))
		hold, held := make(chan struct{}), make(chan struct{})
		wg.Go(func() {
			_ = s.submit(t.Context(), func(context.Context, *tx) error {
				select {
				case <-held: // run again after the group broke
				default:
					close(held)
					<-hold
				}
				return nil
			})
		})
		<-held
		for i, g := range group {
			wg.Go(func() { got[i] = s.submit(g.ctx, g.fn) })
		}
		close(hold)
		wg.Wait()
		for i, g := range group {
			if code := oxbow.CodeOf(got[i]); code != g.want {
				t.Errorf("request %d ended with %v (%q), want %q", i, got[i], code, g.want)
			}
		}
		all, err := s.ListRuns(t.Context(), store.RunFilter{Tenant: home.Tenant, Limit: 9})
		if err != nil || len(all) != 2 {
			t.Fatalf("%d runs are stored, want a and d: %v", len(all), err)
		}
	})
}

func TestEndedContext(t *testing.T) {
	t.Parallel()

	t.Run("runs nothing of a transaction whose context ended while it waited", func(t *testing.T) {
		t.Parallel()
		s := openMigrated(t, Config{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r := &request{ctx: ctx, done: make(chan struct{}), fn: func(context.Context, *tx) error {
			t.Error("the function was called")
			return nil
		}}
		s.requests <- r // past submit, which would look at the context first
		<-r.done
		if !errors.Is(r.err, context.Canceled) {
			t.Fatalf("the error is %v", r.err)
		}
	})
}

func TestDamage(t *testing.T) {
	t.Parallel()

	t.Run("names pages that were overwritten", func(t *testing.T) {
		t.Parallel()
		path := newFile(t)
		s, err := Open(t.Context(), Config{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 50 {
			if err := remember(t.Context(), s, fmt.Sprint(i), big(1)); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		from := len(file) * 3 / 4 // behind the pages of the schema, without which it does not even open
		for at := from; at < from+20*pageSize; at++ {
			file[at] = 0x5a
		}
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		s = open(t, Config{Path: path})
		found, err := s.Check(t.Context())
		if err != nil {
			wantUnavailable(t, err, "damaged")
		} else if len(found) == 0 {
			t.Fatal("twenty pages are overwritten and the check found nothing")
		}
	})
}

func TestErasedWords(t *testing.T) {
	t.Parallel()

	t.Run("are overwritten in the file as soon as the log is folded into it, without Vacuum", func(t *testing.T) {
		t.Parallel()
		ctx, path := t.Context(), newFile(t)
		s := open(t, Config{Path: path})
		const canary = "xylotomous"
		fold := func() {
			t.Helper()
			if _, err := s.write.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
				t.Fatal(err)
			}
		}
		if err := remember(ctx, s, "a", "the "+canary+" beetle"); err != nil {
			t.Fatal(err)
		}
		fold()
		if !standsIn(t, path, canary) {
			t.Fatal("the word is nowhere even before it is erased, so this test could not fail")
		}
		if err := forget(ctx, s, "a"); err != nil {
			t.Fatal(err)
		}
		fold()
		if standsIn(t, path, canary) {
			t.Fatal("the word can still be read from the disk")
		}
	})

	t.Run("are in no file after Erase and Vacuum", func(t *testing.T) {
		t.Parallel()
		ctx, path := t.Context(), newFile(t)
		s := open(t, Config{Path: path})
		const canary = "xylotomous"
		if err := remember(ctx, s, "a", "the "+canary+" beetle"); err != nil {
			t.Fatal(err)
		}
		for i := range 30 { // neighbours on the same pages
			if err := remember(ctx, s, fmt.Sprint(i), fmt.Sprint("a neighbour ", i)); err != nil {
				t.Fatal(err)
			}
		}
		id, turn := oxbow.NewID("a"), oxbow.Turn{ID: oxbow.NewID("turn"), Scope: home, User: "I saw a " + canary, At: now, CreatedAt: now}
		err := s.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
			if _, err := tx.AddTurns(ctx, []oxbow.Turn{turn}); err != nil {
				return err
			}
			_, err := tx.Apply(ctx, store.Batch{Scope: home, Run: "r", Now: now, RecordedAt: now}, []oxbow.Change{
				{Type: oxbow.Edited, Memory: id, Actor: "user", Content: &oxbow.Content{Text: "a " + canary + " moth", Tags: []string{canary}}}})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, owner := range []string{id, turn.ID} { // what a model said about the words
			answer := store.LLMAnswer{Scope: home, Key: owner, Owners: []string{owner}, Answer: []byte(`"a ` + canary + `"`), At: now, ExpiresAt: now.Add(time.Hour)}
			if err := s.InTx(ctx, func(ctx context.Context, tx store.Tx) error { return tx.PutLLMAnswer(ctx, answer, now) }); err != nil {
				t.Fatal(err)
			}
			if _, err := s.LLMAnswer(ctx, home.Tenant, owner, now); err != nil {
				t.Fatal(err)
			}
		}
		if !standsIn(t, path, canary) {
			t.Fatal("the word is nowhere even before it is erased, so this test could not fail")
		}
		if err := forget(ctx, s, "a"); err != nil {
			t.Fatal(err)
		}
		if err := s.InTx(ctx, func(ctx context.Context, tx store.Tx) error { return tx.EraseTurn(ctx, home, turn.ID) }); err != nil {
			t.Fatal(err)
		}
		if err := s.Vacuum(ctx); err != nil {
			t.Fatal(err)
		}
		if standsIn(t, path, canary) {
			t.Fatal("the word can still be read from the disk")
		}
		if n := count(t, s); n != 31 {
			t.Fatalf("%d memories are left, want 31", n)
		}
	})
}

// standsIn tells whether a word stands in a database file or beside it, in any
// case.
func standsIn(t *testing.T, path, word string) bool {
	t.Helper()
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		content, err := os.ReadFile(path + suffix)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if bytes.Contains(bytes.ToLower(content), []byte(word)) {
			return true
		}
	}
	return false
}
