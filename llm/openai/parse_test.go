package openai

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/oxbow-memory/oxbow"
)

// promptDigests are the digests of prompts and schemas by version. A change of
// either is a new version, because verdicts name it.
var promptDigests = map[int]string{
	1: "801af32e03d82c2e",
	2: "b0aab28fb865eed8",
	3: "6b94309304c94cbe",
	4: "bea1ea366344d05d",
}

func TestPromptVersion(t *testing.T) {
	t.Parallel()
	h := sha256.New()
	err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := files.ReadFile(path)
		h.Write([]byte(path))
		h.Write(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := hex.EncodeToString(h.Sum(nil))[:16]; got != promptDigests[promptVersion] {
		t.Errorf("prompts or schemas have changed to %s: once version %d is released, make a new one", got, promptVersion)
	}
}

// TestSchemas holds the schemas to the subset that every endpoint knows:
// objects with all fields required and no others, string enums, arrays.
func TestSchemas(t *testing.T) {
	t.Parallel()
	sheets, err := loadSheets()
	if err != nil {
		t.Fatal(err)
	}
	known := []string{"type", "additionalProperties", "required", "properties", "items", "enum"}
	var walk func(t *testing.T, node map[string]any, depth int)
	walk = func(t *testing.T, node map[string]any, depth int) {
		for word := range node {
			if !slices.Contains(known, word) {
				t.Errorf("%q is not known everywhere", word)
			}
		}
		if depth > 8 {
			t.Error("the schema is too deep")
		}
		if items, ok := node["items"].(map[string]any); ok {
			walk(t, items, depth+1)
		}
		if node["type"] != "object" {
			return
		}
		props := node["properties"].(map[string]any)
		if node["additionalProperties"] != false || len(node["required"].([]any)) != len(props) {
			t.Error("an object is open or has optional fields")
		}
		for _, p := range props {
			walk(t, p.(map[string]any), depth+1)
		}
	}
	for purpose, s := range sheets {
		t.Run("holds for "+purpose, func(t *testing.T) {
			t.Parallel()
			var root map[string]any
			if err := json.Unmarshal(s.schema, &root); err != nil {
				t.Fatal(err)
			}
			walk(t, root, 0)
		})
	}
}

func TestReadExtraction(t *testing.T) {
	t.Parallel()
	draft := func(change func(map[string]any)) string {
		m := map[string]any{"quote": "q", "text": "t", "summary": "s", "tags": []string{"a"}, "kind": "fact", "slot": "user", "key": "timezone", "importance": 5,
			"confidence": "weak", "ends": "date", "phrase": "by then", "date": "2028-02-29"}
		change(m)
		b, err := json.Marshal(map[string]any{"memories": []any{m}, "reason": "none"})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for name, change := range map[string]func(map[string]any){
		"no text":                   func(m map[string]any) { m["text"] = " \u200b " },
		"a text beyond bounds":      func(m map[string]any) { m["text"] = strings.Repeat("x", maxText+1) },
		"no quote":                  func(m map[string]any) { m["quote"] = "" },
		"an importance over 10":     func(m map[string]any) { m["importance"] = 10.5 },
		"an importance below 0":     func(m map[string]any) { m["importance"] = -1 },
		"an importance in no range": func(m map[string]any) { m["importance"] = math.MaxFloat64 },
	} {
		t.Run("refuses "+name, func(t *testing.T) {
			t.Parallel()
			if out, _, err := readExtraction([]byte(draft(change)), time.UTC); err == nil || len(out.Drafts) != 0 {
				t.Errorf("got %+v, %v", out, err)
			}
		})
	}
	t.Run("keeps a fact without an address as free knowledge", func(t *testing.T) {
		t.Parallel()
		for _, change := range []func(map[string]any){
			func(m map[string]any) { m["slot"] = "none" }, func(m map[string]any) { m["key"] = " " },
		} {
			out, _, err := readExtraction([]byte(draft(change)), time.UTC)
			if err != nil || out.Drafts[0].Kind != oxbow.Semantic || out.Drafts[0].Slot != "" || out.Drafts[0].Key != "" {
				t.Errorf("got %+v, %v", out, err)
			}
		}
	})
	t.Run("reads how surely it is stated and when it ends, in the zone", func(t *testing.T) {
		t.Parallel()
		zone := time.FixedZone("", 9*3600)
		out, _, err := readExtraction([]byte(draft(func(map[string]any) {})), zone)
		d := out.Drafts[0]
		if err != nil || d.Rating == nil || d.Rating.Confidence != 0.3 || d.Expiry == nil || d.Expiry.Phrase != "by then" ||
			!d.Expiry.Date.Equal(time.Date(2028, 2, 29, 23, 59, 59, 0, zone)) {
			t.Errorf("got %+v, %v", d, err)
		}
	})
	t.Run("leaves an end that makes no sense to be asked for alone", func(t *testing.T) {
		t.Parallel()
		for _, change := range []func(map[string]any){
			func(m map[string]any) { m["date"] = "2027-02-29" }, func(m map[string]any) { m["phrase"] = "" },
			func(m map[string]any) { m["ends"] = "event" }, func(m map[string]any) { m["ends"] = "never" },
		} {
			out, _, err := readExtraction([]byte(draft(change)), time.UTC)
			if err != nil || len(out.Drafts) != 1 || out.Drafts[0].Expiry != nil || out.Drafts[0].Rating == nil {
				t.Errorf("got %+v, %v", out, err)
			}
		}
	})
	t.Run("gives no address to what is no fact", func(t *testing.T) {
		t.Parallel()
		out, _, err := readExtraction([]byte(draft(func(m map[string]any) { m["kind"] = "preference" })), time.UTC)
		if err != nil || out.Drafts[0].Slot != "" || out.Drafts[0].Key != "" {
			t.Errorf("got %+v, %v", out, err)
		}
	})
	t.Run("shortens summaries and drops what is too much", func(t *testing.T) {
		t.Parallel()
		one := strings.TrimSuffix(strings.TrimPrefix(draft(func(m map[string]any) {
			m["summary"] = strings.Repeat("ä", 300)
			m["tags"] = []string{"a", "a", "", strings.Repeat("x", 100), "b"}
		}), `{"memories":[`), `],"reason":"none"}`)
		raw := `{"reason":"none","memories":[` + strings.Repeat(one+",", maxDrafts+2) + one + `]}`
		out, dropped, err := readExtraction([]byte(raw), time.UTC)
		if err != nil || len(out.Drafts) != maxDrafts || dropped != 3 {
			t.Fatalf("%d drafts, %d dropped, %v", len(out.Drafts), dropped, err)
		}
		if n := utf8.RuneCountInString(out.Drafts[0].Summary); n != maxSummary || !slices.Equal(out.Drafts[0].Tags, []string{"a", "b"}) {
			t.Errorf("the summary has %d characters, the tags are %v", n, out.Drafts[0].Tags)
		}
	})
}

func TestReadExpiry(t *testing.T) {
	t.Parallel()
	for raw, ok := range map[string]bool{
		`{"phrase":"by then","ends":"date","date":"2028-02-29"}`:           true,
		`{"phrase":"by then","ends":"date","date":"2027-02-29"}`:           false,
		`{"phrase":"by then","ends":"date","date":"29.2.2028"}`:            false,
		`{"phrase":"by then","ends":"date","date":""}`:                     false,
		`{"phrase":"","ends":"date","date":"2028-02-29"}`:                  false,
		`{"phrase":"by then","ends":"date","date":"0001-01-01"}`:           false,
		`{"phrase":"by then","ends":"event","date":"2028-02-29"}`:          false,
		`{"phrase":"","ends":"event","date":""}`:                           false,
		`{"phrase":"","ends":"never","date":"2028-02-29"}`:                 false,
		`{"phrase":"","ends":"never","date":""}`:                           true,
		`{"phrase":"by then","ends":"date","date":"2028-02-29T10:00:00Z"}`: false,
	} {
		if _, err := readExpiry([]byte(raw), time.UTC); (err == nil) != ok {
			t.Errorf("%s gave %v", raw, err)
		}
	}
}

// FuzzParse holds every reader of answers to what it promises, whatever a
// model writes.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `{"level":"weak"}`, `{"level":"weak",}`, "{\"text\":\"a\nb\",\"summary\":\"\",\"tags\":[\"x\",],}", `{"a":None,"b":[True,False],"c":"True, }"}`, `<think>{"level":"weak"}</think>{"level":"explicit"}`, `{"level":"weak"`,
		`{"relations":[{"label":"c1","relation":"contradicts"},{"label":"c9","relation":"supersedes"}]}`,
		`{"phrase":"by Friday","ends":"date","date":"2026-11-20"}`, `{"groups":[{"labels":["c1","c2","c2","x"]}]}`,
		`{"labels":["c2","c9","c2","c1","c3"]}`, `{"text":"a\u202eb","summary":"","tags":["x"]}`, `{"level":"weak","level":"explicit"}`, "```json\n{\"a\":\"}\"}\n```",
		`{"memories":[{"quote":"q","text":"t","summary":"","tags":[],"kind":"fact","slot":"user","key":"k","importance":1e1,"confidence":"weak","ends":"date","phrase":"x","date":"2027-02-28"}],"reason":"none"}`,
	} {
		f.Add(seed)
	}
	sheets, err := loadSheets()
	if err != nil {
		f.Fatal(err)
	}
	offered := map[string]int{"c1": 0, "c2": 1, "c3": 2}
	f.Fuzz(func(t *testing.T, answer string) {
		raw, err := parse(answer)
		if err != nil {
			var r *rejection
			if !errors.As(err, &r) || r.reason == "" || r.detail == "" {
				t.Fatalf("a rejection says nothing: %v", err)
			}
			return
		}
		if !json.Valid(raw) || !bytes.HasPrefix(raw, []byte("{")) || !standsIn(answer, string(raw)) {
			t.Fatalf("%q is not an object out of the answer", raw)
		}
		if json.Valid([]byte(answer)) && mended(answer) != answer {
			t.Fatalf("%q is valid and was changed to %q", answer, mended(answer))
		}
		for purpose, s := range sheets {
			if s.holds(raw) == nil {
				checkAnswer(t, purpose, raw, offered)
			}
		}
	})
}

