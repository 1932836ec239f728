package jobs

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/llm"
)

func says(texts ...string) []oxbow.Memory {
	var out []oxbow.Memory
	for _, s := range texts {
		out = append(out, oxbow.Memory{Content: oxbow.Content{Text: s}})
	}
	return out
}

func TestMissing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		sources []string
		merged  string
		want    []string
	}{
		{"keeps what is all there", []string{"Ada uses Go 1.26"}, "Go 1.26 is what Ada uses", nil},
		{"misses a name", []string{"We deploy with Ansible"}, "We deploy by hand", []string{"name"}},
		{"misses a name that begins a sentence later on", []string{"We moved. The vendor is Hetzner."}, "We moved to a vendor", []string{"name"}},
		{"misses a name in the genitive", []string{"it is Ada's laptop"}, "it is a laptop", []string{"name"}},
		{"reads a name and its genitive as one", []string{"it is Ada's laptop"}, "the laptop of Ada", nil},
		{"misses a name with capitals inside", []string{"the iPhone is new"}, "the phone is new", []string{"name"}},
		{"misses a number", []string{"the limit is 50 MB"}, "the limit is in MB", []string{"number"}},
		{"does not take a longer number for it", []string{"the limit is 50 MB"}, "the limit is 500 MB", []string{"number"}},
		{"misses a date", []string{"it ships on 2026-05-01"}, "it ships in 2026", []string{"number"}},
		{"misses a month", []string{"it ships in March"}, "it ships soon", []string{"name"}},
		{"misses a version", []string{"pinned to v1.2.3"}, "pinned to v1.2.4", []string{"number"}},
		{"misses a clock time", []string{"stand-up at 9:30"}, "stand-up at 9", []string{"number"}},
		{"misses a negation", []string{"do not mock the database"}, "mock the database", []string{"negation"}},
		{"misses a negation with a typographic sign", []string{"we don’t use mocks"}, "we use mocks", []string{"negation"}},
		{"misses never", []string{"never deploy on a holiday"}, "deploy on a holiday", []string{"negation"}},
		{"misses a negation with nothing but its ending", []string{"the cache hasn't helped"}, "the cache helped", []string{"negation"}},
		{"misses couldn't", []string{"it couldn't connect"}, "it could connect", []string{"negation"}},
		{"misses no longer", []string{"we no longer use it"}, "we use it", []string{"negation"}},
		{"accepts another word of denial", []string{"do not mock the database"}, "never mock the database", nil},
		{"names every kind once, sorted", []string{"not Ada, 3", "nor Bob, 4"}, "x", []string{"name", "negation", "number"}},
		{"does not take the first word for a name", []string{"Tests run nightly"}, "each night tests run", nil},
		{"takes a first word in capitals for a name", []string{"NASA called"}, "they called", []string{"name"}},
		{"takes a name in quotes for one", []string{`we use "Postgres" here`}, "we use a database here", []string{"name"}},
		{"has nothing to miss in an empty source", []string{""}, "anything", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := missing(says(c.sources...), c.merged); !slices.Equal(got, c.want) {
				t.Errorf("missing(%q, %q) = %v, want %v", c.sources, c.merged, got, c.want)
			}
		})
	}
}

func TestInvented(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		sources []string
		merged  string
		want    []string
	}{
		{"finds nothing in what the sources say", []string{"Ada uses Go 1.26", "she uses it daily"}, "Ada uses Go 1.26 daily", nil},
		{"takes a word of the sources in capitals for no name", []string{"the user likes green tea"}, "Every day the User likes Green tea", nil},
		{"takes the pieces of a name for it", []string{"it runs on us-east with PostgreSQL"}, "It runs on Us-East, with PostgreSQL", nil},
		{"finds a name", []string{"we deploy by hand"}, "we deploy with Ansible", []string{"name"}},
		{"finds a number", []string{"the limit is in MB"}, "the limit is 50 MB", []string{"number"}},
		{"finds a date", []string{"it ships in 2026"}, "it ships on 2026-05-01", []string{"number"}},
		{"finds a negation", []string{"mock the database"}, "do not mock the database", []string{"negation"}},
		{"names every kind once, sorted", []string{"x"}, "so not Ada, 3, nor Bob, 4", []string{"name", "negation", "number"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := invented(says(c.sources...), c.merged); !slices.Equal(got, c.want) {
				t.Errorf("invented(%q, %q) = %v, want %v", c.sources, c.merged, got, c.want)
			}
		})
	}
}

