package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/store/sqlite"
)

// The history that a killed import takes in: enough transactions that a kill at a
// random moment falls between two of them, or into one.
const (
	killScopes   = 10
	killMemories = 200 // of each scope, one in five an observation of two turns
	killTurns    = 40
	killsEach    = 4 // of one database; then the import is let be
	killBases    = 6 // databases of each kind, at most
	killsWanted  = 3 // that left a part of the file
)

// built runs the built program in a home of its own.
type built struct {
	*testing.T
	home string
}

func (p built) command(args ...string) *exec.Cmd {
	cmd := exec.Command("oxbow", args...)
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+p.home, "XDG_DATA_HOME="+p.home, "TZ=UTC", "OXBOW_EMBEDDER=none")
	return cmd
}

func (p built) run(args ...string) string {
	p.Helper()
	cmd := p.command(args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		p.Fatalf("%v: %v\n%s%s", args, err, out, said.String())
	}
	return string(out)
}

// exported gives what a database holds, without the header, which says when it was
// written.
func (p built) exported(db string) string {
	p.Helper()
	_, body, _ := strings.Cut(p.run("export", "-", "--db", db), "\n")
	return body
}

// told makes a database of everything that the test carries.
func (p built) told(path string) {
	p.Helper()
	ctx := p.Context()
	st, err := sqlite.Open(ctx, sqlite.Config{Path: path})
	if err != nil {
		p.Fatal(err)
	}
	defer func() {
		if err := st.Close(); err != nil {
			p.Error(err)
		}
	}()
	if err := st.Migrate(ctx); err != nil {
		p.Fatal(err)
	}
	at := time.Now().UTC().Add(-72 * time.Hour).Truncate(time.Second)
	for n := range killScopes {
		s := oxbow.Scope{Tenant: "default", Name: fmt.Sprintf("project:p%d", n)}
		if err := st.InTx(ctx, func(ctx context.Context, tx store.Tx) error { return tell(ctx, tx, s, at) }); err != nil {
			p.Fatal(err)
		}
	}
}

// tell fills one scope with turns that were observed and with memories of them.
func tell(ctx context.Context, tx store.Tx, s oxbow.Scope, at time.Time) error {
	if _, err := tx.LockScope(ctx, s, at); err != nil {
		return err
	}
	run := oxbow.Run{ID: oxbow.NewID("run", s.Name), Scope: s, Name: "observe", Trigger: "chain", Status: oxbow.RunDone, About: at, StartedAt: at, FinishedAt: at}
	if err := tx.PutRun(ctx, run); err != nil {
		return err
	}
	turns, ids := make([]oxbow.Turn, killTurns), make([]string, killTurns)
	for i := range turns {
		ids[i] = oxbow.NewID("turn", s.Name, fmt.Sprint(i))
		turns[i] = oxbow.Turn{ID: ids[i], Scope: s, Conversation: "c", User: fmt.Sprintf("The %d. port of the harbour is free.", i),
			At: at.Add(time.Duration(i) * time.Minute), State: oxbow.TurnExtracted, CreatedAt: at}
	}
	if _, err := tx.AddTurns(ctx, turns); err != nil {
		return err
	}
	for _, t := range turns {
		if err := tx.FinishTurn(ctx, t); err != nil {
			return err
		}
	}
	if err := tx.ObserveTurns(ctx, s, ids, run.ID); err != nil {
		return err
	}
	var changes []oxbow.Change
	var rests []store.Evidence
	for i := range killMemories {
		m := oxbow.Memory{ID: oxbow.NewID("memory", s.Name, fmt.Sprint(i)), Scope: s, Status: oxbow.Active, Kind: oxbow.Semantic, Importance: 5, Rating: 0.7, Rated: true,
			Content: oxbow.Content{Text: fmt.Sprintf("Port %d of the harbour belongs to service %d.", i, i%7)}, Source: oxbow.FromUser,
			SaidAt: at.Add(time.Duration(i) * time.Minute), CreatedAt: at}
		if i%5 == 0 {
			m.Kind, m.Conversation, m.Turn = oxbow.Observation, "c", ids[1+i%(killTurns-1)]
			rests = append(rests, store.Evidence{Memory: m.ID, Turn: m.Turn}, store.Evidence{Memory: m.ID, Turn: ids[0]})
		}
		changes = append(changes, oxbow.Change{Type: oxbow.Created, Memory: m.ID, New: &m, Actor: "user"})
	}
	if _, err := tx.Apply(ctx, store.Batch{Scope: s, Run: run.ID, Now: at, RecordedAt: at}, changes); err != nil {
		return err
	}
	return tx.PutEvidence(ctx, s, rests)
}

