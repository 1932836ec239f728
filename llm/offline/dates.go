package offline

import (
	"strconv"
	"strings"
	"time"
)

// found is a date that a sentence names: words [from, to), and the day it means.
// Of a range it is the last day.
type found struct {
	from, to int
	day      time.Time // midnight in the zone
	begin    time.Time // the first day of a range, else day
	passed   bool      // the words themselves look back: yesterday, last Friday, two days ago
}

var months = map[string]time.Month{
	"january": 1, "jan": 1, "february": 2, "feb": 2, "march": 3, "mar": 3, "april": 4, "apr": 4, "may": 5,
	"june": 6, "jun": 6, "july": 7, "jul": 7, "august": 8, "aug": 8, "september": 9, "sep": 9, "sept": 9,
	"october": 10, "oct": 10, "november": 11, "nov": 11, "december": 12, "dec": 12,
}

var weekdays = map[string]time.Weekday{
	"monday": 1, "tuesday": 2, "wednesday": 3, "thursday": 4, "friday": 5, "saturday": 6, "sunday": 0,
	"mon": 1, "tue": 2, "tues": 2, "wed": 3, "thu": 4, "thurs": 4, "fri": 5,
}

var counts = map[string]int{
	"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
	"nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "fourteen": 14, "couple": 2, "few": 3,
}

var spans = map[string]string{
	"day": "d", "days": "d", "week": "w", "weeks": "w", "fortnight": "f", "fortnights": "f",
	"month": "m", "months": "m", "year": "y", "years": "y", "quarter": "q",
}

// dates reads the days that a sentence names, against the day on which it was
// said, in that instant's zone. Whole words only: "May is my sister" and "I sat
// down" name no day. Day and month in digits are refused when they could be
// read either way.
func dates(s sentence, at time.Time) []found {
	p := dateParser{words: s.words, today: midnight(at)}
	var out []found
	for i := 0; i < len(p.words); {
		f, ok := p.at(i)
		if !ok {
			i++
			continue
		}
		out = append(out, f)
		i = max(f.to, i+1)
	}
	return out
}

func midnight(t time.Time) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, t.Location())
}

type dateParser struct {
	words []word
	today time.Time
}

// low gives word i, "" outside.
func (p dateParser) low(i int) string {
	if i < 0 || i >= len(p.words) {
		return ""
	}
	return p.words[i].low
}

// at reads a date that begins at word i.
func (p dateParser) at(i int) (found, bool) {
	rules := []func(int) (found, bool){
		p.iso, p.monthDay, p.dayMonth, p.slashed, p.endOf, p.relative, p.nearDay, p.weekday, p.thisNext, p.quarter, p.monthAlone,
	}
	for _, rule := range rules {
		if f, ok := rule(i); ok {
			if f.begin.IsZero() {
				f.begin = f.day
			}
			return f, true
		}
	}
	return found{}, false
}

func (p dateParser) date(y int, m time.Month, d int) (time.Time, bool) {
	t := time.Date(y, m, d, 0, 0, 0, 0, p.today.Location())
	return t, t.Month() == m && t.Day() == d && y >= 1900 && y < 2200
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

// iso reads 2026-03-15.
func (p dateParser) iso(i int) (found, bool) {
	w := p.low(i)
	if len(w) < 10 || w[4] != '-' {
		return found{}, false
	}
	t, err := time.ParseInLocation(time.DateOnly, w[:10], p.today.Location())
	if err != nil || len(w) > 10 && w[10] != 't' {
		return found{}, false
	}
	return found{from: i, to: i + 1, day: t}, t.Year() >= 1900 && t.Year() < 2200
}

// dayNumber reads 15, 15th, 1st.
func dayNumber(w string) (int, bool) {
	for _, suffix := range []string{"st", "nd", "rd", "th"} {
		if s, ok := strings.CutSuffix(w, suffix); ok {
			w = s
			break
		}
	}
	n, err := strconv.Atoi(w)
	return n, err == nil && n >= 1 && n <= 31 && len(w) <= 2
}

// dayRange reads 3-5, or one day.
func dayRange(w string) (first, last int, ok bool) {
	a, b, isRange := strings.Cut(w, "-")
	first, ok = dayNumber(a)
	if !isRange || !ok {
		return first, first, ok
	}
	last, ok = dayNumber(b)
	return first, last, ok && last >= first
}

// month reads a month's name at i; "may" and "mar" want to be written as names.
func (p dateParser) month(i int) (time.Month, int, bool) {
	m, ok := months[p.low(i)]
	if !ok || (p.low(i) == "may" || p.low(i) == "march" || p.low(i) == "mar") && !capitalised(p.words[i].raw) {
		return 0, i, false
	}
	to := i + 1
	if len(p.low(i)) <= 4 && p.low(to) == "." && p.low(i) != "may" {
		to++
	}
	return m, to, true
}

// year reads ", 2026" or "2026" at i.
func (p dateParser) year(i int) (y, to int) {
	j := i
	if p.low(j) == "," {
		j++
	}
	if n, err := strconv.Atoi(p.low(j)); err == nil && n >= 1900 && n < 2200 && len(p.low(j)) == 4 {
		return n, j + 1
	}
	return 0, i
}

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
	}
	return f, ok
}

