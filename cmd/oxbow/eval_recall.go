package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/eval"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/recall"
)

const aboutEvalRecall = `Loads stores into a database of their own, asks every query of them, and says how
much of what answers it came back. A line of the file is a store:

  {"id", "memories": [{"id", "conversation", "at", "speaker", "content"}],
   "queries": [{"id", "category", "query", "relevant": [ids]}]}

A query without relevant ids is one that nothing stored can answer; one with "old"
and "new" ids is an update. A file named - is standard input.

Figures are means over queries, from 0 to 1, of the first ten results. The database
is made for it and taken away after it: a temporary file, or with --db a file
beside the one that is named, or a schema oxbow_eval_… on a Postgres server.`

// recallTest is what the flags of eval recall and eval compare say.
type recallTest struct {
	strategies  []string
	categories  []string
	pooled      bool
	judgeWrites bool
	misses      bool
	limit       int
	floors      []float64
	weights     []string
	against     string
}

// evalLimit is how many results are asked for: what the measures look at.
const evalLimit = 10

func (f *recallTest) flags(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringSliceVar(&f.strategies, "strategy", f.strategies, "how to recall: all, or some of "+strings.Join(recall.Strategies(), ", "))
	fs.StringSliceVar(&f.categories, "category", nil, "ask only queries of these categories")
	fs.BoolVar(&f.pooled, "pooled", false, "put all stores into one scope")
	fs.BoolVar(&f.judgeWrites, "judge-writes", false, "let the judge retire what later memories replace before anything is asked")
	fs.IntVar(&f.limit, "limit", evalLimit, "results to ask for; 0 is the strategy's own number")
}

func evalRecallCommand(a *app) *cobra.Command {
	f := recallTest{strategies: []string{recall.Hybrid}}
	var floor float64
	cmd := &cobra.Command{
		Use: "recall FILE", Short: "how much of what answers a query recall finds", Args: exactly("a file of JSON lines"),
		Long: "Measures how much of what answers a query recall finds.\n\n" + aboutEvalRecall,
		Example: `  oxbow eval recall stores.jsonl --strategy all
  oxbow eval recall stores.jsonl --pooled -o json
  oxbow eval recall stores.jsonl --against postgres://localhost/test`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("floor") {
				f.floors = []float64{floor}
			}
			return a.evalRecall(cmd, f, args[0])
		},
	}
	f.flags(cmd)
	cmd.Flags().Float64Var(&floor, "floor", 0, "leave out what scores less, 0 to 1 (default: the strategy's own)")
	cmd.Flags().BoolVar(&f.misses, "errors", false, "print the queries of which something was not found")
	cmd.Flags().StringVar(&f.against, "against", "", "ask in a second database too, and say how many queries have the same ten results there")
	return cmd
}

// recallReport is what eval recall prints as JSON.
type recallReport struct {
	Strategies map[string]eval.RecallFigures `json:"strategies"`
	Against    map[string]sameness           `json:"against,omitempty"`
}

// sameness says how often two databases gave the same first ten results in the
// same order.
type sameness struct {
	Queries int     `json:"queries"`
	Same    float64 `json:"same"`
}

func (a *app) evalRecall(cmd *cobra.Command, f recallTest, file string) error {
	m, err := a.bedMaker(cmd, f, file)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	asked, err := m.askIn(ctx, m.conf.scratchPlace(), f)
	if err != nil {
		return err
	}
	report := recallReport{Strategies: map[string]eval.RecallFigures{}}
	for name, got := range asked {
		figures := eval.Measure(got)
		if !f.misses {
			figures.Misses = nil
		}
		report.Strategies[name] = figures
	}
	if f.against != "" {
		other, err := m.askIn(ctx, f.against, f)
		if err != nil {
			return err
		}
		report.Against = map[string]sameness{}
		for name, got := range asked {
			report.Against[name] = sameness{len(got), float64(eval.SameTop(got, other[name], evalLimit)) / float64(len(got))}
		}
	}
	return a.show(report, func(p *printer) { p.recallReport(report, m.strategies) })
}

