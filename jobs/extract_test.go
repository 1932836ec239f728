package jobs_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/lab"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/store"
)

func TestExtract(t *testing.T) {
	tell(t,
		story{"reads the turns of a scope in the order in which they were said", readsInOrder},
		story{"keeps one job of a scope at a time", oneJobOfAScope},
		story{"takes the source from the side where the quote stands", sourceBySide},
		story{"refuses and counts a draft whose quote does not stand in the turn", refusesForeignQuotes},
		story{"says of an empty turn why nothing was kept", saysWhyNothing},
		story{"keeps no secret anywhere", keepsNoSecret},
		story{"marks a turn that cannot be read and goes on with those behind it", marksUnreadable},
		story{"makes nothing twice when a turn is read once more", readsOnceMore},
		story{"bounds what one turn may make", boundsDrafts},
	)
}

func readsInOrder(b *lab.Bench) {
	var read []string
	b.Judge.OnExtract = func(t llm.TurnText) (llm.Extraction, error) {
		read = append(read, t.User)
		return llm.Extraction{Reason: "small talk"}, nil
	}
	b.Say("c", "third", at(3))
	b.Say("c", "first", at(1))
	b.Say("d", "second", at(2))
	b.Drain()
	same(b, "the turns read", read, []string{"first", "second", "third"})
	for _, t := range turns(b) {
		run, err := b.DB.Run(b.Ctx, b.Scope.Tenant, t.Run)
		b.Must(err)
		equal(b, "the beginning of the run of "+t.User, run.StartedAt, t.CreatedAt)
		equal(b, "the state of "+t.User, t.State, oxbow.TurnExtracted)
		equal(b, "the reason of "+t.User, t.Reason, "small talk")
		equal(b, "the judge of "+t.User, t.Judge, "script@1")
	}
}

func oneJobOfAScope(b *lab.Bench) {
	b.Say("c", "one: 1", at(1))
	b.Say("c", "two: 2", at(2))
	other := oxbow.Scope{Tenant: b.Scope.Tenant, Name: "user:bob"}
	b.Ingest(oxbow.Turn{Scope: other, User: "three: 3", At: at(3)})
	scopes := map[string]int{}
	for _, j := range b.Waiting() {
		scopes[string(j.Args)]++
	}
	equal(b, "the extract jobs that wait", len(b.Waiting()), 2)
	equal(b, "the scopes they are about", len(scopes), 2)
}

func sourceBySide(b *lab.Bench) {
	b.Ingest(oxbow.Turn{Conversation: "c", User: "ann: says it", Assistant: "bot: says it", At: at(1), Parts: []oxbow.Part{
		{Source: oxbow.FromTool, Text: "grep: says it"}, {Source: oxbow.FromWeb, Text: "page: says it"},
		{Source: oxbow.FromImport, Text: "file: says it"}}})
	b.Drain()
	for text, want := range map[string]oxbow.Source{"ann: says it": oxbow.FromUser, "bot: says it": oxbow.FromAssistant,
		"grep: says it": oxbow.FromTool, "page: says it": oxbow.FromWeb, "file: says it": oxbow.FromImport} {
		m := b.Find(text)
		equal(b, "the source of "+text, m.Source, want)
		equal(b, "the conversation of "+text, m.Conversation, "c")
		equal(b, "when it was said", m.SaidAt, at(1))
	}
	equal(b, "the quote's place", b.Find("grep: says it").Quote, oxbow.Quote{Part: "parts/0", Start: 0, End: 13})
}

func refusesForeignQuotes(b *lab.Bench) {
	b.Judge.OnExtract = func(llm.TurnText) (llm.Extraction, error) {
		good, foreign, none := lab.DraftOf("tea: green"), lab.DraftOf("invented"), lab.DraftOf("tea: black")
		none.Quote = ""
		odd := lab.DraftOf("tea: green")
		odd.Text, odd.Kind = "of no kind", "gossip"
		slot := lab.DraftOf("user/drink = tea")
		slot.Slot, slot.Quote = "world", "tea: green"
		return llm.Extraction{Drafts: []llm.Draft{good, foreign, none, odd, slot, good}}, nil
	}
	b.Say("c", "tea: green", at(1))
	b.Drain()
	same(b, "what was kept", b.Texts(), []string{"active tea: green"})
	t := turns(b)[0]
	equal(b, "the count of memories", t.Memories, 1)
	r, err := b.DB.Run(b.Ctx, b.Scope.Tenant, t.Run)
	b.Must(err)
	equal(b, "the refused drafts", r.Counts["refused"], 5)
}

func saysWhyNothing(b *lab.Bench) {
	b.Judge.OnExtract = func(t llm.TurnText) (llm.Extraction, error) {
		if t.User == "invent" {
			return llm.Extraction{Drafts: []llm.Draft{lab.DraftOf("not in there")}}, nil
		}
		return llm.Extraction{}, nil
	}
	b.Say("c", "hello", at(1))
	b.Say("c", "invent", at(2))
	b.Drain()
	var reasons []string
	for _, t := range turns(b) {
		reasons = append(reasons, t.Reason)
	}
	same(b, "the reasons", reasons, []string{"nothing worth keeping", "what was proposed does not stand in the turn"})
}

