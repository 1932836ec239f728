package crash

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/llm/offline"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/store/postgres"
	"github.com/oxbow-memory/oxbow/store/sqlite"
	"github.com/oxbow-memory/oxbow/worker"
)

// orderVariable tells the test binary that it is a child, and which one.
const orderVariable = "OXBOW_CRASH_CHILD"

// lifetime is how long a worker that is gone counts as alive here.
const lifetime = time.Second

// order is what a child is to do.
type order struct {
	Do        string // work or ingest
	File, URL string // the database: one of the two
	Unguarded bool
	Seed      uint64
	// Before and After are the shares of changing transactions right before and
	// right after whose commit the child kills itself.
	Before, After float64
	Turns, Scopes int // of the history to ingest
}

// place is a database that several processes open.
type place struct{ file, url string }

func (p place) open(ctx context.Context) (store.Store, error) {
	if p.url != "" {
		return postgres.Open(ctx, postgres.Config{URL: p.url, MaxConns: 12})
	}
	return sqlite.Open(ctx, sqlite.Config{Path: p.file})
}

func clock() time.Time { return Ends }

func deps(st store.Store, unguarded bool) jobs.Deps {
	return jobs.Deps{Store: st, Judge: offline.New(), Observer: offline.New(), Embedder: offline.NewEmbedder(), Clock: clock, Unguarded: unguarded}
}

// TestHelperProcess is no test: it is what a child process runs.
func TestHelperProcess(t *testing.T) {
	given := os.Getenv(orderVariable)
	if given == "" {
		return
	}
	var o order
	must(t, json.Unmarshal([]byte(given), &o))
	if err := obey(o); err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// obey works until the parent closes the standard input, or ingests a history.
func obey(o order) error {
	ctx := context.Background()
	st, err := place{o.File, o.URL}.open(ctx)
	if err != nil {
		return err
	}
	mine := &fatal{Store: st, before: o.Before, after: o.After, r: rand.New(rand.NewPCG(o.Seed, 7))}
	if o.Do == "ingest" {
		return ingest(ctx, mine, History(o.Seed, tenant, o.Turns, o.Scopes))
	}
	w, err := worker.New(deps(mine, o.Unguarded), worker.Config{TTL: lifetime})
	if err != nil {
		return err
	}
	if err := w.Start(ctx); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	if err := w.Stop(ctx); err != nil {
		return err
	}
	return st.Close()
}

// ingestBatch is how many turns an ingester stores at a time.
const ingestBatch = 20

func ingest(ctx context.Context, st store.Store, turns []oxbow.Turn) error {
	e := engine.New(engine.Config{Store: st, Judge: offline.New(), Observer: offline.New(), Embedder: offline.NewEmbedder(), Clock: clock})
	for len(turns) > 0 {
		n := min(ingestBatch, len(turns))
		if _, err := e.Ingest(ctx, turns[:n]); err != nil {
			return err
		}
		turns = turns[n:]
	}
	return nil
}

var _ store.Store = (*fatal)(nil)

// atWork is what a child says when it is about to change something for the first
// time, so that its life is counted from there and not from its start.
const atWork = "at work"

// fatal is a store whose process dies around commits.
type fatal struct {
	store.Store
	before, after float64

	first sync.Once // a change, which is told to the parent
	mu    sync.Mutex
	r     *rand.Rand
}

// InTx dies with a share of the transactions that change something: just before
// the commit, when all is written, or just after it, when the transaction stands
// and nobody has been told.
func (f *fatal) InTx(ctx context.Context, fn func(context.Context, store.Tx) error) error {
	changed := false
	err := f.Store.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
		watched := &watchedTx{Tx: tx}
		if err := fn(ctx, watched); err != nil {
			return err
		}
		changed = watched.changed
		if changed {
			f.first.Do(func() { fmt.Println(atWork) })
		}
		if changed && f.falls(f.before) {
			die()
		}
		return nil
	})
	if err == nil && changed && f.falls(f.after) {
		die()
	}
	return err
}

func (f *fatal) falls(share float64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.r.Float64() < share
}

// die ends this process as the kernel would: nothing is closed or flushed.
func die() {
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Kill() // there is nobody left to tell
	}
	select {}
}

// watchedTx knows whether a transaction changes what is known; signs of life do
// not.
type watchedTx struct {
	store.Tx
	changed bool
}

func (w *watchedTx) Apply(ctx context.Context, b store.Batch, cs []oxbow.Change) (store.Applied, error) {
	w.changed = true
	return w.Tx.Apply(ctx, b, cs)
}

func (w *watchedTx) PutRun(ctx context.Context, r oxbow.Run) error {
	w.changed = true
	return w.Tx.PutRun(ctx, r)
}

func (w *watchedTx) Enqueue(ctx context.Context, js []river.InsertManyParams) error {
	w.changed = w.changed || len(js) > 0
	return w.Tx.Enqueue(ctx, js)
}