// standsIn tells whether an object is one of an answer, mended or not.
func standsIn(answer, object string) bool {
	for i := range len(answer) {
		if answer[i] == '{' {
			if n := balanced(answer[i:]); n > 0 && mended(answer[i:i+n]) == object {
				return true
			}
		}
	}
	return false
}

func checkAnswer(t *testing.T, purpose string, raw []byte, offered map[string]int) {
	switch purpose {
	case extract:
		out, _, err := readExtraction(raw, time.UTC)
		for _, d := range out.Drafts {
			if err != nil || d.Text == "" || d.Quote == "" || !(d.Importance >= 0 && d.Importance <= 10) || !slices.Contains(oxbow.Kinds, d.Kind) ||
				(d.Kind == oxbow.Fact) != (d.Key != "") || d.Rating == nil || d.Expiry != nil && (!d.Expiry.Date.IsZero() || d.Expiry.Event) != (d.Expiry.Phrase != "") || utf8.RuneCountInString(d.Summary) > maxSummary || clean(d.Text) != d.Text {
				t.Fatalf("the draft %+v is out of bounds (%v)", d, err)
			}
		}
	case confidence:
		if r, err := readRating(raw); err == nil && !slices.Contains([]float64{1, 0.7, 0.5, 0.3, 0.1}, r.Confidence) {
			t.Fatalf("the rating is %v", r)
		}
	case relate:
		out, _, _ := readRelations(raw, offered)
		seen := map[string]bool{}
		for _, r := range out {
			if _, ok := offered[r.Label]; !ok || seen[r.Label] || !slices.Contains(relations, r.Relation) {
				t.Fatalf("the relation %+v was not offered", r)
			}
			seen[r.Label] = true
		}
	case expiry:
		if e, err := readExpiry(raw, time.UTC); err == nil && (e.Event && !e.Date.IsZero() || (e.Event || !e.Date.IsZero()) && e.Phrase == "") {
			t.Fatalf("the expiry %+v makes no sense", e)
		}
	case cluster:
		groups, _, _ := readGroups(raw, offered)
		seen := map[string]bool{}
		for _, g := range groups {
			for _, l := range g {
				if _, ok := offered[l]; !ok || seen[l] || len(g) < 2 {
					t.Fatalf("the group %v was not offered", g)
				}
				seen[l] = true
			}
		}
	case selection:
		out, _, _ := readSelection(raw, offered, 2)
		for i, l := range out {
			if _, ok := offered[l]; !ok || slices.Contains(out[:i], l) || len(out) > 2 {
				t.Fatalf("the selection %v was not offered", out)
			}
		}
	case synthesize:
		if s, err := readSynthesis(raw); err == nil && (s.Text == "" || clean(s.Text) != s.Text) {
			t.Fatalf("the synthesis %+v is out of bounds", s)
		}
	}
}