// cutDown starts an import and kills it after a while; it tells whether it was
// killed before it ended. An import that ends must have gone well.
func (p built) cutDown(file, db string, life time.Duration) bool {
	p.Helper()
	cmd := p.command("import", file, "--db", db)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		p.Fatal(err)
	}
	timer := time.AfterFunc(life, func() { _ = cmd.Process.Kill() }) // it may have ended meanwhile
	err := cmd.Wait()
	timer.Stop()
	if !cmd.ProcessState.Exited() {
		return true
	}
	if err != nil {
		p.Fatalf("an import that nobody killed ends with %v\n%s", err, said.String())
	}
	return false
}

func TestKilledImport(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts and kills processes for many seconds, which -short leaves out")
	}
	p := built{t, t.TempDir()}
	source, file := filepath.Join(p.home, "source.db"), filepath.Join(p.home, "memory.jsonl")
	p.told(source)
	p.run("export", file, "--db", source)
	want := p.exported(source)
	for name, fresh := range map[string]func(*testing.T) string{
		"SQLite":   func(t *testing.T) string { return filepath.Join(t.TempDir(), "oxbow.db") },
		"Postgres": func(t *testing.T) string { return pgtest.URL(t) },
	} {
		t.Run("goes on when it is run again, and ends as one that nobody killed, on "+name, func(t *testing.T) {
			p := built{t, p.home}
			whole := p.undisturbed(file, fresh(t), want)
			w := &window{r: rand.New(rand.NewPCG(11, 5)), hi: whole}
			kills, parts := 0, 0
			for n := 0; n < killBases && parts < killsWanted; n++ {
				k, n := p.siege(file, fresh(t), want, w)
				kills, parts = kills+k, parts+n
			}
			t.Logf("an import takes %v; %d were killed, %d of them left a part of the file", whole.Round(time.Millisecond), kills, parts)
			if parts < killsWanted {
				t.Error("that is too few to prove anything")
			}
		})
	}
}

// undisturbed imports at once, and gives how long that takes.
func (p built) undisturbed(file, db, want string) time.Duration {
	p.Helper()
	began := time.Now()
	p.run("import", file, "--db", db)
	took := time.Since(began)
	if p.exported(db) != want {
		p.Fatal("an import that nobody kills does not give what was exported")
	}
	return took
}

// window is when in the life of an import a kill leaves a part of the file, as far
// as the kills before have shown: a start takes long on a busy machine, and the
// second reading, which writes nothing, is half of the rest.
type window struct {
	r      *rand.Rand
	lo, hi time.Duration
}

func (w *window) life() time.Duration {
	if w.hi < w.lo+10*time.Millisecond { // the machine is slower or faster by now
		w.lo, w.hi = w.hi/2, w.lo*3/2
	}
	return w.lo + time.Duration(w.r.Int64N(int64(w.hi-w.lo)+1))
}

// siege kills imports into a database until one ends or has everything in, and
// holds what it left to the export. It gives how many it killed and how many of
// them left a part.
func (p built) siege(file, db, want string, w *window) (kills, parts int) {
	p.Helper()
	all := strings.Count(want, "\n")
	for kills < killsEach {
		life := w.life()
		if !p.cutDown(file, db, life) {
			w.hi = life
			break
		}
		kills++
		if _, err := os.Stat(db); errors.Is(err, os.ErrNotExist) && !strings.Contains(db, "://") { // not even the file was made
			w.lo = life
			continue
		}
		n := strings.Count(p.exported(db), "\n")
		if n >= all {
			w.hi = life
			break
		}
		if n <= 1 { // the trailer alone
			w.lo = life
			continue
		}
		parts++
		if out := p.run("doctor", "--deep", "--db", db); strings.Contains(out, "finding") {
			p.Fatalf("after %d kills the doctor says\n%s", kills, out)
		}
	}
	p.run("import", file, "--db", db)
	if got := p.exported(db); got != want {
		p.Fatalf("after %d kills the export has %d lines and differs from the first, of %d", kills, strings.Count(got, "\n"), all)
	}
	return kills, parts
}
