package engine_test

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/internal/lab"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/recall"
)

// recall asks the bench's scope.
func (b *bench) recall(q engine.Recall) recall.Answer {
	b.Helper()
	if q.Scope.Name == "" {
		q.Scope = b.Bench.Scope
	}
	answer, err := b.Engine.Recall(b.Ctx, q)
	b.Must(err)
	return answer
}

// texts gives what an answer says, best first.
func texts(a recall.Answer) []string {
	var out []string
	for _, r := range a.Results {
		out = append(out, r.Memory.Content.Text)
	}
	return out
}

func TestRecall(t *testing.T) {
	tell(t,
		story{"finds what shares words with the question, and counts it as used once a day", func(b *bench) {
			m := b.Remember(engine.Statement{Text: "We use PostgreSQL for the orders"})
			b.Remember(engine.Statement{Text: "Ada plays the cello"})
			for range 2 {
				got := texts(b.recall(engine.Recall{Text: "which database do the orders use?"}))
				equal(b, "results", len(got), 1)
			}
			equal(b, "uses", b.Get(m.ID).AccessCount, 1)
		}},
		story{"does not count what nobody asked for", func(b *bench) {
			m := b.Remember(engine.Statement{Text: "We use PostgreSQL for the orders"})
			equal(b, "results", len(b.recall(engine.Recall{Text: "orders", Passive: true}).Results), 1)
			equal(b, "uses", b.Get(m.ID).AccessCount, 0)
		}},
		story{"gives an empty answer of a scope that nobody knows and of words that nothing has", func(b *bench) {
			b.Remember(engine.Statement{Text: "We use PostgreSQL for the orders"})
			equal(b, "of another scope", len(b.recall(engine.Recall{Text: "orders", Scope: oxbow.Scope{Tenant: b.tenant(), Name: "nobody"}}).Results), 0)
			equal(b, "of other words", len(b.recall(engine.Recall{Text: "zebra"}).Results), 0)
		}},
	)
}

func TestSpeaker(t *testing.T) {
	tell(t,
		story{"is kept, found by and told apart", func(b *bench) {
			mine := b.Remember(engine.Statement{Text: "I live in Oslo"})
			bens := b.Remember(engine.Statement{Text: "I live in Oslo", Speaker: " Ben\x00 Berg "})
			equal(b, "the speaker", b.Get(bens.ID).Content.Speaker, "Ben Berg")
			found := b.recall(engine.Recall{Text: "where is Ben?"})
			equal(b, "found by name", len(found.Results), 1)
			equal(b, "who", found.Results[0].Memory.ID, bens.ID)
			b.drain()
			equal(b, "what the user said", b.Get(mine.ID).Status, oxbow.Active)
			equal(b, "what Ben said", b.Get(bens.ID).Status, oxbow.Active)
			words := "I live in Bergen"
			_, err := b.Engine.Edit(b.Ctx, b.tenant(), bens.ID, engine.Change{Text: &words})
			b.Must(err)
			equal(b, "the speaker after an edit", b.Get(bens.ID).Content.Speaker, "Ben Berg")
			b.Clean()
		}},
		story{"is cut to eighty characters", func(b *bench) {
			m := b.Remember(engine.Statement{Text: "Hello there", Speaker: strings.Repeat("ab ", 60)})
			if n := len(b.Get(m.ID).Content.Speaker); n > 82 || n < 40 {
				b.Errorf("%d bytes", n)
			}
		}},
	)
}

