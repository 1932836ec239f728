package jobs_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/lab"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/store"
)

func TestRefusedText(t *testing.T) {
	tell(t,
		story{"marks its turn failed and reads those behind it", refusedTurn},
		story{"leaves a memory unrated and says so", refusedRating},
		story{"leaves one candidate out and compares with the others", refusedCandidate},
		story{"keeps what was said of a candidate before", refusedKeepsVerdict},
		story{"compares a memory that is refused itself with nothing, in few questions", refusedStatement},
		story{"looks for no end and says so", refusedExpiry},
		story{"leaves one memory out of the groups", refusedGrouping},
		story{"leaves the sources of a merge alone", refusedMerge},
	)
}

// foul is what the judge of these tests refuses.
const foul = "foul"

func isFoul(ss ...llm.Statement) error {
	if slices.ContainsFunc(ss, func(s llm.Statement) bool { return strings.Contains(s.Text, foul) }) {
		return llm.ErrRefused
	}
	return nil
}

func refusedTurn(b *lab.Bench) {
	b.Judge.OnExtract = func(t llm.TurnText) (llm.Extraction, error) {
		if strings.Contains(t.User, foul) {
			return llm.Extraction{}, llm.ErrRefused
		}
		return llm.Extraction{Drafts: []llm.Draft{lab.DraftOf(t.User)}}, nil
	}
	b.Say("c", "tea: green", at(1))
	b.Say("c", "foul: words", at(2))
	b.Say("c", "mug: blue", at(3))
	b.Drain()
	var states []oxbow.TurnState
	for _, t := range turns(b) {
		states = append(states, t.State)
	}
	same(b, "the states of the turns", states, []oxbow.TurnState{oxbow.TurnExtracted, oxbow.TurnFailed, oxbow.TurnExtracted})
	failed := turns(b)[1]
	equal(b, "the reason", failed.Reason, "the judge refuses its text")
	run, err := b.DB.Run(b.Ctx, b.Scope.Tenant, failed.Run)
	b.Must(err)
	equal(b, "the run's note", run.Note, "the judge refuses the text of the turn")
	equal(b, "the questions", b.Judge.Calls("extract"), 3)
	equal(b, "the jobs that were given up", len(b.Discarded()), 0)
	b.Find("mug: blue")
	planned, err := b.Deps().PlanExtract(b.Ctx, b.Scope, time.Time{})
	b.Must(err)
	equal(b, "what reading them once more would change", len(planned), 0)
	b.Clean()
}

func refusedRating(b *lab.Bench) {
	b.Judge.OnConfidence = func(string) (llm.Rating, error) { return llm.Rating{}, llm.ErrRefused }
	b.Say("c", "tea: green", at(1))
	b.Drain()
	m := b.Find("tea: green")
	equal(b, "whether it is rated", m.Rated, false)
	equal(b, "its rating", m.Rating, 0.5)
	equal(b, "the event", reason(b, m.ID, oxbow.Rated), "the judge refuses the text; left at 0.5")
	equal(b, "the questions", b.Judge.Calls("confidence"), 1)
}

// scriptedRelate is the plain judge, which refuses what is foul.
func scriptedRelate(b *lab.Bench) {
	b.Judge.OnRelate = func(s llm.Statement, others []llm.Statement) ([]llm.Relation, error) {
		if err := isFoul(append(others, s)...); err != nil {
			return nil, err
		}
		var out []llm.Relation
		for _, o := range others {
			if strings.HasPrefix(o.Text, "tea: ") {
				out = append(out, llm.Relation{Label: o.Label, Relation: oxbow.Contradicts})
			}
		}
		return out, nil
	}
}

func refusedCandidate(b *lab.Bench) {
	scriptedRelate(b)
	old := b.Remember(lab.Statement{Text: "tea: green", SaidAt: at(1)})
	bad := b.Remember(lab.Statement{Text: "tea: foul", SaidAt: at(1)})
	for _, text := range []string{"cake: with tea", "tea and milk"} {
		b.Remember(lab.Statement{Text: text, SaidAt: at(1)})
	}
	b.Drain()
	before := b.Judge.Calls("relate")
	m := b.Remember(lab.Statement{Text: "tea: black", SaidAt: at(2)})
	b.Drain()
	equal(b, "the old one", b.Get(old.ID).Status, oxbow.Superseded)
	equal(b, "the one that cannot be read", b.Get(bad.ID).Status, oxbow.Active)
	equal(b, "the event", reason(b, m.ID, oxbow.Refused), "the judge refuses the text; left out of the comparison: 1")
	if n := b.Judge.Calls("relate") - before; n > 8 {
		b.Errorf("%d questions to find one of four", n)
	}
	equal(b, "the jobs that were given up", len(b.Discarded()), 0)
	b.Clean()
}

