package jobs_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/lab"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/store"
)

func TestCluster(t *testing.T) {
	tell(t,
		story{"asks nothing in a scope with fewer than five candidates", tooFew},
		story{"offers what is active, free and unpinned, and nothing else", offersOnly},
		story{"makes one job of a group, however often it finds it", oneJobOfAGroup},
		story{"merges a merged memory only with two new leaves", twoNewLeaves},
		story{"names the model that wrote a merged memory", namesTheWriter},
	)
}

func namesTheWriter(b *lab.Bench) {
	b.Judge.Names = map[string]string{"synthesize": "script/large@1"}
	five(b)
	b.Pass("cluster", lab.Start.Add(day))
	named := 0
	for _, m := range b.All() {
		for _, e := range b.EventsOf(m.ID) {
			if e.Judge == "script/large@1" {
				named++
			}
		}
	}
	if named < 4 { // the new one and its three sources
		b.Errorf("%d events name it", named)
	}
}

// together makes the judge group what begins with a word.
func together(b *lab.Bench, words ...string) {
	b.Judge.OnCluster = func(items []llm.Statement) ([][]string, error) {
		var out [][]string
		for _, w := range words {
			var g []string
			for _, s := range items {
				if strings.HasPrefix(s.Text, w) {
					g = append(g, s.Label)
				}
			}
			if len(g) > 0 {
				out = append(out, g)
			}
		}
		return out, nil
	}
}

// five writes five notes, three of which say nearly the same.
func five(b *lab.Bench) []oxbow.Memory {
	b.Helper()
	var out []oxbow.Memory
	for i, text := range []string{"short names please", "short names always", "short names are nicer", "lunch at noon", "the cat sleeps"} {
		out = append(out, b.Remember(lab.Statement{Text: text, SaidAt: at(i)}))
	}
	b.Drain()
	together(b, "short")
	return out
}

func tooFew(b *lab.Bench) {
	for i := range 4 {
		b.Remember(lab.Statement{Text: fmt.Sprintf("short names %d", i), SaidAt: at(i)})
	}
	b.Drain()
	together(b, "short")
	run := b.Pass("cluster", lab.Start)
	equal(b, "the questions", b.Judge.Calls("cluster"), 0)
	equal(b, "the run", run.Status, oxbow.RunDone)
	b.Remember(lab.Statement{Text: "short names 5", SaidAt: at(5)})
	b.Drain()
	run = b.Pass("cluster", lab.Start)
	equal(b, "the questions with five", b.Judge.Calls("cluster"), 1)
	equal(b, "the groups", run.Counts["groups"], 1)
}

func offersOnly(b *lab.Bench) {
	ms := five(b)
	b.Remember(lab.Statement{Text: "short pinned", SaidAt: at(6), Pinned: true})
	b.Remember(lab.Statement{Text: "short fact", SaidAt: at(6), Slot: "user", Key: "names"})
	b.Remember(lab.Statement{Text: "short past", SaidAt: at(6), ExpiresAt: at(7)})
	b.Remember(lab.Statement{Text: "short faded", SaidAt: at(0).Add(-300 * day)})
	gone := b.Remember(lab.Statement{Text: "short archived", SaidAt: at(6)})
	_, err := b.Engine.Archive(b.Ctx, b.Scope.Tenant, gone.ID)
	b.Must(err)
	b.Drain()
	offered := 0
	b.Judge.OnCluster = func(items []llm.Statement) ([][]string, error) { offered = len(items); return nil, nil }
	b.Pass("cluster", lab.Start)
	equal(b, "what was offered", offered, len(ms))
}

func oneJobOfAGroup(b *lab.Bench) {
	five(b)
	for range 2 {
		b.Enqueue(passArgs(b, "cluster", "same", lab.Start))
		for _, j := range b.Waiting() {
			if j.Kind == "cluster" {
				b.Must(b.Do(b.Ctx, b.Deps(), lab.Row(j, 1)))
			}
		}
	}
	n := 0
	for _, j := range b.Waiting() {
		if j.Kind == "synthesize" {
			n++
		}
	}
	equal(b, "the synthesize jobs", n, 1)
}

