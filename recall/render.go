package recall

import (
	"fmt"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
)

// Render gives the block of text that a program puts before the user's turn: a
// line for each memory, labelled with what is needed to weigh it. Memory text
// can never break its frame: each memory is one line, without control
// characters and marks that reorder text.
func Render(a Answer, now time.Time, zone *time.Location) string {
	var b strings.Builder
	for _, r := range a.Results {
		b.WriteString(line(r.Memory, now, zone) + "\n")
	}
	return b.String()
}

func line(m oxbow.Memory, now time.Time, zone *time.Location) string {
	return fmt.Sprintf("- [%s, %s, confidence %.1f, said by %s] %s", m.Kind, Age(m.SaidAt, now, zone), m.Confidence(), m.Source, text.Printable(m.Content.Text))
}

// Age gives how long ago something was said in days of a zone, in words: today,
// yesterday, 12 days ago.
func Age(said, now time.Time, zone *time.Location) string {
	switch n := daysBetween(said, now, zone); n {
	case 0:
		return "today"
	case 1:
		return "yesterday"
	default:
		return fmt.Sprintf("%d days ago", n)
	}
}

// daysBetween counts the midnights of a zone between two instants; 0 when the
// first lies ahead.
func daysBetween(from, to time.Time, zone *time.Location) int {
	date := func(t time.Time) time.Time {
		y, m, d := t.In(zone).Date()
		return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	}
	return max(0, int(date(to).Sub(date(from)).Hours()/24))
}