// monthDay reads March 15, Mar 15th, March 3-5, March 3 to 5, March the 3rd.
func (p dateParser) monthDay(i int) (found, bool) {
	m, j, ok := p.month(i)
	if !ok {
		return found{}, false
	}
	if p.low(j) == "the" {
		j++
	}
	first, last, ok := dayRange(p.low(j))
	if !ok {
		return found{}, false
	}
	j++
	if w := p.low(j); w == "to" || w == "through" || w == "until" {
		if n, isDay := dayNumber(p.low(j + 1)); isDay && n > first {
			last, j = n, j+2
		}
	}
	return p.full(i, j, m, first, last)
}

// dayMonth reads 15 March, 15th of March, 3-5 March.
func (p dateParser) dayMonth(i int) (found, bool) {
	first, last, ok := dayRange(p.low(i))
	if !ok {
		return found{}, false
	}
	j := i + 1
	if p.low(j) == "of" {
		j++
	}
	m, to, ok := p.month(j)
	if !ok {
		return found{}, false
	}
	return p.full(i, to, m, first, last)
}

// slashed reads 25/03/2026, 03/25/2026 and 15.03.2026, but not 03/04/2026.
func (p dateParser) slashed(i int) (found, bool) {
	w := p.low(i)
	sep := "/"
	if strings.Count(w, ".") == 2 {
		sep = "."
	}
	parts := strings.Split(w, sep)
	if len(parts) != 3 || len(parts[2]) != 4 {
		return found{}, false
	}
	var n [3]int
	for k, part := range parts {
		v, err := strconv.Atoi(part)
		if err != nil {
			return found{}, false
		}
		n[k] = v
	}
	d, m := n[0], n[1]
	switch {
	case sep == "." || d > 12:
	case m > 12:
		d, m = m, d
	case d != m:
		return found{}, false
	}
	t, ok := p.date(n[2], time.Month(m), d)
	return found{from: i, to: i + 1, day: t}, ok && m <= 12
}

// endOf reads end of the week, end of March, by eod.
func (p dateParser) endOf(i int) (found, bool) {
	short := map[string]string{"eod": "d", "eow": "w", "eom": "m", "eoq": "q", "eoy": "y"}
	if span, ok := short[p.low(i)]; ok {
		return found{from: i, to: i + 1, day: p.lastDay(span, 0)}, true
	}
	if p.low(i) != "end" {
		return found{}, false
	}
	j := i + 1
	if p.low(j) == "of" {
		j++
	}
	shift := 0
	switch p.low(j) {
	case "the", "this":
		j++
	case "next":
		shift = 1
		j++
	}
	if span, ok := spans[p.low(j)]; ok && span != "f" && !strings.HasSuffix(p.low(j), "s") {
		return found{from: i, to: j + 1, day: p.lastDay(span, shift)}, true
	}
	if m, to, ok := p.month(j); ok {
		first, valid := p.monthStart(m)
		y, end := p.year(to)
		if y > 0 {
			first, valid = p.date(y, m, 1)
		}
		return found{from: i, to: end, day: first.AddDate(0, 1, -1)}, valid
	}
	return found{}, false
}

