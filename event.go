package oxbow

import (
	"encoding/json"
	"time"
)

// EventType names what happened to a memory, as a participle.
type EventType string

// The types of event. lifecycle.go says which of them move a status.
const (
	Created       EventType = "created"
	Rated         EventType = "rated"      // confidence was judged
	Reinforced    EventType = "reinforced" // a later statement confirmed it
	Dated         EventType = "dated"      // expires_at or review_at was set or taken away
	Edited        EventType = "edited"
	PinnedEvent   EventType = "pinned"
	UnpinnedEvent EventType = "unpinned"
	Linked        EventType = "linked"  // an edge was added or taken away, nothing else
	Refused       EventType = "refused" // the gate refused what a judge proposed; nothing else changed
	SupersededBy  EventType = "superseded"
	CompressedTo  EventType = "compressed"
	ExpiredEvent  EventType = "expired"
	ArchivedEvent EventType = "archived"
	Restored      EventType = "restored"
	Released      EventType = "released"
	ErasedEvent   EventType = "erased"
)

// EventTypes lists every type, in the order in which they are documented.
var EventTypes = []EventType{Created, Rated, Reinforced, Dated, Edited, PinnedEvent, UnpinnedEvent, Linked, Refused,
	SupersededBy, CompressedTo, ExpiredEvent, ArchivedEvent, Restored, Released, ErasedEvent}

// Instant is a time in an event's patch; zero is written as the empty string,
// which says that there is none.
type Instant struct{ time.Time }

// MarshalJSON writes RFC 3339 in UTC, or "" for zero.
func (t Instant) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte(`""`), nil
	}
	return json.Marshal(t.UTC().Format(time.RFC3339Nano))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (t *Instant) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	if s == "" {
		t.Time = time.Time{}
		return nil
	}
	parsed, err := time.Parse(time.RFC3339Nano, s)
	t.Time = parsed.UTC()
	return err
}

// Patch holds the fields of a memory's state that an event changed; nil means
// that the field did not change. Content is named by id and digest only.
type Patch struct {
	Status         *Status  `json:"status,omitempty"`
	ReplacedBy     *string  `json:"replaced_by,omitempty"`
	Kind           *Kind    `json:"kind,omitempty"`
	Slot           *string  `json:"slot,omitempty"`
	Key            *string  `json:"key,omitempty"`
	ContentID      *string  `json:"content_id,omitempty"`
	Digest         *string  `json:"digest,omitempty"`
	ContentVersion *int     `json:"content_version,omitempty"`
	Importance     *float64 `json:"importance,omitempty"`
	Rating         *float64 `json:"rating,omitempty"`
	Rated          *bool    `json:"rated,omitempty"`
	Confirmations  *int     `json:"confirmations,omitempty"`
	Source         *Source  `json:"source,omitempty"`
	Pinned         *bool    `json:"pinned,omitempty"`
	SaidAt         *Instant `json:"said_at,omitempty"`
	ConfirmedAt    *Instant `json:"confirmed_at,omitempty"`
	TouchedAt      *Instant `json:"touched_at,omitempty"`
	ExpiresAt      *Instant `json:"expires_at,omitempty"`
	ReviewAt       *Instant `json:"review_at,omitempty"`
	Turn           *string  `json:"turn,omitempty"`
	Conversation   *string  `json:"conversation,omitempty"`
	Quote          *Quote   `json:"quote,omitempty"`
	Derived        *bool    `json:"derived,omitempty"`
}

