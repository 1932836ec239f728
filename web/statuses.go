package web

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/store"
)

// stack is a drawing of parts that stand on each other, a column for each day.
type stack struct {
	Columns       []column
	Parts         []oxbow.Status // that stand in any column, as they are stacked
	Width, Height int
	Most          int
	About         string // for who cannot see it
}

type column struct {
	X, W   float64
	Day    string
	Title  string
	Layers []layer
	Marked bool // its day is written under it
	Last   bool
}

type layer struct {
	Status oxbow.Status
	Y, H   float64
}

// statusesByDay gives how many memories stood in each status at the end of each
// day, the last of which is today so far. It goes back from what there is now
// by undoing each day's moves, so it is exact though it reads the newest part of
// the log only; from is the first day that it has seen.
func statusesByDay(now time.Time, counts map[oxbow.Status]int, from string, moves []store.DayMoves) (days []string, by []map[oxbow.Status]int) {
	undo := map[string][]store.DayMoves{}
	for _, m := range moves {
		undo[m.Day] = append(undo[m.Day], m)
	}
	at := maps.Clone(counts)
	if at == nil {
		at = map[oxbow.Status]int{}
	}
	for i := range engine.StatusDays {
		day := now.UTC().AddDate(0, 0, -i).Format(time.DateOnly)
		if from == "" || day < from {
			break
		}
		days, by = append(days, day), append(by, maps.Clone(at))
		for _, m := range undo[day] {
			if was, is := oxbow.Moved(m.Type, m.Status); was != is {
				at[is] -= m.N
				at[was] += m.N
			}
		}
	}
	slices.Reverse(days)
	slices.Reverse(by)
	return days, by
}

const stackHeight = 180

// stackOf draws counts by status as columns, the highest one filling the height.
func stackOf(days []string, by []map[oxbow.Status]int) stack {
	out := stack{Width: 600, Height: stackHeight, Most: 1}
	for _, s := range oxbow.Statuses {
		if slices.ContainsFunc(by, func(m map[oxbow.Status]int) bool { return m[s] > 0 }) {
			out.Parts = append(out.Parts, s)
		}
	}
	for _, m := range by {
		total := 0
		for _, s := range out.Parts {
			total += max(0, m[s])
		}
		out.Most = max(out.Most, total)
	}
	w := float64(out.Width) / float64(max(1, len(days)))
	for i, m := range by {
		c := column{X: float64(i) * w, W: w * 0.85, Day: days[i], Last: i > 0 && i == len(days)-1}
		c.Marked = i == 0 || c.Last || len(days) > 14 && i == len(days)/2
		top := float64(stackHeight)
		said := []string{}
		for _, s := range out.Parts {
			n := max(0, m[s])
			h := float64(n) / float64(out.Most) * (stackHeight - 20)
			top -= h
			c.Layers = append(c.Layers, layer{Status: s, Y: top, H: h})
			if n > 0 {
				said = append(said, fmt.Sprintf("%d %s", n, s))
			}
		}
		c.Title = days[i] + ": " + strings.Join(said, ", ")
		out.Columns = append(out.Columns, c)
	}
	if n := len(out.Columns); n > 0 {
		out.About = "memories by status at the end of each day; " + out.Columns[0].Title
		if n > 1 {
			out.About += "; " + out.Columns[n-1].Title
		}
	}
	return out
}
