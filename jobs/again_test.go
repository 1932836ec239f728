package jobs_test

import (
	"strings"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/lab"
	"github.com/oxbow-memory/oxbow/llm"
)

func TestReadAgain(t *testing.T) {
	tell(t,
		story{"makes nothing twice when another judge words it differently", otherWords},
		story{"makes nothing twice of one quote that is worded nearly alike", nearlyAlike},
		story{"keeps what the earlier judge missed", missedBefore},
		story{"does not bring back what has been put away", notBroughtBack},
		story{"plans what it does", plansReading},
		story{"reads what was opened while a job was waiting", openedMeanwhile},
		story{"raises nothing by another memory of the same turn", sameTurnRaisesNothing},
	)
}

// readAgain has every turn read once more.
func readAgain(b *lab.Bench) {
	b.Helper()
	b.Clock.Add(time.Hour)
	_, err := b.Engine.RunJob(b.Ctx, lab.Order{Name: "extract", Tenant: b.Scope.Tenant})
	b.Must(err)
	b.Drain()
}

// another makes a judge that says the same as before in other words.
func another(b *lab.Bench, drafts ...llm.Draft) {
	b.Judge.OnExtract = func(llm.TurnText) (llm.Extraction, error) { return llm.Extraction{Drafts: drafts}, nil }
}

func worded(text, quote string) llm.Draft {
	return llm.Draft{Text: text, Kind: oxbow.Semantic, Quote: quote, Importance: 5}
}

func otherWords(b *lab.Bench) {
	b.Say("c", "tea: green", at(1))
	b.Say("", "cake: plum", at(2))
	b.Drain()
	before := b.State()
	b.Judge.OnExtract = func(t llm.TurnText) (llm.Extraction, error) {
		return llm.Extraction{Drafts: []llm.Draft{worded(strings.Replace(t.User, ": ", ": again ", 1), t.User)}}, nil
	}
	readAgain(b)
	if d := lab.Differ(before, b.State()); d != "" {
		b.Errorf("another reading changed:\n%s", d)
	}
	b.Clean()
}

func nearlyAlike(b *lab.Bench) {
	const quote = "we use PostgreSQL 15 for the main database"
	another(b, worded("We use PostgreSQL 15 for the main database", quote))
	b.Say("c", quote, at(1))
	b.Drain()
	another(b, worded("The team uses PostgreSQL 15 for the main database", quote),
		worded("The team uses PostgreSQL 16 for the main database", quote), worded("The main database is big", quote))
	readAgain(b)
	equal(b, "what the second reading made", turns(b)[0].Memories, 2)
	equal(b, "the memories", len(b.All()), 3)
	b.Clean()
}

func missedBefore(b *lab.Bench) {
	another(b, worded("tea: green", "green tea"))
	b.Say("c", "green tea, and no sugar", at(1))
	b.Drain()
	another(b, worded("tea: again green", "green tea"), worded("sugar: none", "no sugar"))
	readAgain(b)
	same(b, "the memories", b.Texts(), sorted(b, "active tea: green", "active sugar: none"))
	equal(b, "what the second reading made", turns(b)[0].Memories, 1)
	b.Clean()
}

// sorted gives texts in the order in which the bench lists those of one instant.
func sorted(b *lab.Bench, texts ...string) []string {
	b.Helper()
	var out []string
	for _, m := range b.All() {
		for _, t := range texts {
			if strings.HasSuffix(t, " "+m.Content.Text) {
				out = append(out, t)
			}
		}
	}
	if len(out) != len(texts) {
		b.Errorf("of %v there are only %v", texts, out)
	}
	return out
}

func notBroughtBack(b *lab.Bench) {
	b.Say("c", "tea: green", at(1))
	b.Drain()
	_, err := b.Engine.Archive(b.Ctx, b.Scope.Tenant, b.Find("tea: green").ID)
	b.Must(err)
	another(b, worded("tea: again green", "tea: green"))
	readAgain(b)
	same(b, "the memories", b.Texts(), []string{"archived tea: green"})
}

func plansReading(b *lab.Bench) {
	b.Say("c", "tea: green\nsugar", at(1))
	another(b, worded("tea: green", "tea: green"))
	b.Drain()
	another(b, worded("tea: again green", "tea: green"), worded("sugar: some", "sugar"))
	planned, err := b.Engine.PlanJob(b.Ctx, lab.Order{Name: "extract", Tenant: b.Scope.Tenant})
	b.Must(err)
	if len(planned) != 1 || len(planned[0].Changes) != 1 || planned[0].Changes[0].New.Content.Text != "sugar: some" {
		b.Fatalf("the plan is %+v", planned)
	}
	readAgain(b)
	equal(b, "what was planned", b.Find("sugar: some").ID, planned[0].Changes[0].Memory)
	equal(b, "the memories", len(b.All()), 2)
}

func openedMeanwhile(b *lab.Bench) {
	b.Say("c", "tea: green", at(1))
	b.Drain()
	b.Say("c", "cake: plum", at(2)) // its job waits, and is the only one of its scope
	_, err := b.Engine.RunJob(b.Ctx, lab.Order{Name: "extract", Tenant: b.Scope.Tenant})
	b.Must(err)
	equal(b, "the jobs", len(b.Waiting()), 1)
	for range 3 {
		for _, j := range b.Waiting() {
			b.Must(b.Do(b.Ctx, b.Deps(), lab.Row(j, 1)))
		}
	}
	equal(b, "the jobs left", len(b.Waiting()), 0)
	for _, t := range turns(b) {
		equal(b, "the state of "+t.User, t.State, oxbow.TurnExtracted)
	}
	equal(b, "the readings", b.Judge.Calls("extract"), 3)
	equal(b, "the memories", len(b.All()), 2)
}

func sameTurnRaisesNothing(b *lab.Bench) {
	another(b, worded("tea: green", "green"), worded("tea: again green", "green tea"))
	b.Say("", "green tea, I say, green", at(1))
	b.Drain()
	equal(b, "the memories", len(b.All()), 2)
	for _, m := range b.All() {
		equal(b, "the confirmations of "+m.Content.Text, m.Confirmations, 0)
	}
	b.Clean()
}
