package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/llm/openai"
	"github.com/oxbow-memory/oxbow/store"
)

func llmCommand(a *app) *cobra.Command {
	return group(a, "llm", "Check the model, and see what it costs", llmPingCommand(a), llmCostCommand(a))
}

// pong is what a ping found out about a model.
type pong struct {
	Endpoint  string `json:"endpoint"`
	Model     string `json:"model"`
	Rung      string `json:"rung"`
	LatencyMS int64  `json:"latency_ms"`
	Asked     int    `json:"asked"`
	In        int64  `json:"tokens_in"`
	Out       int64  `json:"tokens_out"`
}

func llmPingCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "ping", Short: "Ask the model a small question", Args: noArgs,
		Long: `Asks each configured model a small question and says how it can be held to the
form of an answer: strict (a JSON schema that is enforced), loose (a schema),
object (JSON) or plain (text). Answers are checked on every rung; the lower it is,
the more of them are given up. It is counted like every request, and works when
the day's tokens are used up. The judge need not be set to openai. When the
embedder is, its model is asked for a vector.`,
		RunE: a.making(func(ctx context.Context, s *session, _ []string) error {
			till := &pingTally{Meter: newMeter(s.conf, s.st), of: map[string]llm.Spent{}}
			judge, err := newModel(s.conf, till)
			if err != nil {
				return err
			}
			defer judge.Close()
			found, err := judge.Ping(llm.WithCaller(ctx, llm.Caller{Tenant: s.tenant}))
			if err != nil {
				return err
			}
			if s.conf.text("embedder") == "openai" {
				made, err := s.pingEmbedder(ctx, till)
				if err != nil {
					return err
				}
				found = append(found, made)
			}
			return s.showPongs(found, till)
		}),
	}
}

// pingEmbedder asks for one vector, by a meter that turns nothing away.
func (s *session) pingEmbedder(ctx context.Context, till *pingTally) (openai.Pong, error) {
	e, err := newEmbedder(s.conf, till)
	if err != nil {
		return openai.Pong{}, err
	}
	model := s.conf.text("openai.embedding_model")
	started := time.Now()
	if _, err := e.Embed(llm.WithCaller(ctx, llm.Caller{Tenant: s.tenant, Job: llm.PurposePing}), []string{"tea"}); err != nil {
		return openai.Pong{}, fmt.Errorf("ask %s: %w", model, err)
	}
	return openai.Pong{Model: model, Rung: fmt.Sprintf("vectors of %d", e.Dimensions()), Latency: time.Since(started), Asked: 1}, nil
}

// pingTally is a meter that remembers what each model took.
type pingTally struct {
	llm.Meter
	of map[string]llm.Spent
}

// Settle implements llm.Meter.
func (t *pingTally) Settle(ctx context.Context, c llm.Call, s llm.Spent) error {
	sum := t.of[c.Model]
	sum.In, sum.Out = sum.In+s.In, sum.Out+s.Out
	t.of[c.Model] = sum
	return t.Meter.Settle(ctx, c, s)
}

func (s *session) showPongs(found []openai.Pong, till *pingTally) error {
	var out []pong
	for _, f := range found {
		spent := till.of[f.Model]
		out = append(out, pong{Endpoint: s.conf.text("openai.base_url"), Model: f.Model, Rung: f.Rung,
			LatencyMS: f.Latency.Milliseconds(), Asked: f.Asked, In: int64(spent.In), Out: int64(spent.Out)})
	}
	return s.show(out, func(p *printer) {
		p.line("%s answers", s.conf.text("openai.base_url"))
		t := newTable("MODEL", "FORM", "LATENCY", "TOKENS IN", "OUT")
		for _, o := range out {
			t.add(o.Model, o.Rung, (time.Duration(o.LatencyMS) * time.Millisecond).String(), fmt.Sprint(o.In), fmt.Sprint(o.Out))
		}
		p.table(t)
	})
}

func llmCostCommand(a *app) *cobra.Command {
	var since string
	cmd := &cobra.Command{
		Use: "cost", Short: "See what was spent, by day, job and model", Args: noArgs,
		Long: `Sums the requests that reached the endpoint, by day of UTC, job and model. A cost
is in US dollars, at list prices of a table that openai.prices overrides; it is
missing where the price of a model is not known. Tokens that the endpoint did not
say are estimated, and their requests counted as such.`,
		RunE: a.command(func(ctx context.Context, s *session, _ []string) error {
			from, err := parseSince(since, time.UTC, time.Now())
			if err != nil {
				return err
			}
			sums, err := s.st.LLMCosts(ctx, s.tenant, from)
			if err != nil {
				return err
			}
			if len(sums) == 0 {
				s.say("no model was asked yet; the judge offline costs nothing")
			}
			return s.show(orEmpty(sums), func(p *printer) { p.costs(sums) })
		}),
	}
	cmd.Flags().StringVar(&since, "since", "30d", "from this day, instant or time ago on")
	return cmd
}

func (p *printer) costs(sums []store.LLMCost) {
	if len(sums) == 0 {
		return
	}
	t := newTable("DAY", "JOB", "MODEL", "CALLS", "FAILED", "TOKENS IN", "CACHED", "OUT", "COST")
	all := store.LLMCost{Cost: new(float64)}
	for _, c := range sums {
		t.add(costCells(c)...)
		all.Calls, all.Failed, all.In, all.Cached, all.Out = all.Calls+c.Calls, all.Failed+c.Failed, all.In+c.In, all.Cached+c.Cached, all.Out+c.Out
		all.Estimated += c.Estimated
		if c.Cost == nil || all.Cost == nil {
			all.Cost = nil
		} else {
			*all.Cost += *c.Cost
		}
	}
	all.Day = "in all"
	t.add(costCells(all)...)
	p.table(t)
	if all.Estimated > 0 {
		p.line("the tokens of %s are estimated", number(int(all.Estimated), "call", "calls"))
	}
}

// largeIngest is how many new turns are worth an estimate before they are read.
const largeIngest = 50

// What a turn takes, between one with one new memory and one with three; see
// TestTokensPerWrite of llm/openai.
const (
	turnTokensIn  = 3000
	turnTokensOut = 500
)

// sayEstimate says what it will take to have turns read by a model.
func (s *session) sayEstimate(turns int) {
	if s.conf.text("judge") == "offline" {
		return
	}
	tokens := int64(turns) * (turnTokensIn + turnTokensOut)
	words := fmt.Sprintf("reading %d turns with %s takes about %d tokens", turns, s.conf.text("openai.model"), tokens)
	if cost := s.conf.prices().Cost(s.conf.text("openai.model"), turns*turnTokensIn, 0, turns*turnTokensOut); cost != nil {
		words += fmt.Sprintf(", about $%.2f", *cost)
	}
	if limit := s.conf.budget(); limit > 0 && tokens > limit {
		words += fmt.Sprintf(", which are those of %d days; openai.budget raises the limit", (tokens+limit-1)/limit)
	}
	s.say("%s", words)
}

func costCells(c store.LLMCost) []string {
	cost := "-"
	if c.Cost != nil {
		cost = fmt.Sprintf("$%.4f", *c.Cost)
	}
	return []string{c.Day, c.Job, c.Model, fmt.Sprint(c.Calls), fmt.Sprint(c.Failed), fmt.Sprint(c.In), fmt.Sprint(c.Cached), fmt.Sprint(c.Out), cost}
}
