package engine

import (
	"context"
	"slices"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/jobs"
)

// Fact gives every value that was ever held at an address, oldest said first.
// Errors: invalid for a slot that there is none of, not_found when nothing was
// ever known there.
func (e *Engine) Fact(ctx context.Context, s oxbow.Scope, slot, key string) ([]oxbow.Memory, error) {
	if !slices.Contains(Slots, slot) {
		return nil, oxbow.Errorf(oxbow.CodeInvalid, "there is no slot %q: use %s", slot, text.OneOf(Slots))
	}
	ms, err := e.st.FactHistory(ctx, s, slot, jobs.CleanKey(key))
	if err == nil && len(ms) == 0 {
		err = oxbow.Errorf(oxbow.CodeNotFound, "nothing was ever known at %s/%s", slot, key)
	}
	return ms, err
}
