package arch

import (
	"slices"
	"strings"
	"testing"
)

const module = "github.com/oxbow-memory/oxbow"

// anything marks the two programs that wire everything together.
const anything = "*"

// layers is the direction of dependencies (DESIGN 9): what a package's own
// files may import of this module. "." is the root. Siblings never import each
// other.
var layers = map[string][]string{
	".": {},

	"internal/arch":   {},
	"internal/pgtest": {},
	"internal/text":   {"."},
	// The bundled history of the demo: turns, nothing else.
	"internal/history": {"."},
	// The file of export and import, and those of other programs that import reads.
	"internal/carry": {".", "store"},
	// Measures judges and recall; oxbow eval prints what it finds.
	"internal/eval": {".", "llm", "store", "recall", "internal/text"},

	"migrations":      {"."},
	"store":           {".", "internal/text", "internal/trace"},
	"store/sqlite":    {".", "store", "migrations", "internal/text"},
	"store/postgres":  {".", "store", "migrations", "internal/text"},
	"store/storetest": {".", "store", "internal/text"},

	"llm":         {"."},
	"llm/offline": {".", "llm", "internal/text"},
	"llm/openai":  {".", "llm", "internal/text", "internal/trace"},
	"llm/llmtest": {".", "llm"},
	// The ledger, the budget and the cache of a judge that costs something.
	"llm/meter": {".", "llm", "store"},

	"recall": {".", "store", "llm", "internal/text"},
	// What recall asks of the rules about a question.
	"recall/asked": {"recall", "llm/offline"},
	"jobs":         {".", "store", "llm", "recall", "internal/text"},
	"schedule":     {".", "store", "jobs"},
	"worker":       {".", "store", "llm", "jobs", "schedule", "internal/trace"},
	"engine":       {".", "store", "llm", "jobs", "schedule", "recall", "internal/carry", "internal/text", "internal/trace"},

	// Benches for tests: a store with a worker, and processes to kill.
	"internal/lab":   {anything},
	"internal/crash": {anything},

	// Who is let in by HTTP, and as whom; the doors share it.
	"internal/access": {".", "engine"},
	// Spans of OpenTelemetry; where they go travels in the context.
	"internal/trace": {"."},
	// What Prometheus reads.
	"internal/metrics": {".", "store"},

	// Doors know the words of what the use cases take and give, and no more.
	"api": {".", "engine", "store", "recall", "internal/access"},
	"mcp": {".", "engine", "store", "recall", "internal/access", "internal/trace"},
	"web": {".", "engine", "store", "recall", "internal/access", "internal/text"},

	"cmd/oxbow": {anything},
	"bench":     {anything},
}

// helpers are what the tests of any package may import beside everything that
// the package reaches by way of the table: real databases and judges to run
// against, and the suites that say what one is. Only the tests of the root and
// of the leaves under internal are held to the table itself.
var helpers = []string{
	"internal/pgtest", "store", "store/sqlite", "store/postgres", "store/storetest",
	"llm", "llm/offline", "llm/llmtest", "migrations", "internal/text", ".",
}

// testsReach lists the packages whose tests go up: they play whole stories
// through the layers above them.
var testsReach = map[string][]string{
	"api": {"worker", "internal/lab", "internal/history"},
	"mcp": {"worker", "internal/lab"},
	"web": {"worker", "internal/lab"},
	// The instruments are read while a worker works.
	"internal/metrics": {"worker", "engine", "internal/lab"},
	"engine":           {"worker", "internal/history", "internal/lab"},
	"llm/meter":        {"engine", "internal/lab", "llm/openai"},
	"jobs":             {"worker", "engine", "internal/lab"},
	"schedule":         {"worker", "engine", "internal/lab"},
	"worker":           {"engine", "internal/lab", "llm/openai", "llm/meter", "internal/history"},
}

// outside says which packages may import a module from elsewhere, by the
// beginning of the import path; the longest one that fits decides. What is not
// named here may be imported by all but the root and the internal leaves.
// Tests are free.
var outside = map[string][]string{
	"database/sql":                       {"internal/lab", "store/sqlite", "store/postgres", "migrations", "bench"},
	"modernc.org/":                       {"store/sqlite", "migrations", "bench"},
	"github.com/jackc/":                  {"internal/lab", "store/postgres", "migrations", "internal/pgtest", "bench"},
	"github.com/pressly/":                {"migrations", "store/sqlite", "store/postgres"},
	"github.com/sashabaranov":            {"llm/openai"},
	"github.com/sony/":                   {"llm/openai"},
	"golang.org/x/time":                  {"llm/openai"},
	"github.com/robfig/":                 {"schedule"},
	"github.com/spf13/":                  {"cmd/oxbow"},
	"go.opentelemetry.io/":               {"internal/trace", "cmd/oxbow"},
	"go.opentelemetry.io/otel/sdk":       {"cmd/oxbow"},
	"go.opentelemetry.io/otel/exporters": {"cmd/oxbow"},
	"google.golang.org/protobuf":         {"cmd/oxbow"},
	"github.com/prometheus/":             {"internal/metrics"},
	"golang.org/x/term":                  {"cmd/oxbow"},

	"github.com/riverqueue/river/riverdriver/riverpgxv5":  {"store/postgres", "migrations", "bench"},
	"github.com/riverqueue/river/riverdriver/riversqlite": {"store/sqlite", "migrations", "bench"},
	"github.com/riverqueue/river/rivermigrate":            {"store/sqlite", "store/postgres", "migrations", "bench"},
	"github.com/riverqueue/river": {"store", "store/sqlite", "store/postgres", "store/storetest",
		"jobs", "schedule", "worker", "engine", "cmd/oxbow", "internal/lab", "internal/crash", "bench"},

	"github.com/kljensen/":         {"internal/text"},
	"github.com/clipperhouse/":     {"internal/text", "llm/offline"},
	"pgregory.net/":                {"store/storetest"}, // only tests import it
	"go.uber.org/goleak":           {},
	"github.com/rogpeppe/":         {},
	"github.com/santhosh-tekuri/":  {"llm", "llm/openai", "llm/llmtest"},
	"github.com/modelcontextproto": {"mcp"},
	"github.com/google/jsonschema": {"mcp"},
	"github.com/danielgtaylor/":    {"api"},
}

