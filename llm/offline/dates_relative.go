package offline

import "time"

// The words that lead a distance or a period, and which way they point: 1 is ahead.
var (
	periods       = map[string]int{"this": 0, "next": 1, "last": -1}
	bearings      = map[string]int{"after": 1, "from": 1, "following": 1, "before": -1}
	aheadOrBehind = map[string]int{"next": 1, "coming": 1, "following": 1, "last": -1, "past": -1, "previous": -1}
	unitLeads     = map[string]int{"this": 0, "current": 0, "next": 1, "coming": 1, "following": 1, "last": -1, "previous": -1}
	shortEnds     = map[string]string{"eod": "d", "eow": "w", "eom": "m", "eoq": "q", "eoy": "y"}
)

// distance reads what counts from another date: two weeks from tomorrow, 3 days
// after January 12th, the day before Easter.
func (p dateParser) distance(i int) (found, bool) {
	n, k := p.count(i)
	if n == 0 && p.low(i) == "the" {
		n, k = 1, i+1
	}
	span, ok := spans[p.low(k)]
	if n == 0 || !ok || span == "h" || span == "n" {
		return found{}, false
	}
	sign := bearings[p.low(k+1)]
	if sign == 0 {
		return found{}, false
	}
	if w := p.low(k + 2); w == "now" || w == "today" {
		return found{}, false
	}
	base, ok := p.plain(k + 2)
	if !ok || base.vague {
		return found{}, false
	}
	t := base.day
	if sign < 0 {
		t = base.begin
	}
	t = p.shift(t, span, sign*n)
	return found{from: i, to: base.to, day: t, begin: t, passed: base.passed}, true
}

// relative reads in two weeks, within 3 days, for the next month, a week from
// now, two days ago, 3 weeks later.
func (p dateParser) relative(i int) (found, bool) {
	j, ahead, window := i, false, false
	switch {
	case p.low(i) == "in" || p.low(i) == "within":
		j, ahead = i+1, true
		if p.low(j) == "the" && p.low(j+1) == "next" {
			j, window = j+2, true
		}
	case (p.low(i) == "for" || p.low(i) == "over") && p.low(i+1) == "the" && (p.low(i+2) == "next" || p.low(i+2) == "coming"):
		j, ahead, window = i+3, true, true
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
	case p.low(k) == "ago" || p.low(k) == "earlier" && !ahead:
		return found{from: i, to: k + 1, day: p.shift(p.today, span, -n), passed: true}, true
	case p.low(k) == "from" && (p.low(k+1) == "now" || p.low(k+1) == "today"):
		return found{from: i, to: k + 2, day: p.shift(p.today, span, n)}, true
	case ahead:
		f := found{from: i, to: k, day: p.shift(p.today, span, n)}
		if window {
			f.begin = p.today
			f.end = f.day.AddDate(0, 0, 1)
		}
		if p.low(k) == "'s" && p.low(k+1) == "time" {
			f.to = k + 2
		}
		return f, true
	case p.low(k) == "later" || p.low(k) == "hence":
		return found{from: i, to: k + 1, day: p.shift(p.today, span, n)}, true
	}
	return found{}, false
}

// window reads the next 5 days, the last 3 weeks, the past month.
func (p dateParser) window(i int) (found, bool) {
	j := skip(p, i, "the")
	sign := aheadOrBehind[p.low(j)]
	if sign == 0 {
		return found{}, false
	}
	n, k := p.count(j + 1)
	if p.low(j) == "past" && n == 0 && p.low(j+1) == "" {
		return found{}, false
	}
	if n == 0 && p.low(j) == "past" {
		n, k = 1, j+1
	}
	span, ok := spans[p.low(k)]
	if n == 0 || !ok || span == "h" || span == "n" || n == 1 && p.low(j) != "past" {
		return found{}, false
	}
	if sign > 0 {
		f := found{from: i, to: k + 1, begin: p.today.AddDate(0, 0, 1), day: p.shift(p.today, span, n)}
		return f, true
	}
	return found{from: i, to: k + 1, begin: p.shift(p.today, span, -n), day: p.today.AddDate(0, 0, -1), passed: true}, true
}

