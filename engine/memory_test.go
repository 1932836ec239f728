package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/internal/lab"
	"github.com/oxbow-memory/oxbow/store"
)

func TestEdit(t *testing.T) {
	tell(t,
		story{"changes words and has them judged anew", editsWords},
		story{"reads the details of the new words", editsDetails},
		story{"is refused when somebody else was first", editConflict},
		story{"is refused for what cannot be", editInvalid},
		story{"keeps an address for one", editAddress},
	)
}

func editsWords(b *bench) {
	b.Remember(lab.Statement{Text: "coffee: none", SaidAt: at(0)})
	m := b.Remember(lab.Statement{Text: "tea: green", SaidAt: at(1), Tags: []string{"kept"}})
	b.drain()
	asked := b.Judge.Calls("relate")
	text := "coffee: black"
	w, err := b.Engine.Edit(b.Ctx, b.tenant(), m.ID[:9], engine.Change{Text: &text, IfVersion: m.Version})
	b.Must(err)
	equal(b, "the words", w.Memory.Content.Text, text)
	equal(b, "the summary", w.Memory.Content.Summary, text)
	equal(b, "the tags", fmt.Sprint(w.Memory.Content.Tags), "[kept]")
	equal(b, "the content version", w.Memory.ContentVersion, 2)
	b.drain()
	equal(b, "asked again", b.Judge.Calls("relate") > asked, true)
	equal(b, "what it contradicts now", b.Find("coffee: none").ReplacedBy, m.ID)
	hits, err := b.DB.Search(b.Ctx, store.SearchQuery{Scope: b.Bench.Scope, Text: "green", Statuses: oxbow.Statuses, K1: 1.2, B: 0.1, Limit: 5})
	b.Must(err)
	equal(b, "found by its old words", len(hits), 0)
	b.Clean()
}

func editsDetails(b *bench) {
	about := func(m oxbow.Memory) string { return fmt.Sprint(m.Content.Details) }
	m := b.Remember(lab.Statement{Text: "The standup is at 9:30", SaidAt: at(0)})
	equal(b, "what is kept", about(b.Get(m.ID)), "[{standup when 9:30 time [of time one]}]")
	_, err := b.Engine.Edit(b.Ctx, b.tenant(), m.ID, engine.Change{Tags: []string{"daily"}})
	b.Must(err)
	equal(b, "after an edit of the tags", about(b.Get(m.ID)), "[{standup when 9:30 time [of time one]}]")
	text := "The standup is at 10:15"
	_, err = b.Engine.Edit(b.Ctx, b.tenant(), m.ID, engine.Change{Text: &text})
	b.Must(err)
	equal(b, "after an edit of the words", about(b.Get(m.ID)), "[{standup when 10:15 time [of time one]}]")
	_, err = b.Engine.EraseMemory(b.Ctx, b.tenant(), m.ID)
	b.Must(err)
	equal(b, "after erasing", about(b.Get(m.ID)), "[]")
	b.Clean()
}

func editConflict(b *bench) {
	m := b.Remember(lab.Statement{Text: "tea: green"})
	one, two := "tea: one", "tea: two"
	_, err := b.Engine.Edit(b.Ctx, b.tenant(), m.ID, engine.Change{Text: &one, IfVersion: m.Version})
	b.Must(err)
	_, err = b.Engine.Edit(b.Ctx, b.tenant(), m.ID, engine.Change{Text: &two, IfVersion: m.Version})
	code(b, "the second edit", err, oxbow.CodeConflict)
	equal(b, "the words", b.Get(m.ID).Content.Text, one)
}

func editInvalid(b *bench) {
	m := b.Remember(lab.Statement{Text: "tea: green"})
	text := func(s string) engine.Change { return engine.Change{Text: &s} }
	key, slot, high, past := "k", "world", 11.0, at(-900)
	for name, c := range map[string]engine.Change{
		"no words": text(" \x00"), "a key for what is no fact": {Key: &key}, "a slot that is none": {Slot: &slot},
		"an importance over ten": {Importance: &high}, "a date in its past": {ExpiresAt: &past},
	} {
		_, err := b.Engine.Edit(b.Ctx, b.tenant(), m.ID, c)
		code(b, name, err, oxbow.CodeInvalid)
	}
	_, err := b.Engine.Edit(b.Ctx, b.tenant(), "zzzz", text("x"))
	code(b, "an unknown id", err, oxbow.CodeNotFound)
	equal(b, "the version", b.Get(m.ID).Version, m.Version)
	date := lab.Start.Add(5*day + 1234567*time.Nanosecond)
	w, err := b.Engine.Edit(b.Ctx, b.tenant(), m.ID, engine.Change{ExpiresAt: &date})
	b.Must(err)
	equal(b, "the date", w.Memory.ExpiresAt, lab.Start.Add(5*day+time.Millisecond))
	w, err = b.Engine.Edit(b.Ctx, b.tenant(), m.ID, engine.Change{ExpiresAt: &time.Time{}})
	b.Must(err)
	equal(b, "no date", w.Memory.ExpiresAt.IsZero(), true)
	b.Clean()
}

