package offline

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm"
)

// labelled is a sentence with the facts that are in it, "slot/key=words".
type labelled struct {
	group, say string
	want       []string
}

func readLabelled(t *testing.T, name string) []labelled {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var out []labelled
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		group, rest, ok := strings.Cut(line, " | ")
		say, want, ok2 := strings.Cut(rest, " =>")
		if !ok || !ok2 {
			t.Fatalf("a line of another form: %s", line)
		}
		l := labelled{group: group, say: say}
		for w := range strings.SplitSeq(want, ";") {
			if w = strings.TrimSpace(w); w != "" {
				l.want = append(l.want, w)
			}
		}
		out = append(out, l)
	}
	return out
}

// read compares the facts of one sentence with its labels.
func (l labelled) read(t *testing.T) (right, wrong, missed []string) {
	want := slices.Clone(l.want)
	for _, d := range extracted(t, llm.TurnText{User: l.say, At: wednesday}).Drafts {
		if d.Kind != oxbow.Fact {
			continue
		}
		at := slices.IndexFunc(want, func(w string) bool {
			address, value, _ := strings.Cut(w, "=")
			return address == d.Slot+"/"+d.Key && strings.Contains(d.Text, value)
		})
		if at < 0 {
			wrong = append(wrong, d.Slot+"/"+d.Key+"="+d.Text)
			continue
		}
		right = append(right, want[at])
		want = slices.Delete(want, at, at+1)
	}
	return right, wrong, want
}

// TestFactsOfDialogues holds the facts that rules read of what a user says to
// labels that were written before them: nothing that is hedged, denied, supposed,
// quoted, asked or bounded is one, and few that are plainly said are missed.
func TestFactsOfDialogues(t *testing.T) {
	t.Parallel()
	for file, least := range map[string]float64{"facts.txt": 1, "facts_fresh.txt": 0.9} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			lines := readLabelled(t, file)
			if len(lines) < 60 {
				t.Fatalf("%d lines, want at least 60", len(lines))
			}
			var right, wrong, missed int
			for _, l := range lines {
				r, w, m := l.read(t)
				right, wrong, missed = right+len(r), wrong+len(w), missed+len(m)
				for _, f := range w {
					t.Errorf("%s: %q is taken for %s", l.group, l.say, f)
				}
				for _, f := range m {
					t.Logf("%s: %q lacks %s", l.group, l.say, f)
				}
			}
			recall := float64(right) / float64(right+missed)
			t.Logf("precision %.3f, recall %.3f of %d facts in %d sentences", float64(right)/float64(right+wrong), recall, right+missed, len(lines))
			if recall < least {
				t.Errorf("recall is %.3f, want %.2f", recall, least)
			}
		})
	}
}
