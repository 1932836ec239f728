package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/internal/lab"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/recall"
	"github.com/oxbow-memory/oxbow/store"
)

// compass is an embedder of two directions: a text that holds the word north
// points north, one that holds east points east, and what follows is how far it
// is turned from there, such as north30. Everything else has no vector.
type compass struct {
	calls int
	asker llm.Caller
}

func (*compass) ID() string      { return "compass/2/1" }
func (*compass) Dimensions() int { return 2 }

func (c *compass) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	c.calls++
	c.asker = llm.CallerOf(ctx)
	out := make([][]float32, len(texts))
	for i, t := range texts {
		out[i] = []float32{0, 0}
		for _, w := range strings.Fields(strings.ToLower(t)) {
			for name, base := range map[string]float64{"north": 0, "east": 90} {
				var turned float64
				if rest, ok := strings.CutPrefix(w, name); ok {
					_, _ = fmt.Sscanf(rest, "%f", &turned)
					angle := (base + turned) * math.Pi / 180
					out[i] = []float32{float32(math.Cos(angle)), float32(math.Sin(angle))}
				}
			}
		}
	}
	return out, nil
}

// picker is a judge that also selects.
type picker struct {
	*lab.Judge
	pick func(cue string, items []llm.Statement, limit int) ([]string, error)
}

func (p picker) Select(_ context.Context, cue string, items []llm.Statement, limit int) ([]string, error) {
	return p.pick(cue, items, limit)
}

// embedding gives the bench an engine with a compass, which all memories get
// their vectors from.
func (b *bench) embedding() *compass {
	b.Helper()
	c := &compass{}
	b.Engine = engine.New(engine.Config{Store: b.DB, Judge: b.Judge, Clock: b.Clock.Now, Embedder: c})
	return c
}

// embed gives memories vectors.
func (b *bench) embed(c *compass, ms ...oxbow.Memory) {
	b.Helper()
	for _, m := range ms {
		vs, _ := c.Embed(b.Ctx, []string{m.Content.Text})
		b.inTx(func(ctx context.Context, tx store.Tx) error {
			_, err := tx.PutVectors(ctx, m.Scope, c.ID(), []store.Vector{{Memory: m.ID, ContentVersion: m.ContentVersion, Values: vs[0]}})
			return err
		})
	}
	c.calls = 0
}

// relate puts what a memory names into the graph: two things, and that one has to
// do with the other.
func (b *bench) relate(m oxbow.Memory, from, to string) {
	b.Helper()
	b.inTx(func(ctx context.Context, tx store.Tx) error {
		_, err := tx.PutGraph(ctx, m.Scope, store.GraphPart{Memory: m.ID, ContentVersion: m.ContentVersion,
			Entities: []store.GraphEntity{{Name: from}, {Name: to}}, Relations: []store.GraphRelation{{From: from, Type: "has to do with", To: to}}})
		return err
	})
}

// near fails the test when a number is another one.
func near(b *bench, what string, got, want float64) {
	b.Helper()
	if math.Abs(got-want) > 1e-6 {
		b.Errorf("%s: got %.9f, want %.9f", what, got, want)
	}
}

// staged gives what a stage made of a result.
func staged(b *bench, r recall.Result, name string) float64 {
	b.Helper()
	for _, s := range r.Stages {
		if s.Name == name {
			return s.Value
		}
	}
	b.Fatalf("no stage %s in %v", name, r.Stages)
	return 0
}

func (b *bench) fact(slot, key, words string) oxbow.Memory {
	b.Helper()
	return b.Remember(engine.Statement{Slot: slot, Key: key, Text: words})
}