func editAddress(b *bench) {
	b.Remember(lab.Statement{Text: "Oslo", Slot: "user", Key: "city"})
	other := b.Remember(lab.Statement{Text: "Norway", Slot: "user", Key: "country"})
	key := "City"
	_, err := b.Engine.Edit(b.Ctx, b.tenant(), other.ID, engine.Change{Key: &key})
	code(b, "a taken address", err, oxbow.CodeConflict)
	if strings.Contains(err.Error(), "restore") {
		b.Errorf("who edits is told to do what is no edit: %v", err)
	}
	key = "Land"
	w, err := b.Engine.Edit(b.Ctx, b.tenant(), other.ID, engine.Change{Key: &key})
	b.Must(err)
	equal(b, "the new address", w.Memory.Key, "land")
	equal(b, "the content version", w.Memory.ContentVersion, 2)
	b.Clean()
}

// TestActions tries every action on a memory of every status.
func TestActions(t *testing.T) {
	tell(t,
		story{"say conflict where a move is not legal, and nothing changes", actionMatrix},
		story{"start the idle clock anew", idleClock},
		story{"say not found for an unknown id and conflict for an ambiguous one", unknownIDs},
		story{"judge what is released", released},
		story{"count one use a day", usedOnceADay},
	)
}

// inStatus makes a memory of a status.
func inStatus(b *bench, s oxbow.Status) oxbow.Memory {
	b.Helper()
	m := oxbow.Memory{ID: oxbow.NewID("status", b.Bench.Scope.String(), string(s)), Scope: b.Bench.Scope, Status: oxbow.Active, Kind: oxbow.Semantic,
		Content: oxbow.Content{Text: "topic" + string(s) + ": x"}, Importance: 5, Rating: 1, Rated: true, Source: oxbow.FromUser, SaidAt: at(1), CreatedAt: at(1)}
	by := "zzzzzzzzzzzzzzzz"
	then := map[oxbow.Status]oxbow.Change{
		oxbow.Superseded: {Type: oxbow.SupersededBy, Set: oxbow.Patch{ReplacedBy: &by}}, oxbow.Compressed: {Type: oxbow.CompressedTo, Set: oxbow.Patch{ReplacedBy: &by}},
		oxbow.Expired: {Type: oxbow.ExpiredEvent}, oxbow.Archived: {Type: oxbow.ArchivedEvent},
	}
	if s == oxbow.Quarantined {
		m.Status = s
	}
	b.inTx(func(ctx context.Context, tx store.Tx) error {
		if _, err := tx.LockScope(ctx, m.Scope, at(1)); err != nil {
			return err
		}
		batch := store.Batch{Scope: m.Scope, Run: "seed", Now: at(1), RecordedAt: at(1)}
		if _, err := tx.Apply(ctx, batch, []oxbow.Change{{Type: oxbow.Created, Memory: m.ID, New: &m, Reason: "seed", Actor: "user"}}); err != nil {
			return err
		}
		if c, ok := then[s]; ok {
			c.Memory, c.Actor, c.Reason = m.ID, "user", "seed"
			if _, err := tx.Apply(ctx, batch, []oxbow.Change{c}); err != nil {
				return err
			}
		}
		return nil
	})
	if s == oxbow.Erased {
		_, err := b.Engine.EraseMemory(b.Ctx, b.tenant(), m.ID)
		b.Must(err)
	}
	return b.Get(m.ID)
}

func actionMatrix(b *bench) {
	text := "new words"
	actions := map[string]func(id string) error{
		"pin":     func(id string) error { _, err := b.Engine.Pin(b.Ctx, b.tenant(), id); return err },
		"unpin":   func(id string) error { _, err := b.Engine.Unpin(b.Ctx, b.tenant(), id); return err },
		"archive": func(id string) error { _, err := b.Engine.Archive(b.Ctx, b.tenant(), id); return err },
		"release": func(id string) error { _, err := b.Engine.Release(b.Ctx, b.tenant(), id); return err },
		"edit": func(id string) error {
			_, err := b.Engine.Edit(b.Ctx, b.tenant(), id, engine.Change{Text: &text})
			return err
		},
		"restore": func(id string) error {
			_, err := b.Engine.Restore(b.Ctx, b.tenant(), id, engine.Restoration{})
			return err
		},
	}
	legal := map[oxbow.Status][]string{
		oxbow.Active: {"pin", "unpin", "archive", "edit", "restore"}, oxbow.Superseded: {"restore"}, oxbow.Compressed: {"restore"},
		oxbow.Expired: {"restore"}, oxbow.Archived: {"restore", "archive"}, oxbow.Quarantined: {"release", "restore"}, oxbow.Erased: {},
	}
	home := b.Bench.Scope
	for _, status := range oxbow.Statuses {
		for name, act := range actions {
			b.Bench.Scope = oxbow.Scope{Tenant: home.Tenant + name, Name: string(status)}
			m := inStatus(b, status)
			err := act(m.ID)
			if slices.Contains(legal[status], name) {
				code(b, name+" of what is "+string(status), err, "")
				continue
			}
			code(b, name+" of what is "+string(status), err, oxbow.CodeConflict)
			equal(b, "the version after a refused "+name, b.Get(m.ID).Version, m.Version)
		}
	}
}

