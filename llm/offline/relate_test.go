package offline

import (
	"context"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm"
	"pgregory.net/rapid"
)

// statements are the labelled pairs of this package: an older statement, a newer
// one, and what the second is to the first.
var statements = []struct {
	why, old, new string
	want          oxbow.Relation
}{
	// Tools that took another's place.
	{"a migration retires the version in use", "Uses PostgreSQL 15 for the main database", "We migrated from PostgreSQL to MySQL", oxbow.Replaces},
	{"a migration retires a setting", "The PostgreSQL connection pool is capped at 20", "We migrated from PostgreSQL to MySQL", oxbow.Replaces},
	{"a migration retires another spelling", "Postgres JSONB columns hold the event payloads", "We migrated from PostgreSQL to MySQL", oxbow.Replaces},
	{"a migration retires a decision", "We picked PostgreSQL over MongoDB for its JSON support", "We migrated from PostgreSQL to MySQL", oxbow.Replaces},
	{"a casual word retires it too", "Uses PostgreSQL 15 for the main database", "Oh, we're on MySQL now", oxbow.Replaces},
	{"a casual word retires a setting", "Postgres JSONB columns hold the event payloads", "Oh, we're on MySQL now", oxbow.Replaces},
	{"a replacement by name", "We deploy with Jenkins", "We replaced Jenkins with GitHub Actions", oxbow.Replaces},
	{"a tool dropped", "Logs are searched in Elasticsearch", "We no longer use Elasticsearch", oxbow.Replaces},
	{"a tool used instead", "Dependencies are managed with Poetry", "I use uv instead of Poetry now", oxbow.Replaces},
	{"a switch without the old name", "I write all my notes in Obsidian", "I switched to Notion", oxbow.Replaces},
	{"an upgrade", "The service runs on Python 3.11", "We upgraded to Python 3.13", oxbow.Replaces},
	{"the finished move", "Tickets live in Jira", "The Jira to Linear migration is finally done", oxbow.Replaces},
	{"a chain of moves", "We switched from MySQL to PostgreSQL", "We migrated from PostgreSQL to MariaDB", oxbow.Replaces},

	{"an addition is no replacement", "I like Python", "I also use JavaScript", oxbow.Unrelated},
	{"another database for another thing", "We use PostgreSQL for the main database", "We use Redis for the cache", oxbow.Unrelated},
	{"a thought of moving", "We use PostgreSQL for the main database", "We're thinking of moving from PostgreSQL to MySQL", oxbow.Unrelated},
	{"a plan", "We use PostgreSQL for the main database", "We plan to migrate from PostgreSQL to MySQL next year", oxbow.Unrelated},
	{"a possibility", "We use PostgreSQL for the main database", "We might switch to MySQL", oxbow.Unrelated},
	{"a condition", "We use PostgreSQL for the main database", "If it gets slower, we have moved to MySQL by summer", oxbow.Unrelated},
	{"a question", "We use PostgreSQL for the main database", "Have we migrated from PostgreSQL to MySQL?", oxbow.Unrelated},
	{"somebody else's word is unsure", "We use PostgreSQL for the main database", "Tomas said we migrated from PostgreSQL to MySQL", oxbow.Unsure},
	{"a guess is unsure", "We use PostgreSQL for the main database", "I think we switched from PostgreSQL to MySQL", oxbow.Unsure},
	{"somebody else's tool", "We use PostgreSQL for the main database", "Mira switched from PostgreSQL to MySQL", oxbow.Unrelated},
	{"another part of the house", "We use PostgreSQL for the main database", "The billing service moved from PostgreSQL to MySQL", oxbow.Unrelated},
	{"a part named before is unclear", "The billing service uses PostgreSQL", "We migrated from PostgreSQL to MySQL", oxbow.Unsure},
	{"two named parts", "The billing service uses PostgreSQL", "The search service moved from PostgreSQL to MySQL", oxbow.Unrelated},
	{"the past", "We use PostgreSQL for the main database", "At my last job we moved from PostgreSQL to MySQL", oxbow.Unrelated},
	{"what was left already", "We used to run on PostgreSQL", "We migrated from PostgreSQL to MySQL", oxbow.Unrelated},
	{"an opinion stays", "I love PostgreSQL", "We migrated from PostgreSQL to MySQL", oxbow.Unrelated},
	{"a person's skill stays", "Noor is our PostgreSQL expert", "We migrated from PostgreSQL to MySQL", oxbow.Unrelated},
	{"a book stays", "I'm reading a book about PostgreSQL", "We migrated from PostgreSQL to MySQL", oxbow.Unrelated},
	{"a curiosity touches nothing", "The build scripts run on Node 20", "I'm looking into Bun as a possible runtime swap", oxbow.Unrelated},
	{"a curiosity is not touched", "I'm looking into Bun as a possible runtime swap", "The build scripts run on Node 22 now", oxbow.Unrelated},
	{"a plan is not touched by its fulfilment", "We're thinking of moving to MySQL", "We migrated from PostgreSQL to MySQL", oxbow.Unrelated},
	{"an old negative stays", "We don't use MongoDB", "We no longer use MongoDB", oxbow.Unrelated},
	{"what says more than the tool is unsure", "The site is built with Hugo and hosted on Netlify", "We moved from Netlify to Vercel", oxbow.Unsure},
	{"a finding stays beside the change", "We found a bug in PostgreSQL partition pruning", "We migrated from PostgreSQL to MySQL", oxbow.Unsure},

	{"the published example", "Uses PostgreSQL", "Migrated to MySQL", oxbow.Replaces},
	{"a host", "We host everything on Heroku", "We've moved everything over to Fly.io", oxbow.Replaces},
	{"these days", "The CI is CircleCI", "CI is on GitHub Actions these days", oxbow.Replaces},
	{"a role named by both", "We cache sessions in Redis", "We moved the session cache from Redis to Memcached", oxbow.Replaces},
	{"a place of notes", "The docs are written in Notion", "The docs have been moved from Notion to Obsidian", oxbow.Replaces},
	{"another role", "We use Redis for the queue", "We moved the cache from Redis to Memcached", oxbow.Unrelated},
	{"the tests are another world", "We use PostgreSQL in production", "The tests use SQLite now", oxbow.Unrelated},
	{"a move that has not been", "PostgreSQL 15 is our database", "We haven't migrated from PostgreSQL to MySQL yet", oxbow.Unrelated},
	{"a move that never was", "PostgreSQL 15 is our database", "We never migrated from PostgreSQL to MySQL", oxbow.Unrelated},
	{"a move decided against", "PostgreSQL 15 is our database", "We decided not to migrate from PostgreSQL to MySQL", oxbow.Unrelated},
	{"a move under way", "PostgreSQL 15 is our database", "We're halfway through migrating from PostgreSQL to MySQL", oxbow.Unrelated},
	{"a move of a client", "PostgreSQL 15 is our database", "Our client Brightwork moved from PostgreSQL to MySQL", oxbow.Unrelated},
	{"somebody's machine", "The intern uses Windows", "I moved from Windows to Fedora", oxbow.Unrelated},
	{"the customers' tool", "We chat on Slack", "Our customers chat on Discord now", oxbow.Unrelated},
	{"a host that was left", "Deploys go to Heroku", "We left Heroku, everything runs on Fly.io now", oxbow.Replaces},
	{"a side project", "We use PostgreSQL in production", "I use SQLite for my side project now", oxbow.Unrelated},
	{"two side by side", "We use Kafka and RabbitMQ", "We use Kafka now for events", oxbow.Unsure},
	{"a version of something else", "Python 3.11 is required by the SDK", "We upgraded the docs build to Python 3.13", oxbow.Unsure},

	{"a part of the use", "We store files in S3", "We no longer use S3 for logs", oxbow.Unsure},
	{"another thing that was moved", "The shop runs on Rails", "We ported the intranet from Rails to Django", oxbow.Unsure},
	{"the thing that was moved", "The shop runs on Rails", "We ported the shop from Rails to Django", oxbow.Replaces},
	{"praise stays", "PostgreSQL is great for JSON", "We migrated from PostgreSQL to MySQL", oxbow.Unrelated},
	{"the move itself stays", "The migration from PostgreSQL took two days", "We migrated from PostgreSQL to MySQL", oxbow.Unrelated},
	{"the subject may come last", "Linting is done with flake8", "ruff replaced flake8", oxbow.Replaces},
	{"the whole database was moved", "The job queue sits on PostgreSQL", "We moved our whole database from PostgreSQL to MySQL", oxbow.Replaces},

	// Days.
	{"a deadline pushed", "The deadline is March 15", "The deadline was pushed to April 1", oxbow.Replaces},
	{"a deadline with a topic", "The beta deadline is March 15", "The beta deadline moved to April 1", oxbow.Replaces},
	{"a launch brought forward", "The launch of Atlas is on March 15", "The launch of Atlas was brought forward to March 1", oxbow.Replaces},
	{"another deadline", "The beta deadline is March 15", "The tax deadline was pushed to April 1", oxbow.Unrelated},
	{"a deadline without a topic is unclear", "The beta deadline is March 15", "The deadline was pushed to April 1", oxbow.Unsure},
	{"another meeting", "The meeting with Mira is on March 15", "The meeting with Tomas is on April 1", oxbow.Unrelated},
	{"a day that may move", "The beta deadline is March 15", "The beta deadline might move to April 1", oxbow.Unrelated},

	// Numbers.
	{"a limit raised", "The rate limit is set to 100 requests", "The rate limit was raised from 100 to 250 requests", oxbow.Replaces},
	{"a value that is another now", "The upload limit is 5 MB", "The upload limit is now 20 MB", oxbow.Replaces},
	{"a time moved", "Standup is at 9:30", "Standup moved to 10:00", oxbow.Replaces},
	{"two events with a number each", "Version 2.1 was released", "Version 2.2 was released", oxbow.Unrelated},
	{"another subject with a limit", "The API times out after 30 seconds", "The worker times out after 60 seconds", oxbow.Unrelated},
	{"another limit", "The rate limit is 100 requests", "The upload limit is now 20 MB", oxbow.Unrelated},
	{"two numbers of one thing need no word of change", "The upload limit is 5 MB", "The upload limit is 20 MB", oxbow.Replaces},

	// Polarity and preferences.
	{"an instruction turned around", "Always squash commits before merging", "Never squash commits before merging", oxbow.Contradicts},
	{"a habit given up", "We review every pull request in pairs", "We no longer review every pull request in pairs", oxbow.Replaces},
	{"a preference swapped", "I prefer tabs over spaces", "These days I prefer spaces over tabs", oxbow.Replaces},
	{"a liking lost", "I like long meetings", "I don't like long meetings anymore", oxbow.Replaces},
	{"a trait given up", "I'm a vegetarian", "I'm no longer a vegetarian", oxbow.Replaces},
	{"two likings", "I like dark themes", "I like mechanical keyboards", oxbow.Unrelated},
	{"somebody else's dislike", "I like long meetings", "Mira hates long meetings", oxbow.Unrelated},

	// The user.
	{"another place", "I live in Berlin", "I live in Lisbon now", oxbow.Replaces},
	{"a move of house", "The user lives in Berlin", "I moved to Lisbon for good", oxbow.Replaces},
	{"another team is no other place", "I live in Berlin", "I moved to the platform team", oxbow.Unrelated},
	{"a tool is no place", "I live in Berlin", "I moved to Neovim", oxbow.Unrelated},
	{"a value and a property of it", "My manager is Priya", "My manager is strict", oxbow.Unrelated},

	// What was waited for.
	{"what was waited for came", "Waiting for Noor to send the logo files", "Noor sent the logo files", oxbow.Replaces},
	{"somebody else sent something", "Waiting for Noor to send the logo files", "Tomas sent the credentials", oxbow.Unrelated},
	{"it has not come", "Waiting for Noor to send the logo files", "Noor has not sent the logo files", oxbow.Unrelated},

	// The same, said again.
	{"the same words", "We use Redis for the cache", "We use Redis for the cache!", oxbow.ConfirmsIt},
	{"the same use in another order", "We use Grafana and Prometheus for monitoring", "Monitoring uses Prometheus and Grafana", oxbow.ConfirmsIt},
	{"the same with fillers", "We squash every pull request", "We still squash every pull request", oxbow.ConfirmsIt},
	{"the same words for other roles", "The worker calls the scheduler", "The scheduler calls the worker", oxbow.Unrelated},
	{"progress is no confirmation", "Working on the study tracker", "Added login to the study tracker", oxbow.Unrelated},
	{"another language is left alone", "Wir verwenden PostgreSQL", "Heute regnet es in Berlin", oxbow.Unrelated},
}

