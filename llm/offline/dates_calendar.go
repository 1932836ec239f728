package offline

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

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
	return found{from: i, to: i + 1, day: t}, t.Year() >= 1500 && t.Year() < 2200
}

var joint = regexp.MustCompile(`[-/.]`)

// joined reads what is written as one word with the month's name in it:
// 05-Aug-2016, 2019/aug/01, Oct/2, Dec31, 3may; and a year before a month:
// 2018-07.
func (p dateParser) joined(i int) (found, bool) {
	w := strings.TrimSuffix(p.low(i), "'s")
	if !strings.ContainsAny(w, "-/.0123456789") {
		return found{}, false
	}
	parts := joint.Split(w, -1)
	if len(parts) == 1 {
		cut := strings.IndexAny(w, "0123456789")
		if cut < 3 || months[w[:cut]] == 0 {
			return found{}, false
		}
		d, ok := dayNumber(w[cut:])
		if !ok {
			return found{}, false
		}
		return p.full(i, i+1, months[w[:cut]], d, d)
	}
	var m time.Month
	var y, d int
	for _, part := range parts {
		n, isDay := dayNumber(part)
		full, isYear := fourDigits(part)
		switch {
		case months[part] > 0 && m == 0:
			m = months[part]
		case isYear && y == 0:
			y = full
		case isDay && d == 0:
			d = n
		default:
			return found{}, false
		}
	}
	switch {
	case m == 0 && y > 0 && d > 0 && d <= 12 && len(parts) == 2 && len(w) == 7 && dayLeads[p.low(i-1)]:
		first, ok := p.date(y, time.Month(d), 1)
		return found{from: i, to: i + 1, begin: first, day: first.AddDate(0, 1, -1), vague: true}, ok
	case m == 0:
		return found{}, false
	case d == 0 && y > 0:
		first, ok := p.date(y, m, 1)
		return found{from: i, to: i + 1, begin: first, day: first.AddDate(0, 1, -1)}, ok
	case y == 0:
		return p.full(i, i+1, m, d, d)
	}
	t, ok := p.date(y, m, d)
	return found{from: i, to: i + 1, day: t}, ok
}

// monthDay reads March 15, Mar 15th, March 3-5, March 3 to 5, March the 3rd,
// May twenty nine, March 11 and 12.
func (p dateParser) monthDay(i int) (found, bool) {
	m, j, ok := p.month(i)
	if !ok {
		return found{}, false
	}
	if p.low(j) == "the" {
		j++
	}
	first, last, j, ok := p.dayAt(j, true)
	if !ok {
		return found{}, false
	}
	// "and" joins two days, "and 3 others" does not.
	if w := p.low(j); w == "to" || w == "through" || w == "until" || w == "and" {
		n, _, next, isDay := p.dayAt(j+1, false)
		if isDay && n > first && (w != "and" || isOrdinal(p.low(j+1)) || next >= len(p.words) || !isWordRune([]rune(p.low(next))[0])) {
			last, j = n, next
		}
	}
	return p.full(i, j, m, first, last)
}

// dayMonth reads 15 March, 15th of March, the 3rd of May, 3-5 March, the
// fourth of July.
func (p dateParser) dayMonth(i int) (found, bool) {
	j := i
	if p.low(j) == "the" {
		j++
	}
	first, last, j, ok := p.dayAt(j, true)
	if !ok {
		return found{}, false
	}
	if w := p.low(j); w == "to" || w == "and" || w == "until" || w == "through" {
		if n, _, next, isDay := p.dayAt(j+1, false); isDay && n > first {
			if _, _, isMonth := p.month(skip(p, next, "of")); isMonth {
				last, j = n, next
			}
		}
	}
	m, to, ok := p.month(skip(p, j, "of"))
	if at := p.words[i].start; !ok || at > 0 && strings.ContainsRune("$€£", rune(p.text[at-1])) {
		return found{}, false
	}
	return p.full(i, to, m, first, last)
}

func skip(p dateParser, i int, w string) int {
	if p.low(i) == w {
		return i + 1
	}
	return i
}

// dayLeads come before a day and month in digits, which without one of them
// are as likely a fraction or a version.
var dayLeads = set("on", "by", "until", "till", "due", "before", "after", "from", "to", "since", "meet", "back", "between", "starting", "for")

