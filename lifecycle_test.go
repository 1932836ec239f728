package oxbow_test

import (
	"slices"
	"testing"

	"github.com/oxbow-memory/oxbow"
)

// allTypes lists every type of event; a new one belongs in here and in DESIGN 2.
var allTypes = []oxbow.EventType{
	oxbow.Created, oxbow.Rated, oxbow.Reinforced, oxbow.Dated, oxbow.Edited,
	oxbow.PinnedEvent, oxbow.UnpinnedEvent, oxbow.Linked, oxbow.Refused,
	oxbow.SupersededBy, oxbow.CompressedTo, oxbow.ExpiredEvent, oxbow.ArchivedEvent,
	oxbow.Restored, oxbow.Released, oxbow.ErasedEvent,
}

// diagram is DESIGN 2 written out a second time, by status instead of by event.
var diagram = map[oxbow.Status]map[oxbow.Status][]oxbow.EventType{
	oxbow.Active: {
		oxbow.Active: {oxbow.Rated, oxbow.Reinforced, oxbow.Dated, oxbow.Edited,
			oxbow.PinnedEvent, oxbow.UnpinnedEvent, oxbow.Linked, oxbow.Refused},
		oxbow.Superseded: {oxbow.SupersededBy},
		oxbow.Compressed: {oxbow.CompressedTo},
		oxbow.Expired:    {oxbow.ExpiredEvent},
		oxbow.Archived:   {oxbow.ArchivedEvent},
		oxbow.Erased:     {oxbow.ErasedEvent},
	},
	oxbow.Quarantined: {
		oxbow.Quarantined: {oxbow.Linked, oxbow.Refused},
		oxbow.Active:      {oxbow.Restored, oxbow.Released},
		oxbow.Erased:      {oxbow.ErasedEvent},
	},
	// What arrives late is settled before its jobs have rated and dated it.
	oxbow.Superseded: settled(oxbow.Superseded, oxbow.Rated, oxbow.Dated),
	oxbow.Compressed: settled(oxbow.Compressed, oxbow.Rated, oxbow.Dated),
	oxbow.Expired:    settled(oxbow.Expired),
	oxbow.Archived:   settled(oxbow.Archived),
	oxbow.Erased:     {},
}

func settled(s oxbow.Status, also ...oxbow.EventType) map[oxbow.Status][]oxbow.EventType {
	return map[oxbow.Status][]oxbow.EventType{
		s:            append(also, oxbow.Reinforced, oxbow.Linked, oxbow.Refused),
		oxbow.Active: {oxbow.Restored},
		oxbow.Erased: {oxbow.ErasedEvent},
	}
}

func TestMove(t *testing.T) {
	t.Parallel()

	t.Run("allows exactly the arrows of the diagram", func(t *testing.T) {
		t.Parallel()
		for _, from := range oxbow.Statuses {
			for _, event := range allTypes {
				var want oxbow.Status
				for to, events := range diagram[from] {
					if slices.Contains(events, event) {
						want = to
					}
				}
				to, err := oxbow.Move(event, from)
				if to != want || (err == nil) != (want != "") {
					t.Errorf("%s on %s leads to %q with error %v, want %q", event, from, to, err, want)
				}
				if err != nil && oxbow.CodeOf(err) != oxbow.CodeConflict {
					t.Errorf("%s on %s: the code is %s", event, from, oxbow.CodeOf(err))
				}
			}
		}
	})

	t.Run("lets nothing out of erased", func(t *testing.T) {
		t.Parallel()
		for _, event := range append(allTypes, "unheard of") {
			if _, err := oxbow.Move(event, oxbow.Erased); err == nil {
				t.Errorf("%s moves an erased memory", event)
			}
		}
	})

	t.Run("lets a memory enter as active, quarantined or already settled", func(t *testing.T) {
		t.Parallel()
		may := []oxbow.Status{oxbow.Active, oxbow.Quarantined, oxbow.Superseded, oxbow.Compressed}
		for _, s := range append(oxbow.Statuses, "", "unheard of") {
			if got := oxbow.EnteringStatus(s); got != slices.Contains(may, s) {
				t.Errorf("a memory may enter as %q: %v", s, got)
			}
		}
	})
}
