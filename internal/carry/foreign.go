package carry

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// The formats that an import reads: an export of Oxbow; what mem0 gives back when
// it is asked for all memories, or exports; and the file of the reference memory
// server of the Model Context Protocol.
const (
	FormatOxbow = "oxbow"
	FormatMem0  = "mem0"
	FormatMCP   = "mcp"
)

// Formats lists them.
var Formats = []string{FormatOxbow, FormatMem0, FormatMCP}

// Item is one memory of another program's file.
type Item struct {
	Place        string   // such as line 3, for people
	Key          []string // what makes it itself, so that it has the same id each time
	Text         string
	Tags         []string
	SaidAt       time.Time // zero when the file does not say
	Scope        string    // whose it is by the file; empty when it does not say
	Conversation string
	Graph        *Graph
}

// peekBytes is how much of a file Recognise looks at.
const peekBytes = 64 << 10

// Recognise tells by its beginning which format a file has. invalid for one that
// is empty, compressed or like none of them.
func Recognise(r io.Reader) (string, error) {
	key, err := sniff(bufio.NewReaderSize(r, peekBytes))
	if err != nil {
		return "", err
	}
	if f, ok := formatOf[key]; ok {
		return f.format, nil
	}
	return "", oxbow.Errorf(oxbow.CodeInvalid, "the file looks like none of %s: name its format with --format; turns of conversations go in by oxbow ingest", strings.Join(Formats, ", "))
}

// formatOf says which format has a name in its first object, and whether the
// whole file is that object. A file that is a list begins with "[".
var formatOf = map[string]struct {
	format   string
	document bool
}{
	"header": {FormatOxbow, false},
	"[":      {FormatMem0, true}, "results": {FormatMem0, true}, "memories": {FormatMem0, true}, "memory": {FormatMem0, false},
	"entities": {FormatMCP, true}, "type": {FormatMCP, false}, "entityType": {FormatMCP, false}, "relationType": {FormatMCP, false},
}

// sniff gives the first name in a file that tells its format, "[" for a list, and
// "" for a file in which there is none.
func sniff(r *bufio.Reader) (string, error) {
	head, err := r.Peek(peekBytes)
	if err != nil && err != io.EOF && !errors.Is(err, bufio.ErrBufferFull) {
		return "", oxbow.WrapError(oxbow.CodeUnavailable, err, "cannot read the file")
	}
	head = bytes.TrimPrefix(head, []byte("\ufeff"))
	switch {
	case len(bytes.TrimSpace(head)) == 0:
		return "", oxbow.Errorf(oxbow.CodeInvalid, "the file is empty: give one that oxbow export, mem0 or a memory server has written")
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return "", oxbow.Errorf(oxbow.CodeInvalid, "the file is compressed: unpack it first, as in gunzip FILE, and import what comes out")
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return "", oxbow.Errorf(oxbow.CodeInvalid, "the file is a zip archive: unpack it first, and import what comes out")
	}
	d := json.NewDecoder(bytes.NewReader(head))
	t, err := d.Token()
	if err != nil {
		return "", oxbow.Errorf(oxbow.CodeInvalid, "the file is not JSON: import reads what oxbow export, mem0 or a memory server has written")
	}
	if t == json.Delim('[') {
		return "[", nil
	}
	for t == json.Delim('{') && d.More() {
		name, err := d.Token()
		if err != nil {
			break
		}
		if s, _ := name.(string); formatOf[s].format != "" {
			return s, nil
		}
		var skip json.RawMessage
		if d.Decode(&skip) != nil {
			break
		}
	}
	return "", nil
}

// Items calls yield with each memory of another program's file, and refuse with
// each that cannot be read; the others go on. Its own errors are yield's, and
// invalid for a file that is damaged beyond that.
func Items(r io.Reader, format string, yield func(Item) error, refuse func(place string, err error)) error {
	in := bufio.NewReaderSize(r, peekBytes)
	key, err := sniff(in)
	if err != nil {
		return err
	}
	read := mem0Item
	if format == FormatMCP {
		read = mcpItems
	}
	each := func(kind, place string, raw []byte) error {
		if !utf8.Valid(raw) {
			refuse(place, errors.New("it holds bytes that are no UTF-8"))
			return nil
		}
		items, err := read(kind, raw)
		if err != nil {
			refuse(place, err)
			return nil
		}
		for _, i := range items {
			i.Place = place
			if err := yield(i); err != nil {
				return err
			}
		}
		return nil
	}
	if key == "[" || formatOf[key].document {
		return documents(in, each)
	}
	return objects(in, each)
}

