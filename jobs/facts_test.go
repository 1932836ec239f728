package jobs_test

import (
	"testing"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/lab"
)

func TestFacts(t *testing.T) {
	tell(t,
		story{"hold the value that was said last, without asking a judge", saidLastWins},
		story{"said late enter as superseded", lateFact},
		story{"leave a pinned one in its place", pinnedFact},
		story{"leave a more trusted one in its place", trustedFact},
		story{"of equal value confirm each other", equalFact},
		story{"change on the word of a turn", factsFromTurns},
		story{"in different slots do not meet", otherSlots},
	)
}

func fact(b *lab.Bench, value string, hour int, change ...func(*lab.Statement)) oxbow.Memory {
	b.Helper()
	s := lab.Statement{Slot: "user", Key: "timezone", Text: value, SaidAt: at(hour)}
	for _, c := range change {
		c(&s)
	}
	return b.Remember(s)
}

func saidLastWins(b *lab.Bench) {
	first := fact(b, "Europe/Oslo", 1)
	second := fact(b, "Europe/Rome", 2)
	equal(b, "the first, before any job ran", b.Get(first.ID).Status, oxbow.Superseded)
	b.Drain()
	equal(b, "the questions", b.Judge.Calls("relate"), 0)
	equal(b, "the second", b.Get(second.ID).Status, oxbow.Active)
	equal(b, "what replaced the first", b.Get(first.ID).ReplacedBy, second.ID)
	equal(b, "the old value", b.Get(first.ID).Content.Text, "Europe/Oslo")
	equal(b, "the link", linked(b, second.ID, first.ID, oxbow.Supersedes), true)
	history, err := b.DB.FactHistory(b.Ctx, b.Scope, "user", "timezone")
	b.Must(err)
	equal(b, "the history", len(history), 2)
	for _, e := range b.EventsOf(first.ID) {
		equal(b, "the judge of "+string(e.Type), e.Judge, "")
	}
	b.Clean()
}

func lateFact(b *lab.Bench) {
	now := fact(b, "Europe/Rome", 9)
	late := fact(b, "Europe/Oslo", 1)
	equal(b, "the late one", late.Status, oxbow.Superseded)
	equal(b, "what replaced it", late.ReplacedBy, now.ID)
	equal(b, "the newer one", b.Get(now.ID).Status, oxbow.Active)
	between := fact(b, "Asia/Tokyo", 5)
	equal(b, "the one between", b.Get(between.ID).ReplacedBy, now.ID)
	equal(b, "the late one, then", b.Get(late.ID).ReplacedBy, between.ID)
	b.Drain()
	equal(b, "the one that holds", b.Get(now.ID).Status, oxbow.Active)
	b.Clean()
}

func pinnedFact(b *lab.Bench) {
	old := fact(b, "Europe/Oslo", 1, func(s *lab.Statement) { s.Pinned = true })
	newer := fact(b, "Europe/Rome", 2)
	b.Drain()
	equal(b, "the pinned one", b.Get(old.ID).Status, oxbow.Active)
	equal(b, "the newcomer", b.Get(newer.ID).Status, oxbow.Superseded)
	equal(b, "what it gave way to", b.Get(newer.ID).ReplacedBy, old.ID)
	equal(b, "the link", linked(b, newer.ID, old.ID, oxbow.ConflictsWith), true)
	equal(b, "the newcomer's value", b.Get(newer.ID).Content.Text, "Europe/Rome")
	b.Clean()
}

func trustedFact(b *lab.Bench) {
	old := fact(b, "Europe/Oslo", 1)
	newer := fact(b, "Europe/Rome", 2, func(s *lab.Statement) { s.Source = oxbow.FromWeb })
	b.Drain()
	equal(b, "the user's", b.Get(old.ID).Status, oxbow.Active)
	equal(b, "the web's", b.Get(newer.ID).Status, oxbow.Superseded)
	equal(b, "the link", linked(b, newer.ID, old.ID, oxbow.ConflictsWith), true)
	again := fact(b, "Asia/Tokyo", 3, func(s *lab.Statement) { s.Source = oxbow.FromAssistant })
	equal(b, "the assistant's", b.Get(again.ID).Status, oxbow.Superseded)
	b.Clean()
}

func equalFact(b *lab.Bench) {
	old := fact(b, "Europe/Oslo", 1)
	again := fact(b, "europe/oslo.", 30)
	b.Drain()
	equal(b, "the first", b.Get(old.ID).Status, oxbow.Active)
	equal(b, "the restatement", b.Get(again.ID).Status, oxbow.Compressed)
	equal(b, "the confirmations", b.Get(old.ID).Confirmations, 1)
	equal(b, "the link", linked(b, again.ID, old.ID, oxbow.Confirms), true)
	equal(b, "the questions", b.Judge.Calls("relate"), 0)
	b.Clean()
}

func factsFromTurns(b *lab.Bench) {
	b.Say("c1", "user/timezone = Europe/Oslo", at(1))
	b.Say("c2", "user/Time Zone = ignored, another key", at(2))
	b.Say("c3", "user/timezone = Europe/Rome", at(3))
	b.Say("c4", "user/timezone = Europe/Oslo", at(4))
	b.Drain()
	same(b, "the end", b.Texts(), []string{"superseded Europe/Oslo", "active ignored, another key", "superseded Europe/Rome", "active Europe/Oslo"})
	b.Clean()
}

func otherSlots(b *lab.Bench) {
	a := fact(b, "Europe/Oslo", 1)
	c := fact(b, "Europe/Rome", 2, func(s *lab.Statement) { s.Slot = "project" })
	b.Drain()
	equal(b, "the user's", b.Get(a.ID).Status, oxbow.Active)
	equal(b, "the project's", b.Get(c.ID).Status, oxbow.Active)
}
