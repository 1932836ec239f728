package store

import (
	"encoding/json"
	"maps"
	"sync"

	"github.com/oxbow-memory/oxbow"
)

// maxKnown bounds the scopes that a process remembers.
const maxKnown = 10_000

// Scopes remembers what committed scopes are, so that most transactions need not
// read them. The number of a scope never changes; its settings do, and whoever
// uses them has the database check their version first. It is safe for
// concurrent use.
type Scopes struct {
	mu sync.RWMutex
	at map[oxbow.Scope]Known
}

// Known is what is remembered of a scope: its number in the database and, when
// they were read, its settings, whose count of memories may be an old one.
type Known struct {
	Seq      int64
	Settings *oxbow.ScopeSettings // nil when only the number is known
}

// Get gives what is known of a scope.
func (c *Scopes) Get(s oxbow.Scope) (Known, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	k, ok := c.at[s]
	if k.Settings != nil {
		k.Settings = own(k.Settings)
	}
	return k, ok
}

// Put remembers a scope that is committed. Without settings it keeps those that
// are known.
func (c *Scopes) Put(s oxbow.Scope, k Known) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k.Settings != nil {
		k.Settings = own(k.Settings)
	} else {
		k.Settings = c.at[s].Settings
	}
	if c.at == nil || len(c.at) >= maxKnown {
		c.at = map[oxbow.Scope]Known{}
	}
	c.at[s] = k
}

// Forget gives up what is known of all scopes, because it may have been learnt
// from a database that is not the one any more.
func (c *Scopes) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = nil
}

// own gives settings that nobody else holds: a policy has a map.
func own(s *oxbow.ScopeSettings) *oxbow.ScopeSettings {
	c := *s
	c.Policy.HalfLifeDays = maps.Clone(s.Policy.HalfLifeDays)
	return &c
}

// Policies remembers policies as they were read, by the JSON that they are stored
// as: most scopes have the same one. It is safe for concurrent use.
type Policies struct {
	mu sync.RWMutex
	at map[string]oxbow.Policy
}

// maxPolicies bounds the policies that a process remembers.
const maxPolicies = 100

// Parse reads a stored policy.
func (c *Policies) Parse(stored string) (oxbow.Policy, error) {
	c.mu.RLock()
	p, ok := c.at[stored]
	c.mu.RUnlock()
	if !ok {
		if err := json.Unmarshal([]byte(stored), &p); err != nil {
			return p, oxbow.WrapError(oxbow.CodeInternal, err, "read the scope's policy")
		}
		c.mu.Lock()
		if c.at == nil || len(c.at) >= maxPolicies {
			c.at = map[string]oxbow.Policy{}
		}
		c.at[stored] = p
		c.mu.Unlock()
	}
	p.HalfLifeDays = maps.Clone(p.HalfLifeDays)
	return p, nil
}