// slashed reads 25/03/2026, 03/25/2026, 15.03.2026 and, after a word such as
// on, 25/03; but not 03/04/2026. A weekday before it settles which is the month.
func (p dateParser) slashed(i int) (found, bool) {
	w := strings.TrimRight(p.low(i), ".")
	sep := "/"
	switch {
	case strings.Count(w, ".") == 2:
		sep = "."
	case strings.Count(w, "-") == 2:
		sep = "-"
	}
	parts := strings.Split(w, sep)
	var n [3]int
	if len(parts) != 2 && len(parts) != 3 {
		return found{}, false
	}
	for k, part := range parts {
		v, err := strconv.Atoi(part)
		if err != nil || v < 1 || k < 2 && len(part) > 2 && !(k == 0 && len(part) == 4) {
			return found{}, false
		}
		n[k] = v
	}
	switch {
	case len(parts) == 3 && len(parts[0]) == 4: // 2026/03/15
		t, ok := p.date(n[0], time.Month(n[1]), n[2])
		return found{from: i, to: i + 1, day: t}, ok && len(parts[2]) <= 2 && n[1] <= 12
	case len(parts) == 3:
		return p.threeParts(i, sep, parts[2], n)
	case !dayLeads[p.low(i-1)] || sep != "/":
		return found{}, false
	}
	d, m, ok := order(n[0], n[1])
	if !ok || m > 12 || d > 31 {
		return found{}, false
	}
	return p.full(i, i+1, time.Month(m), d, d)
}

func (p dateParser) threeParts(i int, sep, year string, n [3]int) (found, bool) {
	y := n[2]
	switch len(year) {
	case 2:
		y = century(y, p.today.Year())
	case 4:
	default:
		return found{}, false
	}
	d, m, ok := n[0], n[1], true
	if sep != "." {
		d, m, ok = order(n[0], n[1])
	}
	if !ok || m > 12 {
		return found{}, false
	}
	t, valid := p.date(y, time.Month(m), d)
	return found{from: i, to: i + 1, day: t}, valid
}

// order tells day and month apart by size; two numbers that could be either
// are refused, unless they are the same.
func order(a, b int) (day, month int, ok bool) {
	switch {
	case a > 12:
		return a, b, true
	case b > 12:
		return b, a, true
	}
	return a, b, a == b
}

// weekdayAnd reads a weekday with the date that it belongs to: Tue May 9,
// Friday 7/6, Monday the twenty-fourth, Wed 13th.
func (p dateParser) weekdayAnd(i int) (found, bool) {
	j := i
	if w := p.low(j); w == "this" || w == "next" || w == "on" {
		j++
	}
	day, ok := weekdays[p.low(j)]
	if !ok || len(p.low(j)) < 6 && !p.isCapital(j) {
		return found{}, false
	}
	j++
	for p.low(j) == "," || p.low(j) == "the" || p.low(j) == "." || p.low(j) == "on" {
		j++
	}
	for _, rule := range []func(dateParser, int) (found, bool){dateParser.iso, dateParser.joined, dateParser.monthDay, dateParser.dayMonth, dateParser.slashed} {
		if f, ok := rule(p, j); ok {
			if f.begin.IsZero() {
				f.begin = f.day
			}
			f.from = i
			return f, true
		}
	}
	if f, ok := p.byWeekday(i, j, day); ok {
		return f, true
	}
	n, _, to, ok := p.dayAt(j, false)
	if !ok || !isOrdinal(p.low(to-1)) {
		return found{}, false
	}
	for k := range 40 { // the next month in which that day falls on that weekday
		t, valid := p.date(p.today.Year(), p.today.Month(), 1)
		t = t.AddDate(0, k, n-1)
		if valid && t.Day() == n && t.Weekday() == day && !t.Before(p.today) {
			return found{from: i, to: to, day: t, begin: t}, true
		}
	}
	return found{}, false
}

var twoNumbers = regexp.MustCompile(`^(\d{1,2})[/.-](\d{1,2})$`)

// byWeekday reads two numbers behind a weekday the way that makes them fall on
// it, this year or next.
func (p dateParser) byWeekday(i, j int, day time.Weekday) (found, bool) {
	m := twoNumbers.FindStringSubmatch(strings.TrimRight(p.low(j), "."))
	if m == nil {
		return found{}, false
	}
	a, _ := strconv.Atoi(m[1])
	b, _ := strconv.Atoi(m[2])
	for _, y := range []int{p.today.Year(), p.today.Year() + 1, p.today.Year() - 1} {
		for _, dm := range [][2]int{{b, a}, {a, b}} {
			if dm[1] < 1 || dm[1] > 12 {
				continue
			}
			if t, ok := p.date(y, time.Month(dm[1]), dm[0]); ok && t.Weekday() == day {
				return found{from: i, to: j + 1, day: t, begin: t}, true
			}
		}
	}
	return found{}, false
}

