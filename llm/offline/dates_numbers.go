package offline

import (
	"strconv"
	"strings"
	"time"
)

var counts = map[string]int{
	"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
	"nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
	"seventeen": 17, "eighteen": 18, "nineteen": 19, "couple": 2, "few": 3,
}

// centuries are the words that begin a year in words: nineteen eighty-seven.
var centuries = map[string]int{"seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20}

var tens = map[string]int{"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}

var ordinals = map[string]int{
	"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9,
	"tenth": 10, "eleventh": 11, "twelfth": 12, "thirteenth": 13, "fourteenth": 14, "fifteenth": 15, "sixteenth": 16,
	"seventeenth": 17, "eighteenth": 18, "nineteenth": 19, "twentieth": 20, "thirtieth": 30,
}

// count reads a number of things at i: 3, three, twenty-one, a couple of.
func (p dateParser) count(i int) (n, to int) {
	w := p.low(i)
	if v, ok := wholeNumber(w); ok && v > 0 && v < 1000 {
		return v, i + 1
	}
	if (w == "a" || w == "the") && (p.low(i+1) == "couple" || p.low(i+1) == "few") {
		i++
		w = p.low(i)
	}
	if v, to := p.below100(i); v > 0 {
		return v, to
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

// below100 reads a number in words that begins with a ten, or a plain one from
// one to nineteen; 0 for none.
func (p dateParser) below100(i int) (n, to int) {
	a, b, hyphen := strings.Cut(p.low(i), "-")
	v, ok := tens[a]
	if !ok {
		if n := counts[a]; n > 0 && !hyphen && a != "a" && a != "an" && a != "couple" && a != "few" {
			return n, i + 1
		}
		return 0, i
	}
	to = i + 1
	if !hyphen {
		b = p.low(to)
	}
	if unit, isUnit := counts[b]; isUnit && unit < 10 && b != "a" && b != "an" && b != "couple" && b != "few" {
		if !hyphen {
			to++
		}
		return v + unit, to
	}
	if hyphen {
		return 0, i
	}
	return v, to
}

// dayNumber reads 15, 15th, 1st, 01st.
func dayNumber(w string) (int, bool) {
	for _, suffix := range []string{"st", "nd", "rd", "th"} {
		if s, ok := strings.CutSuffix(w, suffix); ok {
			w = s
			break
		}
	}
	n, ok := wholeNumber(w)
	return n, ok && n >= 1 && n <= 31 && len(w) <= 2
}

// wholeNumber reads a whole number. Most words are none, and that costs no error to make.
func wholeNumber(w string) (int, bool) {
	if w == "" || w[0] > '9' {
		return 0, false
	}
	n, err := strconv.Atoi(w)
	return n, err == nil
}

// isOrdinal tells whether a word is written as the number of a day: 15th, third.
func isOrdinal(w string) bool {
	_, ok := dayNumber(w)
	return ordinals[w] > 0 || ok && len(w) > 2
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

// dayAt reads the day of a month at i, in digits or words. Plain numbers in
// words count only when the caller knows that a day must stand there.
func (p dateParser) dayAt(i int, plain bool) (first, last, to int, ok bool) {
	if first, last, ok = dayRange(p.low(i)); ok {
		return first, last, i + 1, true
	}
	w := p.low(i)
	if n := ordinals[w]; n > 0 {
		return n, n, i + 1, true
	}
	a, b, hyphen := strings.Cut(w, "-")
	if ten := tens[a]; ten == 20 || ten == 30 {
		to = i + 1
		if !hyphen {
			b = p.low(to)
			to++
		}
		if n := ordinals[b]; n > 0 && n < 10 && ten+n <= 31 {
			return ten + n, ten + n, to, true
		}
	}
	if n, next := p.below100(i); plain && n > 0 && n <= 31 {
		return n, n, next, true
	}
	return 0, 0, i, false
}

// month reads a month's name at i; "may", "march" and "mar" want to be written
// as names, or to stand beside the number of a day.
func (p dateParser) month(i int) (time.Month, int, bool) {
	m, ok := months[p.low(i)]
	if !ok {
		return 0, i, false
	}
	if w := p.low(i); (w == "may" || w == "march" || w == "mar") && !p.isCapital(i) && !isOrdinal(p.low(i+1)) && !isOrdinal(p.low(i-1)) {
		if y, _ := p.year(i + 2); y == 0 {
			return 0, i, false
		}
	}
	to := i + 1
	if len(p.low(i)) <= 4 && p.low(to) == "." && p.low(i) != "may" {
		to++
	}
	return m, to, true
}

// year reads ", 2026", "2026", "of 2026", "in 2026", "of 87", "nineteen eighty
// six" and "this year" at i; 0 for none.
func (p dateParser) year(i int) (y, to int) {
	j := i
	lead := p.low(j)
	if lead == "," || lead == "of" || lead == "in" {
		j++
	}
	if n, ok := fourDigits(p.low(j)); ok {
		return n, j + 1
	}
	if n, ok := wholeNumber(p.low(j)); ok && len(p.low(j)) == 2 && (lead == "of" || p.quoted(j)) {
		return century(n, p.today.Year()), j + 1
	}
	if p.low(j+1) == "year" && lead != "," {
		if by, ok := periods[p.low(j)]; ok {
			return p.today.Year() + by, j + 2
		}
	}
	if n, end := p.yearWords(j); n > 0 {
		return n, end
	}
	return 0, i
}

func fourDigits(w string) (int, bool) {
	n, ok := wholeNumber(w)
	return n, ok && len(w) == 4 && n >= 1500 && n < 2200
}

// quoted tells whether an apostrophe stands before word i: '87.
func (p dateParser) quoted(i int) bool {
	at := p.words[i].start
	return at > 0 && p.text[at-1] == '\''
}

// century completes a year of two digits, at most twenty years ahead.
func century(n, now int) int {
	if n+2000 > now+20 {
		return n + 1900
	}
	return n + 2000
}

// yearWords reads nineteen eighty six, two thousand and five, twenty twenty six.
func (p dateParser) yearWords(i int) (y, to int) {
	if p.low(i) == "two" && p.low(i+1) == "thousand" {
		j := i + 2
		if p.low(j) == "and" {
			j++
		}
		if n, end := p.below100(j); n > 0 {
			return 2000 + n, end
		}
		return 2000, i + 2
	}
	head := centuries[p.low(i)]
	if head == 0 {
		return 0, i
	}
	j := i + 1
	if p.low(j) == "hundred" {
		j++
		if p.low(j) == "and" {
			j++
		}
	}
	if n, end := p.below100(j); n >= 10 {
		return head*100 + n, end
	}
	return 0, i
}