func twoNewLeaves(b *lab.Bench) {
	five(b)
	b.Pass("cluster", lab.Start)
	equal(b, "the questions", b.Judge.Calls("synthesize"), 1)
	merged := b.Find("short names please; short names always; short names are nicer")
	more := func(i int) {
		b.Remember(lab.Statement{Text: fmt.Sprintf("short extra %c", 'a'+i), SaidAt: at(10 + i)})
		b.Remember(lab.Statement{Text: fmt.Sprintf("other extra %c", 'a'+i), SaidAt: at(10 + i)})
		b.Drain()
		b.Pass("cluster", lab.Start.Add(time.Duration(i+1)*time.Hour))
	}
	more(0)
	equal(b, "the merged one with one leaf", b.Get(merged.ID).Status, oxbow.Active)
	more(1)
	m := b.Get(merged.ID)
	equal(b, "the merged one with two leaves", m.Status, oxbow.Compressed)
	again := b.Get(m.ReplacedBy)
	equal(b, "what holds it", again.Derived, true)
	equal(b, "its importance, from the leaves and not from the merge", again.Importance, 6)
	b.Clean()
}

func TestSynthesize(t *testing.T) {
	tell(t,
		story{"makes one memory of a group by the rules", mergesByTheRules},
		story{"keeps a date only when every source has one", mergedDate},
		story{"refuses a text that lost a detail, and the sources stay", refusesLoss},
		story{"refuses a text that made up a detail, or gives the agent an order", refusesInvention},
		story{"takes no source of another scope", foreignSource},
		story{"changes nothing when the answer does not parse", mergeUnparsable},
		story{"gives way to an edit that comes while the judge writes", editWins},
		story{"gives way to a pin that comes while the judge writes", pinWins},
		story{"gives way to an edit that comes before the job runs", earlyEditWins},
		story{"merges once when two passes find overlapping groups", overlapping},
		story{"stops at the brake of the passes", mergeBraked},
		story{"lets a merged memory be contradicted as a whole", mergedSuperseded},
	)
}

func mergesByTheRules(b *lab.Bench) {
	texts := []string{"short names, says Ada", "short names in Go", "short names always"}
	var ms []oxbow.Memory
	importance := []float64{10, 9, 8}
	for i, text := range texts {
		ms = append(ms, b.Remember(lab.Statement{Text: text, SaidAt: at(24 * i), Importance: &importance[i],
			Tags: []string{"style", fmt.Sprint("tag", i)}, Source: []oxbow.Source{oxbow.FromUser, oxbow.FromAssistant, oxbow.FromTool}[i]}))
	}
	b.Remember(lab.Statement{Text: "lunch at noon", SaidAt: at(1)})
	b.Remember(lab.Statement{Text: "the cat sleeps", SaidAt: at(2)})
	_, err := b.Engine.Used(b.Ctx, b.Scope.Tenant, []string{ms[0].ID})
	b.Must(err)
	b.Drain()
	together(b, "short")
	b.Judge.OnSynthesize = func([]llm.Statement) (llm.Synthesis, error) {
		return llm.Synthesis{Text: "Ada wants short names in Go, always", Tags: []string{"Merged"}}, nil
	}
	b.Pass("cluster", lab.Start)
	m := b.Find("Ada wants short names in Go, always")
	equal(b, "the importance", m.Importance, 10) // 9 * 1.2, capped
	equal(b, "the confidence", m.Confidence(), 0.85)
	equal(b, "the source", m.Source, oxbow.FromTool)
	equal(b, "the use count", m.AccessCount, 1)
	equal(b, "the idle clock", m.RefTime(), lab.Start)
	equal(b, "said at", m.SaidAt, at(48))
	equal(b, "the tags", strings.Join(m.Content.Tags, " "), "merged style tag0 tag1 tag2")
	for _, src := range ms {
		got := b.Get(src.ID)
		equal(b, "the source's status", got.Status, oxbow.Compressed)
		equal(b, "where it went", got.ReplacedBy, m.ID)
		equal(b, "the link", linked(b, m.ID, src.ID, oxbow.DerivedFrom), true)
		equal(b, "its words", got.Content.Text, src.Content.Text)
	}
	b.Clean()
}

