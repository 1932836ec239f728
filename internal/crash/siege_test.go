package crash

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/worker"
)

// patience bounds every wait of these tests.
const patience = 3 * time.Minute

// one keeps heavy tests apart: each brings processes of its own, and what is
// proven about timing is proven better alone.
var one sync.Mutex

// heavy runs a test alone and on each database, or says why not.
func heavy(t *testing.T, test func(t *testing.T, p place)) {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts and kills processes for many seconds, which -short leaves out")
	}
	for _, name := range []string{"SQLite", "Postgres"} {
		t.Run("on "+name, func(t *testing.T) {
			p := somewhere(t, name)
			one.Lock()
			defer one.Unlock()
			test(t, p)
		})
	}
}

// somewhere gives a migrated database of the test's own.
func somewhere(t *testing.T, name string) place {
	t.Helper()
	p := place{file: filepath.Join(t.TempDir(), "oxbow.db")}
	if name == "Postgres" {
		p = place{url: pgtest.URL(t)}
	}
	must(t, p.opened(t).Migrate(t.Context()))
	return p
}

// opened opens a place for the length of the test.
func (p place) opened(t *testing.T) store.Store {
	t.Helper()
	st, err := p.open(t.Context())
	must(t, err)
	t.Cleanup(func() { must(t, st.Close()) })
	return st
}

// enough is how often workers go down before a siege lets them be: the rest is
// to show that what they left is taken up.
const enough = 40

// siege keeps worker processes running and kills them.
type siege struct {
	t     *testing.T
	order order
	r     *rand.Rand
	mu    sync.Mutex
	kills atomic.Int64  // by this process
	falls atomic.Int64  // by their own hand
	until time.Duration // how long a child lives at most
	all   bool          // every child may fall by its own hand
}

func newSiege(t *testing.T, p place, o order) *siege {
	o.File, o.URL = p.file, p.url
	return &siege{t: t, order: o, r: rand.New(rand.NewPCG(o.Seed, 11)), until: 500 * time.Millisecond}
}

// during keeps n workers running, each for a random while, until stop is closed.
// The ones that run then stop gracefully.
func (s *siege) during(n int, stop <-chan struct{}) {
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for life := s.life(); s.one(life, stop); life = s.life() {
			}
		})
	}
	wg.Wait()
}

func (s *siege) life() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.order.Seed++
	if s.kills.Load()+s.falls.Load() >= enough {
		s.order.Before, s.order.After = 0, 0
		return patience
	}
	return 20*time.Millisecond + time.Duration(s.r.Int64N(int64(s.until)))
}

// next gives the order of the next child. Unless all are to fall, every second
// one does not by its own hand, so that on any machine there are some of both.
func (s *siege) next() order {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.order
	if o.Seed%2 == 1 && !s.all {
		o.Before, o.After = 0, 0
	}
	return o
}

// tardy is how long a child may take to begin on a busy machine.
const tardy = 3 * time.Second

// one runs one child for a while and tells whether there is to be another.
func (s *siege) one(life time.Duration, stop <-chan struct{}) bool {
	c, err := start(s.next())
	if err != nil {
		s.t.Error(err)
		return false
	}
	timer := time.NewTimer(life + tardy)
	defer timer.Stop()
	select {
	case <-c.working: // from here on it lives as long as it was given
		timer.Reset(life)
	case <-timer.C:
		timer.Reset(0)
	case <-c.gone:
	case <-stop:
	}
	select {
	case <-c.gone:
		if !c.killed() {
			s.t.Errorf("a worker ended by itself: %v\n%s", c.err, c.said.String())
			return false
		}
		s.falls.Add(1)
	case <-timer.C:
		c.kill()
		s.kills.Add(1)
	case <-stop:
		c.stop(s.t)
		return false
	}
	return true
}

// child is a process that this one started.
type child struct {
	cmd  *exec.Cmd
	in   io.Closer
	said *bytes.Buffer
	// working is closed when it begins to change something, gone when it ended.
	working, gone chan struct{}
	err           error
}

func start(o order) (*child, error) {
	b, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	c := &child{cmd: exec.Command(os.Args[0], "-test.run=^TestHelperProcess$"), said: &bytes.Buffer{}, working: make(chan struct{}), gone: make(chan struct{})}
	c.cmd.Env = append(os.Environ(), orderVariable+"="+string(b))
	c.cmd.Stderr = c.said
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if lines.Text() == atWork {
				close(c.working)
			}
		}
		c.err = c.cmd.Wait()
		close(c.gone)
	}()
	return c, nil
}

// killed tells whether a process that is gone was killed, by whomever.
func (c *child) killed() bool {
	return !c.cmd.ProcessState.Exited()
}

func (c *child) kill() {
	_ = c.cmd.Process.Kill() // it may have ended meanwhile
	<-c.gone
}

// stop asks a worker to end; one that falls on the way is as good.
func (c *child) stop(t *testing.T) {
	_ = c.in.Close()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-c.gone:
		if !c.killed() && c.err != nil {
			t.Errorf("a worker did not stop well: %v\n%s", c.err, c.said.String())
		}
	case <-timer.C:
		c.kill()
		t.Error("a worker did not stop")
	}
}

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	end := time.NewTimer(patience)
	defer end.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-end.C:
			t.Fatal("gave up waiting until " + what)
		}
	}
}

// drained tells whether every job is done. Those that wait for another attempt
// are made ready: nothing here is worth waiting for.
func drained(t *testing.T, st store.Store) bool {
	t.Helper()
	left, err := st.PendingJobs(t.Context(), "", "")
	must(t, err)
	if left == 0 {
		return true
	}
	for _, state := range []string{"retryable", "scheduled"} {
		waiting, err := st.ListJobs(t.Context(), store.JobFilter{State: state, Limit: 1000})
		must(t, err)
		for _, j := range waiting {
			must(t, st.InTx(t.Context(), func(ctx context.Context, tx store.Tx) error { return tx.RetryJob(ctx, j.ID) }))
		}
	}
	return false
}

// workHere works in this process, undisturbed, until nothing is left.
func workHere(t *testing.T, st store.Store, unguarded bool) {
	t.Helper()
	w, err := worker.New(deps(st, unguarded), worker.Config{TTL: lifetime})
	must(t, err)
	must(t, w.Start(t.Context()))
	eventually(t, "the queue is empty", func() bool { return drained(t, st) })
	must(t, w.Stop(t.Context()))
}