// Diff gives what a patch must hold to say how b differs from a: the old
// values and the new ones.
func Diff(a, b Memory) (before, after Patch) {
	differ(a.Status, b.Status, &before.Status, &after.Status)
	differ(a.ReplacedBy, b.ReplacedBy, &before.ReplacedBy, &after.ReplacedBy)
	differ(a.Kind, b.Kind, &before.Kind, &after.Kind)
	differ(a.Slot, b.Slot, &before.Slot, &after.Slot)
	differ(a.Key, b.Key, &before.Key, &after.Key)
	differ(a.ContentID, b.ContentID, &before.ContentID, &after.ContentID)
	differ(a.Digest, b.Digest, &before.Digest, &after.Digest)
	differ(a.ContentVersion, b.ContentVersion, &before.ContentVersion, &after.ContentVersion)
	differ(a.Importance, b.Importance, &before.Importance, &after.Importance)
	differ(a.Rating, b.Rating, &before.Rating, &after.Rating)
	differ(a.Rated, b.Rated, &before.Rated, &after.Rated)
	differ(a.Confirmations, b.Confirmations, &before.Confirmations, &after.Confirmations)
	differ(a.Source, b.Source, &before.Source, &after.Source)
	differ(a.Pinned, b.Pinned, &before.Pinned, &after.Pinned)
	differTime(a.SaidAt, b.SaidAt, &before.SaidAt, &after.SaidAt)
	differTime(a.ConfirmedAt, b.ConfirmedAt, &before.ConfirmedAt, &after.ConfirmedAt)
	differTime(a.TouchedAt, b.TouchedAt, &before.TouchedAt, &after.TouchedAt)
	differTime(a.ExpiresAt, b.ExpiresAt, &before.ExpiresAt, &after.ExpiresAt)
	differTime(a.ReviewAt, b.ReviewAt, &before.ReviewAt, &after.ReviewAt)
	differ(a.Turn, b.Turn, &before.Turn, &after.Turn)
	differ(a.Conversation, b.Conversation, &before.Conversation, &after.Conversation)
	differ(a.Quote, b.Quote, &before.Quote, &after.Quote)
	differ(a.Derived, b.Derived, &before.Derived, &after.Derived)
	return before, after
}

func differ[T comparable](a, b T, before, after **T) {
	if a != b {
		*before, *after = &a, &b
	}
}

func differTime(a, b time.Time, before, after **Instant) {
	if !a.Equal(b) {
		*before, *after = &Instant{a}, &Instant{b}
	}
}

// Apply gives the memory with the patch's fields set: one step of the replay.
func (p Patch) Apply(m Memory) Memory {
	set(p.Status, &m.Status)
	set(p.ReplacedBy, &m.ReplacedBy)
	set(p.Kind, &m.Kind)
	set(p.Slot, &m.Slot)
	set(p.Key, &m.Key)
	set(p.ContentID, &m.ContentID)
	set(p.Digest, &m.Digest)
	set(p.ContentVersion, &m.ContentVersion)
	set(p.Importance, &m.Importance)
	set(p.Rating, &m.Rating)
	set(p.Rated, &m.Rated)
	set(p.Confirmations, &m.Confirmations)
	set(p.Source, &m.Source)
	set(p.Pinned, &m.Pinned)
	setTime(p.SaidAt, &m.SaidAt)
	setTime(p.ConfirmedAt, &m.ConfirmedAt)
	setTime(p.TouchedAt, &m.TouchedAt)
	setTime(p.ExpiresAt, &m.ExpiresAt)
	setTime(p.ReviewAt, &m.ReviewAt)
	set(p.Turn, &m.Turn)
	set(p.Conversation, &m.Conversation)
	set(p.Quote, &m.Quote)
	set(p.Derived, &m.Derived)
	return m
}

func set[T any](v *T, into *T) {
	if v != nil {
		*into = *v
	}
}

func setTime(v *Instant, into *time.Time) {
	if v != nil {
		*into = v.Time
	}
}

// Fields lists the JSON names of the fields a patch holds.
func (p Patch) Fields() []string {
	b, err := json.Marshal(p)
	if err != nil {
		return nil
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(b, &m) != nil {
		return nil
	}
	names := make([]string, 0, len(m))
	for k := range m {
		names = append(names, k)
	}
	return names
}

// Event is one line of the audit log. Version is the memory's version after
// it: the events of a memory are numbered 1, 2, 3 without a gap.
type Event struct {
	Seq        int64     `json:"seq"`
	Scope      Scope     `json:"scope"`
	Memory     string    `json:"memory"`
	Version    int       `json:"version"`
	Type       EventType `json:"type"`
	Before     Patch     `json:"before,omitzero"`
	After      Patch     `json:"after,omitzero"`
	Links      []Link    `json:"links,omitempty"`   // edges added
	Unlinks    []Link    `json:"unlinks,omitempty"` // edges taken away
	Reason     string    `json:"reason,omitempty"`  // why, in words that hold no content
	Actor      string    `json:"actor"`             // who asked: user, operator, schedule, judge
	Judge      string    `json:"judge,omitempty"`   // judge@version, when one was asked
	Run        string    `json:"run"`
	At         time.Time `json:"at"`          // the instant it is about
	RecordedAt time.Time `json:"recorded_at"` // when it was processed
}
