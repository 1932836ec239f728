package openai_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/oxbow-memory/oxbow/llm"
)

// What the published design of the lifecycle takes for one and for three new
// memories, by the measurement that docs/judge.md repeats.
const (
	seedOne   = 2470
	seedThree = 6780
)

// TestTokensPerWrite counts what one turn of a usual length takes in, from its
// reading to the last verdict, by the estimate that budgets are drawn by, and
// keeps the prompts from growing unseen:
//
//	go test ./llm/openai -run TestTokensPerWrite -v
func TestTokensPerWrite(t *testing.T) {
	t.Parallel()
	turn := llm.TurnText{At: said,
		User: "We had the planning call today. The checkout service moves from PostgreSQL to MySQL by the end of March, " +
			"because the hosting team only runs MySQL. I prefer small pull requests, and Ada is on call until Friday.",
		Assistant: strings.Repeat("I can draft the migration plan, list the queries that need another form, and split the work into small steps. ", 4)}
	memories := []string{"The checkout service moves from PostgreSQL to MySQL by the end of March.", "The user prefers small pull requests.", "Ada is on call until Friday."}
	var candidates []llm.Statement
	for i := range 10 { // a page, as many as are ever compared in one request
		candidates = append(candidates, statement(fmt.Sprint("c", i+1), "The billing service keeps its invoices in PostgreSQL 16."))
	}
	read := func(t *testing.T, j llm.Judge) error { _, err := j.Extract(t.Context(), turn); return err }
	compare := func(n int) func(*testing.T, llm.Judge) error {
		return func(t *testing.T, j llm.Judge) error {
			for _, text := range memories[:n] {
				if _, err := j.Relate(t.Context(), statement("new", text), candidates); err != nil {
					return err
				}
			}
			return nil
		}
	}
	direct := func(t *testing.T, j llm.Judge) error {
		_, err := j.Expiry(t.Context(), statement("new", memories[0]), nil)
		return err
	}
	for _, c := range []struct {
		what  string
		asks  []func(*testing.T, llm.Judge) error
		most  int
		calls int
	}{
		{"a turn with one new memory and a full page to compare", []func(*testing.T, llm.Judge) error{read, compare(1)}, seedOne, 2},
		{"a turn with three new memories and a full page for each", []func(*testing.T, llm.Judge) error{read, compare(3)}, seedThree, 4},
		{"a turn with nothing to compare", []func(*testing.T, llm.Judge) error{read}, seedOne, 1},
		{"a memory that was written without a turn", []func(*testing.T, llm.Judge) error{direct, compare(1)}, seedOne, 2},
	} {
		t.Run("is not more than the published design takes for "+c.what, func(t *testing.T) {
			t.Parallel()
			m := &till{}
			s, j := setup(t, withMeter(m))
			for _, ask := range c.asks {
				if err := ask(t, j); err != nil {
					t.Fatal(err)
				}
			}
			sum, by := 0, map[string]int{}
			for _, r := range m.reserved {
				sum += r.In
				by[r.Purpose] = max(by[r.Purpose], r.In)
			}
			t.Logf("%s: %d tokens in, in %d requests; the largest of each: %v", c.what, sum, len(m.reserved), by)
			if sum > c.most || len(s.Requests()) != c.calls {
				t.Errorf("%d tokens go in with %d requests, more than %d or not %d", sum, len(s.Requests()), c.most, c.calls)
			}
		})
	}
}

// cachedPrefix is the shortest beginning of a request that the largest provider
// keeps for the next one.
const cachedPrefix = 1024

func TestConstantPrefix(t *testing.T) {
	t.Parallel()
	t.Run("of reading a turn, with its schema, is long enough to be kept by a provider", func(t *testing.T) {
		t.Parallel()
		s, j := setup(t)
		for range 2 {
			if _, err := j.Extract(t.Context(), aTurn); err != nil {
				t.Fatal(err)
			}
		}
		a, b := s.Requests()[0], s.Requests()[1]
		prefix := llm.TokensOf(len(a.System) + len(a.Schema))
		t.Logf("%d tokens stand before the data", prefix)
		if a.System != b.System || string(a.Schema) != string(b.Schema) || prefix < cachedPrefix+cachedPrefix/10 {
			t.Errorf("the prefix has %d tokens, or is not the same twice", prefix)
		}
	})
}
