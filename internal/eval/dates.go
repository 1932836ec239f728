package eval

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Date is a day or a range of days that a text names: where it stands, in bytes,
// and its first day and the day after its last. One side of a range may be zero.
type Date struct {
	From, To   int
	Type       string // date or daterange
	Start, End time.Time
}

// Dater finds the dates of a text said at an instant. No judge is asked for
// dates by themselves: the days of a judge's answers are checked by one of these.
type Dater func(text string, at time.Time) []Date

type datesExample struct {
	Text    string `json:"text"`
	Ref     string `json:"ref"`
	Results []struct {
		Text   string              `json:"text"`
		Type   string              `json:"type"`
		Values []map[string]string `json:"values"`
	} `json:"results"`
	// The other form names one span, or none, and its first instant.
	Span  *string `json:"span"`
	Start *string `json:"start"`
}

// OfType counts the dates of one type.
type OfType struct {
	N     int     `json:"n"`
	Right int     `json:"right"`
	Exact float64 `json:"exact"`
}

// Dates are the figures of a finder of dates. An expected date is right when one
// that overlaps its words has one of its values. An expectation that is called
// unresolvable is right when nothing is found there. Of a date with a time of
// day, the day counts; durations, times and recurrences are no days, and the
// finder is not meant to name any.
type Dates struct {
	N     int               `json:"n"`
	Exact map[string]OfType `json:"exact"` // by type
	// Empty are sentences without any date, FalsePositives those of them in
	// which one was found.
	Empty          int     `json:"empty"`
	FalsePositives int     `json:"false_positives"`
	FalseShare     float64 `json:"false_share"`

	Misses []Miss `json:"misses,omitempty"`
}

// RateDates measures a finder on sentences {text, ref, results}, or {text, ref,
// span, start}, the latter counted as the type start.
func RateDates(r io.Reader, find Dater) (Dates, error) {
	out := Dates{Exact: map[string]OfType{}}
	err := each(r, func(line int, e datesExample) error {
		at, err := instant(e.Ref)
		if err != nil {
			return nil //nolint:nilerr // a reference in another form is an example we cannot use
		}
		out.N++
		got := find(e.Text, at)
		if e.Start != nil {
			out.single(line, e, got)
			return nil
		}
		if len(e.Results) == 0 {
			out.Empty++
			if len(got) > 0 {
				out.FalsePositives++
				out.miss(line, e.Text, "none", got)
			}
		}
		for _, x := range e.Results {
			kind := x.Type[strings.LastIndexByte(x.Type, '.')+1:]
			here := overlapping(e.Text, x.Text, got)
			right := valued(x.Values, here)
			out.tally(kind, right)
			if !right {
				out.miss(line, e.Text, kind+" "+x.Text+" "+fmt.Sprint(x.Values), got)
			}
		}
		return nil
	})
	out.FalseShare = share(out.FalsePositives, out.Empty)
	return out, err
}

func (d *Dates) single(line int, e datesExample, got []Date) {
	day, _, _ := strings.Cut(*e.Start, "T")
	if e.Span != nil {
		got = overlapping(e.Text, *e.Span, got)
	}
	right := slices.ContainsFunc(got, func(g Date) bool { return stands(g.Start) == day })
	d.tally("start", right)
	if !right {
		d.miss(line, e.Text, day, got)
	}
}

func (d *Dates) tally(kind string, right bool) {
	t := d.Exact[kind]
	t.N++
	if right {
		t.Right++
	}
	t.Exact = share(t.Right, t.N)
	d.Exact[kind] = t
}

func (d *Dates) miss(line int, s, want string, got []Date) {
	var names []string
	for _, g := range got {
		names = append(names, fmt.Sprintf("%s %q %s..%s", g.Type, s[g.From:g.To], stands(g.Start), stands(g.End)))
	}
	d.Misses = append(d.Misses, Miss{Line: line, Text: s, Want: want, Got: strings.Join(names, "; ")})
}

// overlapping gives the dates that share a word with a span of the text. When
// the span cannot be found, all of them.
func overlapping(s, span string, got []Date) []Date {
	low, want := strings.ToLower(s), strings.ToLower(span)
	if len(low) != len(s) || !strings.Contains(low, want) {
		return got
	}
	var out []Date
	for from := 0; ; {
		i := strings.Index(low[from:], want)
		if i < 0 {
			return out
		}
		i += from
		for _, g := range got {
			if g.From < i+len(want) && g.To > i && !slices.Contains(out, g) {
				out = append(out, g)
			}
		}
		from = i + 1
	}
}

// valued tells whether one of the dates has one of the values.
func valued(values []map[string]string, got []Date) bool {
	unresolved := true
	for _, v := range values {
		if v["value"] != "not resolved" {
			unresolved = false
		}
		for _, g := range got {
			if same(v, g) {
				return true
			}
		}
	}
	return unresolved && len(got) == 0
}

func same(v map[string]string, g Date) bool {
	if day := v["value"]; day != "" {
		day, _, _ = strings.Cut(day, " ")
		return stands(g.Start) == day && stands(g.End) == stands(g.Start.AddDate(0, 0, 1))
	}
	return (v["start"] != "" || v["end"] != "") && stands(g.Start) == v["start"] && stands(g.End) == v["end"]
}

// stands writes a day, "" for none.
func stands(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.DateOnly)
}
