package offline

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm"
)

// drawnOf writes what the rules read of a text: entities, then relations.
func drawnOf(t *testing.T, text string, source oxbow.Source) []string {
	t.Helper()
	g, err := New().Graph(t.Context(), llm.Statement{Text: text, Source: source})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, r := range g.Relations {
		out = append(out, r.From+" -"+r.Type+"-> "+r.To)
	}
	for _, e := range g.Entities {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s/%s/%s %v", e.Name, e.Type, e.Description, e.Aliases)))
	}
	return out
}

func TestGraph(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want []string
	}{
		{"Alice introduced me to Nightshade.", []string{"Alice -introduced to-> Nightshade"}},
		{"Nightshade is a restaurant.", []string{"Nightshade -is a-> restaurant"}},
		{"Nightshade is a cosy Italian restaurant in Lisbon.", []string{"Nightshade -is a-> restaurant"}},
		{"Luna is a wine bar.", []string{"Luna -is a-> bar", "Luna -is a-> wine bar"}},
		{"Marco took me to Bella Notte.", []string{"Marco -took to-> Bella Notte"}},
		{"My dentist Dr. Martinez moved to Leeds.", []string{"user -dentist-> Dr. Martinez", "Dr. Martinez -moved to-> Leeds", "Dr. Martinez/person/the user's dentist []"}},
		{"My dentist is Dr. Martinez.", []string{"user -dentist-> Dr. Martinez", "Dr. Martinez/person/the user's dentist []"}},
		{"Igor is our accountant.", []string{"user -accountant-> Igor"}},
		{"The user's sister Anna lives in Oslo.", []string{"user -sister-> Anna", "Anna -lives in-> Oslo", "Oslo/place/ []"}},
		{"I work at Initech.", []string{"user -works at-> Initech"}},
		{"Ben works at Initech and lives in Austin.", []string{"Ben -works at-> Initech", "Ben -lives in-> Austin"}},
		{"Initech is based in Austin.", []string{"Initech -based in-> Austin"}},
		{"We use Postgres for the billing service.", []string{"user -uses-> Postgres", "Postgres/tool/database []"}},
		{"Ben owns a bakery.", []string{"Ben -owns-> bakery"}},
		{"Lighthouse is part of Google Chrome.", nil},
		{"Ben, a baker, met Carla in Rome.", []string{"Ben -is a-> baker", "Ben -met-> Carla", "Ben -met in-> Rome"}},
		{"We ate at the restaurant Nightshade.", []string{"Nightshade -is a-> restaurant"}},
		{"Carla runs a bar called Luna.", []string{"Luna -is a-> bar"}},
		{"Nightshade, which is a restaurant, belongs to Alice.", []string{"Nightshade -is a-> restaurant"}},
		{"International Business Machines (IBM) hired Ben.", []string{"International Business Machines// [IBM]"}},
		{"Alexandra, also known as Sasha, lives in Kyiv.", []string{"Alexandra/person/ [Sasha]"}},
		{"My name is Ada.", []string{"user/person/ [Ada]"}},
	} {
		t.Run(c.text, func(t *testing.T) {
			t.Parallel()
			got := drawnOf(t, c.text, oxbow.FromUser)
			for _, w := range c.want {
				if !slices.ContainsFunc(got, func(g string) bool { return g == w || strings.HasPrefix(g, w) }) {
					t.Errorf("%q is not among\n%s", w, strings.Join(got, "\n"))
				}
			}
		})
	}
}

func TestGraphRelatesNothing(t *testing.T) {
	t.Parallel()
	if got := drawnOf(t, "My dentist is Dr. Martinez.", oxbow.FromUser); strings.Contains(strings.Join(got, ""), "My dentist") {
		t.Errorf("who has a name is two: %q", got)
	}
	for _, text := range []string{"Does Alice know Bob?", "Alice does not work at Initech.", "Alice no longer works at Initech.", "Alice used to work at Initech.",
		"If Alice moves to Oslo, we meet Bob.", "I want to visit Rome.", "Everything is fine.", "The tests are slow.", "Remember to call the plumber.", "Is there any milk?", ""} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			for _, g := range drawnOf(t, text, oxbow.FromUser) {
				if strings.Contains(g, "->") {
					t.Errorf("it relates %s", g)
				}
			}
		})
	}
}
