package postgres

import (
	"maps"
	"sync"

	"github.com/oxbow-memory/oxbow"
)

// maxKnown bounds the scopes that a process remembers.
const maxKnown = 10_000

// scopes remembers what committed scopes are, so that most transactions need not
// ask. The number of a scope never changes; its settings do, and whoever uses
// them has the server check their version under the lock.
type scopes struct {
	mu sync.RWMutex
	at map[oxbow.Scope]known
}

// known is what is remembered of a scope. Of the settings the count of memories
// may be an old one.
type known struct {
	seq      int64
	settings *oxbow.ScopeSettings // nil when only the number is known
}

func (c *scopes) get(s oxbow.Scope) (known, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	k, ok := c.at[s]
	if k.settings != nil {
		k.settings = own(k.settings)
	}
	return k, ok
}

func (c *scopes) put(s oxbow.Scope, k known) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k.settings != nil {
		k.settings = own(k.settings)
	} else {
		k.settings = c.at[s].settings
	}
	if c.at == nil || len(c.at) >= maxKnown {
		c.at = map[oxbow.Scope]known{}
	}
	c.at[s] = k
}

// own gives settings that nobody else holds: a policy has a map.
func own(s *oxbow.ScopeSettings) *oxbow.ScopeSettings {
	c := *s
	c.Policy.HalfLifeDays = maps.Clone(s.Policy.HalfLifeDays)
	return &c
}