// nearDay reads today, tonight, tomorrow, the day after tomorrow, yesterday.
func (p dateParser) nearDay(i int) (found, bool) {
	switch p.low(i) {
	case "today", "tonight":
		return found{from: i, to: i + 1, day: p.today}, true
	case "tomorrow", "tmrw", "tmr", "tmw":
		return found{from: i, to: i + 1, day: p.today.AddDate(0, 0, 1)}, true
	case "yesterday":
		return found{from: i, to: i + 1, day: p.today.AddDate(0, 0, -1), passed: true}, true
	case "day":
		switch {
		case p.low(i+1) == "after" && p.low(i+2) == "tomorrow":
			return found{from: i, to: i + 3, day: p.today.AddDate(0, 0, 2)}, true
		case p.low(i+1) == "before" && p.low(i+2) == "yesterday":
			return found{from: i, to: i + 3, day: p.today.AddDate(0, 0, -2), passed: true}, true
		case p.low(i-1) == "the" && p.low(i+1) == "after" && (p.low(i+2) == "" || p.low(i+2) == "?" || p.low(i+2) == "."):
			return found{from: i, to: i + 2, day: p.today.AddDate(0, 0, 1)}, true
		}
	case "next":
		if p.low(i-1) == "the" && p.low(i+1) == "day" {
			return found{from: i, to: i + 2, day: p.today.AddDate(0, 0, 1)}, true
		}
	}
	return found{}, false
}

// weekdayLeads come before a weekday and say of which week it is.
var weekdayLeads = set("this", "next", "last", "coming", "upcoming", "previous", "past", "following")

