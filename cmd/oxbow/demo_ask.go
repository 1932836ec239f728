package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/recall"
)

// question is one that the demo asks at its end.
type question struct {
	scope, text, strategy string
	monthsAgo             int // as of when; 0 is today
}

// questions are answered by the bundled history: by what is known now, and, of
// the same thing, by what was known before it changed.
var questions = []question{
	{scope: "project:atlas", text: "Is our main database PostgreSQL or MySQL?"},
	{scope: "project:atlas", text: "Is our main database PostgreSQL or MySQL?", monthsAgo: 4},
	{scope: "user:dev", text: "In which timezone does the user live?", strategy: "facts"},
}

// perQuestion is how many memories of an answer are shown.
const perQuestion = 2

// askAll asks the questions and prints what an agent would be given. It gives
// those of today that have an answer, which another history may not have.
func (p *player) askAll(ctx context.Context) ([]question, error) {
	var answered []question
	for _, q := range questions {
		ask := engine.Recall{Scope: oxbow.Scope{Tenant: p.tenant, Name: q.scope}, Text: q.text, Strategy: q.strategy, Limit: perQuestion}
		when := ""
		if q.monthsAgo > 0 {
			ask.AsOf = p.now.AddDate(0, -q.monthsAgo, 0)
			when = ", asked of " + ask.AsOf.Format("2 January 2006")
		}
		answer, err := p.engine.Recall(ctx, ask)
		if err != nil {
			return nil, err
		}
		if len(answer.Results) == 0 {
			continue
		}
		if q.monthsAgo == 0 {
			answered = append(answered, q)
		}
		_, _ = fmt.Fprintf(p.out, "\n%s (recalled from %s%s)\n", q.text, q.scope, when)
		block := strings.TrimSuffix(recall.Render(answer, answer.At, time.UTC), "\n")
		for _, line := range strings.Split(block, "\n") {
			_, _ = fmt.Fprintf(p.out, "  %s\n", line)
		}
	}
	return answered, nil
}
