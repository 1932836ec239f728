package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// rejection is why an answer cannot be used. The reason is one of this
// package's own phrases and may stand in an error; the detail may hold words
// of the answer and goes nowhere but back to the model.
type rejection struct {
	reason string
	detail string
}

// Error gives the reason, never the detail.
func (r *rejection) Error() string { return r.reason }

func reject(reason, detail string, args ...any) *rejection {
	return &rejection{reason: reason, detail: fmt.Sprintf(detail, args...)}
}

// parse finds the one JSON object in an answer, past thinking, fences and
// prose. It mends slips of the pen in an object that is whole (see mended), and
// closes nothing: an object that is cut short is no answer, because closing it
// would make a verdict of whatever came before the cut. Nor are two
// different objects: one of them may be an answer that the data put into the
// model's mouth.
func parse(answer string) ([]byte, error) {
	rest, ok := afterThinking(answer)
	if !ok {
		return nil, reject("the answer ends while thinking", "there was no answer after the thinking")
	}
	if strings.TrimSpace(rest) == "" {
		return nil, reject("the answer is empty", "the answer was empty")
	}
	found, whole := objects(rest)
	switch {
	case !whole:
		return nil, reject("the answer's JSON is cut short", "the JSON object was not complete")
	case len(found) == 0:
		return nil, reject("the answer holds no JSON object", "there was no valid JSON object in the answer")
	}
	for _, other := range found[1:] {
		if !sameJSON(found[0], other) {
			return nil, reject("the answer holds several objects", "there was more than one JSON object; give exactly one")
		}
	}
	if key, twice := repeatedKey(found[0]); twice {
		return nil, reject("the answer repeats a field", "the field %q stood twice in one object", key)
	}
	return []byte(found[0]), nil
}

// afterThinking cuts off the thinking that some models put before an answer;
// templates that open it in the prompt leave only its end. It gives false when
// the thinking has no end.
func afterThinking(s string) (string, bool) {
	s = strings.TrimSpace(strings.TrimPrefix(s, "\ufeff"))
	if strings.HasPrefix(s, "{") {
		return s, true
	}
	for _, tag := range []string{"think", "thinking", "reasoning"} {
		if _, rest, ok := strings.Cut(s, "</"+tag+">"); ok {
			return rest, true
		}
		if strings.HasPrefix(s, "<"+tag+">") {
			return "", false
		}
	}
	return s, true
}

// objects gives the outermost JSON objects of a text, and false when one of
// them has no end. What stands inside an object that is no JSON is not looked
// at.
func objects(s string) (found []string, whole bool) {
	for {
		i := strings.IndexByte(s, '{')
		if i < 0 {
			return found, true
		}
		n := balanced(s[i:])
		if n == 0 {
			return found, false
		}
		if candidate := mended(s[i : i+n]); json.Valid([]byte(candidate)) {
			found = append(found, candidate)
		}
		s = s[i+n:]
	}
}

// balanced gives the length of the object that a text begins with, 0 when it
// has no end.
func balanced(s string) int {
	depth, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// literals are how another language writes what JSON has in lower case.
var literals = map[string]string{"True": "true", "False": "false", "None": "null"}

// mended takes out of an object what models without a schema get wrong most and
// what can be meant in one way only: a comma before a closing bracket, a line end
// or another control character inside a string, the literals of Python. Valid
// JSON stays as it is.
func mended(s string) string {
	var out strings.Builder
	quoted := false
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quoted && c == '\\' && i+1 < len(s):
			out.WriteString(s[i : i+2])
			i++
			continue
		case c == '"':
			quoted = !quoted
		case quoted && c < ' ':
			fmt.Fprintf(&out, `\u%04x`, c)
			continue
		case quoted:
		case c == ',' && strings.IndexAny(strings.TrimLeft(s[i+1:], " \t\r\n"), "}]") == 0:
			continue
		case c == 'T' || c == 'F' || c == 'N':
			word := s[i:]
			if end := strings.IndexFunc(word, func(r rune) bool { return !unicode.IsLetter(r) }); end > 0 {
				word = word[:end]
			}
			if right, ok := literals[word]; ok {
				out.WriteString(right)
				i += len(word) - 1
				continue
			}
		}
		out.WriteByte(c)
	}
	return out.String()
}

func sameJSON(a, b string) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, []byte(a)) == nil && json.Compact(&y, []byte(b)) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// repeatedKey finds a key that stands twice in one object. Decoders differ in
// which of the two they believe, so that a schema could pass one and the code
// act on the other.
func repeatedKey(raw string) (string, bool) {
	type level struct {
		seen map[string]bool // nil in an array
		key  bool            // the next string is a key
	}
	var stack []level
	dec := json.NewDecoder(strings.NewReader(raw))
	for {
		tok, err := dec.Token()
		if err != nil {
			return "", false
		}
		top := len(stack) - 1
		if key, ok := tok.(string); ok && top >= 0 && stack[top].key {
			if stack[top].seen[key] {
				return key, true
			}
			stack[top].seen[key] = true
			stack[top].key = false
			continue
		}
		switch tok {
		case json.Delim('{'):
			stack = append(stack, level{seen: map[string]bool{}, key: true})
			continue
		case json.Delim('['):
			stack = append(stack, level{})
			continue
		case json.Delim('}'), json.Delim(']'):
			stack = stack[:top]
			top--
		}
		if top >= 0 {
			stack[top].key = stack[top].seen != nil
		}
	}
}

// decode reads an object into an answer, refusing fields that it does not have.
func decode(raw []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return reject("the answer does not decode", "the JSON did not have the fields of the form")
	}
	if _, err := dec.Token(); err != io.EOF {
		return reject("the answer does not decode", "there was text after the JSON object")
	}
	return nil
}