func TestRecallFacts(t *testing.T) {
	tell(t,
		story{"asks each slot for its ten best, one slot after the other", func(b *bench) {
			for i := range 12 {
				b.fact("user", fmt.Sprintf("tea %d", i), "likes tea")
			}
			b.fact("agent", "brew", "tea at four")
			b.fact("project", "mascot", "a tea pot")
			b.Remember(engine.Statement{Text: "tea without an address"})
			a := b.recall(engine.Recall{Text: "tea", Strategy: "facts"})
			var slots []string
			for _, r := range a.Results {
				slots = append(slots, r.Memory.Slot)
			}
			equal(b, "slots", strings.Join(slots, " "), strings.Repeat("user ", 10)+"project agent")
			equal(b, "of one slot", len(b.recall(engine.Recall{Text: "tea", Strategy: "facts", Slot: "agent"}).Results), 1)
		}},
		story{"reads words of three letters or more, in key and value", func(b *bench) {
			b.fact("user", "ci", "go on ci")
			zone := b.fact("user", "timezone", "Europe/Stockholm")
			equal(b, "short words", len(b.recall(engine.Recall{Text: "go \"ci\"", Strategy: "facts"}).Results), 0)
			equal(b, "long words", len(b.recall(engine.Recall{Text: "the timezone? go", Strategy: "facts"}).Results), 1)
			b.fact("user", "preferred name", "Countess")
			equal(b, "words of a key", len(b.recall(engine.Recall{Text: "what name is preferred?", Strategy: "facts"}).Results), 1)
			equal(b, "value", b.recall(engine.Recall{Text: "is it Stockholm", Strategy: "facts"}).Results[0].Memory.ID, zone.ID)
		}},
		story{"ranks by BM25 with k1 1.2 and b 0.75", func(b *bench) {
			b.fact("user", "drink", "tea tea green")
			b.fact("user", "snack", "biscuits")
			r := b.recall(engine.Recall{Text: "tea", Strategy: "facts"}).Results[0]
			idf := math.Log((2-1+0.5)/(1+0.5) + 1)
			length, average := 4.0, (4.0+2.0)/2
			near(b, "bm25", staged(b, r, "bm25"), idf*2*2.2/(2+1.2*(1-0.75+0.75*length/average)))
			near(b, "score", r.Score, min(1, staged(b, r, "bm25")/idf))
		}},
		story{"counts every hit as use only under the rule classic", func(b *bench) {
			m := b.fact("user", "drink", "tea")
			passive := engine.Recall{Text: "tea", Strategy: "facts", Passive: true}
			b.recall(passive)
			equal(b, "uses under asked", b.Get(m.ID).AccessCount, 0)
			p, err := engine.PatchPolicy(oxbow.DefaultPolicy(), []byte(`{"recall": {"use": "classic"}}`))
			b.Must(err)
			_, run, err := b.Engine.SetScope(b.Ctx, b.Bench.Scope, "", &p, nil)
			b.Must(err)
			equal(b, "the run that applies rules of recall", run, "")
			b.recall(passive)
			b.recall(passive)
			equal(b, "uses under classic, in one day", b.Get(m.ID).AccessCount, 1)
			b.Clean()
		}},
	)
}

