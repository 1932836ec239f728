package storetest

import (
	"context"
	"fmt"
	"testing"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// hostile is text, as text.Normalise leaves it, that both databases must keep
// to the byte.
var hostile = map[string]string{
	"accents":          "Ångström, naïve café, Zürich",
	"emoji":            "👩‍🚀 🏳️‍🌈 👍🏽 \U0001f9ff",
	"right to left":    "שלום עולם مرحبا",
	"bidi marks":       "user\u202egnp.exe\u202c \u2066x\u2069 \u200f",
	"zero width":       "a\u200bb\u200dc\ufeff",
	"ansi":             "\x1b[31mred\x1b[0m \x1b]0;title\x07",
	"controls":         "\x01\x02\x1f\x7f\u0085",
	"line ends":        "one\ntwo\n\n\tthree\u2028four\u2029five",
	"quotes":           `'single' "double" ` + "`back`" + ` ''twice'' «other» \ backslash \' \" \n \u0041`,
	"sql":              `'; DROP TABLE memories; -- /* */ $1 ? :name @x %s`,
	"html":             `<script>alert("x")</script> &amp; <b>`,
	"json":             `{"text":"x","n":[1,null]} ]}`,
	"patterns":         `100% _under_ [a-z]* ^$`,
	"other scripts":    "北京 東京 서울 Ελλάδα Москва ไทย हिन्दी 𐍈",
	"not a character":  "\ufffe \uffff \ufffd",
	"combining":        "z̷̡̛a̴͚͠l̵̡͘g̶̢̀o̸͙͝",
	"numbers as words": "1e309 0x7f -0 NaN true null",
}

func testText(t *testing.T, s store.Store) {
	for name, words := range hostile {
		t.Run("keeps "+name+" to the byte wherever text stands", func(t *testing.T) {
			f := setup(t, s)
			m := f.memory("a", fact(words, words), func(m *oxbow.Memory) {
				m.Content = oxbow.Content{Text: words, Summary: words, Tags: []string{words}}
				m.Conversation = words
			})
			c := created(m)
			c.Reason, c.Judge = words, words
			f.apply(c)
			got := f.get("a")
			if got.Content.Text != words || got.Content.Summary != words || got.Content.Tags[0] != words ||
				got.Slot != words || got.Key != words || got.Conversation != words {
				t.Fatalf("got %q, want %q", fmt.Sprint(got), words)
			}
			if body, _, err := f.s.ContentBody(f.ctx, f.scope.Tenant, got.ContentID); err != nil || body.Text != words {
				t.Fatalf("got %q and %v", body.Text, err)
			}
			e := must(f.s.EventsOf(f.ctx, f.scope.Tenant, f.ids("a")))(f)[0]
			if e.Reason != words || e.Judge != words || *e.After.Key != words {
				t.Fatalf("got %q", fmt.Sprint(e))
			}
			f.wantIDs(must(f.s.ListMemories(f.ctx, store.MemoryFilter{Tenant: f.scope.Tenant, Slot: words, Tag: words, Limit: 3}))(f), "a")
			f.wantIDs(must(f.s.FactHistory(f.ctx, f.scope, words, words))(f), "a")
			f.wantSame(must(f.s.Slots(f.ctx, f.scope))(f), map[string]int{words: 1})
			Replay(t, f.s, f.scope.Tenant, f.ids("a")...)

			turn := f.turn("t", 0)
			turn.User, turn.Assistant, turn.Conversation = words, words, words
			turn.Parts = []oxbow.Part{{Source: oxbow.FromWeb, Text: words}}
			f.addTurns(turn)
			f.tx(func(ctx context.Context, tx store.Tx) error {
				return tx.PutRun(ctx, oxbow.Run{ID: f.id("run"), Scope: f.scope, About: start, StartedAt: start, Note: words, Cursor: words})
			})
			if got := f.getTurn("t"); got.User != words || got.Assistant != words || got.Conversation != words || got.Parts[0].Text != words {
				t.Fatalf("got %q", fmt.Sprint(got))
			}
			if r := must(f.s.Run(f.ctx, f.scope.Tenant, f.id("run")))(f); r.Note != words || r.Cursor != words {
				t.Fatalf("got %q", fmt.Sprint(r))
			}
			f.wantOrder(turnIDs(must(f.s.ListTurns(f.ctx, store.TurnFilter{Tenant: f.scope.Tenant, Conversation: words, Limit: 3}))(f)), "t")
		})
	}

	t.Run("keeps sixty-four kibibytes of text", func(t *testing.T) {
		f := setup(t, s)
		words := ""
		for i := 0; len(words) < 64<<10-20; i++ {
			words += fmt.Sprintf("word%d ", i)
		}
		f.create(f.memory("a", says(words)))
		if got := f.get("a"); got.Content.Text != words {
			t.Fatalf("got %d bytes, want %d", len(got.Content.Text), len(words))
		}
		f.wantOrder(hitIDs(f.search("word17", oxbow.Active)), "a")
		f.erase("a")
		f.wantOrder(hitIDs(f.search("word17 word6000", oxbow.Statuses...)))
	})
}
