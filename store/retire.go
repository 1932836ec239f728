package store

import (
	"strconv"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow"
)

// Retirement is a change of many memories that is named by what they have in
// common and not one by one: of the active ones that are due at the batch's Now,
// the first Limit after a place lose their status, and nothing else about them
// changes.
type Retirement struct {
	// Type is archived, for what has faded, or expired, for what is past its
	// date. Faded and PastExpiry have the orders.
	Type          oxbow.EventType
	Reason, Actor string
	After         string // a Place
	Limit         int
}

// Patches gives what stands in each of its events.
func (r Retirement) Patches() (before, after oxbow.Patch, err error) {
	to, err := oxbow.Move(r.Type, oxbow.Active)
	if err == nil && to != oxbow.Archived && to != oxbow.Expired {
		err = oxbow.Errorf(oxbow.CodeInternal, "nothing is due to be %s", r.Type)
	}
	active := oxbow.Active
	return oxbow.Patch{Status: &active}, oxbow.Patch{Status: &to}, err
}

// Retired is what a retirement did.
type Retired struct {
	Count int // how many memories it changed
	// Last is the Place of the last that was due, also when it was used meanwhile
	// and so stayed; the one that it began after when nothing was due.
	Last string
}

// Place names a place in an order by instant and then by id, for going on after
// it.
func Place(at time.Time, id string) string { return strconv.FormatInt(at.UnixMilli(), 10) + ":" + id }

// ParsePlace reads what Place made. Anything else is the place before the first,
// which is where a pass begins that has nothing to go on from.
func ParsePlace(place string) (at time.Time, id string) {
	ms, id, found := strings.Cut(place, ":")
	n, err := strconv.ParseInt(ms, 10, 64)
	if !found || err != nil {
		return time.Time{}, ""
	}
	return time.UnixMilli(n).UTC(), id
}
