package jobs

import (
	"bufio"
	"bytes"
	"embed"
	"encoding/json"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm"
)

//go:embed testdata/*.jsonl
var testdata embed.FS

type said struct {
	Source oxbow.Source `json:"source"`
	Text   string       `json:"text"`
}

func readSaid(t testing.TB, name string) []said {
	t.Helper()
	raw, err := testdata.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var out []said
	for lines := bufio.NewScanner(bytes.NewReader(raw)); lines.Scan(); {
		var s said
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	return out
}

// turnOf puts words into the side of a turn where their source stands.
func turnOf(s said) oxbow.Turn {
	t := oxbow.Turn{ID: "t", Scope: oxbow.Scope{Tenant: "t", Name: "s"}, At: time.Unix(0, 0)}
	switch s.Source {
	case oxbow.FromUser:
		t.User = s.Text
	case oxbow.FromAssistant:
		t.Assistant = s.Text
	default:
		t.Parts = []oxbow.Part{{Source: s.Source, Text: s.Text}}
	}
	return t
}

func TestInstruction(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, file string
		want       oxbow.Status
	}{
		{"quarantines orders to the agent that no user gave", "instructions.jsonl", oxbow.Quarantined},
		{"keeps what a user always or never wants", "preferences.jsonl", oxbow.Active},
		{"keeps ordinary statements of tools, pages, files and the assistant", "statements.jsonl", oxbow.Active},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			all, right := readSaid(t, c.file), 0
			for _, s := range all {
				kept, _, _ := gateDrafts(turnOf(s), []llm.Draft{{Text: s.Text, Kind: oxbow.Preference, Quote: s.Text}}, time.Unix(0, 0))
				switch {
				case len(kept) != 1 || kept[0].Source != s.Source:
					t.Errorf("%s %q became %+v", s.Source, s.Text, kept)
				case kept[0].Status == c.want:
					right++
				default:
					t.Logf("missed: %s %q: %s", s.Source, s.Text, Instruction(s.Text, s.Source))
				}
			}
			t.Logf("%d of %d", right, len(all))
			if len(all) < 50 || right*100 < 95*len(all) {
				t.Errorf("%d of %d are right, and 95 in a hundred are asked for", right, len(all))
			}
		})
	}
}
