package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/eval"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/llm/offline"
)

// evalTask is one question of the contract with the figures that answer it.
type evalTask struct {
	name, form, short string
	run               func(ctx context.Context, e evaluation) (figures, error)
}

// evaluation is what a task is given.
type evaluation struct {
	judge  llm.Judge
	file   io.Reader
	chats  io.Reader // of the task updates
	errors bool
}

// figures are what a task found, with its misses apart from them.
type figures struct {
	all    any // for JSON
	rows   [][2]string
	misses []eval.Miss
}

var evalTasks = []evalTask{
	{"pairs", `{"old", "new", "label": contradiction|confirms|neutral|entailment}`, "what a newer statement is to an older one", evalPairs},
	{"expiry", `{"text", "at", "expires": "YYYY-MM-DD"|null, "event"}`, "whether a statement ends by itself, and when", evalExpiry},
	{"dates", `{"text", "ref", "results"}`, "which days a text names; read by rules, whatever the judge", evalDates},
	{"confidence", `{"user", "assistant", "memory", "level"}, or {"text", "claim", "mean"}`, "how surely something was said", evalConfidence},
	{"similarity", `{"a", "b", "score": 0 to 5}`, "how alike two sentences are; by rules, whatever the judge", evalSimilarity},
	{"clusters", `{"id", "content", "group"}, all of one scope`, "which memories say the same", evalClusters},
	{"updates", `{"chat", "kind", "old": [{"id"}], "new": [{"id"}]}, with --chats {"id", "memories"}`, "whether updates in whole chats are noticed", evalUpdates},
}

const aboutEval = `Measures the judge, and recall, against labelled examples, one JSON object a line, to
choose a model or a strategy or to see where the rules stand. A file named - is
standard input. Shares are from 0 to 1. With --errors the examples that were not
answered as labelled are printed too. Nothing is kept.`

// evalCommand measures judges.
func evalCommand(a *app) *cobra.Command {
	cmd := group(a, "eval", "measure a judge, or recall, against labelled examples")
	cmd.Long = aboutEval
	for _, t := range evalTasks {
		cmd.AddCommand(evalTaskCommand(a, t))
	}
	cmd.AddCommand(evalRecallCommand(a), evalCompareCommand(a))
	return cmd
}

func evalTaskCommand(a *app, t evalTask) *cobra.Command {
	var misses bool
	var chats string
	cmd := &cobra.Command{
		Use: t.name + " FILE", Short: t.short, Args: exactly("a file of JSON lines"),
		Long: "Measures " + t.short + ".\nA line of the file: " + t.form,
		RunE: func(cmd *cobra.Command, args []string) error {
			conf, err := a.checkedSettings(cmd, false)
			if err != nil {
				return err
			}
			judge, err := newJudge(conf)
			if err != nil {
				return err
			}
			return a.evaluate(cmd.Context(), t, evaluation{judge: judge, errors: misses}, args[0], chats)
		},
	}
	cmd.Flags().BoolVar(&misses, "errors", false, "print the examples that were not answered as labelled")
	if t.name == "updates" {
		cmd.Flags().StringVar(&chats, "chats", "", "the file of the chats (needed)")
	}
	return cmd
}

func (a *app) evaluate(ctx context.Context, t evalTask, e evaluation, file, chats string) error {
	f, err := a.openExamples(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	e.file = f
	if t.name == "updates" {
		if chats == "" {
			return usage("the updates are looked for in whole chats: name their file with --chats")
		}
		c, err := a.openExamples(chats)
		if err != nil {
			return err
		}
		defer func() { _ = c.Close() }()
		e.chats = c
	}
	start := time.Now()
	got, err := t.run(ctx, e)
	if err != nil {
		return err
	}
	took := time.Since(start)
	return a.show(got.all, func(p *printer) {
		p.line("%s by %s, %s", t.name, e.judge.Name(), took.Round(time.Millisecond).String())
		for _, r := range got.rows {
			p.pair(r[0], r[1])
		}
		for _, m := range got.misses {
			p.prose(styled(fmt.Sprintf("%5d  ", m.Line)), "       ", fmt.Sprintf("%s · want %s · got %s", text.Clip(m.Text, 300), m.Want, m.Got))
		}
	})
}

func (a *app) openExamples(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(a.in), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, oxbow.WrapError(oxbow.CodeInvalid, err, "the examples cannot be read")
	}
	return f, nil
}

func portion(v float64) string   { return fmt.Sprintf("%.3f", v) }
func ofAll(part, all int) string { return fmt.Sprintf("%d of %d", part, all) }

func evalPairs(ctx context.Context, e evaluation) (figures, error) {
	got, err := eval.RatePairs(ctx, e.file, e.judge)
	misses := keepMisses(&got.Misses, e.errors)
	return figures{got, [][2]string{
		{"pairs", strconv.Itoa(got.N)}, {"found", fmt.Sprintf("%d of %d contradictions", got.Right, got.Contradictions)},
		{"precision", portion(got.Precision)}, {"recall", portion(got.Recall)}, {"f1", portion(got.F1)},
		{"confirm", fmt.Sprintf("%d found, precision %s", got.Confirms, portion(got.ConfirmPrecision))},
		{"conflicts", fmt.Sprintf("%d contradictions and %d others only flagged", got.Conflicts, got.WrongConflicts)},
		{"wrong", fmt.Sprintf("%d superseded that are no contradiction%s", got.WrongSupersedes, byTrap(got.Traps))},
	}, misses}, err
}