func TestRelate(t *testing.T) {
	t.Parallel()
	for _, s := range statements {
		t.Run(s.why, func(t *testing.T) {
			t.Parallel()
			older := llm.Statement{Label: "c1", Text: s.old, Kind: oxbow.Semantic, SaidAt: wednesday}
			newer := llm.Statement{Label: "c2", Text: s.new, Kind: oxbow.Semantic, SaidAt: wednesday.AddDate(0, 0, 30)}
			if got := ask(t, newer, older); got != s.want {
				t.Errorf("%q after %q: %s, want %s", s.new, s.old, got, s.want)
			}
			if got := ask(t, older, newer); got != s.want {
				t.Errorf("asked the other way round: %s, want %s", got, s.want)
			}
		})
	}
}

// ask gives the relation of one pair; what is not named is unrelated.
func ask(t interface{ Fatal(...any) }, s, o llm.Statement) oxbow.Relation {
	rs, err := New().Relate(context.Background(), s, []llm.Statement{o})
	if err != nil {
		t.Fatal(err)
	}
	if len(rs) == 0 {
		return oxbow.Unrelated
	}
	if len(rs) > 1 || rs[0].Label != o.Label {
		t.Fatal("a label that was not offered", rs)
	}
	return rs[0].Relation
}

func TestRelateIsSymmetric(t *testing.T) {
	t.Parallel()
	var texts []string
	for _, s := range statements {
		texts = append(texts, s.old, s.new)
	}
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) llm.Statement {
			return llm.Statement{
				Label: label, Text: rapid.SampledFrom(texts).Draw(t, label),
				SaidAt: wednesday.AddDate(0, 0, rapid.IntRange(0, 3).Draw(t, label+" day")),
			}
		}
		a, b := draw("a"), draw("b")
		if there, back := ask(t, a, b), ask(t, b, a); there != back {
			t.Fatalf("%q and %q: %s one way, %s the other", a.Text, b.Text, there, back)
		}
	})
}