func idleClock(b *bench) {
	ids := map[string]string{}
	for _, name := range []string{"unpin", "restore", "edit", "used"} {
		ids[name] = b.Remember(lab.Statement{Text: name + ": x", SaidAt: at(0), Pinned: name == "unpin"}).ID
	}
	_, err := b.Engine.Archive(b.Ctx, b.tenant(), ids["restore"])
	b.Must(err)
	b.Clock.Add(10 * day)
	text := "edit: y"
	_, err = b.Engine.Unpin(b.Ctx, b.tenant(), ids["unpin"])
	b.Must(err)
	_, err = b.Engine.Restore(b.Ctx, b.tenant(), ids["restore"], engine.Restoration{})
	b.Must(err)
	_, err = b.Engine.Edit(b.Ctx, b.tenant(), ids["edit"], engine.Change{Text: &text})
	b.Must(err)
	_, err = b.Engine.Used(b.Ctx, b.tenant(), []string{ids["used"]})
	b.Must(err)
	for name, id := range ids {
		equal(b, "the clock after "+name, b.Get(id).RefTime(), b.Clock.Now())
		equal(b, "fades after "+name, b.Get(id).FadesAt.After(b.Clock.Now().Add(90*day)), true)
	}
	b.Clean()
}

func unknownIDs(b *bench) {
	for i := range 40 {
		b.Remember(lab.Statement{Text: fmt.Sprintf("t%d: x", i)})
	}
	_, err := b.Engine.Pin(b.Ctx, b.tenant(), "nothing-has-it")
	code(b, "no id", err, oxbow.CodeNotFound)
	ambiguous := map[byte]int{}
	for _, m := range b.All() {
		ambiguous[m.ID[0]]++
	}
	for c, n := range ambiguous {
		if n > 1 {
			_, err := b.Engine.Pin(b.Ctx, b.tenant(), string(c))
			code(b, "an ambiguous id", err, oxbow.CodeConflict)
		}
	}
	_, err = b.Engine.Memory(b.Ctx, "somebody", b.All()[0].ID)
	code(b, "an id of another tenant", err, oxbow.CodeNotFound)
	_, err = b.Engine.Used(b.Ctx, b.tenant(), []string{b.All()[0].ID, "zzzzzzzzzzzzzzzz"})
	code(b, "a use of an unknown id", err, oxbow.CodeNotFound)
	equal(b, "the use of the known one", b.All()[0].AccessCount, 0)
}

func released(b *bench) {
	old := b.Remember(lab.Statement{Text: "topicquarantined: y", SaidAt: at(0)})
	m := inStatus(b, oxbow.Quarantined)
	b.drain()
	equal(b, "before", b.Get(old.ID).Status, oxbow.Active)
	w, err := b.Engine.Release(b.Ctx, b.tenant(), m.ID)
	b.Must(err)
	equal(b, "the status", w.Memory.Status, oxbow.Active)
	b.drain()
	equal(b, "what it contradicts", b.Get(old.ID).ReplacedBy, m.ID)
	b.Clean()
}

func usedOnceADay(b *bench) {
	m := b.Remember(lab.Statement{Text: "tea: green"})
	use := func(want int) {
		b.Helper()
		n, err := b.Engine.Used(b.Ctx, b.tenant(), []string{m.ID, m.ID[:10]})
		b.Must(err)
		equal(b, "the uses that counted", n, want)
	}
	use(1)
	b.Clock.Add(11 * time.Hour) // 23:00
	use(0)
	b.Clock.Add(time.Hour) // midnight
	use(1)
	use(0)
	got := b.Get(m.ID)
	equal(b, "the count", got.AccessCount, 2)
	equal(b, "the half-life, one step longer", got.HalfLife, 60)
	equal(b, "the events", len(b.EventsOf(m.ID)), 1)
	b.Clean()
}
