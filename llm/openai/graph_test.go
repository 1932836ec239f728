package openai

import (
	"errors"
	"strings"
	"testing"

	"github.com/oxbow-memory/oxbow/llm"
)

func FuzzReadGraph(f *testing.F) {
	for _, s := range []string{`{"entities":[{"name":"Ada","type":"person","description":"","aliases":["Countess",""]}],"relations":[{"from":"Ada","type":"knows","to":"Bob","words":"Ada knows Bob"}]}`,
		`{"entities":[{"name":""}],"relations":[{"from":"","type":"","to":""}]}`, `{}`, `[]`, `{"entities":null}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		g, _, err := readGraph([]byte(s))
		if err != nil {
			if _, ok := errors.AsType[*rejection](err); !ok {
				t.Errorf("the error is %v", err)
			}
			return
		}
		if len(g.Entities) > maxThings || len(g.Relations) > maxThings {
			t.Errorf("%d entities and %d relations", len(g.Entities), len(g.Relations))
		}
		for _, e := range g.Entities {
			if e.Name == "" || len(e.Name) > maxName || strings.ContainsAny(e.Name, "\n\x00") {
				t.Errorf("the name %q", e.Name)
			}
		}
	})
}

func TestReadGraph(t *testing.T) {
	t.Parallel()
	g, dropped, err := readGraph([]byte(`{"entities":[{"name":" Dr.  Martinez ","type":"person","description":"the user's dentist","aliases":["Ana",""]},{"name":"","type":"","description":"","aliases":[]}],
		"relations":[{"from":"user","type":"dentist","to":"Dr. Martinez","words":"my dentist"},{"from":"user","type":"","to":"Dr. Martinez","words":""}]}`))
	if err != nil || dropped != 3 || len(g.Entities) != 1 || len(g.Relations) != 1 {
		t.Fatalf("%+v, %d dropped, %v", g, dropped, err)
	}
	if e := g.Entities[0]; e.Name != "Dr. Martinez" || len(e.Aliases) != 1 || g.Relations[0] != (llm.EntityRelation{From: "user", Type: "dentist", To: "Dr. Martinez", Words: "my dentist"}) {
		t.Errorf("read %+v", g)
	}
}