// monthStart gives the first of the month that is now or next.
func (p dateParser) monthStart(m time.Month) (time.Time, bool) {
	y := p.today.Year()
	if m < p.today.Month() {
		y++
	}
	return p.date(y, m, 1)
}

// lastDay gives the last day of the current day, week (Friday, as people at
// work mean it, or Sunday from Saturday on), month, quarter or year, shifted.
func (p dateParser) lastDay(span string, shift int) time.Time {
	t := p.today
	y, m := t.Year(), t.Month()
	switch span {
	case "w":
		to := int(time.Friday) - int(t.Weekday())
		if t.Weekday() == time.Saturday {
			to = 1
		}
		if t.Weekday() == time.Sunday {
			to = 0
		}
		return t.AddDate(0, 0, to+7*shift)
	case "m":
		return time.Date(y, m+time.Month(shift)+1, 0, 0, 0, 0, 0, t.Location())
	case "q":
		q := (int(m)-1)/3 + 1 + shift
		return time.Date(y, time.Month(q*3)+1, 0, 0, 0, 0, 0, t.Location())
	case "y":
		return time.Date(y+shift, 12, 31, 0, 0, 0, 0, t.Location())
	}
	return t.AddDate(0, 0, shift)
}

// count reads a number of things at i: 3, three, a couple of, the next two.
func (p dateParser) count(i int) (n, to int) {
	w := p.low(i)
	if v, err := strconv.Atoi(w); err == nil && v > 0 && v < 1000 {
		return v, i + 1
	}
	if (w == "a" || w == "the") && (p.low(i+1) == "couple" || p.low(i+1) == "few") {
		i++
		w = p.low(i)
	}
	v, ok := counts[w]
	if !ok {
		return 0, i
	}
	i++
	if p.low(i) == "of" {
		i++
	}
	return v, i
}

// relative reads in two weeks, within 3 days, for the next month, a week from now, two days ago.
func (p dateParser) relative(i int) (found, bool) {
	j, ahead := i, false
	switch {
	case p.low(i) == "in" || p.low(i) == "within":
		j, ahead = i+1, true
		if p.low(j) == "the" && p.low(j+1) == "next" {
			j += 2
		}
	case p.low(i) == "for" && p.low(i+1) == "the" && (p.low(i+2) == "next" || p.low(i+2) == "coming"):
		j, ahead = i+3, true
	case p.low(i) == "over" && p.low(i+1) == "the" && p.low(i+2) == "next":
		j, ahead = i+3, true
	}
	n, k := p.count(j)
	if n == 0 && ahead && k == j && j > i+1 {
		n = 1 // the next week
	}
	span, ok := spans[p.low(k)]
	if n == 0 || !ok {
		return found{}, false
	}
	k++
	switch {
	case p.low(k) == "ago" || p.low(k) == "earlier":
		return found{from: i, to: k + 1, day: p.shift(span, -n), passed: true}, true
	case p.low(k) == "from" && (p.low(k+1) == "now" || p.low(k+1) == "today"):
		return found{from: i, to: k + 2, day: p.shift(span, n)}, true
	case ahead:
		return found{from: i, to: k, day: p.shift(span, n)}, true
	}
	return found{}, false
}

// shift moves today by n spans; a month is clamped to its last day.
func (p dateParser) shift(span string, n int) time.Time {
	t := p.today
	switch span {
	case "w":
		return t.AddDate(0, 0, 7*n)
	case "f":
		return t.AddDate(0, 0, 14*n)
	case "m", "q", "y":
		step := map[string]int{"m": 1, "q": 3, "y": 12}[span] * n
		first := time.Date(t.Year(), t.Month()+time.Month(step), 1, 0, 0, 0, 0, t.Location())
		return first.AddDate(0, 0, min(t.Day(), first.AddDate(0, 1, -1).Day())-1)
	}
	return t.AddDate(0, 0, n)
}

