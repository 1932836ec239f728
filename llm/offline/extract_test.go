package offline

import (
	"context"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/llm"
)

func extracted(t interface{ Fatal(...any) }, tt llm.TurnText) llm.Extraction {
	x, err := New().Extract(context.Background(), tt)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestExtractKeeps(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		say, text string
		kind      oxbow.Kind
	}{
		{"I prefer short functions with plain names.", "I prefer short functions with plain names.", oxbow.Preference},
		{"I don't like long meetings.", "I don't like long meetings.", oxbow.Preference},
		{"Always run the tests before you push.", "Always run the tests before you push.", oxbow.Fact},
		{"From now on, answer in British English.", "From now on, answer in British English.", oxbow.Fact},
		{"Please never touch the migrations folder.", "Please never touch the migrations folder.", oxbow.Fact},
		{"Oh, by the way, we migrated from PostgreSQL to MySQL last week.", "We migrated from PostgreSQL to MySQL last week.", oxbow.Fact},
		{"We decided on cursor pagination because offsets got slow.", "We decided on cursor pagination because offsets got slow.", oxbow.Semantic},
		{"We ruled out Elasticsearch, nobody wants to run it.", "We ruled out Elasticsearch, nobody wants to run it.", oxbow.Semantic},
		{"The root cause was a cookie without a path.", "The root cause was a cookie without a path.", oxbow.Procedural},
		{"The connection pool is capped at 20.", "The connection pool is capped at 20.", oxbow.Semantic},
		{"We use Redis for the cache.", "We use Redis for the cache.", oxbow.Semantic},
		{"The beta deadline is March 15.", "The beta deadline is March 15.", oxbow.Episodic},
		{"We're waiting for Noor to send the logos.", "We're waiting for Noor to send the logos.", oxbow.Episodic},
		{"I'm looking into Bun as a possible runtime swap.", "I'm looking into Bun as a possible runtime swap.", oxbow.Episodic},
		{"Noor is our designer.", "Noor is our designer.", oxbow.Semantic},
		{"Now that we use uv instead of Poetry, how do I add a package?", "We use uv instead of Poetry", oxbow.Semantic},
		{"Oh, we're on MySQL now.", "We're on MySQL now.", oxbow.Fact},
	} {
		t.Run(c.say, func(t *testing.T) {
			t.Parallel()
			x := extracted(t, llm.TurnText{User: c.say, At: wednesday})
			if len(x.Drafts) != 1 {
				t.Fatalf("%d drafts (%s), want 1", len(x.Drafts), x.Reason)
			}
			d := x.Drafts[0]
			if d.Text != c.text || d.Kind != c.kind {
				t.Errorf("got %s %q, want %s %q", d.Kind, d.Text, c.kind, c.text)
			}
		})
	}
}

func TestExtractDropsWithAReason(t *testing.T) {
	t.Parallel()
	for say, reason := range map[string]string{
		"Hi there!":                                  "a greeting",
		"Thanks a lot, have a good weekend!":         "a greeting",
		"What's the capital of Uruguay?":             "a question",
		"Can you show me how to index a column?":     "a question",
		"Explain the difference between tar and zip": "a request",
		"Write a function that reverses a list.":     "a request",
		"The weather is lovely here!":                "small talk",
		"Haha, good one.":                            "small talk",
		"Should we move to MySQL?":                   "a question",
		"":                                           "nothing was said",
		"My token is [redacted: token].":             "a secret was taken out",
	} {
		t.Run(say, func(t *testing.T) {
			t.Parallel()
			x := extracted(t, llm.TurnText{User: say, At: wednesday})
			if len(x.Drafts) > 0 {
				t.Fatalf("kept %q as %s", x.Drafts[0].Text, x.Drafts[0].Kind)
			}
			if x.Reason != reason {
				t.Errorf("the reason is %q, want %q", x.Reason, reason)
			}
		})
	}
}