// ordinalDay reads on the 21st, by the 5th, until the 15th: the next one.
func (p dateParser) ordinalDay(i int) (found, bool) {
	if lead := p.low(i - 1); !dayLeads[lead] || lead == "between" || lead == "for" {
		return found{}, false
	}
	j := skip(p, i, "the")
	n, ok := dayNumber(p.low(j))
	if !ok || !isOrdinal(p.low(j)) || j+1 < len(p.words) && !endsPhrase[p.low(j+1)] {
		return found{}, false
	}
	for k := range 3 {
		t := time.Date(p.today.Year(), p.today.Month()+time.Month(k), n, 0, 0, 0, 0, p.today.Location())
		if t.Day() == n && !t.Before(p.today) {
			return found{from: i, to: j + 1, day: t}, true
		}
	}
	return found{}, false
}

// endsPhrase are the words that may follow a bare 21st, so that it is not the
// 21st of something.
var endsPhrase = set(".", ",", ";", "!", "?", ")", ":", "and", "or", "at", "for", "to", "with", "between", "in", "if", "because", "but", "so", "from", "by", "until", "around")

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
	if !by && lead != "in" && lead != "during" && lead != "through" && lead != "since" && lead != "after" {
		return found{}, false
	}
	m, to, ok := p.month(i + 1)
	if !ok || p.low(i+1) == "mar" {
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
	from := i
	if lead == "since" || lead == "after" {
		from = i + 1 // the word before a start stays outside, as with a day
	}
	f := found{from: from, to: end, day: first, begin: first}
	if by {
		f.end = first.AddDate(0, 1, 0)
	} else {
		f.day = first.AddDate(0, 1, -1)
	}
	return f, valid
}

// monthYear reads April 2017, Dec of 2018.
func (p dateParser) monthYear(i int) (found, bool) {
	m, to, ok := p.month(i)
	if !ok {
		return found{}, false
	}
	y, end := p.year(to)
	if y == 0 || p.low(to) == "," && p.low(i-1) == "" {
		return found{}, false
	}
	first, ok := p.date(y, m, 1)
	return found{from: i, to: end, begin: first, day: first.AddDate(0, 1, -1)}, ok
}

// monthSpan reads from May to October, January to April 2015.
func (p dateParser) monthSpan(i int) (found, bool) {
	m, j, ok := p.month(i)
	if w := p.low(j); !ok || w != "to" && w != "through" && w != "until" && !(w == "and" && p.low(i-1) == "between") {
		return found{}, false
	}
	n, to, ok := p.month(j + 1)
	if _, _, _, isDay := p.dayAt(to, false); !ok || isDay {
		return found{}, false
	}
	first, ok := p.monthStart(m)
	if y, end := p.year(to); y > 0 {
		first, ok = p.date(y, m, 1)
		to = end
	}
	last := time.Date(first.Year(), n, 1, 0, 0, 0, 0, first.Location())
	if last.Before(first) {
		last = last.AddDate(1, 0, 0)
	}
	return found{from: i, to: to, begin: first, day: last.AddDate(0, 1, -1), end: last}, ok
}

// yearLeads come before a year that stands alone; without one, four digits are
// a number like others.
var yearLeads = set("in", "since", "until", "till", "by", "before", "after", "year", "during", "of", "from", "to", "between", "and", "for", "fy")

// yearAlone reads in 2007, since 2015, the year 2008, the 1990s.
func (p dateParser) yearAlone(i int) (found, bool) {
	w := p.low(i)
	if y, ok := fourDigits(strings.TrimSuffix(strings.TrimSuffix(w, "s"), "'")); ok && y%10 == 0 && strings.HasSuffix(w, "s") {
		first, _ := p.date(y, 1, 1)
		return found{from: i, to: i + 1, begin: first, day: first.AddDate(10, 0, -1), vague: true}, true
	}
	y, ok := fourDigits(w)
	to := i + 1
	if !ok {
		y, to = p.yearWords(i)
	}
	lead := p.low(i - 1)
	if y == 0 || !yearLeads[lead] && !(lead == "the" && p.low(i-2) == "in") {
		return found{}, false
	}
	if next := p.low(to); next != "" && !endsPhrase[next] && !yearFollows[next] {
		return found{}, false // 2000 pieces
	}
	if lead == "and" || lead == "to" || lead == "of" || lead == "for" {
		if !ok || y < 1900 || lead != "of" && !p.yearBefore(i-2) {
			return found{}, false
		}
	}
	first, valid := p.date(y, 1, 1)
	return found{from: i, to: to, begin: first, day: first.AddDate(1, 0, -1), vague: true}, valid
}

// yearBefore tells whether a year stands at i, as in "2007 and 2009".
func (p dateParser) yearBefore(i int) bool {
	_, ok := fourDigits(p.low(i))
	return ok
}

var yearFollows = set("was", "were", "is", "we", "i", "he", "she", "they", "the", "came", "when", "onwards", "as", "it", "were", "on", "by", "while", "then", "there", "my", "our", "this", "that")
