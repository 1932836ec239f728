package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/internal/lab"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/store"
)

// TestPlan compares what a dry run says with what the same order then does, and
// the state before with the state after the dry run.
func TestPlan(t *testing.T) {
	many := func(b *bench) {
		for i := range 30 {
			b.Remember(lab.Statement{Text: fmt.Sprintf("note%c: x", 'a'+i), SaidAt: at(i).Add(-200 * day), ExpiresAt: endFor(i)})
		}
	}
	tell(t,
		story{"of decay says what decay does, up to the brake", func(b *bench) {
			many(b)
			b.drain()
			equal(b, "the changes", plannedAndDone(b, "decay", true), 20)
		}},
		story{"of expire says what expire does", func(b *bench) {
			many(b)
			b.drain()
			equal(b, "the changes", plannedAndDone(b, "expire", false), 5)
		}},
		story{"of prune says what prune does", func(b *bench) {
			many(b)
			p := oxbow.DefaultPolicy()
			p.SlotCap = 18
			_, _, err := b.Engine.SetScope(b.Ctx, b.Bench.Scope, "", &p, nil)
			b.Must(err)
			b.drain()
			equal(b, "the changes", plannedAndDone(b, "prune", false), 12)
		}},
		story{"of cluster says what cluster and synthesize do", func(b *bench) {
			for i, text := range []string{"short names please", "short names always", "short names are nicer", "lunch is at noon", "my cat sleeps"} {
				b.Remember(lab.Statement{Text: text, SaidAt: at(i)})
			}
			b.Judge.OnCluster = groupShort
			b.drain()
			equal(b, "the changes", plannedAndDone(b, "cluster", false), 4)
		}},
		story{"of cluster says that the brake would stop it", func(b *bench) {
			for i := range 25 {
				b.Remember(lab.Statement{Text: fmt.Sprintf("short names %c", 'a'+i), SaidAt: at(i)})
			}
			b.Judge.OnCluster = groupShort
			b.drain()
			equal(b, "the changes", plannedAndDone(b, "cluster", true), 0)
		}},
		story{"of contradiction says what judging once more does", func(b *bench) {
			b.Judge.OnRelate = func(llm.Statement, []llm.Statement) ([]llm.Relation, error) { return nil, nil }
			for i, text := range []string{"tea: green", "tea: black", "coffee: none"} {
				b.Remember(lab.Statement{Text: text, SaidAt: at(i)})
			}
			b.drain()
			b.Judge.OnRelate = nil
			equal(b, "the changes", plannedAndDone(b, "contradiction", false), 1)
		}},
		story{"of extract says what another reading makes", func(b *bench) {
			b.Judge.OnExtract = func(llm.TurnText) (llm.Extraction, error) { return llm.Extraction{}, nil }
			b.Say("c", "tea: green", at(1))
			b.Say("c", "coffee: black", at(2))
			b.drain()
			b.Judge.OnExtract = nil
			equal(b, "the changes", plannedAndDone(b, "extract", false), 2)
		}},
		story{"refuses jobs, scopes and shares that do not exist", planInvalid},
	)
}

func endFor(i int) time.Time {
	if i%6 == 0 {
		return at(i).Add(-100 * day)
	}
	return time.Time{}
}

// lifecycle are the events that a plan speaks of.
var lifecycle = []oxbow.EventType{oxbow.Created, oxbow.SupersededBy, oxbow.CompressedTo, oxbow.ExpiredEvent, oxbow.ArchivedEvent}

// plannedAndDone plans a job, does it, and gives how many changes there were.
func plannedAndDone(b *bench, name string, braked bool) int {
	b.Helper()
	order := engine.Order{Name: name, Tenant: b.tenant()}
	before, seq := b.State(), lastSeq(b)
	var planned []string
	plans, err := b.Engine.PlanJob(b.Ctx, order)
	b.Must(err)
	for _, p := range plans {
		equal(b, "the brake", p.Braked, braked)
		for _, c := range p.Changes {
			planned = append(planned, string(c.Type)+" "+c.Memory+": "+c.Reason)
		}
	}
	if d := lab.Differ(before, b.State()); d != "" || lastSeq(b) != seq {
		b.Errorf("the dry run changed:\n%s", d)
	}
	_, err = b.Engine.RunJob(b.Ctx, order)
	b.Must(err)
	b.drain()
	es, err := b.DB.Events(b.Ctx, store.EventFilter{Tenant: b.tenant(), AfterSeq: seq, Types: lifecycle, Limit: 1000})
	b.Must(err)
	var done []string
	for _, e := range es {
		done = append(done, string(e.Type)+" "+e.Memory+": "+e.Reason)
	}
	slices.Sort(planned)
	slices.Sort(done)
	if !slices.Equal(planned, done) {
		b.Errorf("planned\n%s\ndone\n%s", strings.Join(planned, "\n"), strings.Join(done, "\n"))
	}
	b.Clean()
	return len(done)
}

