package oxbow

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"
)

// Guard is what a change expects of the memory it is about. A memory that was
// changed meanwhile makes the change stale: it is not applied.
type Guard struct {
	Status         Status
	ContentVersion int
	// FadedBy, when it is set, expects that the memory fades at or before this
	// instant: one that was used meanwhile does not.
	FadedBy time.Time
}

// holds tells whether a memory is as the guard expects.
func (g *Guard) holds(m Memory) bool {
	if g == nil {
		return true
	}
	if !g.FadedBy.IsZero() && (m.FadesAt.IsZero() || m.FadesAt.After(g.FadedBy)) {
		return false
	}
	return g.Status == m.Status && g.ContentVersion == m.ContentVersion
}

// Change is one intended change of one memory: the only thing that a store
// applies to the memories table, and each applied one is one event. With New it
// creates the memory; otherwise Set says what to change. A change without a
// guard must be commutative (reinforce, link).
type Change struct {
	Type    EventType
	Memory  string
	New     *Memory
	Guard   *Guard
	Set     Patch
	Content *Content // for an edit, the new content
	Links   []Link
	Unlinks []Link
	Reason  string
	Actor   string
	Judge   string

	// Seal names the content row that goes with New or Content. The store
	// fills it in, with a salt from the system's random source.
	Seal Seal
}

// Seal is the name of a content row and the salted digest that the log keeps.
type Seal struct {
	ContentID string
	Salt      string
	Digest    string
}

// Digest gives the hex SHA-256 of a salt and a content. With the salt gone
// nobody can test a guess of the content against it.
func Digest(salt string, c Content) string {
	b, err := json.Marshal(c)
	if err != nil { // strings and a slice of strings always marshal
		panic(err)
	}
	sum := sha256.Sum256(append([]byte(salt), b...))
	return hex.EncodeToString(sum[:])
}

// NewContent gives the content that the change brings, or nil.
func (c Change) NewContent() *Content {
	if c.New != nil {
		return &c.New.Content
	}
	return c.Content
}

// Apply gives the memory after the change, and its event (without Seq, Scope,
// Run and RecordedAt, which the store knows). It refuses with a conflict error
// what lifecycle.go does not allow; ErrStale says that the guard did not hold.
func (c Change) Apply(m Memory, p Policy, now time.Time) (Memory, Event, error) {
	if c.New != nil {
		return c.create(p, now)
	}
	if !c.Guard.holds(m) {
		return m, Event{}, ErrStale
	}
	to, err := Move(c.Type, m.Status)
	if err != nil {
		return m, Event{}, err
	}
	after := c.Set.Apply(m)
	after.Status = to
	if to == Active && m.Status != Active {
		after.ReplacedBy = ""
	}
	if c.Content != nil {
		after.Content = *c.Content
		after.ContentID, after.Digest = c.Seal.ContentID, c.Seal.Digest
	}
	if c.Content != nil || after.Slot != m.Slot || after.Key != m.Key {
		after.ContentVersion++
	}
	if c.Type == ErasedEvent {
		after = after.erased()
	}
	after.Version++
	after = p.Derive(after.inMillis())
	return after, c.event(m, after, now), nil
}

func (c Change) create(p Policy, now time.Time) (Memory, Event, error) {
	n := *c.New
	if !EnteringStatus(n.Status) {
		return n, Event{}, Errorf(CodeConflict, "a memory cannot be created as %s", n.Status)
	}
	n.ContentVersion, n.Version = 1, 1
	n.ContentID, n.Digest = c.Seal.ContentID, c.Seal.Digest
	n = p.Derive(n.inMillis())
	return n, c.event(Memory{}, n, now), nil
}

// inMillis cuts every instant to whole milliseconds in UTC: that is what both
// databases keep, and the log must say what the rows do.
func (m Memory) inMillis() Memory {
	for _, t := range []*time.Time{&m.SaidAt, &m.ConfirmedAt, &m.TouchedAt, &m.ExpiresAt, &m.ReviewAt, &m.CreatedAt, &m.LastUsedAt} {
		*t = t.UTC().Truncate(time.Millisecond)
	}
	return m
}

// erased gives the tombstone: what can name a thing, but not say it, stays.
func (m Memory) erased() Memory {
	m.Content = Content{}
	m.Quote = Quote{}
	m.Pinned = false
	return m
}

func (c Change) event(before, after Memory, now time.Time) Event {
	e := Event{
		Memory: after.ID, Version: after.Version, Type: c.Type,
		Links: c.Links, Unlinks: c.Unlinks,
		Reason: c.Reason, Actor: c.Actor, Judge: c.Judge, At: now,
	}
	e.Before, e.After = Diff(before, after)
	if c.New != nil {
		e.Before = Patch{}
	}
	return e
}

// ErrStale says that a memory was changed between reading and writing. It has
// the code conflict.
var ErrStale = Errorf(CodeConflict, "the memory was changed meanwhile; look at it again and repeat")
