package offline

import (
	"strings"
	"time"
)

// A holiday stands on a day of a month, on the nth weekday of one (the last
// when n is -1), or so many days from Easter.
type festival struct {
	month   time.Month
	day     int
	weekday time.Weekday
	nth     int
	easter  bool
	offset  int
}

func fixed(m time.Month, d int) festival               { return festival{month: m, day: d} }
func nth(m time.Month, n int, w time.Weekday) festival { return festival{month: m, nth: n, weekday: w} }
func after(f festival, days int) festival              { f.offset = days; return f }
func fromEaster(days int) festival                     { return festival{easter: true, offset: days} }

// festivals are the days that English speakers name, without possessives and
// "day" where it may be left out. They are those of the United States where
// countries differ.
var festivals = map[string]festival{
	"new year": fixed(1, 1), "new year day": fixed(1, 1), "new years day": fixed(1, 1), "new year eve": fixed(12, 31), "new years eve": fixed(12, 31),
	"martin luther king day": nth(1, 3, 1), "martin luther king jr day": nth(1, 3, 1), "martin luther king jr . day": nth(1, 3, 1), "mlk day": nth(1, 3, 1),
	"groundhog day": fixed(2, 2), "valentine day": fixed(2, 14), "valentines day": fixed(2, 14), "presidents day": nth(2, 3, 1), "president day": nth(2, 3, 1), "washington birthday": nth(2, 3, 1),
	"saint patrick": fixed(3, 17), "saint patrick day": fixed(3, 17), "st patrick day": fixed(3, 17), "st . patrick day": fixed(3, 17), "st patricks day": fixed(3, 17), "pi day": fixed(3, 14),
	"april fools day": fixed(4, 1), "april fool day": fixed(4, 1), "april fools": fixed(4, 1), "earth day": fixed(4, 22), "women day": fixed(3, 8), "international women day": fixed(3, 8),
	"may day": fixed(5, 1), "workers day": fixed(5, 1), "international workers day": fixed(5, 1), "cinco de mayo": fixed(5, 5), "mother day": nth(5, 2, 0), "mothers day": nth(5, 2, 0), "memorial day": nth(5, -1, 1),
	"father day": nth(6, 3, 0), "fathers day": nth(6, 3, 0), "juneteenth": fixed(6, 19), "flag day": fixed(6, 14), "independence day": fixed(7, 4), "bastille day": fixed(7, 14),
	"labor day": nth(9, 1, 1), "labour day": nth(9, 1, 1), "columbus day": nth(10, 2, 1), "indigenous peoples day": nth(10, 2, 1), "halloween": fixed(10, 31), "halloween night": fixed(10, 31),
	"all saints day": fixed(11, 1), "all souls day": fixed(11, 2), "guy fawkes night": fixed(11, 5), "bonfire night": fixed(11, 5), "veterans day": fixed(11, 11), "remembrance day": fixed(11, 11), "armistice day": fixed(11, 11), "singles day": fixed(11, 11),
	"thanksgiving": nth(11, 4, 4), "thanksgiving day": nth(11, 4, 4), "black friday": after(nth(11, 4, 4), 1), "cyber monday": after(nth(11, 4, 4), 4),
	"christmas": fixed(12, 25), "christmas day": fixed(12, 25), "xmas": fixed(12, 25), "christmas eve": fixed(12, 24), "xmas eve": fixed(12, 24), "boxing day": fixed(12, 26), "inauguration day": fixed(1, 20),
	"easter": fromEaster(0), "easter sunday": fromEaster(0), "easter monday": fromEaster(1), "good friday": fromEaster(-2), "maundy thursday": fromEaster(-3), "ash wednesday": fromEaster(-46),
	"palm sunday": fromEaster(-7), "mardi gras": fromEaster(-47), "shrove tuesday": fromEaster(-47), "ascension day": fromEaster(39), "pentecost": fromEaster(49), "whit monday": fromEaster(50),
}

const maxFestivalWords = 5

// bareFestivals want a word of time before them or a capital: they are plain
// words otherwise.
var bareFestivals = set("new year", "saint patrick", "april fools", "pi day", "may day", "flag day")

// holiday reads Christmas, next Easter, Black Friday 2010, Independence Day of
// this year.
func (p dateParser) holiday(i int) (found, bool) {
	j, shift, led := i, 0, false
	switch p.low(i) {
	case "next":
		j, led = i+1, true
	case "last", "previous":
		j, shift, led = i+1, -1, true
	case "this":
		j, led = i+1, true
	}
	f, name, to := p.festivalAt(j)
	if name == "" {
		return found{}, false
	}
	y, end := p.year(to)
	if bareFestivals[name] && !led && !p.isCapital(j) && y == 0 {
		return found{}, false
	}
	if y > 0 {
		t, ok := p.on(f, y)
		return found{from: i, to: end, day: t}, ok
	}
	y = p.today.Year()
	t, ok := p.on(f, y)
	switch {
	case shift < 0:
		if !t.Before(p.today) {
			t, ok = p.on(f, y-1)
		}
	case t.Before(p.today) && p.low(i) != "this":
		t, ok = p.on(f, y+1)
	}
	return found{from: i, to: to, day: t, passed: shift < 0}, ok
}

// festivalBegins holds the first words of the names of holidays: one, two, up to all.
var festivalBegins = func() map[string]bool {
	out := map[string]bool{}
	for name := range festivals {
		words := strings.Fields(name)
		for n := range words {
			out[strings.Join(words[:n+1], " ")] = true
		}
	}
	return out
}()

// festivalAt gives the longest name of a holiday at i, and where it ends.
func (p dateParser) festivalAt(i int) (festival, string, int) {
	var best festival
	name, to, have := "", i, ""
	n := 0
	for j := i; j < len(p.words) && n < maxFestivalWords; j++ {
		w := strings.TrimSuffix(p.low(j), "'")
		if w != "'s" {
			if have != "" {
				have += " "
			}
			have += w
			n++
		}
		if have != "" && !festivalBegins[have] {
			break
		}
		if f, ok := festivals[have]; ok {
			best, name, to = f, have, j+1
		}
	}
	return best, name, to
}

// on gives the day of a holiday in a year.
func (p dateParser) on(f festival, y int) (time.Time, bool) {
	loc := p.today.Location()
	switch {
	case f.easter:
		m, d := easter(y)
		return time.Date(y, m, d+f.offset, 0, 0, 0, 0, loc), y >= 1583
	case f.nth > 0:
		first := time.Date(y, f.month, 1, 0, 0, 0, 0, loc)
		return first.AddDate(0, 0, (int(f.weekday)-int(first.Weekday())+7)%7+7*(f.nth-1)+f.offset), true
	case f.nth < 0:
		last := time.Date(y, f.month+1, 0, 0, 0, 0, 0, loc)
		return last.AddDate(0, 0, -(int(last.Weekday())-int(f.weekday)+7)%7), true
	}
	return time.Date(y, f.month, f.day, 0, 0, 0, 0, loc), true
}

// easter gives Easter Sunday of a Gregorian year (the anonymous algorithm of
// 1876, as in Meeus, Astronomical Algorithms).
func easter(y int) (time.Month, int) {
	a, b, c := y%19, y/100, y%100
	d, e := b/4, b%4
	g := (8*b + 13) / 25
	h := (19*a + b - d - g + 15) % 30
	i, k := c/4, c%4
	l := (32 + 2*e + 2*i - h - k) % 7
	m := (a + 11*h + 19*l) / 433
	month := (h + l - 7*m + 90) / 25
	return time.Month(month), (h + l - 7*m + 33*month + 19) % 32
}
