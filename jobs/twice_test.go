package jobs_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/lab"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/llm/offline"
	"github.com/oxbow-memory/oxbow/store"
)

// TestMain bounds the property tests, each case of which plays weeks on a real
// database.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		if err := flag.Set("rapid.checks", "10"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// TestTwice plays one story in which every job takes part, once with each job
// worked one time and once with each worked two times, and finds the same
// memories, links, runs and numbers of events.
func TestTwice(t *testing.T) {
	t.Parallel()
	lab.Each(t, func(t *testing.T, db *lab.DB) {
		once, kinds := playAll(benchOf(t, db, "user:once"), false)
		twice, _ := playAll(benchOf(t, db, "user:once"), true)
		if d := lab.Differ(once, twice); d != "" {
			t.Errorf("jobs that run twice end elsewhere:\n%s", d)
		}
		for _, kind := range []string{"extract", "confidence", "contradiction", "expiry", "decay", "expire", "prune", "cluster", "synthesize", "apply_policy", "embed", "observe", "reflect", "graph"} {
			if kinds[kind] == 0 {
				t.Errorf("no %s job took part", kind)
			}
		}
	})
}

func playAll(b *lab.Bench, twice bool) (state []string, kinds map[string]int) {
	b.Twice = twice
	b.Scope.Tenant += fmt.Sprint("-", twice)
	b.Embed(&lab.Embedder{})
	b.Judge.OnExpiry = func(s llm.Statement, _ *time.Location) (llm.Expiry, error) {
		switch {
		case strings.Contains(s.Text, "soon"):
			return llm.Expiry{Date: s.SaidAt.Add(2 * day)}, nil
		case strings.Contains(s.Text, "ships"):
			return llm.Expiry{Event: true}, nil
		case strings.Contains(s.Text, "odd"):
			return llm.Expiry{Date: s.SaidAt.Add(-9 * day)}, nil
		}
		return llm.Expiry{}, nil
	}
	together(b, "short")
	p := oxbow.DefaultPolicy()
	p.SlotCap = 8
	for i, text := range []string{"tea: green\nuser/timezone = Europe/Oslo", "tea: again green", "tea: black", "offer: ends soon", "freeze: until v2 ships",
		"user/timezone = Europe/Rome", "odd: a date", "short names please", "short names always", "short names are nice", "coffee: maybe"} {
		b.Say(fmt.Sprint("c", i), text, at(0).Add(-30*day+time.Duration(i)*25*time.Hour))
		b.Drain()
	}
	for i := range 12 {
		b.Remember(lab.Statement{Text: fmt.Sprintf("filler%c: x", 'a'+i), SaidAt: at(i).Add(-30 * day), Kind: oxbow.Episodic})
	}
	b.Drain()
	_, _, err := b.Engine.SetScope(b.Ctx, b.Scope, "Europe/Stockholm", &p, nil)
	b.Must(err)
	b.Drain()
	for _, name := range []string{"expire", "cluster", "prune", "decay"} {
		b.Pass(name, lab.Start)
	}
	b.Pass("decay", lab.Start.Add(45*day))
	embedAll(b)
	wantMissing(b, b.Embedder, 0)
	state = append(b.State(), bookkeeping(b)...)
	b.Scope.Name = "user:talker"
	state = append(state, condense(b)...)
	b.Clean()
	return append(append(state, b.State()...), bookkeeping(b)...), kindsOf(b)
}

// condense plays a conversation long enough to be observed, and its observations
// to be condensed, by the rules, and gives how large the graph of what was said in
// it is.
func condense(b *lab.Bench) []string {
	b.Helper()
	b.Draw(offline.New())
	observing(b, `{"reflect": {"tokens": 150, "keep": 0.4}}`)
	b.Ingest(chatter(b.Scope, 16)...)
	b.Remember(lab.Statement{Text: "Alice introduced me to Nightshade.", SaidAt: at(2)})
	b.Remember(lab.Statement{Text: "Nightshade is a restaurant.", SaidAt: at(2)})
	b.Drain()
	nodes, edges, err := b.DB.CountGraph(b.Ctx, b.Scope)
	b.Must(err)
	return []string{fmt.Sprintf("graph: %d nodes, %d edges", nodes, edges)}
}

// bookkeeping gives what stands beside the memories, without ids.
func bookkeeping(b *lab.Bench) []string {
	b.Helper()
	var out []string
	for _, m := range b.All() {
		out = append(out, fmt.Sprintf("events of %q: %v", m.Content.Text, b.Types(m.ID)))
	}
	rs, err := b.DB.ListRuns(b.Ctx, store.RunFilter{Tenant: b.Scope.Tenant, Limit: 1000})
	b.Must(err)
	for _, r := range rs {
		out = append(out, fmt.Sprintf("run %s %s about %s %v", r.Name, r.Status, r.About, r.Counts))
	}
	for kind, n := range kindsOf(b) {
		out = append(out, fmt.Sprintf("jobs %s: %d", kind, n))
	}
	return out
}

func kindsOf(b *lab.Bench) map[string]int {
	b.Helper()
	js, err := b.DB.ListJobs(b.Ctx, store.JobFilter{Tenant: b.Scope.Tenant, Limit: 1000})
	b.Must(err)
	kinds := map[string]int{}
	for _, j := range js {
		kinds[j.Kind]++
	}
	return kinds
}
