package eval

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/oxbow-memory/oxbow"
)

// maxLine bounds one line, in bytes; whole chats stand on one.
const maxLine = 64 << 20

// Miss is an example that was not answered as its label says.
type Miss struct {
	Line int    `json:"line"`
	Text string `json:"text"`
	Want string `json:"want"`
	Got  string `json:"got"`
}

// each decodes a file's lines, and calls fn with each and its number from 1.
// Empty lines are passed over.
func each[T any](r io.Reader, fn func(line int, v T) error) error {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 0, 64<<10), maxLine)
	n, read := 0, 0
	for sc.Scan() {
		n++
		if len(bytes.TrimSpace(sc.Bytes())) == 0 {
			continue
		}
		var v T
		if err := json.Unmarshal(sc.Bytes(), &v); err != nil {
			return oxbow.WrapError(oxbow.CodeInvalid, err, "line %d is not an example of this task; docs/judge.md and docs/evaluation.md have the forms", n)
		}
		if err := fn(n, v); err != nil {
			return err
		}
		read++
	}
	if err := sc.Err(); err != nil {
		return fmt.Errorf("read the examples: %w", err)
	}
	if read == 0 {
		return oxbow.Errorf(oxbow.CodeInvalid, "the file holds no example")
	}
	return nil
}

// instant reads a day or an instant, with or without its zone.
func instant(s string) (time.Time, error) {
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", time.DateOnly} {
		if t, err := time.Parse(form, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, oxbow.Errorf(oxbow.CodeInvalid, "%q is neither a day nor an instant", s)
}

// share is part of whole, 0 when there is no whole.
func share(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// f1 is the harmonic mean of precision and recall.
func f1(precision, recall float64) float64 {
	if precision+recall == 0 {
		return 0
	}
	return 2 * precision * recall / (precision + recall)
}
