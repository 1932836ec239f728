package eval

import (
	"context"
	"io"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm"
)

// The labels of a pair.
const (
	labelContradiction = "contradiction"
	labelConfirms      = "confirms"
	labelEntailment    = "entailment"
)

type pairExample struct {
	Old   string `json:"old"`
	New   string `json:"new"`
	Label string `json:"label"`
	Trap  string `json:"trap"`
}

// Pairs are the figures of a judge on pairs of an older and a newer statement.
// A pair counts as found when the judge says contradicts or supersedes: that is
// what retires a memory. conflicts_with keeps both, and is counted apart.
type Pairs struct {
	N              int `json:"n"`
	Contradictions int `json:"contradictions"` // by label
	Found          int `json:"found"`          // called contradiction by the judge
	Right          int `json:"right"`          // both
	// Conflicts are contradictions that were only flagged as conflicts.
	Conflicts int `json:"conflicts"`
	// WrongConflicts are conflicts flagged where there is no contradiction.
	WrongConflicts int `json:"wrong_conflicts"`
	Confirms       int `json:"confirms"` // called confirmation by the judge

	Precision float64 `json:"precision"`
	Recall    float64 `json:"recall"`
	F1        float64 `json:"f1"`
	// ConfirmPrecision is the share of the confirmations whose label is confirms
	// or entailment.
	ConfirmPrecision float64 `json:"confirm_precision"`
	// WrongSupersedes counts what was retired and is no contradiction; Traps
	// counts the same by the example's trap, where it names one.
	WrongSupersedes int            `json:"wrong_supersedes"`
	Traps           map[string]int `json:"wrong_by_trap"`

	Misses []Miss `json:"misses,omitempty"`
}

// said is when the older statement of a pair was made; the newer one follows a
// day later.
var said = time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)

// RatePairs asks the judge about each pair {old, new, label}, label being
// contradiction, confirms, neutral or entailment.
func RatePairs(ctx context.Context, r io.Reader, j llm.Judge) (Pairs, error) {
	out := Pairs{Traps: map[string]int{}}
	right := 0
	err := each(r, func(line int, e pairExample) error {
		if e.Old == "" || e.New == "" || e.Label == "" {
			return oxbow.Errorf(oxbow.CodeInvalid, "line %d is not an example of this task: it needs old, new and label; docs/judge.md has the form", line)
		}
		got, err := relation(ctx, j, e.Old, e.New)
		if err != nil {
			return err
		}
		out.N++
		want := e.Label == labelContradiction
		found := got == oxbow.Contradicts || got == oxbow.Replaces
		out.count(e, want, found, got)
		if got == oxbow.ConfirmsIt && (e.Label == labelConfirms || e.Label == labelEntailment) {
			right++
		}
		if wrong := want != found || got == oxbow.ConfirmsIt && e.Label != labelConfirms && e.Label != labelEntailment; wrong {
			out.Misses = append(out.Misses, Miss{Line: line, Text: e.Old + " → " + e.New, Want: e.Label, Got: string(got)})
		}
		return nil
	})
	out.Precision, out.Recall = share(out.Right, out.Found), share(out.Right, out.Contradictions)
	out.F1 = f1(out.Precision, out.Recall)
	out.ConfirmPrecision = share(right, out.Confirms)
	return out, err
}

func (p *Pairs) count(e pairExample, want, found bool, got oxbow.Relation) {
	if want {
		p.Contradictions++
	}
	switch {
	case found && want:
		p.Found++
		p.Right++
	case found:
		p.Found++
		p.WrongSupersedes++
		if e.Trap != "" {
			p.Traps[e.Trap]++
		}
	case got == oxbow.Unsure && want:
		p.Conflicts++
	case got == oxbow.Unsure:
		p.WrongConflicts++
	case got == oxbow.ConfirmsIt:
		p.Confirms++
	}
}

// relation asks what the newer text is to the older one.
func relation(ctx context.Context, j llm.Judge, older, newer string) (oxbow.Relation, error) {
	s := llm.Statement{Label: "new", Text: newer, Kind: oxbow.Semantic, Source: oxbow.FromUser, SaidAt: said.AddDate(0, 0, 1)}
	o := llm.Statement{Label: "c1", Text: older, Kind: oxbow.Semantic, Source: oxbow.FromUser, SaidAt: said}
	rs, err := j.Relate(ctx, s, []llm.Statement{o})
	if err != nil {
		return "", err
	}
	for _, r := range rs {
		if r.Label == o.Label {
			return r.Relation, nil
		}
	}
	return oxbow.Unrelated, nil
}
