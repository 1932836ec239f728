package carry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

var when = time.Date(2026, 5, 1, 9, 30, 0, 0, time.UTC)

// sample is a small file with a line of most kinds.
func sample(t testing.TB) []byte {
	t.Helper()
	s := oxbow.Scope{Tenant: "default", Name: "user:ada"}
	var out bytes.Buffer
	w, err := NewWriter(&out, Header{Format: Format, Tenant: "default", Scopes: []string{s.Name}, Memories: 1, Turns: 1})
	if err != nil {
		t.Fatal(err)
	}
	id, status := oxbow.NewID("memory"), oxbow.Active
	settings := oxbow.ScopeSettings{Scope: s, Zone: "UTC", Policy: oxbow.DefaultPolicy(), Version: 1, CreatedAt: when, UpdatedAt: when}
	for _, l := range []Line{
		{Scope: &Scope{ScopeSettings: settings}},
		{Run: &oxbow.Run{ID: oxbow.NewID("run"), Scope: s, Name: "write", About: when, StartedAt: when}},
		{Turn: &oxbow.Turn{ID: oxbow.NewID("turn"), Scope: s, User: "<b>We</b> use \u2028 lamps", At: when, State: oxbow.TurnWaiting, CreatedAt: when}},
		{Event: EventOf(store.Told{Event: oxbow.Event{Seq: 7, Scope: s, Memory: id, Version: 1, Type: oxbow.Created, After: oxbow.Patch{Status: &status}, At: when, RecordedAt: when},
			Content: &store.SealedContent{Content: oxbow.Content{Text: "a & b"}, Salt: "ab"}, CreatedAt: when})},
		{Memory: &Memory{Memory: oxbow.Memory{ID: id, Scope: s, Status: status, SaidAt: when, CreatedAt: when, RankKey: 3, HalfLife: 30},
			Graph: &Graph{Entities: []Entity{{Name: "lamp"}}}, Vectors: []Vector{{Embedder: "plain/2/1", Dimensions: 2, Packed: []byte{1, 2, 3}}}}},
		{Schedule: &store.Schedule{Scope: s, Name: "decay", Spec: "0 3 * * *", NextAt: when}},
		{Job: &Job{Tenant: "default", Scope: s.Name, Kind: "extract", Args: json.RawMessage(`{"tenant":"default","scope":"user:ada"}`)}},
	} {
		if err := w.Put(l); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// read reads a file to its end and gives its lines.
func read(b []byte) (ls []Line, err error) {
	r, err := NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	for {
		l, err := r.Next()
		if err == io.EOF {
			if !r.Whole() {
				return ls, errors.New("it ended without its trailer")
			}
			return ls, nil
		}
		if err != nil {
			return ls, err
		}
		ls = append(ls, l)
	}
}

func TestReader(t *testing.T) {
	t.Parallel()
	t.Run("reads what a writer wrote, and a writer writes the same again", func(t *testing.T) {
		t.Parallel()
		b := sample(t)
		ls, err := read(b)
		if err != nil || len(ls) != 7 {
			t.Fatalf("%d lines: %v", len(ls), err)
		}
		if bytes.Contains(b, []byte("rank_key")) || bytes.Contains(b, []byte(`"seq"`)) {
			t.Errorf("what belongs to one database is in the file:\n%s", b)
		}
		var again bytes.Buffer
		r, err := NewReader(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		w, err := NewWriter(&again, r.Header)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range ls {
			if err := w.Put(l); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil || !bytes.Equal(again.Bytes(), b) {
			t.Fatalf("it became\n%s\nand was\n%s\n%v", again.Bytes(), b, err)
		}
	})
	t.Run("names every place at which a file is cut off", func(t *testing.T) {
		t.Parallel()
		b := sample(t)
		head := bytes.IndexByte(b, '\n') + 1
		for n := head; n < len(b)-1; n++ {
			if _, err := read(b[:n]); !errors.Is(err, ErrCut) {
				t.Fatalf("cut at %d of %d bytes: %v", n, len(b), err)
			}
		}
	})
	t.Run("notices a line that is missing, doubled, changed or moved", func(t *testing.T) {
		t.Parallel()
		lines := strings.SplitAfter(string(sample(t)), "\n")
		swap := append([]string{}, lines...)
		swap[1], swap[2] = swap[2], swap[1]
		for name, ls := range map[string][]string{
			"missing": append(append([]string{}, lines[:3]...), lines[4:]...),
			"doubled": append(append([]string{}, lines[:3]...), lines[2:]...),
			"changed": strings.SplitAfter(strings.Replace(string(sample(t)), "a & b", "a & c", 1), "\n"),
			"moved":   swap,
		} {
			_, err := read([]byte(strings.Join(ls, "")))
			if oxbow.CodeOf(err) != oxbow.CodeInvalid || !strings.Contains(err.Error(), "changed or damaged") {
				t.Errorf("a line is %s: %v", name, err)
			}
		}
	})
}

func TestReaderRefuses(t *testing.T) {
	t.Parallel()
	head, _, _ := strings.Cut(string(sample(t)), "\n")
	long := `{"turn":{"user":"` + strings.Repeat("x", 10<<20) + `"}}`
	for name, c := range map[string]struct{ line, want string }{
		"rubbish":                  {"hello", "line 2: it is not JSON"},
		"a list":                   {"[1]", "line 2: "},
		"an unknown kind":          {`{"wish":{}}`, `line 2: there is no field "wish" in this format`},
		"an unknown field":         {`{"job":{"mood":1}}`, `line 2: there is no field "mood"`},
		"no kind":                  {`{}`, "line 2: it is none of the kinds"},
		"a wrong type":             {`{"run":{"id":7}}`, `line 2: "run.id" is a number, which it cannot be`},
		"a second header":          {head, "line 2: it is none of the kinds"},
		"two objects":              {`{"job":{}} {}`, "line 2: there is something behind the object"},
		"a date that is none":      {`{"run":{"about":"yesterday"}}`, "line 2: a date in it is none"},
		"a date out of range":      {`{"run":{"id":"aaaaaaaaaaaaaaaa","scope":{"tenant":"default","name":"u"},"about":"0000-01-01T00:00:00Z"}}`, "line 2: a date is out of range"},
		"another tenant":           {`{"run":{"id":"aaaaaaaaaaaaaaaa","scope":{"tenant":"other","name":"u"}}}`, `line 2: it is of the tenant "other"`},
		"no scope":                 {`{"run":{"id":"aaaaaaaaaaaaaaaa"}}`, "line 2: the tenant"},
		"an id that is none":       {`{"run":{"id":"../../etc","scope":{"tenant":"default","name":"u"}}}`, `line 2: "../../etc" is no id`},
		"a NUL":                    {`{"run":{"id":"aaaaaaaaaaaaaaaa","scope":{"tenant":"default","name":"u"},"note":"a\u0000b"}}`, "line 2: a text holds a NUL"},
		"bytes that are no UTF-8":  {"{\"run\":{\"id\":\"\xff\"}}", "line 2: it holds bytes that are no UTF-8"},
		"a line beyond all bounds": {long, "line 2: it is longer than 8 MiB"},
		"a state that is none":     {`{"turn":{"id":"aaaaaaaaaaaaaaaa","scope":{"tenant":"default","name":"u"},"state":"lost"}}`, `line 2: there is no state "lost"`},
		"a policy that is none":    {`{"scope":{"tenant":"default","name":"u","zone":"UTC","version":1}}`, "line 2: the strength rule"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := read([]byte(head + "\n" + c.line + "\n"))
			if oxbow.CodeOf(err) != oxbow.CodeInvalid || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	for name, c := range map[string]struct{ file, want string }{
		"nothing":        {"", "the file is empty"},
		"no header":      {`{"turn":{}}`, "line 1: it is no header"},
		"a newer format": {`{"header":{"format":2,"later":1}}`, "import it with a newer oxbow"},
		"a wrong tenant": {`{"header":{"format":1,"tenant":"a b"}}`, "is not a name"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := read([]byte(c.file)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// FuzzReader holds the reader to what it promises of any file at all: no panic, an
// error with a code, and no lines behind one.
func FuzzReader(f *testing.F) {
	f.Add(sample(f))
	f.Add([]byte(`{"header":{"format":1,"tenant":"default"}}` + "\n" + `{"event":{"links":[{}]}}`))
	f.Add([]byte("\x1f\x8b"))
	f.Fuzz(func(t *testing.T, b []byte) {
		ls, err := read(b)
		if err != nil && !errors.Is(err, ErrCut) && oxbow.CodeOf(err) == oxbow.CodeInternal {
			t.Fatalf("an error without a code: %v", err)
		}
		for _, l := range ls {
			if l.Kind() == "" || l.In().Validate() != nil {
				t.Fatalf("a line of no kind or no scope: %+v", l)
			}
		}
	})
}

// items reads another program's file.
func items(b string, format string) (out []Item, refused []string, err error) {
	err = Items(strings.NewReader(b), format, func(i Item) error {
		out = append(out, i)
		return nil
	}, func(place string, err error) { refused = append(refused, place+": "+err.Error()) })
	return out, refused, err
}

const someMem0 = `{"id":"m1","memory":"Likes tea","user_id":"ada","run_id":"c1","metadata":{"a":1},"categories":["food"],"created_at":"2024-07-26T08:43:01.5-07:00","updated_at":null,"hash":"h"}`

func TestItems(t *testing.T) {
	t.Parallel()
	forms := map[string]string{
		"a list":           "[" + someMem0 + "]",
		"results":          `{"results":[` + someMem0 + `],"relations":[{"source":"a"}]}`,
		"memories":         "{\n  \"memories\": [\n" + someMem0 + "\n]}",
		"a page":           `{"count":1,"next":null,"previous":null,"results":[` + someMem0 + `]}`,
		"an object a line": someMem0 + "\n\n",
	}
	for name, b := range forms {
		t.Run("reads mem0 as "+name, func(t *testing.T) {
			t.Parallel()
			format, err := Recognise(strings.NewReader(b))
			if err != nil || format != FormatMem0 {
				t.Fatalf("it was taken for %q: %v", format, err)
			}
			out, refused, err := items(b, format)
			if err != nil || len(out) != 1 || len(refused) != 0 {
				t.Fatalf("%v, refused %v: %v", out, refused, err)
			}
			got := out[0]
			if got.Text != "Likes tea" || got.Scope != "user:ada" || got.Conversation != "c1" || fmt.Sprint(got.Tags) != "[food]" ||
				!got.SaidAt.Equal(time.Date(2024, 7, 26, 15, 43, 1, 5e8, time.UTC)) || fmt.Sprint(got.Key) != "[id m1]" {
				t.Errorf("it became %+v", got)
			}
		})
	}
	lines := `{"type":"entity","name":"John_Smith","entityType":"person","observations":["Speaks Spanish","john smith likes tea",""]}
{"type":"entity","name":"Acme","entityType":"company","observations":[]}
{"type":"relation","from":"John_Smith","to":"Acme","relationType":"works_at"}`
	document := `{"entities":[{"name":"John_Smith","entityType":"person","observations":["Speaks Spanish","john smith likes tea",""]},
		{"name":"Acme","entityType":"company","observations":[]}],
		"relations":[{"from":"John_Smith","to":"Acme","relationType":"works_at"}]}`
	for name, b := range map[string]string{"lines": lines, "one object": document} {
		t.Run("reads a memory server's file of "+name, func(t *testing.T) {
			t.Parallel()
			format, err := Recognise(strings.NewReader(b))
			if err != nil || format != FormatMCP {
				t.Fatalf("it was taken for %q: %v", format, err)
			}
			out, refused, err := items(b, format)
			if err != nil || len(refused) != 0 {
				t.Fatalf("refused %v: %v", refused, err)
			}
			var texts []string
			for _, i := range out {
				texts = append(texts, i.Text)
			}
			if got := strings.Join(texts, "|"); got != "John Smith: Speaks Spanish|john smith likes tea|Acme: company.|John Smith works at Acme." {
				t.Errorf("they say %s", got)
			}
			if g := out[3].Graph; g == nil || len(g.Entities) != 2 || len(g.Relations) != 1 || g.Entities[0].Aliases[0] != "John Smith" {
				t.Errorf("the relation says %+v in the graph", g)
			}
		})
	}
}

func TestItemsRefuse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, format, refused, err string }{
		"a memory without words":    {`[{"id":1},` + someMem0 + `]`, FormatMem0, `memories 1: it says nothing`, ""},
		"words that are a number":   {`[{"memory":7},` + someMem0 + `]`, FormatMem0, `memories 1: "memory" is no text`, ""},
		"a date that is none":       {`[{"memory":"a","created_at":"soon"},` + someMem0 + `]`, FormatMem0, `memories 1: "created_at" is no date`, ""},
		"a date out of range":       {`[{"memory":"a","created_at":"0300-01-01T00:00:00Z"},` + someMem0 + `]`, FormatMem0, `memories 1: "created_at" is out of range`, ""},
		"an element that is a text": {`["a",` + someMem0 + `]`, FormatMem0, `memories 1: it is no object`, ""},
		"bytes that are no UTF-8":   {"[{\"memory\":\"\xff\"}," + someMem0 + `]`, FormatMem0, "memories 1: it holds bytes that are no UTF-8", ""},
		"a list that ends":          {`[` + someMem0 + `,{"memory":`, FormatMem0, "", "it ends in the middle; everything before it is taken in"},
		"a long element":            {`[` + someMem0 + `,{"memory":"` + strings.Repeat("x", 10<<20) + `"}]`, FormatMem0, "", "memories 2 is longer than 8 MiB"},
		"a long line":               {someMem0 + "\n" + `{"memory":"` + strings.Repeat("x", 10<<20) + `"}`, FormatMem0, "", "line 2: it is longer than 8 MiB"},
		"a bad line":                {someMem0 + "\nrubbish\n", FormatMem0, "line 2: it is not JSON", ""},
		"results that are no list":  {`{"results":{}}`, FormatMem0, "", `"results" is no list`},
		"a relation without an end": {`{"type":"relation","from":"a","relationType":"b"}`, FormatMCP, `line 1: the relation has no "to"`, ""},
		"an entity without a name":  {`{"type":"entity","observations":["a"]}`, FormatMCP, `line 1: the entity has no "name"`, ""},
		"another type":              {`{"type":"wish"}`, FormatMCP, `line 1: its "type" is neither`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, refused, err := items(c.file, c.format)
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("the error is %v, want %q", err, c.err)
			}
			if all := strings.Join(refused, "\n"); !strings.Contains(all, c.refused) || (c.refused == "") != (all == "") {
				t.Errorf("refused are %q, want %q", all, c.refused)
			}
			if strings.Contains(c.file, someMem0) && len(out) != 1 {
				t.Errorf("the good one was lost: %v", out)
			}
		})
	}
	for name, c := range map[string]struct{ file, want string }{
		"nothing": {" \n", "the file is empty"}, "gzip": {"\x1f\x8b\x08", "compressed"}, "zip": {"PK\x03\x04", "zip archive"},
		"prose": {"hello", "not JSON"}, "another object": {`{"a":1}`, "name its format with --format"},
	} {
		t.Run("recognises no "+name, func(t *testing.T) {
			t.Parallel()
			if _, err := Recognise(strings.NewReader(c.file)); oxbow.CodeOf(err) != oxbow.CodeInvalid || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	t.Run("gives two owners never one scope", func(t *testing.T) {
		t.Parallel()
		seen := map[string]string{}
		for _, owner := range []string{"ada", "a b", "a-b", "a/b", "a\tb", "", "é", strings.Repeat("x", 300), strings.Repeat("x", 301)} {
			name := scopeName("user:", owner)
			if err := (oxbow.Scope{Tenant: "t", Name: name}).Validate(); err != nil || seen[name] != "" {
				t.Errorf("%q gets %q, as %q has: %v", owner, name, seen[name], err)
			}
			seen[name] = owner + "."
		}
	})
}

// FuzzItems holds the readers of other programs' files to what they promise: no
// panic, an error with a code, and only memories that say something.
func FuzzItems(f *testing.F) {
	f.Add([]byte("["+someMem0+"]"), true)
	f.Add([]byte(`{"type":"entity","name":"a_b","entityType":"c","observations":["d"]}`), false)
	f.Add([]byte(`{"entities":[{"name":"a"}],"relations":[{"from":"a","to":"b","relationType":"c"}]}`), false)
	f.Fuzz(func(t *testing.T, b []byte, mem0 bool) {
		format := FormatMCP
		if mem0 {
			format = FormatMem0
		}
		if _, err := Recognise(bytes.NewReader(b)); err != nil && oxbow.CodeOf(err) != oxbow.CodeInvalid {
			t.Fatalf("an error without a code: %v", err)
		}
		out, _, err := items(string(b), format)
		if err != nil && oxbow.CodeOf(err) != oxbow.CodeInvalid {
			t.Fatalf("an error without a code: %v", err)
		}
		for _, i := range out {
			if i.Text == "" || len(i.Key) == 0 || i.Scope != "" && (oxbow.Scope{Tenant: "t", Name: i.Scope}).Validate() != nil {
				t.Fatalf("a memory of nothing: %+v", i)
			}
		}
	})
}