func TestRecallMemories(t *testing.T) {
	tell(t,
		story{"weighs relevance by 0.6 and freshness by 0.4, both from 0 to 1", func(b *bench) {
			b.Remember(engine.Statement{Text: "deploy the shop on Fridays", SaidAt: lab.Start.Add(-30 * day)})
			b.fact("user", "deploy", "on Fridays")
			a := b.recall(engine.Recall{Text: "deploy Fridays", Strategy: "memories"})
			equal(b, "results", len(a.Results), 1)
			r := a.Results[0]
			near(b, "freshness after thirty days", staged(b, r, "freshness"), 0.5)
			near(b, "relevance of the best", staged(b, r, "of best"), 1)
			near(b, "score", r.Score, 0.6+0.4*0.5)
		}},
		story{"puts what was said yesterday and fits somewhat over what fits wholly and is two months old", func(b *bench) {
			pinned := engine.Statement{Text: "rollback of the tier migration", SaidAt: lab.Start.Add(-60 * day)}
			b.Remember(pinned)
			b.Remember(engine.Statement{Text: "rollback of the tier list", SaidAt: lab.Start.Add(-day)})
			b.Remember(engine.Statement{Text: "lunch", SaidAt: lab.Start})
			a := b.recall(engine.Recall{Text: "tier rollback", Strategy: "memories"})
			equal(b, "first", texts(a)[0], "rollback of the tier list")
			equal(b, "age", a.Results[0].Age, "yesterday")
		}},
		story{"says ages in words and heeds kinds, tags, confidence and ends", func(b *bench) {
			b.Remember(engine.Statement{Text: "tea today", Tags: []string{"Drinks"}})
			b.Remember(engine.Statement{Text: "tea tomorrow as promised", Kind: oxbow.Preference, SaidAt: lab.Start.Add(-12 * day), Source: oxbow.FromAssistant})
			b.Remember(engine.Statement{Text: "tea is over", SaidAt: lab.Start.Add(-2 * day), ExpiresAt: lab.Start.Add(-day)})
			a := b.recall(engine.Recall{Text: "tea", Strategy: "memories"})
			equal(b, "ages", a.Results[0].Age+", "+a.Results[1].Age, "today, 12 days ago")
			near(b, "confidence", a.Results[1].Confidence, 0.7)
			equal(b, "results", len(a.Results), 2)
			equal(b, "of a tag", len(b.recall(engine.Recall{Text: "tea", Strategy: "memories", Tag: "DRINKS"}).Results), 1)
			equal(b, "of a kind", texts(b.recall(engine.Recall{Text: "tea", Strategy: "memories", Kind: oxbow.Preference}))[0], "tea tomorrow as promised")
		}},
		story{"stand in one list with facts under unified, each by its own rule", func(b *bench) {
			old := lab.Start.Add(-30 * day)
			b.Remember(engine.Statement{Slot: "user", Key: "drink", Text: "green tea", SaidAt: old})
			b.Remember(engine.Statement{Text: "tea is green", SaidAt: old})
			a := b.recall(engine.Recall{Text: "green tea", Strategy: "unified"})
			equal(b, "results", len(a.Results), 2)
			for _, r := range a.Results {
				want := staged(b, r, "of best")
				if !r.Memory.IsFact() {
					want = 0.6*want + 0.4*0.5
				}
				near(b, "score of "+r.Memory.Content.Text, r.Score, want)
			}
		}},
	)
}

