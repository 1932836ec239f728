package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/eval"
	"github.com/oxbow-memory/oxbow/recall"
)

const aboutEvalCompare = `Asks the same queries in several ways and says what is different and what is noise.
There is a row for each strategy with each of the floors, and for composite with
each of the weights; the first one is what the
others are compared with. Beside a difference stands its 95 % interval, of the
paired bootstrap over the queries: where that holds 0, other queries could as well
have given the opposite, and the row says noise.

The file is that of oxbow eval recall, and so is what is done with it.`

// variant is one way of recalling.
type variant struct {
	strategy string
	floor    *float64
	weights  *oxbow.RecallRules // nil for those of every scope
}

func (v variant) String() string {
	s := v.strategy
	if w := v.weights; w != nil {
		s += fmt.Sprintf(" %v,%v,%v", w.Similarity, w.Recency, w.Salience)
	}
	if v.floor != nil {
		s += fmt.Sprintf(" floor %v", *v.floor)
	}
	return s
}

// weighted is the strategy that heeds the weights of a scope.
const weighted = "composite"

// weightsOf reads the values of --weights: similarity,recency,salience.
func weightsOf(values []string) ([]oxbow.RecallRules, error) {
	var out []oxbow.RecallRules
	for _, v := range values {
		parts := strings.Split(v, ",")
		var n [3]float64
		for i := range parts {
			w, err := strconv.ParseFloat(strings.TrimSpace(parts[i]), 64)
			if err != nil || len(parts) != len(n) {
				return nil, usage("--weights is %q: write similarity,recency,salience, such as 0.6,0.25,0.15", v)
			}
			n[i] = w
		}
		rules := oxbow.DefaultRecallRules()
		rules.Similarity, rules.Recency, rules.Salience = n[0], n[1], n[2]
		p := oxbow.DefaultPolicy()
		p.Recall = rules
		if err := p.Validate(); err != nil {
			return nil, usage("--weights is %q: %s", v, err.Error())
		}
		out = append(out, rules)
	}
	return out, nil
}

// compared is a row of the comparison.
type compared struct {
	Variant string             `json:"variant"`
	Figures eval.RecallFigures `json:"figures"`
	// Differences are to the first row, by measure; the first row has none.
	Differences map[string]eval.Difference `json:"differences,omitempty"`
}

// comparedMeasures are those that differences are given of.
var comparedMeasures = []struct {
	name    string
	measure func(got, relevant []string) float64
}{
	{"recall@10", func(got, relevant []string) float64 { return eval.RecallAt(got, relevant, 10) }},
	{"mrr", func(got, relevant []string) float64 { return eval.ReciprocalRank(got, relevant, 10) }},
	{"ndcg@10", func(got, relevant []string) float64 { return eval.NDCG(got, relevant, 10) }},
}

func evalCompareCommand(a *app) *cobra.Command {
	f := recallTest{strategies: []string{"all"}}
	cmd := &cobra.Command{
		Use: "compare FILE", Short: "strategies, weights and floors side by side", Args: exactly("a file of JSON lines"),
		Long: aboutEvalCompare,
		Example: `  oxbow eval compare stores.jsonl --strategy hybrid,composite,memories
  oxbow eval compare stores.jsonl --strategy hybrid --floor 0,0.2,0.4
  oxbow eval compare stores.jsonl --strategy composite --weights 0.6,0.25,0.15 --weights 0.8,0.1,0.1`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.evalCompare(cmd, f, args[0]) },
	}
	f.flags(cmd)
	cmd.Flags().StringArrayVar(&f.weights, "weights", nil, "similarity,recency,salience of composite; again for another row (default: 0.6,0.25,0.15)")
	cmd.Flags().Float64SliceVar(&f.floors, "floor", nil, "leave out what scores less, 0 to 1; several give a row each (default: the strategy's own)")
	return cmd
}

