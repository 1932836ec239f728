package store

import (
	"context"
	"time"

	"github.com/oxbow-memory/oxbow"
)

// AccessReader reads who may do what.
type AccessReader interface {
	// Key gives a key by its id, whatever its tenant; not_found.
	Key(ctx context.Context, id string) (oxbow.Key, error)
	// ListKeys gives a tenant's keys, the oldest first; an empty tenant gives
	// all.
	ListKeys(ctx context.Context, tenant string) ([]oxbow.Key, error)
}

// AccessWriter changes it, and remembers requests.
type AccessWriter interface {
	// PutKey stores a key, or replaces the one with its id.
	PutKey(ctx context.Context, k oxbow.Key) error
	// PutRequest remembers a request and gives true, or gives false and the
	// request that came with this key before. It takes away those that came
	// before since.
	PutRequest(ctx context.Context, r Request, since time.Time) (Request, bool, error)
}

// Request is a request that had its effect, by the key that its caller chose
// for it (the header Idempotency-Key).
type Request struct {
	Tenant  string
	Key     string // at most 255 bytes
	Digest  string // of what was asked, so that a key is not taken for another request
	Outcome []byte // JSON of ids and counts, never content
	At      time.Time
}
