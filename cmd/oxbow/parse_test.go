package main

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
)

func TestParseConfig(t *testing.T) {
	t.Parallel()

	t.Run("reads what TOML means by the same text", func(t *testing.T) {
		t.Parallel()
		got, err := parseConfig("\ufeff# first\n tenant = \"a \\\"b\\\" # c\" # d\njudge='off#line'\n[ worker ] # e\nwrite = 12 # f\n\n[openai]\nkey = \"\\u00e9\"\r\n")
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]fileValue{
			"tenant": {`a "b" # c`, 2}, "judge": {"off#line", 3}, "worker.write": {"12", 5}, "openai.key": {"é", 8},
		} {
			if got[name] != want {
				t.Errorf("%s is %+v, want %+v", name, got[name], want)
			}
		}
		if len(got) != 4 {
			t.Errorf("%d values: %v", len(got), got)
		}
	})

	for _, c := range []struct{ name, in, want string }{
		{"a setting that does not exist", "tenant='a'\ncolour = 1", "line 2: there is no setting colour"},
		{"a setting that stands twice", "tenant='a'\ntenant='b'", "line 2: tenant is set in line 1 already"},
		{"a line that is none", "tenant", "line 1: a setting is written as"},
		{"a table of tables", "[[worker]]", "line 1: a table is written as"},
		{"a word without quotation marks", "tenant = ada", "line 1: the value of tenant is no number"},
		{"a string without an end", "tenant = 'ada", "no closing quotation mark"},
		{"two values", "tenant = 'ada' 'bob'", "something behind the value of tenant"},
		{"a list", "tenant = ['ada']", "is no number"},
		{"bytes that are no text", "tenant = '\xff'", "not UTF-8"},
	} {
		t.Run("refuses "+c.name, func(t *testing.T) {
			t.Parallel()
			if _, err := parseConfig(c.in); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func FuzzParseConfig(f *testing.F) {
	for _, s := range []string{"", "[openai]\nkey=\"x\"", "tenant = '''a'''", "worker.write = -0.5", "tenant = \"\\", "[", "=", "tenant = `a`"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := parseConfig(s)
		if err != nil && oxbow.CodeOf(err) == oxbow.CodeInternal {
			return // a line that is longer than any file
		}
		for name, v := range got {
			if !isKey(name) || v.line < 1 || v.line > strings.Count(s, "\n")+1 {
				t.Fatalf("%q gives %s = %+v", s, name, v)
			}
		}
	})
}

func TestParseTurn(t *testing.T) {
	t.Parallel()

	t.Run("reads every field", func(t *testing.T) {
		t.Parallel()
		got, err := parseTurn([]byte(`{"id":"x","scope":"s","conversation":"c","user":"u","assistant":"a","at":"2026-05-01T09:30:00+02:00","parts":[{"source":"web","text":"p"}]}`), "t", "other")
		if err != nil || got.ID != "x" || got.Scope != (oxbow.Scope{Tenant: "t", Name: "s"}) || got.Conversation != "c" ||
			got.User != "u" || got.Assistant != "a" || len(got.Parts) != 1 || !got.At.Equal(time.Date(2026, 5, 1, 7, 30, 0, 0, time.UTC)) {
			t.Errorf("%+v, %v", got, err)
		}
	})

	for _, c := range []struct{ name, in, want string }{
		{"an end in the middle", `{"user":"u`, "ends in the middle"},
		{"a number for a text", `{"user":1}`, `"user" is a number`},
		{"a part that is a string", `{"parts":["x"]}`, "which it cannot be"},
		{"a name that it does not know", `{"text":"x"}`, `no field "text"`},
		{"two objects", `{"at":"2026-05-01T09:30:00Z"} {}`, "something behind the object"},
		{"no time", `{"user":"u"}`, "does not say when"},
		{"null", `null`, "does not say when"},
	} {
		t.Run("refuses "+c.name, func(t *testing.T) {
			t.Parallel()
			if _, err := parseTurn([]byte(c.in), "t", "s"); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func FuzzParseTurn(f *testing.F) {
	for _, s := range []string{`{}`, `{"user":"u","at":"2026-05-01T09:30:00Z"}`, `{"parts":[{"source":"web"}]}`, `[`, `{"id":{}}`, "\x00", `{"user":"\ud800"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		turn, err := parseTurn(raw, "t", "s")
		if err != nil && oxbow.CodeOf(err) != oxbow.CodeInvalid {
			t.Fatalf("%q: %v", raw, err)
		}
		if err == nil && (turn.At.IsZero() && !bytes.Contains(raw, []byte("0001-")) || turn.Scope.Name == "" || turn.Scope.Tenant != "t") {
			t.Fatalf("%q gives %+v", raw, turn)
		}
	})
}

func TestLineReader(t *testing.T) {
	t.Parallel()

	t.Run("gives every line, whatever its end, and goes on after one that is too long", func(t *testing.T) {
		t.Parallel()
		most := strings.Repeat("x", maxLine)
		for _, long := range []int{maxLine + 1, maxLine + 2, maxLine + 3, 3 * maxLine} {
			in := "\ufeffa\r\n\n" + most + "\n" + strings.Repeat("y", long) + "\nb\n" + strings.Repeat("z", long)
			r := newLineReader(iotestOneByte{strings.NewReader(in)})
			for i, want := range []string{"a", "", most, "!", "b", "!"} {
				got, err := r.next()
				if want == "!" {
					if !errors.Is(err, errLongLine) {
						t.Errorf("line %d of %d bytes: %v", i+1, long, err)
					}
				} else if err != nil || string(got) != want {
					t.Errorf("line %d: %d bytes, %v", i+1, len(got), err)
				}
			}
			if _, err := r.next(); err != io.EOF {
				t.Errorf("after the last: %v", err)
			}
		}
	})
}

// iotestOneByte reads in small pieces, as a pipe does.
type iotestOneByte struct{ r io.Reader }

func (o iotestOneByte) Read(p []byte) (int, error) { return o.r.Read(p[:min(len(p), 4099)]) }

func TestTimes(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("Europe/Stockholm")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 10, 26, 12, 0, 0, 0, time.UTC)

	t.Run("a day ends at its end in the zone, also when clocks change", func(t *testing.T) {
		t.Parallel()
		for in, want := range map[string]string{
			"2026-10-25":                "2026-10-25T23:00:00Z", // 25 hours long
			"2026-06-30":                "2026-06-30T22:00:00Z",
			"2026-06-30T18:00:00+02:00": "2026-06-30T16:00:00Z",
		} {
			if got, err := parseEnd(in, zone); err != nil || got.Format(time.RFC3339) != want {
				t.Errorf("%s ends %v, %v, want %s", in, got, err, want)
			}
		}
	})

	t.Run("since begins at the day's beginning, or so long ago", func(t *testing.T) {
		t.Parallel()
		for in, want := range map[string]string{
			"2026-10-25": "2026-10-24T22:00:00Z", "7d": "2026-10-19T12:00:00Z", "48h": "2026-10-24T12:00:00Z",
			"2w": "2026-10-12T12:00:00Z", "0d": "2026-10-26T12:00:00Z", "2026-10-25T01:00:00Z": "2026-10-25T01:00:00Z",
		} {
			if got, err := parseSince(in, zone, now); err != nil || got.Format(time.RFC3339) != want {
				t.Errorf("%s is %v, %v, want %s", in, got, err, want)
			}
		}
	})

	t.Run("refuses what is no time, and says what is one", func(t *testing.T) {
		t.Parallel()
		for _, in := range []string{"tomorrow", "-7d", "-2h", "99999999d", "d", "2026-13-01"} {
			if _, err := parseSince(in, zone, now); oxbow.CodeOf(err) != oxbow.CodeInvalid {
				t.Errorf("--since %s: %v", in, err)
			}
			if _, err := parseEnd(in, zone); oxbow.CodeOf(err) != oxbow.CodeInvalid {
				t.Errorf("--expires %s: %v", in, err)
			}
		}
	})
}

func TestExitCode(t *testing.T) {
	t.Parallel()

	t.Run("hides the text of an internal error behind a log line", func(t *testing.T) {
		t.Parallel()
		var said bytes.Buffer
		a := newApp(nil, io.Discard, &said, func(string) (string, bool) { return "", false })
		if code := a.exitCode(errors.New("index out of range")); code != exitError {
			t.Errorf("exits with %d", code)
		}
		log, message, _ := strings.Cut(said.String(), "\n")
		if !strings.Contains(log, `"level":"ERROR"`) || !strings.Contains(log, "index out of range") || strings.Contains(message, "index") {
			t.Errorf("said %q", said.String())
		}
	})

	t.Run("has a code for every code of errors", func(t *testing.T) {
		t.Parallel()
		a := newApp(nil, io.Discard, io.Discard, func(string) (string, bool) { return "", false })
		for code, want := range map[string]int{
			oxbow.CodeInvalid: 2, oxbow.CodeNotFound: 3, oxbow.CodeConflict: 4, oxbow.CodeUnauthorized: 1,
			oxbow.CodeUnavailable: 1, oxbow.CodeBudget: 1, oxbow.CodeUnsupported: 1, oxbow.CodeInternal: 1,
		} {
			if got := a.exitCode(oxbow.Errorf(code, "x")); got != want {
				t.Errorf("%s exits with %d, want %d", code, got, want)
			}
		}
	})
}

func TestWrap(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{"one two three four five six", 20, "one two three four|five six"},
		{strings.Repeat("x", 45), 20, strings.Repeat("x", 20) + "|" + strings.Repeat("x", 20) + "|xxxxx"},
		{"数据库数据库数据库数据库数据库", 20, "数据库数据库数据库数|据库数据库"},
		{"", 20, ""},
	} {
		if got := strings.Join(wrap(c.in, c.n), "|"); got != c.want {
			t.Errorf("%q becomes %q", c.in, got)
		}
	}
	for _, l := range wrap("a 数据库 word 数据库数据库数据库数据库数据库 e\u0301nd", 20) {
		if cellWidth(l) > 20 {
			t.Errorf("%q is wider than 20 columns", l)
		}
	}
}

func TestTable(t *testing.T) {
	t.Parallel()

	t.Run("keeps to the terminal and cuts what is too long", func(t *testing.T) {
		t.Parallel()
		var out bytes.Buffer
		a := &app{out: &out, width: 60}
		p := printerTo(a)
		rows := newTable("ID", "WHY", "TEXT")
		rows.add("a", strings.Repeat("because ", 9), strings.Repeat("数据 ", 40))
		rows.add("b", "x", "\x1b[31mred")
		p.table(rows)
		if err := p.w.Flush(); err != nil {
			t.Fatal(err)
		}
		for l := range strings.Lines(out.String()) {
			if cellWidth(strings.TrimRight(l, "\n")) > 60 || strings.Contains(l, "\x1b") {
				t.Errorf("the line %q", l)
			}
		}
	})
}
