package offline

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm"
)

func TestExpiry(t *testing.T) {
	t.Parallel()
	const none, event = "", "event"
	for text, want := range map[string]string{
		"The beta deadline is December 4.":                     "2026-12-04",
		"The deadline got pushed from December 4 to January 8": "2027-01-08",
		"The report is due by Friday.":                         "2026-11-20",
		"Mira is on vacation until November 26.":               "2026-11-26",
		"I'm out of office until Monday.":                      "2026-11-23",
		"I'm on call until November 25":                        "2026-11-25",
		"We meet the client on Thursday for a demo.":           "2026-11-19",
		"I'm presenting tomorrow.":                             "2026-11-19",
		"I'm travelling for the next two weeks.":               "2026-12-02",
		"The exam is on 5 December 2026":                       "2026-12-05",
		"The code freeze ends on November 30.":                 "2026-11-30",
		"The offer is valid through December 12.":              "2026-12-12",
		"The website launch moved to December 20.":             "2026-12-20",
		"Submission is no later than next Friday":              "2026-11-27",
		"Waiting for Noor to send the logos.":                  event,
		"We keep the old API until we ship v2.":                event,
		"We are blocked on Tomas for the credentials.":         event,
		"The banner is red for now.":                           event,
		"The tests are off by the end of this sprint":          event,

		"My birthday is on March 3.":                       none,
		"We shipped the beta on Monday.":                   none,
		"I joined the team on November 2.":                 none,
		"We have used this since March 15.":                none,
		"We have a review every Friday.":                   none,
		"The backups run on Sundays.":                      none,
		"Never deploy before a Friday.":                    none,
		"Always ask before the release on Thursday.":       none,
		"May is my sister.":                                none,
		"Is the deadline on Friday?":                       none,
		"If we slip, the deadline is Friday.":              none,
		"I like dates and figs.":                           none,
		"Events are kept for 90 days.":                     none,
		"The deadline was yesterday.":                      none,
		"We use PostgreSQL 15 for the main database.":      none,
		"The company was founded in March 2019.":           none,
		"The wedding anniversary is on June 3.":            none,
		"The contract starts after December 1.":            none,
		"Standup is at 9:30 every morning.":                none,
		"The meeting took place on Thursday two weeks ago": none,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			got, err := New().Expiry(context.Background(), llm.Statement{Text: text, Kind: oxbow.Episodic, SaidAt: wednesday}, time.UTC)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(text, got.Phrase) {
				t.Errorf("the phrase %q does not stand in the text", got.Phrase)
			}
			is := none
			if got.Event {
				is = event
			}
			if !got.Date.IsZero() {
				is = got.Date.Format(time.DateOnly)
			}
			if is != want {
				t.Errorf("got %q, want %q (phrase %q)", is, want, got.Phrase)
			}
		})
	}
}

func TestExpiryEndsWithTheDayInTheZone(t *testing.T) {
	t.Parallel()
	tokyo := time.FixedZone("far east", 9*3600)
	late := time.Date(2026, 11, 18, 20, 0, 0, 0, time.UTC) // already the 19th there
	got, err := New().Expiry(context.Background(), llm.Statement{Text: "The call is due tomorrow.", SaidAt: late}, tokyo)
	if err != nil {
		t.Fatal(err)
	}
	if want := time.Date(2026, 11, 20, 23, 59, 59, 0, tokyo); !got.Date.Equal(want) {
		t.Errorf("got %s, want %s", got.Date, want)
	}
}