func FuzzMissing(f *testing.F) {
	for _, s := range []string{"Ada uses Go 1.26", "do not mock", "it’s 9:30 — NASA’s", "\xff\x00", "Ελλάδα 日本 1,5", "'-_."} {
		f.Add(s, "other "+s)
	}
	f.Fuzz(func(t *testing.T, source, merged string) {
		if lost := missing(says(source), source); len(lost) > 0 {
			t.Errorf("%q misses %v of itself", source, lost)
		}
		if made := invented(says(source), source); len(made) > 0 {
			t.Errorf("%q makes up %v of itself", source, made)
		}
		lost := missing(says(source, merged), merged)
		if !slices.IsSorted(lost) || len(slices.Compact(slices.Clone(lost))) != len(lost) {
			t.Errorf("missing(%q, %q) = %v is not a sorted set", source, merged, lost)
		}
	})
}

func TestCleanKey(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"timezone": "timezone", " Time Zone ": "time_zone", "time-zone": "time_zone", "__a__b__": "a_b", "": "", "—": "",
		"Ünïcode": "ünïcode", "a.b/c": "a_b_c", "API_KEY": "api_key", "e\u0301cole": "école", "日本": "日本", "\x00k\xff": "k",
		strings.Repeat("x", 100):              strings.Repeat("x", 64),
		strings.Repeat("x", 63) + " and more": strings.Repeat("x", 63),
	} {
		if got := CleanKey(in); got != want {
			t.Errorf("CleanKey(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzCleanKey(f *testing.F) {
	for _, s := range []string{"Time Zone", "İstanbul", "ǅ", "a\u0301b", "\xff", strings.Repeat("é-", 80), "K"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		k := CleanKey(in)
		if again := CleanKey(k); again != k {
			t.Errorf("CleanKey(%q) = %q, and once more %q", in, k, again)
		}
		if !utf8.ValidString(k) || utf8.RuneCountInString(k) > 64 || strings.Trim(k, "_") != k || strings.Contains(k, "__") {
			t.Errorf("CleanKey(%q) = %q is not a key", in, k)
		}
	})
}

func TestCleanContent(t *testing.T) {
	t.Parallel()

	t.Run("makes a summary from the text when there is none", func(t *testing.T) {
		t.Parallel()
		c := CleanContent(oxbow.Content{Text: "  " + strings.Repeat("word ", 100)})
		if n := utf8.RuneCountInString(c.Summary); n > 160 || n < 100 || !strings.HasSuffix(c.Summary, "…") {
			t.Errorf("the summary is %q", c.Summary)
		}
	})

	t.Run("bounds, lowers, sorts and unites tags", func(t *testing.T) {
		t.Parallel()
		tags := []string{"Zed", "zed", " a ", "", "\x00"}
		for i := range 20 {
			tags = append(tags, "t"+itoa(i))
		}
		c := CleanContent(oxbow.Content{Text: "x", Tags: tags})
		if len(c.Tags) != 12 || !slices.IsSorted(c.Tags) || c.Tags[0] != "a" || slices.Contains(c.Tags, "") {
			t.Errorf("the tags are %q", c.Tags)
		}
	})

	t.Run("changes nothing a second time", func(t *testing.T) {
		t.Parallel()
		c := CleanContent(oxbow.Content{Text: "a\r\nb\x00\xff", Summary: strings.Repeat("é ", 200), Tags: []string{strings.Repeat("É", 90), "B", "a"}})
		again := CleanContent(c)
		if again.Text != c.Text || again.Summary != c.Summary || !slices.Equal(again.Tags, c.Tags) {
			t.Errorf("%+v became %+v", c, again)
		}
	})

	t.Run("takes secrets out of summary and tags", func(t *testing.T) {
		t.Parallel()
		const secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
		c := CleanContent(oxbow.Content{Text: "x", Summary: "with " + secret, Tags: []string{secret}})
		if strings.Contains(c.Summary+strings.Join(c.Tags, ""), "ghp_") {
			t.Errorf("the secret is in %+v", c)
		}
	})

	t.Run("takes secrets out before their form is lost", func(t *testing.T) {
		t.Parallel()
		const upper, long = "AKIAIOSFODNN7EXAMPLE", "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2ln"
		c := CleanContent(oxbow.Content{Text: "x", Tags: []string{upper, long}, Speaker: strings.Repeat("x", 50) + " " + long, Summary: strings.Repeat("x", 150) + " " + upper})
		for _, words := range append([]string{c.Speaker, c.Summary}, c.Tags...) {
			if strings.Contains(strings.ToLower(words), "akia") || strings.Contains(strings.ToLower(words), "eyj") {
				t.Errorf("a part of a secret is in %q", words)
			}
		}
	})
}

func TestLocate(t *testing.T) {
	t.Parallel()
	turn := oxbow.Turn{User: "same words here", Assistant: "same words there", Parts: []oxbow.Part{
		{Source: oxbow.FromTool, Text: "tool words"}, {Source: oxbow.FromWeb, Text: "web words"}}}
	for _, c := range []struct {
		quote string
		from  oxbow.Source
		at    oxbow.Quote
	}{
		{"same words", oxbow.FromUser, oxbow.Quote{Part: "user", Start: 0, End: 10}},
		{" words there ", oxbow.FromAssistant, oxbow.Quote{Part: "assistant", Start: 5, End: 16}},
		{"tool", oxbow.FromTool, oxbow.Quote{Part: "parts/0", Start: 0, End: 4}},
		{"web words", oxbow.FromWeb, oxbow.Quote{Part: "parts/1", Start: 0, End: 9}},
	} {
		from, at, ok := locate(turn, c.quote)
		if !ok || from != c.from || at != c.at {
			t.Errorf("locate(%q) = %v %+v %t", c.quote, from, at, ok)
		}
	}
	for _, quote := range []string{"", " \x00", "here same", "tool words\nweb words", "SAME WORDS"} {
		if _, at, ok := locate(turn, quote); ok {
			t.Errorf("locate(%q) found %+v", quote, at)
		}
	}
}

func TestGateDrafts(t *testing.T) {
	t.Parallel()
	turn := oxbow.Turn{ID: "t1", Scope: oxbow.Scope{Tenant: "t", Name: "s"}, User: "words", At: time.Unix(0, 0)}
	gate := func(d llm.Draft) (oxbow.Memory, bool) {
		d.Quote = "words"
		kept, _, _ := gateDrafts(turn, []llm.Draft{d}, turn.At)
		if len(kept) == 0 {
			return oxbow.Memory{}, false
		}
		return kept[0], true
	}

	t.Run("holds importance in its bounds", func(t *testing.T) {
		t.Parallel()
		for in, want := range map[float64]float64{-3: 0, 0: 0, 7.5: 7.5, 99: 10} {
			if m, ok := gate(llm.Draft{Text: "x", Kind: oxbow.Semantic, Importance: in}); !ok || m.Importance != want {
				t.Errorf("importance %v became %v", in, m.Importance)
			}
		}
	})

	t.Run("makes a fact of what has a key, and of nothing else", func(t *testing.T) {
		t.Parallel()
		if m, _ := gate(llm.Draft{Text: "x", Kind: oxbow.Semantic, Slot: "user", Key: "Time Zone"}); m.Kind != oxbow.Fact || m.Key != "time_zone" {
			t.Errorf("with a key it is a %s at %s", m.Kind, m.Key)
		}
		if m, _ := gate(llm.Draft{Text: "x", Kind: oxbow.Fact}); m.Kind != oxbow.Semantic {
			t.Errorf("without a key it is a %s", m.Kind)
		}
		if _, ok := gate(llm.Draft{Text: "x", Kind: oxbow.Fact, Slot: "user", Key: "—"}); ok {
			t.Error("a key without letters was accepted")
		}
	})

	t.Run("gives the same draft of the same turn the same id", func(t *testing.T) {
		t.Parallel()
		a, _ := gate(llm.Draft{Text: "x", Kind: oxbow.Semantic, Importance: 1})
		b, _ := gate(llm.Draft{Text: " x\x00", Kind: oxbow.Preference, Importance: 9})
		if a.ID == "" || a.ID != b.ID {
			t.Errorf("the ids are %s and %s", a.ID, b.ID)
		}
	})
}

func TestGateRelations(t *testing.T) {
	t.Parallel()
	s := oxbow.Scope{Tenant: "t", Name: "s"}
	m := oxbow.Memory{ID: "m", Scope: s, SaidAt: time.Unix(10, 0)}
	older := oxbow.Memory{ID: "a", Scope: s, SaidAt: time.Unix(1, 0)}
	newer := oxbow.Memory{ID: "b", Scope: s, SaidAt: time.Unix(20, 0)}
	foreign := oxbow.Memory{ID: "c", Scope: oxbow.Scope{Tenant: "t", Name: "other"}}
	offered := map[string]oxbow.Memory{"c1": older, "c2": newer, "c3": foreign}
	vs, refused := gateRelations(m, offered, []llm.Relation{
		{Label: "c1", Relation: oxbow.Contradicts}, {Label: "c1", Relation: oxbow.ConfirmsIt}, // twice
		{Label: "c2", Relation: oxbow.ConfirmsIt}, {Label: "c3", Relation: oxbow.Contradicts}, // another scope
		{Label: "c9", Relation: oxbow.Contradicts}, {Label: "a", Relation: oxbow.Contradicts}, // never offered
		{Label: "", Relation: oxbow.Contradicts},
	})
	if len(vs) != 2 || refused != 5 {
		t.Fatalf("kept %v, refused %d", vs, refused)
	}
	if vs[0].Older != "a" || vs[0].Newer != "m" || vs[1].Older != "m" || vs[1].Newer != "b" {
		t.Errorf("the pairs are not in the order in which they were said: %v", vs)
	}
	for _, r := range []oxbow.Relation{oxbow.Equal, oxbow.Rejected, "delete", ""} {
		if vs, n := gateRelations(m, offered, []llm.Relation{{Label: "c1", Relation: r}}); len(vs) > 0 || n != 1 {
			t.Errorf("the relation %q gave %v, refused %d", r, vs, n)
		}
	}
	if vs, n := gateRelations(m, offered, []llm.Relation{{Label: "c1", Relation: oxbow.Unrelated}}); len(vs)+n > 0 {
		t.Errorf("unrelated gave %v, refused %d", vs, n)
	}
}

func bySpeaker(id, name string) oxbow.Memory {
	return oxbow.Memory{ID: id, Content: oxbow.Content{Speaker: name}}
}

func TestGateClusters(t *testing.T) {
	t.Parallel()
	offered := map[string]oxbow.Memory{}
	for i := range 4 {
		offered["c"+itoa(i+1)] = oxbow.Memory{ID: "leaf" + itoa(i+1)}
	}
	offered["f1"] = oxbow.Memory{ID: "foreign", Scope: oxbow.Scope{Tenant: "t", Name: "other"}}
	offered["d1"], offered["d2"] = oxbow.Memory{ID: "d1", Derived: true}, oxbow.Memory{ID: "d2", Derived: true}
	offered["b1"], offered["b2"] = bySpeaker("b1", "Ben"), bySpeaker("b2", "Ben")
	for _, c := range []struct {
		name          string
		groups        [][]string
		kept, refused int
	}{
		{"keeps two groups", [][]string{{"c1", "c2"}, {"c3", "c4"}}, 2, 0},
		{"refuses a group of one", [][]string{{"c1"}}, 0, 1},
		{"refuses a label twice in a group", [][]string{{"c1", "c1"}}, 0, 1},
		{"refuses a label that a group before took", [][]string{{"c1", "c2"}, {"c2", "c3"}}, 1, 1},
		{"refuses a label that was never offered", [][]string{{"c1", "c7"}}, 0, 1},
		{"refuses a member of another scope", [][]string{{"c1", "f1", "c2"}}, 0, 1},
		{"keeps what one person said", [][]string{{"b1", "b2"}}, 1, 0},
		{"refuses what two persons said", [][]string{{"c1", "b1"}}, 0, 1},
		{"refuses a merged memory with one new leaf", [][]string{{"d1", "c1"}}, 0, 1},
		{"refuses two merged memories by themselves", [][]string{{"d1", "d2"}}, 0, 1},
		{"refuses two merged memories with one new leaf", [][]string{{"d1", "d2", "c1"}}, 0, 1},
		{"keeps a merged memory with two new leaves", [][]string{{"d1", "c1", "c2"}}, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if kept, refused := gateClusters(offered, c.groups); len(kept) != c.kept || refused != c.refused {
				t.Errorf("kept %d, refused %d", len(kept), refused)
			}
		})
	}
}

