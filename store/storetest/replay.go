package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// eventTypes are all types of event but creation.
var eventTypes = []oxbow.EventType{
	oxbow.Rated, oxbow.Reinforced, oxbow.Dated, oxbow.Edited, oxbow.PinnedEvent, oxbow.UnpinnedEvent, oxbow.Linked, oxbow.Refused,
	oxbow.SupersededBy, oxbow.CompressedTo, oxbow.ExpiredEvent, oxbow.ArchivedEvent, oxbow.Restored, oxbow.Released, oxbow.ErasedEvent,
}

func testReplay(t *testing.T, s store.Store) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprintf("ends in the rows that a random story %d left", seed), func(t *testing.T) {
			f := setup(t, s)
			story := teller{f: f, r: rand.New(rand.NewPCG(seed, 1))}
			story.tell(80)
			if story.changed < 60 {
				t.Fatalf("only %d changes were applied", story.changed)
			}
			Replay(t, f.s, f.scope.Tenant, story.all()...)
			if found := must(f.s.Check(f.ctx))(f); len(found) != 0 {
				t.Fatalf("the database is damaged: %q", found)
			}
		})
	}
}

// teller makes up a story of legal and illegal changes.
type teller struct {
	f       *fixture
	r       *rand.Rand
	names   int
	changed int
}

// all gives the ids of every memory of the story.
func (w *teller) all() []string {
	var out []string
	for i := range w.names {
		out = append(out, w.f.id(fmt.Sprint(i)))
	}
	return out
}

// tell applies n calls of one to four random changes. One that is refused must
// leave everything as it was, which the replay at the end shows.
func (w *teller) tell(n int) {
	w.create()
	for range n {
		var changes []oxbow.Change
		erased := []string{}
		for range 1 + w.r.IntN(3) {
			c := w.change()
			if c.Type == oxbow.ErasedEvent {
				if len(changes) > 0 {
					continue // an erasure stands alone, as the engine does it
				}
				erased = append(erased, c.Memory)
			}
			changes = append(changes, c)
			if len(erased) > 0 {
				break
			}
		}
		var done store.Applied
		err := w.f.s.InTx(w.f.ctx, func(ctx context.Context, tx store.Tx) error {
			var err error
			if done, err = tx.Apply(ctx, w.f.batch(), changes); err != nil || len(erased) == 0 {
				return err
			}
			return tx.Erase(ctx, w.f.scope, erased)
		})
		switch oxbow.CodeOf(err) {
		case "":
			w.changed += len(done.Events)
		case oxbow.CodeConflict:
		default:
			w.f.Fatalf("the changes %s failed: %v", show(changes), err)
		}
		if w.r.IntN(4) == 0 {
			w.create()
		}
	}
}

func (w *teller) create() {
	m := w.f.memory(fmt.Sprint(w.names), func(m *oxbow.Memory) {
		m.Status = []oxbow.Status{oxbow.Active, oxbow.Active, oxbow.Quarantined, oxbow.Superseded}[w.r.IntN(4)]
		m.SaidAt = w.instant().Time
		m.Source, m.Derived = oxbow.Sources[w.r.IntN(len(oxbow.Sources))], w.r.IntN(2) == 0
		m.Turn, m.Conversation, m.Quote = w.f.id("turn"), "c1", oxbow.Quote{Part: "user", Start: 1, End: 1 + w.r.IntN(9)}
		if w.r.IntN(2) == 0 {
			m.Kind, m.Slot, m.Key = oxbow.Fact, "user", fmt.Sprintf("key%d", w.names)
		}
	})
	w.names++
	w.f.create(m)
	w.changed++
}

func (w *teller) pick() string { return w.f.id(fmt.Sprint(w.r.IntN(w.names))) }

func (w *teller) instant() *oxbow.Instant {
	if w.r.IntN(5) == 0 {
		return &oxbow.Instant{Time: start}
	}
	return &oxbow.Instant{Time: start.Add(time.Duration(w.r.IntN(1_000_000_000)) * time.Millisecond)}
}

func (w *teller) change() oxbow.Change {
	types := eventTypes
	if w.r.IntN(10) > 0 {
		types = types[:len(types)-1] // erasures are rare
	}
	if w.r.IntN(2) == 0 {
		types = types[:8] // those that are mostly legal, so that the story goes on
	}
	c := oxbow.Change{Type: types[w.r.IntN(len(types))], Memory: w.pick(), Actor: "operator", Reason: "the story goes so"}
	switch c.Type {
	case oxbow.Rated:
		c.Set.Rating, c.Set.Rated = ptr(w.r.Float64()), ptr(true)
	case oxbow.Reinforced:
		c.Set.Confirmations, c.Set.ConfirmedAt = ptr(w.r.IntN(5)), w.instant()
	case oxbow.Dated:
		c.Set.ExpiresAt, c.Set.ReviewAt = w.instant(), &oxbow.Instant{}
	case oxbow.Edited:
		c.Content = &oxbow.Content{Text: fmt.Sprint("words ", w.r.IntN(100)), Tags: []string{"told"}}
		c.Set.TouchedAt, c.Set.Importance, c.Set.Kind = w.instant(), ptr(w.r.Float64()*10), ptr(oxbow.Kinds[w.r.IntN(7)])
	case oxbow.PinnedEvent, oxbow.UnpinnedEvent:
		c.Set.Pinned = ptr(c.Type == oxbow.PinnedEvent)
	case oxbow.SupersededBy, oxbow.CompressedTo:
		c.Set.ReplacedBy = ptr(w.pick())
	case oxbow.Restored, oxbow.Released:
		c.Set.TouchedAt = w.instant()
	}
	if w.r.IntN(3) == 0 && c.Type != oxbow.ErasedEvent {
		l := oxbow.Link{From: w.pick(), To: c.Memory, Type: oxbow.Confirms}
		if w.r.IntN(3) == 0 {
			c.Unlinks = []oxbow.Link{l}
		} else {
			c.Links = []oxbow.Link{l}
		}
	}
	return c
}
