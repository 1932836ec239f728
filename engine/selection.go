package engine

import (
	"slices"
	"strings"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/store"
)

// Selection is which memories of a tenant a list shows, in the words of whoever
// asks for it. What is empty selects nothing out, but for the status.
type Selection struct {
	Scope string
	// Status are names of statuses, "all" alone for each. Defaults to active.
	Status          []string
	Kind, Slot, Tag string
}

// Filter gives the selection as a store takes it: invalid for a status, a kind or
// a slot that there is not, with those that there are.
func (s Selection) Filter(tenant string) (store.MemoryFilter, error) {
	f := store.MemoryFilter{Tenant: tenant, Scope: s.Scope, Kind: oxbow.Kind(s.Kind), Slot: s.Slot, Tag: strings.ToLower(s.Tag)}
	switch {
	case s.Kind != "" && !slices.Contains(oxbow.Kinds, f.Kind):
		return f, oxbow.Errorf(oxbow.CodeInvalid, "there is no kind %q: use %s", s.Kind, text.OneOf(oxbow.Kinds))
	case s.Slot != "" && !slices.Contains(Slots, s.Slot):
		return f, oxbow.Errorf(oxbow.CodeInvalid, "there is no slot %q: use %s", s.Slot, text.OneOf(Slots))
	case len(s.Status) == 0:
		f.Status = []oxbow.Status{oxbow.Active}
	case len(s.Status) > 1 || s.Status[0] != "all":
		for _, name := range s.Status {
			status := oxbow.Status(name)
			if !slices.Contains(oxbow.Statuses, status) {
				return f, oxbow.Errorf(oxbow.CodeInvalid, "there is no status %q: use all, %s", name, text.OneOf(oxbow.Statuses))
			}
			f.Status = append(f.Status, status)
		}
	}
	return f, nil
}

// EventTypesOf gives the types of events of some names: invalid for a name that
// is none, with those that there are.
func EventTypesOf(names []string) ([]oxbow.EventType, error) {
	var out []oxbow.EventType
	for _, name := range names {
		t := oxbow.EventType(name)
		if !slices.Contains(oxbow.EventTypes, t) {
			return nil, oxbow.Errorf(oxbow.CodeInvalid, "there is no type of event %q: use %s", name, text.OneOf(oxbow.EventTypes))
		}
		out = append(out, t)
	}
	return out, nil
}
