package jobs_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/internal/lab"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/llm/offline"
	"github.com/oxbow-memory/oxbow/store"
)

func TestObserve(t *testing.T) {
	tell(t,
		story{"makes a conversation's new turns dated observations when enough of them wait", observesWhenGrown},
		story{"takes long turns sooner, by their tokens", observesByTokens},
		story{"observes a turn that arrives late with the next stretch, and none twice", observesLateTurns},
		story{"leaves turns without a conversation alone, and all of them without an observer", observesConversationsOnly},
		story{"makes the same of a conversation whoever brings it, and how often", observesOnce},
		story{"has its effect once when its jobs run twice", observesTwice},
		story{"changes nothing when the answer does not parse, and tries again", observesNothingUnparsed},
		story{"observes the rest when the judge refuses the words of one turn", observesAroundRefused},
		story{"makes no observation of what the agent was shown in the conversation", observesNoEcho},
		story{"keeps an observation with every turn that it rests on", observesEvidence},
		story{"is erased with a memory that was said in a turn that it rests on, and no further turn with it", observationsErased},
		story{"is started by hand for one conversation, however few turns are new, and planned without a change", observesByHand},
		story{"ends an observation with the day it speaks of", observesDeadlines},
	)
}

// observer is an observer whose answers a test writes; without a script it is
// offline's.
type observer struct {
	mu      sync.Mutex
	asked   [][]string
	observe func([]llm.TurnText) ([]llm.Observation, error)
	reflect func([]llm.Statement) ([]llm.Reflection, error)
}

func (o *observer) Observe(ctx context.Context, turns []llm.TurnText) ([]llm.Observation, error) {
	o.mu.Lock()
	var said []string
	for _, t := range turns {
		said = append(said, t.User)
	}
	o.asked = append(o.asked, said)
	o.mu.Unlock()
	if o.observe != nil {
		return o.observe(turns)
	}
	return offline.New().Observe(ctx, turns)
}

func (o *observer) Reflect(ctx context.Context, items []llm.Statement, target int) ([]llm.Reflection, error) {
	if o.reflect != nil {
		return o.reflect(items)
	}
	return offline.New().Reflect(ctx, items, target)
}

// observing gives a bench an observer and the offline judge's reading, and a scope
// whose conversations are observed every four turns.
func observing(b *lab.Bench, set ...string) *observer {
	o := &observer{}
	b.Observe(o)
	byRules(b)
	policy := oxbow.DefaultPolicy()
	policy.Observe = oxbow.ObserveRules{Turns: 4, Tokens: 5000}
	for _, v := range set {
		var err error
		policy, err = engine.PatchPolicy(policy, []byte(v))
		b.Must(err)
	}
	_, _, err := b.Engine.SetScope(b.Ctx, b.Scope, "", &policy, nil)
	b.Must(err)
	b.Drain()
	return o
}

func byRules(b *lab.Bench) {
	j := offline.New()
	b.Judge.OnExtract = func(t llm.TurnText) (llm.Extraction, error) { return j.Extract(b.Ctx, t) }
	b.Judge.OnRelate = func(s llm.Statement, others []llm.Statement) ([]llm.Relation, error) {
		return j.Relate(b.Ctx, s, others)
	}
	b.Judge.OnExpiry = func(s llm.Statement, z *time.Location) (llm.Expiry, error) { return j.Expiry(b.Ctx, s, z) }
}

// notes gives the notes of the bench's scope in the order in which they were said,
// a status and a text each.
func notes(b *lab.Bench) []string {
	var out []string
	for _, m := range b.All() {
		if m.IsNote() {
			out = append(out, string(m.Status)+" "+m.Content.Text)
		}
	}
	return out
}

func note(b *lab.Bench, text string) oxbow.Memory {
	b.Helper()
	return b.Find(text)
}

// talk ingests exchanges of a conversation, said on days in a row from a day on.
func talk(b *lab.Bench, conversation string, from int, said ...string) {
	b.Helper()
	for i, text := range said {
		b.Ingest(oxbow.Turn{Conversation: conversation, User: text, Assistant: "Noted, and thanks for telling me.", At: at(from + i)})
	}
}