func TestEndOfDay(t *testing.T) {
	t.Parallel()
	stockholm, err := time.LoadLocation("Europe/Stockholm")
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		"2026-03-28T12:00:00+01:00": "2026-03-28T23:00:00Z", // the day before summer time
		"2026-03-29T12:00:00+02:00": "2026-03-29T22:00:00Z", // 23 hours long
		"2026-10-25T12:00:00+01:00": "2026-10-25T23:00:00Z", // 25 hours long
		"2026-10-24T23:59:59+02:00": "2026-10-24T22:00:00Z",
		"2026-12-31T10:00:00+01:00": "2026-12-31T23:00:00Z",
	} {
		at, err := time.Parse(time.RFC3339, in)
		if err != nil {
			t.Fatal(err)
		}
		if got := endOfDay(at, stockholm).Format(time.RFC3339); got != want {
			t.Errorf("the day of %s ends at %s, want %s", in, got, want)
		}
	}
}

func TestOutcome(t *testing.T) {
	t.Parallel()
	d := Deps{}
	for asked, want := range map[time.Duration]time.Duration{0: time.Minute, -1: time.Minute, time.Second: time.Second, 100 * time.Hour: 6 * time.Hour} {
		if got := d.snooze(asked); got != want {
			t.Errorf("asked for %v, it waits %v", asked, got)
		}
	}
	if !text.Same("A b.", "a  B") {
		t.Error("equal words do not look the same")
	}
}
