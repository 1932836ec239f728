package jobs_test

import (
	"context"
	"slices"
	"testing"

	"github.com/oxbow-memory/oxbow/internal/lab"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/store"
)

func TestAsking(t *testing.T) {
	tell(t, story{"tells a judge for whom and about whose words each question is", namesItsCallers})
}

func namesItsCallers(b *lab.Bench) {
	asked := map[string][]llm.Caller{}
	b.Judge.Wait = func(ctx context.Context, question string) error {
		asked[question] = append(asked[question], llm.CallerOf(ctx))
		return nil
	}
	b.Say("c", "tea: green is best\ntea: again green is best\nmug: a blue one", lab.Start)
	b.Drain()
	turns, err := b.DB.ListTurns(b.Ctx, store.TurnFilter{Tenant: b.Scope.Tenant, Limit: 9})
	b.Must(err)
	five(b)
	b.Pass("cluster", lab.Start.Add(day))

	jobOf := map[string]string{"extract": "extract", "confidence": "confidence", "relate": "contradiction", "expiry": "expiry",
		"cluster": "cluster", "synthesize": "synthesize"}
	for question, job := range jobOf {
		if len(asked[question]) == 0 {
			b.Errorf("%s was never asked, so this test could not fail", question)
		}
		for _, c := range asked[question] {
			if c.Tenant != b.Scope.Tenant || c.Scope != b.Scope.Name || c.Job != job || c.Run == "" || len(c.Owners) == 0 {
				b.Errorf("%s was asked for %+v", question, c)
			}
			for _, id := range c.Owners {
				if _, err := b.DB.Memory(b.Ctx, b.Scope.Tenant, id); err != nil && id != turns[0].ID {
					b.Errorf("%s was asked about the words of %s, which is nothing", question, id)
				}
			}
		}
	}
	if c := asked["confidence"][0]; !slices.Contains(c.Owners, turns[0].ID) || len(c.Owners) != 2 {
		b.Errorf("a rating rests on its memory and its turn, and names %v", c.Owners)
	}
	if c := asked["relate"][0]; len(c.Owners) < 2 {
		b.Errorf("a comparison rests on both sides, and names %v", c.Owners)
	}
}