func TestRelateOfOneInstantReplacesNothing(t *testing.T) {
	t.Parallel()
	a := llm.Statement{Label: "a", Text: "We use PostgreSQL for the main database", SaidAt: wednesday}
	b := llm.Statement{Label: "b", Text: "We migrated from PostgreSQL to MySQL", SaidAt: wednesday}
	if got := ask(t, a, b); got == oxbow.Replaces || got == oxbow.Contradicts {
		t.Errorf("got %s", got)
	}
}

func TestRelateComparesFactsByAddress(t *testing.T) {
	t.Parallel()
	fact := func(key, text string, day int) llm.Statement {
		return llm.Statement{Label: "c1", Text: text, Kind: oxbow.Fact, Key: key, SaidAt: wednesday.AddDate(0, 0, day)}
	}
	if got := ask(t, fact("timezone", "The user's timezone is Europe/Lisbon", 2), fact("timezone", "The user's timezone is Europe/Berlin", 1)); got != oxbow.Replaces {
		t.Errorf("another value: %s", got)
	}
	if got := ask(t, fact("location", "The user lives in Lisbon", 2), fact("timezone", "The user's timezone is Europe/Berlin", 1)); got != oxbow.Unrelated {
		t.Errorf("another key: %s", got)
	}
}

func TestCueNamesTheRivalsOfANewcomer(t *testing.T) {
	t.Parallel()
	got := read(New().Cue(llm.Statement{Text: "Oh, we're on MySQL now", SaidAt: wednesday}))
	if !got.has("postgresql") || !got.has("postgres") {
		t.Errorf("the cue misses the rivals: %s", got.text)
	}
}

