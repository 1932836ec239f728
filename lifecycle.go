package oxbow

// moves says between which statuses a type of event may move a memory. No
// entry for a status means that the event is refused there.
var moves = map[EventType]map[Status]Status{
	Rated:         stays(Active, Superseded, Compressed),
	Dated:         stays(Active, Superseded, Compressed),
	PinnedEvent:   {Active: Active},
	UnpinnedEvent: {Active: Active},
	Edited:        {Active: Active},
	SupersededBy:  {Active: Superseded},
	CompressedTo:  {Active: Compressed},
	ExpiredEvent:  {Active: Expired},
	ArchivedEvent: {Active: Archived},
	Released:      {Quarantined: Active},
	Restored: {Superseded: Active, Compressed: Active, Expired: Active,
		Archived: Active, Quarantined: Active},
	Reinforced:  stays(Active, Superseded, Compressed, Expired, Archived),
	Linked:      stays(Active, Superseded, Compressed, Expired, Archived, Quarantined),
	Refused:     stays(Active, Superseded, Compressed, Expired, Archived, Quarantined),
	ErasedEvent: toErased(),
}

func stays(statuses ...Status) map[Status]Status {
	m := map[Status]Status{}
	for _, s := range statuses {
		m[s] = s
	}
	return m
}

func toErased() map[Status]Status {
	m := map[Status]Status{}
	for _, s := range Statuses {
		if s != Erased {
			m[s] = Erased
		}
	}
	return m
}

// Move gives the status that an event of a type moves a memory to, or a
// conflict error when that move is not legal (DESIGN 2).
func Move(t EventType, from Status) (Status, error) {
	to, ok := moves[t][from]
	if !ok {
		return "", Errorf(CodeConflict, "a memory that is %s cannot be %s", from, t)
	}
	return to, nil
}

// EnteringStatus tells whether a new memory may be stored with a status.
// Superseded and compressed are for statements that arrive late.
func EnteringStatus(s Status) bool {
	switch s {
	case Active, Quarantined, Superseded, Compressed:
		return true
	}
	return false
}

// Moved gives the statuses between which an event of a type moved a memory, both
// empty when it moved none; from is empty for a memory that was created. was is
// the status that a created event began in or a restored or erased one left,
// which the type does not say; the others need none.
func Moved(t EventType, was Status) (from, to Status) {
	switch t {
	case Created:
		return "", was
	case Restored, ErasedEvent:
		return was, moves[t][was]
	}
	for from, to := range moves[t] {
		if from != to {
			return from, to // the one entry of such a type
		}
	}
	return "", ""
}
