package engine

import (
	"context"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/trace"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/store"
)

// Memory gives a memory by its id or a unique beginning of it.
func (e *Engine) Memory(ctx context.Context, tenant, id string) (oxbow.Memory, error) {
	id, err := e.st.Resolve(ctx, tenant, "memory", id)
	if err != nil {
		return oxbow.Memory{}, err
	}
	return e.st.Memory(ctx, tenant, id)
}

// Change is what Edit may change; nil leaves a thing as it is.
type Change struct {
	Text       *string
	Tags       []string // nil leaves them
	Importance *float64
	Slot, Key  *string
	// ExpiresAt sets the date; a zero time takes it away.
	ExpiresAt *time.Time
	// IfVersion, when over 0, is the version that the caller has seen.
	IfVersion int
}

// act runs one operator's change of one memory under its scope's lock.
func (e *Engine) act(ctx context.Context, tenant, id, name string, fn func(context.Context, store.Tx, oxbow.ScopeSettings, oxbow.Run, oxbow.Memory) error) (w Written, err error) {
	ctx, span := trace.Memory(ctx, trace.UpdateMemory)
	defer func() { endWrite(span, w, err) }()
	m, err := e.Memory(ctx, tenant, id)
	if err != nil {
		return Written{}, err
	}
	run := e.newRun(m.Scope, name, "operator")
	var was served
	err = e.st.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
		s, err := tx.LockScope(ctx, m.Scope, e.now())
		if err != nil {
			return err
		}
		was = served{Memory: m.ID, Run: run.ID}
		if err := e.once(ctx, tx, tenant, "", &was); err != nil {
			return err
		}
		fresh, err := tx.Memory(ctx, tenant, m.ID)
		if err != nil {
			return err
		}
		if err := tx.PutRun(ctx, run); err != nil {
			return err
		}
		return fn(ctx, tx, s, run, fresh)
	})
	if err != nil {
		return e.again(ctx, tenant, was, err)
	}
	m, err = e.st.Memory(ctx, tenant, m.ID)
	return Written{Memory: m, Run: run.ID}, err
}

// apply applies changes in the operator's name; a stale one is a conflict.
func (e *Engine) apply(ctx context.Context, tx store.Tx, run oxbow.Run, changes ...oxbow.Change) error {
	for i := range changes {
		changes[i].Actor = e.actor
	}
	done, err := tx.Apply(ctx, e.batch(run), changes)
	if err == nil && len(done.Stale) > 0 {
		return oxbow.ErrStale
	}
	return err
}

// isNone tells whether a change leaves everything as it is.
func (c Change) isNone() bool {
	return c.Text == nil && c.Tags == nil && c.Importance == nil && c.Slot == nil && c.Key == nil && c.ExpiresAt == nil
}

// Edit changes an active memory; its words are then judged anew. conflict when
// it is not active, was changed since IfVersion, or the address is taken;
// invalid when nothing is to change.
func (e *Engine) Edit(ctx context.Context, tenant, id string, c Change) (Written, error) {
	if c.isNone() {
		return Written{}, oxbow.Errorf(oxbow.CodeInvalid, "nothing is to change: give text, tags, importance, slot, key or a date")
	}
	w, err := e.act(ctx, tenant, id, "edit", func(ctx context.Context, tx store.Tx, _ oxbow.ScopeSettings, run oxbow.Run, m oxbow.Memory) error {
		if m.Status != oxbow.Active {
			return oxbow.Errorf(oxbow.CodeConflict, "a memory that is %s cannot be edited: restore it first", m.Status)
		}
		if c.IfVersion > 0 && c.IfVersion != m.Version {
			return oxbow.ErrStale
		}
		change, after, err := e.editOf(m, c)
		if err != nil {
			return err
		}
		if err := free(ctx, tx, after, ""); err != nil {
			return err
		}
		if err := e.apply(ctx, tx, run, change); err != nil {
			return err
		}
		if after.ContentVersion == m.ContentVersion {
			return nil
		}
		after.Turn = "" // an edit is not rated against a turn that does not say it
		return tx.Enqueue(ctx, e.deps.FollowUps(about(run), []oxbow.Memory{after}))
	})
	given := c.Tags
	if c.Text != nil {
		given = append([]string{*c.Text}, given...)
	}
	w.Redacted = secretsIn(given...)
	return w, err
}

func (e *Engine) editOf(m oxbow.Memory, c Change) (oxbow.Change, oxbow.Memory, error) {
	after, now := m, e.now()
	out := oxbow.Change{Type: oxbow.Edited, Memory: m.ID, Reason: "an operator edited it",
		Guard: &oxbow.Guard{Status: oxbow.Active, ContentVersion: m.ContentVersion}}
	content := m.Content
	if c.Text != nil {
		body, err := cleanText(*c.Text, "the text")
		if err != nil {
			return out, m, err
		}
		content = oxbow.Content{Text: body, Tags: m.Content.Tags, Speaker: m.Content.Speaker}
	}
	if c.Tags != nil {
		content.Tags = c.Tags
	}
	if c.Text != nil || c.Tags != nil {
		after.Content = jobs.CleanContent(content)
		if c.Text != nil {
			after = e.deps.Detailed(after)
		}
		content = after.Content
		out.Content = &content
		after.ContentVersion++
	}
	if c.Slot != nil {
		after.Slot, out.Set.Slot = *c.Slot, c.Slot
	}
	if c.Key != nil {
		key := jobs.CleanKey(*c.Key)
		after.Key, out.Set.Key = key, &key
	}
	if c.Slot != nil && after.Slot != "" && after.Key == "" {
		return out, m, oxbow.Errorf(oxbow.CodeInvalid, "a slot holds facts, each under a key: give the key too")
	}
	if (after.Slot != m.Slot || after.Key != m.Key) && out.Content == nil {
		after.ContentVersion++
	}
	if c.Importance != nil {
		after.Importance, out.Set.Importance = *c.Importance, c.Importance
	}
	if c.ExpiresAt != nil {
		after.ExpiresAt = *c.ExpiresAt
		out.Set.ExpiresAt = &oxbow.Instant{Time: *c.ExpiresAt}
	}
	out.Set.TouchedAt = &oxbow.Instant{Time: now}
	if after.Key != "" && after.Kind != oxbow.Fact {
		return out, m, oxbow.Errorf(oxbow.CodeInvalid, "only a fact has a key, and this is a %s", m.Kind)
	}
	_, err := withAddress(after, Statement{Key: after.Key}, now.Add(maxAhead))
	return out, after, err
}

