package oxbow_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/oxbow-memory/oxbow"
)

// logged gives the part of a memory that the audit log replays to.
func logged(m oxbow.Memory) oxbow.Memory {
	m.ID, m.Scope, m.Content, m.Version = "", oxbow.Scope{}, oxbow.Content{}, 0
	m.CreatedAt = oxbow.Memory{}.CreatedAt
	m.AccessCount, m.LastUsedAt = 0, oxbow.Memory{}.LastUsedAt
	m.HalfLife, m.FadesAt, m.RankKey = 0, oxbow.Memory{}.FadesAt, 0
	return m
}

// drawChange gives any change, legal or not.
func drawChange(t *rapid.T, i int) oxbow.Change {
	c := oxbow.Change{
		Type:   rapid.SampledFrom(allTypes[1:]).Draw(t, "type"),
		Memory: "a", Reason: "drawn", Actor: "operator",
	}
	switch c.Type {
	case oxbow.Rated:
		rating, rated := rapid.Float64Range(0, 1).Draw(t, "rating"), true
		c.Set.Rating, c.Set.Rated = &rating, &rated
	case oxbow.Reinforced:
		n := rapid.IntRange(0, 9).Draw(t, "confirmations")
		c.Set.Confirmations = &n
		c.Set.ConfirmedAt = &oxbow.Instant{Time: drawTime(t, "confirmed_at", 900)}
	case oxbow.Dated:
		c.Set.ExpiresAt, c.Set.ReviewAt = &oxbow.Instant{}, &oxbow.Instant{Time: drawTime(t, "review_at", 900)}
	case oxbow.PinnedEvent, oxbow.UnpinnedEvent:
		pinned := c.Type == oxbow.PinnedEvent
		c.Set.Pinned = &pinned
	case oxbow.Edited:
		c.Content = &oxbow.Content{Text: fmt.Sprintf("edited %d", i)}
		c.Seal = oxbow.Seal{ContentID: fmt.Sprintf("content%d", i), Digest: fmt.Sprintf("digest%d", i)}
		if rapid.Bool().Draw(t, "moved") {
			key := rapid.SampledFrom([]string{"city", "zone"}).Draw(t, "key")
			c.Set.Key = &key
		}
	case oxbow.SupersededBy, oxbow.CompressedTo:
		by := rapid.SampledFrom([]string{"b", "c"}).Draw(t, "by")
		c.Set.ReplacedBy = &by
	case oxbow.Restored, oxbow.Released:
		c.Set.TouchedAt = &oxbow.Instant{Time: drawTime(t, "touched_at", 900)}
	}
	return c
}

func create(t interface{ Fatal(...any) }, m oxbow.Memory, p oxbow.Policy) (oxbow.Memory, oxbow.Event) {
	c := oxbow.Change{Type: oxbow.Created, Memory: m.ID, New: &m, Seal: oxbow.Seal{ContentID: "content", Digest: "digest"}}
	m, e, err := c.Apply(oxbow.Memory{}, p, epoch)
	if err != nil {
		t.Fatal(err)
	}
	return m, e
}

