package metrics_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/oxbow-memory/oxbow/internal/lab"
)

// shown gives the names of our metrics as a busy process shows them.
func shown(t *testing.T) []string {
	t.Helper()
	all, err := busy(lab.New(t, lab.OpenSQLite(t))).Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range all {
		if strings.HasPrefix(f.GetName(), "oxbow_") {
			out = append(out, f.GetName())
		}
	}
	return out
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile("../../docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var inTable = regexp.MustCompile("(?m)^\\| `(oxbow_[a-z_]+)")

func TestDocumentedMetrics(t *testing.T) {
	t.Parallel()
	have := shown(t)
	var told []string
	for _, m := range inTable.FindAllStringSubmatch(read(t, "metrics.md"), -1) {
		told = append(told, m[1])
		if !slices.Contains(have, m[1]) {
			t.Errorf("docs/metrics.md has %s, which is not shown", m[1])
		}
	}
	for _, name := range have {
		if !slices.Contains(told, name) {
			t.Errorf("docs/metrics.md says nothing of %s", name)
		}
	}
}
