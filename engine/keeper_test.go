package engine_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/internal/lab"
	"github.com/oxbow-memory/oxbow/store"
)

// gated counts how often strengths are counted, and holds that up.
type gated struct {
	store.Store
	counted atomic.Int64
	begun   chan struct{}
	goOn    chan struct{}
}

func (g *gated) Strengths(ctx context.Context, tenant string, now time.Time, n int) ([]int, error) {
	if g.counted.Add(1) == 1 {
		close(g.begun)
	}
	<-g.goOn
	return g.Store.Strengths(ctx, tenant, now, n)
}

func TestHealth(t *testing.T) {
	t.Parallel()
	t.Run("is worked out once for all who ask at once, stands for a minute, and is worked out anew when asked to", func(t *testing.T) {
		t.Parallel()
		c := carrying(t, lab.OpenSQLite(t))
		g := &gated{Store: c.db, begun: make(chan struct{}), goOn: make(chan struct{})}
		e := engine.New(engine.Config{Store: g, Clock: func() time.Time { return c.now }})
		_, err := c.engine.Remember(t.Context(), engine.Statement{Scope: oxbow.Scope{Tenant: c.tenant, Name: "user:ada"}, Text: "we keep a lamp"})
		c.must(err)
		look := func(e *engine.Engine) engine.Health {
			h, err := e.Health(t.Context(), c.tenant)
			if err != nil {
				t.Error(err)
			}
			return h
		}
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() { look(e) })
		}
		<-g.begun
		close(g.goOn)
		all.Wait()
		first := c.now
		c.now = c.now.Add(59 * time.Second)
		if h := look(e); g.counted.Load() != 1 || !h.At.Equal(first) || h.Memories[oxbow.Active] != 1 {
			t.Fatalf("after 59 seconds it was counted %d times: %+v", g.counted.Load(), h)
		}
		if h := look(e.As("ada").Anew()); g.counted.Load() != 2 || !h.At.Equal(c.now) {
			t.Fatalf("asked anew, it was counted %d times: %+v", g.counted.Load(), h)
		}
		c.now = c.now.Add(time.Minute)
		if h := look(e); g.counted.Load() != 3 || !h.At.Equal(c.now) {
			t.Fatalf("after a minute more it was counted %d times: %+v", g.counted.Load(), h)
		}
	})
}