func TestRecallWaterfall(t *testing.T) {
	tell(t,
		story{"takes words first, then vectors from 0.3 on, with one query vector", func(b *bench) {
			c := b.embedding()
			words := b.Remember(engine.Statement{Text: "the word harbour east"})
			alike := b.Remember(engine.Statement{Text: "turned north60"})
			exact := b.Remember(engine.Statement{Text: "turned north1"})
			far := b.Remember(engine.Statement{Text: "turned north80"})
			b.embed(c, words, alike, exact, far)
			a := b.recall(engine.Recall{Text: "harbour north", Strategy: "waterfall"})
			equal(b, "order", strings.Join(texts(a), ", "), "the word harbour east, turned north1, turned north60")
			equal(b, "found by", a.Results[0].Match+" "+a.Results[1].Match, "fts embedding")
			near(b, "cosine", a.Results[2].Score, 0.5)
			equal(b, "embeddings of the query", c.calls, 1)
			equal(b, "for whom", c.asker.Tenant+"/"+c.asker.Scope+" "+c.asker.Job, b.Bench.Scope.String()+" recall")
		}},
		story{"then goes two hops from the nodes that match, for at most five memories", func(b *bench) {
			c := b.embedding()
			ways := map[string][]string{
				"Alice introduced me to Nightshade": {"Alice", "Nightshade"}, "Nightshade is a restaurant": {"Nightshade", "restaurant"},
				"Nightshade has a garden": {"Nightshade", "garden"}, "the garden has bees": {"garden", "bees"}, "bees make honey": {"bees", "honey"},
			}
			for words, names := range ways {
				b.relate(b.Remember(engine.Statement{Text: words}), names[0], names[1])
			}
			found := map[string]string{}
			a := b.recall(engine.Recall{Text: "do I know a good restaurant?", Strategy: "waterfall"})
			for _, r := range a.Results {
				found[r.Memory.Content.Text] = r.Match
			}
			want := map[string]string{"Nightshade is a restaurant": "fts", "Alice introduced me to Nightshade": "graph", "Nightshade has a garden": "graph", "the garden has bees": "graph"}
			if !maps.Equal(found, want) {
				b.Errorf("got %v, want %v", found, want)
			}
			equal(b, "first", a.Results[0].Match, "fts")
			equal(b, "embeddings of the query", c.calls, 1)
		}},
		story{"lets the graph add at most five, and a third of the limit", func(b *bench) {
			b.Remember(engine.Statement{Text: "the harbour"})
			b.Remember(engine.Statement{Text: "another harbour"})
			for i := range 9 {
				b.relate(b.Remember(engine.Statement{Text: fmt.Sprintf("ship %d", i)}), "harbour", fmt.Sprintf("ship number %d", i))
			}
			matches := func(limit int) string {
				var out []string
				for _, r := range b.recall(engine.Recall{Text: "harbour", Strategy: "waterfall", Limit: limit}).Results {
					out = append(out, r.Match)
				}
				return strings.Join(out, " ")
			}
			equal(b, "by default", matches(0), "fts fts graph graph graph graph graph")
			equal(b, "of three", matches(3), "fts fts graph")
		}},
		story{"compares what was edited since by its words of then", func(b *bench) {
			c := b.embedding()
			m := b.Remember(engine.Statement{Text: "turned north"})
			b.Clock.Add(day)
			words := "turned east"
			w, err := b.Engine.Edit(b.Ctx, b.tenant(), m.ID, engine.Change{Text: &words})
			b.Must(err)
			b.embed(c, w.Memory)
			equal(b, "now", len(b.recall(engine.Recall{Text: "east1", Strategy: "waterfall"}).Results), 1)
			equal(b, "its later words, then", len(b.recall(engine.Recall{Text: "east1", Strategy: "waterfall", AsOf: lab.Start.Add(time.Hour)}).Results), 0)
		}},
		story{"asks for no vectors when words fill the room", func(b *bench) {
			c := b.embedding()
			b.embed(c, b.Remember(engine.Statement{Text: "harbour one north"}), b.Remember(engine.Statement{Text: "harbour two north"}), b.Remember(engine.Statement{Text: "turned north"}))
			for _, r := range b.recall(engine.Recall{Text: "harbour north2", Strategy: "waterfall", Limit: 2}).Results {
				equal(b, "found by", r.Match, "fts")
			}
		}},
	)
}

