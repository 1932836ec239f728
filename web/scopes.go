package web

import (
	"context"
	"slices"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
)

// everyScope is what a form says that need not name one.
const everyScope = "every scope"

// namesOffered bounds the scopes that a form offers: a tenant may have one for
// each of its users, and every page would carry all their names.
const namesOffered = 200

// choice is a form's field for a scope: a list to pick from, or, where there are
// more than namesOffered, a text to type that suggests those with the most memories.
type choice struct {
	Field, Chosen string
	Any           string // what choosing none means; empty when one has to be chosen
	Names         []string
	Many          bool
}

// choice gives the field of the scopes that there are.
func (a ask) choice(ctx context.Context, field, none string) (choice, error) {
	c := choice{Field: field, Chosen: a.value(field), Any: none}
	found, all, err := a.e.LargestScopes(ctx, a.Tenant, namesOffered)
	c.Many = all > len(found)
	for _, s := range found {
		c.Names = append(c.Names, s.Name)
	}
	return c.as(c.Field, c.Chosen), err
}

// as gives a field of another name for the same scopes. What is chosen is offered
// whether or not it is there: a form that showed another scope would say that the
// page is about that one.
func (c choice) as(field, chosen string) choice {
	c.Field, c.Chosen = field, chosen
	if chosen != "" && !slices.Contains(c.Names, chosen) {
		c.Names = append(slices.Clip(c.Names), chosen)
	}
	return c
}

type scopesData struct {
	Words string
	Rows  []oxbow.ScopeSettings
	Next  string
}

// scopes lists them by name, those with words in it when some are asked for.
func (c *Console) scopes(ctx context.Context, a ask) (any, error) {
	q := a.URL.Query()
	d := scopesData{Words: words(q.Get("q"))}
	found, err := a.e.ScopesNamed(ctx, a.Tenant, d.Words)
	if err != nil {
		return nil, err
	}
	var next string
	if d.Rows, next, err = engine.PageOf(found, q.Get("after"), pageSize, func(s oxbow.ScopeSettings) string { return s.Name }); next != "" {
		d.Next = a.next("after", next)
	}
	return d, err
}

// next leads to the same list behind this one. What follows does not move, so a
// live page's is not live, and what was asked to be done is not asked again.
func (a ask) next(field, behind string) string {
	q := a.URL.Query()
	q.Set(field, behind)
	for _, once := range []string{"live", "plan", "in", "now"} {
		q.Del(once)
	}
	return "?" + q.Encode()
}

type scopeData struct {
	Settings  oxbow.ScopeSettings
	Counts    map[oxbow.Status]int
	Order     []oxbow.Status
	Strongest []engine.View
}

func (c *Console) scope(ctx context.Context, a ask) (any, error) {
	s := a.scope(a.PathValue("scope"))
	settings, err := a.e.Store().Scope(ctx, s)
	if err != nil {
		return nil, err
	}
	counts, err := a.e.CountMemories(ctx, s)
	if err != nil {
		return nil, err
	}
	ms, err := a.e.Store().StrongestMemories(ctx, settings, a.e.Now(), 20)
	if err != nil {
		return nil, err
	}
	views, err := a.e.Views(ctx, ms)
	return scopeData{settings, counts, oxbow.Statuses, views}, err
}
