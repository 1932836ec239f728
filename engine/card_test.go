package engine_test

import (
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/internal/lab"
)

// card gives a memory's card.
func (b *bench) card(id string) engine.Card {
	b.Helper()
	c, err := b.Engine.Card(b.Ctx, b.tenant(), id)
	b.Must(err)
	return c
}

func TestCard(t *testing.T) {
	tell(t,
		story{"says since when a memory was believed, and until when", cardBelieved},
		story{"says of what is in quarantine that it was never believed, and of what left it since when it is", cardQuarantined},
		story{"names the last day that a memory holds, in its scope's zone", cardEnds},
	)
}

func cardBelieved(b *bench) {
	old := b.Remember(lab.Statement{Text: "tea: green", SaidAt: lab.Start.Add(-20 * day)})
	b.Remember(lab.Statement{Text: "tea: black", SaidAt: lab.Start.Add(-5 * day)})
	b.drain()
	c := b.card(old.ID)
	equal(b, "since", c.Since.Equal(lab.Start.Add(-20*day)), true)
	equal(b, "until when the newer one was said, not judged", c.Until.Equal(lab.Start.Add(-5*day)), true)
	b.Clock.Add(day)
	b.Must(b.restore(old.ID, engine.Restoration{Replace: true}))
	c = b.card(old.ID)
	equal(b, "since it was restored", c.Since.Equal(b.Clock.Now()), true)
	equal(b, "it is over", !c.Until.IsZero(), false)
	b.Clock.Add(day)
	_, err := b.Engine.Archive(b.Ctx, b.tenant(), old.ID)
	b.Must(err)
	equal(b, "until it was archived", b.card(old.ID).Until.Equal(b.Clock.Now()), true)
}

func cardQuarantined(b *bench) {
	m := inStatus(b, oxbow.Quarantined)
	equal(b, "it was never believed", b.card(m.ID).Since.IsZero(), true)
	b.Clock.Add(day)
	_, err := b.Engine.Release(b.Ctx, b.tenant(), m.ID)
	b.Must(err)
	equal(b, "since its release", b.card(m.ID).Since.Equal(b.Clock.Now()), true)
}

func cardEnds(b *bench) {
	m := b.Remember(lab.Statement{Text: "tea: green"})
	_, _, err := b.Engine.SetScope(b.Ctx, m.Scope, "Europe/Lisbon", nil, nil)
	b.Must(err)
	equal(b, "a memory without a date", b.card(m.ID).Ends, "")
	_, err = b.Engine.Archive(b.Ctx, b.tenant(), m.ID)
	b.Must(err)
	code(b, "a day that there is none of", b.restore(m.ID, engine.Restoration{LastDay: "2026-02-31"}), oxbow.CodeInvalid)
	b.Must(b.restore(m.ID, engine.Restoration{LastDay: "2026-06-30"}))
	// Lisbon is an hour ahead of UTC in summer.
	equal(b, "its end", b.Get(m.ID).ExpiresAt.Equal(time.Date(2026, 6, 30, 23, 0, 0, 0, time.UTC)), true)
	c := b.card(m.ID)
	equal(b, "what the page says", c.Ends, "the end of 30 June 2026 (Europe/Lisbon)")
	equal(b, "what the story says", c.Now[len(c.Now)-1], "Now it is active, confidence 1.00, strength 1.00; it ends by itself on 30 June 2026.")
	at := time.Date(2026, 6, 1, 9, 30, 0, 0, time.UTC)
	_, err = b.Engine.Edit(b.Ctx, b.tenant(), m.ID, lab.Edit{ExpiresAt: &at})
	b.Must(err)
	equal(b, "an instant", b.card(m.ID).Ends, "1 June 2026 10:30 WEST")
}