func TestRecallComposite(t *testing.T) {
	tell(t,
		story{"weighs similarity 0.6, recency 0.25 with a half-life of seven days, and salience 0.15", func(b *bench) {
			six := 6.0
			b.Remember(engine.Statement{Text: "deploys are gated on staging", Importance: &six, SaidAt: lab.Start.Add(-7 * day)})
			r := b.recall(engine.Recall{Text: "deploys gated staging", Strategy: "composite"}).Results[0]
			near(b, "recency", staged(b, r, "recency"), 0.5)
			near(b, "salience", staged(b, r, "salience"), 0.6)
			near(b, "score", r.Score, 0.6*staged(b, r, "similarity")+0.25*0.5+0.15*0.6)
		}},
		story{"looks for the words as typed and for the cue of the state, and fuses them", func(b *bench) {
			c := b.embedding()
			typed := b.Remember(engine.Statement{Text: "exit code 137 east"})
			meant := b.Remember(engine.Statement{Text: "release checklist north"})
			both := b.Remember(engine.Statement{Text: "exit code of north"})
			b.embed(c, typed, meant, both)
			a := b.recall(engine.Recall{Text: "exit code 137", State: recall.State{Goal: "go", Step: "to", Open: []string{"the", "north"}}, Strategy: "composite"})
			found := map[string]string{}
			for _, r := range a.Results {
				found[r.Memory.ID] = r.Match
			}
			equal(b, "typed", found[typed.ID], "fts")
			equal(b, "meant", found[meant.ID], "embedding")
			equal(b, "both", found[both.ID], "fts+embedding")
		}},
		story{"drops what scores under 0.35 before it takes five", func(b *bench) {
			zero := 0.0
			for i := range 8 {
				b.Remember(engine.Statement{Text: fmt.Sprintf("tier migration %d", i)})
			}
			b.Remember(engine.Statement{Text: "one word of a long story is migration and everything else is about another thing", Importance: &zero, SaidAt: lab.Start.Add(-28 * day)})
			equal(b, "results", len(b.recall(engine.Recall{Text: "tier migration", Strategy: "composite"}).Results), 5)
			none := 0.0
			equal(b, "without a floor", len(b.recall(engine.Recall{Text: "tier migration", Strategy: "composite", Limit: 20, Floor: &none}).Results), 9)
			for _, r := range b.recall(engine.Recall{Text: "tier migration", Strategy: "composite", Limit: 20}).Results {
				if r.Score < 0.35 {
					b.Errorf("%s scores %v", r.Memory.Content.Text, r.Score)
				}
			}
			equal(b, "over the floor", len(b.recall(engine.Recall{Text: "tier migration", Strategy: "composite", Limit: 20}).Results), 8)
		}},
		story{"takes the weights of the scope, and cools down what is not used", func(b *bench) {
			ten := 10.0
			b.Remember(engine.Statement{Text: "always ask before a deploy", Importance: &ten, SaidAt: lab.Start.Add(-20 * day)})
			b.Remember(engine.Statement{Text: "ask about a deploy", SaidAt: lab.Start.Add(-day)})
			q := engine.Recall{Text: "ask deploy", Strategy: "composite", Passive: true}
			equal(b, "by the default", texts(b.recall(q))[0], "ask about a deploy")
			p, err := engine.PatchPolicy(oxbow.DefaultPolicy(), []byte(`{"recall": {"recency": 0, "salience": 2}}`))
			b.Must(err)
			_, _, err = b.Engine.SetScope(b.Ctx, b.Bench.Scope, "", &p, nil)
			b.Must(err)
			a := b.recall(q)
			equal(b, "by salience", texts(a)[0], "always ask before a deploy")
			near(b, "score", a.Results[0].Score, (0.6*staged(b, a.Results[0], "similarity")+2)/2.6)
		}},
		story{"sums up in one block what exceeds the budget", func(b *bench) {
			for i := range 5 {
				b.Remember(engine.Statement{Text: fmt.Sprintf("the tier migration has a step %d that takes rather many words to say and even more to do", i)})
			}
			q := engine.Recall{Text: "tier migration step", Strategy: "composite", Passive: true}
			equal(b, "within the budget", b.recall(q).Rest == nil, true)
			q.Budget = 120
			a := b.recall(q)
			if a.Rest == nil || len(a.Results) == 0 || len(a.Results)+len(a.Rest.IDs) != 5 || !strings.Contains(a.Rest.Text, "the tier migration") {
				b.Fatalf("%d results and the rest %+v", len(a.Results), a.Rest)
			}
			if n := llm.TokensOf(len(recall.Render(a, lab.Start, time.UTC)) - len(recall.Render(recall.Answer{Rest: &recall.Rest{}}, lab.Start, time.UTC))); n > 120 {
				b.Errorf("the block takes %d tokens", n)
			}
			q.Budget = 1
			a = b.recall(q)
			equal(b, "a budget of nothing", fmt.Sprint(len(a.Results), len(a.Rest.IDs)), "0 5")
		}},
	)
}

