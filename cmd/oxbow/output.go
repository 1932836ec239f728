package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"golang.org/x/text/width"

	"github.com/oxbow-memory/oxbow/internal/text"
)

// show prints data: v as JSON when a program asks, else what people does.
func (a *app) show(v any, people func(*printer)) error {
	p := printerTo(a)
	if a.format != "json" {
		people(p)
	} else if err := writeJSON(p.w, v); err != nil {
		return err
	}
	return p.w.Flush()
}

func printerTo(a *app) *printer { return &printer{w: bufio.NewWriter(a.out), a: a} }

// writeJSON writes v so that a terminal can show it too: what would steer a
// terminal or reorder text stands as an escape, which parses to the same.
func writeJSON(w io.Writer, v any) error {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return writeText(w, b.String())
}

// writeText writes JSON text with such characters as escapes.
func writeText(w io.Writer, s string) error {
	var out strings.Builder
	for _, r := range s {
		switch {
		case r == '\n' || !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp):
			out.WriteRune(r)
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// orEmpty gives an empty list for none, so that JSON has [] and not null.
func orEmpty[T any](v []T) []T {
	if v == nil {
		return []T{}
	}
	return v
}

// printer prints for people. Nothing stored reaches w but through Printable.
type printer struct {
	w *bufio.Writer
	a *app
}

// styled is text that is printable already and may hold escapes of ours.
type styled string

// line prints one line. Its strings are made printable, its format is ours.
func (p *printer) line(format string, args ...any) {
	for i, v := range args {
		if s, ok := v.(string); ok {
			args[i] = text.Printable(s)
		}
	}
	_, _ = fmt.Fprintf(p.w, format+"\n", args...)
}

// pair prints a name and its value, the values under each other.
func (p *printer) pair(name, value string) {
	if value == "" {
		return
	}
	value = text.Printable(value)
	indent := strings.Repeat(" ", 15)
	for i, l := range wrap(value, p.a.columns()-len(indent)) {
		head := styled(indent)
		if i == 0 {
			head = p.dim(fmt.Sprintf("  %-12s ", name))
		}
		_, _ = fmt.Fprintf(p.w, "%s%s\n", head, l)
	}
}

// prose prints a text wrapped to the terminal, its later lines indented.
func (p *printer) prose(first styled, rest, s string) {
	for i, l := range wrap(text.Printable(s), p.a.columns()-len(rest)) {
		head := styled(rest)
		if i == 0 {
			head = first
		}
		_, _ = fmt.Fprintf(p.w, "%s%s\n", head, l)
	}
}

func (p *printer) bold(s string) styled { return p.style("1", s) }
func (p *printer) dim(s string) styled  { return p.style("2", s) }

func (p *printer) style(code, s string) styled {
	s = text.Printable(s)
	if !p.a.colour {
		return styled(s)
	}
	return styled("\x1b[" + code + "m" + s + "\x1b[0m")
}

// table is rows under a head. On a terminal the last column gives way.
type table struct {
	head []string
	rows [][]string
}

func newTable(head ...string) *table { return &table{head: head} }

func (t *table) add(cells ...string) {
	for i := range cells {
		cells[i] = text.Printable(cells[i])
	}
	t.rows = append(t.rows, cells)
}

// narrow is how many columns a terminal has at most for a table to leave out
// what is not needed most.
const narrow = 110

// without leaves columns out.
func (t *table) without(names ...string) {
	for _, name := range names {
		i := slices.Index(t.head, name)
		t.head = slices.Delete(t.head, i, i+1)
		for r := range t.rows {
			t.rows[r] = slices.Delete(t.rows[r], i, i+1)
		}
	}
}

// gap stands between two columns.
const gap = 2

func (p *printer) table(t *table) {
	widths := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], cellWidth(cell))
		}
	}
	last := len(widths) - 1
	if p.a.width > 0 {
		room := p.a.width
		for i := range widths[:last] {
			widths[i] = min(widths[i], max(16, p.a.width/4))
			room -= widths[i] + gap
		}
		widths[last] = max(12, min(widths[last], room))
	}
	p.row(t.head, widths, p.bold)
	for _, row := range t.rows {
		p.row(row, widths, func(s string) styled { return styled(s) })
	}
}

func (p *printer) row(cells []string, widths []int, style func(string) styled) {
	var b strings.Builder
	for i, cell := range cells {
		if p.a.width > 0 {
			cell = cut(cell, widths[i])
		}
		b.WriteString(cell)
		if i < len(cells)-1 {
			b.WriteString(strings.Repeat(" ", widths[i]-cellWidth(cell)+gap))
		}
	}
	_, _ = fmt.Fprintln(p.w, style(strings.TrimRight(b.String(), " ")))
}

// cellWidth is how many columns of a terminal a text takes.
func cellWidth(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

func runeWidth(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// cut shortens a text to n columns and marks the cut.
func cut(s string, n int) string {
	if cellWidth(s) <= n {
		return s
	}
	used := 0
	for i, r := range s {
		if used += runeWidth(r); used > n-1 {
			return s[:i] + "…"
		}
	}
	return s
}

// wrap breaks a text into lines of at most n columns at its spaces; a word that
// is longer than that is broken inside.
func wrap(s string, n int) []string {
	n = max(n, 20)
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		for cellWidth(word) > n {
			if line != "" {
				lines, line = append(lines, line), ""
			}
			head := strings.TrimSuffix(cut(word, n+1), "…")
			lines, word = append(lines, head), word[len(head):]
		}
		switch {
		case line == "":
			line = word
		case cellWidth(line)+1+cellWidth(word) <= n:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	return append(lines, line)
}

// number writes a count with its noun.
func number(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
