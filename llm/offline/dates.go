package offline

import (
	"strings"
	"time"
)

// found is a date that a sentence names: words [from, to), and the day it means.
// Of a range it is the last day that counts: Friday of a working week.
type found struct {
	from, to int
	day      time.Time // midnight in the zone
	begin    time.Time // the first day of a range, else day
	end      time.Time // the day after the range as calendars have it, when that is not the day after day
	passed   bool      // the words themselves look back: yesterday, last Friday, two days ago
	vague    bool      // a year, a decade, a season: named, and no appointment
}

var months = map[string]time.Month{
	"january": 1, "jan": 1, "february": 2, "feb": 2, "march": 3, "mar": 3, "april": 4, "apr": 4, "may": 5,
	"june": 6, "jun": 6, "july": 7, "jul": 7, "august": 8, "aug": 8, "september": 9, "sep": 9, "sept": 9,
	"october": 10, "oct": 10, "november": 11, "nov": 11, "december": 12, "dec": 12,
}

var weekdays = map[string]time.Weekday{
	"monday": 1, "tuesday": 2, "wednesday": 3, "thursday": 4, "friday": 5, "saturday": 6, "sunday": 0,
	"mon": 1, "tue": 2, "tues": 2, "wed": 3, "weds": 3, "thu": 4, "thur": 4, "thurs": 4, "fri": 5, "sat": 6, "sun": 0,
}

var spans = map[string]string{
	"day": "d", "days": "d", "week": "w", "weeks": "w", "wk": "w", "wks": "w", "fortnight": "f", "fortnights": "f", "fortnight's": "f",
	"month": "m", "months": "m", "year": "y", "years": "y", "yr": "y", "yrs": "y", "quarter": "q", "quarters": "q",
	"hour": "h", "hours": "h", "hr": "h", "hrs": "h", "minute": "n", "minutes": "n", "min": "n", "mins": "n",
	"decade": "t", "decades": "t",
}

// Date is a day or a range of days that a text names: where it stands, in
// bytes, its first day, and the day after its last, at midnight. A range that
// is open on one side has a zero time there; of a range from one day to
// another the second stands as End, as people write it.
type Date struct {
	From, To   int
	Range      bool
	Start, End time.Time
}

// Dates gives the days that a text names, against the instant at which it was
// said and in that instant's zone. Times of day, durations and what comes back
// every week are no days. Day and month in digits are left out when they can be
// read either way. English only.
func Dates(s string, at time.Time) []Date {
	r := read(s)
	p := dateParser{text: r.text, words: r.words, at: at, today: midnight(at)}
	fs := dates(r, at)
	var out []Date
	for i := 0; i < len(fs); i++ {
		f := fs[i]
		next, from := p.bounded(f)
		if i+1 < len(fs) && p.joins(f, fs[i+1]) {
			next, from = p.between(f, fs[i+1])
			i++
			f.to = fs[i].to
		}
		next.From, next.To = r.words[from].start, r.words[f.to-1].end
		out = append(out, next)
	}
	return out
}

// dates reads the days that a sentence names, against the day on which it was
// said, in that instant's zone. Whole words only: "May is my sister" and "I sat
// down" name no day.
func dates(s sentence, at time.Time) []found {
	p := dateParser{text: s.text, words: s.words, at: at, today: midnight(at)}
	var out []found
	for i := 0; i < len(p.words); {
		f, ok := p.find(i)
		if !ok {
			i++
			continue
		}
		out = append(out, f)
		i = max(f.to, i+1)
	}
	return out
}

// firm leaves out the dates that are no appointment: years, decades, seasons.
func firm(fs []found) []found {
	var out []found
	for _, f := range fs {
		if !f.vague {
			out = append(out, f)
		}
	}
	return out
}

func midnight(t time.Time) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, t.Location())
}

type dateParser struct {
	text  string
	words []word
	at    time.Time
	today time.Time
}

// low gives word i, "" outside.
func (p dateParser) low(i int) string {
	if i < 0 || i >= len(p.words) {
		return ""
	}
	return p.words[i].low
}

// find reads a date that begins at word i: one of the forms, or a distance from
// one ("two days after Easter").
func (p dateParser) find(i int) (found, bool) {
	if f, ok := p.distance(i); ok {
		return f, true
	}
	return p.plain(i)
}

// plain reads a date that does not count from another one.
func (p dateParser) plain(i int) (found, bool) {
	if f, ok := p.weekdayAnd(i); ok {
		return f, true
	}
	return p.form(i)
}

// forms are asked in order; the first that reads a date decides.
var forms = []func(dateParser, int) (found, bool){
	dateParser.iso, dateParser.joined, dateParser.holiday, dateParser.monthSpan, dateParser.monthDay, dateParser.dayMonth, dateParser.slashed, dateParser.endOf, dateParser.weekOf,
	dateParser.relative, dateParser.nearDay, dateParser.weekday, dateParser.window, dateParser.thisNext, dateParser.quarter, dateParser.monthAlone, dateParser.monthYear,
	dateParser.ordinalDay, dateParser.yearAlone, dateParser.season,
}