func TestExtractFacts(t *testing.T) {
	t.Parallel()
	for say, want := range map[string]string{
		"My timezone is Europe/Berlin.":            "timezone: The user's timezone is Europe/Berlin",
		"My timezone is now Europe/Lisbon":         "timezone: The user's timezone is Europe/Lisbon",
		"My name is Robin.":                        "name: The user's name is Robin",
		"I live in Lisbon now.":                    "location: The user lives in Lisbon",
		"My email is robin@mail.example.":          "email: The user's email is robin@mail.example",
		"My pronouns are they/them.":               "pronouns: The user's pronouns are they/them",
		"My work email is robin@work.example, ok?": "",
		"If my name is Robin, who are you?":        "",
		"My name is often misspelled.":             "",
		"My timezone is a mess.":                   "",
		"I live in the country.":                   "",
		"Maybe my timezone is Europe/Berlin":       "",
	} {
		t.Run(say, func(t *testing.T) {
			t.Parallel()
			got := ""
			for _, d := range extracted(t, llm.TurnText{User: say, At: wednesday}).Drafts {
				if d.Key != "" {
					got = d.Key + ": " + d.Text
				}
			}
			if got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestExtractOfSeveralSentences(t *testing.T) {
	t.Parallel()
	x := extracted(t, llm.TurnText{User: "Morning! We use Hugo for the website. The launch is on March 15. Can you check the footer?", At: wednesday})
	if len(x.Drafts) != 2 {
		t.Errorf("%d drafts, want 2", len(x.Drafts))
	}
	x = extracted(t, llm.TurnText{User: "The worker crashed twice today. It leaks memory when a job is cancelled.", At: wednesday})
	last := x.Drafts[len(x.Drafts)-1]
	if !strings.Contains(last.Text, "worker") {
		t.Errorf("a sentence that points back stands alone: %q", last.Text)
	}
}

func TestExtractFromTheAssistantOnlyFindings(t *testing.T) {
	t.Parallel()
	x := extracted(t, llm.TurnText{Assistant: "You could try a larger pool. The root cause was a missing index on the events table. I prefer tabs.", At: wednesday})
	if len(x.Drafts) != 1 || !strings.Contains(x.Drafts[0].Text, "missing index") {
		t.Errorf("got %v", x.Drafts)
	}
}

func TestConfidence(t *testing.T) {
	t.Parallel()
	for say, want := range map[string]float64{
		"I use FastAPI, always have.":                        explicit,
		"The deadline is March 15.":                          explicit,
		"I could not be happier with Neovim.":                explicit,
		"I usually work in the morning.":                     implied,
		"As far as I know the pool is capped at 20.":         implied,
		"I think the pool is capped at 20.":                  reasonable,
		"We're planning to move the site to Astro.":          reasonable,
		"We might move from MySQL to CockroachDB next year.": weak,
		"We may drop the old API.":                           weak,
		"Who knows, the pool is capped at 20.":               speculation,
		"No idea, a wild guess: the pool is capped at 20.":   speculation,
	} {
		t.Run(say, func(t *testing.T) {
			t.Parallel()
			r, err := New().Confidence(context.Background(), clean(say), llm.TurnText{User: "Hello. " + say, At: wednesday})
			if err != nil {
				t.Fatal(err)
			}
			if r.Confidence != want {
				t.Errorf("got %v, want %v", r.Confidence, want)
			}
		})
	}
	t.Run("what the assistant says is implied at most, and what nobody said is speculation", func(t *testing.T) {
		t.Parallel()
		tt := llm.TurnText{User: "Hello.", Assistant: "The pool is capped at 20.", At: wednesday}
		for memory, want := range map[string]float64{"The pool is capped at 20.": implied, "Noor owns the style guide.": speculation} {
			if r, _ := New().Confidence(context.Background(), memory, tt); r.Confidence != want {
				t.Errorf("%q: got %v, want %v", memory, r.Confidence, want)
			}
		}
	})
}

func FuzzExtract(f *testing.F) {
	for _, s := range []string{
		"Oh, we're on MySQL now.", "My timezone is Europe/Berlin.", "Now that we use uv instead of Poetry, how?", "It is so. It is that. They said so.",
		"```\ncode\n```\nWe use Hugo.", "\xff\xfe we use Redis", "I’m on call until November 25", "- btw, also, and so", "日本語の文。We use Go 1.26.", "so", "c++ and c#", "a\x00b",
	} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, user, assistant string) {
		tt := llm.TurnText{User: user, Assistant: assistant, At: wednesday}
		x := extracted(t, tt)
		if len(x.Drafts) == 0 && x.Reason == "" {
			t.Fatal("nothing was kept, and no reason is given")
		}
		for _, d := range x.Drafts {
			if !strings.Contains(user, d.Quote) && !strings.Contains(assistant, d.Quote) || d.Quote == "" {
				t.Fatalf("the quote %q stands nowhere", d.Quote)
			}
			if d.Text == "" || utf8.RuneCountInString(d.Summary) > maxSummary || d.Importance < 0 || d.Importance > 10 || !slices.Contains(oxbow.Kinds, d.Kind) {
				t.Fatalf("a draft out of bounds: %+v", d)
			}
			if (d.Kind == oxbow.Fact) != (d.Key != "") || (d.Key == "") != (d.Slot == "") {
				t.Fatalf("half an address: %+v", d)
			}
			r, err := New().Confidence(context.Background(), d.Text, tt)
			if err != nil || r.Confidence < speculation || r.Confidence > explicit {
				t.Fatalf("a rating out of bounds: %v %v", r, err)
			}
			s := llm.Statement{Label: "c1", Text: d.Text, Kind: d.Kind, Key: d.Key, SaidAt: wednesday}
			if e, _ := New().Expiry(context.Background(), s, nil); !e.Date.IsZero() && e.Date.Before(wednesday) {
				t.Fatalf("an expiry in the past: %s for %q", e.Date, d.Text)
			}
			if got := ask(t, s, s); got != oxbow.ConfirmsIt && text.Same(d.Text, d.Text) && !parse(d.Text, wednesday).asked && parse(d.Text, wednesday).settled() {
				t.Fatalf("%q does not say the same as itself: %s", d.Text, got)
			}
		}
	})
}

func BenchmarkExtract(b *testing.B) {
	tt := llm.TurnText{User: "Oh, by the way, we migrated from PostgreSQL to MySQL last week.", At: wednesday}
	for b.Loop() {
		if len(extract(tt).Drafts) != 1 {
			b.Fatal("nothing was kept")
		}
	}
}
