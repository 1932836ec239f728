package store

import (
	"context"
	"time"

	"github.com/oxbow-memory/oxbow"
)

// ShownReader reads what agents were shown.
type ShownReader interface {
	// Shown gives, of each memory, the conversations whose agent was shown it, by
	// memory and conversation.
	Shown(ctx context.Context, tenant string, ids []string) ([]oxbow.Shown, error)
}

// ShownWriter remembers it.
type ShownWriter interface {
	// PutShown remembers that memories of a scope were shown in a conversation;
	// the first time stays. Unknown ids, and those of other scopes, are left out.
	// Idempotent.
	PutShown(ctx context.Context, s oxbow.Scope, conversation string, ids []string, at time.Time) error
}