func (a *app) evalCompare(cmd *cobra.Command, f recallTest, file string) error {
	m, err := a.bedMaker(cmd, f, file)
	if err != nil {
		return err
	}
	weights, err := weightsOf(f.weights)
	if err != nil {
		return err
	}
	variants := variantsOf(m.strategies, f.floors, weights)
	if len(variants) < 2 {
		return usage("there is nothing to compare %s with: name several with --strategy, --floor or --weights", variants[0])
	}
	var rows []compared
	err = m.withBed(cmd.Context(), m.conf.scratchPlace(), func(b *evalBed) error {
		rows, err = b.compare(cmd.Context(), b.recaller(), variants, f.limit)
		return err
	})
	if err != nil {
		return err
	}
	return a.show(map[string]any{"variants": rows}, func(p *printer) { p.comparison(rows) })
}

// variantsOf gives every strategy with every floor, and where it heeds them with
// every weights, in the order in which they were named.
func variantsOf(strategies []string, floors []float64, weights []oxbow.RecallRules) []variant {
	var out []variant
	for _, s := range strategies {
		some := []variant{{strategy: s}}
		if s == weighted && len(weights) > 0 {
			some = nil
			for i := range weights {
				some = append(some, variant{strategy: s, weights: &weights[i]})
			}
		}
		for _, v := range some {
			if len(floors) == 0 {
				out = append(out, v)
			}
			for i := range floors {
				v.floor = &floors[i]
				out = append(out, v)
			}
		}
	}
	return out
}

func (b *evalBed) compare(ctx context.Context, r *recall.Recaller, variants []variant, limit int) ([]compared, error) {
	var rows []compared
	var first []eval.Recalled
	for _, v := range variants {
		if v.weights != nil {
			for _, l := range b.plain {
				if err := eval.Weigh(ctx, b.Store, l, *v.weights); err != nil {
					return nil, err
				}
			}
		}
		got, err := b.ask(ctx, r, eval.Asking{Strategy: v.strategy, Limit: limit, Floor: v.floor})
		if err != nil {
			return nil, err
		}
		row := compared{Variant: v.String(), Figures: eval.Measure(got)}
		row.Figures.ByCategory, row.Figures.Misses = nil, nil
		if first == nil {
			first = got
		} else {
			row.Differences = map[string]eval.Difference{}
			for _, m := range comparedMeasures {
				row.Differences[m.name] = eval.Compare(eval.Values(first, m.measure), eval.Values(got, m.measure))
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func (p *printer) comparison(rows []compared) {
	head := []string{"", "R@10", "DIFFERENCE", "MRR", "DIFFERENCE", "NDCG@10", "DIFFERENCE", "P50"}
	more := []struct {
		name  string
		value func(eval.RecallFigures) string
		any   bool
	}{
		{"EMPTY", func(f eval.RecallFigures) string { return ofThose(f.Empty, f.Unanswerable) }, rows[0].Figures.Empty != nil},
		{"UPDATED", func(f eval.RecallFigures) string { return ofThose(f.Updated, f.Updates) }, rows[0].Figures.Updated != nil},
	}
	for _, m := range more {
		if m.any {
			head = append(head, m.name)
		}
	}
	t := newTable(head...)
	for _, r := range rows {
		d := func(name string) string { return difference(r.Differences, name) }
		row := []string{r.Variant, portion(r.Figures.Recall10), d("recall@10"), portion(r.Figures.MRR), d("mrr"),
			portion(r.Figures.NDCG10), d("ndcg@10"), milliseconds(r.Figures.P50)}
		for _, m := range more {
			if m.any {
				row = append(row, m.value(r.Figures))
			}
		}
		t.add(row...)
	}
	p.table(t)
}

// difference prints a difference with its interval, and whether it is noise.
func difference(all map[string]eval.Difference, name string) string {
	d, ok := all[name]
	if !ok {
		return ""
	}
	s := fmt.Sprintf("%+.3f (%+.3f to %+.3f)", d.Mean, d.Low, d.High)
	if d.IsNothing {
		s += " noise"
	}
	return s
}
