package offline

import (
	"testing"
	"time"
)

// wednesday is the day on which the sentences of these tests are said.
var wednesday = time.Date(2026, 11, 18, 10, 0, 0, 0, time.UTC)

func TestDates(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"The report is due on 2026-12-04.":           "2026-12-04",
		"The demo is on March 15.":                   "2027-03-15",
		"The demo is on March 15th, 2028.":           "2028-03-15",
		"We meet on the 3rd of December.":            "2026-12-03",
		"The audit runs December 3-5.":               "2026-12-05",
		"The audit is on 3-4 December.":              "2026-12-04",
		"Holiday from Dec. 20 to Dec. 27":            "2026-12-27",
		"Exam is on 5 December 2026":                 "2026-12-05",
		"Due 25/12/2026":                             "2026-12-25",
		"Due 12/25/2026":                             "2026-12-25",
		"Due 15.03.2027":                             "2027-03-15",
		"The call is tomorrow":                       "2026-11-19",
		"Ready the day after tomorrow":               "2026-11-20",
		"The meeting is on Thursday":                 "2026-11-19",
		"See you next Friday":                        "2026-11-27",
		"Done by this Friday":                        "2026-11-20",
		"The freeze begins in two weeks":             "2026-12-02",
		"Within 3 days please":                       "2026-11-21",
		"Away for the next couple of weeks":          "2026-12-02",
		"Release in a month":                         "2026-12-18",
		"Finish by the end of the month":             "2026-11-30",
		"Finish by end of March":                     "2027-03-31",
		"Ship it in Q1":                              "2027-03-31",
		"Send it by EOW":                             "2026-11-20",
		"Paused until January":                       "2027-01-01",
		"The course runs in February":                "2027-02-28",
		"February 29 is a leap day":                  "2028-02-29",
		"We shipped it yesterday":                    "2026-11-17",
		"The talk was two weeks ago":                 "2026-11-04",
		"Out until November 26":                      "2026-11-26",
		"The review is this weekend":                 "2026-11-22",
		"It is due a week from today, not any later": "2026-11-25",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			ds := dates(read(text), wednesday)
			if len(ds) == 0 {
				t.Fatalf("no date, want %s", want)
			}
			if got := ds[len(ds)-1].day.Format(time.DateOnly); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestDatesFindsNone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"May is my sister.", "We may ship it later.", "I sat in the sun.", "We march on.", "Room 1215 is free.",
		"Due 03/04/2026, whichever way you read it", "The second attempt worked.", "February 30 does not exist",
		"I like dates and figs.", "We wed our APIs to this.", "Version 3.11 is out", "He ran 5 of 7 miles", "13/13/2026", "in the end",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			if ds := dates(read(text), wednesday); len(ds) > 0 {
				t.Errorf("found %s", ds[0].day.Format(time.DateOnly))
			}
		})
	}
}

func FuzzDates(f *testing.F) {
	for _, s := range []string{"due March 15", "3-5 December 2026", "in two weeks", "next Friday", "end of Q3", "31/12/2026", "until January", "\xff the", "in the next", "end of", "", "c#", "+", "don't 's"} {
		f.Add(s, int64(1_790_000_000))
	}
	f.Fuzz(func(t *testing.T, s string, at int64) {
		said := time.Unix(at%4_000_000_000, 0).UTC()
		c := parse(s, said)
		for _, d := range c.dates {
			if d.from < 0 || d.to > len(c.words) || d.from >= d.to {
				t.Fatalf("a date at words [%d, %d) of %d", d.from, d.to, len(c.words))
			}
			if d.day.IsZero() || d.begin.After(d.day) {
				t.Fatalf("a range from %s to %s in %q", d.begin, d.day, s)
			}
			if h, m, sec := d.day.Clock(); h+m+sec != 0 {
				t.Fatalf("a day that is an instant: %s", d.day)
			}
		}
		for _, d := range Dates(s, said) {
			if d.From < 0 || d.To > len(c.text) || d.From >= d.To || d.Start.IsZero() && d.End.IsZero() {
				t.Fatalf("%v in %q", d, s)
			}
		}
		for _, w := range c.words {
			if w.start < 0 || w.end > len(c.text) || w.start > w.end {
				t.Fatalf("a word at [%d, %d) of %d", w.start, w.end, len(c.text))
			}
		}
	})
}

func TestDatesAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	const open = "…"
	for text, want := range map[string]string{
		"The fair is on the fourth of July":          "2027-07-04..2027-07-05",
		"Born on 15 April of 87":                     "1987-04-15..1987-04-16",
		"It opened on May twenty-first 2024":         "2024-05-21..2024-05-22",
		"Two weeks from tomorrow we move":            "2026-12-03..2026-12-04",
		"3 days after January 12th it thawed":        "2027-01-15..2027-01-16",
		"See you on Wednesday of next week":          "2026-11-25..2026-11-26",
		"Lunch next week on Tuesday?":                "2026-11-24..2026-11-25",
		"Closed on Christmas Eve":                    "2026-12-24..2026-12-25",
		"We met on Black Friday 2025":                "2025-11-28..2025-11-29",
		"Back after Easter":                          "2027-03-28..…",
		"He lived there since 2015":                  "2015-01-01..…",
		"Open until Friday":                          "…..2026-11-20",
		"From May 3 to May 9 we are away":            "2027-05-03..2027-05-09",
		"Sales in April 2025 were good":              "2025-04-01..2025-05-01",
		"This week is busy":                          "2026-11-16..2026-11-23",
		"The 1990s were loud":                        "1990-01-01..2000-01-01",
		"The first week of October 2025 was rainy":   "2025-09-29..2025-10-06",
		"Call me on Friday 4.12 about it":            "2026-12-04..2026-12-05",
		"The report of 05-Aug-2025 is here":          "2025-08-05..2025-08-06",
		"Rent is due on the 5th":                     "2026-12-05..2026-12-06",
		"It rained for the last 3 weeks":             "2026-10-28..2026-11-18",
		"The trial runs from December to February":   "2026-12-01..2027-02-01",
		"Due by 25/12":                               open + "..2026-12-25",
		"The hearing was on the third Monday, May 4": "2027-05-04..2027-05-05",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			ds := Dates(text, wednesday)
			if len(ds) != 1 {
				t.Fatalf("%d dates: %v", len(ds), ds)
			}
			day := func(d time.Time) string {
				if d.IsZero() {
					return open
				}
				return d.Format(time.DateOnly)
			}
			if got := day(ds[0].Start) + ".." + day(ds[0].End); got != want {
				t.Errorf("%q: got %s, want %s", text[ds[0].From:ds[0].To], got, want)
			}
		})
	}
}

func TestDatesLeavesNumbersAlone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"We shipped 2000 pieces", "Version 2015-32 of the form", "The second round was worse", "He sat on the third chair", "It scored 4/5", "The ratio is 4:3",
		"A wave of 1500 people came", "the first week", "up to date", "You may not", "The sun was out", "Between 730 and 930", "Call 000 111 82-2100",
	} {
		if ds := Dates(text, wednesday); len(ds) > 0 {
			t.Errorf("%q: %q", text, text[ds[0].From:ds[0].To])
		}
	}
}
