package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/internal/carry"
	"github.com/oxbow-memory/oxbow/internal/lab"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/store"
)

// pairing is an observer whose notes rest on the turn before, too.
type pairing struct{ llm.Observer }

func (p pairing) Observe(ctx context.Context, turns []llm.TurnText) ([]llm.Observation, error) {
	out, err := p.Observer.Observe(ctx, turns)
	for i, o := range out {
		for n := 1; n < len(turns); n++ {
			if slices.Equal(o.Turns, []string{llm.TurnLabel(n)}) {
				out[i].Turns = []string{llm.TurnLabel(n - 1), llm.TurnLabel(n)}
			}
		}
	}
	return out, err
}

var talkScope = oxbow.Scope{Tenant: "default", Name: "user:ada"}

// talks fills a conversation that is observed every four turns and condensed soon,
// and leaves the last turns to be observed.
func (c *carrier) talks() {
	c.Helper()
	policy := oxbow.DefaultPolicy()
	policy.Observe, policy.Reflect = oxbow.ObserveRules{Turns: 4, Tokens: 5000}, oxbow.ReflectRules{Tokens: 150, Keep: 0.4}
	_, _, err := c.engine.SetScope(c.Context(), talkScope, "Europe/Stockholm", &policy, nil)
	c.must(err)
	for i := range 14 {
		c.says(i, fmt.Sprintf("We decided to use port %d for service %d of the harbour project.", 8000+i, i))
	}
	c.drain()
}

// says ingests the turn of an hour of the conversation.
func (c *carrier) says(hour int, words string) {
	c.Helper()
	_, err := c.engine.Ingest(c.Context(), []oxbow.Turn{{Scope: talkScope, Conversation: "harbour", User: words,
		Assistant: "Noted, that port is free on every one of the machines.", At: carryDay.Add(time.Duration(hour-48) * time.Hour)}})
	c.must(err)
}

// condensed counts the notes of the tenant and the turns that were observed.
func (c *carrier) condensed() (notes, marks int) {
	c.Helper()
	for _, id := range c.ids() {
		m, err := c.db.Memory(c.Context(), c.tenant, id)
		c.must(err)
		if m.IsNote() {
			notes++
		}
	}
	ts, err := c.db.ListTurns(c.Context(), store.TurnFilter{Tenant: c.tenant, Limit: 1000})
	c.must(err)
	for _, t := range ts {
		if t.Observed != "" {
			marks++
		}
	}
	return notes, marks
}

// condense runs observe over everything and gives how many turns it took. It is a
// minute later then, because a run has one id per instant.
func (c *carrier) condense() int {
	c.Helper()
	c.now = c.now.Add(time.Minute)
	runs, err := c.engine.RunJob(c.Context(), engine.Order{Name: "observe", Tenant: c.tenant})
	c.must(err)
	c.drain()
	turns := 0
	for _, id := range runs {
		r, err := c.db.Run(c.Context(), c.tenant, id)
		c.must(err)
		if r.Status != oxbow.RunDone {
			c.Fatalf("the run is %s: %s", r.Status, r.Note)
		}
		turns += r.Counts["turns"]
	}
	return turns
}

// asked gives the block before a message in the conversation, which records nothing.
func (c *carrier) asked() string {
	c.Helper()
	block, err := c.engine.Context(c.Context(), engine.ContextQuery{Scope: talkScope, Text: "which port is free for the next service?", Conversation: "harbour", At: c.now})
	c.must(err)
	return block.Text
}

