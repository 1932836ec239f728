package web

import (
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/recall"
)

// parse makes the template of every page. A page that does not parse is a
// defect of the program.
func (c *Console) parse() {
	funcs := template.FuncMap{
		"plain": plain, "short": engine.Short, "when": when, "date": date, "soon": soon, "noun": noun, "dollars": dollars, "percent": percent, "day": engine.Day, "number": func(v float64) string { return fmt.Sprintf("%.2f", v) },
		"age":  func(t, now time.Time) string { return recall.Age(t, now, time.UTC) },
		"tabs": func() any { return tabs }, "root": func() string { return Root }, "static": address, "act": act, "clip": clip, "hidden": hidden, "may": func(f frame, p string) bool { return f.May[oxbow.Permission(p)] },
		"tally": tally, "of": engine.OfJob, "verdict": func(v oxbow.Verdict) string { return strings.ReplaceAll(string(v.Relation), "_", " ") },
		"tab":   func(page, path string) bool { return inTab[page] == path },
		"slots": func() []string { return engine.Slots }, "middle": func(a, b int) int { return (a + b) / 2 },
		"add": func(a, b float64) float64 { return a + b }, "addi": func(a, b int) int { return a + b },
	}
	entries, err := pages.ReadDir("pages")
	if err != nil {
		panic(err)
	}
	base := template.Must(template.New("").Funcs(funcs).ParseFS(pages, "pages/frame.html", "pages/parts.html"))
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".html")
		if name == "frame" || name == "parts" {
			continue
		}
		c.templates[name] = template.Must(template.Must(base.Clone()).ParseFS(pages, "pages/"+e.Name()))
	}
}

// action is a form without fields to fill in that stands behind the word for what
// it does, and so asks once. Its parts are set one after the other, in a template.
type action struct {
	Path, What, Sure string // where it is sent, what it does, and the word on its button
	Fields           []field
	About            string // of what it does so, for who cannot see the row
	Warning          string
	Danger, Open     bool
}

type field struct{ Name, Value string }

// act gives an action with its hidden fields, a name and a value each.
func act(path, what, sure string, fields ...string) action {
	a := action{Path: path, What: what, Sure: sure}
	for i := 0; i+1 < len(fields); i += 2 {
		a.Fields = append(a.Fields, field{fields[i], fields[i+1]})
	}
	return a
}

// Of says of what an action in a table's row is.
func (a action) Of(about string) action {
	a.About = about
	return a
}

// Warned says what to know before.
func (a action) Warned(words string) action {
	a.Warning = words
	return a
}

// Final warns of what cannot be undone.
func (a action) Final(words string) action {
	a.Danger = true
	return a.Warned(words)
}

// Opened shows the form at once.
func (a action) Opened(now bool) action {
	a.Open = now
	return a
}

// inTab says under which tab a page stands.
var inTab = map[string]string{"overview": "", "memories": "memories", "memory": "memories", "graph": "graph", "scopes": "scopes", "scope": "scopes", "runs": "runs",
	"run": "runs", "jobs": "jobs", "schedule": "schedule", "review": "review", "health": "health", "events": "events", "problem": "-", "login": "-"}

// plain gives memory text with the marks that a reader could not see, or that
// would reorder what they see, made visible. The template escapes the rest.
func plain(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = text.Printable(l)
	}
	return strings.Join(lines, "\n")
}

// hidden tells whether a text holds marks that plain makes visible, which a field
// to edit it in cannot.
func hidden(s string) bool { return plain(s) != strings.ReplaceAll(s, "\t", " ") }

// clip shortens a text for a table or a drawing.
func clip(s string, n int) string { return text.Clip(plain(s), n) }

// when gives an instant of UTC to the minute, and to programs to the second.
func when(t time.Time) template.HTML {
	if t.IsZero() {
		return "–"
	}
	t = t.UTC()
	return template.HTML(`<time datetime="` + t.Format(time.RFC3339) + `">` + t.Format("2006-01-02 15:04") + `</time>`) //nolint:gosec // digits only
}

// date gives the day of an instant for a table.
func date(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// soon says how long it is until an instant.
func soon(t, now time.Time) string {
	switch d := t.Sub(now); {
	case d < 0:
		return "due"
	case d < time.Minute:
		return "less than a minute"
	case d < 2*time.Hour:
		return noun(int(d.Round(time.Minute).Minutes()), "minute", "minutes")
	case d < 48*time.Hour:
		return noun(int(d.Round(time.Hour).Hours()), "hour", "hours")
	default:
		return noun(int(d.Hours()/24), "day", "days")
	}
}

// noun counts in words.
func noun(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// dollars gives what something cost; nil means that a price is not known.
func dollars(cost *float64) string {
	switch {
	case cost == nil:
		return "not known"
	case *cost > 0 && *cost < 0.0001:
		return "under $0.0001"
	}
	return fmt.Sprintf("$%.4f", *cost)
}

func percent(share float64) string { return fmt.Sprintf("%.4g %%", 100*share) }

// tally writes counts in the order of their names, without those of nothing.
func tally(counts map[string]int) string {
	var parts []string
	for _, name := range sortedKeys(counts) {
		if counts[name] != 0 {
			parts = append(parts, fmt.Sprintf("%s %d", strings.ReplaceAll(name, "_", " "), counts[name]))
		}
	}
	return strings.Join(parts, ", ")
}

func sortedKeys(m map[string]int) []string { return slices.Sorted(maps.Keys(m)) }
