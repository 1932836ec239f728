package postgres

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

const selectScope = `SELECT tenant, name, zone, policy, version, memories, created_at, updated_at FROM scopes`

func scanScope(rows pgx.Rows) (oxbow.ScopeSettings, error) {
	var s oxbow.ScopeSettings
	var policy string
	if err := rows.Scan(&s.Tenant, &s.Name, &s.Zone, &policy, &s.Version, &s.Memories, &s.CreatedAt, &s.UpdatedAt); err != nil {
		return s, err
	}
	s.CreatedAt, s.UpdatedAt = s.CreatedAt.UTC(), s.UpdatedAt.UTC()
	return s, json.Unmarshal([]byte(policy), &s.Policy)
}

const scopeByName = selectScope + ` WHERE tenant = $1 AND name = $2`

// Scope implements store.ScopeReader.
func (r reader) Scope(ctx context.Context, s oxbow.Scope) (oxbow.ScopeSettings, error) {
	found, err := collect(ctx, r.of(s.Tenant), "read the scope", scanScope, scopeByName, s.Tenant, s.Name)
	if err != nil {
		return oxbow.ScopeSettings{}, err
	}
	if len(found) == 0 {
		return oxbow.ScopeSettings{}, noScope(s)
	}
	return found[0], nil
}

func noScope(s oxbow.Scope) error {
	return oxbow.Errorf(oxbow.CodeNotFound, "there is no scope %s; oxbow scope list shows those there are", s.Name)
}

// held is what a transaction knows of a scope.
type held struct {
	seq      int64
	settings *oxbow.ScopeSettings // nil until LockScope
	changed  bool                 // by this transaction, so that nobody else may learn of it
}

// scopeSeq gives what the reader's scopeSeq gives, and asks once: the number of
// a scope never changes.
func (t *tx) scopeSeq(ctx context.Context, s oxbow.Scope) (int64, error) {
	t.in(s)
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
	if t.scopes[b.Scope].settings == nil {
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

const listScopes = selectScope + ` WHERE $1 = '' OR tenant = $1 ORDER BY tenant, name`

// ListScopes implements store.ScopeReader.
func (r reader) ListScopes(ctx context.Context, tenant string) ([]oxbow.ScopeSettings, error) {
	q := r.across(allScopes)
	if tenant != "" {
		q = r.of(tenant)
	}
	return collect(ctx, q, "list scopes", scanScope, listScopes, tenant)
}

const putScope = `UPDATE scopes SET zone = $1, policy = $2, version = $3, updated_at = $4 WHERE tenant = $5 AND name = $6 AND version = $7`

// PutScope implements store.ScopeWriter.
func (t *tx) PutScope(ctx context.Context, s oxbow.ScopeSettings) error {
	t.hold(s.Scope, held{seq: t.scopes[s.Scope].seq, changed: true})
	tag, err := t.of(s.Tenant).Exec(ctx, putScope, s.Zone, store.JSON(s.Policy), s.Version, ts(s.UpdatedAt), s.Tenant, s.Name, s.Version-1)
	if err != nil {
		return translate(err, "set the scope")
	}
	if tag.RowsAffected() != 1 {
		return oxbow.Errorf(oxbow.CodeConflict, "the scope %s was set by somebody else meanwhile; look at it and repeat", s.Name)
	}
	return nil
}

const selectSchedule = `
	SELECT s.tenant, s.name, d.name, d.spec, d.next_at, d.last_at, d.catch_up, d.paused
	FROM schedules d JOIN scopes s ON s.seq = d.scope`

func scanSchedule(rows pgx.Rows) (store.Schedule, error) {
	var d store.Schedule
	var last *time.Time
	err := rows.Scan(&d.Scope.Tenant, &d.Scope.Name, &d.Name, &d.Spec, &d.NextAt, &last, &d.CatchUp, &d.Paused)
	d.NextAt, d.LastAt = d.NextAt.UTC(), fromNull(last)
	return d, err
}

const listSchedules = selectSchedule + ` WHERE s.tenant = $1 AND ($2 = '' OR s.name = $2) ORDER BY s.name, d.name`

// ListSchedules implements store.ScopeReader.
func (r reader) ListSchedules(ctx context.Context, s oxbow.Scope) ([]store.Schedule, error) {
	return collect(ctx, r.in(s), "list schedules", scanSchedule, listSchedules, s.Tenant, s.Name)
}

const dueSchedules = selectSchedule + ` WHERE NOT d.paused AND (d.next_at <= $1 OR d.last_at > $1) ORDER BY d.next_at, s.seq, d.name LIMIT $2`

// DueSchedules implements store.ScopeReader.
func (r reader) DueSchedules(ctx context.Context, now time.Time, limit int) ([]store.Schedule, error) {
	return collect(ctx, r.across(due), "read due schedules", scanSchedule, dueSchedules, ts(now), limit)
}

const putSchedule = `
	INSERT INTO schedules (scope, name, spec, next_at, last_at, catch_up, paused) VALUES ($1, $2, $3, $4, $5, $6, $7)
	ON CONFLICT (scope, name) DO UPDATE SET spec = excluded.spec, next_at = excluded.next_at, last_at = excluded.last_at,
		catch_up = excluded.catch_up, paused = excluded.paused`

// PutSchedule implements store.ScopeWriter.
func (t *tx) PutSchedule(ctx context.Context, d store.Schedule) error {
	seq, err := t.knownScope(ctx, d.Scope)
	if err != nil {
		return err
	}
	t.write("set the schedule", putSchedule, seq, d.Name, d.Spec, ts(d.NextAt), orNull(d.LastAt), d.CatchUp, d.Paused)
	return nil
}
