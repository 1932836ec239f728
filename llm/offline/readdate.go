package offline

import "time"

// ReadDate gives the day that a phrase names, at midnight in the zone, against
// the instant at which it was said: of several days, and of a range, the last
// one; of a week the day that ends it, as Dates has it. What is no appointment
// (a year, a season) is not found. The gate compares a judge's answer with it.
func ReadDate(phrase string, saidAt time.Time, zone *time.Location) (day time.Time, found bool) {
	if zone == nil {
		zone = time.UTC
	}
	fs := firm(dates(read(phrase), saidAt.In(zone)))
	if len(fs) == 0 {
		return time.Time{}, false
	}
	return fs[len(fs)-1].day, true
}