func TestChangeApply(t *testing.T) {
	t.Parallel()

	t.Run("writes a log whose replay is the memory", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			p := drawPolicy(t)
			m, e := create(t, drawMemory(t, "a"), p)
			replay := e.After.Apply(oxbow.Memory{})
			for i := range rapid.IntRange(0, 25).Draw(t, "changes") {
				c := drawChange(t, i)
				next, e, err := c.Apply(m, p, epoch)
				if err != nil {
					if !reflect.DeepEqual(next, m) || oxbow.CodeOf(err) != oxbow.CodeConflict {
						t.Fatalf("a refused change left a trace, or no conflict: %v", err)
					}
					continue
				}
				if before := e.Before.Apply(replay); !reflect.DeepEqual(before, replay) {
					t.Fatalf("%s: before is not what the previous after left", c.Type)
				}
				if e.Version != m.Version+1 || next.Version != e.Version || e.Memory != "a" || !e.At.Equal(epoch) {
					t.Fatalf("the event %+v does not follow version %d", e, m.Version)
				}
				if !slices.Equal(sorted(e.Before.Fields()), sorted(e.After.Fields())) {
					t.Fatalf("before has %v and after has %v", e.Before.Fields(), e.After.Fields())
				}
				replay, m = e.After.Apply(replay), next
				if !reflect.DeepEqual(replay, logged(m)) {
					t.Fatalf("%s: the replay is\n%+v, the memory\n%+v", c.Type, replay, logged(m))
				}
				if !reflect.DeepEqual(m, p.Derive(m)) {
					t.Fatalf("%s: the derived fields are stale", c.Type)
				}
			}
		})
	})

	t.Run("moves the content version when the address alone changes", func(t *testing.T) {
		t.Parallel()
		p, other := oxbow.DefaultPolicy(), "project"
		m, _ := create(t, oxbow.Memory{ID: "a", Status: oxbow.Active, Kind: oxbow.Fact, Slot: "user", Key: "city", SaidAt: epoch}, p)
		for _, set := range []oxbow.Patch{{Slot: &other}, {Key: &other}} {
			after, _, err := oxbow.Change{Type: oxbow.Edited, Set: set}.Apply(m, p, epoch)
			if err != nil || after.ContentVersion != 2 {
				t.Errorf("version %d, error %v", after.ContentVersion, err)
			}
		}
	})

	t.Run("moves the content version with content, slot and key only", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			p := oxbow.DefaultPolicy()
			m, _ := create(t, drawMemory(t, "a"), p)
			c := drawChange(t, 1)
			next, _, err := c.Apply(m, p, epoch)
			if err != nil {
				return
			}
			want := m.ContentVersion
			if c.Type == oxbow.Edited {
				want++
			}
			if next.ContentVersion != want {
				t.Fatalf("%s moved it from %d to %d", c.Type, m.ContentVersion, next.ContentVersion)
			}
		})
	})

	t.Run("frees a memory that is active again from what had replaced it", func(t *testing.T) {
		t.Parallel()
		p, by := oxbow.DefaultPolicy(), "b"
		m, _ := create(t, oxbow.Memory{ID: "a", Status: oxbow.Active, SaidAt: epoch}, p)
		m, _, err := oxbow.Change{Type: oxbow.SupersededBy, Set: oxbow.Patch{ReplacedBy: &by}}.Apply(m, p, epoch)
		if err != nil || m.ReplacedBy != "b" {
			t.Fatal(err, m.ReplacedBy)
		}
		m, _, err = oxbow.Change{Type: oxbow.Restored}.Apply(m, p, epoch)
		if err != nil || m.ReplacedBy != "" || m.Status != oxbow.Active {
			t.Fatalf("%v: %+v", err, m)
		}
	})

	t.Run("refuses to create what can only be become", func(t *testing.T) {
		t.Parallel()
		for _, s := range []oxbow.Status{oxbow.Archived, oxbow.Expired, oxbow.Erased} {
			c := oxbow.Change{Type: oxbow.Created, New: &oxbow.Memory{ID: "a", Status: s}}
			if _, _, err := c.Apply(oxbow.Memory{}, oxbow.DefaultPolicy(), epoch); oxbow.CodeOf(err) != oxbow.CodeConflict {
				t.Errorf("%s: %v", s, err)
			}
		}
	})
}

