package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/recall"
)

// The kinds and sources that an agent may name. The others are made by jobs, or
// are said by somebody whom a tool call does not speak for.
var (
	kindsOfAgents   = []string{string(oxbow.Semantic), string(oxbow.Episodic), string(oxbow.Procedural), string(oxbow.Preference), string(oxbow.Fact)}
	sourcesOfAgents = []string{string(oxbow.FromAssistant), string(oxbow.FromTool), string(oxbow.FromWeb)}
	slots           = []string{"user", "project", "agent"}
)

// mostTags is how many tags a memory keeps; more are refused here, since an
// agent is not told what was left out.
const mostTags = 12

// mostOfItem bounds a tag and an id in characters.
const mostOfItem = 256

// schemaOf gives the schema of T. A property has one type, because clients that
// turn schemas into a model's functions do not all read a list of types, and what
// it may hold, which no struct tag can say. Property names mean the same in every
// tool.
func schemaOf[T any]() *jsonschema.Schema {
	s, err := jsonschema.For[T](nil)
	if err != nil { // a mistake in a struct of this package
		panic(err)
	}
	oneType(s)
	return s
}

func oneType(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if rest := slices.DeleteFunc(slices.Clone(s.Types), func(t string) bool { return t == "null" }); len(rest) == 1 {
		s.Type, s.Types = rest[0], nil
	}
	oneType(s.Items)
	for _, p := range s.Properties {
		oneType(p)
	}
}

// inputOf is schemaOf with what arguments may hold.
func inputOf[T any](scope string) *jsonschema.Schema {
	s := schemaOf[T]()
	enum := func(names []string) func(*jsonschema.Schema) {
		return func(p *jsonschema.Schema) {
			for _, n := range names {
				p.Enum = append(p.Enum, n)
			}
		}
	}
	between := func(low, high float64) func(*jsonschema.Schema) {
		return func(p *jsonschema.Schema) { p.Minimum, p.Maximum = &low, &high }
	}
	items := func(least, most int) func(*jsonschema.Schema) {
		return func(p *jsonschema.Schema) { p.MinItems, p.MaxItems = &least, &most }
	}
	atMost := func(n int) func(*jsonschema.Schema) { return func(p *jsonschema.Schema) { p.MaxLength = &n } }
	instant := func(p *jsonschema.Schema) { p.Format = "date-time" }
	for name, say := range map[string]func(*jsonschema.Schema){
		"kind": enum(kindsOfAgents), "slot": enum(slots), "source": enum(sourcesOfAgents), "strategy": enum(recall.Strategies()),
		"importance": between(0, 10), "limit": between(1, 100), "tags": items(0, mostTags), "ids": items(1, mostUsed),
		"expires_at": instant, "as_of": instant, "id": atMost(64), "key": atMost(256), "conversation": atMost(1 << 10),
		"scope": func(p *jsonschema.Schema) {
			p.Description += fmt.Sprintf("; %q when it is left out", scope)
			atMost(128)(p)
		},
	} {
		if p := s.Properties[name]; p != nil {
			say(p)
		}
	}
	return s
}

// read reads the arguments of a call. It is mild with what models get wrong
// without meaning anything else: null or "" for what may be left out, a number or a
// list in quotes, one id in place of a list. What it refuses it says in words that
// a model can act on: invalid.
func read[T any](tool string, s *jsonschema.Schema, raw json.RawMessage) (T, error) {
	var out T
	given := map[string]json.RawMessage{}
	if len(raw) > 0 && json.Unmarshal(raw, &given) != nil {
		return out, oxbow.Errorf(oxbow.CodeInvalid, "%s takes its arguments as an object with %s", tool, names(s))
	}
	// Before what is missing: an argument by a wrong name is both, and this says which.
	if err := known(tool, given, s.PropertyOrder); err != nil {
		return out, err
	}
	for _, name := range s.PropertyOrder {
		v, ok := given[name]
		p, needed := s.Properties[name], slices.Contains(s.Required, name)
		switch text := string(bytes.TrimSpace(v)); {
		case needed && (!ok || text == "null" || isBlank(v)):
			return out, oxbow.Errorf(oxbow.CodeInvalid, "%s needs %s and it is empty or missing: give %s", tool, name, p.Description)
		case ok && !needed && (text == "null" || isBlank(v)):
			delete(given, name)
		case ok:
			fit, err := fitting(name, p, v)
			if err != nil {
				return out, err
			}
			given[name] = fit
		}
	}
	clean, err := json.Marshal(given)
	if err == nil {
		err = json.Unmarshal(clean, &out)
	}
	if err != nil { // a whole number that is too large for one
		return out, oxbow.Errorf(oxbow.CodeInvalid, "the arguments of %s cannot be read: it takes %s", tool, names(s))
	}
	return out, nil
}