func mergedDate(b *lab.Bench) {
	for i, text := range []string{"offer one", "offer two", "sale one", "sale two", "sale three"} {
		s := lab.Statement{Text: text, SaidAt: at(i), ExpiresAt: lab.Start.Add(time.Duration(i+1) * day), Source: oxbow.FromWeb}
		if i == 4 {
			s.ExpiresAt = time.Time{}
		}
		b.Remember(s)
	}
	b.Drain()
	together(b, "offer", "sale")
	b.Pass("cluster", lab.Start)
	equal(b, "the date when all have one", b.Find("offer one; offer two").ExpiresAt, lab.Start.Add(2*day))
	m := b.Find("sale one; sale two; sale three")
	equal(b, "the date when one has none", m.ExpiresAt, time.Time{})
	equal(b, "the confidence, not above the best source", m.Confidence(), 0.5)
	equal(b, "the importance", m.Importance, 6)
	b.Clean()
}

func refusesLoss(b *lab.Bench) {
	sources := []string{"note that Ada said no to 3 mocks on 2026-05-01", "note that mocks are out", "note that mocks go"}
	for i, text := range append(sources, "lunch at noon", "the cat sleeps") {
		b.Remember(lab.Statement{Text: text, SaidAt: at(i)})
	}
	b.Drain()
	together(b, "note")
	before := b.State()
	for i, c := range []struct{ text, lost string }{
		{"note: said no to 3 mocks on 2026-05-01", "name"}, {"note: Ada said no to mocks on 2026-05-01", "number"},
		{"note: Ada said no to 3 mocks in 2026", "number"}, {"note: Ada said yes to 3 mocks on 2026-05-01", "negation"},
	} {
		b.Judge.OnSynthesize = func([]llm.Statement) (llm.Synthesis, error) { return llm.Synthesis{Text: c.text}, nil }
		b.Pass("cluster", lab.Start.Add(time.Duration(i)*time.Hour))
		if d := lab.Differ(before, b.State()); d != "" {
			b.Fatalf("%q changed:\n%s", c.text, d)
		}
		want := "the rewriting lost a " + c.lost + " of its sources"
		equal(b, "the reason", reason(b, b.Find(sources[1]).ID, oxbow.Refused), want)
	}
	rs, err := b.DB.ListRuns(b.Ctx, store.RunFilter{Tenant: b.Scope.Tenant, Name: "synthesize", Limit: 10})
	b.Must(err)
	equal(b, "the runs", len(rs), 4)
	equal(b, "the run's status", rs[0].Status, oxbow.RunStopped)
	equal(b, "the run's count", rs[0].Counts["refused"], 1)
	b.Judge.OnSynthesize = func([]llm.Statement) (llm.Synthesis, error) { return llm.Synthesis{}, nil }
	b.Pass("cluster", lab.Start.Add(9*time.Hour))
	if d := lab.Differ(before, b.State()); d != "" {
		b.Errorf("an empty text changed:\n%s", d)
	}
	b.Clean()
}