func TestRecallOfWhatIsAlive(t *testing.T) {
	tell(t,
		story{"leaves out what has ended or faded, whether or not a pass was there", func(b *bench) {
			b.Remember(engine.Statement{Text: "tea until noon", SaidAt: lab.Start.Add(-day), ExpiresAt: lab.Start})
			b.Remember(engine.Statement{Text: "tea of old", SaidAt: lab.Start.Add(-400 * day)})
			b.Remember(engine.Statement{Text: "tea at last"})
			for _, s := range recall.Strategies() {
				if s != "index" && s != "facts" {
					equal(b, s, strings.Join(texts(b.recall(engine.Recall{Text: "tea", Strategy: s})), ", "), "tea at last")
				}
			}
			equal(b, "expired included", len(b.recall(engine.Recall{Text: "tea", Include: []oxbow.Status{oxbow.Expired}}).Results), 2)
			equal(b, "archived included", len(b.recall(engine.Recall{Text: "tea", Include: []oxbow.Status{oxbow.Archived}}).Results), 2)
		}},
		story{"shows history when it is asked to, and never what is in quarantine or erased", func(b *bench) {
			b.fact("user", "city", "Oslo in Norway")
			b.Clock.Add(time.Hour)
			b.fact("user", "city", "Bergen in Norway")
			b.drain()
			q := engine.Recall{Text: "which city in Norway?"}
			equal(b, "now", strings.Join(texts(b.recall(q)), ", "), "Bergen in Norway")
			q.Include = []oxbow.Status{oxbow.Superseded}
			a := b.recall(q)
			equal(b, "with history", len(a.Results), 2)
			for _, r := range a.Results {
				if r.Memory.Status == oxbow.Superseded {
					equal(b, "uses of what is history", b.Get(r.Memory.ID).AccessCount, 0)
				}
			}
			for _, s := range []oxbow.Status{oxbow.Quarantined, oxbow.Erased, "odd"} {
				_, err := b.Engine.Recall(b.Ctx, engine.Recall{Scope: b.Bench.Scope, Text: "x", Include: []oxbow.Status{s}})
				code(b, string(s), err, oxbow.CodeInvalid)
			}
		}},
		story{"answers of the past with the status, the words and the strength of then", pastAnswers},
		story{"finds what a memory said before it was edited, and not what it says since", earlierWords},
	)
}

func pastAnswers(b *bench) {
	oslo := b.fact("user", "city", "Oslo in Norway")
	b.Clock.Add(10 * day)
	b.fact("user", "city", "Bergen in Norway")
	b.drain()
	then := engine.Recall{Text: "which city in Norway?", AsOf: lab.Start.Add(5 * day)}
	for _, strategy := range []string{"hybrid", "facts", "unified", "composite"} {
		then.Strategy = strategy
		a := b.recall(then)
		equal(b, "then by "+strategy, strings.Join(texts(a), ", "), "Oslo in Norway")
		equal(b, "its status", a.Results[0].Memory.Status, oxbow.Active)
		if want := oxbow.DefaultPolicy().StrengthOf(oxbow.Memory{Kind: oxbow.Fact, SaidAt: lab.Start}, then.AsOf); a.Results[0].Strength != want {
			b.Errorf("the strength was %v, want %v", a.Results[0].Strength, want)
		}
	}
	equal(b, "uses that the past counts", b.Get(oslo.ID).AccessCount, 0)
	then.AsOf = lab.Start.Add(-day)
	equal(b, "before anything was said", len(b.recall(then).Results), 0)
	then.AsOf = lab.Start.Add(9*day + 23*time.Hour)
	equal(b, "just before", strings.Join(texts(b.recall(then)), ", "), "Oslo in Norway")
	then.AsOf = lab.Start.Add(10 * day)
	equal(b, "just after", strings.Join(texts(b.recall(then)), ", "), "Bergen in Norway")
	_, err := b.Engine.EraseMemory(b.Ctx, b.tenant(), oslo.ID)
	b.Must(err)
	then.AsOf = lab.Start.Add(5 * day)
	equal(b, "after it was erased", len(b.recall(then).Results), 0)
}

func earlierWords(b *bench) {
	m := b.Remember(engine.Statement{Text: "The pilot is called Apollo"})
	b.Remember(engine.Statement{Text: "The shop is called Zenith"})
	b.Clock.Add(5 * day)
	words := "The pilot is called Gemini"
	_, err := b.Engine.Edit(b.Ctx, b.tenant(), m.ID, engine.Change{Text: &words})
	b.Must(err)
	for _, strategy := range []string{"hybrid", "memories", "composite", "waterfall"} {
		q := engine.Recall{Text: "Apollo", AsOf: lab.Start.Add(day), Strategy: strategy}
		equal(b, "then by "+strategy, strings.Join(texts(b.recall(q)), ", "), "The pilot is called Apollo")
		q.Text = "Gemini"
		equal(b, "words of later by "+strategy, len(b.recall(q).Results), 0)
		q.AsOf = time.Time{}
		equal(b, "now by "+strategy, strings.Join(texts(b.recall(q)), ", "), words)
	}
}

