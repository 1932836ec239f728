package oxbow

import "time"

// Part is text in a turn that neither the user nor the assistant wrote: the
// output of a tool, a web page, an imported document.
type Part struct {
	Source Source `json:"source"` // tool, web or import
	Text   string `json:"text"`
}

// Turn is one exchange that memories are extracted from.
type Turn struct {
	ID           string    `json:"id"`
	Scope        Scope     `json:"scope"`
	Conversation string    `json:"conversation,omitempty"`
	User         string    `json:"user,omitempty"`
	Assistant    string    `json:"assistant,omitempty"`
	Parts        []Part    `json:"parts,omitempty"`
	At           time.Time `json:"at"`

	State     TurnState `json:"state"`
	Reason    string    `json:"reason,omitempty"` // why nothing was kept, or what failed
	Memories  int       `json:"memories"`         // how many were made from it
	Judge     string    `json:"judge,omitempty"`  // which judge read it
	Run       string    `json:"run,omitempty"`
	Observed  string    `json:"observed,omitempty"` // the run in which it was observed; empty while it was not
	Redacted  int       `json:"redacted,omitempty"` // secret-shaped strings taken out before storing
	CreatedAt time.Time `json:"created_at"`
}

// TurnState says how far a turn has come.
type TurnState string

// The states of a turn.
const (
	TurnWaiting   TurnState = "waiting"   // not yet extracted
	TurnExtracted TurnState = "extracted" // read; Memories says how many were kept
	TurnFailed    TurnState = "failed"    // the judge refuses its text or could not read it; Reason says which
	TurnErased    TurnState = "erased"    // its text is gone
)
