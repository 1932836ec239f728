package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/oxbow-memory/oxbow"
)

// Cue says that a conversation was asked by a state of mind, of which only a
// salted digest is kept, and how far the conversation had come.
type Cue struct {
	Salt   string
	Digest string
	Turn   string // the newest turn of the conversation then; "" when there was none
	At     time.Time
}

// MaxCues is how many cues of one conversation are kept, and MaxScopeCues how
// many of one scope: the newest.
const (
	MaxCues      = 8
	MaxScopeCues = 1000
)

// NewCue makes the cue of some words, with a salt of its own.
func NewCue(words, turn string, at time.Time) Cue {
	salt := make([]byte, 16)
	if _, err := rand.Read(salt); err != nil { // never fails on supported systems
		panic(err)
	}
	c := Cue{Salt: hex.EncodeToString(salt), Turn: turn, At: at}
	c.Digest = c.of(words)
	return c
}

// Is tells whether the cue was made of the same words.
func (c Cue) Is(words string) bool { return c.Digest == c.of(words) }

func (c Cue) of(words string) string {
	sum := sha256.Sum256([]byte(c.Salt + "\n" + words))
	return hex.EncodeToString(sum[:])
}

// CueReader reads by what conversations were asked.
type CueReader interface {
	// Cues gives the cues of a conversation, the newest first, at most MaxCues;
	// none for what is unknown.
	Cues(ctx context.Context, s oxbow.Scope, conversation string) ([]Cue, error)
}

// CueWriter remembers it.
type CueWriter interface {
	// PutCue remembers a cue of a conversation and lets the oldest go, so that at
	// most MaxCues of the conversation and MaxScopeCues of the scope stay. A scope
	// that there is none of keeps nothing. Idempotent by digest.
	PutCue(ctx context.Context, s oxbow.Scope, conversation string, c Cue) error
}