func TestGuard(t *testing.T) {
	t.Parallel()

	t.Run("refuses when status or content version moved", func(t *testing.T) {
		t.Parallel()
		m, _ := create(t, oxbow.Memory{ID: "a", Status: oxbow.Active, Kind: oxbow.Semantic, SaidAt: epoch}, oxbow.DefaultPolicy())
		for _, g := range []oxbow.Guard{{Status: oxbow.Superseded, ContentVersion: 1}, {Status: oxbow.Active, ContentVersion: 2}} {
			c := oxbow.Change{Type: oxbow.ArchivedEvent, Memory: "a", Guard: &g}
			if after, _, err := c.Apply(m, oxbow.DefaultPolicy(), epoch); !errors.Is(err, oxbow.ErrStale) || after.Status != oxbow.Active {
				t.Errorf("guard %+v: %v", g, err)
			}
		}
		c := oxbow.Change{Type: oxbow.ArchivedEvent, Memory: "a", Guard: &oxbow.Guard{Status: oxbow.Active, ContentVersion: 1}}
		if after, _, err := c.Apply(m, oxbow.DefaultPolicy(), epoch); err != nil || after.Status != oxbow.Archived {
			t.Errorf("a guard that holds: %v", err)
		}
	})

	t.Run("refuses when the memory no longer fades by then", func(t *testing.T) {
		t.Parallel()
		p := oxbow.DefaultPolicy()
		m, _ := create(t, oxbow.Memory{ID: "a", Status: oxbow.Active, Kind: oxbow.Semantic, SaidAt: epoch}, p)
		used, pinned := m, m
		used.LastUsedAt, pinned.Pinned = m.FadesAt, true
		for _, c := range []struct {
			m    oxbow.Memory
			want oxbow.Status
		}{{m, oxbow.Archived}, {p.Derive(used), oxbow.Active}, {p.Derive(pinned), oxbow.Active}} {
			guard := &oxbow.Guard{Status: oxbow.Active, ContentVersion: 1, FadedBy: m.FadesAt}
			after, _, err := oxbow.Change{Type: oxbow.ArchivedEvent, Guard: guard}.Apply(c.m, p, epoch)
			if after.Status != c.want || errors.Is(err, oxbow.ErrStale) != (c.want == oxbow.Active) {
				t.Errorf("used %v, pinned %v: %s, error %v", c.m.LastUsedAt, c.m.Pinned, after.Status, err)
			}
		}
	})
}

func TestErasure(t *testing.T) {
	t.Parallel()
	const canary = "heliotrope"

	t.Run("leaves nothing of the content, in the memory or its event", func(t *testing.T) {
		t.Parallel()
		p := oxbow.DefaultPolicy()
		m, _ := create(t, oxbow.Memory{
			ID: "a", Scope: ada, Status: oxbow.Active, Pinned: true, SaidAt: epoch,
			Content: oxbow.Content{Text: canary, Summary: canary, Tags: []string{canary}},
			Quote:   oxbow.Quote{Part: "user", Start: 3, End: 9},
		}, p)
		after, e, err := oxbow.Change{Type: oxbow.ErasedEvent, Memory: "a"}.Apply(m, p, epoch)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range []any{after, e} {
			b, err := json.Marshal(v)
			if err != nil || strings.Contains(string(b), canary) {
				t.Errorf("%v: %s", err, b)
			}
		}
		if after.Status != oxbow.Erased || after.Pinned || after.Quote != (oxbow.Quote{}) || after.Digest != m.Digest {
			t.Errorf("the tombstone is %+v", after)
		}
	})

	t.Run("is in no event of any life", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			p := oxbow.DefaultPolicy()
			m := drawMemory(t, "a")
			m.Content = oxbow.Content{Text: canary, Summary: canary, Tags: []string{canary}}
			m, e := create(t, m, p)
			log := []oxbow.Event{e}
			for i := range rapid.IntRange(0, 8).Draw(t, "changes") {
				c := drawChange(t, i)
				if c.Content != nil {
					c.Content = &oxbow.Content{Text: canary}
				}
				if next, e, err := c.Apply(m, p, epoch); err == nil {
					m, log = next, append(log, e)
				}
			}
			if b, err := json.Marshal(log); err != nil || strings.Contains(string(b), canary) {
				t.Fatalf("%v: %s", err, b)
			}
		})
	})
}

func TestDigest(t *testing.T) {
	t.Parallel()
	c := oxbow.Content{Text: "tea", Tags: []string{"drink"}}
	same := oxbow.Digest("salt", c)
	if len(same) != 64 || same != oxbow.Digest("salt", c) {
		t.Error("is not a stable SHA-256 in hex")
	}
	for _, other := range []string{oxbow.Digest("pepper", c), oxbow.Digest("salt", oxbow.Content{Text: "tea"})} {
		if other == same {
			t.Error("does not depend on the salt and the whole content")
		}
	}
}

func sorted(s []string) []string { slices.Sort(s); return s }
