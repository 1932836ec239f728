package store

import (
	"encoding/json"
	"strings"

	"github.com/oxbow-memory/oxbow"
)

// CountsJSON gives a run's counts as they are stored.
func CountsJSON(counts map[string]int) string {
	if len(counts) == 0 {
		return "{}"
	}
	return JSON(counts)
}

// Changed gives how many memories left the active ones, of a run's counts: what
// the brake on passes adds up.
func Changed(counts map[string]int) int {
	return counts[string(oxbow.ArchivedEvent)] + counts[string(oxbow.CompressedTo)] + counts[string(oxbow.SupersededBy)]
}

// CountsItself tells whether runs of a name keep the counts of their events:
// passes do, because the brake adds them up.
func CountsItself(name string) bool {
	switch name {
	case "decay", "expire", "prune", "synthesize":
		return true
	}
	return false
}

// TurnWords is the content of a turn as it is stored.
type TurnWords struct {
	User      string       `json:"user,omitempty"`
	Assistant string       `json:"assistant,omitempty"`
	Parts     []oxbow.Part `json:"parts,omitempty"`
}

// cancelled is what River puts before the message of a job that ended by it: the name
// of a type, which says nothing to a person.
const cancelled = "JobCancelError: "

// JobErrors gives the messages of River's attempt errors, oldest first.
func JobErrors(stored string) ([]string, error) {
	var attempts []struct {
		Error string `json:"error"`
	}
	if err := json.Unmarshal([]byte(stored), &attempts); err != nil {
		return nil, oxbow.WrapError(oxbow.CodeInternal, err, "read the job's errors")
	}
	out := make([]string, len(attempts))
	for i, a := range attempts {
		out[i] = strings.TrimPrefix(a.Error, cancelled)
	}
	return out, nil
}

// RawArgs are job arguments that are only passed on, for the one call of River
// that is generic in them.
type RawArgs struct{ json.RawMessage }

// Kind satisfies River; nothing is enqueued by it.
func (RawArgs) Kind() string { return "raw" }