func lastSeq(b *bench) int64 {
	b.Helper()
	es, err := b.DB.Events(b.Ctx, store.EventFilter{Tenant: b.tenant(), Newest: true, Limit: 1})
	b.Must(err)
	if len(es) == 0 {
		return 0
	}
	return es[0].Seq
}

func planInvalid(b *bench) {
	b.Remember(lab.Statement{Text: "tea: green"})
	for name, c := range map[string]struct {
		order engine.Order
		want  string
	}{
		"an unknown job":    {engine.Order{Name: "dance"}, oxbow.CodeInvalid},
		"an unknown scope":  {engine.Order{Name: "decay", Scopes: []string{"nobody"}}, oxbow.CodeNotFound},
		"a share over one":  {engine.Order{Name: "decay", MaxShare: 2}, oxbow.CodeInvalid},
		"an unknown memory": {engine.Order{Name: "contradiction", Memory: "zzzz"}, oxbow.CodeNotFound},
	} {
		c.order.Tenant = b.tenant()
		_, err := b.Engine.RunJob(b.Ctx, c.order)
		code(b, name+", for real", err, c.want)
		_, err = b.Engine.PlanJob(b.Ctx, c.order)
		code(b, name+", as a plan", err, c.want)
	}
	code(b, "an unknown queue", b.Engine.SetQueuePaused(b.Ctx, "nothing", true), oxbow.CodeNotFound)
	code(b, "an unknown job id", b.Engine.CancelJob(b.Ctx, b.tenant(), 987654), oxbow.CodeNotFound)
	code(b, "an unknown discarded job", b.Engine.RetryDiscarded(b.Ctx, b.tenant(), "zzzz"), oxbow.CodeNotFound)
	js, err := b.DB.ListJobs(b.Ctx, store.JobFilter{Tenant: b.tenant(), Limit: 1})
	b.Must(err)
	code(b, "another tenant's job", b.Engine.CancelJob(b.Ctx, "somebody", js[0].ID), oxbow.CodeNotFound)
	b.Must(b.Engine.CancelJob(b.Ctx, b.tenant(), js[0].ID))
}

func TestStatus(t *testing.T) {
	tell(t, story{"counts memories, turns, jobs, workers and what was given up", statusCounts})
}

func statusCounts(b *bench) {
	b.Judge.OnExtract = func(t llm.TurnText) (llm.Extraction, error) {
		return llm.Extraction{}, oxbow.Errorf(oxbow.CodeUnsupported, "no such model")
	}
	b.Remember(lab.Statement{Text: "tea: green", SaidAt: at(1)})
	b.Remember(lab.Statement{Text: "tea: black", SaidAt: at(2)})
	b.Say("c", "hello", at(3))
	st, err := b.Engine.Status(b.Ctx, oxbow.Scope{Tenant: b.tenant()})
	b.Must(err)
	equal(b, "the jobs that wait", st.Pending, 5)
	equal(b, "the workers", st.Workers, 0)
	b.drain()
	st, err = b.Engine.Status(b.Ctx, oxbow.Scope{Tenant: b.tenant()})
	b.Must(err)
	equal(b, "the judge", st.Judge, "script@1")
	equal(b, "the active", st.Memories[oxbow.Active], 1)
	equal(b, "the superseded", st.Memories[oxbow.Superseded], 1)
	equal(b, "the workers at work", st.Workers, 1)
	equal(b, "the jobs left", st.Pending, 0)
	equal(b, "the given up", st.Discarded, 1)
	equal(b, "the next schedule", st.Next[0].Name, "expire")
}