// weekday reads Thursday, this Friday, next Friday (of the next week), last
// Friday (of the last week), Friday next week, next week on Friday.
func (p dateParser) weekday(i int) (found, bool) {
	if f, ok := p.weekdayOfWeek(i); ok {
		return f, true
	}
	j := i
	lead := p.low(i)
	if weekdayLeads[lead] {
		j++
		if w := p.low(j); lead == "this" && (w == "coming" || w == "upcoming" || w == "past") {
			lead = w
			j++
		}
	}
	day, ok := weekdays[p.low(j)]
	if !ok || !p.isDayName(j) {
		return found{}, false
	}
	ahead := (int(day) - int(p.today.Weekday()) + 7) % 7
	f := found{from: i, to: j + 1}
	if shift, ok := p.weekAfter(j + 1); ok && lead != "last" {
		f.day = p.monday(shift).AddDate(0, 0, (int(day)+6)%7)
		f.to, f.passed = p.weekEnd(j+1), shift < 0
		return f, true
	}
	switch lead {
	case "last", "previous":
		f.day, f.passed = p.monday(-1).AddDate(0, 0, (int(day)+6)%7), true
		return f, true
	case "past":
		f.day, f.passed = p.today.AddDate(0, 0, ahead-7), true
		return f, true
	case "next":
		f.day = p.monday(1).AddDate(0, 0, (int(day)+6)%7)
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

// isDayName tells whether word j is written as a weekday: sun and sat are
// plain words unless they stand where a day stands.
func (p dateParser) isDayName(j int) bool {
	w := p.low(j)
	if w == "sat" || w == "sun" {
		return p.isCapital(j) && (p.low(j-1) == "on" || weekdayLeads[p.low(j-1)] || p.low(j-1) == "by" || p.low(j-1) == "until")
	}
	return p.isCapital(j) || len(w) >= 6
}

// weekAfter reads the week behind a weekday: next week, of next week, this week.
func (p dateParser) weekAfter(i int) (int, bool) {
	j := skip(p, i, "of")
	shift, ok := periods[p.low(j)]
	return shift, ok && p.low(j+1) == "week"
}

func (p dateParser) weekEnd(i int) int { return skip(p, i, "of") + 2 }

// weekdayOfWeek reads next week Wednesday, next week on Tuesday.
func (p dateParser) weekdayOfWeek(i int) (found, bool) {
	shift, ok := p.weekAfter(i)
	if !ok || p.low(i) == "of" {
		return found{}, false
	}
	j := skip(p, i+2, "on")
	day, ok := weekdays[p.low(j)]
	if !ok || !p.isDayName(j) {
		return found{}, false
	}
	return found{from: i, to: j + 1, day: p.monday(shift).AddDate(0, 0, (int(day)+6)%7), passed: shift < 0}, true
}

// thisNext reads this week, next month, this weekend, last year.
func (p dateParser) thisNext(i int) (found, bool) {
	lead, unit := p.low(i), p.low(i+1)
	shift, ok := unitLeads[lead]
	if !ok {
		return found{}, false
	}
	f := found{from: i, to: i + 2, passed: shift < 0}
	switch unit {
	case "weekend":
		sunday := (7 - int(p.today.Weekday())) % 7
		f.day = p.today.AddDate(0, 0, sunday+7*shift)
		f.begin = f.day.AddDate(0, 0, -1)
		return f, true
	case "afternoon", "evening", "morning":
		f.day = p.today
		return f, lead == "this"
	case "night":
		f.day = p.today.AddDate(0, 0, shift)
		return f, lead == "last"
	}
	span, ok := spans[unit]
	if !ok || span == "f" || span == "h" || span == "n" || span == "t" || !singular(unit) || p.low(i+2) == "'s" {
		return found{}, false
	}
	if span == "d" {
		f.day = p.today.AddDate(0, 0, shift)
		return f, lead != "this" && lead != "current" && lead != "following"
	}
	f.begin, f.end = p.reach(span, shift)
	f.day = p.lastDay(span, shift)
	f.vague = span == "y"
	return f, true
}

// endOf reads end of the week, end of March, by eod.
func (p dateParser) endOf(i int) (found, bool) {
	if span, ok := shortEnds[p.low(i)]; ok {
		return found{from: i, to: i + 1, day: p.lastDay(span, 0)}, true
	}
	if p.low(i) != "end" {
		return found{}, false
	}
	j := skip(p, i+1, "of")
	shift := 0
	switch p.low(j) {
	case "the", "this":
		j++
	case "next":
		shift = 1
		j++
	}
	if span, ok := spans[p.low(j)]; ok && span != "f" && span != "h" && span != "n" && span != "t" && singular(p.low(j)) {
		return found{from: i, to: j + 1, day: p.lastDay(span, shift)}, true
	}
	if y, ok := fourDigits(p.low(j)); ok {
		t, valid := p.date(y, 12, 31)
		return found{from: i, to: j + 1, day: t}, valid
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

// weekOf reads the first week of October, the 3rd week of 2018, the last week
// of May; with a weekday behind it, that day.
func (p dateParser) weekOf(i int) (found, bool) {
	j := skip(p, i, "the")
	n, ok := dayNumber(p.low(j))
	if o := ordinals[p.low(j)]; o > 0 {
		n, ok = o, true
	}
	last := p.low(j) == "last"
	if !ok && !last || !last && !isOrdinal(p.low(j)) || p.low(j+1) != "week" || p.low(j+2) != "of" {
		return found{}, false
	}
	var first, after time.Time
	to := j + 4
	if m, next, isMonth := p.month(j + 3); isMonth {
		y, end := p.year(next)
		first, _ = p.monthStart(m)
		if y > 0 {
			first, _ = p.date(y, m, 1)
			next = end
		}
		after, to = first.AddDate(0, 1, 0), next
	} else if y, isYear := fourDigits(p.low(j + 3)); isYear {
		first, _ = p.date(y, 1, 1)
		after = first.AddDate(1, 0, 0)
	} else {
		return found{}, false
	}
	// The first week is the one that holds the first Thursday, as in ISO 8601.
	monday := first.AddDate(0, 0, (int(time.Thursday)-int(first.Weekday())+7)%7-3+7*(n-1))
	if last {
		monday = after.AddDate(0, 0, -1)
		monday = monday.AddDate(0, 0, -(int(monday.Weekday())+6)%7)
	}
	f := found{from: i, to: to, begin: monday, day: monday.AddDate(0, 0, 6)}
	k := to
	for p.low(k) == "." || p.low(k) == "on" || p.low(k) == "," {
		k++
	}
	if day, isDay := weekdays[p.low(k)]; isDay && k > to && p.isDayName(k) {
		f.day = monday.AddDate(0, 0, (int(day)+6)%7)
		f.begin, f.to = f.day, k+1
	}
	return f, n <= 53
}

var seasons = map[string]time.Month{"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}

// season reads this summer, next winter, summer 2019: a season and no day.
func (p dateParser) season(i int) (found, bool) {
	shift, ok := periods[p.low(i)]
	j, y := i, 0
	if ok {
		j, y = i+1, p.today.Year()+shift
	}
	m, isSeason := seasons[p.low(j)]
	if !isSeason {
		return found{}, false
	}
	to := j + 1
	if !ok {
		if y, to = p.year(j + 1); y == 0 {
			return found{}, false
		}
	}
	first, valid := p.date(y, m, 1)
	return found{from: i, to: to, begin: first, day: first.AddDate(0, 3, -1), vague: true, passed: shift < 0}, valid
}