func TestMended(t *testing.T) {
	t.Parallel()
	for from, want := range map[string]string{
		`{"a":1,}`:                      `{"a":1}`,
		`{"a":[1,2 , ` + "\n" + `] , }`: `{"a":[1,2  ` + "\n" + `]  }`,
		"{\"a\":\"one\ntwo\"}":          `{"a":"one\u000atwo"}`,
		`{"a":None,"b":True,"c":False}`: `{"a":null,"b":true,"c":false}`,
		`{"a":"x,}","b":"None \", ]"}`:  `{"a":"x,}","b":"None \", ]"}`,
		`{"a":Nonesuch}`:                `{"a":Nonesuch}`,
		`{"a":1`:                        `{"a":1`,
		`{"a":"x`:                       `{"a":"x`,
		`{"a":1,`:                       `{"a":1,`,
	} {
		if got := mended(from); got != want {
			t.Errorf("%s became %s, want %s", from, got, want)
		}
	}
}

// FuzzFault holds the reader of errors to what it promises, whatever an endpoint
// writes: nothing of it is told but a plain word.
func FuzzFault(f *testing.F) {
	for _, seed := range []string{``, `{}`, `{"error":{"message":"m","code":429}}`, `{"error":"quota","type":"insufficient_quota"}`,
		`{"error":{"code":"503"}}`, `{"error":null,"choices":[]}`, `<html>`, `{"error":{"code":1e99}}`, `{"error":[1]}`, `{"code":"json_schema"}`} {
		f.Add(200, []byte(seed), "7")
		f.Add(400, []byte(seed), "Wed, 21 Oct 2026 07:28:00 GMT")
	}
	f.Fuzz(func(t *testing.T, status int, body []byte, wait string) {
		x := &exchange{status: status, body: body, header: http.Header{"Retry-After": {wait}}}
		no := x.fault()
		if no == nil {
			return
		}
		if no.wait < 0 || no.wait > maxWait || no.code != "" && !plainWordForm.MatchString(no.code) || status == 200 && (no.status < 400 || no.status > 599) {
			t.Fatalf("got %+v", no)
		}
		if err := no.err("http://host/v1", "small"); err == nil || len(no.message) > 40 && strings.Contains(err.Error(), no.message) {
			t.Fatalf("the error tells what was written: %v", err)
		}
	})
}

func TestKeysOfModels(t *testing.T) {
	t.Parallel()
	for said, want := range map[[2]string]string{
		{"user", "time_zone"}:           "timezone",
		{"user", "Current City"}:        "location",
		{"user", "user_job_title"}:      "role",
		{"project", "primary-database"}: "database",
		{"project", "city"}:             "city", // of a project it is something else
		{"agent", "response_language"}:  "language",
		{"user", "shoe_size"}:           "shoe_size",
	} {
		if got := sameKey(said[0], said[1]); got != want {
			t.Errorf("%s/%s is kept as %q, want %q", said[0], said[1], got, want)
		}
	}
}