func TestRecallRefuses(t *testing.T) {
	tell(t, story{"what is out of its range, with the range", func(b *bench) {
		for name, c := range map[string]struct {
			q     engine.Recall
			names string
		}{
			"a limit under one":    {engine.Recall{Limit: -1}, "1 to 100"},
			"a limit over hundred": {engine.Recall{Limit: 101}, "1 to 100"},
			"a floor over one":     {engine.Recall{Floor: ptr(1.5)}, "0 to 1"},
			"a floor that is none": {engine.Recall{Floor: ptr(math.NaN())}, "0 to 1"},
			"a negative budget":    {engine.Recall{Budget: -5}, "over 0"},
			"a strategy":           {engine.Recall{Strategy: "psychic"}, "hybrid"},
			"a kind":               {engine.Recall{Kind: "smell"}, "semantic"},
			"a slot":               {engine.Recall{Slot: "nose"}, "project"},
			"a scope":              {engine.Recall{Scope: oxbow.Scope{Tenant: b.tenant(), Name: "a b"}}, "letters"},
		} {
			if c.q.Scope.Name == "" {
				c.q.Scope = b.Bench.Scope
			}
			c.q.Text = "x"
			_, err := b.Engine.Recall(b.Ctx, c.q)
			code(b, name, err, oxbow.CodeInvalid)
			if err != nil && !strings.Contains(err.Error(), c.names) {
				b.Errorf("%s: the error does not name what is possible: %v", name, err)
			}
		}
	}})
}

// hostile are queries that no index may stumble over.
var hostile = []string{
	"", " \n\t ", "the of and", "?", `"`, `""" OR "`, "NEAR(a b) AND NOT c*", "col:tea ^tea", "'; DROP TABLE memories; --", "%_%", "100%", "tea\x00tea",
	"\xff\xfe", "\u202etea\u202c", "<script>", "茶を飲む", "чай", "شاي", "🍵", "tea & !tea | (tea:*)", "\\", strings.Repeat("tea ", 10_000),
	strings.Repeat("long ", 40_000), strings.Repeat("x", 70_000), strings.Repeat("(", 5000), strings.Repeat("茶", 30_000),
}

func TestRecallHostile(t *testing.T) {
	tell(t, story{"queries find what they share words with, and fail nowhere", func(b *bench) {
		b.selecting(func(string, []llm.Statement, int) ([]string, error) { return nil, nil })
		b.Remember(engine.Statement{Text: "tea is 茶 and чай; 100% of it"})
		b.fact("user", "drink", "tea")
		for _, words := range append(hostile, manyWords()) {
			for _, s := range recall.Strategies() {
				_, err := b.Engine.Recall(b.Ctx, engine.Recall{Scope: b.Bench.Scope, Text: words, Strategy: s, State: recall.State{Goal: words}})
				if err != nil {
					b.Errorf("%s of %.40q: %v", s, words, err)
				}
			}
		}
		for _, words := range []string{`""" OR "tea`, "tea:*", "чай?", "tea\x00", "'tea' --"} {
			if len(b.recall(engine.Recall{Text: words}).Results) == 0 {
				b.Errorf("%q finds nothing", words)
			}
		}
		long := b.recall(engine.Recall{Text: strings.Repeat("tea ", 40_000)})
		equal(b, "a note on what was cut", len(long.Notes), 1)
	}})
}

// manyWords are ten thousand different words.
func manyWords() string {
	var b strings.Builder
	for i := range 10_000 {
		b.WriteString("w" + strconv.Itoa(i) + " ")
	}
	return b.String()
}

func TestShown(t *testing.T) {
	tell(t,
		story{"what an agent was shown in a conversation is not confirmed by its echo there", echoes},
		story{"what it was not shown, or elsewhere, is confirmed", confirmsUnheard},
	)
}

// retells has the user say a memory's words once more in a conversation.
func (b *bench) retells(m oxbow.Memory, conversation string) int {
	b.Helper()
	b.Clock.Set(b.Clock.Now().Add(2 * day))
	b.Say(conversation, m.Content.Text, b.Clock.Now())
	b.drain()
	return b.Get(m.ID).Confirmations
}

func echoes(b *bench) {
	m := b.Remember(lab.Statement{Text: "tea: green"})
	_, err := b.Engine.Recall(b.Ctx, engine.Recall{Scope: b.Bench.Scope, Text: "which tea", Passive: true, Conversation: "c1"})
	b.Must(err)
	equal(b, "confirmations by an echo", b.retells(m, "c1"), 0)
	equal(b, "confirmations elsewhere", b.retells(m, "c2"), 1)
}

func confirmsUnheard(b *bench) {
	m := b.Remember(lab.Statement{Text: "tea: green"})
	_, err := b.Engine.Recall(b.Ctx, engine.Recall{Scope: b.Bench.Scope, Text: "which zebra", Conversation: "c1"})
	b.Must(err)
	equal(b, "confirmations by who was shown nothing", b.retells(m, "c1"), 1)
	_, err = b.Engine.Recall(b.Ctx, engine.Recall{Scope: b.Bench.Scope, Text: "which tea", Conversation: strings.Repeat("c", 2000)})
	code(b, "a name of 2,000 bytes", err, oxbow.CodeInvalid)
}
