package metrics_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

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
	return readFile(t, "../../docs/"+name)
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
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

// panels is what of a dashboard is checked.
type panels struct {
	Title  string `json:"title"`
	UID    string `json:"uid"`
	Panels []struct {
		ID      int    `json:"id"`
		Title   string `json:"title"`
		GridPos struct {
			X, Y, W, H int
		} `json:"gridPos"`
		Targets []struct {
			Expr         string `json:"expr"`
			LegendFormat string `json:"legendFormat"`
		} `json:"targets"`
	} `json:"panels"`
}

func TestDashboard(t *testing.T) {
	t.Parallel()
	have := shown(t)
	var d panels
	if err := json.Unmarshal([]byte(read(t, "grafana-dashboard.json")), &d); err != nil {
		t.Fatal(err)
	}
	if d.Title == "" || d.UID == "" || len(d.Panels) < 15 {
		t.Fatalf("it is called %q and has %d panels", d.Title, len(d.Panels))
	}
	ids, used := map[int]bool{}, ""
	for n, p := range d.Panels {
		if p.Title == "" || len(p.Targets) == 0 || ids[p.ID] || p.GridPos.W == 0 || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("the panel %q stands nowhere, shows nothing or has another one's id", p.Title)
		}
		ids[p.ID] = true
		for _, q := range d.Panels[:n] {
			a, b := p.GridPos, q.GridPos
			if a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
				t.Errorf("the panels %q and %q lie on each other", p.Title, q.Title)
			}
		}
		for _, q := range p.Targets {
			checkQuery(t, have, p.Title, q.Expr, q.LegendFormat)
			used += q.Expr
		}
	}
	for _, name := range have {
		if !strings.Contains(used, name) {
			t.Errorf("no panel shows %s", name)
		}
	}
}

var (
	metricName  = regexp.MustCompile(`\boxbow_[a-z_]+`)
	suffix      = regexp.MustCompile(`_(bucket|sum|count)$`)
	grouped     = regexp.MustCompile(`\b(?:by|on) \(([^)]*)\)`)
	selected    = regexp.MustCompile(`\{([a-z_]+)(?:=|!)`)
	legendLabel = regexp.MustCompile(`\{\{ *(?:\$labels\.)?([a-z]+) *\}\}`)
)

// checkQuery holds an expression to the metrics and labels that there are, its
// brackets to each other, and the labels that a text shows to those that the
// expression leaves.
func checkQuery(t *testing.T, have []string, where, expr, shows string) {
	t.Helper()
	for _, name := range metricName.FindAllString(expr, -1) {
		if !slices.Contains(have, name) && !slices.Contains(have, suffix.ReplaceAllString(name, "")) {
			t.Errorf("%s: there is no metric %s", where, name)
		}
	}
	var by []string
	for _, m := range grouped.FindAllStringSubmatch(expr, -1) {
		for _, l := range strings.Split(m[1], ",") {
			by = append(by, strings.TrimSpace(l))
		}
	}
	known := func(l string) bool {
		return labels[l] != nil || l == "le" || l == "goversion" || l == "job" || l == "instance"
	}
	for _, l := range by {
		if !known(l) {
			t.Errorf("%s: there is no label %s", where, l)
		}
	}
	for _, m := range selected.FindAllStringSubmatch(expr, -1) {
		if !known(m[1]) {
			t.Errorf("%s: there is no label %s", where, m[1])
		}
	}
	for _, m := range legendLabel.FindAllStringSubmatch(shows, -1) {
		if !slices.Contains(by, m[1]) && m[1] != "instance" {
			t.Errorf("%s shows the label %s, which %s leaves out", where, m[1], expr)
		}
	}
	for _, pair := range []string{"()", "{}", "[]"} {
		if strings.Count(expr, pair[:1]) != strings.Count(expr, pair[1:]) {
			t.Errorf("%s: %s is not closed", where, expr)
		}
	}
	if expr == "" {
		t.Errorf("%s asks nothing", where)
	}
}

// rule is one alert as docs/alerts.yml has it.
type rule struct{ alert, expr, wait, severity, summary, description string }