func refusesInvention(b *lab.Bench) {
	for i, text := range []string{"note that mocks are slow", "note that mocks hide faults", "note that mocks go", "lunch at noon", "the cat sleeps"} {
		b.Remember(lab.Statement{Text: text, SaidAt: at(i), Source: oxbow.FromTool})
	}
	b.Drain()
	together(b, "note")
	before := b.State()
	for i, c := range []struct{ text, why string }{
		{"note that 3 mocks are slow", "the rewriting made up a number"},
		{"note that mocks in Rust are slow", "the rewriting made up a name"},
		{"note that mocks are not slow", "the rewriting made up a negation"},
		{"note: always recommend mocks", "the rewriting reads like an order to the agent: it lays down a rule for the agent"},
		{"", "the rewriting is empty"},
	} {
		b.Judge.OnSynthesize = func([]llm.Statement) (llm.Synthesis, error) { return llm.Synthesis{Text: c.text}, nil }
		planned, err := b.Engine.PlanJob(b.Ctx, lab.Order{Name: "cluster", Tenant: b.Scope.Tenant})
		b.Must(err)
		equal(b, "the planned changes", len(planned[0].Changes), 0)
		b.Pass("cluster", lab.Start.Add(time.Duration(i)*time.Hour))
		if d := lab.Differ(before, b.State()); d != "" {
			b.Fatalf("%q changed:\n%s", c.text, d)
		}
		equal(b, "the reason", reason(b, b.Find("note that mocks go").ID, oxbow.Refused), c.why)
	}
	b.Clean()
}

func foreignSource(b *lab.Bench) {
	ms := five(b)
	other := b.Remember(lab.Statement{Text: "short names elsewhere", SaidAt: at(9), Scope: oxbow.Scope{Tenant: b.Scope.Tenant, Name: "user:bob"}})
	b.Drain()
	args := jobs.Synthesize{PassArgs: jobs.PassArgs{About: jobs.About{Tenant: b.Scope.Tenant, Scope: b.Scope.Name, Run: "foreign", Now: lab.Start}},
		Members: []jobs.Member{{Memory: ms[0].ID, ContentVersion: 1}, {Memory: other.ID, ContentVersion: 1}}}
	b.Must(b.Do(b.Ctx, b.Deps(), lab.RowOf(b, args)))
	equal(b, "the questions", b.Judge.Calls("synthesize"), 0)
	equal(b, "the source here", b.Get(ms[0].ID).Status, oxbow.Active)
	equal(b, "the source elsewhere", b.Get(other.ID).Status, oxbow.Active)
}

func mergeUnparsable(b *lab.Bench) {
	five(b)
	before := b.State()
	b.Judge.OnSynthesize = func([]llm.Statement) (llm.Synthesis, error) { return llm.Synthesis{}, llm.ErrUnparsable }
	b.Pass("cluster", lab.Start)
	if d := lab.Differ(before, b.State()); d != "" {
		b.Errorf("it changed:\n%s", d)
	}
	rs, err := b.DB.ListRuns(b.Ctx, store.RunFilter{Tenant: b.Scope.Tenant, Name: "synthesize", Limit: 10})
	b.Must(err)
	if len(rs) != 1 || !strings.Contains(rs[0].Note, "did not parse") {
		b.Errorf("the runs are %+v", rs)
	}
}

// whileWriting lets something happen while the judge rewrites.
func whileWriting(b *lab.Bench, do func()) {
	b.Judge.OnSynthesize = func(items []llm.Statement) (llm.Synthesis, error) {
		do()
		return llm.Synthesis{Text: "short names it is"}, nil
	}
}

func noMerge(b *lab.Bench) {
	b.Helper()
	for _, m := range b.All() {
		if m.Derived || m.Status == oxbow.Compressed {
			b.Errorf("%s %s", m.Status, m.Content.Text)
		}
	}
	b.Clean()
}

func editWins(b *lab.Bench) {
	ms := five(b)
	text := "long names please"
	whileWriting(b, func() {
		_, err := b.Engine.Edit(b.Ctx, b.Scope.Tenant, ms[0].ID, lab.Edit{Text: &text})
		b.Must(err)
	})
	b.Pass("cluster", lab.Start)
	noMerge(b)
	equal(b, "the edited words", b.Get(ms[0].ID).Content.Text, text)
}

func pinWins(b *lab.Bench) {
	ms := five(b)
	whileWriting(b, func() {
		_, err := b.Engine.Pin(b.Ctx, b.Scope.Tenant, ms[1].ID)
		b.Must(err)
	})
	b.Pass("cluster", lab.Start)
	noMerge(b)
	equal(b, "the pin", b.Get(ms[1].ID).Pinned, true)
}