// free refuses an address that another active memory holds, and says what else
// than putting that one away there is to do, if there is anything.
func free(ctx context.Context, r store.MemoryReader, m oxbow.Memory, or string) error {
	holder, err := holderOf(ctx, r, m)
	if err != nil || holder.ID == "" {
		return err
	}
	return oxbow.Errorf(oxbow.CodeConflict, "the address %s/%s is held by %s: archive that one first%s", m.Slot, m.Key, holder.ID, or)
}

func holderOf(ctx context.Context, r store.MemoryReader, m oxbow.Memory) (oxbow.Memory, error) {
	if !m.IsFact() {
		return oxbow.Memory{}, nil
	}
	same, err := r.FactHistory(ctx, m.Scope, m.Slot, m.Key)
	if err != nil {
		return oxbow.Memory{}, err
	}
	for _, o := range same {
		if o.ID != m.ID && o.Status == oxbow.Active {
			return o, nil
		}
	}
	return oxbow.Memory{}, nil
}

// Pin keeps an active memory from fading, from passes, and from being replaced.
func (e *Engine) Pin(ctx context.Context, tenant, id string) (Written, error) {
	return e.setPinned(ctx, tenant, id, true)
}

// Unpin takes a pin away and starts the idle clock anew.
func (e *Engine) Unpin(ctx context.Context, tenant, id string) (Written, error) {
	return e.setPinned(ctx, tenant, id, false)
}

func (e *Engine) setPinned(ctx context.Context, tenant, id string, pinned bool) (Written, error) {
	name, kind, reason := "pin", oxbow.PinnedEvent, "an operator pinned it"
	if !pinned {
		name, kind, reason = "unpin", oxbow.UnpinnedEvent, "an operator took the pin away"
	}
	return e.act(ctx, tenant, id, name, func(ctx context.Context, tx store.Tx, _ oxbow.ScopeSettings, run oxbow.Run, m oxbow.Memory) error {
		if m.Pinned == pinned && m.Status == oxbow.Active {
			return nil
		}
		c := oxbow.Change{Type: kind, Memory: m.ID, Reason: reason}
		c.Set.Pinned = &pinned
		if !pinned {
			c.Set.TouchedAt = &oxbow.Instant{Time: run.About}
		}
		return e.apply(ctx, tx, run, c)
	})
}

// Archive puts an active memory away; it can be restored.
func (e *Engine) Archive(ctx context.Context, tenant, id string) (Written, error) {
	return e.act(ctx, tenant, id, "archive", func(ctx context.Context, tx store.Tx, _ oxbow.ScopeSettings, run oxbow.Run, m oxbow.Memory) error {
		if m.Status == oxbow.Archived {
			return nil
		}
		if m.Pinned {
			return oxbow.Errorf(oxbow.CodeConflict, "the memory %s is pinned: unpin it first", m.ID)
		}
		return e.apply(ctx, tx, run, oxbow.Change{Type: oxbow.ArchivedEvent, Memory: m.ID, Reason: "an operator archived it"})
	})
}

// Release makes a quarantined memory active and has it judged.
func (e *Engine) Release(ctx context.Context, tenant, id string) (Written, error) {
	return e.act(ctx, tenant, id, "release", func(ctx context.Context, tx store.Tx, _ oxbow.ScopeSettings, run oxbow.Run, m oxbow.Memory) error {
		if err := free(ctx, tx, m, ""); err != nil {
			return err
		}
		c := oxbow.Change{Type: oxbow.Released, Memory: m.ID, Reason: "an operator released it"}
		c.Set.TouchedAt = &oxbow.Instant{Time: run.About}
		if err := e.apply(ctx, tx, run, c); err != nil {
			return err
		}
		m.Status = oxbow.Active
		return tx.Enqueue(ctx, e.deps.FollowUps(about(run), []oxbow.Memory{m}))
	})
}

// Used says that an agent really used memories. Each counts at most once a day.
// It gives how many counted; not_found when an id is unknown.
func (e *Engine) Used(ctx context.Context, tenant string, ids []string) (int, error) {
	full := make([]string, len(ids))
	for i, id := range ids {
		var err error
		if full[i], err = e.st.Resolve(ctx, tenant, "memory", id); err != nil {
			return 0, err
		}
	}
	n := 0
	err := e.st.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
		var err error
		n, err = tx.Use(ctx, tenant, full, e.now())
		return err
	})
	return n, err
}