func keepsNoSecret(b *lab.Bench) {
	const canary = "sk-proj-Zq8vT3kLm5Xw9Yr2Bn7c"
	b.Judge.OnExtract = func(t llm.TurnText) (llm.Extraction, error) {
		if strings.Contains(t.User, canary) {
			b.Error("the judge saw the secret")
		}
		d := lab.DraftOf(t.User)
		d.Text += " " + canary // a judge that makes one up
		d.Summary, d.Tags = "with "+canary, []string{canary}
		return llm.Extraction{Drafts: []llm.Draft{d}}, nil
	}
	b.Ingest(oxbow.Turn{Conversation: canary, User: "The key is " + canary, Assistant: "Noted: " + canary, At: at(1),
		Parts: []oxbow.Part{{Source: oxbow.FromTool, Text: "env " + canary}}})
	b.Remember(lab.Statement{Text: "Deploy with " + canary, Summary: canary, Tags: []string{canary}})
	b.Drain()
	equal(b, "the memories", len(b.All()), 2)
	equal(b, "the secrets counted on the turn", turns(b)[0].Redacted, 4)
	if strings.Contains(strings.ToLower(b.DB.Dump(b)), strings.ToLower(canary)) {
		b.Error("the secret stands in the database")
	}
}

func marksUnreadable(b *lab.Bench) {
	broken := true
	b.Judge.OnExtract = func(t llm.TurnText) (llm.Extraction, error) {
		if broken && strings.HasPrefix(t.User, "bad") {
			return llm.Extraction{}, llm.ErrUnparsable
		}
		return llm.Extraction{Drafts: []llm.Draft{lab.DraftOf(t.User)}}, nil
	}
	b.Say("c", "good: before", at(1))
	b.Say("c", "bad: turn", at(2))
	b.Say("c", "good: behind", at(3))
	b.Drain()
	var states []oxbow.TurnState
	for _, t := range turns(b) {
		states = append(states, t.State)
	}
	same(b, "the states", states, []oxbow.TurnState{oxbow.TurnExtracted, oxbow.TurnFailed, oxbow.TurnExtracted})
	ds := b.Discarded()
	if len(ds) != 1 {
		b.Fatalf("the discarded jobs: %+v", ds)
	}
	if !strings.Contains(ds[0].Error, "parse") || strings.Contains(string(ds[0].Args), "bad") {
		b.Errorf("the copy says %q with %s", ds[0].Error, ds[0].Args)
	}
	broken = false
	b.Must(b.Engine.RetryDiscarded(b.Ctx, b.Scope.Tenant, ds[0].ID))
	b.Drain()
	equal(b, "the turn read again", turns(b)[1].State, oxbow.TurnExtracted)
	equal(b, "its memory", b.Find("bad: turn").SaidAt, at(2))
	equal(b, "the discarded jobs left", len(b.Discarded()), 0)
	b.Clean()
}

func readsOnceMore(b *lab.Bench) {
	b.Say("c", "tea: green\nuser/timezone = Europe/Oslo", at(1))
	b.Drain()
	before := b.State()
	b.Clock.Add(time.Hour)
	_, err := b.Engine.RunJob(b.Ctx, lab.Order{Name: "extract", Tenant: b.Scope.Tenant})
	b.Must(err)
	b.Drain()
	equal(b, "the questions", b.Judge.Calls("extract"), 2)
	if d := lab.Differ(before, b.State()); d != "" {
		b.Errorf("another reading changed:\n%s", d)
	}
	equal(b, "the turn's reason", turns(b)[0].Reason, "it is known already")
}

func boundsDrafts(b *lab.Bench) {
	var lines []string
	for i := range 30 {
		lines = append(lines, "topic"+string(rune('a'+i%26))+strings.Repeat("x", i)+": said")
	}
	b.Say("c", strings.Join(lines, "\n"), at(1))
	b.Say("c", strings.Repeat("long ", 500), at(2))
	b.Drain()
	equal(b, "the memories of one turn", len(b.All()), 20)
	equal(b, "the memories of a draft too long", turns(b)[1].Memories, 0)
}

func TestAwayJudge(t *testing.T) {
	tell(t, story{"waits for a judge that is away for two days and spends no attempt", waitsTwoDays},
		story{"gives up what the judge refuses for good, at once", permanentFailure})
}

func waitsTwoDays(b *lab.Bench) {
	b.Judge.Down = func() error { return &llm.AwayError{Err: errors.New("connection refused")} }
	b.Say("c", "tea: green", at(1))
	b.Say("d", "tea: black", at(2))
	direct := b.Remember(lab.Statement{Text: "coffee: none", SaidAt: at(3)})
	equal(b, "the direct write", direct.Status, oxbow.Active)
	for range 48 {
		b.Wake()
		b.Drain()
		b.Clock.Add(time.Hour)
	}
	equal(b, "the jobs given up", len(b.Discarded()), 0)
	b.Wake()
	for _, j := range b.Waiting() {
		equal(b, "the attempts of "+j.Kind, b.Attempts(j.ID), 0)
	}
	if len(b.Waiting()) != 2 || b.Judge.Calls("extract") != 48 {
		b.Fatalf("%d jobs wait, the judge was asked %d times", len(b.Waiting()), b.Judge.Calls("extract"))
	}
	b.Judge.Down = nil
	b.Wake()
	b.Drain()
	same(b, "the end", b.Texts(), []string{"superseded tea: green", "active tea: black", "active coffee: none"})
	equal(b, "the rating", b.Find("tea: black").Rated, true)
	b.Clean()
}

func permanentFailure(b *lab.Bench) {
	b.Judge.OnExpiry = func(llm.Statement, *time.Location) (llm.Expiry, error) {
		return llm.Expiry{}, oxbow.Errorf(oxbow.CodeUnauthorized, "the key is not accepted")
	}
	b.Remember(lab.Statement{Text: "tea: green"})
	b.Drain()
	equal(b, "the questions", b.Judge.Calls("expiry"), 1)
	if !slices.ContainsFunc(b.Discarded(), func(d store.Discarded) bool { return d.Kind == "expiry" }) {
		b.Errorf("the discarded jobs: %v", b.Discarded())
	}
}