func TestCarryNotes(t *testing.T) {
	t.Parallel()
	for name, open := range map[string][2]func(testing.TB) *lab.DB{
		"from SQLite to Postgres": {lab.OpenSQLite, lab.OpenPostgres}, "from Postgres to SQLite": {lab.OpenPostgres, lab.OpenSQLite}} {
		t.Run("observes nothing again that goes "+name, func(t *testing.T) {
			t.Parallel()
			from, to := carrying(t, open[0](t)), carrying(t, open[1](t))
			from.talks()
			if from.condense() != 2 {
				t.Fatal("by hand the last two turns were not observed")
			}
			whole := from.export(true)
			to.now = from.now
			to.imports(whole)
			to.clean()
			to.sameBut("of the other", to.export(true), whole)
			to.drain()
			if got, want := to.asked(), from.asked(); got != want || !strings.Contains(got, "8013") {
				t.Errorf("there the block is\n%s\nand here\n%s", got, want)
			}
			pairs := 0
			for _, id := range from.ids() {
				if got, want := to.why(id), from.why(id); got != want {
					t.Errorf("of %s one tells\n%s\nand the other\n%s", id, got, want)
				}
				story, err := to.engine.Why(t.Context(), to.tenant, id)
				to.must(err)
				if len(story.Turns) == 2 && story.Memory.Kind == oxbow.Observation {
					pairs++
				}
			}
			before := to.states()
			if !strings.Contains(before, "compressed ") || pairs < 8 {
				t.Fatalf("the history is too small: %d observations rest on two turns\n%s", pairs, before)
			}
			plan, err := to.engine.PlanJob(t.Context(), engine.Order{Name: "observe", Tenant: to.tenant})
			if err != nil || len(plan) != 1 || len(plan[0].Changes) > 0 {
				t.Errorf("observed again would be %+v: %v", plan, err)
			}
			if n := to.condense(); n != 0 || to.states() != before {
				t.Errorf("%d turns were observed again:\n%s\nand before\n%s", n, to.states(), before)
			}
			to.clean()
		})
	}
	t.Run("marks the turns that were observed where they came from since they came, and erases those that were erased", func(t *testing.T) {
		t.Parallel()
		lab.Each(t, func(t *testing.T, db *lab.DB) {
			from, to := carrying(t, lab.OpenSQLite(t)), carrying(t, db)
			to.now = carryDay.Add(time.Hour)
			from.says(1, "We decided to keep the xylophone in the harbour office.")
			from.says(2, "We decided to use port 8002 for the harbour project.")
			from.drain()
			old := from.export(true)
			to.imports(old)
			if from.condense() != 2 {
				t.Fatal("nothing was observed")
			}
			ts, err := from.db.ListTurns(t.Context(), store.TurnFilter{Tenant: from.tenant, Limit: 9})
			from.must(err)
			_, err = from.engine.EraseTurn(t.Context(), from.tenant, ts[1].ID)
			from.must(err)
			for range 2 {
				to.imports(from.export(true))
			}
			if now := string(to.export(true)); strings.Contains(now, "xylophone") {
				t.Errorf("the erased word is still here:\n%s", now)
			}
			before := to.states()
			if n := to.condense(); n != 0 || to.states() != before {
				t.Errorf("%d turns were observed again:\n%s\nand before\n%s", n, to.states(), before)
			}
			to.imports(old) // which knows less, and changes nothing
			if notes, marks := to.condensed(); marks != 2 || notes == 0 {
				t.Errorf("there are %d notes of %d turns", notes, marks)
			}
			to.clean()
		})
	})
	t.Run("reads a file that does not say on which turns observations rest", func(t *testing.T) {
		t.Parallel()
		from, to := carrying(t, lab.OpenSQLite(t)), carrying(t, lab.OpenSQLite(t))
		from.says(1, "We decided to use port 8001 for the harbour project.")
		from.says(2, "We decided to use port 8002 for the harbour project.")
		from.drain()
		from.condense()
		to.imports(from.rewritten(func(l *carry.Line) {
			if l.Memory != nil {
				l.Memory.Turns = nil
			}
			if l.Turn != nil {
				l.Turn.Observed = ""
			}
		}))
		if notes, marks := to.condensed(); notes == 0 || marks != 0 {
			t.Errorf("there are %d notes of %d turns", notes, marks)
		}
		to.imports(from.export(true)) // the new form says it afterwards
		to.sameBut("of both", to.export(true), from.export(true))
		to.clean()
	})
}

// rewritten gives an export with each line changed, and its trailer made anew.
func (c *carrier) rewritten(change func(*carry.Line)) []byte {
	c.Helper()
	in, err := carry.NewReader(strings.NewReader(string(c.export(true))))
	c.must(err)
	var b strings.Builder
	out, err := carry.NewWriter(&b, in.Header)
	c.must(err)
	for {
		l, err := in.Next()
		if in.Whole() {
			break
		}
		c.must(err)
		change(&l)
		c.must(out.Put(l))
	}
	c.must(out.Close())
	return []byte(b.String())
}