// byTrap says which traps were fallen into, and how often, in the order of their names.
func byTrap(traps map[string]int) string {
	if len(traps) == 0 {
		return ""
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(traps)) {
		out = append(out, fmt.Sprintf("%s %d", name, traps[name]))
	}
	return ", by trap: " + strings.Join(out, ", ")
}

func evalExpiry(ctx context.Context, e evaluation) (figures, error) {
	got, err := eval.RateExpiry(ctx, e.file, e.judge)
	misses := keepMisses(&got.Misses, e.errors)
	return figures{got, [][2]string{
		{"sentences", strconv.Itoa(got.N)}, {"right", ofAll(got.Right, got.Dated) + " days, " + portion(got.RightShare)},
		{"wrong date", strconv.Itoa(got.WrongDate)}, {"missed", strconv.Itoa(got.Missed)},
		{"false", fmt.Sprintf("%d of %d, %s", got.FalsePositives, got.Never+got.Events, portion(got.FalseShare))},
		{"events", ofAll(got.EventRight, got.Events) + " seen, " + strconv.Itoa(got.FalseEvents) + " false"},
	}, misses}, err
}

func evalDates(_ context.Context, e evaluation) (figures, error) {
	got, err := eval.RateDates(e.file, func(s string, at time.Time) []eval.Date {
		var out []eval.Date
		for _, d := range offline.Dates(s, at) {
			kind := "date"
			if d.Range {
				kind = "daterange"
			}
			out = append(out, eval.Date{From: d.From, To: d.To, Type: kind, Start: d.Start, End: d.End})
		}
		return out
	})
	misses := keepMisses(&got.Misses, e.errors)
	rows := [][2]string{{"sentences", strconv.Itoa(got.N)}}
	for _, k := range slices.Sorted(maps.Keys(got.Exact)) {
		t := got.Exact[k]
		rows = append(rows, [2]string{k, ofAll(t.Right, t.N) + " exact, " + portion(t.Exact)})
	}
	rows = append(rows, [2]string{"false", fmt.Sprintf("%d of %d, %s", got.FalsePositives, got.Empty, portion(got.FalseShare))})
	return figures{got, rows, misses}, err
}

func evalConfidence(ctx context.Context, e evaluation) (figures, error) {
	got, err := eval.RateConfidence(ctx, e.file, e.judge)
	misses := keepMisses(&got.Misses, e.errors)
	return figures{got, [][2]string{
		{"claims", strconv.Itoa(got.N)}, {"exact", portion(got.Exact)}, {"within one", portion(got.WithinOne)}, {"spearman", portion(got.Spearman)},
	}, misses}, err
}

func evalSimilarity(ctx context.Context, e evaluation) (figures, error) {
	like := func(_ context.Context, a, b string) (float64, error) { return offline.Similarity(a, b), nil }
	got, err := eval.RateSimilarity(ctx, e.file, like, offline.DuplicateSimilarity)
	misses := keepMisses(&got.Misses, e.errors)
	return figures{got, [][2]string{
		{"pairs", strconv.Itoa(got.N)}, {"spearman", portion(got.Spearman)},
		{"duplicates", fmt.Sprintf("%d of %d at %s", got.Right, got.Duplicates, portion(got.Threshold))},
		{"precision", portion(got.DuplicatePrecision)}, {"recall", portion(got.DuplicateRecall)}, {"f1", portion(got.DuplicateF1)},
	}, misses}, err
}

func evalClusters(ctx context.Context, e evaluation) (figures, error) {
	got, err := eval.RateClusters(ctx, e.file, e.judge)
	misses := keepMisses(&got.Misses, e.errors)
	return figures{got, [][2]string{
		{"memories", strconv.Itoa(got.N)}, {"groups", strconv.Itoa(got.Groups)}, {"pairs", ofAll(got.Right, got.Pairs) + " found"},
		{"precision", portion(got.Precision)}, {"recall", portion(got.Recall)}, {"f1", portion(got.F1)},
	}, misses}, err
}

func evalUpdates(ctx context.Context, e evaluation) (figures, error) {
	got, err := eval.RateUpdates(ctx, e.file, e.chats, e.judge)
	misses := keepMisses(&got.Misses, e.errors)
	rows := [][2]string{
		{"updates", strconv.Itoa(got.N)}, {"flagged", fmt.Sprintf("%s, %s (95 %%: %s to %s)", ofAll(got.Flagged, got.N), portion(got.Recall), portion(got.Low), portion(got.High))},
		{"messages", strconv.Itoa(got.Messages)}, {"flags", fmt.Sprintf("%d, %.1f per 100 messages", got.Flags, got.FlagsPer100)},
		{"retired", fmt.Sprintf("%d of the flagged, %d in all", got.Retired, got.Retirements)},
	}
	for _, k := range slices.Sorted(maps.Keys(got.ByKind)) {
		t := got.ByKind[k]
		rows = append(rows, [2]string{k, ofAll(t.Right, t.N)})
	}
	return figures{got, rows, misses}, err
}

// keepMisses takes the misses out of the figures unless they were asked for.
func keepMisses(misses *[]eval.Miss, keep bool) []eval.Miss {
	if !keep {
		*misses = nil
	}
	return *misses
}