// objects reads a file of an object a line.
func objects(r io.Reader, each func(kind, place string, raw []byte) error) error {
	in := newLines(r)
	for {
		raw, err := in.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace(raw)) == 0 {
			continue
		}
		if err := each("", fmt.Sprintf("line %d", in.n), raw); err != nil {
			return err
		}
	}
}

// documents reads a file that is one list, or one object with lists, without
// holding more than one element of them.
func documents(r io.Reader, each func(kind, place string, raw []byte) error) error {
	bounded := &bounded{r: r}
	d := json.NewDecoder(bounded)
	damaged := func(where string, err error) error {
		if errors.Is(err, errLong) {
			return oxbow.Errorf(oxbow.CodeInvalid, "%s is longer than %d MiB, the most that an import reads; everything before it is taken in", where, MaxLine>>20)
		}
		return oxbow.Errorf(oxbow.CodeInvalid, "behind %s: %s; everything before it is taken in", where, describe(err))
	}
	list := func(kind string) error {
		for n := 1; d.More(); n++ {
			bounded.n = 0
			place := fmt.Sprintf("%s %d", kind, n)
			var raw json.RawMessage
			err := d.Decode(&raw)
			if err == nil && len(raw) > MaxLine {
				err = errLong
			}
			if err != nil {
				return damaged(place, err)
			}
			if err := each(kind, place, raw); err != nil {
				return err
			}
		}
		if _, err := d.Token(); err != nil {
			return damaged("the last "+kind, err)
		}
		return nil
	}
	t, err := d.Token()
	if err != nil {
		return damaged("the beginning", err)
	}
	if t == json.Delim('[') {
		return list("memories")
	}
	for d.More() {
		bounded.n = 0
		name, err := d.Token()
		if err != nil {
			return damaged("the beginning", err)
		}
		kind, _ := name.(string)
		if !slices.Contains([]string{"results", "memories", "entities", "relations"}, kind) {
			var skip json.RawMessage
			if err := d.Decode(&skip); err != nil {
				return damaged(kind, err)
			}
			continue
		}
		if t, err = d.Token(); err != nil || t != json.Delim('[') {
			return oxbow.Errorf(oxbow.CodeInvalid, "%q is no list: give the file as the program wrote it", kind)
		}
		if err := list(kind); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return damaged("the last of it", err)
	}
	return nil
}

var errLong = errors.New("too long")

// bounded refuses to read on when one element is too long.
type bounded struct {
	r io.Reader
	n int
}

// Read reads, as long as the element does.
func (b *bounded) Read(p []byte) (int, error) {
	if b.n > MaxLine+peekBytes {
		return 0, errLong
	}
	n, err := b.r.Read(p)
	b.n += n
	return n, err
}

// fields is an object of which only some names matter.
type fields map[string]json.RawMessage

// text gives the first of the names that holds a text; "" when none is there.
func (f fields) text(names ...string) (string, error) {
	for _, name := range names {
		raw, ok := f[name]
		if !ok || string(raw) == "null" {
			continue
		}
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return "", fmt.Errorf("%q is no text", name)
		}
		if s != "" {
			return s, nil
		}
	}
	return "", nil
}

// texts gives a list of texts.
func (f fields) texts(name string) ([]string, error) {
	raw, ok := f[name]
	if !ok || string(raw) == "null" {
		return nil, nil
	}
	var out []string
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, fmt.Errorf("%q is no list of texts", name)
	}
	return out, nil
}

// mem0Item reads one memory of mem0: what it says is "memory" (in some forms
// "text" or "data"), whose it is "user_id", else "agent_id", else "app_id".
func mem0Item(kind string, raw []byte) ([]Item, error) {
	if kind == "relations" || kind == "entities" { // its graph has no memories to rest on
		return nil, nil
	}
	var f fields
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, errors.New(describeItem(err))
	}
	var i Item
	var err error
	if i.Text, err = f.text("memory", "text", "data"); err != nil {
		return nil, err
	}
	if i.Text == "" {
		return nil, errors.New(`it says nothing: "memory" is missing or empty`)
	}
	id := strings.Trim(string(f["id"]), `" `)
	if id == "" || id == "null" {
		i.Key = []string{"text", i.Text}
	} else {
		i.Key = []string{"id", id}
	}
	for _, of := range []struct{ name, prefix string }{{"user_id", "user:"}, {"agent_id", "agent:"}, {"app_id", "app:"}} {
		owner, err := f.text(of.name)
		if err != nil {
			return nil, err
		}
		if owner != "" && i.Scope == "" {
			i.Scope = scopeName(of.prefix, owner)
		}
	}
	if i.Conversation, err = f.text("run_id", "session_id"); err != nil {
		return nil, err
	}
	if i.Tags, err = f.texts("categories"); err != nil {
		return nil, err
	}
	if i.SaidAt, err = f.instant("created_at"); err != nil {
		return nil, err
	}
	return []Item{i}, nil
}

