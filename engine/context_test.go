package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/internal/lab"
	"github.com/oxbow-memory/oxbow/recall"
	"github.com/oxbow-memory/oxbow/store"
)

// block asks the bench's scope for a context block.
func (b *bench) block(q engine.ContextQuery) engine.ContextBlock {
	b.Helper()
	if q.Scope.Name == "" {
		q.Scope = b.Bench.Scope
	}
	got, err := b.Engine.Context(b.Ctx, q)
	b.Must(err)
	return got
}

// part gives what a part of a block says, in order.
func part(b engine.ContextBlock, name string) []string {
	var out []string
	for _, p := range b.Parts {
		for _, l := range p.Lines {
			if p.Name == name {
				out = append(out, l.Memory.Content.Text)
			}
		}
	}
	return out
}

func (b *bench) wantPart(got engine.ContextBlock, name string, want ...string) {
	b.Helper()
	if texts := part(got, name); fmt.Sprint(texts) != fmt.Sprint(want) {
		b.Errorf("%s: got %q, want %q", name, texts, want)
	}
}

// observe puts what a conversation was condensed into, as the jobs do.
func (b *bench) observe(conversation, text string, kind oxbow.Kind, at time.Time) oxbow.Memory {
	b.Helper()
	m := oxbow.Memory{ID: oxbow.NewID(b.Name(), conversation, text), Scope: b.Bench.Scope, Status: oxbow.Active, Kind: kind, Conversation: conversation,
		Content: oxbow.Content{Text: text, Summary: text}, Importance: 5, Rating: 0.7, Rated: true, Source: oxbow.FromUser, SaidAt: at, CreatedAt: at, Derived: kind == oxbow.Reflection}
	b.inTx(func(ctx context.Context, tx store.Tx) error {
		if _, err := tx.LockScope(ctx, m.Scope, b.Clock.Now()); err != nil {
			return err
		}
		run := oxbow.Run{ID: "run" + m.ID, Scope: m.Scope, Name: "observe", Trigger: "write", Status: oxbow.RunDone, About: at, StartedAt: at, FinishedAt: at}
		if err := tx.PutRun(ctx, run); err != nil {
			return err
		}
		_, err := tx.Apply(ctx, store.Batch{Scope: m.Scope, Run: run.ID, Now: at, RecordedAt: at},
			[]oxbow.Change{{Type: oxbow.Created, Memory: m.ID, New: &m, Reason: "it was condensed", Actor: "job"}})
		return err
	})
	return m
}

func (b *bench) tell(text string, before time.Duration, ends time.Time) oxbow.Memory {
	b.Helper()
	return b.Remember(engine.Statement{Text: text, SaidAt: lab.Start.Add(-before), ExpiresAt: ends})
}

func TestContext(t *testing.T) {
	tell(t,
		story{"has the conversation, what is recent, what fits and what is due", contextParts},
		story{"shows nothing that is not live", contextLive},
		story{"finds what ends in the time that is asked about, and only that", contextDue},
		story{"names a thing of the sort that is asked for", contextClass},
		story{"takes both halves of a question, and the state beside the message", contextHalves},
		story{"counts as shown and not as used, and its echo confirms nothing", contextShown},
		story{"can be asked about another instant, and then records nothing", contextAt},
		story{"says that nothing is known", contextEmpty},
	)
}