// known refuses arguments by names that there are not.
func known[V any](what string, given map[string]V, takes []string) error {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(takes, name) {
			return oxbow.Errorf(oxbow.CodeInvalid, "%s takes no %s: it takes %s", what, short(name), strings.Join(takes, ", "))
		}
	}
	return nil
}

func names(s *jsonschema.Schema) string { return strings.Join(s.PropertyOrder, ", ") }

func isBlank(v json.RawMessage) bool {
	var s string
	return json.Unmarshal(v, &s) == nil && strings.TrimSpace(s) == ""
}

// fitting gives an argument in the form that its property has.
func fitting(name string, p *jsonschema.Schema, v json.RawMessage) (json.RawMessage, error) {
	var quoted string
	inQuotes := json.Unmarshal(v, &quoted) == nil
	switch p.Type {
	case "string":
		if !inQuotes {
			return nil, oxbow.Errorf(oxbow.CodeInvalid, "%s has to be a text in quotes: %s", name, p.Description)
		}
		if len(p.Enum) > 0 && !slices.Contains(p.Enum, any(quoted)) {
			return nil, oxbow.Errorf(oxbow.CodeInvalid, "there is no %s %s: use one of %s", name, short(quoted), choices(p))
		}
		if n := utf8.RuneCountInString(quoted); p.MaxLength != nil && n > *p.MaxLength {
			return nil, oxbow.Errorf(oxbow.CodeInvalid, "the %s is %d characters long: give %s", name, n, p.Description)
		}
	case "number", "integer":
		if inQuotes {
			v = json.RawMessage(strings.TrimSpace(quoted))
		}
		n, err := strconv.ParseFloat(string(v), 64)
		if err != nil || math.IsNaN(n) || math.IsInf(n, 0) || p.Type == "integer" && n != math.Trunc(n) || n < *p.Minimum || n > *p.Maximum {
			return nil, oxbow.Errorf(oxbow.CodeInvalid, "the %s is %s: use %s from %g to %g", name, short(string(v)),
				map[string]string{"number": "a number", "integer": "a whole number"}[p.Type], *p.Minimum, *p.Maximum)
		}
		return strconv.AppendFloat(nil, n, 'f', -1, 64), nil
	case "array":
		var list []string
		if inQuotes && json.Unmarshal([]byte(quoted), &list) != nil {
			list = []string{quoted}
		} else if !inQuotes && json.Unmarshal(v, &list) != nil {
			return nil, oxbow.Errorf(oxbow.CodeInvalid, "%s has to be a list of texts: %s", name, p.Description)
		}
		if len(list) < *p.MinItems || len(list) > *p.MaxItems {
			return nil, oxbow.Errorf(oxbow.CodeInvalid, "there are %d %s: give %d to %d", len(list), name, *p.MinItems, *p.MaxItems)
		}
		for _, one := range list {
			if n := utf8.RuneCountInString(one); n > mostOfItem {
				return nil, oxbow.Errorf(oxbow.CodeInvalid, "one of the %s is %d characters long: %s", name, n, p.Description)
			}
		}
		return json.Marshal(list)
	}
	return v, nil
}

func choices(p *jsonschema.Schema) string {
	out := make([]string, len(p.Enum))
	for i, c := range p.Enum {
		out[i] = fmt.Sprint(c)
	}
	return strings.Join(out, ", ")
}

// short quotes what was sent, so that an error is not as long as a mistake.
func short(s string) string {
	const most = 40
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return strconv.Quote(s)
}