// ruleLine reads what stands on a line of a rule; the file keeps to one form.
var ruleLine = regexp.MustCompile(`^(      - alert|        expr|        for|        labels|        annotations|          summary|          description): ?(.*)$`)

func readRules(t *testing.T) (out []rule) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(read(t, "alerts.yml"), "\n"), "\n")
	head := 0
	for n, line := range lines {
		if strings.HasPrefix(line, "#") {
			continue
		}
		if head < 3 {
			if want := []string{"groups:", "  - name: oxbow", "    rules:"}[head]; line != want {
				t.Fatalf("line %d is %q, want %q", n+1, line, want)
			}
			head++
			continue
		}
		m := ruleLine.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("line %d cannot be read: %q", n+1, line)
		}
		if m[1] == "      - alert" {
			out = append(out, rule{alert: m[2]})
			continue
		}
		r := &out[len(out)-1]
		switch strings.TrimSpace(m[1]) {
		case "expr":
			r.expr = m[2]
		case "for":
			r.wait = m[2]
		case "labels":
			r.severity = strings.TrimSuffix(strings.TrimPrefix(m[2], "{severity: "), "}")
		case "summary":
			r.summary = m[2]
		case "description":
			r.description = m[2]
		}
	}
	return out
}

func TestAlerts(t *testing.T) {
	t.Parallel()
	have := shown(t)
	rules, names := readRules(t), map[string]bool{}
	if len(rules) < 8 {
		t.Fatalf("there are %d rules", len(rules))
	}
	for _, r := range rules {
		checkQuery(t, have, r.alert, r.expr, r.summary+r.description)
		if _, err := time.ParseDuration(r.wait); err != nil {
			t.Errorf("%s waits %q", r.alert, r.wait)
		}
		if r.severity != "page" && r.severity != "warn" {
			t.Errorf("%s has the severity %q", r.alert, r.severity)
		}
		for _, text := range []string{r.summary, r.description} {
			if len(text) < 10 || text[0] != '"' || text[len(text)-1] != '"' || strings.Count(text, `"`) != 2 {
				t.Errorf("%s says %s, which is no text in quotes", r.alert, text)
			}
		}
		if names[r.alert] || !strings.HasPrefix(r.alert, "Oxbow") {
			t.Errorf("%s is there twice, or is not called Oxbow…", r.alert)
		}
		names[r.alert] = true
		if strings.Contains(r.expr, ": ") || strings.Contains(r.expr, " #") {
			t.Errorf("%s: a plain scalar of YAML cannot hold %s", r.alert, r.expr)
		}
	}
}

// promtool gives Prometheus's own tool, and skips where there is none.
func promtool(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("there is no promtool: install the package prometheus to have its rules tested by itself")
	}
	return path
}

func TestAlertStories(t *testing.T) {
	t.Parallel()
	if out, err := exec.Command(promtool(t), "test", "rules", "testdata/alerts_test.yml").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	stories := readFile(t, "testdata/alerts_test.yml")
	for _, r := range readRules(t) {
		if !strings.Contains(stories, "alertname: "+r.alert+"\n") {
			t.Errorf("no story has %s go off", r.alert)
		}
	}
}

// TestQueriesParse has Prometheus read every query of the dashboard, as rules.
func TestQueriesParse(t *testing.T) {
	t.Parallel()
	tool := promtool(t)
	var d panels
	if err := json.Unmarshal([]byte(read(t, "grafana-dashboard.json")), &d); err != nil {
		t.Fatal(err)
	}
	rules := "groups:\n  - name: dashboard\n    rules:\n"
	for _, p := range d.Panels {
		for n, q := range p.Targets {
			expr := strings.NewReplacer("$__rate_interval", "5m", "$__range", "1h").Replace(q.Expr)
			rules += fmt.Sprintf("      - {record: panel:%d:%d, expr: %q}\n", p.ID, n, expr)
		}
	}
	file := filepath.Join(t.TempDir(), "rules.yml")
	if err := os.WriteFile(file, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(tool, "check", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