func contextParts(b *bench) {
	b.Reads()
	b.observe("c1", "The move to Lisbon is being planned", oxbow.Observation, at(2))
	b.observe("c1", "Boxes were ordered", oxbow.Reflection, at(3))
	b.observe("c2", "Something else was spoken of", oxbow.Observation, at(4))
	old := b.tell("Fado concerts begin at nine", 40*day, time.Time{})
	var want []string
	for i := range 11 {
		text := fmt.Sprintf("Note %c of the week", 'a'+i)
		b.tell(text, time.Duration(20-i)*time.Hour, time.Time{})
		want = append([]string{text}, want...)
	}
	got := b.block(engine.ContextQuery{Text: "when do fado concerts begin?", Conversation: "c1"})
	b.wantPart(got, recall.Observations, "The move to Lisbon is being planned", "Boxes were ordered")
	b.wantPart(got, recall.Recent, want[:10]...)
	b.wantPart(got, recall.Relevant, old.Content.Text)
	for _, words := range []string{"now: Friday 2026-05-01 12:00, UTC", "previously inferred", "% match, id " + engine.Short(old.ID)} {
		if !strings.Contains(got.Text, words) {
			b.Errorf("%q is not in: %s", words, got.Text)
		}
	}
	if l := got.Parts[2].Lines[0]; l.Score < recall.RelevantFloor || l.Match == "" {
		b.Errorf("it matched by %v, %q", l.Score, l.Match)
	}
	equal(b, "lines that nothing tells why", b.unexplained(got), 0)
	_, _, err := b.Engine.SetScope(b.Ctx, b.Bench.Scope, "Asia/Tokyo", nil, nil)
	b.Must(err)
	if got := b.block(engine.ContextQuery{Text: "hello"}); got.Zone != "Asia/Tokyo" || !strings.Contains(got.Text, "now: Friday 2026-05-01 21:00, Asia/Tokyo") {
		b.Errorf("the time where the scope lives is not told: %s", got.Text)
	}
}

// unexplained counts the lines whose id has no story.
func (b *bench) unexplained(got engine.ContextBlock) (n int) {
	for _, p := range got.Parts {
		for _, l := range p.Lines {
			if s, err := b.Engine.Why(b.Ctx, b.tenant(), engine.Short(l.ID)); err != nil || len(s.Lines) == 0 || s.Memory.ID != l.ID {
				n++
			}
		}
	}
	return n
}

func contextLive(b *bench) {
	b.Reads()
	gone := b.tell("The database backup runs at noon", time.Hour, time.Time{})
	_, err := b.Engine.Archive(b.Ctx, b.tenant(), gone.ID)
	b.Must(err)
	b.tell("The database freeze ends soon", time.Hour, lab.Start.Add(time.Hour))
	b.tell("The database faded long ago", 400*day, time.Time{})
	b.Remember(engine.Statement{Text: "The database is PostgreSQL", Slot: "project", Key: "database", SaidAt: at(1)})
	b.Remember(engine.Statement{Text: "The database is MySQL", Slot: "project", Key: "database", SaidAt: at(2)})
	b.drain()
	b.Clock.Add(2 * time.Hour) // no pass has been there
	got := b.block(engine.ContextQuery{Text: "which database is it, and what is due this week?"})
	b.wantPart(got, recall.Recent, "The database is MySQL")
	equal(b, "other parts", len(got.Parts), 1)
}

func contextDue(b *bench) {
	b.Reads()
	sunday := time.Date(2026, 5, 3, 0, 0, 0, 0, time.UTC) // the end of Saturday
	for i := range 10 {
		b.tell(fmt.Sprintf("Note %c", 'a'+i), time.Duration(i)*time.Minute, time.Time{})
	}
	b.tell("Send the tax papers", 30*day, sunday)
	b.tell("Renew the passport", 30*day, lab.Start.Add(4*day))
	b.tell("Pay the plumber", 30*day, lab.Start.Add(60*day))
	b.wantPart(b.block(engine.ContextQuery{Text: "what is due this week?"}), recall.Due, "Send the tax papers")
	b.wantPart(b.block(engine.ContextQuery{Text: "what is due?"}), recall.Due, "Send the tax papers", "Renew the passport")
	b.wantPart(b.block(engine.ContextQuery{Text: "who am I, and what is due next week?"}), recall.Due, "Renew the passport")
	b.wantPart(b.block(engine.ContextQuery{State: recall.State{Goal: "do what is due tomorrow"}}), recall.Due, "Send the tax papers")
	b.wantPart(b.block(engine.ContextQuery{Text: "what did I do last week?"}), recall.Due)
	b.wantPart(b.block(engine.ContextQuery{Text: "hello there"}), recall.Due)
	got := b.block(engine.ContextQuery{Text: "what is due tomorrow?"})
	if !strings.Contains(got.Text, "due, ends Saturday 2026-05-02") {
		b.Errorf("the day is not told: %s", got.Text)
	}
	for i := range 6 {
		b.tell(fmt.Sprintf("Small thing %c", 'a'+i), 31*day, sunday.Add(-time.Hour))
	}
	got = b.block(engine.ContextQuery{Text: "what is due tomorrow?"})
	equal(b, "what is due at most", len(part(got, recall.Due)), 5)
	if len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "more than 5 memories end") {
		b.Errorf("that there is more is not said: %q", got.Notes)
	}
}

