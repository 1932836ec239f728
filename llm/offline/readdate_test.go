package offline

import (
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow/llm"
)

func TestReadDate(t *testing.T) {
	t.Parallel()
	said := time.Date(2026, 11, 18, 23, 30, 0, 0, time.UTC) // a Wednesday, and Thursday in Tokyo
	tokyo, err := time.LoadLocation("Asia/Tokyo")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		phrase string
		zone   *time.Location
		want   string
	}{
		{"by Friday", time.UTC, "2026-11-20"},
		{"tomorrow", time.UTC, "2026-11-19"},
		{"tomorrow", tokyo, "2026-11-20"},
		{"tomorrow", nil, "2026-11-19"},
		{"until 3 May 2027", time.UTC, "2027-05-03"},
		{"moved from 2026-12-01 to 2026-12-04", time.UTC, "2026-12-04"},
		{"yesterday", time.UTC, "2026-11-17"},
		{"until we ship", time.UTC, ""},
		{"in 2029", time.UTC, ""},
		{"", time.UTC, ""},
	} {
		day, ok := ReadDate(c.phrase, said, c.zone)
		got := ""
		if ok {
			got = day.Format(time.DateOnly)
		}
		if got != c.want {
			t.Errorf("%q in %v: %q, want %q", c.phrase, c.zone, got, c.want)
		}
	}
}

func TestReadDateAgrees(t *testing.T) {
	t.Parallel()
	said := time.Date(2026, 11, 18, 10, 0, 0, 0, time.UTC)
	n := 0
	for _, s := range []string{"The report is due by Friday", "The demo is next Tuesday", "We freeze the branch at the end of the month",
		"The lease ends on 31 March 2027", "On holiday from 3 May to 7 May", "The sale closes in two weeks", "The exam is on the 5th of December",
		"The trial is valid until the end of Q1", "The meeting is the day after tomorrow", "Deadline: 12/24/2026", "The review is two days after Christmas",
		"Ship it no later than Dec 3rd", "Out of office this week", "The submission is due a week from Monday", "The conference runs through June 9"} {
		e := expiry(llm.Statement{Text: s, SaidAt: said}, time.UTC)
		if e.Date.IsZero() {
			continue
		}
		n++
		if day, ok := ReadDate(e.Phrase, said, time.UTC); ok && day.Format(time.DateOnly) != e.Date.Format(time.DateOnly) {
			t.Errorf("%q ends on %s, and its phrase %q says %s", s, e.Date.Format(time.DateOnly), e.Phrase, day.Format(time.DateOnly))
		}
	}
	if n < 12 {
		t.Errorf("only %d of the sentences have a date", n)
	}
}