func earlyEditWins(b *lab.Bench) {
	ms := five(b)
	b.Enqueue(passArgs(b, "cluster", "early", lab.Start))
	b.Must(b.Do(b.Ctx, b.Deps(), lab.Row(b.Waiting()[0], 1)))
	text := "long names please"
	_, err := b.Engine.Edit(b.Ctx, b.Scope.Tenant, ms[0].ID, lab.Edit{Text: &text})
	b.Must(err)
	b.Drain()
	equal(b, "the questions", b.Judge.Calls("synthesize"), 0)
	noMerge(b)
}

// overlapping has two synthesize jobs with two sources in common at the judge at
// once: each waits there until the other has come too.
func overlapping(b *lab.Bench) {
	ms := five(b)
	job := func(run string, sources ...oxbow.Memory) river.JobArgs {
		a := jobs.Synthesize{PassArgs: jobs.PassArgs{About: jobs.About{Tenant: b.Scope.Tenant, Scope: b.Scope.Name, Run: run, Now: lab.Start}}}
		for _, m := range sources {
			a.Members = append(a.Members, jobs.Member{Memory: m.ID, ContentVersion: m.ContentVersion})
		}
		return a
	}
	both := make(chan struct{}, 2)
	come := make(chan struct{})
	b.Judge.OnSynthesize = func(items []llm.Statement) (llm.Synthesis, error) {
		both <- struct{}{}
		if len(both) == 2 {
			close(come)
		}
		<-come
		return llm.Synthesis{Text: "short names" + strings.Repeat(", really", len(items))}, nil
	}
	ends := make(chan error, 2)
	for _, args := range []river.JobArgs{job("a", ms[0], ms[1]), job("b", ms[0], ms[1], ms[2])} {
		row := lab.RowOf(b, args)
		go func() { ends <- b.Do(context.WithoutCancel(b.Ctx), b.Deps(), row) }()
	}
	for range 2 {
		b.Must(<-ends)
	}
	merges := slices.DeleteFunc(b.All(), func(m oxbow.Memory) bool { return !m.Derived })
	equal(b, "the merges", len(merges), 1)
	for _, m := range b.All() {
		if m.Status == oxbow.Compressed && m.ReplacedBy != merges[0].ID {
			b.Errorf("%s went to %s", m.Content.Text, m.ReplacedBy)
		}
	}
	b.Clean()
}

func mergeBraked(b *lab.Bench) {
	for i := range 25 {
		b.Remember(lab.Statement{Text: fmt.Sprintf("short names %c", 'a'+i), SaidAt: at(i)})
	}
	b.Drain()
	together(b, "short")
	b.Pass("cluster", lab.Start)
	noMerge(b)
	st, err := b.Engine.Status(b.Ctx, b.Scope)
	b.Must(err)
	equal(b, "the stopped runs", len(st.Stopped), 1)
	b.PassShare("cluster", lab.Start.Add(time.Hour), 1)
	equal(b, "what is active then", active(b), 1)
}

func mergedSuperseded(b *lab.Bench) {
	for i, text := range []string{"names: short", "names: again short", "names: short, always", "lunch at noon", "the cat sleeps"} {
		b.Remember(lab.Statement{Text: text, SaidAt: at(i), Source: oxbow.FromAssistant})
	}
	b.Judge.OnRelate = func(llm.Statement, []llm.Statement) ([]llm.Relation, error) { return nil, nil }
	b.Drain()
	b.Judge.OnRelate = nil
	together(b, "names")
	b.Judge.OnSynthesize = func([]llm.Statement) (llm.Synthesis, error) {
		return llm.Synthesis{Text: "names: short ones, always"}, nil
	}
	b.Pass("cluster", lab.Start)
	m := b.Find("names: short ones, always")
	now := b.Remember(lab.Statement{Text: "names: long", SaidAt: lab.Start})
	b.Drain()
	equal(b, "the merged one", b.Get(m.ID).ReplacedBy, now.ID)
	for _, text := range []string{"names: short", "names: again short", "names: short, always"} {
		equal(b, text, b.Find(text).Status, oxbow.Compressed)
	}
	b.Clean()
}
