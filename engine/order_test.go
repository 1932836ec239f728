package engine_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/lab"
)

// history is what one developer says over some weeks: choices that are changed
// and taken back, facts that move, one opinion said again, doubts, small things.
var history = []string{
	"database: PostgreSQL", "editor: vim", "user/timezone = Europe/Oslo", "database: again PostgreSQL", "database: MySQL",
	"user/timezone = Europe/Rome", "editor: again vim", "lunch: noon", "database: PostgreSQL", "I like short functions.",
	"tests: table driven", "user/timezone = Europe/Oslo", "editor: maybe emacs", "i like  short functions", "tests: again table driven",
	"project/language = Go", "database: again PostgreSQL", "lunch: one", "project/language = go", "tests: maybe golden files",
	"editor: again vim", "user/timezone = Europe/Oslo", "lunch: noon", "project/language = Rust", "I LIKE short functions!",
	"tests: again table driven",
}

// spoken gives the history as turns: most by the user, every fifth one by the
// assistant, in a few conversations, some of them on one day.
func spoken(scope oxbow.Scope) []oxbow.Turn {
	out := make([]oxbow.Turn, len(history))
	for i, text := range history {
		out[i] = oxbow.Turn{Scope: scope, Conversation: fmt.Sprint("c", i/2), User: text, At: lab.Start.Add(-60*day + time.Duration(i)*9*time.Hour)}
		if i%5 == 4 {
			out[i].User, out[i].Assistant = "", text
		}
	}
	return out
}

// TestOrder ingests one history in ten random orders, each into a scope of its
// own, a few turns at a time with a real worker behind them, and finds one end.
func TestOrder(t *testing.T) {
	t.Parallel()
	lab.Each(t, func(t *testing.T, db *lab.DB) {
		b := setup(t, db)
		shuffle := rand.New(rand.NewPCG(7, 42))
		var want []string
		orders := 11
		if testing.Short() {
			orders = 3
		}
		for n := range orders {
			scope := oxbow.Scope{Tenant: b.tenant(), Name: fmt.Sprint("order:", n)}
			turns := spoken(scope)
			if n > 0 {
				shuffle.Shuffle(len(turns), func(i, j int) { turns[i], turns[j] = turns[j], turns[i] })
			}
			for len(turns) > 0 {
				k := min(len(turns), 1+shuffle.IntN(9))
				b.Ingest(turns[:k]...)
				turns = turns[k:]
				b.drain()
			}
			got := b.StateOf(scope)
			if n == 0 {
				want = got
				continue
			}
			if d := lab.Differ(want, got); d != "" {
				t.Errorf("order %d ends elsewhere:\n%s", n, d)
			}
		}
		if len(want) < 40 {
			t.Errorf("the history makes too little: %v", want)
		}
		equal(b, "the jobs given up", len(b.Discarded()), 0)
		b.Clean()
	})
}
