package oxbow

import "time"

// Relation is what a judge says of two statements, the newer against the older.
type Relation string

// The relations. Equal is found by code: the same words, or the same value at
// the same address.
const (
	Contradicts Relation = "contradicts" // the newer one says that the older one is wrong
	Replaces    Relation = "supersedes"  // the newer one takes the older one's place
	ConfirmsIt  Relation = "confirms"    // the newer one says the same in other words
	Equal       Relation = "equal"       // the newer one restates the older one
	Unsure      Relation = "conflicts"   // they cannot both be right, but which one is unclear
	Rejected    Relation = "rejected"    // an operator kept the older one; the newer one is set aside
	Both        Relation = "both"        // an operator says that both hold, whatever a judge thinks
	Unrelated   Relation = "unrelated"   // never stored
)

// Operator is the judge of verdicts that a person gave. They bind: trust does not
// stop them, and no judge replaces them. Limit: nor does one when the words of a
// memory are edited afterwards; the person decides again.
const Operator = "operator"

// Verdict is one judgement of a pair of memories. It is about the pair in the
// order in which the two were said, whichever was stored first; that, and
// Settle, is why the order of arrival does not matter.
type Verdict struct {
	Older    string    `json:"older"`
	Newer    string    `json:"newer"`
	Relation Relation  `json:"relation"`
	Judge    string    `json:"judge"` // judge@version, code, or operator
	Run      string    `json:"run"`
	At       time.Time `json:"at"`
}

// NewVerdict puts two memories in the order in which they were said.
func NewVerdict(a, b Memory, r Relation) Verdict {
	if b.Before(a) {
		a, b = b, a
	}
	return Verdict{Older: a.ID, Newer: b.ID, Relation: r}
}

// Shown says that a conversation's agent was shown a memory, and when first.
type Shown struct {
	Memory       string    `json:"memory"`
	Conversation string    `json:"conversation"`
	At           time.Time `json:"at"`
}