func observesWhenGrown(b *lab.Bench) {
	observing(b)
	talk(b, "talk", 1, "We use PostgreSQL 15 for the billing service.", "Thanks!", "How do I find the slow queries there?")
	talk(b, "other", 3, "I prefer tea in the morning.")
	b.Drain()
	same(b, "the notes of three turns", notes(b), nil)
	talk(b, "talk", 4, "We decided to keep the invoices for ten years.")
	b.Drain()
	same(b, "the notes of four turns", notes(b), []string{
		"active Mentioned: we use PostgreSQL 15 for the billing service",
		"active Asked: how do I find the slow queries there?",
		"active Decided: we decided to keep the invoices for ten years"})
	m := note(b, "Decided: we decided to keep the invoices for ten years")
	equal(b, "when it was said", m.SaidAt, at(4))
	equal(b, "its conversation", m.Conversation, "talk")
	equal(b, "its source", m.Source, oxbow.FromUser)
	turn, err := b.DB.Turn(b.Ctx, b.Scope.Tenant, m.Turn)
	b.Must(err)
	equal(b, "the turn it quotes", turn.User[m.Quote.Start:m.Quote.End], "We decided to keep the invoices for ten years.")
	run, err := b.DB.Run(b.Ctx, b.Scope.Tenant, turn.Observed)
	b.Must(err)
	equal(b, "the run that the turn names", run.Name, "observe")
	equal(b, "the turns it counts", run.Counts["turns"], 4)
}

func observesByTokens(b *lab.Bench) {
	observing(b, `{"observe": {"tokens": 60}}`)
	talk(b, "talk", 1, "We use Redis for the cache. "+strings.Repeat("It works well and nobody has to look after it. ", 6))
	b.Drain()
	equal(b, "the notes", len(notes(b)) > 0, true)
}

func observesLateTurns(b *lab.Bench) {
	o := observing(b)
	talk(b, "talk", 10, "First we use Go 1.26.", "Second we use Redis 7.", "Third we use Kafka 3.", "Fourth we use Nginx 1.27.")
	b.Drain()
	talk(b, "talk", 2, "Before that we used Perl 5.") // said long before, arrives after
	talk(b, "talk", 14, "Fifth we use Vault 1.17.", "Sixth we use Consul 1.20.")
	b.Drain()
	equal(b, "the stretches", len(o.asked), 1)
	talk(b, "talk", 16, "Seventh we use Nomad 1.9.")
	b.Drain()
	equal(b, "the stretches", len(o.asked), 2)
	same(b, "the second one", o.asked[1], []string{"Before that we used Perl 5.", "Fifth we use Vault 1.17.", "Sixth we use Consul 1.20.", "Seventh we use Nomad 1.9."})
	for _, t := range turns(b) {
		equal(b, "that the turn was observed: "+t.User, t.Observed != "", true)
	}
	talk(b, "talk", 16, "Seventh we use Nomad 1.9.") // once more
	b.Drain()
	equal(b, "the stretches", len(o.asked), 2)
}

func observesConversationsOnly(b *lab.Bench) {
	observing(b)
	talk(b, "", 1, "We use Go 1.26.", "We use Redis 7.", "We use Kafka 3.", "We use Nginx 1.27.")
	b.Drain()
	b.Observe(nil)
	talk(b, "talk", 1, "We use Go 1.26.", "We use Redis 7.", "We use Kafka 3.", "We use Nginx 1.27.")
	b.Drain()
	same(b, "the notes", notes(b), nil)
	for _, t := range turns(b) {
		equal(b, "that the turn was observed", t.Observed, "")
	}
}

// chatter is a conversation of many turns, each with an id of its own.
func chatter(s oxbow.Scope, n int) []oxbow.Turn {
	var out []oxbow.Turn
	for i := range n {
		out = append(out, oxbow.Turn{Scope: s, ID: fmt.Sprint("turn ", i), Conversation: "talk", At: at(1).Add(time.Duration(i) * time.Minute),
			User: fmt.Sprintf("We decided to use port %d for service number %d.", 8000+i, i), Assistant: "Understood, I will write that down."})
	}
	return out
}

