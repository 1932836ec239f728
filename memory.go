package oxbow

import "time"

// Kind says what sort of thing a memory is. Its half-life follows from it.
type Kind string

// The kinds of memory. A fact has a slot and a key; the others stand free.
const (
	Fact        Kind = "fact"
	Semantic    Kind = "semantic"
	Episodic    Kind = "episodic"
	Procedural  Kind = "procedural"
	Preference  Kind = "preference"
	Observation Kind = "observation"
	Reflection  Kind = "reflection"
)

// Kinds lists every kind, in the order in which they are documented.
var Kinds = []Kind{Fact, Semantic, Episodic, Procedural, Preference, Observation, Reflection}

// Status says whether, and why not, a memory is part of what is known.
type Status string

// The statuses of a memory; lifecycle.go has the legal moves between them.
const (
	Active      Status = "active"
	Superseded  Status = "superseded"
	Compressed  Status = "compressed"
	Expired     Status = "expired"
	Archived    Status = "archived"
	Quarantined Status = "quarantined"
	Erased      Status = "erased"
)

// Statuses lists every status, in the order in which they are documented.
var Statuses = []Status{Active, Superseded, Compressed, Expired, Archived, Quarantined, Erased}

// Source says who said a thing. It is set by code from the part of the turn
// in which the quote stands, never by a judge.
type Source string

// The sources, most trusted first; web and import are trusted alike.
const (
	FromUser      Source = "user"
	FromAssistant Source = "assistant"
	FromTool      Source = "tool"
	FromWeb       Source = "web"
	FromImport    Source = "import"
)

// Sources lists every source, most trusted first.
var Sources = []Source{FromUser, FromAssistant, FromTool, FromWeb, FromImport}

// Trust gives a source's rank, 4 (user) to 1 (web, import); 0 for an unknown one.
func (s Source) Trust() int {
	switch s {
	case FromUser:
		return 4
	case FromAssistant:
		return 3
	case FromTool:
		return 2
	case FromWeb, FromImport:
		return 1
	}
	return 0
}

// LeastTrusted gives the less trusted of two sources; a derived memory takes
// the least trusted of its parents. Of equals it gives the first.
func LeastTrusted(a, b Source) Source {
	if b.Trust() < a.Trust() {
		return b
	}
	return a
}

// Content is what a memory says. It stands in one place, the contents table;
// everything else holds its id.
type Content struct {
	Text    string   `json:"text"`              // 1 byte to 64 KiB, valid UTF-8, NFC
	Summary string   `json:"summary,omitempty"` // at most 160 characters
	Tags    []string `json:"tags,omitempty"`    // lower case, sorted, without repeats
	// Speaker names who said it, at most 80 characters, when that is a person
	// beside the user and the assistant of the turn. It says nothing of trust.
	Speaker string `json:"speaker,omitempty"`
	// Details are the typed statements that rules read from the text when it
	// was stored; at most MaxDetails, and none where they read nothing.
	Details []Detail `json:"details,omitempty"`
}

// Quote says where in its turn a memory's words stand, so that the words
// themselves need not be copied: bytes [Start, End) of the named part.
type Quote struct {
	Part  string `json:"part,omitempty"` // "user", "assistant" or "parts/N"
	Start int    `json:"start,omitempty"`
	End   int    `json:"end,omitempty"`
}

// Memory is one thing known. The fields up to Version are the state that the
// audit log replays to; the counters stand outside the log; the derived fields
// follow from the rest and the scope's policy.
type Memory struct {
	ID    string `json:"id"`
	Scope Scope  `json:"scope"`

	Status         Status    `json:"status"`
	ReplacedBy     string    `json:"replaced_by,omitempty"` // the memory that superseded or holds this one
	Kind           Kind      `json:"kind"`
	Slot           string    `json:"slot,omitempty"`
	Key            string    `json:"key,omitempty"`
	Content        Content   `json:"content"`
	ContentID      string    `json:"content_id"`
	Digest         string    `json:"digest"`          // salted SHA-256 of the content
	ContentVersion int       `json:"content_version"` // moves when content, slot or key does
	Importance     float64   `json:"importance"`      // 0 to 10
	Rating         float64   `json:"rating"`          // 0 to 1, how surely it was stated
	Rated          bool      `json:"rated"`           // false: nobody rated it yet and Rating is 0.5
	Confirmations  int       `json:"confirmations"`   // later statements that count as confirming it
	Source         Source    `json:"source"`
	Pinned         bool      `json:"pinned"`
	SaidAt         time.Time `json:"said_at"`
	ConfirmedAt    time.Time `json:"confirmed_at,omitzero"` // last confirmation
	TouchedAt      time.Time `json:"touched_at,omitzero"`   // last restore, release, edit or unpin
	ExpiresAt      time.Time `json:"expires_at,omitzero"`
	ReviewAt       time.Time `json:"review_at,omitzero"` // event-bound: look again after this
	Turn           string    `json:"turn,omitempty"`
	Conversation   string    `json:"conversation,omitempty"`
	Quote          Quote     `json:"quote,omitzero"`
	Derived        bool      `json:"derived,omitempty"` // made by synthesis
	CreatedAt      time.Time `json:"created_at"`        // when it was stored
	Version        int       `json:"version"`           // the number of its events

	AccessCount int       `json:"access_count"`
	LastUsedAt  time.Time `json:"last_used_at,omitzero"`

	HalfLife float64   `json:"half_life_days"` // effective, in days; 0 when pinned
	FadesAt  time.Time `json:"fades_at,omitzero"`
	RankKey  float64   `json:"rank_key"`
}

// Confidence is the rating raised by 0.1 for each confirmation that counts,
// at most 1 (DESIGN 4, after the reinforce function of the published design).
func (m Memory) Confidence() float64 {
	return min(1, m.Rating+0.1*float64(m.Confirmations))
}

// IsFact tells whether the memory has an address (slot and key).
func (m Memory) IsFact() bool { return m.Key != "" }

// IsNote tells whether the memory is what a conversation was condensed into: an
// observation or a reflection that belongs to one. Notes live by the same rules
// of time, but act on notes alone: what was really said is kept beside them.
func (m Memory) IsNote() bool {
	return (m.Kind == Observation || m.Kind == Reflection) && m.Conversation != ""
}

// RefTime is the start of the idle clock: the latest of when it was said,
// confirmed, touched by an operator, and used.
func (m Memory) RefTime() time.Time {
	t := m.SaidAt
	for _, u := range []time.Time{m.ConfirmedAt, m.TouchedAt, m.LastUsedAt} {
		if u.After(t) {
			t = u
		}
	}
	return t
}

// Before orders memories by when they were said, then by id. It is the only
// order that decides which of two statements is the newer one.
func (m Memory) Before(o Memory) bool {
	if !m.SaidAt.Equal(o.SaidAt) {
		return m.SaidAt.Before(o.SaidAt)
	}
	return m.ID < o.ID
}

// LinkType is the type of a typed edge between two memories.
type LinkType string

// The link types. From is always the newer or derived memory.
const (
	Supersedes    LinkType = "supersedes"
	DerivedFrom   LinkType = "derived_from"
	Confirms      LinkType = "confirms"
	ConflictsWith LinkType = "conflicts_with"
)

// Link is a typed edge between two memories of one scope.
type Link struct {
	From string   `json:"from"`
	To   string   `json:"to"`
	Type LinkType `json:"type"`
}