func contextClass(b *bench) {
	b.Reads()
	for i := range 10 {
		b.tell(fmt.Sprintf("Note %c", 'a'+i), time.Duration(i)*time.Minute, time.Time{})
	}
	b.tell("Orders are kept in MySQL", 3*day, time.Time{})
	b.tell("Would MongoDB be faster?", 2*day, time.Time{})
	b.tell("The code of our shop is old", 2*day, time.Time{})
	b.wantPart(b.block(engine.ContextQuery{Text: "which database do we use?"}), recall.Relevant, "Orders are kept in MySQL")
	b.wantPart(b.block(engine.ContextQuery{Text: "what is our editor?"}), recall.Relevant) // VS Code is one, and code is none
}

func contextHalves(b *bench) {
	b.Reads()
	for i := range 10 {
		b.tell(fmt.Sprintf("Note %c", 'a'+i), time.Duration(i)*time.Minute, time.Time{})
	}
	b.tell("The dentist has her practice in Mill Lane", 3*day, time.Time{})
	b.tell("Anna plays the cello on Sundays", 3*day, time.Time{})
	b.tell("The release train leaves on Thursdays", 3*day, time.Time{})
	got := b.block(engine.ContextQuery{Text: "where is the dentist's practice, and who plays the cello?"})
	b.wantPart(got, recall.Relevant, "The dentist has her practice in Mill Lane", "Anna plays the cello on Sundays")
	got = b.block(engine.ContextQuery{Text: "who plays the cello?", State: recall.State{Goal: "board the release train"}})
	b.wantPart(got, recall.Relevant, "Anna plays the cello on Sundays", "The release train leaves on Thursdays")
	b.wantPart(b.block(engine.ContextQuery{State: recall.State{Step: "board the release train"}}), recall.Relevant, "The release train leaves on Thursdays")
}

func contextShown(b *bench) {
	b.Reads()
	m := b.tell("We use PostgreSQL for the orders", time.Hour, time.Time{})
	b.drain()
	b.block(engine.ContextQuery{Text: "which database has the orders?", Conversation: "c1"})
	shown, err := b.DB.Shown(b.Ctx, b.tenant(), []string{m.ID})
	b.Must(err)
	equal(b, "conversations that were shown it", len(shown), 1)
	b.Clock.Add(2 * day)
	b.Say("c1", "We use PostgreSQL for the orders", b.Clock.Now())
	b.drain()
	equal(b, "confirmations by its echo", b.Get(m.ID).Confirmations, 0)
	equal(b, "uses", b.Get(m.ID).AccessCount, 0)
	p := oxbow.DefaultPolicy()
	p.Recall.Use = oxbow.UseClassic
	_, _, err = b.Engine.SetScope(b.Ctx, b.Bench.Scope, "", &p, nil)
	b.Must(err)
	b.block(engine.ContextQuery{Text: "which database has the orders?", Conversation: "c1"})
	equal(b, "uses by the classic rule", b.Get(m.ID).AccessCount, 1)
}

func contextAt(b *bench) {
	b.Reads()
	m := b.tell("The report is due", 10*day, lab.Start.Add(-2*day))
	b.tell("Said later", day, time.Time{})
	q := engine.ContextQuery{Text: "what is due?", Conversation: "c1", At: lab.Start.Add(-4 * day)}
	got := b.block(q)
	b.wantPart(got, recall.Recent, "The report is due")
	equal(b, "the instant", got.At.Equal(q.At), true)
	shown, err := b.DB.Shown(b.Ctx, b.tenant(), []string{m.ID})
	b.Must(err)
	cues, err := b.DB.Cues(b.Ctx, b.Bench.Scope, "c1")
	b.Must(err)
	equal(b, "what was recorded", len(shown)+len(cues), 0)
}