// nearDay reads today, tonight, tomorrow, the day after tomorrow, yesterday.
func (p dateParser) nearDay(i int) (found, bool) {
	switch p.low(i) {
	case "today", "tonight":
		return found{from: i, to: i + 1, day: p.today}, true
	case "tomorrow":
		return found{from: i, to: i + 1, day: p.today.AddDate(0, 0, 1)}, true
	case "yesterday":
		return found{from: i, to: i + 1, day: p.today.AddDate(0, 0, -1), passed: true}, true
	case "day":
		if p.low(i+1) == "after" && p.low(i+2) == "tomorrow" {
			return found{from: i, to: i + 3, day: p.today.AddDate(0, 0, 2)}, true
		}
	}
	return found{}, false
}

// weekday reads Thursday, this Friday, next Friday (of the next week), last Friday.
func (p dateParser) weekday(i int) (found, bool) {
	j := i
	lead := p.low(i)
	if lead == "this" || lead == "next" || lead == "last" || lead == "coming" {
		j++
	}
	day, ok := weekdays[p.low(j)]
	if !ok || !capitalised(p.words[j].raw) && len(p.low(j)) < 6 {
		return found{}, false
	}
	ahead := (int(day) - int(p.today.Weekday()) + 7) % 7
	f := found{from: i, to: j + 1}
	switch lead {
	case "last":
		f.day, f.passed = p.today.AddDate(0, 0, ahead-7), true
		return f, true
	case "next":
		monday := (int(p.today.Weekday()) + 6) % 7
		f.day = p.today.AddDate(0, 0, 7-monday+(int(day)+6)%7)
		return f, true
	case "this":
	default:
		if ahead == 0 {
			ahead = 7
		}
	}
	f.day = p.today.AddDate(0, 0, ahead)
	return f, true
}

// thisNext reads this week, next month, this weekend, last year.
func (p dateParser) thisNext(i int) (found, bool) {
	lead, unit := p.low(i), p.low(i+1)
	if lead != "this" && lead != "next" && lead != "last" {
		return found{}, false
	}
	f := found{from: i, to: i + 2, passed: lead == "last"}
	shift := map[string]int{"this": 0, "next": 1, "last": -1}[lead]
	if unit == "weekend" {
		sunday := (7 - int(p.today.Weekday())) % 7
		f.day = p.today.AddDate(0, 0, sunday+7*shift)
		f.begin = f.day.AddDate(0, 0, -1)
		return f, true
	}
	if unit == "afternoon" || unit == "evening" || unit == "morning" {
		f.day = p.today
		return f, lead == "this"
	}
	span, ok := spans[unit]
	if !ok || span == "f" || strings.HasSuffix(unit, "s") {
		return found{}, false
	}
	f.day = p.lastDay(span, shift)
	if span == "d" {
		f.day = p.today.AddDate(0, 0, shift)
	}
	return f, true
}

// quarter reads Q3, Q3 2026.
func (p dateParser) quarter(i int) (found, bool) {
	w := p.low(i)
	if len(w) != 2 || w[0] != 'q' || w[1] < '1' || w[1] > '4' {
		return found{}, false
	}
	q := int(w[1] - '0')
	y, to := p.year(i + 1)
	if y == 0 {
		y, to = p.today.Year(), i+1
		if q*3 < int(p.today.Month()) {
			y++
		}
	}
	end, _ := p.date(y, time.Month(q*3), 1)
	return found{from: i, to: to, day: end.AddDate(0, 1, -1), begin: end.AddDate(0, -2, 0)}, true
}

// monthAlone reads by March (its first day) and in March (its last).
func (p dateParser) monthAlone(i int) (found, bool) {
	lead := p.low(i)
	by := lead == "by" || lead == "until" || lead == "till" || lead == "before"
	if !by && lead != "in" && lead != "during" && lead != "through" {
		return found{}, false
	}
	m, to, ok := p.month(i + 1)
	if !ok || len(p.low(i+1)) == 3 && p.low(i+1) != "may" {
		return found{}, false
	}
	first, valid := p.monthStart(m)
	if _, isDay := dayNumber(p.low(to)); isDay || p.low(to) == "the" {
		return found{}, false
	}
	y, end := p.year(to)
	if y > 0 {
		first, valid = p.date(y, m, 1)
	}
	f := found{from: i, to: end, day: first, begin: first}
	if !by {
		f.day = first.AddDate(0, 1, -1)
	}
	return f, valid
}