func TestLayers(t *testing.T) {
	t.Parallel()
	for _, f := range sources(t) {
		allowed, known := layers[f.pkg]
		if !known {
			t.Errorf("%s: the package %s is missing from the table of layers: decide what it may import", f.path, f.pkg)
			continue
		}
		if f.test {
			allowed = testImports(f.pkg)
		}
		for _, imp := range f.imports() {
			switch project, ok := projectPath(imp); {
			case ok && project == f.pkg:
			case ok && !slices.Contains(allowed, anything) && !slices.Contains(allowed, project):
				t.Errorf("%s imports %s: %s may import %v", f.path, project, f.pkg, allowed)
			case !ok && !f.test && !mayImport(f.pkg, imp):
				t.Errorf("%s imports %s, which is not for %s", f.path, imp, f.pkg)
			}
		}
	}
}

// TestZones holds the package that loads a scope's zone to bringing the zones along:
// without them a machine that has none, such as a container of the program alone, ends
// memories by the days of UTC, and nobody is told.
func TestZones(t *testing.T) {
	t.Parallel()
	for _, f := range sources(t) {
		if f.pkg == "." && !f.test && slices.Contains(f.imports(), "time/tzdata") {
			return
		}
	}
	t.Error("the root package does not import time/tzdata")
}

func TestTableOfLayers(t *testing.T) {
	t.Parallel()

	t.Run("points at packages of the table only", func(t *testing.T) {
		t.Parallel()
		for pkg, allowed := range layers {
			for _, a := range allowed {
				if _, ok := layers[a]; !ok && a != anything {
					t.Errorf("%s may import %s, which the table does not know", pkg, a)
				}
			}
		}
	})

	t.Run("has no circle", func(t *testing.T) {
		t.Parallel()
		for pkg := range layers {
			if slices.Contains(reach(pkg), pkg) {
				t.Errorf("%s can reach itself", pkg)
			}
		}
	})

	t.Run("refuses what the design refuses", func(t *testing.T) {
		t.Parallel()
		for _, c := range []struct{ pkg, imp string }{
			{"jobs", "github.com/jackc/pgx/v5"},
			{"engine", "modernc.org/sqlite"},
			{"jobs", "github.com/sashabaranov/go-openai"},
			{"engine", "github.com/riverqueue/river/riverdriver/riversqlite"},
			{".", "github.com/google/uuid"},
			{"internal/arch", "golang.org/x/text/unicode/norm"},
		} {
			if mayImport(c.pkg, c.imp) {
				t.Errorf("%s may import %s", c.pkg, c.imp)
			}
		}
		if !mayImport("jobs", "github.com/riverqueue/river") || !mayImport(".", "encoding/json") {
			t.Error("the table refuses too much")
		}
	})
}

// projectPath gives an import's path inside the module.
func projectPath(imp string) (string, bool) {
	if imp == module {
		return ".", true
	}
	return strings.CutPrefix(imp, module+"/")
}

func mayImport(pkg, imp string) bool {
	rule, owners := "", []string(nil)
	for prefix, pkgs := range outside {
		if strings.HasPrefix(imp, prefix) && len(prefix) > len(rule) {
			rule, owners = prefix, pkgs
		}
	}
	if rule != "" {
		return slices.Contains(owners, pkg)
	}
	standard := !strings.Contains(strings.SplitN(imp, "/", 2)[0], ".")
	return standard || pkg != "." && pkg != "internal/arch"
}

// reach gives all that a package can import, directly or by way of others.
func reach(pkg string) []string {
	var out []string
	queue := slices.Clone(layers[pkg])
	for len(queue) > 0 {
		next := queue[0]
		queue = queue[1:]
		if !slices.Contains(out, next) {
			out = append(out, next)
			queue = append(queue, layers[next]...)
		}
	}
	return out
}

func testImports(pkg string) []string {
	own := layers[pkg]
	if len(own) == 0 || slices.Contains(own, anything) {
		return own
	}
	up := testsReach[pkg]
	for _, u := range testsReach[pkg] {
		up = append(up, reach(u)...)
	}
	return slices.Concat(reach(pkg), helpers, up)
}