func TestCueNamesTheOtherWordsOfAHome(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"I live in Oslo": "moved", "I moved to Bergen": "live", "I work at Acme": "joined", "I joined Globex": "work",
		"I am vegetarian": "eat", "I eat meat again": "vegetarian",
	} {
		if got := read(New().Cue(llm.Statement{Text: text, SaidAt: wednesday})); !got.has(want) {
			t.Errorf("the cue of %q misses %s: %s", text, want, got.text)
		}
	}
	if got := read(New().Cue(llm.Statement{Text: "The report is due", SaidAt: wednesday})); got.has("moved") {
		t.Errorf("the cue of what is no home names one: %s", got.text)
	}
}

func BenchmarkRelate(b *testing.B) {
	s := llm.Statement{Text: "We migrated from PostgreSQL to MySQL", SaidAt: wednesday.AddDate(0, 0, 30)}
	o := llm.Statement{Label: "c1", Text: "The PostgreSQL connection pool is capped at 20 since March 15", SaidAt: wednesday}
	j := New()
	for b.Loop() {
		if _, err := j.Relate(b.Context(), s, []llm.Statement{o}); err != nil {
			b.Fatal(err)
		}
	}
	if per := b.Elapsed() / time.Duration(b.N); per > time.Millisecond {
		b.Errorf("a verdict takes %s, more than a millisecond", per)
	}
}
