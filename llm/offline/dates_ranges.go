package offline

// joiners stand between the two ends of a range.
var joiners = set("to", "until", "till", "through", "thru")

// joins tells whether two dates are the ends of one range: from May 3 to May 9,
// between Monday and Wednesday.
func (p dateParser) joins(a, b found) bool {
	if b.from != a.to+1 && !(p.low(a.to) == "," && b.from == a.to+2) {
		return b.from == a.to && !a.begin.After(b.day) && p.dashed(a, b)
	}
	w := p.low(b.from - 1)
	if w == "and" {
		return p.low(a.from-1) == "between"
	}
	return joiners[w] && b.day.After(a.begin)
}

// dashed tells whether nothing but a dash stands between two dates.
func (p dateParser) dashed(a, b found) bool {
	between := p.text[p.words[a.to-1].end:p.words[b.from].start]
	return between == " - " || between == " – " || between == "–"
}

// between makes one range of two dates. The word before it belongs to it.
func (p dateParser) between(a, b found) (Date, int) {
	from := a.from
	if w := p.low(a.from - 1); w == "from" || w == "between" {
		from--
	}
	return Date{Range: true, Start: a.begin, End: b.begin}, from
}

// bounded makes a date, or the range that the word before it makes of it: until
// Friday, since 2015, before Easter.
func (p dateParser) bounded(f found) (Date, int) {
	out := Date{Start: f.begin, End: f.day.AddDate(0, 0, 1), Range: !f.begin.Equal(f.day)}
	if !f.end.IsZero() {
		out.End, out.Range = f.end, true
	}
	at := f.from - 1
	lead := p.low(at)
	if w := p.low(f.from); w == "by" || w == "until" || w == "till" || w == "before" {
		at, lead = f.from, w
	}
	switch lead {
	case "before", "until", "till", "by":
		return Date{Range: true, End: f.begin}, at
	case "after":
		start := f.day
		if out.Range {
			start = out.End
		}
		return Date{Range: true, Start: start}, at
	case "since", "starting":
		return Date{Range: true, Start: f.begin}, at
	}
	return out, f.from
}
