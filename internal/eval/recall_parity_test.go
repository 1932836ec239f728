package eval_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/eval"
	"github.com/oxbow-memory/oxbow/llm/offline"
	"github.com/oxbow-memory/oxbow/recall"
	"github.com/oxbow-memory/oxbow/store"
)

// village gives a few hundred things that the people of a village said, many of
// them nearly alike, so that scores lie close and ties happen, and questions
// about them.
func village() eval.RecallStore {
	rng := rand.New(rand.NewPCG(11, 12))
	pick := func(words string) string {
		all := strings.Split(words, ", ")
		return all[rng.IntN(len(all))]
	}
	const (
		people = "Ada, Bela, Cora, Dario, Edda, Falk"
		things = "the mill, the orchard, the boat, the old bridge, the bakery, the school roof, the well, the goats, the choir, the market stall"
		work   = "repaired, painted, sold, inherited, measured, described, borrowed, photographed"
		when   = "last spring, in June, on Sunday, before the storm, for the second time, with a friend, without telling anybody"
		trait  = "is afraid of, is proud of, is tired of, wants to buy, has never seen, knows everything about"
	)
	s := eval.RecallStore{ID: "village"}
	begin := time.Date(2025, 4, 2, 9, 0, 0, 0, time.UTC)
	for i := range 420 {
		who, what := pick(people), pick(things)
		said := fmt.Sprintf("%s %s %s %s", who, pick(work), what, pick(when))
		switch rng.IntN(4) {
		case 0:
			said = fmt.Sprintf("%s %s %s", who, pick(trait), what)
		case 1:
			said = fmt.Sprintf("I think %s %s %s, and I told %s so. Who else would have?", who, pick(work), what, pick(people))
		}
		s.Memories = append(s.Memories, eval.RecallMemory{ID: fmt.Sprint(i), Conversation: fmt.Sprint("c", i/14), Content: said,
			At: begin.Add(time.Duration(i/14) * 26 * time.Hour), Speaker: []string{"user", "assistant", who}[rng.IntN(3)]})
	}
	for i := range 60 {
		ask := []string{
			fmt.Sprintf("Who %s %s?", pick(work), pick(things)),
			fmt.Sprintf("What did %s do %s?", pick(people), pick(when)),
			fmt.Sprintf("Tell me what %s %s, please", pick(people), pick(trait)),
			fmt.Sprintf("%s %s %s yesterday", pick(people), pick(work), pick(things)),
			"the and of a", "\"OR 1=1 --", "zeppelin quarantine",
		}[min(i%9, 6)]
		s.Queries = append(s.Queries, eval.RecallQuery{ID: fmt.Sprint(i), Text: ask, Relevant: []string{"0"}})
	}
	return s
}

func TestBothDatabasesAnswerAlike(t *testing.T) {
	t.Parallel()
	a, b := openSQLite(t), openPostgres(t)
	s := []eval.RecallStore{village()}
	answers := func(t *testing.T, st store.Store, strategy string, in eval.Loaded) []eval.Recalled {
		r := recall.New(recall.Config{Store: st, Embedder: offline.NewEmbedder(), Selector: offline.New()})
		got, err := eval.AskAll(t.Context(), r, s, []eval.Loaded{in}, eval.Asking{Strategy: strategy, Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	loaded := map[store.Store]map[bool]eval.Loaded{a: {}, b: {}}
	for st, by := range loaded {
		for _, facts := range []bool{false, true} {
			scope := oxbow.Scope{Tenant: "eval", Name: fmt.Sprint("facts:", facts)}
			l, err := eval.Load(t.Context(), st, scope, s[0], eval.Loading{Facts: facts, Embedder: offline.NewEmbedder()})
			if err != nil {
				t.Fatal(err)
			}
			by[facts] = l
		}
	}
	for _, strategy := range recall.Strategies() {
		t.Run("by "+strategy, func(t *testing.T) {
			t.Parallel()
			facts := strategy == "facts"
			x, y := answers(t, a, strategy, loaded[a][facts]), answers(t, b, strategy, loaded[b][facts])
			if n := eval.SameTop(x, y, 10); n != len(x) {
				t.Errorf("%d of %d queries have the same ten results in both", n, len(x))
				for i := range x {
					if eval.SameTop(x[i:i+1], y[i:i+1], 10) == 0 {
						t.Logf("%q: SQLite %v, Postgres %v", x[i].Query.Text, x[i].Got, y[i].Got)
					}
				}
			}
			full, none := 0, 0
			for _, r := range x {
				if len(r.Got) >= 5 {
					full++
				}
				if len(r.Got) == 0 {
					none++
				}
			}
			if full == 0 {
				t.Errorf("no query has five results, so this shows nothing; %d have none", none)
			}
		})
	}
}
