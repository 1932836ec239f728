package oxbow_test

import (
	"strings"
	"testing"

	"github.com/oxbow-memory/oxbow"
)

func TestDetailValid(t *testing.T) {
	t.Parallel()
	good := oxbow.Detail{Subject: "standup", Attribute: "when", Value: "9:30", Type: oxbow.TimeValue, Qualifiers: []string{"of time"}}
	long := strings.Repeat("é", oxbow.MaxDetailText)
	for name, c := range map[string]struct {
		change func(*oxbow.Detail)
		want   bool
	}{
		"is as it was read":                      {func(*oxbow.Detail) {}, true},
		"may have no value: it is denied":        {func(d *oxbow.Detail) { d.Value = "" }, true},
		"counts characters and not bytes":        {func(d *oxbow.Detail) { d.Value = long }, true},
		"names whom or what it is about":         {func(d *oxbow.Detail) { d.Subject = "" }, false},
		"names an attribute":                     {func(d *oxbow.Detail) { d.Attribute = "" }, false},
		"has a known type":                       {func(d *oxbow.Detail) { d.Type = "colour" }, false},
		"is short":                               {func(d *oxbow.Detail) { d.Value = long + "e" }, false},
		"has short qualifiers":                   {func(d *oxbow.Detail) { d.Qualifiers = []string{long + "e"} }, false},
		"has no more qualifiers than are stored": {func(d *oxbow.Detail) { d.Qualifiers = make([]string, oxbow.MaxQualifiers+1) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := good
			c.change(&d)
			if got := d.Valid(); got != c.want {
				t.Errorf("%+v is valid: %t", d, got)
			}
		})
	}
}