func (p dateParser) form(i int) (found, bool) {
	for _, rule := range forms {
		f, ok := rule(p, i)
		if !ok {
			continue
		}
		if f.begin.IsZero() {
			f.begin = f.day
		}
		return f, f.to > f.from && !f.begin.After(f.day)
	}
	return found{}, false
}

func (p dateParser) date(y int, m time.Month, d int) (time.Time, bool) {
	t := time.Date(y, m, d, 0, 0, 0, 0, p.today.Location())
	return t, t.Month() == m && t.Day() == d && y >= 1000 && y < 2200
}

// yearless puts a day of a month into the year that makes it next.
func (p dateParser) yearless(m time.Month, d int) (time.Time, bool) {
	t, ok := p.date(p.today.Year(), m, d)
	if ok && !t.Before(p.today) {
		return t, true
	}
	for y := p.today.Year() + 1; y < p.today.Year()+9; y++ { // 29 February may be years away
		if next, valid := p.date(y, m, d); valid {
			return next, true
		}
	}
	return time.Time{}, false
}

// full makes a date of a month, its days and the year that may follow.
func (p dateParser) full(from, to int, m time.Month, first, last int) (found, bool) {
	y, to := p.year(to)
	f := found{from: from, to: to}
	var ok bool
	if y > 0 {
		f.day, ok = p.date(y, m, last)
	} else {
		f.day, ok = p.yearless(m, last)
	}
	if ok && first != last {
		f.begin, ok = p.date(f.day.Year(), m, first)
		f.end = f.day
	}
	return f, ok
}

// monthStart gives the first of the month that is now or next.
func (p dateParser) monthStart(m time.Month) (time.Time, bool) {
	y := p.today.Year()
	if m < p.today.Month() {
		y++
	}
	return p.date(y, m, 1)
}

// shift moves a day by n spans; a month is clamped to its last day.
func (p dateParser) shift(t time.Time, span string, n int) time.Time {
	switch span {
	case "n":
		return midnight(p.at.Add(time.Duration(n) * time.Minute))
	case "h":
		return midnight(p.at.Add(time.Duration(n) * time.Hour))
	case "w":
		return t.AddDate(0, 0, 7*n)
	case "f":
		return t.AddDate(0, 0, 14*n)
	case "m", "q", "y", "t":
		step := map[string]int{"m": 1, "q": 3, "y": 12, "t": 120}[span] * n
		first := time.Date(t.Year(), t.Month()+time.Month(step), 1, 0, 0, 0, 0, t.Location())
		return first.AddDate(0, 0, min(t.Day(), first.AddDate(0, 1, -1).Day())-1)
	}
	return t.AddDate(0, 0, n)
}

// monday gives the first day of the week, shifted by weeks.
func (p dateParser) monday(weeks int) time.Time {
	return p.today.AddDate(0, 0, 7*weeks-(int(p.today.Weekday())+6)%7)
}

// reach gives the first day and the day after the last of the current week,
// month, quarter or year, shifted.
func (p dateParser) reach(span string, shift int) (first, after time.Time) {
	t := p.today
	y, m, loc := t.Year(), t.Month(), t.Location()
	switch span {
	case "w":
		return p.monday(shift), p.monday(shift + 1)
	case "m":
		return time.Date(y, m+time.Month(shift), 1, 0, 0, 0, 0, loc), time.Date(y, m+time.Month(shift)+1, 1, 0, 0, 0, 0, loc)
	case "q":
		q := (int(m)-1)/3 + shift
		return time.Date(y, time.Month(q*3)+1, 1, 0, 0, 0, 0, loc), time.Date(y, time.Month(q*3)+4, 1, 0, 0, 0, 0, loc)
	case "y":
		return time.Date(y+shift, 1, 1, 0, 0, 0, 0, loc), time.Date(y+shift+1, 1, 1, 0, 0, 0, 0, loc)
	}
	return t.AddDate(0, 0, shift), t.AddDate(0, 0, shift+1)
}

// lastDay gives the last day of the current day, week (Friday, as people at
// work mean it, or Sunday from Saturday on), month, quarter or year, shifted.
func (p dateParser) lastDay(span string, shift int) time.Time {
	if span == "w" {
		to := int(time.Friday) - int(p.today.Weekday())
		switch p.today.Weekday() {
		case time.Saturday:
			to = 1
		case time.Sunday:
			to = 0
		}
		return p.today.AddDate(0, 0, to+7*shift)
	}
	_, after := p.reach(span, shift)
	return after.AddDate(0, 0, -1)
}

// isCapital tells whether word i is written with a capital.
func (p dateParser) isCapital(i int) bool {
	return i >= 0 && i < len(p.words) && capitalised(p.words[i].raw)
}

// singular tells whether a span stands for one: week, not weeks.
func singular(w string) bool { return !strings.HasSuffix(w, "s") }