func contextEmpty(b *bench) {
	got := b.block(engine.ContextQuery{Text: "hello", Conversation: "c1", Zone: "Europe/Lisbon"})
	if len(got.Parts) != 0 || !strings.Contains(got.Text, "now: Friday 2026-05-01 13:00, Europe/Lisbon\nnothing is remembered here yet") {
		b.Errorf("got %s", got.Text)
	}
	for what, q := range map[string]engine.ContextQuery{
		"nothing to go by": {}, "a blank message": {Text: " \n\t"}, "a zone that there is none of": {Text: "x", Zone: "Nowhere"},
		"no budget": {Text: "x", Budget: -1}, "a part that there is none of": {Text: "x", Shares: map[string]float64{"x": 1}},
	} {
		q.Scope = b.Bench.Scope
		_, err := b.Engine.Context(b.Ctx, q)
		code(b, what, err, oxbow.CodeInvalid)
	}
}

func TestStaleCue(t *testing.T) {
	tell(t,
		story{"is a cue that is asked again when the conversation has gone on", func(b *bench) {
			q := engine.ContextQuery{Text: "go on", State: recall.State{Goal: "ship it", Open: []string{"why?"}}, Conversation: "c1"}
			b.Say("c1", "hello", at(1))
			equal(b, "at first", b.block(q).StaleCue, false)
			b.Say("c2", "elsewhere", at(2))
			equal(b, "while nothing was said", b.block(q).StaleCue, false)
			b.Say("c1", "came late", at(0))
			equal(b, "after what was said before", b.block(q).StaleCue, false)
			b.Say("c1", "and then", at(3))
			b.Say("c1", "and then again", at(4))
			got := b.block(q)
			equal(b, "afterwards", got.StaleCue, true)
			equal(b, "turns", got.Stale.Turns, 2)
			equal(b, "the newest", got.Stale.Last.Equal(at(4)), true)
			equal(b, "once more", b.block(q).StaleCue, true)
			other := q
			other.Conversation = "c2"
			equal(b, "in another conversation", b.block(other).StaleCue, false)
			q.State.Step = "build"
			equal(b, "with another step", b.block(q).StaleCue, false)
		}},
		story{"is a message from further back in the conversation", func(b *bench) {
			b.Say("c1", "How do I deploy this?", at(1))
			q := engine.ContextQuery{Text: "how do I  deploy this", Conversation: "c1"}
			equal(b, "the newest message", b.block(q).StaleCue, false)
			b.Say("c1", "It failed.", at(2))
			b.Say("c1", "yes", at(3))
			b.Say("c1", "Now it works.", at(4))
			b.Say("c3", "How do I deploy this?", at(1))
			got := b.block(engine.ContextQuery{Text: "It failed badly, no: it failed.", Conversation: "c1"})
			equal(b, "other words", got.StaleCue, false)
			equal(b, "a word that people say again", b.block(engine.ContextQuery{Text: "yes", Conversation: "c1"}).StaleCue, false)
			got = b.block(engine.ContextQuery{Text: "How do I deploy this?", Conversation: "c1"})
			equal(b, "an older message", got.StaleCue, true)
			equal(b, "turns since", got.Stale.Turns, 3)
			equal(b, "in a conversation that stayed there", b.block(engine.ContextQuery{Text: "How do I deploy this?", Conversation: "c3"}).StaleCue, false)
		}},
		story{"leaves no words behind", func(b *bench) {
			b.Say("c1", "hello", at(1))
			b.block(engine.ContextQuery{Text: "a very private canary", Conversation: "c1"})
			cues, err := b.DB.Cues(b.Ctx, b.Bench.Scope, "c1")
			b.Must(err)
			equal(b, "cues", len(cues), 1)
			if strings.Contains(fmt.Sprint(cues), "canary") {
				b.Errorf("the cue holds words: %+v", cues)
			}
			turns, err := b.DB.ListTurns(b.Ctx, store.TurnFilter{Tenant: b.tenant(), Limit: 1})
			b.Must(err)
			_, err = b.Engine.EraseTurn(b.Ctx, b.tenant(), turns[0].ID)
			b.Must(err)
			cues, err = b.DB.Cues(b.Ctx, b.Bench.Scope, "c1")
			b.Must(err)
			equal(b, "cues after an erasure", len(cues), 0)
		}},
	)
}