// scopeName gives the scope of an owner that another program names. Two owners
// never share one: a name that cannot stand as it is gets a mark of its own.
func scopeName(prefix, owner string) string {
	name := prefix + owner
	if (oxbow.Scope{Tenant: "t", Name: name}).Validate() == nil {
		return name
	}
	clean := strings.Map(func(r rune) rune {
		if (oxbow.Scope{Tenant: "t", Name: "a" + string(r)}).Validate() != nil {
			return '-'
		}
		return r
	}, owner)
	r := []rune(clean)
	return prefix + string(r[:min(len(r), 80)]) + "-" + oxbow.NewID("owner", prefix, owner)
}

// layouts are the ways in which dates are written.
var layouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999", time.DateOnly}

// instant gives a date, zero when there is none.
func (f fields) instant(name string) (time.Time, error) {
	s, err := f.text(name)
	if err != nil || s == "" {
		return time.Time{}, err
	}
	for _, layout := range layouts {
		if t, err := time.Parse(layout, s); err == nil {
			if t.Year() < 1970 || t.Year() > 9999 {
				return t, fmt.Errorf("%q is out of range", name)
			}
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no date: write it as 2026-05-01T09:30:00Z", name)
}

// mcpItems reads an entity, of which each observation is a memory, or a relation,
// which is a memory of one sentence.
func mcpItems(kind string, raw []byte) ([]Item, error) {
	var f fields
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, errors.New(describeItem(err))
	}
	if kind == "" || kind == "memories" {
		what, err := f.text("type")
		if err != nil {
			return nil, err
		}
		switch what {
		case "entity":
			kind = "entities"
		case "relation":
			kind = "relations"
		default:
			return nil, errors.New(`its "type" is neither entity nor relation`)
		}
	}
	if kind == "relations" {
		return mcpRelation(f)
	}
	return mcpEntity(f)
}

func mcpEntity(f fields) ([]Item, error) {
	name, err := f.text("name")
	if err != nil {
		return nil, err
	}
	kind, err := f.text("entityType")
	if err != nil {
		return nil, err
	}
	said, err := f.texts("observations")
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(name) == "" {
		return nil, errors.New(`the entity has no "name"`)
	}
	graph := graphOf(Entity{Name: name, Type: kind})
	if len(said) == 0 {
		text := readable(name) + "."
		if kind != "" {
			text = readable(name) + ": " + readable(kind) + "."
		}
		return []Item{{Key: []string{"entity", name, kind}, Text: text, Graph: graph}}, nil
	}
	var out []Item
	for _, s := range said {
		if strings.TrimSpace(s) == "" {
			continue
		}
		text := s
		if !strings.Contains(strings.ToLower(s), strings.ToLower(name)) && !strings.Contains(strings.ToLower(s), strings.ToLower(readable(name))) {
			text = readable(name) + ": " + s
		}
		out = append(out, Item{Key: []string{"observation", name, s}, Text: text, Graph: graph})
	}
	return out, nil
}

func mcpRelation(f fields) ([]Item, error) {
	var parts [3]string
	for i, name := range []string{"from", "relationType", "to"} {
		s, err := f.text(name)
		if err != nil {
			return nil, err
		}
		if strings.TrimSpace(s) == "" {
			return nil, fmt.Errorf("the relation has no %q", name)
		}
		parts[i] = s
	}
	from, kind, to := parts[0], parts[1], parts[2]
	i := Item{Key: []string{"relation", from, kind, to}, Text: readable(from) + " " + readable(kind) + " " + readable(to) + ".",
		Graph: graphOf(Entity{Name: from}, Entity{Name: to})}
	if i.Graph != nil {
		i.Graph.Relations = []Relation{{From: from, Type: kind, To: to}}
	}
	return []Item{i}, nil
}

// maxName is the longest name, in runes, that the graph keeps.
const maxName = 200

// graphOf gives what an item says in the graph, nil when a name is too long for it.
// A name whose words are joined is known by the words too.
func graphOf(es ...Entity) *Graph {
	for i, e := range es {
		if utf8.RuneCountInString(e.Name) > maxName {
			return nil
		}
		if plain := readable(e.Name); plain != e.Name && plain != "" {
			es[i].Aliases = []string{plain}
		}
	}
	return &Graph{By: store.GraphImported, Entities: es}
}

// readable puts spaces for what joins words in names.
func readable(s string) string { return strings.TrimSpace(strings.ReplaceAll(s, "_", " ")) }

func describeItem(err error) string {
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return "it is no object"
	}
	return describe(err)
}
