package main

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
)

// zone gives a scope's time zone; that of a new scope is UTC.
func (s *session) zone(ctx context.Context, scope string) (*time.Location, error) {
	if scope == "" {
		return time.UTC, nil
	}
	settings, err := s.st.Scope(ctx, oxbow.Scope{Tenant: s.tenant, Name: scope})
	if oxbow.CodeOf(err) == oxbow.CodeNotFound {
		return time.UTC, nil
	}
	return settings.Location(), err
}

// parseEnd reads the argument of --expires: an instant, or a day, which lasts
// until its end in the zone. "" is no end.
func parseEnd(v string, zone *time.Location) (time.Time, error) {
	if v == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.RFC3339, v); err == nil {
		return t.UTC(), nil
	}
	t, err := time.ParseInLocation(time.DateOnly, v, zone)
	if err != nil {
		return time.Time{}, usage("--expires %q is no time: use a date such as 2027-03-31, or 2027-03-31T18:00:00Z", v)
	}
	return t.AddDate(0, 0, 1).UTC(), nil
}

// parseSince reads the argument of --since: an instant, the beginning of a day
// in the zone, or how long ago. "" is no bound.
func parseSince(v string, zone *time.Location, now time.Time) (time.Time, error) {
	if v == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.RFC3339, v); err == nil {
		return t.UTC(), nil
	}
	if t, err := time.ParseInLocation(time.DateOnly, v, zone); err == nil {
		return t.UTC(), nil
	}
	if ago, ok := parseAgo(v); ok {
		return now.Add(-ago), nil
	}
	return time.Time{}, usage("--since %q is no time: use a date such as 2027-03-31, an instant such as 2027-03-31T18:00:00Z, or how long ago, such as 7d or 48h", v)
}

// furthestAgo keeps durations inside what Go can hold.
const furthestAgo = 100 * 365

func parseAgo(v string) (time.Duration, bool) {
	for unit, days := range map[string]int{"d": 1, "w": 7} {
		if n, err := strconv.Atoi(strings.TrimSuffix(v, unit)); strings.HasSuffix(v, unit) && err == nil {
			return time.Duration(n*days) * 24 * time.Hour, n >= 0 && n <= furthestAgo
		}
	}
	d, err := time.ParseDuration(v)
	return d, err == nil && d >= 0
}

// stamp writes an instant as people read it, in the machine's zone.
func stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04")
}

// stampIn is stamp in a zone that it names.
func stampIn(t time.Time, zone *time.Location) string {
	if t.IsZero() {
		return "-"
	}
	return t.In(zone).Format("2006-01-02 15:04 MST")
}

// date writes a day as tables show it.
func date(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format(time.DateOnly)
}

// ending writes an instant at which something ends: at midnight of its zone it
// ends with the day before.
func ending(t time.Time, zone string) string {
	if t.IsZero() {
		return ""
	}
	loc, err := time.LoadLocation(zone)
	if err != nil {
		loc = time.UTC
	}
	local := t.In(loc)
	if local.Hour() == 0 && local.Minute() == 0 && local.Second() == 0 {
		return "at the end of " + engine.Day(local.Add(-time.Second))
	}
	return local.Format("2 January 2006, 15:04 MST")
}

// ago writes how long something lies back.
func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return strconv.Itoa(max(0, int(d.Seconds()))) + " s"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + " min"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d.Hours())) + " h"
	}
	return strconv.Itoa(int(d.Hours()/24)) + " days"
}