func TestRecallIndex(t *testing.T) {
	tell(t,
		story{"shows the judge labels of the sixty strongest and takes at most six", func(b *bench) {
			var seen []llm.Statement
			b.selecting(func(cue string, items []llm.Statement, limit int) ([]string, error) {
				equal(b, "the cue", cue, "what now?")
				equal(b, "the limit", limit, 6)
				seen = items
				return []string{"c2", "c1", "c1", "c99", items[0].Text, "c3", "c4", "c5", "c6", "c7", "c8"}, nil
			})
			for i := range 63 {
				w := float64(i%9 + 1)
				b.Remember(engine.Statement{Text: fmt.Sprintf("note %d", i), Importance: &w})
			}
			b.Remember(engine.Statement{Text: "a note that has nearly faded", Importance: ptr(10.0), SaidAt: lab.Start.Add(-85 * day)})
			a := b.recall(engine.Recall{Text: "what now?", Strategy: "index"})
			equal(b, "offered", len(seen), 60)
			for i, s := range seen {
				if s.Label != fmt.Sprintf("c%d", i+1) || strings.Contains(s.Text, "faded") || len(s.Text) > 30 {
					b.Errorf("offered %+v", s)
				}
			}
			equal(b, "order", strings.Join(texts(a), ", "), strings.Join([]string{seen[1].Text, seen[0].Text, seen[2].Text, seen[3].Text, seen[4].Text, seen[5].Text}, ", "))
			near(b, "score", a.Results[0].Score, 0.9)
			equal(b, "found by", a.Results[0].Match, "index")
			equal(b, "used", b.Get(a.Results[0].Memory.ID).AccessCount, 1)
		}},
		story{"gives nothing for an answer that does not parse, and the error of a judge that is away", func(b *bench) {
			b.Remember(engine.Statement{Text: "note"})
			answer := llm.ErrUnparsable
			b.selecting(func(string, []llm.Statement, int) ([]string, error) { return nil, answer })
			a := b.recall(engine.Recall{Text: "note", Strategy: "index"})
			equal(b, "results", len(a.Results), 0)
			equal(b, "notes", len(a.Notes), 1)
			answer = &llm.AwayError{Err: errors.New("gone fishing")}
			_, err := b.Engine.Recall(b.Ctx, engine.Recall{Scope: b.Bench.Scope, Text: "note", Strategy: "index"})
			if _, away := errors.AsType[*llm.AwayError](err); !away {
				b.Errorf("got %v", err)
			}
		}},
		story{"needs a judge that can select", func(b *bench) {
			b.Remember(engine.Statement{Text: "note"})
			_, err := b.Engine.Recall(b.Ctx, engine.Recall{Scope: b.Bench.Scope, Text: "note", Strategy: "index"})
			code(b, "a judge that cannot", err, oxbow.CodeUnsupported)
		}},
		story{"lists what was there then, and what the query includes", func(b *bench) {
			var seen []string
			b.selecting(func(_ string, items []llm.Statement, _ int) ([]string, error) {
				seen = nil
				for _, s := range items {
					seen = append(seen, s.Text)
				}
				slices.Sort(seen)
				return nil, nil
			})
			m := b.Remember(engine.Statement{Text: "first"})
			b.Clock.Add(2 * day)
			_, err := b.Engine.Archive(b.Ctx, b.tenant(), m.ID)
			b.Must(err)
			b.Remember(engine.Statement{Text: "second"})
			for want, q := range map[string]engine.Recall{
				"second": {}, "first": {AsOf: lab.Start.Add(day)}, "first second": {Include: []oxbow.Status{oxbow.Archived}},
			} {
				q.Text, q.Strategy = "what?", "index"
				b.recall(q)
				equal(b, "listed", strings.Join(seen, " "), want)
			}
		}},
	)
}

// selecting gives the bench an engine whose judge picks.
func (b *bench) selecting(pick func(string, []llm.Statement, int) ([]string, error)) {
	b.Engine = engine.New(engine.Config{Store: b.DB, Judge: picker{b.Judge, pick}, Clock: b.Clock.Now})
}

func ptr[T any](v T) *T { return &v }
