package engine

import (
	"context"
	"sync"
	"time"
)

// keptFor is how long stands what reads every memory of a tenant to be worked
// out, and has an instant beside it that says so.
const keptFor = time.Minute

// mostKept bounds what is kept of one kind.
const mostKept = 1000

// keeper keeps what was worked out, by key. Those who ask for one key at once wait
// for the first and share what it finds. It is safe for concurrent use.
type keeper[V any] struct {
	mu sync.Mutex
	of map[string]*keeping[V]
}

type keeping[V any] struct {
	turn chan struct{} // held by who works it out
	made int64         // how often it was worked out; under keeper.mu, as at and v
	at   time.Time
	v    V
}

// get gives what is kept of a key, or works it out when that is older than
// keptFor. With anew it is never older than the call.
func (k *keeper[V]) get(ctx context.Context, key string, now time.Time, anew bool, work func(context.Context) (V, error)) (V, error) {
	c, made := k.find(key)
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		var none V
		return none, ctx.Err()
	}
	k.mu.Lock()
	begun := c.made - made // since the call: what was under way then is of before it
	stands := c.made > 0 && !now.Before(c.at) && now.Sub(c.at) < keptFor && (!anew || begun > 1)
	v := c.v
	k.mu.Unlock()
	if stands {
		return v, nil
	}
	v, err := work(ctx)
	if err != nil {
		return v, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	c.made, c.at, c.v = c.made+1, now, v
	return v, nil
}

// find gives the place of a key, in the stead of the oldest when there are too many.
func (k *keeper[V]) find(key string) (c *keeping[V], made int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if c = k.of[key]; c != nil {
		return c, c.made
	}
	if k.of == nil {
		k.of = map[string]*keeping[V]{}
	}
	if len(k.of) >= mostKept {
		oldest := ""
		for name, c := range k.of {
			if oldest == "" || c.at.Before(k.of[oldest].at) {
				oldest = name
			}
		}
		delete(k.of, oldest)
	}
	c = &keeping[V]{turn: make(chan struct{}, 1)}
	k.of[key] = c
	return c, 0
}

// Anew gives an engine of which Status and Health keep nothing of before the call.
func (e *Engine) Anew() *Engine {
	c := *e
	c.anew = true
	return &c
}
