package web

import (
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/store"
)

// moving are the types of event that move a memory on from a status.
var moving = []oxbow.EventType{oxbow.SupersededBy, oxbow.CompressedTo, oxbow.ExpiredEvent, oxbow.ArchivedEvent, oxbow.Released, oxbow.Restored, oxbow.ErasedEvent}

func TestStatusesByDay(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 20, 15, 0, 0, 0, time.UTC)

	t.Run("goes back to what a count of each day gave", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			memories := map[int]oxbow.Status{}
			var want []map[oxbow.Status]int
			var moves []store.DayMoves
			for d := engine.StatusDays - 1; d >= 0; d-- {
				day := now.AddDate(0, 0, -d).Format(time.DateOnly)
				for range rapid.IntRange(0, 8).Draw(t, "events") {
					i := rapid.IntRange(0, 9).Draw(t, "memory")
					e, was := oxbow.Created, oxbow.Active
					if have, ok := memories[i]; ok {
						e, was = rapid.SampledFrom(moving).Draw(t, "type"), have
					} else {
						memories[i] = was
					}
					to, err := oxbow.Move(e, was)
					if e != oxbow.Created && err != nil {
						continue
					}
					if e != oxbow.Created {
						memories[i] = to
					}
					if e != oxbow.Created && e != oxbow.Restored && e != oxbow.ErasedEvent {
						was = ""
					}
					moves = append(moves, store.DayMoves{Day: day, Type: e, Status: was, N: 1})
				}
				want = append(want, count(memories))
			}
			from := now.AddDate(0, 0, 1-engine.StatusDays).Format(time.DateOnly)
			days, got := statusesByDay(now, count(memories), from, moves)
			if len(days) != engine.StatusDays || days[0] != from || days[engine.StatusDays-1] != now.Format(time.DateOnly) {
				t.Fatalf("the days are %v", days)
			}
			for i := range got {
				maps.DeleteFunc(got[i], func(s oxbow.Status, n int) bool { return n == 0 || s == "" })
				if !maps.Equal(got[i], want[i]) {
					t.Fatalf("on %s it is %v, and was %v", days[i], got[i], want[i])
				}
			}
		})
	})

	t.Run("begins where the log was seen from, and shows nothing of an empty one", func(t *testing.T) {
		t.Parallel()
		days, _ := statusesByDay(now, map[oxbow.Status]int{oxbow.Active: 3}, "2026-05-18", nil)
		if !slices.Equal(days, []string{"2026-05-18", "2026-05-19", "2026-05-20"}) {
			t.Errorf("got %v", days)
		}
		if days, _ := statusesByDay(now, nil, "", nil); len(days) != 0 {
			t.Errorf("got %v of an empty log", days)
		}
	})
}

func count(memories map[int]oxbow.Status) map[oxbow.Status]int {
	out := map[oxbow.Status]int{}
	for _, s := range memories {
		out[s]++
	}
	return out
}

func TestStackOf(t *testing.T) {
	t.Parallel()
	s := stackOf([]string{"2026-05-01", "2026-05-02"}, []map[oxbow.Status]int{{oxbow.Active: 3}, {oxbow.Active: 3, oxbow.Archived: 1}})
	if !slices.Equal(s.Parts, []oxbow.Status{oxbow.Active, oxbow.Archived}) || s.Most != 4 {
		t.Fatalf("the parts are %v of %d", s.Parts, s.Most)
	}
	last := s.Columns[1]
	if last.Title != "2026-05-02: 3 active, 1 archived" {
		t.Errorf("it is called %q", last.Title)
	}
	if want := "memories by status at the end of each day; 2026-05-01: 3 active; 2026-05-02: 3 active, 1 archived"; s.About != want {
		t.Errorf("who cannot see it hears %q", s.About)
	}
	full := float64(stackHeight - 20)
	if got := last.Layers[0].H; got != full*3/4 {
		t.Errorf("three of four are %v high of %v", got, full)
	}
	if top := last.Layers[1]; top.Y != 20 || top.Y+top.H != last.Layers[0].Y {
		t.Errorf("the parts do not stand on each other: %+v", last.Layers)
	}
}

func TestBars(t *testing.T) {
	t.Parallel()
	told := func(counts []int) (over []string) {
		for _, b := range barsOf("x", counts, strconv.Itoa).Bars {
			if b.Told {
				over = append(over, b.Label+": "+b.Said)
			}
			if b.Last != (b.Told && b.Label == "29" && len(b.Said) > 1) {
				t.Errorf("of %d bars, %s ends at its right: %v", len(counts), b.Label, b.Last)
			}
		}
		return over
	}
	many := make([]int, 30)
	many[3], many[4], many[29] = 7, 12, 3
	if got := told(many); !slices.Equal(got, []string{"3: 7", "4: 12", "29: 3"}) {
		t.Errorf("what has room is said: %q", got)
	}
	many[3], many[29] = 71_000, 83_000
	if got := told(many); !slices.Equal(got, []string{"29: 83k"}) {
		t.Errorf("of what has no room the highest is said: %q", got)
	}
	if got := told([]int{0, 9999, 5}); !slices.Equal(got, []string{"1: 9999", "2: 5"}) {
		t.Errorf("a few are said: %q", got)
	}
	if got := told(make([]int, 30)); got != nil {
		t.Errorf("of nothing is said %q", got)
	}
}