func observesOnce(b *lab.Bench) {
	observing(b)
	all := chatter(b.Scope, 30)
	b.Ingest(all...)
	b.Drain()
	byHand(b, "observe", "talk")
	want := notes(b)
	equal(b, "the notes of one client", len(want), 30)

	b.Scope.Name = "user:crowd"
	observing(b)
	var wg sync.WaitGroup
	for client := range 4 {
		wg.Go(func() {
			mine := chatter(b.Scope, 30)
			if client%2 == 1 {
				slices.Reverse(mine)
			}
			for _, t := range mine {
				if _, err := b.Engine.Ingest(b.Ctx, []oxbow.Turn{t}); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for range 5 {
		b.Drain() // beside those who ingest
	}
	wg.Wait()
	b.Drain()
	byHand(b, "observe", "talk")
	same(b, "the notes of four clients", notes(b), want)
}

// byHand starts a job by hand and works it.
func byHand(b *lab.Bench, name, conversation string) oxbow.Run {
	b.Helper()
	b.Clock.Add(time.Second)
	runs, err := b.Engine.RunJob(b.Ctx, engine.Order{Name: name, Tenant: b.Scope.Tenant, Scopes: []string{b.Scope.Name}, Conversation: conversation})
	b.Must(err)
	b.Drain()
	run, err := b.DB.Run(b.Ctx, b.Scope.Tenant, runs[0])
	b.Must(err)
	return run
}

func observesTwice(b *lab.Bench) {
	b.Twice = true
	observing(b)
	b.Ingest(chatter(b.Scope, 9)...)
	b.Drain()
	equal(b, "the notes of two stretches", len(notes(b)), 8)
	for _, m := range b.All() {
		if m.IsNote() {
			equal(b, "the events that made "+m.Content.Text, count(b, m.ID, oxbow.Created), 1)
			equal(b, "the ratings of "+m.Content.Text, count(b, m.ID, oxbow.Rated), 1)
		}
	}
}

func observesNothingUnparsed(b *lab.Bench) {
	o := observing(b)
	fail := true
	o.observe = func(ts []llm.TurnText) ([]llm.Observation, error) {
		if fail {
			fail = false
			return nil, llm.ErrUnparsable
		}
		return offline.New().Observe(b.Ctx, ts)
	}
	b.Ingest(chatter(b.Scope, 4)...)
	b.Drain()
	equal(b, "the notes", len(notes(b)), 4)
	equal(b, "how often it was asked", len(o.asked), 2)
}

func observesAroundRefused(b *lab.Bench) {
	o := observing(b)
	o.observe = func(ts []llm.TurnText) ([]llm.Observation, error) {
		for _, t := range ts {
			if strings.Contains(t.User, "8002") {
				return nil, llm.ErrRefused
			}
		}
		return offline.New().Observe(b.Ctx, ts)
	}
	b.Ingest(chatter(b.Scope, 4)...)
	b.Drain()
	equal(b, "the notes", len(notes(b)), 3)
	for _, t := range turns(b) {
		equal(b, "that the turn was observed", t.Observed != "", true)
	}
}

func observesNoEcho(b *lab.Bench) {
	observing(b)
	b.Remember(lab.Statement{Text: "We use PostgreSQL 15 for the billing service.", SaidAt: at(1)})
	b.Drain()
	b.Clock.Set(at(3))
	_, err := b.Engine.Recall(b.Ctx, engine.Recall{Scope: b.Scope, Text: "PostgreSQL billing", Conversation: "talk"})
	b.Must(err)
	talk(b, "talk", 4, "We use PostgreSQL 15 for the billing service, as you say.", "We use Redis 7 there.", "Which version of PostgreSQL do we use for the billing service?", "Fine.")
	talk(b, "elsewhere", 4, "We use PostgreSQL 15 for the billing service.", "We use Redis 7 there too.", "And Kafka 3 is what we use for events.", "Fine.")
	b.Drain()
	var here []string
	for _, m := range b.All() {
		if m.IsNote() && m.Conversation == "talk" {
			here = append(here, m.Content.Text)
		}
	}
	same(b, "the notes where it was shown", here, []string{"Mentioned: we use Redis 7 there", "Asked: which version of PostgreSQL do we use for the billing service?"})
	equal(b, "that it is noted elsewhere", slices.Contains(notes(b), "active Mentioned: we use PostgreSQL 15 for the billing service"), true)
}

func observesEvidence(b *lab.Bench) {
	o := observing(b)
	o.observe = func(ts []llm.TurnText) ([]llm.Observation, error) {
		return []llm.Observation{{Text: "Moved ports 8000 and 8003.", Quote: "use port 8003", Turns: []string{"t1", "t4"}, Importance: 5,
			Rating: &llm.Rating{Confidence: 0.7}, Expiry: &llm.Expiry{}}}, nil
	}
	b.Ingest(chatter(b.Scope, 4)...)
	b.Drain()
	m := note(b, "Moved ports 8000 and 8003.")
	said := turns(b)
	slices.SortFunc(said, func(x, y oxbow.Turn) int { return x.At.Compare(y.At) })
	equal(b, "its turn", m.Turn, said[3].ID)
	equal(b, "when it was said", m.SaidAt, said[3].At)
	equal(b, "its confidence", m.Confidence(), 0.7)
	rests, err := b.DB.EvidenceOf(b.Ctx, b.Scope.Tenant, []string{m.ID})
	b.Must(err)
	same(b, "what it rests on", rests, []store.Evidence{{Memory: m.ID, Turn: said[0].ID}, {Memory: m.ID, Turn: said[3].ID}})
	story, err := b.Engine.Why(b.Ctx, b.Scope.Tenant, m.ID)
	b.Must(err)
	same(b, "the turns that its story names", story.Turns, []string{said[0].ID, said[3].ID})
	made, err := b.DB.ListMemories(b.Ctx, store.MemoryFilter{Tenant: b.Scope.Tenant, Turn: said[0].ID, Kinds: []oxbow.Kind{oxbow.Observation}, Limit: 9})
	b.Must(err)
	equal(b, "the notes of the first turn", len(made), 1)
	done, err := b.Engine.EraseTurn(b.Ctx, b.Scope.Tenant, said[0].ID)
	b.Must(err)
	equal(b, "that erasing the first turn erases it", slices.Contains(done.Memories, m.ID), true)
}

func observationsErased(b *lab.Bench) {
	o := observing(b)
	o.observe = func(ts []llm.TurnText) ([]llm.Observation, error) {
		note := func(text, quote string, turns ...string) llm.Observation {
			return llm.Observation{Text: text, Quote: quote, Turns: turns, Importance: 5, Rating: &llm.Rating{Confidence: 0.7}, Expiry: &llm.Expiry{}}
		}
		return []llm.Observation{note("Moved ports 47112 and 8003.", "use port 8003", "t1", "t4"), note("Took port 8001.", "use port 8001", "t2")}, nil
	}
	said := chatter(b.Scope, 4) // other stories in the same database say the others of these words
	said[0].User = strings.ReplaceAll(said[0].User, "8000", "47112")
	b.Ingest(said...)
	b.Drain()
	said = turns(b)
	slices.SortFunc(said, func(x, y oxbow.Turn) int { return x.At.Compare(y.At) })
	made, err := b.DB.ListMemories(b.Ctx, store.MemoryFilter{Tenant: b.Scope.Tenant, Turn: said[0].ID, Kinds: []oxbow.Kind{oxbow.Semantic, oxbow.Fact, oxbow.Episodic, oxbow.Preference}, Limit: 9})
	b.Must(err)
	if len(made) == 0 {
		b.Fatal("the first turn made no memory")
	}
	moved := note(b, "Moved ports 47112 and 8003.")
	done, err := b.Engine.EraseMemory(b.Ctx, b.Scope.Tenant, made[0].ID)
	b.Must(err)
	equal(b, "that the observation of its turn is erased", slices.Contains(done.Memories, moved.ID), true)
	same(b, "the erased turns", done.Turns, []string{said[0].ID})
	equal(b, "the other observation", note(b, "Took port 8001.").Status, oxbow.Active)
	if dump := strings.ToLower(b.DB.Dump(b)); strings.Contains(dump, "port 47112") || strings.Contains(dump, "ports 47112") {
		b.Error("its words are still there")
	}
	done, err = b.Engine.EraseMemory(b.Ctx, b.Scope.Tenant, note(b, "Took port 8001.").ID)
	b.Must(err)
	same(b, "the turns erased with an observation", done.Turns, []string{said[1].ID})
}

func observesByHand(b *lab.Bench) {
	observing(b)
	b.Ingest(chatter(b.Scope, 2)...)
	talk(b, "other", 1, "We use Redis 7 for the cache.")
	b.Drain()
	before := b.Texts()
	plan, err := b.Engine.PlanJob(b.Ctx, engine.Order{Name: "observe", Tenant: b.Scope.Tenant, Scopes: []string{b.Scope.Name}})
	b.Must(err)
	equal(b, "the planned changes", len(plan[0].Changes), 3)
	same(b, "what a plan leaves", b.Texts(), before)
	run := byHand(b, "observe", "talk")
	equal(b, "the notes of one conversation", len(notes(b)), 2)
	equal(b, "the turns that the run counts", run.Counts["turns"], 2)
	equal(b, "who asked for it", run.Trigger, "operator")
	byHand(b, "observe", "")
	equal(b, "the notes of all", len(notes(b)), 3)
	again := byHand(b, "observe", "")
	equal(b, "the turns of one more run", again.Counts["turns"], 0)
}

func observesDeadlines(b *lab.Bench) {
	observing(b)
	talk(b, "talk", 1, "The report is due on 20 March.", "We use Redis 7 for the cache.", "Fine.", "Good.")
	b.Drain()
	m := note(b, "Mentioned: the report is due on 20 March")
	equal(b, "that it ends", m.ExpiresAt.IsZero(), false)
	b.Pass("expire", m.ExpiresAt.Add(time.Hour))
	equal(b, "its status afterwards", b.Get(m.ID).Status, oxbow.Expired)
}

func TestReflect(t *testing.T) {
	tell(t,
		story{"condenses the older observations and keeps the most recent ones as they are", reflectsOlder},
		story{"loses nothing: what was compressed can be restored and tells why", reflectsRestorably},
		story{"changes nothing for a rewriting that lost a name, and says so in its run", reflectsNothingLossy},
		story{"says why an order condensed nothing", reflectsAndSaysWhy},
		story{"keeps the names that only a question has, and both names of one thing", reflectsQuestions},
		story{"changes nothing when the answer does not parse", reflectsNothingUnparsed},
		story{"leaves pinned ones, those that end on a day and another source's apart", reflectsWhatItMay},
		story{"has its effect once when its jobs run twice", reflectsTwice},
		story{"is taken apart when a part of it no longer holds, and the rest stands", reflectsUndone},
		story{"is taken apart by what was said before it and arrives after", reflectsUndoneLate},
	)
}

// grown fills a conversation with many observations.
func grown(b *lab.Bench, n int) {
	b.Helper()
	b.Ingest(chatter(b.Scope, n)...)
	b.Drain()
}

func ofStatus(b *lab.Bench, k oxbow.Kind, s oxbow.Status) []oxbow.Memory {
	var out []oxbow.Memory
	for _, m := range b.All() {
		if m.Kind == k && m.Status == s {
			out = append(out, m)
		}
	}
	return out
}

func reflectsOlder(b *lab.Bench) {
	observing(b, `{"reflect": {"tokens": 150, "keep": 0.4}}`)
	grown(b, 12)
	made := ofStatus(b, oxbow.Reflection, oxbow.Active)
	if len(made) == 0 {
		b.Fatalf("nothing was condensed: %v", notes(b))
	}
	kept := ofStatus(b, oxbow.Observation, oxbow.Active)
	equal(b, "that the most recent one is as it was", strings.Contains(kept[len(kept)-1].Content.Text, "8011"), true)
	for _, m := range ofStatus(b, oxbow.Observation, oxbow.Compressed) {
		if !slices.ContainsFunc(made, func(r oxbow.Memory) bool { return r.ID == m.ReplacedBy }) {
			b.Errorf("%s was compressed into %q", m.Content.Text, m.ReplacedBy)
		}
		for _, k := range kept {
			if !m.Before(k) {
				b.Errorf("%s was condensed and the older %s was not", m.Content.Text, k.Content.Text)
			}
		}
	}
	r := made[0]
	equal(b, "that it is derived", r.Derived, true)
	equal(b, "its conversation", r.Conversation, "talk")
	from := 0
	for _, l := range b.Links(r.ID) {
		if l.Type == oxbow.DerivedFrom && l.From == r.ID {
			from++
			if src := b.Get(l.To); src.Status != oxbow.Compressed || !strings.Contains(r.Content.Text, strings.Fields(src.Content.Text)[5]) {
				b.Errorf("it does not hold %q: %q", src.Content.Text, r.Content.Text)
			}
		}
	}
	equal(b, "that it is derived from several", from >= 2, true)
}

func reflectsRestorably(b *lab.Bench) {
	observing(b, `{"reflect": {"tokens": 150, "keep": 0.4}}`)
	grown(b, 12)
	old := ofStatus(b, oxbow.Observation, oxbow.Compressed)[0]
	story, err := b.Engine.Why(b.Ctx, b.Scope.Tenant, old.ID)
	b.Must(err)
	var lines []string
	for _, l := range story.Lines {
		lines = append(lines, l.Text)
	}
	told := strings.Join(lines, " ")
	equal(b, "that the story tells of it: "+told, strings.Contains(told, "compressed into") && strings.Contains(told, "condensed with the others of its conversation's past"), true)
	_, err = b.Engine.Restore(b.Ctx, b.Scope.Tenant, old.ID, engine.Restoration{})
	b.Must(err)
	equal(b, "its status", b.Get(old.ID).Status, oxbow.Active)
}

func reflectsNothingLossy(b *lab.Bench) {
	o := observing(b, `{"reflect": {"tokens": 150, "keep": 0.4}}`)
	o.reflect = func(items []llm.Statement) ([]llm.Reflection, error) {
		return []llm.Reflection{{Text: "Some ports were chosen.", Of: []string{items[0].Label, items[1].Label}}}, nil
	}
	grown(b, 12)
	equal(b, "the reflections", len(ofStatus(b, oxbow.Reflection, oxbow.Active)), 0)
	equal(b, "what was compressed", len(ofStatus(b, oxbow.Observation, oxbow.Compressed)), 0)
	rs, err := b.DB.ListRuns(b.Ctx, store.RunFilter{Tenant: b.Scope.Tenant, Name: "reflect", Limit: 9})
	b.Must(err)
	if len(rs) == 0 || rs[0].Counts["refused"] == 0 || !strings.Contains(rs[0].Note, "lost a number") {
		b.Errorf("the runs say %+v", rs)
	}
}

func reflectsAndSaysWhy(b *lab.Bench) {
	o := observing(b)
	o.reflect = func(items []llm.Statement) ([]llm.Reflection, error) {
		return []llm.Reflection{{Text: "Some ports were chosen.", Of: []string{items[0].Label, items[1].Label}}}, nil
	}
	grown(b, 12)
	plan, err := b.Engine.PlanJob(b.Ctx, engine.Order{Name: "reflect", Tenant: b.Scope.Tenant, Conversation: "talk"})
	b.Must(err)
	if len(plan) != 1 || len(plan[0].Changes) != 0 || plan[0].Refused != 1 || !strings.Contains(plan[0].Why, "lost a number") {
		b.Errorf("a dry run says %+v", plan)
	}
	byHand(b, "reflect", "talk")
	rs, err := b.DB.ListRuns(b.Ctx, store.RunFilter{Tenant: b.Scope.Tenant, Name: "reflect", Limit: 9})
	b.Must(err)
	if len(rs) != 1 || rs[0].Counts["refused"] != 1 || !strings.Contains(rs[0].Note, "lost a number") {
		b.Errorf("the runs say %+v", rs)
	}
	o.reflect = nil
	byHand(b, "reflect", "talk")
	equal(b, "that a later order condensed what this one did not", len(ofStatus(b, oxbow.Reflection, oxbow.Active)) > 0, true)
}

func reflectsQuestions(b *lab.Bench) {
	observing(b, `{"reflect": {"tokens": 100000, "keep": 0}}`)
	talk(b, "talk", 1, "We migrated the orders database from Oracle to PostgreSQL.", "Could you explain what a vacuum does in Postgres?",
		"My sister Beth works at Contoso as an accountant.", "What's a good way to shard orders?", "Why can't we use Redis for that?",
		"How do I avoid deadlocks?", "Does Helix cannot open it?")
	b.Drain()
	byHand(b, "observe", "talk")
	byHand(b, "reflect", "talk")
	made := ofStatus(b, oxbow.Reflection, oxbow.Active)
	if len(made) != 1 {
		b.Fatalf("%d reflections of %v", len(made), notes(b))
	}
	equal(b, "that nothing follows the last question mark", strings.HasSuffix(made[0].Content.Text, "?."), false)
	for _, name := range []string{"PostgreSQL", "Postgres?", "Contoso", "Redis", "Helix"} {
		equal(b, "that "+made[0].Content.Text+" names "+name, strings.Contains(made[0].Content.Text+"?", strings.Trim(name, "?")), true)
	}
}

func reflectsNothingUnparsed(b *lab.Bench) {
	o := observing(b, `{"reflect": {"tokens": 150, "keep": 0.4}}`)
	o.reflect = func([]llm.Statement) ([]llm.Reflection, error) { return nil, llm.ErrUnparsable }
	grown(b, 12)
	equal(b, "what was compressed", len(ofStatus(b, oxbow.Observation, oxbow.Compressed)), 0)
	equal(b, "the observations", len(ofStatus(b, oxbow.Observation, oxbow.Active)), 12)
}

func reflectsWhatItMay(b *lab.Bench) {
	o := observing(b)
	var offered []string
	o.reflect = func(items []llm.Statement) ([]llm.Reflection, error) {
		for _, s := range items {
			offered = append(offered, s.Text)
		}
		return nil, nil
	}
	talk(b, "talk", 1, "We use Go 1.26 for the service.", "The report is due on 20 March.", "We use Redis 7 for the cache.", "We use Kafka 3 for events.")
	b.Drain()
	_, err := b.Engine.Pin(b.Ctx, b.Scope.Tenant, note(b, "Mentioned: we use Redis 7 for the cache").ID)
	b.Must(err)
	talk(b, "talk", 5, "We use Nginx 1.27 as the proxy.", "We use Vault 1.17 for secrets.", "We use Consul 1.20 for names.", "We use Nomad 1.9 for jobs.")
	b.Drain()
	byHand(b, "reflect", "talk")
	if slices.ContainsFunc(offered, func(s string) bool { return strings.Contains(s, "due") || strings.Contains(s, "Redis") }) || len(offered) < 2 {
		b.Errorf("the judge was offered %q", offered)
	}
}

func reflectsTwice(b *lab.Bench) {
	b.Twice = true
	observing(b, `{"reflect": {"tokens": 150, "keep": 0.4}}`)
	grown(b, 12)
	for _, m := range b.All() {
		if m.IsNote() {
			equal(b, "the events that made "+m.Content.Text, count(b, m.ID, oxbow.Created), 1)
			if n := count(b, m.ID, oxbow.CompressedTo); n > 1 {
				b.Errorf("%s was compressed %d times", m.Content.Text, n)
			}
		}
	}
	equal(b, "that something was condensed", len(ofStatus(b, oxbow.Reflection, oxbow.Active)) > 0, true)
}

func reflectsUndone(b *lab.Bench) {
	observing(b, `{"reflect": {"keep": 0}}`)
	talk(b, "talk", 1, "We use PostgreSQL for the billing service.", "I prefer tea in the morning.", "Ada owns the style guide.", "We keep invoices for 10 years.")
	b.Drain()
	byHand(b, "reflect", "talk")
	made := ofStatus(b, oxbow.Reflection, oxbow.Active)
	if len(made) != 1 || !strings.Contains(made[0].Content.Text, "PostgreSQL") {
		b.Fatalf("the notes are %v", notes(b))
	}
	talk(b, "later", 9, "We moved the billing service from PostgreSQL to MySQL.")
	b.Drain()
	equal(b, "the reflection", b.Get(made[0].ID).Status, oxbow.Superseded)
	equal(b, "the choice undone", note(b, "Mentioned: we use PostgreSQL for the billing service").Status, oxbow.Superseded)
	equal(b, "what still holds", note(b, "Mentioned: I prefer tea in the morning").Status, oxbow.Active)
}

func reflectsUndoneLate(b *lab.Bench) {
	observing(b, `{"reflect": {"keep": 0}}`)
	talk(b, "talk", 1, "We use PostgreSQL for the billing service.", "I prefer tea in the morning.")
	talk(b, "talk", 12, "Ada owns the style guide.", "We keep invoices for 10 years.")
	b.Drain()
	byHand(b, "reflect", "talk")
	made := ofStatus(b, oxbow.Reflection, oxbow.Active)[0]
	talk(b, "other", 9, "We moved the billing service from PostgreSQL to MySQL.") // said between what it holds
	b.Drain()
	equal(b, "that the reflection stands no more", b.Get(made.ID).Status, oxbow.Archived)
	equal(b, "the choice undone", note(b, "Mentioned: we use PostgreSQL for the billing service").Status, oxbow.Superseded)
	equal(b, "what still holds", note(b, "Mentioned: Ada owns the style guide").Status, oxbow.Active)
}

func TestNotesAndMemories(t *testing.T) {
	tell(t,
		story{"recites no choice that was undone, whichever is read first", undoneChoices},
		story{"never lets an observation act on a memory", actsOnNotesOnly},
		story{"leaves observations out of clusters and of recall, unless they are asked for", leftOut},
	)
}

func undoneChoices(b *lab.Bench) {
	observing(b)
	talk(b, "talk", 1, "We use PostgreSQL for the billing service.", "Fine.", "Good.", "Thanks a lot.")
	b.Drain()
	talk(b, "talk", 9, "We moved the billing service from PostgreSQL to MySQL.")
	b.Drain()
	equal(b, "an observation that was there before", note(b, "Mentioned: we use PostgreSQL for the billing service").Status, oxbow.Superseded)

	talk(b, "second", 1, "We use Redis for the cache.", "We replaced Redis with Memcached for the cache.", "Fine.", "Good.")
	b.Drain()
	for _, m := range b.All() {
		if m.IsNote() && m.Status == oxbow.Active && strings.Contains(m.Content.Text, "we use Redis") {
			b.Errorf("what was undone before it was observed is recited: %s of %q", m.Content.Text, b.Texts())
		}
	}
}

func actsOnNotesOnly(b *lab.Bench) {
	o := observing(b)
	o.observe = func(ts []llm.TurnText) ([]llm.Observation, error) {
		return []llm.Observation{{Text: "We moved to MySQL.", Quote: ts[0].User, Turns: []string{"t1"}, Importance: 5,
			Rating: &llm.Rating{Confidence: 1}, Expiry: &llm.Expiry{}}}, nil
	}
	b.Judge.OnExtract = func(llm.TurnText) (llm.Extraction, error) { return llm.Extraction{}, nil }
	old := b.Remember(lab.Statement{Text: "We use PostgreSQL.", SaidAt: at(1)})
	equalOne := b.Remember(lab.Statement{Text: "We moved to MySQL.", SaidAt: at(2)})
	b.Judge.OnRelate = func(_ llm.Statement, others []llm.Statement) ([]llm.Relation, error) {
		var out []llm.Relation
		for _, s := range others {
			out = append(out, llm.Relation{Label: s.Label, Relation: oxbow.Replaces})
		}
		return out, nil
	}
	b.Drain()
	was := b.Get(old.ID)
	talk(b, "talk", 5, "We moved from PostgreSQL to MySQL, all of us, in one long night.", "Fine.", "Good.", "Thanks.")
	b.Drain()
	n := ofStatus(b, oxbow.Observation, oxbow.Active)
	equal(b, "the observations", len(n), 1)
	equal(b, "the events of the older memory", b.Get(old.ID).Version, was.Version)
	equal(b, "the confirmations of the equal one", b.Get(equalOne.ID).Confirmations, 0)
	same(b, "the links of the observation", b.Links(n[0].ID), nil)
}

func leftOut(b *lab.Bench) {
	observing(b, `{"cluster_min": 2}`)
	b.Judge.OnCluster = func(items []llm.Statement) ([][]string, error) {
		for _, s := range items {
			if s.Kind == oxbow.Observation {
				b.Errorf("cluster was offered %q", s.Text)
			}
		}
		return nil, nil
	}
	talk(b, "talk", 1, "We use PostgreSQL for the billing service.", "How do I find slow PostgreSQL queries?", "We use Redis 7 for the cache.", "Good.")
	b.Drain()
	b.Pass("cluster", at(6))
	b.Clock.Set(at(6))
	for _, strategy := range []string{"hybrid", "memories", "unified", "waterfall", "composite"} {
		found, err := b.Engine.Recall(b.Ctx, engine.Recall{Scope: b.Scope, Text: "slow PostgreSQL queries of billing", Strategy: strategy})
		b.Must(err)
		for _, r := range found.Results {
			if r.Memory.IsNote() {
				b.Errorf("%s recalls %q", strategy, r.Memory.Content.Text)
			}
		}
	}
	found, err := b.Engine.Recall(b.Ctx, engine.Recall{Scope: b.Scope, Text: "slow PostgreSQL queries", Kind: oxbow.Observation})
	b.Must(err)
	equal(b, "that they are found when they are asked for", len(found.Results) > 0, true)
}