// bedMaker reads the file before anything is made.
func (a *app) bedMaker(cmd *cobra.Command, f recallTest, file string) (*bedMaker, error) {
	conf, err := a.checkedSettings(cmd, false)
	if err != nil {
		return nil, err
	}
	strategies, err := strategiesOf(f.strategies)
	if err != nil {
		return nil, err
	}
	if f.limit < 0 || f.limit > 100 {
		return nil, usage("--limit is %d: use a number from 0 to 100", f.limit)
	}
	for _, v := range f.floors {
		if !(v >= 0 && v <= 1) { // a NaN passes no comparison
			return nil, usage("--floor is %v: use a number from 0 to 1", v)
		}
	}
	read, err := a.readRecallFile(file, f.pooled, f.categories)
	if err != nil {
		return nil, err
	}
	return &bedMaker{app: a, conf: conf, file: read, strategies: strategies, judgeWrites: f.judgeWrites}, nil
}

// askIn asks everything in a database at a place, by strategy.
func (m *bedMaker) askIn(ctx context.Context, place string, f recallTest) (map[string][]eval.Recalled, error) {
	out := map[string][]eval.Recalled{}
	err := m.withBed(ctx, place, func(b *evalBed) error {
		r := b.recaller()
		for _, s := range m.strategies {
			how := eval.Asking{Strategy: s, Limit: f.limit}
			if len(f.floors) > 0 {
				how.Floor = &f.floors[0]
			}
			got, err := b.ask(ctx, r, how)
			if oxbow.CodeOf(err) == oxbow.CodeUnsupported && len(m.strategies) > 1 {
				m.say("%s is left out: %s", s, err.Error())
				continue
			}
			if err != nil {
				return err
			}
			out[s] = got
		}
		return nil
	})
	return out, err
}

func (p *printer) recallReport(r recallReport, order []string) {
	empty, updated := false, false
	for _, f := range r.Strategies {
		empty, updated = empty || f.Empty != nil, updated || f.Updated != nil
	}
	head := []string{"STRATEGY", "CATEGORY", "QUERIES", "R@5", "R@10", "HIT@10", "MRR", "NDCG@10", "P50", "P95"}
	if empty {
		head = append(head, "EMPTY")
	}
	if updated {
		head = append(head, "UPDATED")
	}
	t := newTable(head...)
	for _, name := range order {
		f, asked := r.Strategies[name]
		if !asked {
			continue
		}
		add := func(name, category string, f eval.RecallFigures) {
			row := []string{name, category, strconv.Itoa(f.Queries), portion(f.Recall5), portion(f.Recall10), portion(f.Hit10),
				portion(f.MRR), portion(f.NDCG10), milliseconds(f.P50), milliseconds(f.P95)}
			if empty {
				row = append(row, ofThose(f.Empty, f.Unanswerable))
			}
			if updated {
				row = append(row, ofThose(f.Updated, f.Updates))
			}
			t.add(row...)
		}
		add(name, "all", f)
		if len(f.ByCategory) > 1 {
			for _, c := range slices.Sorted(maps.Keys(f.ByCategory)) {
				add("", c, f.ByCategory[c])
			}
		}
	}
	p.table(t)
	for _, name := range order {
		if s, ok := r.Against[name]; ok {
			p.line("%s: the same ten results in both databases for %s of %d queries", name, portion(s.Same), s.Queries)
		}
	}
	for _, name := range order {
		for _, m := range r.Strategies[name].Misses {
			p.prose(styled(name+"  "), "       ", fmt.Sprintf("%s · %s · %s · want %v · got %v", m.Store, m.Query, text.Clip(m.Text, 200), m.Want, m.Got))
		}
	}
}

// ofThose prints a share with what it is a share of.
func ofThose(share *float64, n int) string {
	if share == nil {
		return "-"
	}
	return fmt.Sprintf("%s of %d", portion(*share), n)
}

func milliseconds(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) + " ms" }
