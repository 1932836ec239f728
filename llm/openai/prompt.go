package openai

import (
	"bytes"
	"crypto/rand"
	"embed"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// promptVersion is the version of the prompts and schemas together; it stands
// in the judge's name and in the first line of each prompt. It moves whenever
// a word of either does (a test holds their digest).
const promptVersion = 4

//go:embed prompts/*.txt schemas/*.json
var files embed.FS

// The purposes: one prompt and one schema each, named alike.
const (
	extract    = "extract"
	confidence = "confidence"
	relate     = "relate"
	expiry     = "expiry"
	cluster    = "cluster"
	synthesize = "synthesize"
	selection  = "select"
	graph      = "graph"
	observe    = "observe"
	reflection = "reflect"
)

var purposes = []string{extract, confidence, relate, expiry, cluster, synthesize, selection, graph, observe, reflection}

// sheet is what a model is told for one purpose. It is the same for every
// call, so that endpoints can cache it.
type sheet struct {
	system string          // what is asked, then the rules
	after  string          // the rule, once more behind the data
	schema json.RawMessage // the form of the answer, in the subset that every endpoint knows
	check  *jsonschema.Schema
}

func loadSheets() (map[string]sheet, error) {
	rules, err := files.ReadFile("prompts/rules.txt")
	if err != nil {
		return nil, fmt.Errorf("read prompt rules: %w", err)
	}
	after, err := files.ReadFile("prompts/after.txt")
	if err != nil {
		return nil, fmt.Errorf("read prompt after: %w", err)
	}
	sheets := make(map[string]sheet, len(purposes))
	for _, purpose := range purposes {
		s, err := loadSheet(purpose)
		if err != nil {
			return nil, err
		}
		s.system += "\n" + strings.TrimSpace(string(rules))
		s.after = strings.TrimSpace(string(after))
		sheets[purpose] = s
	}
	return sheets, nil
}

func loadSheet(purpose string) (sheet, error) {
	prompt, err := files.ReadFile("prompts/" + purpose + ".txt")
	if err != nil {
		return sheet{}, fmt.Errorf("read prompt %s: %w", purpose, err)
	}
	if !bytes.HasPrefix(prompt, fmt.Appendf(nil, "oxbow/%s@%d\n", purpose, promptVersion)) {
		return sheet{}, fmt.Errorf("read prompt %s: its first line does not say version %d", purpose, promptVersion)
	}
	raw, err := files.ReadFile("schemas/" + purpose + ".json")
	if err != nil {
		return sheet{}, fmt.Errorf("read schema %s: %w", purpose, err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		return sheet{}, fmt.Errorf("read schema %s: %w", purpose, err)
	}
	check, err := compile(purpose, raw)
	if err != nil {
		return sheet{}, fmt.Errorf("compile schema %s: %w", purpose, err)
	}
	return sheet{system: string(prompt), schema: compact.Bytes(), check: check}, nil
}

func compile(purpose string, raw []byte) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	// An absolute address, because a relative one is resolved against the
	// working directory, which would then stand in the validator's messages.
	address := "https://oxbow.invalid/" + purpose + ".json"
	c := jsonschema.NewCompiler()
	if err := c.AddResource(address, doc); err != nil {
		return nil, err
	}
	return c.Compile(address)
}

// holds tells whether an answer is of the form asked for. The detail of its
// rejection is the validator's message.
func (s sheet) holds(raw []byte) error {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return reject("the answer is not JSON", "the answer was not valid JSON")
	}
	err = s.check.Validate(doc)
	if err == nil {
		return nil
	}
	_, lines, _ := strings.Cut(err.Error(), "\n") // the first line names the schema only
	return reject("the answer does not hold to its schema", "%s", lines)
}

// systemText gives the constant first message. On the lower rungs, and when an
// answer was off its form, the schema stands in it.
func (s sheet) systemText(withSchema bool) string {
	if !withSchema {
		return s.system
	}
	return s.system + "\n- The JSON object holds to this JSON schema: " + string(s.schema)
}

// markLength is that of a fence's mark: 60 bits, which nobody guesses.
const markLength = 12

// userText gives the second message: the data in a fence with a fresh mark,
// then the rule again, then what was wrong with the last answer. The data is
// JSON on one line, so that no text in it can write a line of its own, and the
// mark cannot be known to whoever wrote it.
func (s sheet) userText(data any, complaint string) (string, error) {
	b, err := json.Marshal(data)
	if err != nil {
		return "", fmt.Errorf("encode the question: %w", err)
	}
	mark := rand.Text()[:markLength]
	var out strings.Builder
	fmt.Fprintf(&out, "BEGIN DATA %s\n%s\nEND DATA %s\n%s", mark, b, mark, s.after)
	if complaint != "" {
		q, err := json.Marshal(cut(clean(complaint), 600))
		if err != nil {
			return "", fmt.Errorf("encode the complaint: %w", err)
		}
		fmt.Fprintf(&out, "\nAn earlier answer was not of the form asked for. A validator said: %s. Answer again.", q)
	}
	return out.String(), nil
}

// clean takes out what a reader cannot see but a model reads: control
// characters but line end and tab, zero-width characters, marks that reorder
// text, tags. The joiners that scripts and emoji need stay.
//
// Limit: a quote from a text with such characters is not found in it byte for
// byte.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\u200c' || r == '\u200d':
			return r
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
}

// cut shortens a text to at most n bytes, at a rune's start, and marks the cut.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	const mark = "…"
	n -= len(mark)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + mark
}