func refusedKeepsVerdict(b *lab.Bench) {
	old := b.Remember(lab.Statement{Text: "tea: green", SaidAt: at(1)})
	m := b.Remember(lab.Statement{Text: "tea: black", SaidAt: at(2)})
	b.Drain()
	equal(b, "the old one", b.Get(old.ID).Status, oxbow.Superseded)
	b.Judge.OnRelate = func(llm.Statement, []llm.Statement) ([]llm.Relation, error) { return nil, llm.ErrRefused }
	_, err := b.Engine.RunJob(b.Ctx, lab.Order{Name: "contradiction", Tenant: b.Scope.Tenant, Memory: m.ID})
	b.Must(err)
	b.Drain()
	equal(b, "the old one when nothing can be compared", b.Get(old.ID).Status, oxbow.Superseded)
}

func refusedStatement(b *lab.Bench) {
	b.Judge.OnRelate = func(llm.Statement, []llm.Statement) ([]llm.Relation, error) { return nil, nil }
	for _, text := range []string{"tea: green", "tea: white", "tea: red", "tea: blue"} {
		b.Remember(lab.Statement{Text: text, SaidAt: at(1)})
	}
	b.Drain()
	scriptedRelate(b)
	before := b.Judge.Calls("relate")
	m := b.Remember(lab.Statement{Text: "tea: foul", SaidAt: at(2)})
	b.Drain()
	equal(b, "the refused one", b.Get(m.ID).Status, oxbow.Active)
	if n := b.Judge.Calls("relate") - before; n != 3 {
		b.Errorf("asked %d times: the whole and two halves would do", n)
	}
	if !strings.HasPrefix(reason(b, m.ID, oxbow.Refused), "the judge refuses the text") {
		b.Errorf("the event says %q", reason(b, m.ID, oxbow.Refused))
	}
}

func refusedExpiry(b *lab.Bench) {
	b.Judge.OnExpiry = func(llm.Statement, *time.Location) (llm.Expiry, error) { return llm.Expiry{}, llm.ErrRefused }
	m := b.Remember(lab.Statement{Text: "tea: until Friday", SaidAt: at(1)})
	b.Drain()
	equal(b, "whether it ends", b.Get(m.ID).ExpiresAt.IsZero(), true)
	equal(b, "the event", reason(b, m.ID, oxbow.Refused), "the judge refuses the text; nobody looked for a day on which it ends")
	equal(b, "the questions", b.Judge.Calls("expiry"), 1)
}

func refusedGrouping(b *lab.Bench) {
	five(b)
	b.Remember(lab.Statement{Text: "foul: words", SaidAt: at(1)})
	b.Drain()
	script := b.Judge.OnCluster
	b.Judge.OnCluster = func(items []llm.Statement) ([][]string, error) {
		if err := isFoul(items...); err != nil {
			return nil, err
		}
		return script(items)
	}
	run := b.Pass("cluster", lab.Start.Add(day))
	equal(b, "the note", run.Note, "the judge refuses the text of some memories; left out: 1")
	if run.Counts["groups"] == 0 {
		b.Errorf("nothing was grouped: %v", run.Counts)
	}
}

func refusedMerge(b *lab.Bench) {
	five(b)
	b.Judge.OnSynthesize = func([]llm.Statement) (llm.Synthesis, error) { return llm.Synthesis{}, llm.ErrRefused }
	b.Pass("cluster", lab.Start.Add(day))
	runs, err := b.Engine.Runs(b.Ctx, store.RunFilter{Tenant: b.Scope.Tenant, Limit: 20})
	b.Must(err)
	if !slices.ContainsFunc(runs, func(r oxbow.Run) bool {
		return r.Name == "synthesize" && r.Note == "the judge refuses the text of the group; the sources stay"
	}) {
		b.Errorf("no run says so: %+v", runs)
	}
	equal(b, "the jobs that were given up", len(b.Discarded()), 0)
}
