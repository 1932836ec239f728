package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

const selectScope = `SELECT seq, tenant, name, zone, policy, version, memories, created_at, updated_at FROM scopes`

func (r reader) scanScope(rows *sql.Rows) (held, error) {
	var h held
	var policy string
	var created, updated int64
	s := &h.settings
	err := rows.Scan(&h.seq, &s.Tenant, &s.Name, &s.Zone, &policy, &s.Version, &s.Memories, &created, &updated)
	if err != nil {
		return h, err
	}
	s.CreatedAt, s.UpdatedAt = time.UnixMilli(created).UTC(), time.UnixMilli(updated).UTC()
	s.Policy, err = r.policies.Parse(policy)
	return h, err
}

const scopeByName = selectScope + ` WHERE tenant = ? AND name = ?`

// Scope implements store.ScopeReader.
func (r reader) Scope(ctx context.Context, s oxbow.Scope) (oxbow.ScopeSettings, error) {
	h, err := r.scope(ctx, s)
	return h.settings, err
}

func (r reader) scope(ctx context.Context, s oxbow.Scope) (held, error) {
	found, err := collect(ctx, r.q, "read the scope", r.scanScope, scopeByName, s.Tenant, s.Name)
	if err != nil {
		return held{}, err
	}
	if len(found) == 0 {
		return held{}, noScope(s)
	}
	return found[0], nil
}

const listScopes = selectScope + ` WHERE ? = '' OR tenant = ? ORDER BY tenant, name`

// ListScopes implements store.ScopeReader.
func (r reader) ListScopes(ctx context.Context, tenant string) ([]oxbow.ScopeSettings, error) {
	found, err := collect(ctx, r.q, "list scopes", r.scanScope, listScopes, tenant, tenant)
	out := make([]oxbow.ScopeSettings, len(found))
	for i, h := range found {
		out[i] = h.settings
	}
	return out, err
}

func noScope(s oxbow.Scope) error {
	return oxbow.Errorf(oxbow.CodeNotFound, "there is no scope %s; oxbow scope list shows those there are", s.Name)
}

// held is what a transaction knows of a scope.
type held struct {
	seq      int64
	settings oxbow.ScopeSettings // of version 0 until LockScope has read them
}

// scopeSeq gives what the reader's scopeSeq gives, and asks once: the number of
// a scope never changes.
func (t *tx) scopeSeq(ctx context.Context, s oxbow.Scope) (int64, error) {
	if h := t.scopes[s]; h.seq != 0 {
		return h.seq, nil
	}
	seq, err := t.reader.scopeSeq(ctx, s)
	if err == nil && seq != 0 {
		h := t.scopes[s]
		h.seq = seq
		t.hold(s, h)
	}
	return seq, err
}

func (t *tx) hold(s oxbow.Scope, h held) {
	if t.scopes == nil {
		t.scopes = map[oxbow.Scope]held{}
	}
	t.scopes[s] = h
}

// policyOf locks a scope, unless this transaction has done so, and gives the
// policy that a batch works by. Nobody else can change it meanwhile.
func (t *tx) policyOf(ctx context.Context, b store.Batch) (oxbow.Policy, error) {
	if t.scopes[b.Scope].settings.Version == 0 {
		if _, err := t.LockScope(ctx, b.Scope, b.RecordedAt); err != nil {
			return oxbow.Policy{}, err
		}
	}
	if b.Policy != nil {
		return *b.Policy, nil
	}
	return t.scopes[b.Scope].settings.Policy, nil
}

// knownScope is scopeSeq for what can only be stored in a scope that is there.
func (t *tx) knownScope(ctx context.Context, s oxbow.Scope) (int64, error) {
	seq, err := t.scopeSeq(ctx, s)
	if err == nil && seq == 0 {
		err = noScope(s)
	}
	return seq, err
}

const putScope = `UPDATE scopes SET zone = ?, policy = ?, version = ?, updated_at = ? WHERE tenant = ? AND name = ? AND version = ?`

// PutScope implements store.ScopeWriter.
func (t *tx) PutScope(ctx context.Context, s oxbow.ScopeSettings) error {
	delete(t.scopes, s.Scope)
	res, err := t.q.exec(ctx, putScope, s.Zone, store.JSON(s.Policy), s.Version, s.UpdatedAt.UnixMilli(), s.Tenant, s.Name, s.Version-1)
	if err != nil {
		return translate(err, "set the scope")
	}
	if n, err := res.RowsAffected(); err != nil || n != 1 {
		return oxbow.Errorf(oxbow.CodeConflict, "the scope %s was set by somebody else meanwhile; look at it and repeat", s.Name)
	}
	return nil
}

const selectSchedule = `
	SELECT s.tenant, s.name, d.name, d.spec, d.next_at, d.last_at, d.catch_up, d.paused
	FROM schedules d JOIN scopes s ON s.seq = d.scope`

func scanSchedule(rows *sql.Rows) (store.Schedule, error) {
	var d store.Schedule
	var next int64
	var last sql.NullInt64
	err := rows.Scan(&d.Scope.Tenant, &d.Scope.Name, &d.Name, &d.Spec, &next, &last, &d.CatchUp, &d.Paused)
	d.NextAt, d.LastAt = time.UnixMilli(next).UTC(), fromMS(last)
	return d, err
}

const listSchedules = selectSchedule + ` WHERE s.tenant = ? AND (? = '' OR s.name = ?) ORDER BY s.name, d.name`

// ListSchedules implements store.ScopeReader.
func (r reader) ListSchedules(ctx context.Context, s oxbow.Scope) ([]store.Schedule, error) {
	return collect(ctx, r.q, "list schedules", scanSchedule, listSchedules, s.Tenant, s.Name, s.Name)
}

const dueSchedules = selectSchedule + ` WHERE d.paused = 0 AND (d.next_at <= ?1 OR d.last_at > ?1) ORDER BY d.next_at, s.seq, d.name LIMIT ?2`

// DueSchedules implements store.ScopeReader.
func (r reader) DueSchedules(ctx context.Context, now time.Time, limit int) ([]store.Schedule, error) {
	return collect(ctx, r.q, "read due schedules", scanSchedule, dueSchedules, now.UnixMilli(), limit)
}

const putSchedule = `
	INSERT INTO schedules (scope, name, spec, next_at, last_at, catch_up, paused) VALUES (?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (scope, name) DO UPDATE SET spec = excluded.spec, next_at = excluded.next_at, last_at = excluded.last_at,
		catch_up = excluded.catch_up, paused = excluded.paused`

// PutSchedule implements store.ScopeWriter.
func (t *tx) PutSchedule(ctx context.Context, d store.Schedule) error {
	seq, err := t.knownScope(ctx, d.Scope)
	if err != nil {
		return err
	}
	_, err = t.q.exec(ctx, putSchedule, seq, d.Name, d.Spec, d.NextAt.UnixMilli(), ms(d.LastAt), d.CatchUp, d.Paused)
	return translate(err, "set the schedule")
}
