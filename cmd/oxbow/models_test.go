package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

var (
	endpointLine = regexp.MustCompile("(?m)^\\| ([^|]+) \\| `(OXBOW_OPENAI_[^`]+)` \\|$")
	assignment   = regexp.MustCompile(`(OXBOW_[A-Z_]+)=('[^']*'|\S+)`)
)

// TestEndpointLines holds the lines of configuration that docs/operations.md has
// for the usual endpoints to what the program reads.
func TestEndpointLines(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := endpointLine.FindAllStringSubmatch(string(doc), -1)
	if len(lines) != 7 {
		t.Fatalf("%d lines are documented", len(lines))
	}
	for _, line := range lines {
		t.Run("make a judge of "+line[1], func(t *testing.T) {
			t.Parallel()
			conf := settings{}
			for _, k := range keys {
				conf[k.name] = setting{k, k.preset, "default"}
			}
			set := map[string]string{"OXBOW_JUDGE": "openai", "OXBOW_DB": "x.db"}
			for _, a := range assignment.FindAllStringSubmatch(line[2], -1) {
				set[a[1]] = strings.Trim(a[2], "'")
			}
			for _, k := range keys {
				if v, ok := set[k.variable()]; ok {
					conf[k.name] = setting{k, v, k.variable()}
					delete(set, k.variable())
				}
			}
			if len(set) > 0 {
				t.Errorf("nothing reads %v", set)
			}
			if err := conf.check(); err != nil {
				t.Error(err)
			}
			if j, err := newJudge(conf); err != nil || !strings.HasPrefix(j.Name(), "openai/") {
				t.Errorf("got %v, %v", j, err)
			}
		})
	}
}
