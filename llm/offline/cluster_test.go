package offline

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm"
)

// items labels texts c1, c2 …, a day apart.
func items(kind oxbow.Kind, texts ...string) []llm.Statement {
	out := make([]llm.Statement, len(texts))
	for i, s := range texts {
		out[i] = llm.Statement{Label: fmt.Sprintf("c%d", i+1), Text: s, Kind: kind, SaidAt: wednesday.AddDate(0, 0, i)}
	}
	return out
}

func TestCluster(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why   string
		texts []string
		want  string
	}{
		{"one preference said five ways is one group", []string{
			"I prefer short functions with plain names.",
			"Keep functions short and names plain, please.",
			"For function style: short functions, at most 30 lines, and plain names.",
			"We use tabs for indentation.",
			"I like functions short and names plain, never abbreviated.",
			"Please write short functions with plain names, nothing clever.",
		}, "[[c1 c2 c3 c5 c6]]"},
		{"a shared tool is no shared meaning", []string{
			"The PostgreSQL connection pool is capped at 20.", "PostgreSQL backups run every night.", "PostgreSQL row level security keeps tenants apart.",
		}, "[]"},
		{"rivals stay apart", []string{"We use Redis for the session cache.", "We use Memcached for the session cache."}, "[]"},
		{"other numbers of one unit stay apart", []string{"Functions have at most 30 lines.", "Functions have at most 50 lines."}, "[]"},
		{"other days stay apart", []string{"The beta launch is on March 15.", "The beta launch is on March 20."}, "[]"},
		{"another subject stays apart", []string{"The billing service logs to Loki with labels.", "The search service logs to Loki with labels."}, "[]"},
		{"what denies the other stays apart", []string{"Always squash commits before merging.", "Never squash commits before merging."}, "[]"},
		{"two topics are two groups", []string{
			"I prefer short commit messages.", "I like dark themes in the editor.", "Keep commit messages short.", "Use dark themes in the editor.",
		}, "[[c1 c3] [c2 c4]]"},
		{"one of a kind is no group", []string{"We use Hugo for the website."}, "[]"},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			got, err := New().Cluster(context.Background(), items(oxbow.Preference, c.texts...))
			if err != nil {
				t.Fatal(err)
			}
			if s := fmt.Sprint(got); s != c.want {
				t.Errorf("got %s, want %s", s, c.want)
			}
		})
	}
}

func TestSynthesizeKeepsWhatMatters(t *testing.T) {
	t.Parallel()
	got, err := New().Synthesize(context.Background(), items(oxbow.Preference,
		"I prefer short functions with plain names.",
		"Short functions, at most 30 lines, as Mira says.",
		"Keep functions short, never abbreviated",
		"Short functions please, from March 15 on.",
		"I prefer short functions.",
	))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []string{"30", "Mira", "never abbreviated", "March 15", "plain names"} {
		if !strings.Contains(got.Text, w) {
			t.Errorf("the merged text lost %q: %s", w, got.Text)
		}
	}
	if strings.Count(strings.ToLower(got.Text), "short functions") > 3 {
		t.Errorf("a source that brings nothing was kept: %s", got.Text)
	}
	if got.Summary == "" || !slices.Contains(got.Tags, "mira") {
		t.Errorf("summary %q, tags %v", got.Summary, got.Tags)
	}
}

func BenchmarkCluster(b *testing.B) {
	var texts []string
	for i := range 200 {
		texts = append(texts, fmt.Sprintf("Topic%d handles area%d with care%d.", i, i%50, i%7))
	}
	in := items(oxbow.Semantic, texts...)
	for b.Loop() {
		if _, err := New().Cluster(b.Context(), in); err != nil {
			b.Fatal(err)
		}
	}
}
