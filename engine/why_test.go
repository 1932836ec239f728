package engine_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/internal/lab"
)

func TestWhy(t *testing.T) {
	tell(t,
		story{"tells who said it, how sure, and what replaced it", whyReplaced},
		story{"tells what it replaced, what confirmed it and when it fades", whyReplacing},
		story{"tells what it was merged from and into what", whyMerged},
		story{"tells what an operator did", whyOperator},
		story{"tells where it conflicts and what the gate refused", whyConflict},
	)
}

var shortID = regexp.MustCompile(`\b[0-9a-z]{8} “`)

// tells compares a memory's story, ids left out, with what it should be.
func tells(b *bench, id string, want ...string) {
	b.Helper()
	s, err := b.Engine.Why(b.Ctx, b.tenant(), id)
	b.Must(err)
	var got []string
	for _, l := range s.Lines {
		got = append(got, l.Text)
	}
	got = append(got, s.Now...)
	for i := range got {
		got[i] = shortID.ReplaceAllString(got[i], "“")
	}
	if !slices.Equal(got, want) {
		b.Errorf("the story is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func whyReplaced(b *bench) {
	b.Say("standup", "tea: green", at(1))
	b.drain()
	b.Say("retro", "tea: black", at(24))
	b.drain()
	b.drain()
	tells(b, b.Find("tea: green").ID,
		"The user said it in conversation standup: “tea: green”; script@1 kept it.",
		"script@1 rated it 0.7: clearly implied.",
		"It was superseded by “tea: black” (said 25 April 2026), on the word of script@1: a newer statement replaced it.",
		"Now it is superseded and is not recalled.")
	b.Must(b.restore(b.Find("tea: green").ID, engine.Restoration{Replace: true}))
	tells(b, b.Find("tea: green").ID,
		"The user said it in conversation standup: “tea: green”; script@1 kept it.",
		"script@1 rated it 0.7: clearly implied.",
		"It was superseded by “tea: black” (said 25 April 2026), on the word of script@1: a newer statement replaced it.",
		"It was restored by an operator.",
		"It conflicts with “tea: black” (said 25 April 2026).",
		"Now it is active, confidence 0.70, strength 1.00; unused, it fades on 9 August 2026.")
}

func whyReplacing(b *bench) {
	b.Say("standup", "tea: green", at(1))
	b.drain()
	b.Say("retro", "tea: black", at(24))
	b.drain()
	b.Say("lunch", "tea: again black", at(60))
	b.drain()
	tells(b, b.Find("tea: black").ID,
		"The user said it in conversation retro: “tea: black”; script@1 kept it.",
		"script@1 rated it 0.7: clearly implied.",
		"It was confirmed by “tea: again black” (said 27 April 2026), which raises its confidence by 0.1, up to 1.",
		"It replaced “tea: green” (said 24 April 2026).",
		"Now it is active, confidence 0.80, strength 0.90; unused, it fades on 4 August 2026.")
}

func whyMerged(b *bench) {
	sources, merge := merged(b)
	tells(b, sources[0].ID,
		"The user wrote it directly.",
		"It was compressed into “short names please; short names always; short names are nicer” (said 24 April 2026), on the word of script@1: merged with others that say nearly the same.",
		"Now it is compressed and is not recalled.")
	s, err := b.Engine.Why(b.Ctx, b.tenant(), merge.ID)
	b.Must(err)
	equal(b, "how it began", s.Lines[0].Text, "It was written by script@1 from the memories it merges.")
	equal(b, "the sources named", strings.Count(strings.Join(s.Now, "\n"), "It was merged from "), 3)
}

func whyOperator(b *bench) {
	m := b.Remember(lab.Statement{Text: "tea: green", SaidAt: at(1)})
	text, importance := "tea: white", 8.0
	_, err := b.Engine.Edit(b.Ctx, b.tenant(), m.ID, engine.Change{Text: &text, Importance: &importance})
	b.Must(err)
	_, err = b.Engine.Pin(b.Ctx, b.tenant(), m.ID)
	b.Must(err)
	b.drain()
	tells(b, m.ID, "The user wrote it directly.", "It was edited (text, importance) by an operator; before it said: “tea: green”.", "It was pinned by an operator.",
		"Now it is active, confidence 1.00, pinned: it does not fade.")
	_, err = b.Engine.Unpin(b.Ctx, b.tenant(), m.ID)
	b.Must(err)
	_, err = b.Engine.Archive(b.Ctx, b.tenant(), m.ID)
	b.Must(err)
	s, err := b.Engine.Why(b.Ctx, b.tenant(), m.ID)
	b.Must(err)
	equal(b, "the end", s.Lines[len(s.Lines)-1].Text, "It was archived by an operator.")
}

func whyConflict(b *bench) {
	old := b.Remember(lab.Statement{Text: "tea: green", SaidAt: at(1)})
	m := b.Remember(lab.Statement{Text: "tea: maybe black", SaidAt: at(2)})
	b.drain()
	tells(b, m.ID, "The user wrote it directly.",
		"It conflicts with “tea: green” (said 24 April 2026); nobody has decided which is right.",
		"Now it is active, confidence 1.00, strength 0.85; unused, it fades on 2 August 2026.")
	s, err := b.Engine.Why(b.Ctx, b.tenant(), old.ID)
	b.Must(err)
	equal(b, "the older one's events", s.Lines[1].Event.Type, oxbow.Linked)
	if !strings.HasPrefix(s.Lines[1].Text, "It conflicts with ") {
		b.Errorf("the older one's story is %q", s.Lines[1].Text)
	}
}
