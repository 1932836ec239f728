package offline

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm"
)

func TestReadDetails(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"I live in Lisbon": "user home lisbon place [of name one]",
		"I have lived in a flat in Lisbon for two years":   "user home lisbon place [of name one]",
		"The user works at Brightwork":                     "user employer brightwork employer [of name one]",
		"My sister's manager is Priya":                     "manag sister is priya name [of name one]",
		"Igor is our accountant":                           "account is igor name [of name one]",
		"The standup is at 9:30 on Mondays":                "standup when 9:30 time [of time one on monday]",
		"The store closes at 8 pm":                         "store closes 20:00 time [of time one]",
		"Piano lessons are on Wednesdays":                  "lesson piano when wednesday date [of weekday one]",
		"The release is on December 4":                     "releas when 2026-12-04 date [of day one]",
		"We use PostgreSQL for the main database":          "user use postgresql tool [of database for main databas]",
		"The service runs on Python 3.11":                  "servic runs on python 3.11 version [of version of python one]",
		"The gym costs 30 euros a month":                   "gym price 30 number [of money month one]",
		"Our sprint lasts three weeks":                     "sprint lasts 3 week number [of length one]",
		"The warehouse holds 4,000 pallets":                "warehous have 4000 number [of pallet]",
		"The user prefers window seats":                    "user prefers window seat preference [of seat seat one]",
		"Invoices go to billing@halden.example":            "invoic recipient billing@halden.example contact [of mail one]",
		"The plumber's number is 0161 555 0142":            "plumber is 01615550142 contact [of phone one]",
		"The door code was changed to 7719":                "code door changed 7719 number [one]",
		"The user is allergic to nuts":                     "user allergic to nut word []",
		"The user is not allergic to nuts":                 "user allergic to nut word [denied]",
		"I stopped playing the cello":                      "user ended play cello word [ended]",
		"I sold the boat and bought a bike":                "user ended boat word [ended] | user have bike word [of transport]",
		"The user visited Norway":                          "user visit norway name [of name once]",
		"My manager is Indian":                             "manag is indian word []",
		"Please call me Alex":                              "user name alex name [of name one]",
		"Does the standup start at 9:30?":                  "",
		"Nice weather":                                     "",
		"Wir wohnen in Berlin":                             "",
		strings.Repeat("The store closes at 8 pm and ", 9): "",
	} {
		t.Run("reads: "+text, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, d := range New().Details(text, wednesday) {
				got = append(got, fmt.Sprintf("%s %s %s %s %v", d.Subject, d.Attribute, d.Value, d.Type, d.Qualifiers))
			}
			if s := strings.Join(got, " | "); s != want {
				t.Errorf("got  %s\nwant %s", s, want)
			}
		})
	}
}

func TestRelateComparesTheDetailsThatWereKept(t *testing.T) {
	t.Parallel()
	kept := func(value string) []oxbow.Detail {
		return []oxbow.Detail{{Subject: "kiln", Attribute: "is", Value: value, Type: oxbow.NumberValue, Qualifiers: []string{"of degre", qualOne}}}
	}
	older := llm.Statement{Label: "c1", Text: "Kiln 900", SaidAt: wednesday, Details: kept("900")}
	newer := llm.Statement{Text: "Kiln 950, Lea noted", SaidAt: wednesday.AddDate(0, 0, 1), Details: kept("950")}
	if got := ask(t, newer, older); got != oxbow.Replaces {
		t.Errorf("by the details kept: %s", got)
	}
	older.Details[0].Subject = "oven"
	if got := ask(t, newer, older); got != oxbow.Unrelated {
		t.Errorf("of another subject: %s", got)
	}
}

func FuzzReadDetails(f *testing.F) {
	for _, s := range statements {
		f.Add(s.old)
		f.Add(s.new)
	}
	for _, s := range []string{"is", "a is", "not never", "my 's is", "it: 0161", "A, and B and", "n't", "instead of", "is the", "give up", "get rid of", "12:99pm is 25:00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ds := ReadDetails(s, wednesday)
		if len(ds) > oxbow.MaxDetails {
			t.Fatalf("%d details", len(ds))
		}
		for _, d := range ds {
			if !d.Valid() {
				t.Fatalf("%q: %+v", s, d)
			}
		}
	})
}

// What is said of one thing replaces nothing that is said of another one.
func TestADifferentSubjectReplacesNothing(t *testing.T) {
	t.Parallel()
	things := []string{"The viper pool", "The ferret pool", "The north gate", "My aunt's car", "The user's car", "Omar's car", "The blue kiln", "The payment queue", "The login page"}
	says := []string{"has 15 slots", "has 20 slots now", "is open", "is closed", "is on Mill Road", "moved to Elm Lane", "is called Heron", "was renamed to Egret", "costs 30 euros", "costs 45 euros now", "starts at 9:00", "starts at 10:30", "is locked", "is unlocked", "needs one approval", "needs two approvals"}
	rapid.Check(t, func(t *rapid.T) {
		i := rapid.IntRange(0, len(things)-1).Draw(t, "older")
		j := rapid.IntRange(0, len(things)-1).Filter(func(j int) bool { return j != i }).Draw(t, "newer")
		older := llm.Statement{Label: "c1", Text: things[i] + " " + rapid.SampledFrom(says).Draw(t, "says"), SaidAt: wednesday}
		newer := llm.Statement{Text: things[j] + " " + rapid.SampledFrom(says).Draw(t, "says now"), SaidAt: wednesday.AddDate(0, 0, 1)}
		if got := ask(t, newer, older); got == oxbow.Replaces || got == oxbow.Contradicts || got == oxbow.ConfirmsIt {
			t.Fatalf("%q after %q: %s", newer.Text, older.Text, got)
		}
	})
}

func BenchmarkReadDetails(b *testing.B) {
	for b.Loop() {
		ReadDetails("The savings account at Norwell holds 5,500 euros since the sale of the boat in March", wednesday)
	}
}
